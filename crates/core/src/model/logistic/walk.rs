//! The path of the weights, for a curvature matrix.

use super::LogisticPlan;
use super::columns::agree;
use super::curvature::{Curvature, variance_ratio};
use super::query::{Curvatures, Scores};
use super::response::{Path, Segment};
use crate::math::matrix;
use crate::model::{DefinitionError, FitError};
use crate::wall::{SumId, Wall};

/// Curvatures are increased by this share of the norm of their noise, so that steps do not overshoot.
const OVERSHOOT: f64 = 0.5;

impl LogisticPlan {
    /// Takes all steps; returns how many eigenvalues of curvatures were not positive.
    pub(super) fn walk(&self, wall: &mut Wall, ids: &[SumId]) -> Result<(Path, u64), FitError> {
        let (size, radius, bound) = (self.size(), self.radius, self.residual_bound);
        let mut weights = vec![0.0; size];
        let (mut mean, mut step) = (vec![0.0; size], vec![0.0; size]);
        let mut known: Option<Curvature> = None;
        let (mut legs, mut ratio, mut projections) = (Vec::new(), 1.0, 0);
        let (mut curvatures, mut between) = (Vec::new(), Vec::new());
        for (k, round) in self.rounds.iter().enumerate() {
            let released = wall.sum(ids[2 * k], &Curvatures { weights: &weights, radius, bound })?;
            let found = Curvature::read(&released, &self.columns);
            curvatures.push(found.clone());
            between.clone_from(&weights);
            let curvature = known.take().map_or_else(|| found.clone(), |first| first.updated(&found));
            ratio = variance_ratio(&released, radius);
            let over = OVERSHOOT * curvature.spectral();
            let (steep, moved) = curvature.mapped(|value| value.max(0.0) + over + self.ridge)?;
            projections += moved;
            let inverse = matrix::symmetric_inverse(&steep.elements, size).ok_or(FitError::Improper)?;
            known = Some(if k == 0 { curvature.mapped(|value| value.max(0.0))?.0 } else { curvature });
            let mut noise_sd = 0.0;
            for taken in 0..round.steps {
                let mut released = wall.sum(ids[2 * k + 1], &Scores { weights: &weights, radius, bound })?;
                noise_sd = released.noise_sd[0];
                agree(&mut released.values, &self.columns);
                released.values.iter_mut().zip(&weights).for_each(|(g, w)| *g -= self.ridge * w);
                matrix::times(&inverse, size, &released.values, &mut step);
                weights.iter_mut().zip(&step).for_each(|(w, step)| *w += step);
                if k == 1 && taken >= round.steps - self.averaged {
                    let share = 1.0 / self.averaged as f64;
                    mean.iter_mut().zip(&weights).for_each(|(mean, w)| *mean += share * w);
                }
            }
            legs.push(Segment { inverse, steps: round.steps, noise_sd });
        }
        let (Ok(legs), Ok([first, second])) = (legs.try_into(), <[Curvature; 2]>::try_from(curvatures))
        else {
            return Err(FitError::Definition(DefinitionError::Logistic));
        };
        let (ridge, averaged, variance_ratio) = (self.ridge, self.averaged, ratio);
        let expected = Curvature::expected(&self.columns, self.records as f64);
        let path = Path {
            legs,
            ridge,
            averaged,
            weights: mean,
            variance_ratio,
            bound,
            expected,
            first,
            second,
            between,
        };
        Ok((path, projections))
    }
}
