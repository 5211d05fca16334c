use super::*;
use crate::engine::{Fit, adf, ep};
use crate::model::DefinitionError;

/// A small generator for data; its quality hardly matters.
struct TestRng(u64);

impl TestRng {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn families() -> [Covariance; 3] {
    [Covariance::Full, Covariance::Diagonal, Covariance::Isotropic]
}

/// The moments of the tilted distribution by sums over a grid: two components in one dimension, everything unknown but the
/// weights and the noise.
#[test]
fn site_matches_the_moments_of_the_tilted_distribution() {
    let model = Mixture::new(
        &[vec![-0.5], vec![1.0]],
        0.7,
        Covariance::Full,
        NoiseVariance::Known(0.4),
        Weights::Uniform,
    )
    .unwrap();
    let x = 0.6;
    let mut cavity = MixtureCavity::default();
    model.condition(model.prior(), &mut cavity);
    let mut site = vec![0.0; model.width()];
    model.site(&cavity, &[x], &mut site);
    let tilted: Vec<f64> = model.prior().iter().zip(&site).map(|(p, s)| p + s).collect();
    // Numerically: the density of (mu_1, mu_2) on a grid.
    let normal = |x: f64, m: f64, v: f64| (-(x - m) * (x - m) / (2.0 * v)).exp() / v.sqrt();
    let points: Vec<f64> = (-600..=600).map(|k| f64::from(k) * 0.015).collect();
    let (mut mass, mut first, mut second) = (0.0, [0.0; 2], [0.0; 2]);
    for &a in &points {
        for &b in &points {
            let p = normal(a, -0.5, 0.7) * normal(b, 1.0, 0.7) * (normal(x, a, 0.4) + normal(x, b, 0.4));
            mass += p;
            for (k, mu) in [a, b].into_iter().enumerate() {
                first[k] += p * mu;
                second[k] += p * mu * mu;
            }
        }
    }
    for k in 0..2 {
        let found = model.family().moments(&tilted[model.component(k)]).unwrap();
        let (mean, square) = (first[k] / mass, second[k] / mass);
        assert!((found.mean[0] - mean).abs() < 1e-9, "{found:?} {mean}");
        assert!((found.covariance[0] - (square - mean * mean)).abs() < 1e-9, "{found:?}");
    }
}

/// One component is a Gaussian mean with known variance: every engine is exact, in every family (the posterior is
/// isotropic).
#[test]
fn one_component_is_the_conjugate_posterior() {
    let (n, d, s2) = (50, 3, 0.5);
    let mut dice = TestRng(1);
    let x: Vec<f64> = (0..n * d).map(|_| 2.0 + dice.normal()).collect();
    for covariance in families() {
        let model = Mixture::new(
            &[vec![0.3, 0.0, -1.0]],
            4.0,
            covariance,
            NoiseVariance::Known(s2),
            Weights::Uniform,
        )
        .unwrap();
        for natural in [ep(&model, &x, d, 2, 1.0), adf(&model, &x, d)] {
            let q = model.family().moments(&natural).unwrap();
            let precision = 0.25 + n as f64 / s2;
            for i in 0..d {
                let sum: f64 = x.iter().skip(i).step_by(d).sum();
                let mean = ([0.3, 0.0, -1.0][i] * 0.25 + sum / s2) / precision;
                assert!((q.mean[i] - mean).abs() < 1e-9, "{covariance:?}");
                assert!((q.covariance[i * (d + 1)] - 1.0 / precision).abs() < 1e-12, "{covariance:?}");
            }
        }
    }
}

/// Centring and its inverse, in every family; a centred site does not depend on the origin.
#[test]
fn centred_coordinates_are_those_of_data_about_the_mean() {
    for covariance in families() {
        let at = |origin: f64| {
            let means = [vec![origin, origin + 1.0], vec![origin - 1.0, origin]];
            let model =
                Mixture::new(&means, 2.0, covariance, NoiseVariance::Known(0.3), Weights::Dirichlet(2.0))
                    .unwrap();
            let mut cavity = MixtureCavity::default();
            model.condition(model.prior(), &mut cavity);
            let mut site = vec![0.0; model.width()];
            model.site(&cavity, &[origin + 0.2, origin + 0.4], &mut site);
            let natural = site.clone();
            model.centre(&cavity, &mut site);
            let centred = site.clone();
            model.uncentre(&cavity, &mut site);
            assert!(site.iter().zip(&natural).all(|(a, b)| (a - b).abs() < 1e-12));
            centred
        };
        let (here, there) = (at(0.0), at(7.0));
        assert!(here.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-10), "{here:?} {there:?}");
    }
}

/// Well-separated components, everything unknown: EP finds means, noise and weights.
#[test]
fn unknown_noise_and_weights_are_found() {
    let mut dice = TestRng(3);
    let (weights, means) = ([0.2, 0.5, 0.3], [[-6.0, 0.0], [0.0, 5.0], [6.0, -1.0]]);
    let mut x = Vec::new();
    for _ in 0..1500 {
        let u = dice.uniform();
        let k = if u < weights[0] {
            0
        } else if u < weights[0] + weights[1] {
            1
        } else {
            2
        };
        x.extend(means[k].map(|m| m + 0.6 * dice.normal()));
    }
    for covariance in families() {
        let start = means.map(|m| m.map(|x| 0.9 * x).to_vec());
        let noise = NoiseVariance::Unknown(Gamma { shape: 2.0, rate: 1.0 });
        let model = Mixture::new(&start, 4.0, covariance, noise, Weights::Dirichlet(1.0)).unwrap();
        let natural = ep(&model, &x, 2, 4, 0.5);
        let fit = Fit { natural, noise: crate::engine::Noise::none(model.blocks()), projections: 0 };
        let posterior = MixturePosterior::new(&model, &fit).unwrap();
        // 0.36 with a standard error of 0.36 sqrt(2/3000), and weights with one of about 0.012.
        assert!(
            (posterior.noise_variance - 0.36).abs() < 0.04,
            "{covariance:?} {}",
            posterior.noise_variance
        );
        for (k, component) in posterior.components.iter().enumerate() {
            assert!((component.weight - weights[k]).abs() < 0.05, "{covariance:?} {component:?}");
            assert!((component.mean[0] - means[k][0]).abs() < 0.15, "{covariance:?} {component:?}");
        }
        let (_, responsibilities) = posterior.predict(&[5.9, -1.2]);
        assert!(responsibilities[2] > 0.999);
    }
}

/// The predictive density integrates to 1.
#[test]
fn predictions_are_a_density() {
    let model = Mixture::new(
        &[vec![-1.0], vec![1.5]],
        0.5,
        Covariance::Full,
        NoiseVariance::Known(0.3),
        Weights::Uniform,
    )
    .unwrap();
    let fit = Fit {
        natural: model.prior().to_vec(),
        noise: crate::engine::Noise::none(model.blocks()),
        projections: 0,
    };
    let posterior = MixturePosterior::new(&model, &fit).unwrap();
    let mass: f64 = (-2000..2000).map(|k| posterior.predict(&[f64::from(k) * 0.01]).0.exp() * 0.01).sum();
    assert!((mass - 1.0).abs() < 1e-9, "{mass}");
}

#[test]
fn what_is_no_mixture_is_refused() {
    let new = |means: &[Vec<f64>], variance, noise| {
        Mixture::new(means, variance, Covariance::Full, noise, Weights::Uniform).err()
    };
    assert_eq!(new(&[], 1.0, NoiseVariance::Known(1.0)), Some(DefinitionError::MixtureShape));
    assert_eq!(
        new(&[vec![1.0], vec![]], 1.0, NoiseVariance::Known(1.0)),
        Some(DefinitionError::MixtureShape)
    );
    assert_eq!(new(&[vec![1.0]], -1.0, NoiseVariance::Known(1.0)), Some(DefinitionError::NotPositive));
    assert_eq!(new(&[vec![1.0]], 1.0, NoiseVariance::Known(0.0)), Some(DefinitionError::NotPositive));
    let flat = NoiseVariance::Unknown(Gamma { shape: 0.5, rate: 1.0 });
    assert_eq!(new(&[vec![1.0]], 1.0, flat), Some(DefinitionError::NotPositive));
}

/// Without privacy through the registry: the means of three groups within 5 standard errors, and no part of the deviation is noise.
#[test]
fn a_fit_without_privacy_finds_the_means() {
    use crate::budget::Unlimited;
    use crate::model::{Codebook, TableShape, Target, model};
    use crate::wall::{NoiseSource, Records};
    let truth = [[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5]];
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let values: Vec<f64> =
        (0..3000).flat_map(|n| truth[n % 3].map(|mean| mean + 0.1 * normal(&mut rng))).collect();
    let mut shape = TableShape::new(vec![1, 1], Target::Nothing, 3000);
    shape.settings.insert("components".into(), 3.into());
    shape.settings.insert("noise-sd".into(), 0.1.into());
    let plan = model("mixture").unwrap().plan(&shape, None).unwrap();
    let records = Records::new(values, 2).unwrap();
    let (posterior, receipt) =
        plan.run(records, NoiseSource::from_os().unwrap(), None, Box::new(Unlimited)).unwrap();
    assert!(receipt.guarantee.cost().is_none());
    let summary = posterior.parameters(&Codebook::unnamed(&shape)).summary();
    let means: Vec<_> = summary.iter().filter(|parameter| parameter.variable == "mean").collect();
    assert_eq!(means.len(), 6);
    for component in means.chunks(2) {
        let near = |truth: &[f64; 2]| {
            component
                .iter()
                .zip(truth)
                .all(|(found, truth)| (found.mean - truth).abs() < 5.0 * 0.1 / 1000f64.sqrt())
        };
        assert!(truth.iter().any(near), "{component:?}");
        assert!(component.iter().all(|found| found.privacy_sd < 0.1 * found.sd), "{component:?}");
    }
}
