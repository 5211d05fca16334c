use super::*;
use crate::engine::{Ep, Fit, Noise, adf, ep};
use crate::family::Moments;
use crate::math::matrix;
use crate::math::normal;
use crate::model::DefinitionError;

const RESPONSES: [Response; 4] = [
    Response::Known(0.3),
    Response::Unknown(Gamma { shape: 9.0, rate: 3.0 }),
    Response::Probit,
    Response::Logistic,
];

fn likelihood(response: Response, a: f64, target: f64) -> f64 {
    match response {
        Response::Known(variance) => (-0.5 * (target - a).powi(2) / variance).exp(),
        // The Gaussian approximation of the Student distribution.
        Response::Unknown(gamma) => (-0.5 * (target - a).powi(2) / (gamma.rate / (gamma.shape - 1.0))).exp(),
        Response::Probit => normal::cdf(target * a),
        Response::Logistic => 1.0 / (1.0 + (-target * a).exp()),
    }
}

/// The moments of a density of an input's weight and the bias, by sums over a grid about a centre. Sums of smooth densities
/// over even grids have errors far below the tolerances here.
fn on_a_grid(centre: [f64; 2], step: f64, log_density: impl Fn(f64, f64) -> f64) -> Moments {
    let (mut mass, mut first, mut second) = (0.0, [0.0; 2], [0.0; 4]);
    for i in -160..=160 {
        for j in -160..=160 {
            let gap = [f64::from(i) * step, f64::from(j) * step];
            let p = log_density(centre[0] + gap[0], centre[1] + gap[1]).exp();
            mass += p;
            (0..2).for_each(|k| first[k] += p * gap[k]);
            (0..4).for_each(|k| second[k] += p * gap[k / 2] * gap[k % 2]);
        }
    }
    let mean: Vec<f64> = first.iter().map(|x| x / mass).collect();
    let covariance = (0..4).map(|k| second[k] / mass - mean[k / 2] * mean[k % 2]).collect();
    Moments { mean: vec![centre[0] + mean[0], centre[1] + mean[1]], covariance }
}

fn log_gaussian(moments: &Moments, w: [f64; 2]) -> f64 {
    let precision = matrix::symmetric_inverse(&moments.covariance, 2).unwrap();
    let gap = [w[0] - moments.mean[0], w[1] - moments.mean[1]];
    -0.5 * (0..4).map(|k| precision[k] * gap[k / 2] * gap[k % 2]).sum::<f64>()
}

#[test]
fn sites_match_the_moments_of_the_tilted_distribution() {
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let off = if covariance == Covariance::Full { 0.3 } else { 0.0 };
        let cavity_moments = Moments { mean: vec![0.4, -0.2], covariance: vec![0.8, off, off, 0.5] };
        for response in RESPONSES {
            for record in [[1.3, 1.0], [-2.5, -1.0], [2.0, -1.0]] {
                let model = Linear::new(1, 1.0, covariance, response).unwrap();
                let mut natural = model.family().natural(&cavity_moments).unwrap();
                natural.extend_from_slice(&model.prior()[model.family().width()..]);
                let mut cavity = LinearCavity::default();
                model.condition(&natural, &mut cavity);
                let mut site = vec![0.0; model.width()];
                model.site(&cavity, &record, &mut site);
                let tilted: Vec<f64> = natural.iter().zip(&site).map(|(q, s)| q + s).collect();
                let found = model.family().moments(&tilted[..model.family().width()]).unwrap();
                let expected = on_a_grid([0.4, -0.2], 0.05, |w, bias| {
                    log_gaussian(&cavity_moments, [w, bias])
                        + likelihood(response, w * record[0] + bias, record[1]).ln()
                });
                for i in 0..2 {
                    assert!((found.mean[i] - expected.mean[i]).abs() < 1e-9, "{response:?} {record:?}");
                    for j in 0..2 {
                        let gap = found.covariance[2 * i + j] - expected.covariance[2 * i + j];
                        // Independent weights keep no covariance.
                        let kept = i == j || covariance == Covariance::Full;
                        assert!(gap.abs() < 1e-9 || !kept, "{response:?} {record:?} {gap}");
                    }
                }
            }
        }
    }
}

/// Two inputs, 60 records.
fn regression() -> (Vec<f64>, Vec<f64>) {
    let model = Linear::new(2, 2.0, Covariance::Full, Response::Known(0.3)).unwrap();
    let records = model.simulate(60, 3);
    // The conjugate posterior: precision I/2 + X'X/s^2 and its product with the mean, X'y/s^2.
    let mut natural = model.prior().to_vec();
    let mut precision = vec![0.0; 9];
    (0..3).for_each(|i| precision[4 * i] = 0.5);
    for record in records.chunks_exact(3) {
        let x = [record[0], record[1], 1.0];
        (0..3).for_each(|i| natural[i] += x[i] * record[2] / 0.3);
        (0..9).for_each(|k| precision[k] += x[k / 3] * x[k % 3] / 0.3);
    }
    model.family().set_precision(&precision, &mut natural);
    (records, natural)
}

#[test]
fn known_noise_gives_the_conjugate_posterior() {
    let (records, expected) = regression();
    let model = Linear::new(2, 2.0, Covariance::Full, Response::Known(0.3)).unwrap();
    for found in [ep(&model, &records, 3, 1, 1.0), adf(&model, &records, 3)] {
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{found:?}");
        }
    }
    // Independent weights: the mean is exact at the fixed point, and variances are the reciprocals of the precisions'
    // diagonal.
    let diagonal = Linear::new(2, 2.0, Covariance::Diagonal, Response::Known(0.3)).unwrap();
    let found = diagonal.family().moments(&ep(&diagonal, &records, 3, 200, 0.5)).unwrap();
    let exact = model.family().moments(&expected).unwrap();
    for i in 0..3 {
        // EP's sites in a family of independent weights are not those of the best fit; a tenth of a standard deviation is its
        // order here.
        assert!((found.mean[i] - exact.mean[i]).abs() < 0.1 * exact.covariance[4 * i].sqrt());
    }
}

/// Classes: EP against the posterior itself. Its errors fall as $1/N$ (Dehaene, Barthelme, JRSS B 2018), and a twentieth of a
/// standard deviation and of the variance are far more than that at 400 records.
#[test]
fn classes_give_nearly_the_exact_posterior() {
    for response in [Response::Probit, Response::Logistic] {
        let model = Linear::new(1, 4.0, Covariance::Full, response).unwrap();
        let records = model.simulate(400, 8);
        let mut state = Ep::new(&model, &records, 2, &vec![0.0; model.width()]);
        (0..10).for_each(|_| state.pass(&model, &records, 0..400, 1.0));
        let found = model.family().moments(&state.natural(&model)).unwrap();
        let exact =
            on_a_grid([found.mean[0], found.mean[1]], 0.05 * found.covariance[0].sqrt(), |w, bias| {
                let each = records.chunks_exact(2).map(|r| likelihood(response, w * r[0] + bias, r[1]).ln());
                each.sum::<f64>() - 0.125 * (w * w + bias * bias)
            });
        for i in 0..2 {
            let sd = exact.covariance[3 * i].sqrt();
            assert!((found.mean[i] - exact.mean[i]).abs() < 0.05 * sd, "{response:?} {found:?} {exact:?}");
            assert!(
                (found.covariance[3 * i] / exact.covariance[3 * i] - 1.0).abs() < 0.05,
                "{response:?} {found:?} {exact:?}"
            );
        }
    }
}

/// The noise variance is found within five of its standard errors, $s^2\sqrt{2/N}$.
#[test]
fn unknown_noise_is_found() {
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let records = Linear::new(3, 1.0, Covariance::Full, Response::Known(0.25)).unwrap().simulate(2000, 5);
        let prior = Gamma { shape: 6.0, rate: 6.0 };
        let model = Linear::new(3, 1.0, covariance, Response::Unknown(prior)).unwrap();
        let natural = ep(&model, &records, 4, 10, 0.5);
        let fit = Fit { natural, noise: Noise::none(model.blocks()), projections: 0 };
        let posterior = LinearPosterior::new(&model, &fit).unwrap();
        let error = 0.25 * (2.0 / 2000f64).sqrt();
        assert!((posterior.noise_variance - 0.25).abs() < 5.0 * error, "{}", posterior.noise_variance);
    }
}

/// The Euclidean norm of a site is that of $\lambda_n$ and the Frobenius norm of $P_n$ together, and the centred
/// $\lambda_n$ is parallel to $x$.
#[test]
fn coordinates_are_isometric_and_centred() {
    for response in [Response::Known(0.3), Response::Probit, Response::Logistic] {
        let model = Linear::new(2, 3.0, Covariance::Full, response).unwrap();
        let moments = Moments {
            mean: vec![0.4, -0.2, 1.0],
            covariance: vec![1.0, 0.2, 0.1, 0.2, 2.0, 0.0, 0.1, 0.0, 0.5],
        };
        let natural = model.family().natural(&moments).unwrap();
        let mut cavity = LinearCavity::default();
        model.condition(&natural, &mut cavity);
        let mut site = vec![0.0; model.width()];
        model.site(&cavity, &[0.7, -1.5, 1.0], &mut site);
        let mut precision = [0.0; 9];
        model.family().precision(&site, &mut precision);
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        assert!((square(&site) / (square(&site[..3]) + square(&precision)) - 1.0).abs() < 1e-13);
        let mut centred = site.clone();
        model.centre(&cavity, &mut centred);
        let by = centred[2];
        assert!((centred[0] - 0.7 * by).abs() < 1e-12 && (centred[1] + 1.5 * by).abs() < 1e-12);
        // The rest of lambda_n is P_n m.
        let mut shift = vec![0.0; 3];
        matrix::times(&precision, 3, &moments.mean, &mut shift);
        (0..3).for_each(|i| assert!((site[i] - centred[i] - shift[i]).abs() < 1e-12));
        model.uncentre(&cavity, &mut centred);
        assert!(site.iter().zip(&centred).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

/// A precision that noise made too small is raised to a share of the prior's, in the prior's units; a proper
/// posterior is unchanged.
#[test]
fn projection_respects_the_prior_of_each_weight() {
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let response = Response::Unknown(Gamma { shape: 6.0, rate: 6.0 });
        let model = Linear::new(1, 1.0, covariance, response).unwrap();
        let model = model.with_prior_precisions(&[100.0, 0.01]).unwrap().with_floor(0.5).unwrap();
        let mut same = model.prior().to_vec();
        assert_eq!(model.project(&mut same), 0);
        assert!(same.iter().zip(model.prior()).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs()));
        let mut natural = vec![-1.0; model.width()];
        assert_eq!(model.project(&mut natural), 2, "the weights and the noise");
        let mut precision = [0.0; 4];
        model.family().precision(&natural, &mut precision);
        let whitened = [precision[0] / 100.0, precision[1], precision[2], precision[3] / 0.01];
        let least = matrix::eigen(&whitened, 2).unwrap().values.into_iter().fold(f64::INFINITY, f64::min);
        assert!((least - 0.5).abs() < 1e-12, "{least}");
        let gamma = Gamma::from_natural(&natural[model.family().width()..]);
        assert!((gamma.shape - 1.5).abs() < 1e-14 && gamma.rate == 1.0);
    }
}

/// Sites are finite for any record; records too large for arithmetic contribute nothing.
#[test]
fn sites_are_numbers() {
    for response in RESPONSES {
        for covariance in [Covariance::Full, Covariance::Diagonal] {
            let model = Linear::new(2, 10.0, covariance, response).unwrap();
            let mut cavity = LinearCavity::default();
            model.condition(model.prior(), &mut cavity);
            for size in [0.0, 1e-200, 1.0, 1e8, 1e29, 1e31] {
                let mut site = vec![0.0; model.width()];
                model.site(&cavity, &[size, -size, size], &mut site);
                assert!(site.iter().all(|x| x.is_finite()), "{response:?} {covariance:?} {size} {site:?}");
                assert!(size < 1e30 || site.iter().all(|x| *x == 0.0));
            }
        }
    }
}

/// The probability of a class is the average of the response over the weights: a grid of quantiles of $w \cdot x$.
#[test]
fn probabilities_average_over_the_weights() {
    for response in RESPONSES {
        let model = Linear::new(1, 1.0, Covariance::Full, response).unwrap();
        let moments = Moments { mean: vec![0.4, -1.2], covariance: vec![0.8, 0.3, 0.3, 0.5] };
        let mut natural = model.family().natural(&moments).unwrap();
        natural.extend_from_slice(&model.prior()[model.family().width()..]);
        let fit = Fit { natural, noise: Noise::none(model.blocks()), projections: 0 };
        let posterior = LinearPosterior::new(&model, &fit).unwrap();
        let prediction = posterior.predict(&[2.0]);
        let variance = 4.0 * 0.8 + 2.0 * 2.0 * 0.3 + 0.5;
        assert!((prediction.mean + 0.4).abs() < 1e-12 && (prediction.variance - variance).abs() < 1e-12);
        let positive = |a: f64| match response {
            Response::Known(s2) => normal::cdf(a / s2.sqrt()),
            Response::Unknown(gamma) => normal::cdf(a / (gamma.rate / (gamma.shape - 1.0)).sqrt()),
            _ => likelihood(response, a, 1.0),
        };
        let (mut mass, mut sum) = (0.0, 0.0);
        for k in -9000..=9000 {
            let z = f64::from(k) * 1e-3;
            let weight = (-0.5 * z * z).exp();
            mass += weight;
            sum += weight * positive(-0.4 + variance.sqrt() * z);
        }
        assert!((posterior.positive(&[2.0]) - sum / mass).abs() < 1e-10, "{response:?}");
    }
}

#[test]
fn what_is_no_regression_is_refused() {
    let new = |variance, covariance, response| Linear::new(2, variance, covariance, response).err();
    assert_eq!(new(1.0, Covariance::Isotropic, Response::Probit), Some(DefinitionError::Covariance));
    assert_eq!(new(0.0, Covariance::Full, Response::Probit), Some(DefinitionError::NotPositive));
    assert_eq!(new(1.0, Covariance::Full, Response::Known(-1.0)), Some(DefinitionError::NotPositive));
    let flat = Gamma { shape: 0.5, rate: 1.0 };
    assert_eq!(new(1.0, Covariance::Full, Response::Unknown(flat)), Some(DefinitionError::NotPositive));
    let model = Linear::new(2, 1.0, Covariance::Full, Response::Logistic).unwrap();
    let shape = DefinitionError::LinearShape { inputs: 2, given: 2 };
    assert_eq!(model.clone().with_prior_precisions(&[1.0, 1.0]).err(), Some(shape));
    assert_eq!(model.with_floor(1.5).err(), Some(DefinitionError::NotPositive));
}
