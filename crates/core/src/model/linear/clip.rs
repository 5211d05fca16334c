//! The clipping norm of sites of two classes, from public quantities.

use super::{Linear, LinearCavity};
use crate::engine::{SiteModel, UnbiasedClip};
use crate::family::Moments;
use crate::math::matrix;

/// Records drawn from a model with known weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The weights and, last, the bias.
    pub weights: Vec<f64>,
    /// Rows of inputs and the class, 1 or -1.
    pub records: Vec<f64>,
}

/// A clipping norm and its effects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClippingNorm {
    /// The norm.
    pub norm: f64,
    /// The share of simulated records that it clips.
    pub clipped: f64,
    /// The longest site of a simulated record.
    pub longest: f64,
    /// The expected posterior standard deviation of a weight, with records and privacy noise: the root of the mean variance.
    pub expected_sd: f64,
}

/// Number of norms that are compared.
const CANDIDATES: usize = 40;

/// Summary of a simulated record: the inputs with the constant 1 of the bias, the precision along them, and the
/// larger norm of its two sites.
struct Site {
    inputs: Vec<f64>,
    precision: f64,
    norm: f64,
}

impl ClippingNorm {
    /// The norm of maximum information about the weights, on average over simulated sets of records.
    ///
    /// Sites are clipped [without bias](UnbiasedClip), so a small norm $c$ costs information and a large one noise:
    /// with $A_c = \sum\omega I$ and noise of the covariance $c^2s^2$ in the scores, the posterior precision is
    /// $\Lambda_0 + A_c(A_c + c^2s^2)^{-1}A_c$, and its log determinant is maximised. As the budget grows, $s$ falls
    /// and the choice tends to the longest site, so that nothing is clipped.
    ///
    /// `noise_sd` is $s$, the standard deviation of the noise in a natural parameter per unit of the norm. `None` if
    /// a simulated set has no records, or no finite site.
    #[must_use]
    pub fn choose(model: &Linear, simulated: &[Simulated], records: usize, noise_sd: f64) -> Option<Self> {
        let sets: Vec<Vec<Site>> =
            simulated.iter().map(|set| sites(model, set, records)).collect::<Option<_>>()?;
        let mut norms: Vec<f64> = sets.iter().flatten().map(|site| site.norm).collect();
        norms.sort_by(f64::total_cmp);
        let longest = *norms.last()?;
        let candidate = |k: usize| norms[(norms.len() * (k + 1) / CANDIDATES).max(1) - 1];
        let mut best: Option<(f64, Self)> = None;
        for norm in (0..CANDIDATES).map(candidate).filter(|norm| *norm > 0.0) {
            let (mut gain, mut variance) = (0.0, 0.0);
            for set in &sets {
                let (log, mean) = information(model, set, records, norm, noise_sd)?;
                gain += log;
                variance += mean / sets.len() as f64;
            }
            if best.is_none_or(|(most, _)| gain > most) {
                let longer = norms.iter().filter(|x| **x > norm).count();
                let clipped = longer as f64 / norms.len() as f64;
                best = Some((gain, Self { norm, clipped, longest, expected_sd: variance.sqrt() }));
            }
        }
        best.map(|(_, choice)| choice)
    }
}

/// Sites at the weights that records were drawn with, in a cavity as narrow as this many records make it.
fn sites(model: &Linear, set: &Simulated, records: usize) -> Option<Vec<Site>> {
    let d = model.family.dimension;
    let narrow = (0..d * d).map(|k| if k % (d + 1) == 0 { 1.0 / records as f64 } else { 0.0 });
    let moments = Moments { mean: set.weights.clone(), covariance: narrow.collect() };
    let natural = model.family.natural(&moments)?;
    let mut cavity = LinearCavity::default();
    model.condition(&natural, &mut cavity);
    let mut out = vec![0.0; model.width()];
    let site = |record: &[f64]| {
        out.fill(0.0);
        let norm = UnbiasedClip::longest(model, &cavity, record, &mut out);
        let mut inputs = record.to_vec();
        *inputs.last_mut()? = 1.0;
        // The precision is p x x', and the last input is 1.
        let precision = *out.last()?;
        Some(Site { inputs, precision, norm }).filter(|site| site.norm.is_finite())
    };
    set.records.chunks_exact(d).map(site).collect()
}

/// The log determinant of the posterior precision, and the mean posterior variance of a weight.
fn information(model: &Linear, set: &[Site], records: usize, norm: f64, noise_sd: f64) -> Option<(f64, f64)> {
    let d = model.family.dimension;
    let mut learnt = vec![0.0; d * d];
    for Site { inputs, precision, norm: length } in set {
        let by = precision * (norm / length).min(1.0) * records as f64 / set.len() as f64;
        for (i, x) in inputs.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            learnt[i * d..][..d].iter_mut().zip(inputs).for_each(|(sum, y)| *sum += by * x * y);
        }
    }
    let mut total = learnt.clone();
    (0..d).for_each(|i| total[i * (d + 1)] += (noise_sd * norm).powi(2));
    let gain = matrix::multiply(&learnt, &matrix::symmetric_inverse(&total, d)?, d);
    let mut precision = matrix::multiply(&gain, &learnt, d);
    precision = (0..d * d).map(|k| 0.5 * (precision[k] + precision[k % d * d + k / d])).collect();
    (0..d).for_each(|i| precision[i * (d + 1)] += model.precisions[i]);
    let mut factor = vec![0.0; d * d];
    matrix::wide_cholesky(&precision, d, &mut factor).then_some(())?;
    let log = matrix::log_determinant(&factor, d);
    let covariance = matrix::symmetric_inverse(&precision, d)?;
    Some((log, (0..d).map(|i| covariance[i * (d + 1)]).sum::<f64>() / d as f64))
}
