//! The contribution of one event.

use crate::engine::conjugate::Cells;
use crate::model::hmm::Layout;
use crate::model::hmm::coding::Coding;
use crate::wall::Query;

/// One for each field of an event, in the categories of its cell.
pub(super) fn event_counts(layout: &Layout, coding: &Coding) -> impl Query {
    let of = |record: &[f64], count: &mut dyn FnMut(usize)| {
        let Some(cell) = coding.cell(layout, record) else { return };
        let fields = layout.field_ranges().zip(coding.event(record));
        let places = fields.filter_map(|(range, level)| Some(range.start + level?));
        places.for_each(|place| count(cell * layout.categories() + place));
    };
    Cells { width: layout.width(), of }
}
