//! The contribution of one event.

use crate::engine::conjugate::{Categories, Cells};
use crate::jobs::Named;
use crate::model::hmm::Layout;
use crate::model::hmm::coding::Coding;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// One for each field of an event, in the categories of its cell.
pub(super) fn event_counts(layout: &Layout, coding: &Coding) -> impl Query {
    Cells { width: layout.width(), of: Events { layout, coding } }
}

/// The category of each field, in the cell of the event.
#[derive(Serialize, Deserialize)]
pub(crate) struct Events<L, C> {
    layout: L,
    coding: C,
}

impl<L, C> Named for Events<L, C> {
    const NAME: &'static str = "hmm-events";
}

impl<L: Borrow<Layout> + Serialize + Sync, C: Borrow<Coding> + Serialize + Sync> Categories for Events<L, C> {
    fn cells(&self, record: &[f64], count: &mut dyn FnMut(usize)) {
        let (layout, coding) = (self.layout.borrow(), self.coding.borrow());
        let Some(cell) = coding.cell(layout, record) else { return };
        let fields = layout.field_ranges().zip(coding.event(record));
        let places = fields.filter_map(|(range, level)| Some(range.start + level?));
        places.for_each(|place| count(cell * layout.categories() + place));
    }

    fn spec(counts: &Cells<Self>) -> Option<QuerySpec> {
        QuerySpec::of(counts)
    }
}
