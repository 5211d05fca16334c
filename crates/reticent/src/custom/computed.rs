//! Records whose rows are the contributions that a caller computes from the rows of others.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reticent_core::wall::{Query, Records, WallError};
use reticent_tables::{EachUnits, Stream};

use super::Contributions;
use crate::cancel::Cancel;
use crate::guarded::guarded;

/// Rows whose contributions are computed at once, unless a unit has more.
const BLOCK: usize = 1024;

/// A pass over rows, or over units of rows, as the wall takes it.
pub(super) type Pass = dyn FnMut(Option<&[usize]>, EachUnits<'_>) + Send;

/// Rows in memory.
pub(super) fn kept(values: Vec<f64>, width: usize) -> Box<Pass> {
    Box::new(move |wanted, each| {
        let Some(wanted) = wanted else {
            let _ = each(&values, &[]);
            return;
        };
        let mut block = Vec::with_capacity(BLOCK * width);
        for some in wanted.chunks(BLOCK) {
            block.clear();
            some.iter().for_each(|row| block.extend_from_slice(&values[row * width..][..width]));
            if each(&block, &[]).is_break() {
                return;
            }
        }
    })
}

/// Rows that are read again in each pass.
pub(super) fn streamed(stream: Stream) -> Box<Pass> {
    Box::new(move |wanted, each| {
        let Some(wanted) = wanted else { return stream.pass(&mut |rows| each(rows, &[])) };
        let rows = stream.some(wanted, &mut || each(&[], &[]).is_break());
        let _ = each(&rows, &[]);
    })
}

/// The rows that contributions are computed from.
pub(super) struct Rows {
    pub(super) units: usize,
    /// Numbers in a row.
    pub(super) width: usize,
    /// Rows that a unit counts as at least.
    pub(super) least: usize,
    pub(super) pass: Box<Pass>,
}

impl Rows {
    /// Their contributions as records, of `widest` numbers each.
    ///
    /// # Privacy
    /// Passes of [`Records`] give the same rows each time, so that neighbouring data sets stay neighbours. These are those of the current release:
    /// each a function of one row of these records, in the same place, and of public values. So in each pass neighbouring data sets differ in the
    /// rows of one unit, and releases compose adaptively, as for any query that depends on earlier releases. A row without a contribution is an
    /// absent record, which contributes zeros. Attacked by `contributions_are_those_of_the_current_release`.
    pub(super) fn mapped(
        self,
        current: &Current,
        widest: usize,
        cancel: &Cancel,
    ) -> Result<Records, WallError> {
        let Self { units, width, least, mut pass } = self;
        let (current, cancel) = (current.clone(), cancel.clone());
        let records = Records::streamed_units(
            units,
            widest,
            Box::new(move |wanted, each| {
                pass(wanted, &mut |rows, starts| {
                    blocks(rows, starts, width, &mut |rows, starts| {
                        each(&current.compute(rows, (width, widest), &cancel), starts)
                    })
                });
            }),
        )?;
        Ok(records.counting_at_least(least))
    }
}

/// Divides rows into blocks, of whole units.
fn blocks(rows: &[f64], starts: &[usize], width: usize, each: EachUnits<'_>) -> ControlFlow<()> {
    if starts.len() < 2 {
        if rows.is_empty() {
            return each(rows, starts);
        }
        return rows.chunks(BLOCK * width).try_for_each(|rows| each(rows, &[]));
    }
    let mut first = 0;
    while first + 1 < starts.len() {
        let begin = starts[first];
        let more = starts[first + 2..].iter().take_while(|end| **end - begin <= BLOCK).count();
        let last = first + 1 + more;
        let here: Vec<usize> = starts[first..=last].iter().map(|start| start - begin).collect();
        each(&rows[begin * width..starts[last] * width], &here)?;
        first = last;
    }
    ControlFlow::Continue(())
}

/// How the contributions of the release that is being made are computed, and their width.
#[derive(Clone, Default)]
pub(super) struct Current(Arc<Mutex<Option<(usize, Contributions)>>>);

impl Current {
    fn lock(&self) -> MutexGuard<'_, Option<(usize, Contributions)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, to: Option<(usize, Contributions)>) {
        *self.lock() = to;
    }

    /// The contributions of some rows, in rows of `widest` numbers. Absent records have none, and nor has any once the run is cancelled: the wall then
    /// ends the release.
    fn compute(&self, rows: &[f64], (width, widest): (usize, usize), cancel: &Cancel) -> Vec<f64> {
        let mut found = vec![f64::NAN; rows.len() / width * widest];
        let mut current = self.lock();
        let Some((size, contributions)) = current.as_mut().filter(|_| !cancel.is_cancelled()) else {
            return found;
        };
        let mut values = vec![0.0; rows.len() / width * *size];
        if guarded(|| contributions(rows, &mut values)).is_none() {
            // The row that caused it has no influence on others.
            for (row, out) in rows.chunks_exact(width).zip(values.chunks_exact_mut(*size)) {
                out.fill(0.0);
                if guarded(|| contributions(row, out)).is_none() {
                    out.fill(f64::NAN);
                }
            }
        }
        let computed = values.chunks_exact(*size).zip(found.chunks_exact_mut(widest));
        for (row, (values, out)) in rows.chunks_exact(width).zip(computed) {
            if row.iter().all(|x| x.is_finite()) {
                out.fill(0.0);
                out[..*size].copy_from_slice(values);
            }
        }
        found
    }
}

/// The query of a release, whose records are contributions already.
pub(super) struct Computed {
    pub(super) width: usize,
}

impl Query for Computed {
    fn width(&self) -> usize {
        self.width
    }

    fn contribute(&self, row: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&row[..self.width]);
    }
}
