//! Exact sums of contributions, in parallel.

use super::Query;
use super::lattice::Lattice;
use super::records::Records;
use super::sampler::Batch;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Below this many coordinates in a batch, threads cost more than they bring.
const PARALLEL: usize = 1 << 15;

/// What one thread needs.
#[derive(Default)]
pub(super) struct Scratch {
    real: Vec<f64>,
    units: Vec<i64>,
    pub(super) sum: Vec<i64>,
}

impl Scratch {
    fn clear(&mut self, width: usize) {
        self.real.resize(width, 0.0);
        self.units.resize(width, 0);
        self.sum.clear();
        self.sum.resize(width, 0);
    }

    fn add(&mut self, record: &[f64], query: &impl Query, lattice: &Lattice) {
        contribute(query, record, &mut self.real);
        lattice.quantise(&mut self.real, &mut self.units);
        self.merge_units();
    }

    #[inline]
    fn merge_units(&mut self) {
        for (sum, unit) in self.sum.iter_mut().zip(&self.units) {
            // Modulo 2^64, which is a function of the exact sum, so privacy holds even if a sum does not fit.
            *sum = sum.wrapping_add(*unit);
        }
    }
}

/// One contribution. Nothing of another record is left in `out`, and a query that panics has said nothing.
fn contribute(query: &impl Query, record: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    if catch_unwind(AssertUnwindSafe(|| query.contribute(record, out))).is_err() {
        out.fill(f64::NAN);
    }
}

/// The sum of the contributions of a batch in lattice units, into `scratch.sum`.
///
/// Sums of integers do not depend on their order, so neither does the result on the number of threads. Attacked by
/// `sums_do_not_depend_on_threads`.
pub(super) fn exact(
    records: &Records,
    batch: Batch<'_>,
    query: &impl Query,
    lattice: &Lattice,
    scratch: &mut Scratch,
) {
    let width = query.width();
    scratch.clear(width);
    let threads = if batch.len() * width < PARALLEL { 1 } else { rayon::current_num_threads() };
    if threads == 1 {
        (0..batch.len()).for_each(|i| scratch.add(records.row(batch.row(i)), query, lattice));
        return;
    }
    let new = || {
        let mut scratch = Scratch::default();
        scratch.clear(width);
        scratch
    };
    let parts = (0..batch.len()).into_par_iter().with_min_len(batch.len().div_ceil(4 * threads));
    let total = parts
        .fold(new, |mut scratch, i| {
            scratch.add(records.row(batch.row(i)), query, lattice);
            scratch
        })
        .reduce(new, |mut left, right| {
            left.units.copy_from_slice(&right.sum);
            left.merge_units();
            left
        });
    scratch.sum.copy_from_slice(&total.sum);
}

/// The plain sum of the contributions of a batch, one after the other. Not private.
pub(super) fn plain(records: &Records, batch: Batch<'_>, query: &impl Query) -> Vec<f64> {
    let mut sum = vec![0.0; query.width()];
    let mut real = sum.clone();
    for i in 0..batch.len() {
        real.fill(0.0);
        query.contribute(records.row(batch.row(i)), &mut real);
        sum.iter_mut().zip(&real).for_each(|(sum, x)| *sum += x);
    }
    sum
}
