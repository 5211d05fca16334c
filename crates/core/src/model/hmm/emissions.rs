//! Likelihoods of counts given states, and posteriors of the category probabilities of fields given states.

use super::noise::Curves;
use super::{Hmm, Layout, Noise, NoiseTreatment, simplex};
use crate::model::{DefinitionError, FitError};
use rand::Rng;

/// Counts of events by cell, field and category.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    values: Vec<f64>,
    observed: Vec<bool>,
    noise: Option<Noise>,
}

impl Counts {
    /// Counts, all categories of a cell together, with the noise that is in them.
    ///
    /// # Errors
    /// [`DefinitionError::HmmCounts`](crate::model::DefinitionError::HmmCounts) if their number does not match the layout.
    pub fn new(layout: &Layout, values: Vec<f64>, noise: Option<Noise>) -> Result<Self, FitError> {
        if values.len() != layout.width() || !values.iter().all(|x| x.is_finite()) {
            return Err(FitError::Definition(DefinitionError::HmmCounts));
        }
        Ok(Self { values, observed: vec![true; layout.cells()], noise })
    }

    /// Marks all other cells as unobserved.
    ///
    /// # Errors
    /// [`DefinitionError::HmmCounts`](crate::model::DefinitionError::HmmCounts) if there is not a mark for each cell.
    pub fn only(mut self, observed: Vec<bool>) -> Result<Self, FitError> {
        if observed.len() != self.observed.len() {
            return Err(FitError::Definition(DefinitionError::HmmCounts));
        }
        self.observed = observed;
        Ok(self)
    }

    /// Marks of observed cells.
    #[must_use]
    pub fn observed(&self) -> &[bool] {
        &self.observed
    }

    /// The counts, all categories of a cell together.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The noise in each count, if there is any.
    #[must_use]
    pub fn noise(&self) -> Option<Noise> {
        self.noise
    }

    /// Number of negative counts, which only noise makes.
    #[must_use]
    pub fn below_zero(&self) -> u64 {
        self.values.iter().filter(|&&count| count < 0.0).count() as u64
    }
}

/// The counts and their likelihood, shared by all chains.
#[derive(Debug)]
pub struct Evidence {
    model: Hmm,
    /// As released; clipped to 0 from below if they are taken for the true ones.
    counts: Vec<f64>,
    observed: Vec<bool>,
    aware: Option<Aware>,
}

/// The likelihood of noisy counts.
#[derive(Debug)]
struct Aware {
    variance: f64,
    curves: Curves,
    /// Unbiased noisy numbers of events.
    totals: Vec<f64>,
    /// Square roots of expected numbers of events.
    roots: Vec<f64>,
}

impl Evidence {
    /// The evidence of counts for a model.
    ///
    /// # Errors
    /// [`FitError`] if the model is invalid, or the counts do not match it.
    pub fn new(model: &Hmm, counts: &Counts, posterior: NoiseTreatment) -> Result<Self, FitError> {
        model.check()?;
        let layout = &model.layout;
        if counts.values.len() != layout.width() || counts.observed.len() != layout.cells() {
            return Err(FitError::Definition(DefinitionError::HmmCounts));
        }
        let noise = counts.noise.filter(|noise| posterior == NoiseTreatment::NoiseAware && noise.sd() > 0.0);
        let aware = noise.map(|noise| {
            let found = totals(layout, counts, noise);
            let expected: Vec<Option<f64>> =
                found.iter().map(|cell| cell.map(|(_, expected)| expected)).collect();
            // A single state needs no likelihood.
            let curves = match model.states {
                1 => Curves::default(),
                _ => Curves::new(noise, &counts.values, layout.categories(), &expected),
            };
            let roots = expected.into_iter().map(|total| total.unwrap_or_default().sqrt()).collect();
            let totals = found.into_iter().map(|cell| cell.map_or(0.0, |(noisy, _)| noisy)).collect();
            Aware { variance: noise.sd().powi(2), curves, totals, roots }
        });
        let min = if aware.is_some() { f64::NEG_INFINITY } else { 0.0 };
        let values = counts.values.iter().map(|count| count.max(min)).collect();
        Ok(Self { model: model.clone(), counts: values, observed: counts.observed.clone(), aware })
    }

    pub(super) fn model(&self) -> &Hmm {
        &self.model
    }

    pub(super) fn is_observed(&self, cell: usize) -> bool {
        self.observed[cell]
    }

    /// Whether the noise is part of the likelihood.
    pub(super) fn is_noisy(&self) -> bool {
        self.aware.is_some()
    }

    /// The number of events of a cell: the noisy one if counts are noisy; 0 if it is not observed.
    pub(super) fn events(&self, cell: usize) -> f64 {
        let fields = self.model.layout.fields.len() as f64;
        match (&self.aware, self.observed[cell]) {
            (_, false) => 0.0,
            (Some(aware), true) => aware.totals[cell],
            (None, true) => self.of_cell(cell).iter().sum::<f64>() / fields,
        }
    }

    fn of_cell(&self, cell: usize) -> &[f64] {
        let width = self.model.layout.categories();
        &self.counts[cell * width..][..width]
    }

    /// Functions of the category probabilities $\theta$ for likelihoods: $\log\theta$, or $\sqrt\theta$ if
    /// noise-aware. The states of a category are adjacent.
    pub(super) fn prepare(&self, theta: &[f64], prepared: &mut [f64]) {
        let aware = self.aware.is_some();
        for (k, theta) in theta.chunks(self.model.layout.categories()).enumerate() {
            for (j, share) in theta.iter().enumerate() {
                prepared[j * self.model.states + k] = if aware { share.sqrt() } else { share.ln() };
            }
        }
    }

    /// $\log p(y|z = k)$ of an observed cell, up to a constant.
    pub(super) fn log_likelihood(&self, cell: usize, prepared: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        if self.model.states == 1 {
            return;
        }
        if let Some(aware) = &self.aware {
            return aware.curves.add(cell, aware.roots[cell], prepared, out);
        }
        for (count, logs) in self.of_cell(cell).iter().zip(prepared.chunks(self.model.states)) {
            if *count != 0.0 {
                out.iter_mut().zip(logs).for_each(|(sum, log)| *sum += count * log);
            }
        }
    }

    /// Draws the category probabilities of all states, given the states of cells.
    pub(super) fn draw(&self, rng: &mut impl Rng, assignments: &[usize], theta: &mut [f64]) {
        let Hmm { layout, states, emission_prior, .. } = &self.model;
        let width = layout.categories();
        let mut sums = vec![0.0; states * width];
        let (mut totals, mut cells) = (vec![0.0; *states], vec![0u64; *states]);
        for (cell, &state) in assignments.iter().enumerate().filter(|(cell, _)| self.observed[*cell]) {
            let sums = &mut sums[state * width..][..width];
            sums.iter_mut().zip(self.of_cell(cell)).for_each(|(sum, count)| *sum += count);
            cells[state] += 1;
            totals[state] += self.aware.as_ref().map_or(0.0, |aware| aware.totals[cell]);
        }
        for (state, (theta, sums)) in theta.chunks_mut(width).zip(sums.chunks_mut(width)).enumerate() {
            for range in layout.field_ranges() {
                let (shares, sums) = (&mut theta[range.clone()], &mut sums[range]);
                if let Some(aware) = &self.aware {
                    let variance = cells[state] as f64 * aware.variance;
                    simplex::draw_totals(rng, *emission_prior, variance, totals[state].max(0.0), sums);
                }
                simplex::dirichlet(rng, *emission_prior, sums, shares);
            }
        }
    }
}

/// The number of events of each observed cell: unbiased, and shrunk.
///
/// Each field's counts have the same true sum. The best linear combination of the noisy ones weights them by the
/// inverse of their lengths, and has the variance $\sigma^2/\sum_d K_d^{-1}$. The expected number is shrunk towards
/// the mean of the region, and that towards the mean of all, according to the noise.
fn totals(layout: &Layout, counts: &Counts, noise: Noise) -> Vec<Option<(f64, f64)>> {
    /// Minimum rate of a cell: a rate of 0 would rule out every event.
    const MIN: f64 = 0.5;
    let width = layout.categories();
    let precision: f64 = layout.fields.iter().map(|&levels| 1.0 / levels as f64).sum();
    let variance = noise.sd().powi(2) / precision;
    let noisy = |cell: usize| {
        let counts = &counts.values[cell * width..][..width];
        let fields = layout.field_ranges().map(|range| &counts[range]);
        let means = fields.map(|field| field.iter().sum::<f64>() / field.len() as f64);
        means.sum::<f64>() / precision
    };
    let mut regions: Vec<(Vec<usize>, Vec<f64>)> = (0..layout.regions)
        .map(|region| {
            let cells = (0..layout.steps).map(|step| layout.cell(region, step));
            cells.filter(|&cell| counts.observed[cell]).map(|cell| (cell, noisy(cell))).unzip()
        })
        .collect();
    regions.retain(|(cells, _)| !cells.is_empty());
    let mut means: Vec<f64> = regions.iter().map(|(_, noisy)| mean(noisy)).collect();
    let centre = mean(&means);
    shrink(&mut means, centre, variance * layout.regions as f64 / layout.cells() as f64);
    let mut found = vec![None; layout.cells()];
    for ((cells, noisy), centre) in regions.iter().zip(means) {
        let mut expected = noisy.clone();
        shrink(&mut expected, centre, variance);
        for ((cell, noisy), expected) in cells.iter().zip(noisy).zip(expected) {
            found[*cell] = Some((*noisy, expected.max(MIN)));
        }
    }
    found
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Shrinks noisy values towards their centre by the share of the noise in their variance.
fn shrink(values: &mut [f64], centre: f64, variance: f64) {
    let spread = values.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / values.len() as f64;
    let kept = if spread > variance { 1.0 - variance / spread } else { 0.0 };
    values.iter_mut().for_each(|x| *x = centre + kept * (*x - centre));
}
