//! Sparse counts: a record is in few of many cells.

use crate::jobs::Named;
use crate::wall::{Query, QuerySpec};
use serde::{Deserialize, Serialize};

/// A record adds 1 to each cell that `of` names, in increasing order, and to no other. If there are many cells, only
/// these are passed to the wall, so that the time for a record is proportional to its cells and not to all cells.
#[derive(Serialize, Deserialize)]
pub(crate) struct Cells<F> {
    /// Number of cells.
    pub(crate) width: usize,
    pub(crate) of: F,
}

/// What a record counts in.
pub(crate) trait Categories: Sync {
    /// Calls its argument with the cells of a record, in increasing order.
    fn cells(&self, record: &[f64], cell: &mut dyn FnMut(usize));
    /// The counts as data.
    fn spec(_counts: &Cells<Self>) -> Option<QuerySpec>
    where
        Self: Sized,
    {
        None
    }
}

#[cfg(test)]
impl<F: Fn(&[f64], &mut dyn FnMut(usize)) + Sync> Categories for F {
    fn cells(&self, record: &[f64], cell: &mut dyn FnMut(usize)) {
        self(record, cell);
    }
}

impl<F: Named> Named for Cells<F> {
    const NAME: &'static str = F::NAME;
}

/// Up to this many cells, adding all of them takes no longer than finding the non-zero ones.
const MAX_DENSE: usize = 64;

impl<F: Categories> Query for Cells<F> {
    fn width(&self) -> usize {
        self.width
    }

    fn block(&self) -> usize {
        if self.width <= MAX_DENSE { self.width } else { 1 }
    }

    fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
        if self.width <= MAX_DENSE {
            return blocks.push(0);
        }
        self.of.cells(record, &mut |cell| blocks.push(cell));
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        if self.width <= MAX_DENSE {
            return self.of.cells(record, &mut |cell| out[cell] = 1.0);
        }
        out.fill(1.0);
    }

    fn spec(&self) -> Option<QuerySpec> {
        F::spec(self)
    }
}

/// The first positive number of a one-hot encoding; `None` if all are 0.
///
/// All numbers are read, without a branch for each: the level is unpredictable, and a mispredicted branch costs more
/// time.
pub(crate) fn one_hot_level(levels: &[f64]) -> Option<usize> {
    let last = levels.iter().enumerate().rev();
    let found = last.fold(levels.len(), |found, (k, x)| if *x > 0.5 { k } else { found });
    (found < levels.len()).then_some(found)
}

/// The dense contribution of a record to a query.
#[cfg(test)]
pub(crate) fn contribution(query: &impl Query, record: &[f64]) -> Vec<f64> {
    let (mut blocks, size) = (Vec::new(), query.block());
    query.blocks(record, &mut blocks);
    let mut values = vec![0.0; blocks.len() * size];
    query.contribute(record, &mut values);
    let mut out = vec![0.0; query.width()];
    for (block, values) in blocks.into_iter().zip(values.chunks(size)) {
        out[block * size..][..size].copy_from_slice(values);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Adjacency, Privacy, Unlimited};
    use crate::engine::conjugate::{Sensitivity, StatisticsPlan};
    use crate::wall::{NoiseSource, Records, Wall};
    use reticent_accounting::gaussian;

    /// Through the wall: 30,000 records in two of six cells each, by hand 10,000, 0, 20,000, 15,000, 15,000 and 0,
    /// and the same among many cells. Noise beyond 15 of its standard deviations has a probability of less than 1e-9
    /// for either distribution.
    #[test]
    fn released_counts_are_those_of_the_cells() {
        let of = |record: &[f64], cell: &mut dyn FnMut(usize)| {
            cell(if record[0] > 0.0 { 2 } else { 0 });
            cell(if record[1] > 0.0 { 4 } else { 3 });
        };
        let row = |k: usize| [if k.is_multiple_of(3) { -1.0 } else { 1.0 }, [1.0, -1.0][k % 2]];
        let rows: Vec<f64> = (0..30_000).flat_map(row).collect();
        let sensitivity = Sensitivity { l1: 2.0, l2: 2f64.sqrt(), non_negative: true };
        let privacy = Privacy::new(10.0, 1e-5, Adjacency::ReplaceOne).unwrap();
        let pure = Privacy::new(10.0, 0.0, Adjacency::ReplaceOne).unwrap();
        let gaussian = gaussian::noise_multiplier(10.0, 0.5e-5).unwrap();
        let kinds = [(true, 0.1001, pure), (false, gaussian, privacy)];
        for (width, (laplace, noise_multiplier, privacy)) in
            [6, 200].into_iter().flat_map(|width| kinds.map(|kind| (width, kind)))
        {
            let plan = StatisticsPlan::new("counts", 30_000, width, sensitivity, &privacy).unwrap();
            let plan = StatisticsPlan { laplace, noise_multiplier, ..plan };
            let (records, source) =
                (Records::new(rows.clone(), 2).unwrap(), NoiseSource::insecure_from_seed(1));
            let (of_wall, _) = plan.releases().unwrap();
            let mut wall = Wall::new(records, source, of_wall, &privacy, Box::new(Unlimited)).unwrap();
            let (released, _) = plan.release(&Cells { width, of }, &mut wall).unwrap();
            let thousands = [10.0, 0.0, 20.0, 15.0, 15.0].into_iter().chain(std::iter::repeat(0.0));
            for (found, thousands) in released.values.iter().zip(thousands) {
                let gap = (found - 1000.0 * thousands).abs();
                assert!(gap < 15.0 * released.noise_sd[0], "{laplace}: {:?}", released.values);
            }
        }
    }

    #[test]
    fn the_first_level_that_is_there_counts() {
        assert_eq!(one_hot_level(&[0.0, 0.0, 1.0]), Some(2));
        assert_eq!(one_hot_level(&[0.0, 1.0, 1.0]), Some(1));
        assert_eq!(one_hot_level(&[1.0]), Some(0));
        assert_eq!(one_hot_level(&[0.0, 0.5, -1.0, f64::NAN]), None);
        assert_eq!(one_hot_level(&[]), None);
    }
}
