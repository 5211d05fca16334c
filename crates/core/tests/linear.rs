//! Regressions behind the wall: SEP where the posterior is known, and with noise.

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{
    Average, Coordinates, Damping, Fit, Phase, SepPlan, Simulate, SiteModel, ep, sep,
};
use reticent_core::family::Covariance;
use reticent_core::model::linear::{Linear, LinearPosterior, Response};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, SumId, Sums, Wall};

const N: usize = 300;

fn plan(width: usize, sampler: Sampler, steps: u64, noise_multiplier: f64, radius: f64) -> (Plan, SumId) {
    let mut plan = Plan::new(N, Adjacency::ReplaceOne);
    let geometry = Geometry::Ball { radius };
    let sums = Sums { what: "sites".into(), width, geometry, sampler, noise_multiplier, steps };
    let id = plan.sums(sums).unwrap();
    (plan, id)
}

fn run(
    model: &Linear,
    values: Vec<f64>,
    noise: Option<(u64, f64)>,
    (sampler, steps): (Sampler, u64),
    coordinates: Coordinates,
    clip: Option<f64>,
) -> Fit {
    let multiplier = noise.map_or(1.0, |(_, multiplier)| multiplier);
    let (plan, sums) = plan(model.width(), sampler, steps, multiplier, clip.unwrap_or(1.0));
    let records = Records::new(values, model.record_width()).unwrap();
    let mut wall = match noise {
        Some((seed, _)) => {
            let privacy = Privacy::new(1e3, 1e-3, Adjacency::ReplaceOne).unwrap();
            let source = NoiseSource::insecure_from_seed(seed);
            Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap()
        }
        None => {
            let source = NoiseSource::insecure_from_seed(5);
            Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap()
        }
    };
    let clip = clip.map(|radius| Geometry::Ball { radius });
    let phases = [Phase { sums, steps, coordinates, damping: Damping::Harmonic, clip }];
    sep(model, &mut wall, N, &vec![0.0; model.width()], &phases, Average::Last).unwrap()
}

/// Sites of known Gaussian noise do not depend on the cavity, so an average over a pass is the conjugate posterior,
/// which EP finds too.
#[test]
fn sep_of_a_linear_regression_is_the_conjugate_posterior() {
    let model = Linear::new(2, 2.0, Covariance::Full, Response::Known(0.3)).unwrap();
    let values = model.simulate(N, 1);
    let exact = ep(&model, &values, 3, 1, 1.0);
    for coordinates in [Coordinates::Factor, Coordinates::Difference, Coordinates::Centred] {
        for schedule in [(Sampler::Full, 1), (Sampler::Pass { batch: 1 }, N as u64)] {
            let fit = run(&model, values.clone(), None, schedule, coordinates, None);
            for (found, expected) in fit.natural.iter().zip(&exact) {
                assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{coordinates:?}");
            }
        }
    }
}

/// With many records the average site is nearly each one's own cavity, so SEP of classes converges to EP: means
/// within a tenth of a standard deviation.
#[test]
fn sep_of_classes_is_near_ep() {
    for response in [Response::Probit, Response::Logistic] {
        let model = Linear::new(2, 2.0, Covariance::Full, response).unwrap();
        let values = model.simulate(N, 4);
        let exact = model.family().moments(&ep(&model, &values, 3, 5, 1.0)).unwrap();
        let fit = run(&model, values, None, (Sampler::Full, 200), Coordinates::Centred, None);
        let found = model.family().moments(&fit.natural).unwrap();
        for i in 0..3 {
            let sd = exact.covariance[4 * i].sqrt();
            assert!((found.mean[i] - exact.mean[i]).abs() < 0.1 * sd, "{response:?} {found:?} {exact:?}");
        }
    }
}

/// One step, 2,000 times with fresh noise: predictions are unbiased about those of the clipped run without noise
/// (four standard errors), and their variance is the stated one, within 13 % (four standard errors of a variance). A
/// narrow prior and little noise keep to first order.
#[test]
fn predictions_include_the_privacy_noise() {
    const RUNS: u64 = 2000;
    for covariance in [Covariance::Full, Covariance::Diagonal] {
        let model = Linear::new(1, 1e-3, covariance, Response::Known(1.0)).unwrap();
        let values = Linear::new(1, 1.0, covariance, Response::Known(1.0)).unwrap().simulate(N, 6);
        let fitted = |noise| {
            let fit = run(&model, values.clone(), noise, (Sampler::Full, 1), Coordinates::Centred, Some(1.0));
            LinearPosterior::new(&model, &fit).unwrap()
        };
        let exact = fitted(None).predict(&[0.7]).mean;
        let (mut mean, mut square, mut stated) = (0.0, 0.0, 0.0);
        for seed in 0..RUNS {
            let posterior = fitted(Some((seed, 0.15)));
            let aware = posterior.predict(&[0.7]);
            let gap = aware.mean - exact;
            mean += gap / RUNS as f64;
            square += gap * gap / RUNS as f64;
            stated += (aware.variance - posterior.predict_naively(&[0.7]).variance) / RUNS as f64;
        }
        assert!(mean.abs() < 4.0 * (square / RUNS as f64).sqrt(), "{covariance:?} {mean} {square}");
        assert!((stated / square - 1.0).abs() < 0.13, "{covariance:?} {stated} {square}");
    }
}

/// A plan for every response that meets its budget, and predictions that favour the right class.
#[test]
fn plans_can_be_made_and_run() {
    let records = 20_000;
    for response in [Response::Known(0.5), Response::Probit, Response::Logistic] {
        let model = Linear::new(2, 4.0, Covariance::Full, response).unwrap();
        let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        let plan = SepPlan::new(&model, records, &privacy, Coordinates::Centred).unwrap();
        let values = model.simulate(records, 12);
        let mut flat = 0.0;
        let mut right = 0.0;
        let (start, source) = (vec![0.0; model.width()], NoiseSource::from_os().unwrap());
        let held = Records::new(values.clone(), 3).unwrap();
        let (fit, receipt) = plan.fit(&model, &start, held, source, &privacy, Box::new(Unlimited)).unwrap();
        assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
        let posterior = LinearPosterior::new(&model, &fit).unwrap();
        let share = values.chunks_exact(3).filter(|r| r[2] > 0.0).count() as f64 / records as f64;
        for record in values.chunks_exact(3) {
            let p = posterior.positive(&record[..2]);
            let log = |p: f64| if record[2] > 0.0 { p.ln() } else { (1.0 - p).ln() };
            right += log(p);
            flat += log(share);
        }
        assert!(right > flat, "{response:?}: {right} {flat}");
    }
}

/// With a noise multiplier of a million nothing of the records is left: predictions are about as uncertain as the
/// prior's, which have a variance of 3, and far less certain than those without noise.
#[test]
fn huge_noise_destroys_the_weights() {
    let model = Linear::new(2, 2.0, Covariance::Full, Response::Logistic).unwrap();
    let values = model.simulate(N, 9);
    let spread = |noise| {
        let fit = run(&model, values.clone(), noise, (Sampler::Full, 1), Coordinates::Centred, Some(1.0));
        let posterior = LinearPosterior::new(&model, &fit).unwrap();
        assert_eq!(fit.projections > 0, noise.is_some());
        posterior.predict(&[0.5, 0.5]).variance
    };
    let sure = spread(None);
    let unsure = (0..5).map(|seed| spread(Some((seed, 1e6)))).fold(f64::INFINITY, f64::min);
    assert!(sure < 0.1 && unsure > 0.5, "{sure} {unsure}");
}
