//! Exact sums of contributions, in parallel.

use super::lattice::Lattice;
use super::outer::{self, Outer};
use super::records::Units;
use super::sampler::Batch;
use super::{Query, QuerySpec};
use crate::math::matrix;
use crate::threads;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// Below this many coordinates in a batch, threads cost more time than they save.
const PARALLEL: usize = 1 << 15;
/// Number of parts of a floating-point sum, whatever the number of threads: its rounding depends on the order of
/// additions.
const PLAIN_PARTS: usize = 16;

/// Working memory of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    blocks: Vec<usize>,
    real: Vec<f64>,
    units: Vec<i64>,
    /// A block of vectors whose outer products are not in the sum yet, and the sum of those of a block.
    vectors: Vec<f64>,
    product: Vec<f64>,
    /// The blocks and values of the rows of a unit so far.
    unit: (Vec<usize>, Vec<f64>),
}

/// The values in a row, and the rows that a unit counts as at least.
#[derive(Clone, Copy)]
struct Shape {
    wide: usize,
    least: usize,
}

impl Shape {
    /// Whether these rows are a single one that counts as a whole.
    #[inline(always)]
    fn is_one(self, rows: &[f64]) -> bool {
        rows.len() == self.wide && self.least == 1
    }
}

impl Scratch {
    /// Computes one contribution: its values in its blocks of this size. Nothing of another record remains in the
    /// working memory. An absent record, a query that panics, and one that repeats a block or names a missing one
    /// have no blocks and no values; returns whether the record is present and the query did not panic.
    fn contribute(
        &mut self,
        record: &[f64],
        query: &(impl Query + ?Sized),
        size: usize,
        width: usize,
    ) -> bool {
        let Self { blocks, real, .. } = self;
        blocks.clear();
        real.clear();
        if !record.iter().fold(true, |so_far, x| so_far & x.is_finite()) {
            return false;
        }
        SILENT.set(true);
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            query.blocks(record, blocks);
            let known = blocks.iter().all(|block| *block < width / size);
            if !(known && blocks.is_sorted_by(|a, b| a < b)) {
                blocks.clear();
            }
            real.resize(blocks.len() * size, 0.0);
            query.contribute(record, real);
        }));
        SILENT.set(false);
        if outcome.is_err() {
            blocks.clear();
            real.clear();
        }
        outcome.is_ok()
    }

    /// Computes the contribution of a unit with several rows: the mean of those of its rows that are finite, or their sum over the least number that a
    /// unit counts as if there are fewer. The wall clips whatever it is.
    #[cold]
    fn contribute_mean(
        &mut self,
        rows: &[f64],
        query: &(impl Query + ?Sized),
        (shape, size, width): (Shape, usize, usize),
    ) {
        let (mut names, mut total) = std::mem::take(&mut self.unit);
        names.clear();
        total.clear();
        let mut present = 0.0;
        for row in rows.chunks_exact(shape.wide) {
            if !self.contribute(row, query, size, width) || !self.real.iter().all(|x| x.is_finite()) {
                continue;
            }
            present += 1.0;
            for (block, values) in self.blocks.iter().zip(self.real.chunks_exact(size)) {
                let place = names.binary_search(block).unwrap_or_else(|place| {
                    names.insert(place, *block);
                    total.splice(place * size..place * size, std::iter::repeat_n(0.0, size));
                    place
                });
                total[place * size..].iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
            }
        }
        let counted = f64::max(present, shape.least as f64);
        total.iter_mut().for_each(|x| *x /= counted);
        std::mem::swap(&mut self.blocks, &mut names);
        std::mem::swap(&mut self.real, &mut total);
        self.unit = (names, total);
    }

    /// Computes the contribution of a unit. A dense one without values is that of an absent record, which the lattice maps as any that is not finite:
    /// 0 may be outside the domain. Attacked by `contributions_without_values_stay_in_their_box`.
    #[inline(always)]
    fn contribute_unit(
        &mut self,
        rows: &[f64],
        query: &(impl Query + ?Sized),
        (shape, size, width): (Shape, usize, usize),
    ) {
        if shape.is_one(rows) {
            self.contribute(rows, query, size, width);
        } else {
            self.contribute_mean(rows, query, (shape, size, width));
        }
        if size == width && self.real.is_empty() {
            self.real.resize(width, f64::NAN);
        }
    }

    /// Adds one contribution to the sum. Blocks that it does not name are 0 on the lattice too, so the norm of its
    /// blocks is the norm of all.
    fn add(
        &mut self,
        (rows, shape): (&[f64], Shape),
        query: &impl Query,
        size: usize,
        lattice: &Lattice,
        sum: &mut [i64],
    ) {
        self.contribute_unit(rows, query, (shape, size, sum.len()));
        let Self { blocks, real, units, .. } = self;
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

    /// Adds the vectors of a unit to the block. The $m$ rows of one that are not absent have vectors in the ball, each over $\sqrt m$, so that the
    /// trace of the sum of their outer products is at most that of one.
    ///
    /// # Privacy
    /// The trace is checked in integers: a unit beyond the bound contributes nothing. Then the sum $A$ of its outer products is positive
    /// semidefinite with $\lVert A\rVert_F \le \mathrm{tr}\,A \le R^2$, and two of them are at most $\sqrt2R^2$ apart, since
    /// $\langle A, B\rangle \ge 0$: the same bounds as for one vector. Attacked by `units_of_vectors_stay_within_the_trace`.
    fn add_vectors<T: Copy>(
        &mut self,
        (rows, shape, query): (&[f64], Shape, &dyn Query),
        (size, outer): (usize, Option<&Outer>),
        sum: &mut [T],
        plus: impl Fn(T, f64) -> T,
    ) {
        if shape.is_one(rows) {
            self.contribute(rows, query, size, size);
            return self.add_vector((size, outer.map(|outer| &outer.vectors)), sum, plus);
        }
        let mut found = std::mem::take(&mut self.unit.1);
        found.clear();
        for row in rows.chunks_exact(shape.wide) {
            self.contribute(row, query, size, size);
            if self.real.iter().all(|x| x.is_finite()) && !self.blocks.is_empty() {
                found.extend_from_slice(&self.real);
            }
        }
        match outer {
            Some(outer) => outer.round_unit(&mut found, shape.least, &mut self.units),
            None => {
                let root = ((found.len() / size).max(shape.least) as f64).sqrt();
                found.iter_mut().for_each(|x| *x /= root);
            }
        }
        let stride = matrix::squares_stride(size);
        for vector in found.chunks_exact(size) {
            self.vectors.extend_from_slice(vector);
            self.vectors.resize(self.vectors.len() + stride - size, 0.0);
            if self.vectors.len() == outer::BLOCK * stride {
                self.add_block(size, sum, &plus);
            }
        }
        self.unit.1 = found;
    }

    /// Adds the computed vector to the block: in steps of its lattice, or as it is if there is none. A full block is added to the sum.
    fn add_vector<T: Copy>(
        &mut self,
        (size, lattice): (usize, Option<&Lattice>),
        sum: &mut [T],
        plus: impl Fn(T, f64) -> T,
    ) {
        let Self { blocks, real, units, vectors, .. } = self;
        let first = vectors.len();
        vectors.resize(first + matrix::squares_stride(size), 0.0);
        if let Some(lattice) = lattice {
            units.clear();
            units.resize(size, 0);
            reticent_noise::with_wide_vectors(
                #[inline(always)]
                || {
                    lattice.add(real, units);
                    vectors[first..].iter_mut().zip(units).for_each(|(x, unit)| *x = *unit as f64);
                },
            );
        } else if !blocks.is_empty() {
            vectors[first..].iter_mut().zip(real).for_each(|(x, real)| *x = *real);
        }
        if vectors.len() == outer::BLOCK * matrix::squares_stride(size) {
            self.add_block(size, sum, plus);
        }
    }

    /// Adds the outer products of the block to the upper triangle of the sum, row by row, and empties the block.
    fn add_block<T: Copy>(&mut self, size: usize, sum: &mut [T], plus: impl Fn(T, f64) -> T) {
        let stride = matrix::squares_stride(size);
        matrix::squares(&self.vectors, stride, &mut self.product);
        self.vectors.clear();
        let mut rest = sum;
        for i in 0..size {
            let (row, later) = rest.split_at_mut(size - i);
            row.iter_mut().zip(&self.product[i * stride + i..]).for_each(|(sum, x)| *sum = plus(*sum, *x));
            rest = later;
        }
    }
}

#[cfg(not(panic = "unwind"))]
compile_error!("a query that panics on a record must not end the process: build with panic = \"unwind\"");

thread_local! {
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the messages of queries that panic from being printed: they may reveal the record. Every wall and every job installs this hook of the process
/// once, in front of the one that was there, which gets all other panics. A program that sets a hook of its own later must call it again.
pub fn silence_query_panics() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !SILENT.get() {
            hook(info);
        }
    }));
}

/// The same, for all walls and jobs of the process together.
pub(super) fn silence_query_panics_once() {
    static ONCE: Once = Once::new();
    ONCE.call_once(silence_query_panics);
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

/// A sum of contributions: of those on the lattice, of products of vectors in steps of theirs, or of those as they are, which is not private.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Total {
    Units(Vec<i64>),
    Squares(Vec<i128>),
    #[serde(skip)]
    Plain(Vec<f64>),
}

impl Total {
    /// Zeros for a release of this width.
    pub(super) fn zeros(lattice: &Lattice, width: usize) -> Self {
        if lattice.outer.is_some() { Self::Squares(vec![0; width]) } else { Self::Units(vec![0; width]) }
    }

    /// Whether it is a sum of a release of this width.
    pub(super) fn fits(&self, lattice: &Lattice, width: usize) -> bool {
        match self {
            Self::Units(sums) => lattice.outer.is_none() && sums.len() == width,
            Self::Squares(sums) => lattice.outer.is_some() && sums.len() == width,
            Self::Plain(_) => false,
        }
    }

    /// Adds another part of the sum; returns whether it was one.
    pub(super) fn join(&mut self, part: &Self) -> bool {
        match (self, part) {
            (Self::Units(sum), Self::Units(part)) if sum.len() == part.len() => {
                sum.iter_mut().zip(part).for_each(|(sum, x)| *sum = sum.wrapping_add(*x));
            }
            (Self::Squares(sum), Self::Squares(part)) if sum.len() == part.len() => {
                sum.iter_mut().zip(part).for_each(|(sum, x)| *sum = sum.wrapping_add(*x));
            }
            _ => return false,
        }
        true
    }

    /// The sum in units of the lattice of the noise, if it is private.
    pub(super) fn units(self, lattice: &Lattice) -> Vec<i64> {
        match (self, &lattice.outer) {
            (Self::Squares(squares), Some(outer)) => outer.rescale(&squares),
            (Self::Units(sums), _) => sums,
            _ => Vec::new(),
        }
    }
}

/// A query, whichever it is: one virtual call for each block of units.
pub(crate) trait Contributor: Sync {
    /// That of [`Query`].
    fn shape(&self) -> (usize, usize);
    /// [`Query::spec`].
    fn data(&self) -> Option<QuerySpec>;
    /// Adds the contributions of a batch of these units.
    fn add(&self, units: Units<'_>, batch: Batch<'_>, lattice: &Lattice, total: &mut Total);
}

impl<Q: Query> Contributor for Q {
    fn shape(&self) -> (usize, usize) {
        (self.width(), self.block())
    }

    fn data(&self) -> Option<QuerySpec> {
        self.spec()
    }

    /// Sums of integers do not depend on their order, so neither does the result on the number of threads or processes, nor on how many
    /// rows are read at a time. Attacked by `sums_do_not_depend_on_threads`, `sums_do_not_depend_on_blocks`, `blocks_are_summed_exactly` and
    /// `processes_that_share_the_records_give_the_same_integers`.
    fn add(&self, units: Units<'_>, batch: Batch<'_>, lattice: &Lattice, total: &mut Total) {
        let Total::Units(sum) = total else { return add_by_name(self, units, batch, lattice, total) };
        let shape = Shape { wide: units.width, least: units.least };
        let size = if lattice.is_ball() { self.block().clamp(1, sum.len()) } else { sum.len() };
        let add = |one: &mut Scratch, rows: &[f64], sum: &mut [i64]| {
            one.add((rows, shape), self, size, lattice, sum);
        };
        let threads = threads::number();
        let parts = if threads == 1 { 1 } else { 4 * threads };
        in_parts(units, batch, (parts, sum), &each(units, batch, add, |_, _| ()), i64::wrapping_add);
    }
}

/// The other sums. A call of the query by a table costs nothing beside an outer product, and one compiled version for all queries takes less room than one for each.
fn add_by_name(query: &dyn Query, units: Units<'_>, batch: Batch<'_>, lattice: &Lattice, total: &mut Total) {
    let shape = Shape { wide: units.width, least: units.least };
    let outer = lattice.outer.as_deref();
    let size = outer.map_or(0, |outer| outer.size);
    match total {
        Total::Units(_) => {}
        Total::Squares(sum) => {
            let plus = |sum: i128, x: f64| sum + x as i128;
            let add = |one: &mut Scratch, rows: &[f64], sum: &mut [i128]| {
                one.add_vectors((rows, shape, query), (size, outer), sum, plus);
            };
            let end = |one: &mut Scratch, sum: &mut [i128]| one.add_block(size, sum, plus);
            in_parts(units, batch, (threads::number(), sum), &each(units, batch, add, end), |a, b| a + b);
        }
        Total::Plain(sum) if outer.is_some() => {
            let plus = |sum: f64, x: f64| sum + x;
            let add = |one: &mut Scratch, rows: &[f64], sum: &mut [f64]| {
                one.add_vectors((rows, shape, query), (size, None), sum, plus);
            };
            let end = |one: &mut Scratch, sum: &mut [f64]| one.add_block(size, sum, plus);
            in_parts(units, batch, (PLAIN_PARTS, sum), &each(units, batch, add, end), plus);
        }
        Total::Plain(sum) => {
            let size = query.block().clamp(1, sum.len());
            let add = |one: &mut Scratch, rows: &[f64], sum: &mut [f64]| {
                one.contribute_unit(rows, query, (shape, size, sum.len()));
                scatter(&one.blocks, size, &one.real, sum, |sum, x| sum + x);
            };
            in_parts(units, batch, (PLAIN_PARTS, sum), &each(units, batch, add, |_, _| ()), |a, b| a + b);
        }
    }
}

/// Calls `add` with the rows of each unit of a range of the batch, and with a sum, and after the last of them `end`.
fn each<'a, T>(
    units: Units<'a>,
    batch: Batch<'a>,
    add: impl Fn(&mut Scratch, &[f64], &mut [T]) + Sync + 'a,
    end: impl Fn(&mut Scratch, &mut [T]) + Sync + 'a,
) -> impl Fn(Range<usize>, &mut [T]) + Sync + 'a {
    move |range, sum| {
        let mut scratch = Scratch::default();
        range.for_each(|i| add(&mut scratch, units.rows(batch.map_or(i, |batch| batch[i])), sum));
        end(&mut scratch, sum);
    }
}

/// Calls `some` with all units of a batch and the sum, or with ranges of them and one of this many parts that hold zeros, which `plus` then joins in
/// order.
fn in_parts<T: Copy + Default + Send>(
    units: Units<'_>,
    batch: Batch<'_>,
    (parts, sum): (usize, &mut [T]),
    some: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
    plus: fn(T, T) -> T,
) {
    let width = sum.len();
    let count = batch.map_or(units.len(), <[usize]>::len);
    if count * width < PARALLEL || parts == 1 {
        return some(0..count, sum);
    }
    let one = |part: usize| {
        let mut sum = vec![T::default(); width];
        some(part * count / parts..(part + 1) * count / parts, &mut sum);
        sum
    };
    for part in threads::install(|| (0..parts).into_par_iter().map(one).collect::<Vec<_>>()) {
        sum.iter_mut().zip(part).for_each(|(sum, x)| *sum = plus(*sum, x));
    }
}

#[cfg(test)]
#[path = "sum_tests.rs"]
pub(super) mod tests;
