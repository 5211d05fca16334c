//! Logistic regression on the adult data set, with and without privacy: Section 6.4 of the paper on private variational Bayes.
//!
//! # Citation
//! Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020.

mod data;
mod method;
mod report;

pub use data::{Adult, Split};
pub use method::{Method, Outcome, VIPS_PRINTED};
pub use report::{Summary, figure, summarise, table};

/// The share of pairs of a record of either class in which the one of class 1 has the higher score; ties count half.
#[must_use]
pub fn auc(scores: &[f64], classes: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut below, mut wins, mut positives) = (0.0, 0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let high = tied.iter().filter(|&&k| classes[k] > 0.0).count() as f64;
        let low = tied.len() as f64 - high;
        wins += high * (below + 0.5 * low);
        below += low;
        positives += high;
    }
    wins / (below * positives)
}

#[cfg(test)]
mod tests;
