//! SEP, SEP clipped and DP-SEP behind the wall, for a Gaussian mean, where the posterior is known.

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Fit, Phase, SiteModel, sep};
use reticent_core::family::{Covariance, Moments};
use reticent_core::model::mixture::{Mixture, MixturePosterior, NoiseVariance, Weights};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Rate, Records, Sampler, SumId, Sums, Wall};

const N: usize = 100;
const D: usize = 2;
const NOISE: f64 = 0.5;
const PRIOR: [f64; D] = [0.3, -0.2];
const PRIOR_VARIANCE: f64 = 3.0;

/// Records within about a unit of a centre, evenly spread.
fn values() -> Vec<f64> {
    (0..N * D).map(|k| 0.4 + (k as f64 * 0.91).sin() * 0.7).collect()
}

fn model(covariance: Covariance) -> Mixture {
    let noise = NoiseVariance::Known(NOISE);
    Mixture::new(&[PRIOR.to_vec()], PRIOR_VARIANCE, covariance, noise, Weights::Uniform).unwrap()
}

fn exact_mean() -> Vec<f64> {
    let precision = 1.0 / PRIOR_VARIANCE + N as f64 / NOISE;
    let sum = |i: usize| values().iter().skip(i).step_by(D).sum::<f64>() / NOISE;
    (0..D).map(|i| (PRIOR[i] / PRIOR_VARIANCE + sum(i)) / precision).collect()
}

/// A clipping norm above that of all sites of these records: the precision of one is $I/s^2$, and $\lambda = x/s^2$.
const CLIP: f64 = 4.5;

fn plan(model: &Mixture, sampler: Sampler, steps: u64, noise_multiplier: f64) -> (Plan, SumId) {
    let mut plan = Plan::new(N, Adjacency::ReplaceOne);
    let geometry = Geometry::Ball { radius: CLIP };
    let sums =
        Sums { what: "sites".into(), width: model.width(), geometry, sampler, noise_multiplier, steps };
    let id = plan.sums(sums).unwrap();
    (plan, id)
}

fn phase(sums: SumId, steps: u64, coordinates: Coordinates, damping: Damping) -> Vec<Phase> {
    vec![Phase { sums, steps, coordinates, damping, clip: None }]
}

fn samplers() -> [Sampler; 4] {
    [
        Sampler::Full,
        Sampler::Fixed { batch: 7 },
        Sampler::Poisson { rate: Rate::at_most(0.2).unwrap() },
        Sampler::Pass { batch: 1 },
    ]
}

/// Without noise, every sampler that uses complete passes or all records has the exact posterior as its fixed point.
#[test]
fn sep_without_noise_is_exact() {
    for covariance in [Covariance::Full, Covariance::Diagonal, Covariance::Isotropic] {
        let model = model(covariance);
        for coordinates in [Coordinates::Factor, Coordinates::Difference, Coordinates::Centred] {
            for (sampler, steps, damping) in [
                (Sampler::Full, 1, Damping::Share(1.0)),
                (Sampler::Full, 60, Damping::Share(0.5)),
                (Sampler::Full, 5, Damping::Harmonic),
                (Sampler::Full, 3, Damping::Planned(vec![0.5, 0.7, 1.0])),
                // A pass of single records that averages them all.
                (Sampler::Pass { batch: 1 }, N as u64, Damping::Harmonic),
            ] {
                let (plan, id) = plan(&model, sampler, steps, 1.0);
                let records = Records::new(values(), D).unwrap();
                let source = NoiseSource::from_os().unwrap();
                let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap();
                let start = vec![0.0; model.width()];
                let phases = phase(id, steps, coordinates, damping.clone());
                let fit = sep(&model, &mut wall, N, &start, &phases, Average::Last).unwrap();
                let posterior = MixturePosterior::new(&model, &fit).unwrap();
                let component = &posterior.components[0];
                for (found, exact) in component.mean.iter().zip(exact_mean()) {
                    assert!(
                        (found - exact).abs() < 1e-9,
                        "{covariance:?} {coordinates:?} {damping:?}: {found} {exact}"
                    );
                }
                let variance = 1.0 / (1.0 / PRIOR_VARIANCE + N as f64 / NOISE);
                assert!((component.data_covariance[0] - variance).abs() < 1e-11);
                assert!(component.noise_covariance.iter().all(|&x| x == 0.0));
            }
        }
    }
}

fn private(seed: u64, sampler: Sampler, coordinates: Coordinates, average: Average, multiplier: f64) -> Fit {
    let model = model(Covariance::Isotropic);
    let steps = 12;
    let (plan, id) = plan(&model, sampler, steps, multiplier);
    let records = Records::new(values(), D).unwrap();
    let source = NoiseSource::insecure_from_seed(seed);
    let privacy = Privacy::new(50.0, 1e-3, Adjacency::ReplaceOne).unwrap();
    let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
    let start = vec![0.0; model.width()];
    sep(&model, &mut wall, N, &start, &phase(id, steps, coordinates, Damping::Share(0.6)), average).unwrap()
}

/// Ten thousand runs with fresh noise: natural parameters are unbiased within 3 standard errors of a Bonferroni-corrected
/// normal (3.7 for all 9 comparisons), and their covariance is the reported one within 5 %.
#[test]
fn noise_is_unbiased_and_its_covariance_is_known() {
    const RUNS: usize = 10_000;
    let model = model(Covariance::Isotropic);
    let width = model.width();
    for (coordinates, average) in [
        (Coordinates::Factor, Average::Last),
        (Coordinates::Difference, Average::SecondHalf),
        (Coordinates::Centred, Average::SecondHalf),
    ] {
        let runs: Vec<Fit> =
            (0..RUNS as u64).map(|seed| private(seed, Sampler::Full, coordinates, average, 0.6)).collect();
        // 12 steps with a share of 0.6 keep 0.4^12 of the start, which is the prior; the exact answer removes that.
        let reference = {
            let (plan, id) = plan(&model, Sampler::Full, 12, 1.0);
            let records = Records::new(values(), D).unwrap();
            let mut wall =
                Wall::without_privacy(records, NoiseSource::from_os().unwrap(), plan, Box::new(Unlimited))
                    .unwrap();
            let phases = phase(id, 12, coordinates, Damping::Share(0.6));
            sep(&model, &mut wall, N, &vec![0.0; width], &phases, average).unwrap()
        };
        for k in 0..width {
            let errors: Vec<f64> = runs.iter().map(|fit| fit.natural[k] - reference.natural[k]).collect();
            let mean = errors.iter().sum::<f64>() / RUNS as f64;
            let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / RUNS as f64;
            let stated = runs.iter().map(|fit| fit.noise.variances()[k]).sum::<f64>() / RUNS as f64;
            let z = mean / (variance / RUNS as f64).sqrt();
            assert!(z.abs() < 3.7, "{coordinates:?} {average:?} {k}: {z} standard errors");
            assert!(
                (stated / variance - 1.0).abs() < 0.05,
                "{coordinates:?} {average:?} {k}: {stated} {variance}"
            );
        }
    }
}

/// The reported mean is unbiased too, with the stated covariance of the noise.
#[test]
fn the_reported_noise_covariance_is_that_of_the_mean() {
    const RUNS: usize = 10_000;
    let model = model(Covariance::Isotropic);
    let fits: Vec<Fit> = (0..RUNS as u64)
        .map(|seed| private(seed, Sampler::Full, Coordinates::Centred, Average::Last, 0.6))
        .collect();
    let posteriors: Vec<MixturePosterior> =
        fits.iter().map(|fit| MixturePosterior::new(&model, fit).unwrap()).collect();
    // And so is the divergence that theory expects, to leading order: about 1 % of it is of higher order here.
    let variance = 1.0 / (1.0 / PRIOR_VARIANCE + N as f64 / NOISE);
    let exact = model
        .family()
        .natural(&Moments { mean: exact_mean(), covariance: vec![variance, 0.0, 0.0, variance] })
        .unwrap();
    let kl: f64 = fits.iter().map(|fit| model.family().kl(&exact, &fit.natural)).sum::<f64>() / RUNS as f64;
    let stated: f64 = posteriors.iter().map(|p| p.components[0].expected_kl).sum::<f64>() / RUNS as f64;
    assert!((stated / kl - 1.0).abs() < 0.1, "{stated} {kl}");
    for i in 0..D {
        let errors: Vec<f64> = posteriors.iter().map(|p| p.components[0].mean[i] - exact_mean()[i]).collect();
        let mean = errors.iter().sum::<f64>() / RUNS as f64;
        let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / RUNS as f64;
        let stated = posteriors.iter().map(|p| p.components[0].noise_covariance[i * (D + 1)]).sum::<f64>()
            / RUNS as f64;
        // The start leaves a bias of 0.4^12.
        assert!((mean.abs() - 2e-5) / (variance / RUNS as f64).sqrt() < 3.0, "{mean}");
        assert!((stated / variance - 1.0).abs() < 0.05, "{stated} {variance}");
    }
}

#[test]
fn huge_noise_destroys_the_model() {
    for sampler in samplers() {
        let fit = private(5, sampler, Coordinates::Factor, Average::Last, 1e6);
        let posterior = MixturePosterior::new(&model(Covariance::Isotropic), &fit).unwrap();
        let component = &posterior.components[0];
        let lost = component.mean.iter().zip(exact_mean()).any(|(m, exact)| (m - exact).abs() > 100.0);
        let unsure = component.moments().covariance[0] > 1e4 || component.data_covariance[0] < 1e-6;
        assert!(lost || unsure, "{sampler}: {component:?}");
    }
}

/// Everything before the first release is independent of the records: replacing all of them leaves it unchanged bit
/// for bit.
#[test]
fn the_first_cavity_does_not_depend_on_the_records() {
    use std::sync::Mutex;
    struct Spy(Mixture, Mutex<Vec<Vec<f64>>>);
    impl SiteModel for Spy {
        type Cavity = <Mixture as SiteModel>::Cavity;
        fn width(&self) -> usize {
            self.0.width()
        }
        fn prior(&self) -> &[f64] {
            self.0.prior()
        }
        fn condition(&self, natural: &[f64], cavity: &mut Self::Cavity) {
            self.1.lock().unwrap().push(natural.to_vec());
            self.0.condition(natural, cavity);
        }
        fn site(&self, cavity: &Self::Cavity, record: &[f64], out: &mut [f64]) {
            self.0.site(cavity, record, out);
        }
        fn project(&self, natural: &mut [f64]) -> u64 {
            self.0.project(natural)
        }
    }
    let run = |values: Vec<f64>| {
        let spy = Spy(model(Covariance::Full), Mutex::default());
        let (plan, id) = plan(&spy.0, Sampler::Full, 3, 1.0);
        let privacy = Privacy::new(50.0, 1e-3, Adjacency::ReplaceOne).unwrap();
        let source = NoiseSource::insecure_from_seed(1);
        let records = Records::new(values, D).unwrap();
        let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
        let phases = phase(id, 3, Coordinates::Factor, Damping::Harmonic);
        sep(&spy, &mut wall, N, &vec![0.0; spy.width()], &phases, Average::Last).unwrap();
        spy.1.into_inner().unwrap()
    };
    let (a, b) = (run(values()), run(vec![-7.0; N * D]));
    assert_eq!(a[0], b[0]);
    assert_ne!(a[1], b[1], "and afterwards it does");
}

/// The receipt's event is that of the sampler in use.
#[test]
fn the_receipt_names_the_accounting_of_the_sampler() {
    for (sampler, expected) in
        samplers().into_iter().zip(["\"none\"", "\"fixed\"", "\"poisson\"", "\"pass\""])
    {
        let model = model(Covariance::Isotropic);
        let (plan, id) = plan(&model, sampler, 4, 30.0);
        let privacy = Privacy::new(50.0, 1e-3, Adjacency::ReplaceOne).unwrap();
        let records = Records::new(values(), D).unwrap();
        let mut wall =
            Wall::new(records, NoiseSource::from_os().unwrap(), plan, &privacy, Box::new(Unlimited)).unwrap();
        let phases = phase(id, 4, Coordinates::Factor, Damping::Step(1.0));
        let fit = sep(&model, &mut wall, N, &vec![0.0; model.width()], &phases, Average::Last).unwrap();
        let receipt = wall.finish(fit.projections).unwrap();
        let json = serde_json::to_string(&receipt.groups[0].event).unwrap();
        assert!(json.contains(expected), "{json}");
        assert!(receipt.guarantee.cost().is_some());
    }
}

/// A record whose site does not exist contributes nothing, and the release still has noise: two seeds differ.
#[test]
fn a_missing_site_gets_noise_too() {
    let run = |seed: u64| {
        let model = model(Covariance::Full);
        let (plan, id) = plan(&model, Sampler::Full, 3, 2.0);
        let mut values = values();
        values[0] = 1e300;
        values[1] = -1e300;
        let privacy = Privacy::new(50.0, 1e-3, Adjacency::ReplaceOne).unwrap();
        let source = NoiseSource::insecure_from_seed(seed);
        let mut wall =
            Wall::new(Records::new(values, D).unwrap(), source, plan, &privacy, Box::new(Unlimited)).unwrap();
        let phases = phase(id, 3, Coordinates::Factor, Damping::Harmonic);
        sep(&model, &mut wall, N, &vec![0.0; model.width()], &phases, Average::Last).unwrap().natural
    };
    let (a, b) = (run(1), run(2));
    assert!(a.iter().chain(&b).all(|x| x.is_finite()));
    assert!(a.iter().zip(&b).all(|(a, b)| a != b));
}
