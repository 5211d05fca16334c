//! Exact sums of contributions, in parallel.

use super::Query;
use super::lattice::Lattice;
use super::records::Records;
use super::sampler::Batch;
use rayon::prelude::*;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// Below this many coordinates in a batch, threads cost more than they bring.
const PARALLEL: usize = 1 << 15;

/// What one thread needs.
#[derive(Default)]
pub(super) struct Scratch {
    real: Vec<f64>,
    pub(super) sum: Vec<i64>,
}

impl Scratch {
    /// Room for contributions of this width, and nothing in it.
    pub(super) fn clear(&mut self, width: usize) {
        self.real.resize(width, 0.0);
        self.sum.clear();
        self.sum.resize(width, 0);
    }

    fn add(&mut self, record: &[f64], query: &impl Query, lattice: &Lattice) {
        contribute(query, record, &mut self.real);
        reticent_noise::with_wide_vectors(
            #[inline(always)]
            || lattice.add(&mut self.real, &mut self.sum),
        );
    }
}

#[cfg(not(panic = "unwind"))]
compile_error!("a query that panics on a record must not end the process: build with panic = \"unwind\"");

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the messages of queries that panic from being printed: they may say what their record is.
pub(super) fn silence_queries() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() {
                hook(info);
            }
        }));
    });
}

/// One contribution. Nothing of another record is left in `out`, and a query that panics has said nothing.
fn contribute(query: &impl Query, record: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    SILENT.set(true);
    if panic::catch_unwind(AssertUnwindSafe(|| query.contribute(record, out))).is_err() {
        out.fill(f64::NAN);
    }
    SILENT.set(false);
}

/// The sum of the contributions of a batch in lattice units, into `scratch.sum`, which has been cleared.
///
/// Sums of integers do not depend on their order, so neither does the result on the number of threads, nor on how many
/// rows are read at a time. Attacked by `sums_do_not_depend_on_threads` and `sums_do_not_depend_on_blocks`.
pub(super) fn exact(
    records: &mut Records,
    batch: Batch<'_>,
    query: &impl Query,
    lattice: &Lattice,
    scratch: &mut Scratch,
) {
    let (width, wide) = (scratch.sum.len(), records.width());
    records.blocks(|values| {
        let rows = batch.map_or(values.len() / wide, <[usize]>::len);
        let row = |i: usize| &values[wide * batch.map_or(i, |rows| rows[i])..][..wide];
        if rows * width < PARALLEL || rayon::current_num_threads() == 1 {
            return (0..rows).for_each(|i| scratch.add(row(i), query, lattice));
        }
        let share = rows.div_ceil(4 * rayon::current_num_threads());
        let parts = (0..rows.div_ceil(share)).into_par_iter().map(|part| {
            let mut scratch = Scratch::default();
            scratch.clear(width);
            let part = part * share..rows.min((part + 1) * share);
            part.for_each(|i| scratch.add(row(i), query, lattice));
            scratch.sum
        });
        for part in parts.collect::<Vec<_>>() {
            scratch.sum.iter_mut().zip(part).for_each(|(sum, units)| *sum = sum.wrapping_add(units));
        }
    });
}

/// Puts the sum of the contributions of a batch, added one after the other, into `sum`, which holds zeros. Not private.
pub(super) fn plain(records: &mut Records, batch: Batch<'_>, query: &impl Query, sum: &mut [f64]) {
    let (mut real, mut first, wide) = (Vec::new(), true, records.width());
    records.blocks(|values| {
        for i in 0..batch.map_or(values.len() / wide, <[usize]>::len) {
            let row = &values[wide * batch.map_or(i, |rows| rows[i])..][..wide];
            if std::mem::take(&mut first) {
                query.contribute(row, sum);
                continue;
            }
            real.clear();
            real.resize(sum.len(), 0.0);
            query.contribute(row, &mut real);
            sum.iter_mut().zip(&real).for_each(|(sum, x)| *sum += x);
        }
    });
}

#[cfg(test)]
#[path = "sum_tests.rs"]
mod tests;
