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
    blocks: Vec<usize>,
    real: Vec<f64>,
    units: Vec<i64>,
    pub(super) sum: Vec<i64>,
}

impl Scratch {
    /// One contribution: its values in the blocks of this size that it is about. Nothing of another record is left; a query that
    /// panics has said nothing, nor has one that names a block twice or one that there is not.
    fn contribute(&mut self, record: &[f64], query: &impl Query, size: usize, width: usize) {
        let Self { blocks, real, .. } = self;
        blocks.clear();
        real.clear();
        SILENT.set(true);
        let said = panic::catch_unwind(AssertUnwindSafe(|| {
            query.blocks(record, blocks);
            let known = blocks.iter().all(|block| *block < width / size);
            if !(known && blocks.is_sorted_by(|a, b| a < b)) {
                blocks.clear();
            }
            real.resize(blocks.len() * size, 0.0);
            query.contribute(record, real);
        }));
        SILENT.set(false);
        if said.is_err() {
            real.fill(f64::NAN);
        }
    }

    /// Adds one. Where it has no block it is 0, and so it is on the lattice, where the norm is checked.
    fn add(&mut self, record: &[f64], query: &impl Query, size: usize, lattice: &Lattice) {
        self.contribute(record, query, size, self.sum.len());
        let Self { blocks, real, units, sum } = self;
        let sparse = size < sum.len();
        units.clear();
        units.resize(if sparse { real.len() } else { 0 }, 0);
        let to = if sparse { &mut *units } else { &mut *sum };
        reticent_noise::with_wide_vectors(
            #[inline(always)]
            || lattice.add(real, to),
        );
        scatter(blocks, size, units, sum, i64::wrapping_add);
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

/// Adds the values of blocks of this size to their places.
fn scatter<T: Copy>(blocks: &[usize], size: usize, values: &[T], sums: &mut [T], add: impl Fn(T, T) -> T) {
    for (block, values) in blocks.iter().zip(values.chunks(size)) {
        let sums = sums[block * size..].iter_mut().zip(values);
        reticent_noise::with_wide_vectors(
            #[inline(always)]
            || sums.for_each(|(sum, value)| *sum = add(*sum, *value)),
        );
    }
}

/// The sum of the contributions of a batch in lattice units, into `scratch.sum`, which holds zeros.
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
    let (width, wide) = (scratch.sum.len(), records.width);
    let size = if lattice.is_ball() { query.block().clamp(1, width) } else { width };
    records.blocks(batch, |values, batch| {
        let rows = batch.map_or(values.len() / wide, <[usize]>::len);
        let row = |i: usize| &values[wide * batch.map_or(i, |rows| rows[i])..][..wide];
        if rows * width < PARALLEL || rayon::current_num_threads() == 1 {
            return (0..rows).for_each(|i| scratch.add(row(i), query, size, lattice));
        }
        let parts = (0..rows).into_par_iter().with_min_len(rows.div_ceil(4 * rayon::current_num_threads()));
        let sums = parts.fold(
            || Scratch { sum: vec![0; width], ..Scratch::default() },
            |mut scratch, i| {
                scratch.add(row(i), query, size, lattice);
                scratch
            },
        );
        for Scratch { sum: part, .. } in sums.collect::<Vec<_>>() {
            scratch.sum.iter_mut().zip(part).for_each(|(sum, units)| *sum = sum.wrapping_add(units));
        }
    });
}

/// Puts the sum of the contributions of a batch, added one after the other, into `sum`, which holds zeros. Not private.
pub(super) fn plain(records: &mut Records, batch: Batch<'_>, query: &impl Query, sum: &mut [f64]) {
    let (mut scratch, size, wide) = (Scratch::default(), query.block().clamp(1, sum.len()), records.width);
    records.blocks(batch, |values, batch| {
        for i in 0..batch.map_or(values.len() / wide, <[usize]>::len) {
            let row = &values[wide * batch.map_or(i, |rows| rows[i])..][..wide];
            scratch.contribute(row, query, size, sum.len());
            scatter(&scratch.blocks, size, &scratch.real, sum, |sum, x| sum + x);
        }
    });
}

#[cfg(test)]
#[path = "sum_tests.rs"]
mod tests;
