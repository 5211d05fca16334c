//! Named parameters of a regression: coefficients, or effects at the means where the function is not linear.

use super::posterior::{Predictor, Refined, RegressionPosterior};
use super::rounds::Frame;
use crate::math::vector::dot;
use crate::model::parameters::{
    Block, Covariance, GaussianJoint, Joint, NormalMarginal, Parameter, Term, linear_terms,
};
use crate::model::{Code, Codebook, Contrast, Parameters};

/// The linear part of a prediction. Its variables are the errors of the prediction at the centre and of the slopes in whitened inputs:
/// levels of a column always sum to 1, so that their encoded weights have huge errors that cancel in contrasts, and must cancel before they are
/// squared.
struct Linear<'a> {
    frame: &'a Frame,
    covariance: Covariance,
    /// The covariance without the privacy noise.
    records: Covariance,
}

impl Linear<'_> {
    /// A function of the weights of encoded inputs and, last, of the prediction at the centre, as one of the variables: their mean is 0.
    fn term(&self, term: &Term) -> Term {
        let d = self.frame.inputs();
        let (mut constant, mut weights) = (term.constant, vec![0.0; d + 1]);
        for &(k, factor) in &term.weights {
            if k == d {
                constant += factor * self.frame.intercept;
                weights[0] += factor;
            } else {
                constant += factor * self.frame.weights[k];
                let row = &self.frame.whitening[k * d..][..d];
                weights[1..].iter_mut().zip(row).for_each(|(w, t)| *w += factor * t);
            }
        }
        Term { weights: weights.into_iter().enumerate().filter(|(_, w)| *w != 0.0).collect(), constant }
    }
}

impl RegressionPosterior {
    /// The factor of all variances.
    fn scale(&self) -> f64 {
        self.residuals().square * self.variance_scale
    }

    fn linear(&self) -> Linear<'_> {
        let frame = &self.predictor.frame;
        let (intercept, slope) = frame.sampling;
        let square = self.residuals().square;
        let sampling = std::iter::once(intercept).chain(std::iter::repeat_n(slope, frame.inputs()));
        let records: Vec<f64> = sampling.map(|variance| square * variance).collect();
        let mut covariance = frame.covariance.clone();
        if !frame.records.is_empty() {
            covariance.iter_mut().zip(&frame.records).for_each(|(x, records)| *x += records);
            let records = Covariance::Full(frame.records.clone());
            return Linear { frame, covariance: Covariance::Full(covariance), records };
        }
        covariance.iter_mut().step_by(frame.inputs() + 2).zip(&records).for_each(|(x, add)| *x += add);
        Linear { frame, covariance: Covariance::Full(covariance), records: Covariance::Diagonal(records) }
    }

    /// See [`Posterior::parameters`](crate::model::Posterior::parameters).
    pub(super) fn named_parameters(&self, codebook: &Codebook) -> Parameters {
        let (scale, zero) =
            (codebook.target_scale(), codebook.target.as_ref().map_or(0.0, |t| t.decode(0.0)));
        let (terms, mut parameters) = linear_terms(codebook, &self.predictor.frame.centre, scale, zero);
        let linear = self.linear();
        let joint = match &self.predictor.refined {
            None => GaussianJoint {
                mean: vec![0.0; self.inputs() + 1],
                terms: terms.iter().map(|term| linear.term(term)).collect(),
                covariance: linear.covariance,
                records: linear.records,
            },
            Some(_) => {
                parameters.iter_mut().skip(1).for_each(|parameter| parameter.variable = "effect");
                parameters[0].variable = "prediction_at_means";
                self.effects(codebook, &linear, &terms, scale)
            }
        };
        let sd = (self.residuals().square * self.noise_variance).sqrt() * scale;
        let residual = Parameter {
            unit: codebook.target_unit().map(str::to_owned),
            ..Parameter::new("residual_sd", Vec::new(), 0)
        };
        let (sd_error, records_error) =
            (sd * self.residuals().sd_error, sd * self.residuals().records_sd_error);
        let marginal = NormalMarginal { mean: sd, sd: sd_error, records_sd: records_error };
        Parameters::new(vec![
            Block { parameters, joint: Joint::Gaussian(joint) },
            Block { parameters: vec![residual], joint: Joint::Independent(vec![Box::new(marginal)]) },
        ])
    }

    /// The joint distribution of the prediction at the centre and of the effects of columns, which are not those of the linear part alone.
    fn effects(&self, codebook: &Codebook, linear: &Linear, terms: &[Term], scale: f64) -> GaussianJoint {
        let count = terms.len();
        let functionals = self.functionals(codebook);
        let (added, deviations) = self.predictor.refinement(&functionals);
        let mut at_centre = Term::variable(self.inputs()).times(scale);
        at_centre.constant = terms[0].constant;
        let terms: Vec<Term> =
            std::iter::once(&at_centre).chain(&terms[1..]).map(|term| linear.term(term)).collect();
        let mean = terms.iter().zip(&added).map(|(term, added)| term.constant + scale * added).collect();
        let share = self.predictor.refined_privacy_share();
        let of = |lines: &Covariance, factor: f64| {
            let mut covariance = vec![0.0; count * count];
            for i in 0..count {
                for j in 0..=i {
                    let curves: f64 = deviations.iter().map(|draw| draw[i] * draw[j]).sum();
                    let value =
                        lines.between(&terms[i], &terms[j]) + factor * scale * scale * self.scale() * curves;
                    (covariance[i * count + j], covariance[j * count + i]) = (value, value);
                }
            }
            Covariance::Full(covariance)
        };
        let (covariance, records) = (of(&linear.covariance, 1.0), of(&linear.records, 1.0 - share));
        GaussianJoint { mean, covariance, records, terms: (0..count).map(Term::variable).collect() }
    }

    /// For the value at the centre and the effect of each column, pairs of whitened inputs and factors: the sum of the factors times the
    /// function there. The effect of a number is its slope, averaged over Gaussian inputs with the released variances; that of a level is
    /// the difference to the reference with the other columns at their released means.
    fn functionals(&self, codebook: &Codebook) -> Vec<Functional> {
        let frame = &self.predictor.frame;
        let mut all = vec![Functional::Points(vec![(vec![0.0; frame.inputs()], 1.0)])];
        let at = |changes: &[(usize, f64)]| {
            let mut inputs = frame.centre.clone();
            changes.iter().for_each(|(k, x)| inputs[*k] = *x);
            frame.whitened(&inputs)
        };
        let difference = |to: &[(usize, f64)], from: &[(usize, f64)]| {
            Functional::Points(vec![(at(to), 1.0), (at(from), -1.0)])
        };
        for (first, column) in codebook.places() {
            match &column.code {
                Code::Number { scale, .. } => {
                    let row = &frame.whitening[first * frame.inputs()..][..frame.inputs()];
                    all.push(Functional::Slope(row.iter().map(|t| t / scale).collect()));
                }
                Code::Word { .. } => {
                    all.push(Functional::Slope(
                        frame.whitening[first * frame.inputs()..][..frame.inputs()].to_vec(),
                    ));
                }
                Code::Flag { .. } | Code::Missing => all.push(difference(&[(first, 1.0)], &[(first, -1.0)])),
                Code::Levels { levels } => {
                    let one = |level: usize| -> Vec<(usize, f64)> {
                        (0..levels.len()).map(|k| (first + k, f64::from(u8::from(k == level)))).collect()
                    };
                    all.extend((1..levels.len()).map(|level| difference(&one(level), &one(0))));
                }
            }
        }
        all
    }

    /// See [`Posterior::contrast`](crate::model::Posterior::contrast).
    pub(super) fn contrast_of(&self, inputs: &[f64], reference: &[f64]) -> Contrast {
        let (frame, linear) = (&self.predictor.frame, self.linear());
        let gaps = inputs.iter().zip(reference).map(|(a, b)| a.clamp(-1.0, 1.0) - b.clamp(-1.0, 1.0));
        let line = Term { weights: gaps.enumerate().filter(|(_, gap)| *gap != 0.0).collect(), constant: 0.0 };
        let points = vec![(frame.whitened(inputs), 1.0), (frame.whitened(reference), -1.0)];
        let (added, deviations) = self.predictor.refinement(&[Functional::Points(points)]);
        let curves = self.scale() * deviations.iter().map(|draw| draw[0] * draw[0]).sum::<f64>();
        let privacy = self.predictor.refined_privacy_share() * curves;
        let line = linear.term(&line);
        let (all, records) = (linear.covariance.variance(&line), linear.records.variance(&line));
        Contrast {
            mean: line.constant + added[0],
            records: records + curves - privacy,
            privacy: (all - records).max(0.0) + privacy,
        }
    }
}

/// A linear functional of the refinement.
pub(super) enum Functional {
    /// The sum of factors times the function at whitened inputs.
    Points(Vec<(Vec<f64>, f64)>),
    /// The average over inputs of the slope in this direction.
    Slope(Vec<f64>),
}

/// Half the distance, in whitened coordinates, between the points of a slope by differences.
const STEP: f64 = 0.1;

impl Functional {
    /// The functional of a function, with these inputs for averages.
    pub(super) fn of(&self, f: &dyn Fn(&[f64]) -> f64, inputs: &[Vec<f64>]) -> f64 {
        match self {
            Self::Points(points) => points.iter().map(|(z, factor)| factor * f(z)).sum(),
            Self::Slope(direction) => {
                let length = dot(direction, direction).sqrt();
                if length == 0.0 {
                    return 0.0;
                }
                let moved = |z: &[f64], by: f64| -> Vec<f64> {
                    z.iter().zip(direction).map(|(z, t)| z + by * STEP * t / length).collect()
                };
                let slopes = inputs.iter().map(|z| f(&moved(z, 1.0)) - f(&moved(z, -1.0)));
                slopes.sum::<f64>() / inputs.len() as f64 * length / (2.0 * STEP)
            }
        }
    }
}

impl Predictor {
    /// The mean of each functional of the refinement, and its deviations in draws: their squares sum to the variance. All 0 without a
    /// refinement.
    fn refinement(&self, functionals: &[Functional]) -> (Vec<f64>, Vec<Vec<f64>>) {
        match &self.refined {
            None => (vec![0.0; functionals.len()], Vec::new()),
            Some(Refined::Features(features)) => {
                let rows: Vec<Vec<f64>> = functionals
                    .iter()
                    .map(|functional| features.functional(functional, &self.frame.spread))
                    .collect();
                let along = |weights: &[f64]| rows.iter().map(|row| dot(row, weights)).collect::<Vec<f64>>();
                let draws = features.draws.chunks_exact(features.weights.len()).map(along).collect();
                (along(&features.weights), draws)
            }
            Some(Refined::Network(weights)) => weights.functionals(functionals, &self.frame.spread),
        }
    }

    /// The share of the variance of the refinement that is due to the privacy noise.
    fn refined_privacy_share(&self) -> f64 {
        match &self.refined {
            None => 0.0,
            Some(Refined::Features(features)) => features.privacy_share,
            Some(Refined::Network(weights)) => weights.privacy_share(&self.frame.spread),
        }
    }
}
