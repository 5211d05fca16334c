//! Named parameters of a network: the prediction in the middle, and the effects of columns, by draws of the weights.

use super::posterior::NetworkPosterior;
use crate::model::parameters::{
    Block, Covariance, Fixed, GaussianJoint, Joint, Marginal, POINT_ESTIMATE, Parameter, Term, linear_terms,
};
use crate::model::{Code, Codebook, Contrast, Parameters};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Public rows that effects are averages over: the network has no released distribution of inputs.
const ROWS: usize = 30;

/// Bounds of the number of draws of the weights, and of the operations of all of them together.
const DRAWS: (usize, usize) = (30, 200);
const OPERATIONS: f64 = 3e8;

/// A linear functional of the network: factors of its outputs at rows of inputs.
type Functional = Vec<(Vec<f64>, f64)>;

impl NetworkPosterior {
    /// Effects are those over the whole bounds: the slope of a number, averaged over numbers that are uniform within the bounds; the difference of a
    /// level to the reference, averaged over the other columns in the same way.
    pub(super) fn named_parameters(&self, codebook: &Codebook) -> Parameters {
        let (scale, zero) =
            (codebook.target_scale(), codebook.target.as_ref().map_or(0.0, |target| target.decode(0.0)));
        let mut parameters = linear_terms(codebook, &[], scale, zero).1;
        parameters[0].variable = "prediction_at_means";
        parameters[0].note = Some("every column in the middle of its bounds".to_owned());
        parameters.iter_mut().skip(1).for_each(|parameter| parameter.variable = "effect");
        let functionals = functionals(codebook);
        let value = |outputs: &[f64]| -> Vec<f64> {
            let shifted = |(k, x): (usize, &f64)| scale * x + if k == 0 { zero } else { 0.0 };
            outputs.iter().enumerate().map(shifted).collect()
        };
        let joint = if self.is_point() {
            parameters.iter_mut().for_each(|parameter| {
                let compared = parameter.note.take().map_or(String::new(), |note| format!("{note}; "));
                *parameter = parameter.clone().with_note(format!("{compared}{POINT_ESTIMATE}"));
                parameter.null = None;
            });
            let outputs: Vec<f64> = functionals.iter().map(|f| self.at(&self.means(), f)).collect();
            Joint::Independent(
                value(&outputs).into_iter().map(|x| Box::new(Fixed(x)) as Box<dyn Marginal>).collect(),
            )
        } else {
            let draws: Vec<Vec<f64>> = self.drawn(&functionals).iter().map(|draw| value(draw)).collect();
            let misfits: Vec<f64> = functionals.iter().map(|f| scale * scale * self.misfit_of(f)).collect();
            Joint::Gaussian(gaussian(&draws, &misfits, self.records_share(codebook)))
        };
        let mut blocks = vec![Block { parameters, joint }];
        if !self.has_classes() {
            let sd = self.noise_sd() * scale;
            let residual = Parameter::new("residual_sd", Vec::new(), 0).with_unit(codebook.target_unit());
            blocks.push(Block {
                parameters: vec![residual.with_note(POINT_ESTIMATE)],
                joint: Joint::Independent(vec![Box::new(Fixed(sd))]),
            });
        }
        Parameters::new(blocks)
    }

    /// See [`Posterior::contrast`](crate::model::Posterior::contrast).
    pub(super) fn contrast_of(&self, inputs: &[f64], reference: &[f64]) -> Contrast {
        let functional = vec![(inputs.to_vec(), 1.0), (reference.to_vec(), -1.0)];
        let (all, naive) = (self.predict(inputs), self.predict_naively(inputs));
        let share = if all.variance > 0.0 { (naive.variance / all.variance).min(1.0) } else { 1.0 };
        let draws: Vec<f64> =
            self.drawn(std::slice::from_ref(&functional)).into_iter().map(|draw| draw[0]).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let spread = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let misfit = if inputs == reference { 0.0 } else { self.misfit_of(&functional) };
        let mean = all.mean - self.predict(reference).mean;
        Contrast { mean, records: share * spread + misfit, privacy: (1.0 - share) * spread }
    }

    /// The functionals in draws of the weights. The seed is public.
    fn drawn(&self, functionals: &[Functional]) -> Vec<Vec<f64>> {
        let outputs: usize = functionals.iter().map(Vec::len).sum();
        let each = (outputs * self.means().len()).max(1) as f64;
        let count = ((OPERATIONS / each) as usize).clamp(DRAWS.0, DRAWS.1);
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let draw = |_| {
            let weights = self.draw_weights(&mut rng);
            functionals.iter().map(|functional| self.at(&weights, functional)).collect()
        };
        (0..count).map(draw).collect()
    }

    fn at(&self, weights: &[f64], functional: &Functional) -> f64 {
        functional.iter().map(|(inputs, factor)| factor * self.output(weights, inputs)).sum()
    }

    /// The variance of a functional that is due to errors of the output that the weights do not account for: they are taken to be the same at all rows of
    /// one sign, and independent between the signs.
    fn misfit_of(&self, functional: &Functional) -> f64 {
        let sum = |sign: f64| functional.iter().map(|(_, factor)| (sign * factor).max(0.0)).sum::<f64>();
        self.misfit() * (sum(1.0).powi(2) + sum(-1.0).powi(2))
    }

    /// The share of the variance of outputs that is not due to the privacy noise, averaged over public rows.
    fn records_share(&self, codebook: &Codebook) -> f64 {
        let rows = rows(codebook);
        let all: f64 = rows.iter().map(|row| self.predict(row).variance).sum();
        let naive: f64 = rows.iter().map(|row| self.predict_naively(row).variance).sum();
        if all > 0.0 { (naive / all).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// A Gaussian distribution with the moments of draws, and variances of its own for each coordinate.
fn gaussian(draws: &[Vec<f64>], added: &[f64], records_share: f64) -> GaussianJoint {
    let (n, size) = (draws.len() as f64, added.len());
    let mean: Vec<f64> = (0..size).map(|k| draws.iter().map(|draw| draw[k]).sum::<f64>() / n).collect();
    let mut covariance = vec![0.0; size * size];
    for draw in draws {
        for i in 0..size {
            for j in 0..size {
                covariance[i * size + j] += (draw[i] - mean[i]) * (draw[j] - mean[j]) / (n - 1.0);
            }
        }
    }
    let with = |share: f64| {
        let mut elements: Vec<f64> = covariance.iter().map(|x| share * x).collect();
        added.iter().enumerate().for_each(|(k, x)| elements[k * (size + 1)] += x);
        Covariance::Full(elements)
    };
    let (covariance, records) = (with(1.0), with(records_share));
    GaussianJoint { mean, covariance, records, terms: (0..size).map(Term::variable).collect() }
}

/// The middle of all columns.
fn middle(codebook: &Codebook) -> Vec<f64> {
    let column = |(_, column): (usize, &crate::model::CodedColumn)| match &column.code {
        Code::Levels { levels } => vec![1.0 / levels.len().max(1) as f64; levels.len()],
        Code::Missing => vec![-1.0],
        _ => vec![0.0],
    };
    codebook.places().flat_map(column).collect()
}

/// Public rows: numbers uniform within the bounds, and each level as likely as the others.
fn rows(codebook: &Codebook) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut row = || {
        let mut row = middle(codebook);
        for (first, column) in codebook.places() {
            match &column.code {
                Code::Number { .. } => row[first] = rng.random_range(-1.0..1.0),
                Code::Flag { .. } => row[first] = if rng.random() { 1.0 } else { -1.0 },
                Code::Levels { levels } if !levels.is_empty() => {
                    let level = rng.random_range(0..levels.len());
                    (0..levels.len()).for_each(|k| row[first + k] = f64::from(u8::from(k == level)));
                }
                _ => (),
            }
        }
        row
    };
    (0..ROWS).map(|_| row()).collect()
}

/// The value in the middle, and the effect of each column or level, in the order of [`linear_terms`].
fn functionals(codebook: &Codebook) -> Vec<Functional> {
    let rows = rows(codebook);
    let mut all: Vec<Functional> = vec![vec![(middle(codebook), 1.0)]];
    let difference = |to: &[(usize, f64)], from: &[(usize, f64)], factor: f64| -> Functional {
        let with = |row: &Vec<f64>, changes: &[(usize, f64)]| {
            let mut row = row.clone();
            changes.iter().for_each(|(k, x)| row[*k] = *x);
            row
        };
        let each = factor / rows.len() as f64;
        rows.iter().flat_map(|row| [(with(row, to), each), (with(row, from), -each)]).collect()
    };
    for (first, column) in codebook.places() {
        match &column.code {
            // The average slope of numbers that are uniform within the bounds is the difference between the ends over their distance.
            Code::Number { scale, .. } => {
                all.push(difference(&[(first, 1.0)], &[(first, -1.0)], 0.5 / scale));
            }
            Code::Word { .. } => all.push(difference(&[(first, 1.0)], &[(first, 0.0)], 1.0)),
            Code::Flag { .. } | Code::Missing => all.push(difference(&[(first, 1.0)], &[(first, -1.0)], 1.0)),
            Code::Levels { levels } => {
                let one = |level: usize| -> Vec<(usize, f64)> {
                    (0..levels.len()).map(|k| (first + k, f64::from(u8::from(k == level)))).collect()
                };
                all.extend((1..levels.len()).map(|level| difference(&one(level), &one(0), 1.0)));
            }
        }
    }
    all
}
