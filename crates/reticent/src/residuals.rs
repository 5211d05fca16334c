//! A posterior predictive check that costs nothing: the released distribution of standardised residuals beside the normal one.

use reticent_core::budget::Adjacency;
use reticent_core::math::normal;
use serde::Serialize;

use crate::saved::SavedModel;

/// Where a regression keeps the cumulative shares of its residuals.
const SHAPE: &str = "residuals.shape";
/// The release that they come from, as receipts name it.
const RELEASE: &str = "histogram of residuals";
/// The histogram goes so many standard deviations to either side; residuals beyond count in the outermost bins.
const HALF_RANGE: f64 = 4.0;
/// Edges of the rows of a summary, in standard deviations.
const EDGES: [f64; 5] = [-2.0, -1.0, 0.0, 1.0, 2.0];

/// Standardised residuals of the records of a fit, from a histogram that the fit has released: targets less their predictions, over the
/// predictive standard deviation. If the model suits the records, they are standard normal.
///
/// The shares are what the model file holds: released counts, each moved towards that of a normal distribution, the more so the larger the noise
/// is beside it. So a difference that is shown is rather too small than too large.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResidualCheck {
    /// Narrow bins, for a drawing.
    pub bins: Vec<ResidualBin>,
    /// The same in six bins.
    pub summary: Vec<ResidualBin>,
    /// The standard deviation of the privacy noise in the share of one narrow bin, before it was moved.
    pub noise_sd: f64,
}

/// The share of residuals between two numbers of standard deviations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ResidualBin {
    /// The lower edge; none for the first bin, which has no end.
    pub from: Option<f64>,
    /// The upper edge; none for the last bin.
    pub to: Option<f64>,
    /// The share of residuals.
    pub share: f64,
    /// The share of a standard normal distribution.
    pub normal: f64,
}

impl SavedModel {
    /// The released distribution of standardised residuals, if the fit has released one: regressions do, from enough records on.
    #[must_use]
    pub fn residual_check(&self) -> Option<ResidualCheck> {
        let entry = self.receipt().groups.iter().find(|entry| entry.what == RELEASE)?;
        let saved = self.posterior().save().ok()?;
        let below = &saved.arrays.get(SHAPE)?.1;
        // A record is in one bin, so that replacing it moves two counts by 1.
        let sensitivity = if self.receipt().adjacency == Adjacency::ReplaceOne { 2f64.sqrt() } else { 1.0 };
        let noise_sd = entry.noise_multiplier()? * sensitivity / self.receipt().records.max(1) as f64;
        check(below, noise_sd)
    }
}

/// From the cumulative share at each edge. None if they are not those of a distribution: a file may be forged.
fn check(below: &[f64], noise_sd: f64) -> Option<ResidualCheck> {
    let bins = below.len().checked_sub(1).filter(|bins| *bins >= 8 && bins % 8 == 0)?;
    let rises = below.windows(2).all(|pair| pair[0] <= pair[1]);
    if !(rises && below[0] == 0.0 && (below[bins] - 1.0).abs() < 1e-6 && noise_sd.is_finite()) {
        return None;
    }
    let width = 2.0 * HALF_RANGE / bins as f64;
    let edge = |k: usize| (k > 0 && k < bins).then_some(k as f64 * width - HALF_RANGE);
    let bin = |from: usize, to: usize| {
        let (low, high) = (edge(from), edge(to));
        let cumulative = |end: Option<f64>, beyond: f64| end.map_or(beyond, normal::cdf);
        ResidualBin {
            from: low,
            to: high,
            share: below[to] - below[from],
            normal: cumulative(high, 1.0) - cumulative(low, 0.0),
        }
    };
    // Whole numbers of standard deviations are edges, as there are eight of them.
    let inner = EDGES.map(|edge| ((edge + HALF_RANGE) / width).round() as usize);
    let ends: Vec<usize> = std::iter::once(0).chain(inner).chain([bins]).collect();
    Some(ResidualCheck {
        bins: (0..bins).map(|k| bin(k, k + 1)).collect(),
        summary: ends.windows(2).map(|pair| bin(pair[0], pair[1])).collect(),
        noise_sd,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A uniform distribution on the whole range: 1/8 for each standard deviation.
    #[test]
    fn bins_have_their_shares_and_those_of_the_normal() {
        let below: Vec<f64> = (0..=32).map(|k| f64::from(k) / 32.0).collect();
        let found = check(&below, 0.001).unwrap();
        assert_eq!((found.bins.len(), found.summary.len()), (32, 6));
        let total = |of: fn(&ResidualBin) -> f64| found.bins.iter().map(of).sum::<f64>();
        assert!(
            (total(|bin| bin.share) - 1.0).abs() < 1e-12 && (total(|bin| bin.normal) - 1.0).abs() < 1e-12
        );
        let [first, second, ..] = found.summary[..] else { panic!("{found:?}") };
        assert_eq!((first.from, first.to, first.share), (None, Some(-2.0), 0.25));
        assert_eq!((second.from, second.to, second.share), (Some(-2.0), Some(-1.0), 0.125));
        // Tables of the normal distribution: 2.275 % are below -2, 13.591 % between -2 and -1.
        assert!((first.normal - 0.022_75).abs() < 1e-5 && (second.normal - 0.135_91).abs() < 1e-5);
    }

    #[test]
    fn what_is_no_distribution_is_not_shown() {
        let good: Vec<f64> = (0..=32).map(|k| f64::from(k) / 32.0).collect();
        let with = |k: usize, value: f64| {
            let mut below = good.clone();
            below[k] = value;
            below
        };
        assert!(check(&good, 0.0).is_some());
        for bad in
            [with(5, 0.9), with(32, 2.0), with(0, 0.01), with(7, f64::NAN), good[..31].to_vec(), vec![]]
        {
            assert_eq!(check(&bad, 0.0), None, "{bad:?}");
        }
        assert_eq!(check(&good, f64::NAN), None);
    }
}
