use super::perceptron::Perceptron;
use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::model::network::NetworkPosterior;
use crate::model::network_vi::query::State;
use crate::model::{DefinitionError, FitError};
use crate::wall::WallError;
use crate::wall::{NoiseSource, Records};
use rand::SeedableRng;
use rand::rngs::{ChaCha8Rng, SmallRng};
use rand_distr::{Distribution, StandardNormal};

fn normals(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| StandardNormal.sample(&mut rng)).collect()
}

/// Fits rows of one input and a target.
fn variational(settings: &Variational, values: Vec<f64>) -> Result<NetworkPosterior, FitError> {
    let (count, records) = (values.len() / 2, Records::new(values, 2).unwrap());
    let (fit, receipt) =
        settings.fit(records, count, 1, NoiseSource::insecure_from_seed(1), Box::new(Unlimited))?;
    assert!(receipt.guarantee.cost().is_none());
    Ok(fit)
}

const SHAPES: [&[usize]; 4] = [&[], &[5], &[5, 4], &[6, 5, 4]];

/// Central differences of half the squared residual, at depth 0 to 3.
#[test]
fn gradients_are_derivatives() {
    for (seed, hidden) in SHAPES.into_iter().enumerate() {
        let shape = Perceptron::new(3, hidden).unwrap();
        let mut weights = shape.start(&mut ChaCha8Rng::seed_from_u64(seed as u64));
        let record = normals(4, 10 + seed as u64);
        let mut gradient = vec![f64::NAN; weights.len()];
        shape.gradient(&weights, &record, &mut gradient);
        for k in 0..weights.len() {
            let step = 1e-6;
            let mut at = |by: f64| {
                weights[k] += by;
                let loss = 0.5 * shape.residual(&weights, &record).powi(2);
                weights[k] -= by;
                loss
            };
            let expected = (at(step) - at(-step)) / (2.0 * step);
            assert!((gradient[k] - expected).abs() < 1e-8, "{hidden:?} {k}: {} {expected}", gradient[k]);
        }
    }
}

/// The same for the variational gradient by $\mu$ and $\log\sigma$, at the same draws.
#[test]
fn variational_gradients_are_derivatives() {
    for (seed, hidden) in SHAPES.into_iter().enumerate() {
        let shape = Perceptron::new(3, hidden).unwrap();
        let record = normals(4, 20 + seed as u64);
        let draws = || SmallRng::seed_from_u64(77);
        let mut state = State::new(&shape, &mut ChaCha8Rng::seed_from_u64(seed as u64));
        let count = state.parameters.len();
        // Standard deviations that are not negligible.
        state.parameters[count / 2..].iter_mut().for_each(|log| *log += 2.0);
        state.condition();
        let mut gradient = vec![0.0; count];
        state.record(&record, &mut draws(), &mut gradient);
        for (k, found) in gradient.iter().enumerate() {
            let mut at = |by: f64| {
                state.parameters[k] += by;
                state.condition();
                // The start has a noise variance of 0.1.
                let loss = 0.5 * state.record(&record, &mut draws(), &mut vec![0.0; count]) / 0.1;
                state.parameters[k] -= by;
                loss
            };
            let step = 1e-6;
            let expected = (at(step) - at(-step)) / (2.0 * step);
            assert!(
                (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                "{hidden:?} {k}: {found} {expected}"
            );
        }
    }
}

/// The model that predicts is the trained network.
#[test]
fn the_model_has_the_same_outputs() {
    for hidden in SHAPES {
        let shape = Perceptron::new(3, hidden).unwrap();
        let weights = shape.start(&mut ChaCha8Rng::seed_from_u64(5));
        let means = shape.in_order_of_the_model(&weights, 1);
        let model = shape.model(0.7).unwrap();
        let none = vec![0.0; weights.len()];
        let posterior = NetworkPosterior::from_moments(&model, means, none.clone(), none, 0.7);
        let record = [0.3, -1.2, 2.0, 0.0];
        let prediction = posterior.predict(&record[..3]);
        assert!((prediction.mean - shape.residual(&weights, &record)).abs() < 1e-12, "{hidden:?}");
        assert!(prediction.variance < 1e-90 && prediction.noise_variance == 0.7);
    }
}

/// Without hidden layers the best independent Gaussian is known: the means of least squares, and the variance
/// $s^2/\sum_n x_{ni}^2$ for each weight (a fitted prior is wide compared with it). The remaining error of Adam is
/// below a tenth.
#[test]
fn variational_inference_of_a_line_is_the_known_one() {
    const N: usize = 1000;
    let (x, noise) = (normals(N, 1), normals(N, 2));
    let values: Vec<f64> = (0..N).flat_map(|n| [x[n], 1.5 * x[n] - 0.5 + 0.4 * noise[n]]).collect();
    let settings = Variational { hidden: vec![], passes: 1000, batch: 200, ..Variational::default() };
    let posterior = variational(&settings, values.clone()).unwrap();
    let (at, bias) = (posterior.predict(&[1.0]), posterior.predict(&[0.0]));
    // Least squares is within five standard errors of the truth.
    assert!((at.mean - 1.0).abs() < 5.0 * 0.4 * (2.0 / N as f64).sqrt(), "{at:?}");
    let residuals = (0..N).map(|n| (values[2 * n + 1] - posterior.predict(&[x[n]]).mean).powi(2));
    let variance = residuals.sum::<f64>() / N as f64;
    assert!((at.noise_variance / variance - 1.0).abs() < 0.1, "{at:?} {variance}");
    let squares: f64 = x.iter().map(|x| x * x).sum();
    for (found, expected) in [
        (at.variance - bias.variance, at.noise_variance / squares),
        (bias.variance, at.noise_variance / N as f64),
    ] {
        assert!((found / expected - 1.0).abs() < 0.1, "{found} {expected}");
    }
}

const N: usize = 2000;

/// A kink with a little noise.
fn kink() -> Vec<f64> {
    let noise = normals(N, 3);
    (0..N)
        .map(|n| n as f64 / (0.25 * N as f64) - 2.0)
        .zip(noise)
        .flat_map(|(x, e)| [x, x.abs() - 1.0 + 0.1 * e])
        .collect()
}

fn error(posterior: &NetworkPosterior) -> f64 {
    let squares =
        kink().chunks_exact(2).map(|r| (posterior.predict(&r[..1]).mean - r[1]).powi(2)).sum::<f64>();
    (squares / N as f64).sqrt()
}

/// A straight line leaves 0.58, and the noise is 0.1.
#[test]
fn both_learn_a_kink() {
    let settings = Variational { hidden: vec![20], passes: 40, ..Variational::default() };
    let posterior = variational(&settings, kink()).unwrap();
    assert!(error(&posterior) < 0.15, "{}", error(&posterior));
    let records = Records::new(kink(), 2).unwrap();
    let settings = DpSgd { hidden: vec![20], ..DpSgd::default() };
    let source = NoiseSource::insecure_from_seed(1);
    let (posterior, _) = settings.fit_without_noise(records, N, 1, source, Box::new(Unlimited)).unwrap();
    assert!(error(&posterior) < 0.15, "{}", error(&posterior));
    let stated = posterior.predict(&[0.0]).noise_variance.sqrt();
    assert!((stated - error(&posterior)).abs() < 1e-9, "residuals are summed over all records: {stated}");
}

fn private(settings: &DpSgd, adjacency: Adjacency, multiplier: Option<f64>) -> NetworkPosterior {
    let privacy = Privacy::new(4.0, 1e-5, adjacency).unwrap();
    let mut plan = settings.plan(N, &privacy).unwrap();
    if let Some(multiplier) = multiplier {
        plan.noise_multiplier = multiplier;
    }
    let records = Records::new(kink(), 2).unwrap();
    let source = NoiseSource::from_os().unwrap();
    let (posterior, receipt) = plan.fit(records, 1, source, &privacy, Box::new(Unlimited)).unwrap();
    let cost = receipt.guarantee.cost().unwrap();
    assert!(cost.epsilon.upper <= 4.0, "{cost:?}");
    // Calibrated, the whole budget is used.
    assert!(cost.epsilon.upper > 3.9 || multiplier.is_some(), "{cost:?}");
    posterior
}

/// Private runs keep to their budget under both adjacencies, fit at an epsilon of 4, and do not when the noise is a
/// million times the sensitivity.
#[test]
fn private_gradients_learn_and_huge_noise_destroys() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        for optimiser in [Optimiser::Momentum(0.9), Optimiser::Adam] {
            let learning_rate = if optimiser == Optimiser::Adam { 0.01 } else { 0.1 };
            let settings = DpSgd {
                hidden: vec![20],
                steps: 300,
                optimiser,
                learning_rate,
                average: true,
                ..DpSgd::default()
            };
            // One run in twenty is worse than 0.4, so none of three is better in about one test of 2,000.
            let runs = (0..3).map(|_| error(&private(&settings, adjacency, None)));
            let best_loss = runs.fold(f64::INFINITY, f64::min);
            assert!(best_loss < 0.4, "{adjacency} {optimiser:?} {best_loss}");
            let destroyed = private(&settings, adjacency, Some(1e6));
            assert!(error(&destroyed) > 0.5, "{adjacency} {optimiser:?} {}", error(&destroyed));
        }
    }
}

/// A plan edited to spend more than its budget is refused by the wall.
#[test]
fn too_little_noise_is_refused() {
    let privacy = Privacy::new(1.0, 1e-5, Adjacency::AddRemove).unwrap();
    let mut plan = DpSgd { steps: 50, ..DpSgd::default() }.plan(N, &privacy).unwrap();
    plan.noise_multiplier *= 0.9;
    let (records, source) = (Records::new(kink(), 2).unwrap(), NoiseSource::from_os().unwrap());
    let refused = plan.fit(records, 1, source, &privacy, Box::new(Unlimited)).err();
    assert!(matches!(refused, Some(FitError::Wall(WallError::OverBudget { .. }))), "{refused:?}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let privacy = Privacy::new(1.0, 1e-5, Adjacency::AddRemove).unwrap();
    for settings in [
        DpSgd { batch: 0, ..DpSgd::default() },
        DpSgd { batch: N + 1, ..DpSgd::default() },
        DpSgd { clip: 0.0, ..DpSgd::default() },
        DpSgd { residual_share: 1.0, ..DpSgd::default() },
        DpSgd { steps: 0, ..DpSgd::default() },
    ] {
        assert!(
            matches!(settings.plan(N, &privacy), Err(FitError::Definition(DefinitionError::Baseline))),
            "{settings:?}"
        );
    }
    let none = variational(&Variational { batch: 0, ..Variational::default() }, kink());
    assert!(matches!(none, Err(FitError::Definition(DefinitionError::Baseline))));
    let empty = variational(&Variational { hidden: vec![0], ..Variational::default() }, kink());
    assert!(matches!(empty, Err(FitError::Definition(_))));
}

/// A gradient is a function of its record and the weights alone: the scratch memory of other records or networks
/// changes no bit of it. Amplification by sampling depends on that.
#[test]
fn a_gradient_does_not_depend_on_the_records_before_it() {
    let gradient = |hidden: &[usize], record: &[f64]| {
        let shape = Perceptron::new(record.len() - 1, hidden).unwrap();
        let weights = shape.start(&mut ChaCha8Rng::seed_from_u64(4));
        let mut out = vec![0.0; weights.len()];
        shape.gradient(&weights, record, &mut out);
        out.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let record = [0.3, -0.8, 0.5];
    let alone = std::thread::spawn(move || gradient(&[7, 5], &record)).join().unwrap();
    for before in [[1e29, -1e29, 1e29], [f64::NAN; 3], [f64::INFINITY, 0.0, 1.0], [0.4, -1.0, 2.0]] {
        for hidden in [&[7, 5][..], &[40, 30, 20], &[]] {
            gradient(hidden, &before);
            assert_eq!(gradient(&[7, 5], &record), alone, "{hidden:?} {before:?}");
        }
    }
}
