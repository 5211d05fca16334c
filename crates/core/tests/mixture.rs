//! Private mixtures through the public interface.

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Coordinates, Damping, SepPlan, Simulate, SiteModel};
use reticent_core::family::{Covariance, Gamma};
use reticent_core::model::mixture::{
    Mixture, MixturePlan, MixturePosterior, NoiseVariance, StartPlan, Weights,
};
use reticent_core::model::{DefinitionError, FitError};
use reticent_core::wall::{NoiseSource, Records};

const N: usize = 1000;

fn model(means: &[Vec<f64>]) -> Mixture {
    Mixture::new(means, 10.0, Covariance::Full, NoiseVariance::Known(0.25), Weights::Uniform).unwrap()
}

fn zeros() -> Vec<Vec<f64>> {
    vec![vec![0.0; 4]; 4]
}

fn privacy(epsilon: f64) -> Privacy {
    Privacy::new(epsilon, 1e-5, Adjacency::ReplaceOne).unwrap()
}

/// Four means far apart, and records about them, from the model's own simulation of known means.
fn separated(seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let means: Vec<Vec<f64>> = (0..4)
        .map(|k| {
            (0..4)
                .map(|i| if i == k { 4.0 } else { -1.0 } + ((seed + 7 * k as u64 + i as u64) as f64).sin())
                .collect()
        })
        .collect();
    // A prior so narrow that means are at its centre.
    let tight =
        Mixture::new(&means, 1e-12, Covariance::Full, NoiseVariance::Known(0.25), Weights::Uniform).unwrap();
    (means, tight.simulate(N, seed))
}

/// Every plan costs nearly its budget and no more, and can be serialised.
#[test]
fn plans_meet_their_budget() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
        for epsilon in [0.1, 1.0, 5.5, 30.0, 50.0] {
            let privacy = Privacy::new(epsilon, 1e-5, adjacency).unwrap();
            let plan = MixturePlan::new(&model(&zeros()), N, &privacy).unwrap();
            let cost = plan.price().unwrap().epsilon.upper;
            assert!(cost <= epsilon && cost > 0.98 * epsilon, "{adjacency} {epsilon}: {cost}");
            let json = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<MixturePlan>(&json).unwrap(), plan);
        }
    }
}

/// A larger budget or more records: less expected error, and less of it from privacy.
#[test]
fn expected_errors_fall_with_budget_and_records() {
    let expected =
        |records, epsilon| MixturePlan::new(&model(&zeros()), records, &privacy(epsilon)).unwrap().expected;
    assert!(expected(N, 5.0).kl < 0.5 * expected(N, 1.0).kl);
    let many = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let large = MixturePlan::new(&model(&zeros()), 100 * N, &many).unwrap().expected;
    assert!(large.kl < 0.1 * expected(N, 1.0).kl && large.privacy_sd < 0.2 * expected(N, 1.0).privacy_sd);
}

/// Found without a public start, at an epsilon of 1, with calibrated regions.
#[test]
fn separated_components_are_found() {
    let (means, values) = separated(3);
    let model = model(&zeros());
    let plan = MixturePlan::new(&model, N, &privacy(1.0)).unwrap();
    let records = Records::new(values, 4).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    let (posterior, receipt) = plan.fit(&model, records, source, &privacy(1.0), Box::new(Unlimited)).unwrap();
    assert_eq!(receipt.groups.len(), 2);
    assert_eq!((receipt.groups[0].made, receipt.groups[1].made), (1, plan.sites.steps));
    for mean in &means {
        let distance = |c: &&reticent_core::model::mixture::Component| -> f64 {
            c.mean.iter().zip(mean).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let nearest = posterior.components.iter().map(|c| distance(&c)).fold(f64::INFINITY, f64::min);
        // Planned: 0.03 from sampling and 0.04 from privacy in each of 4 coordinates; 5 standard deviations.
        let planned = 5.0 * 2.0 * plan.expected.data_sd.hypot(plan.expected.privacy_sd);
        assert!(nearest < planned, "{nearest} {planned}");
    }
    for component in &posterior.components {
        let ratio = component.noise_covariance[0] / plan.expected.privacy_sd.powi(2);
        assert!((0.2..5.0).contains(&ratio), "noise is about as planned: {ratio}");
    }
}

/// Coverage of 95 % regions, 25 data sets from public points: within 4 standard errors of 0.95 (binomial, n = 100).
#[test]
fn regions_cover_the_true_means() {
    for epsilon in [0.1, 1.0, 10.0] {
        let mut inside = 0;
        for seed in 0..25 {
            let (means, values) = separated(seed);
            let model = model(&zeros());
            let points: Vec<Vec<f64>> =
                means.iter().enumerate().map(|(k, mean)| shifted(mean, 10 * seed + k as u64)).collect();
            let plan = MixturePlan::from_points(&model, N, &privacy(epsilon), points, 0.5).unwrap();
            let plan = MixturePlan {
                sites: reticent_core::model::mixture::SitesPlan { simulated: 8_000, ..plan.sites.clone() },
                ..plan
            };
            let records = Records::new(values, 4).unwrap();
            let source = NoiseSource::insecure_from_seed(seed);
            let (posterior, _) =
                plan.fit(&model, records, source, &privacy(epsilon), Box::new(Unlimited)).unwrap();
            for (component, mean) in posterior.components.iter().zip(&means) {
                // 9.488 is the 95 % quantile of chi-square with 4 degrees of freedom.
                inside += u32::from(mahalanobis(component, mean) <= 9.488);
            }
        }
        let covered = f64::from(inside) / 100.0;
        assert!((0.86..=1.0).contains(&covered), "epsilon {epsilon}: {covered}");
    }
}

fn shifted(mean: &[f64], seed: u64) -> Vec<f64> {
    // A draw of a mean from a prior with standard deviation 0.5 about it, by the model's own simulation.
    let about = [mean.to_vec()];
    let spread =
        Mixture::new(&about, 0.25, Covariance::Full, NoiseVariance::Known(1e-12), Weights::Uniform).unwrap();
    spread.simulate(1, seed)
}

fn mahalanobis(component: &reticent_core::model::mixture::Component, mean: &[f64]) -> f64 {
    let moments = component.moments();
    let d = mean.len();
    let inverse = reticent_core::math::matrix::symmetric_inverse(&moments.covariance, d).unwrap();
    let gap: Vec<f64> = mean.iter().zip(&moments.mean).map(|(a, b)| a - b).collect();
    let mut image = vec![0.0; d];
    reticent_core::math::matrix::times(&inverse, d, &gap, &mut image);
    gap.iter().zip(&image).map(|(a, b)| a * b).sum()
}

/// The result contains only released values: nothing in it is as long as the data.
#[test]
fn the_result_does_not_grow_with_the_data() {
    let (_, values) = separated(5);
    let model = model(&zeros());
    let plan = MixturePlan::new(&model, N, &privacy(1.0)).unwrap();
    let records = Records::new(values, 4).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    let (posterior, receipt) = plan.fit(&model, records, source, &privacy(1.0), Box::new(Unlimited)).unwrap();
    fn longest(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Array(items) => items.iter().map(longest).max().unwrap_or(0).max(items.len()),
            serde_json::Value::Object(fields) => fields.values().map(longest).max().unwrap_or(0),
            _ => 0,
        }
    }
    for value in [serde_json::to_value(&posterior).unwrap(), serde_json::to_value(&receipt).unwrap()] {
        assert!(longest(&value) <= 16, "{value}");
    }
}

#[test]
fn plans_for_other_models_are_refused() {
    let privacy = privacy(1.0);
    let unknown = NoiseVariance::Unknown(Gamma { shape: 2.0, rate: 1.0 });
    let other = Mixture::new(&zeros(), 10.0, Covariance::Full, unknown, Weights::Uniform).unwrap();
    assert!(matches!(
        MixturePlan::new(&other, N, &privacy),
        Err(FitError::Definition(DefinitionError::MixtureUnsupported))
    ));
    let plan = MixturePlan::new(&model(&zeros()), N, &privacy).unwrap();
    let smaller = model(&[vec![0.0; 4], vec![0.0; 4]]);
    let fit = |plan: &MixturePlan, model: &Mixture| {
        let records = Records::new(vec![0.0; 4 * N], 4).unwrap();
        plan.fit(model, records, NoiseSource::from_os().unwrap(), &privacy, Box::new(Unlimited)).map(|_| ())
    };
    assert!(matches!(fit(&plan, &smaller), Err(FitError::OtherModel(_))));
    // An edited plan that costs more than the budget is refused by the wall.
    let mut noisier = plan.clone();
    noisier.sites.noise_multiplier *= 0.5;
    assert!(matches!(fit(&noisier, &model(&zeros())), Err(FitError::Wall(_))));
    let mut nowhere = plan;
    nowhere.start = StartPlan::Public { means: vec![], sd: 1.0 };
    assert!(fit(&nowhere, &model(&zeros())).is_err());
}

/// Unknown noise and weights, by plain DP-SEP with the general planner, from points near the means.
#[test]
fn unknown_noise_and_weights_are_found_privately() {
    let means = [vec![-4.0, 0.0], vec![4.0, 1.0], vec![0.0, 6.0]];
    let noise = NoiseVariance::Unknown(Gamma { shape: 3.0, rate: 1.5 });
    let model = Mixture::new(&means, 1.0, Covariance::Isotropic, noise, Weights::Dirichlet(5.0)).unwrap();
    let n = 50_000;
    let truth =
        Mixture::new(&means, 0.25, Covariance::Isotropic, NoiseVariance::Known(0.49), Weights::Uniform)
            .unwrap();
    let values = truth.simulate(n, 11);
    let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let plan = SepPlan::new(&model, n, &privacy, Coordinates::Centred).unwrap();
    let source = NoiseSource::insecure_from_seed(2);
    let records = Records::new(values, 2).unwrap();
    let start = vec![0.0; model.width()];
    let (fit, receipt) = plan.fit(&model, &start, records, source, &privacy, Box::new(Unlimited)).unwrap();
    let posterior = MixturePosterior::new(&model, &fit).unwrap();
    assert!((posterior.noise_variance - 0.49).abs() < 0.12, "{}", posterior.noise_variance);
    for component in &posterior.components {
        assert!((component.weight - 1.0 / 3.0).abs() < 0.1, "{component:?}");
    }
    assert_eq!(receipt.groups[0].made, plan.steps);
    assert!(plan.expected_noise < 0.05 * plan.expected_norm, "{plan:?}");
}

/// A plan with batches costs its budget too.
#[test]
fn batches_can_be_planned() {
    let model = model(&zeros());
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let plan = SepPlan::of_steps(20, 1.0, Damping::Harmonic, 5_000, &privacy)
        .unwrap()
        .with_batch(500, 200, &privacy)
        .unwrap();
    let records = Records::new(vec![0.1; 4 * 5_000], 4).unwrap();
    let source = NoiseSource::from_os().unwrap();
    let start = vec![0.0; model.width()];
    let (_, receipt) = plan.fit(&model, &start, records, source, &privacy, Box::new(Unlimited)).unwrap();
    let cost = receipt.guarantee.cost().unwrap().epsilon.upper;
    assert!(cost <= 1.0 && cost > 0.97, "{cost}");
}
