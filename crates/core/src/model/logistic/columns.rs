//! The curvature under the assumption of independent columns, for models too wide to release it.
//!
//! The curvature of scores at weights 0 is $A = \frac14\sum v\,xx^T$. The number of its elements grows with the
//! square of the number of weights, and so does the noise of its release. The sums $\sum v\,x$ grow linearly, and
//! determine $A$ if columns are independent:
//!
//! $$A = s(C + mm^T), \qquad s = \tfrac14\sum v,$$
//!
//! with the means $m$ of inputs, of which that of the bias is 1, and variances $C$ within columns: $\mathrm{diag}(m) - mm^T$ for levels.
//!
//! Sums are released by class, at no further cost: half of their difference is the score at weights 0, with the noise
//! of a release of that score alone.

use crate::wall::Released;

/// Minimum variance of a numeric column, as a share of the largest variance possible with its mean.
const MIN_SD: f64 = 0.05;

/// Prior mean and variance of the average weight of records.
const PRIOR_WEIGHT: (f64, f64) = (0.95, 0.01);
/// Prior mean and variance of the mean of a numeric column.
const PRIOR_MEAN: (f64, f64) = (0.0, 0.16);
/// Prior mean and variance of the mean absolute value of a numeric column.
const PRIOR_SIZE: (f64, f64) = (0.5, 0.04);

/// Flags of the inputs that are numeric columns.
pub(super) fn numbers(columns: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let firsts = columns.iter().scan(0, |next, &levels| {
        *next += levels;
        Some((*next - levels, levels))
    });
    firsts.filter(|(_, levels)| *levels == 1).map(|(first, _)| first)
}

/// A release of scores at some weights.
pub(super) struct Observation {
    pub(super) weights: Vec<f64>,
    pub(super) score: Vec<f64>,
    /// The variance of the noise in each.
    pub(super) noise: Vec<f64>,
}

impl Observation {
    pub(super) fn mean_noise(&self) -> f64 {
        self.noise.iter().sum::<f64>() / self.noise.len() as f64
    }
}

/// $A$.
#[derive(Debug, Clone)]
pub(super) struct Independent {
    columns: Vec<usize>,
    /// $s$.
    pub(super) scale: f64,
    /// $m$.
    pub(super) mean: Vec<f64>,
    /// Variance of numeric columns; 0 for others.
    variance: Vec<f64>,
    /// Variance of the noise in the mean of a level. That of a number has twice as much.
    pub(super) mean_noise: f64,
}

impl Independent {
    /// From class sums of this many records, with the score at weights 0 that they imply; and the number of sums that
    /// were projected into their domain.
    pub(super) fn read(released: &Released, columns: &[usize], n: f64) -> (Self, Observation, u64) {
        let (one, other) = released.values.split_at(released.values.len() / 2);
        let size = 1 + columns.iter().sum::<usize>();
        let sd = released.noise_sd[0];
        let mut score: Vec<f64> = (0..size).map(|k| 0.5 * (one[k] - other[k])).collect();
        let mut noise = vec![0.5 * sd * sd; size];
        let mut sum: Vec<f64> = (0..size).map(|k| one[k] + other[k]).collect();
        let (mut variance, mut moved) = (vec![0.0; size], 0);
        let mut within = |x: f64, least: f64, most: f64| {
            moved += u64::from(!(least..=most).contains(&x));
            x.clamp(least, most)
        };
        let total =
            n * within(posterior_mean(sum[size - 1] / n, 2.0 * (sd / n).powi(2), PRIOR_WEIGHT), 0.25, 1.0);
        let mean_noise = 2.0 * (sd / total).powi(2);
        for (low, k) in numbers(columns).enumerate() {
            let (below, gap) = (one[size + low] + other[size + low], one[size + low] - other[size + low]);
            score[k] -= 0.5 * gap;
            noise[k] *= 2.0;
            let length = posterior_mean((sum[k] + below) / total, 2.0 * mean_noise, PRIOR_SIZE);
            let length = within(length, 0.0, 1.0);
            let mean = posterior_mean((sum[k] - below) / total, 2.0 * mean_noise, PRIOR_MEAN);
            let mean = within(mean, -length, length);
            sum[k] = mean * total;
            // The mean square of numbers of mean absolute value l is between l^2, if all are equal, and l, if they
            // are 0 and 1.
            variance[k] = (length.powf(1.5) - mean * mean).max(MIN_SD * (1.0 - mean * mean));
        }
        sum[size - 1] = total;
        let mut first = 0;
        for &levels in columns {
            if levels > 1 {
                moved += onto_simplex(&mut sum[first..first + levels], total);
            }
            first += levels;
        }
        let mean = sum.iter().map(|x| x / total).collect();
        agree(&mut score, columns);
        let observation = Observation { weights: vec![0.0; size], score, noise };
        let found = Self { columns: columns.to_vec(), scale: 0.25 * total, mean, variance, mean_noise };
        (found, observation, moved)
    }

    /// The variance of the error of the mean of a number.
    pub(super) fn number_noise(&self) -> f64 {
        let (noise, usual) = (2.0 * self.mean_noise, PRIOR_MEAN.1);
        noise * usual / (noise + usual)
    }

    /// $C$.
    pub(super) fn covariance(&self) -> Vec<f64> {
        let size = self.mean.len();
        let mut out = vec![0.0; size * size];
        let mut first = 0;
        for &levels in &self.columns {
            for i in (first..first + levels).filter(|_| levels > 1) {
                (first..first + levels).for_each(|j| out[i * size + j] = -self.mean[i] * self.mean[j]);
                out[i * (size + 1)] += self.mean[i];
            }
            first += levels;
        }
        numbers(&self.columns).for_each(|k| out[k * (size + 1)] = self.variance[k]);
        out
    }

    /// The diagonal of $C$.
    pub(super) fn variances(&self) -> Vec<f64> {
        let mut out = self.variance.clone();
        let mut first = 0;
        for &levels in &self.columns {
            if levels > 1 {
                (first..first + levels).for_each(|k| out[k] = self.mean[k] * (1.0 - self.mean[k]));
            }
            first += levels;
        }
        out
    }

    /// Scores of centred inputs: $g - m g_{d+1}$, with that of the bias unchanged.
    pub(super) fn centred(&self, score: &[f64]) -> Vec<f64> {
        let bias = score[score.len() - 1];
        let mut out: Vec<f64> = score.iter().zip(&self.mean).map(|(g, m)| g - m * bias).collect();
        out[score.len() - 1] = bias;
        out
    }
}

/// The scores of the levels of a column sum to that of the bias, since one of them is 1. Projects noisy scores to the
/// nearest that satisfy this.
pub(super) fn agree(score: &mut [f64], columns: &[usize]) {
    let Some((bias, inputs)) = score.split_last_mut() else { return };
    // The sum of each column estimates the score of the bias, with the variance of as many scores as it has levels.
    let (mut sum, mut known, mut rest) = (*bias, 1.0, &*inputs);
    for &levels in columns {
        let (column, after) = rest.split_at(levels);
        if levels > 1 {
            sum += column.iter().sum::<f64>() / levels as f64;
            known += 1.0 / levels as f64;
        }
        rest = after;
    }
    *bias = sum / known;
    let mut rest = inputs;
    for &levels in columns {
        let (column, after) = rest.split_at_mut(levels);
        if levels > 1 {
            let gap = (*bias - column.iter().sum::<f64>()) / levels as f64;
            column.iter_mut().for_each(|x| *x += gap);
        }
        rest = after;
    }
}

/// The posterior mean of a noisy number, given a normal prior with this mean and variance.
pub(super) fn posterior_mean(found: f64, noise: f64, (usual, variance): (f64, f64)) -> f64 {
    usual + (found - usual) * variance / (variance + noise)
}

/// Projects numbers to the nearest non-negative ones with this sum; returns how many of them became 0.
fn onto_simplex(values: &mut [f64], total: f64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (k, value) in sorted.iter().enumerate() {
        sum += value;
        let least = (sum - total) / (k + 1) as f64;
        if *value > least {
            shift = least;
        }
    }
    values.iter_mut().for_each(|value| *value = (*value - shift).max(0.0));
    values.iter().filter(|value| **value == 0.0).count() as u64
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::query::ClassSums;
    use super::*;
    use crate::math::vector::dot;
    use crate::wall::Query;

    /// Columns with these means, and numbers of this variance.
    pub(in super::super) fn independent(columns: &[usize], mean: &[f64], variance: f64) -> Independent {
        let mut all = vec![0.0; mean.len()];
        numbers(columns).for_each(|k| all[k] = variance);
        let (columns, mean) = (columns.to_vec(), mean.to_vec());
        Independent { columns, scale: 7.0, mean, variance: all, mean_noise: 0.0 }
    }

    /// Consistent scores are unchanged; others are projected orthogonally.
    #[test]
    fn scores_of_levels_sum_to_that_of_the_bias() {
        let columns = [3, 1, 2];
        let right = [1.0, -2.0, 3.0, 9.0, 0.5, 1.5, 2.0];
        let mut same = right;
        agree(&mut same, &columns);
        assert!(same.iter().zip(right).all(|(a, b)| (a - b).abs() < 1e-14), "{same:?}");
        let noisy = [0.3, 1.1, -0.4, 5.0, 2.0, 0.1, -1.0];
        let mut moved = noisy;
        agree(&mut moved, &columns);
        assert!((moved[0] + moved[1] + moved[2] - moved[6]).abs() < 1e-14);
        assert!((moved[4] + moved[5] - moved[6]).abs() < 1e-14);
        let step: Vec<f64> = moved.iter().zip(noisy).map(|(a, b)| a - b).collect();
        assert!(dot(&step, &right).abs() < 1e-13 && dot(&step, &moved).abs() < 1e-13);
    }

    /// By hand: (5, 3, -4) with sum 6 is 1 too high in each of the two that remain.
    #[test]
    fn levels_are_moved_to_the_simplex() {
        let mut values = [5.0, 3.0, -4.0];
        assert_eq!(onto_simplex(&mut values, 6.0), 1);
        assert_eq!(values, [4.0, 2.0, 0.0]);
    }

    /// Without noise, sums of records give the score, and the curvature if columns are independent: here all pairs of
    /// a level and a number.
    #[test]
    fn sums_by_class_give_score_and_curvature() {
        let columns = [2, 1];
        let query = ClassSums { columns: &columns, radius: 10.0 };
        let mut values = vec![0.0; query.width()];
        let mut score = [0.0; 4];
        for (a, x, y) in [(0, 0.25, 1.0), (0, -0.25, -1.0), (1, 0.25, -1.0), (1, -0.25, -1.0)] {
            let mut record = [0.0, 0.0, x, y];
            record[a] = 1.0;
            let mut out = vec![0.0; query.width()];
            query.contribute(&record, &mut out);
            values.iter_mut().zip(out).for_each(|(sum, x)| *sum += x);
            for (k, input) in [record[0], record[1], x, 1.0].into_iter().enumerate() {
                score[k] += 0.5 * y * input;
            }
        }
        let released = Released {
            noise_sd: vec![0.0; values.len()].into(),
            values,
            expected_batch: 4.0,
            step: 1,
            guarantee: crate::budget::Guarantee::None(crate::budget::NotPrivate::NoNoise),
        };
        let (known, observation, moved) = Independent::read(&released, &columns, 4.0);
        assert!(observation.score.iter().zip(score).all(|(a, b)| (a - b).abs() < 1e-15) && moved == 0);
        // Half of the records have each level; the number has a mean square of 1/16, estimated as (1/4)^1.5 = 1/8.
        assert_eq!(known.mean, [0.5, 0.5, 0.0, 1.0]);
        assert_eq!(known.variances(), [0.25, 0.25, 0.125, 0.0]);
        assert_eq!(known.covariance()[..4], [0.25, -0.25, 0.0, 0.0]);
    }
}
