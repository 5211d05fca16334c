use super::*;
use crate::engine::{Ep, adf, ep};
use crate::model::DefinitionError;
use proptest::prelude::*;

/// Typical moments of weights, and a record.
fn case(sizes: &[usize], seed: u64, spread: f64) -> (Network, Vec<f64>, Vec<f64>) {
    case_of(OutputNoise::Known(0.3), sizes, seed, spread)
}

fn case_of(noise: OutputNoise, sizes: &[usize], seed: u64, spread: f64) -> (Network, Vec<f64>, Vec<f64>) {
    let model = Network::new(sizes, noise).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let weight = |_| {
        let (mean, variance) = (1.5 * normal(), spread * (0.5 * normal()).exp());
        (mean / variance, 1.0 / variance)
    };
    let (lambdas, precisions): (Vec<f64>, Vec<f64>) = (0..model.weights()).map(weight).unzip();
    let natural = [lambdas, precisions].concat();
    let record = (0..=sizes[0]).map(|_| normal()).collect();
    (model, natural, record)
}

/// $\log Z$ at moments of the weights.
fn log_evidence(model: &Network, means: &[f64], variances: &[f64], record: &[f64]) -> f64 {
    let cavity = NetworkCavity::new(means.to_vec(), variances.to_vec(), 0.3);
    let (mean, variance) = cavity.output(model, &record[..model.inputs()]);
    if model.noise == OutputNoise::Probit {
        let z = record[model.inputs()].signum() * mean / (1.0 + variance).sqrt();
        return (0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)).ln();
    }
    let total = variance + 0.3;
    -0.5 * (total.ln() + (record[model.inputs()] - mean).powi(2) / total)
}

/// The natural parameters of each weight.
fn pairs(natural: &[f64]) -> impl Iterator<Item = [f64; 2]> {
    let (lambdas, precisions) = natural.split_at(natural.len() / 2);
    lambdas.iter().zip(precisions).map(|(lambda, precision)| [*lambda, *precision])
}

fn moments(natural: &[f64]) -> (Vec<f64>, Vec<f64>) {
    pairs(natural).map(|w| (w[0] / w[1], 1.0 / w[1])).unzip()
}

/// Derivatives of $\log Z$ by mean and variance of each weight, recovered from sites: with $k = p_n/(1 + v p_n)$ and $u = 1 - vk$,
/// $g = (\lambda_n - p_n m)u$.
fn derivatives(model: &Network, natural: &[f64], record: &[f64]) -> Vec<(f64, f64)> {
    let mut cavity = NetworkCavity::default();
    model.condition(natural, &mut cavity);
    let mut site = vec![0.0; model.width()];
    model.site(&cavity, record, &mut site);
    let (means, variances) = moments(natural);
    let each = pairs(&site).zip(means.iter().zip(&variances));
    each.map(|(site, (m, v))| {
        let k = site[1] / (1.0 + v * site[1]);
        let g = (site[0] - site[1] * m) * (1.0 - v * k);
        (g, 0.5 * (g * g - k))
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against central differences, at depth 0 to 3. Weights without a valid site are left out.
    #[test]
    fn derivatives_are_those_of_the_evidence(seed in 0u64..1_000_000, depth in 0usize..4, tiny: bool, probit: bool) {
        let sizes = &[3, 5, 4, 6][..=depth];
        let spread = if tiny { 1e-12 } else { 0.2 };
        let noise = if probit { OutputNoise::Probit } else { OutputNoise::Known(0.3) };
        let (model, natural, record) = case_of(noise, sizes, seed, spread);
        let (means, variances) = moments(&natural);
        for (k, (g, h)) in derivatives(&model, &natural, &record).into_iter().enumerate() {
            let at = |dm: f64, dv: f64| {
                let (mut means, mut variances) = (means.clone(), variances.clone());
                means[k] += dm;
                variances[k] += dv;
                log_evidence(&model, &means, &variances, &record)
            };
            // Steps small compared with the standard deviation of pre-activations, on which the evidence varies.
            let (dm, dv) = (3e-5 * spread.sqrt(), 1e-4 * variances[k]);
            let by_mean = (at(dm, 0.0) - at(-dm, 0.0)) / (2.0 * dm);
            let by_variance = (at(0.0, dv) - at(0.0, -dv)) / (2.0 * dv);
            // The rounding error of a difference of numbers of the size of log Z.
            let size = at(0.0, 0.0).abs().max(1.0) * 4e-16;
            prop_assert!((g - by_mean).abs() < 1e-6 * (1.0 + g.abs()) + 30.0 * size / dm || (g, h) == (0.0, 0.0), "{k}: {g} {by_mean}");
            let noise = 30.0 * size / dv;
            // At 1e-12 the site itself represents h only up to the rounding of 1 - vk.
            if !tiny {
                prop_assert!((h - by_variance).abs() < 1e-5 * (1.0 + h.abs()) + noise || (g, h) == (0.0, 0.0), "{k}: {h} {by_variance}");
            }
        }
    }

    /// Whatever the record and the cavity, sites are finite and leave each weight a positive variance, up to
    /// rounding; records too large for arithmetic contribute nothing.
    #[test]
    fn sites_are_numbers(seed in 0u64..1_000_000, spread in prop::sample::select(vec![1e-12, 1e-3, 1.0, 1e4]), size in prop::sample::select(vec![1e-9, 1.0, 1e5, 1e29, 1e250])) {
        let (model, natural, mut record) = case(&[2, 4, 3], seed, spread);
        record.iter_mut().for_each(|x| *x *= size);
        let mut cavity = NetworkCavity::default();
        model.condition(&natural, &mut cavity);
        let mut site = vec![0.0; model.width()];
        model.site(&cavity, &record, &mut site);
        for (site, q) in pairs(&site).zip(pairs(&natural)) {
            prop_assert!(site[0].is_finite() && site[1].is_finite() && site[1] > -q[1] * (1.0 + 1e-12), "{site:?} {q:?}");
        }
    }
}

/// The moments of the output are those of sampled weights. For one hidden layer they are exact; further layers take
/// their inputs to be independent Gaussians, which is an approximation (hidden units share the layer below), so
/// layers are
/// checked one at a time: `rectify` has its own tests. 200,000 samples, five standard errors.
#[test]
fn moments_are_those_of_sampled_weights() {
    const SAMPLES: usize = 200_000;
    for (sizes, exact) in [(&[3, 4][..], true), (&[2, 5, 4], false), (&[2, 6, 6, 6], false)] {
        let (model, natural, record) = case(sizes, 7, 0.3);
        let (means, variances) = moments(&natural);
        let cavity = NetworkCavity::new(means.clone(), variances.clone(), 0.3);
        let (mean, variance) = cavity.output(&model, &record[..model.inputs()]);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut sum, mut squares, mut fourth) = (0.0, 0.0, 0.0);
        for _ in 0..SAMPLES {
            let mut z = record[..model.inputs()].to_vec();
            for layer in &model.layers {
                z.push(1.0);
                let mut a = vec![0.0; layer.units];
                for (i, z) in z.iter().enumerate() {
                    for (j, a) in a.iter_mut().enumerate() {
                        let k = layer.first + i * layer.units + j;
                        let normal: f64 = StandardNormal.sample(&mut rng);
                        *a += layer.scale * z * (means[k] + variances[k].sqrt() * normal);
                    }
                }
                z = a.iter().map(|a| a.max(0.0)).collect();
                if layer.units == 1 && layer.first + layer.inputs + 1 == model.weights() {
                    z = a;
                }
            }
            let gap = z[0] - mean;
            sum += gap;
            squares += gap * gap;
            fourth += gap.powi(4);
        }
        let n = SAMPLES as f64;
        let spread = squares / n;
        let error = ((fourth / n - spread * spread) / n).sqrt();
        assert!((sum / n).abs() < 5.0 * (spread / n).sqrt() || !exact, "{sizes:?}");
        assert!((spread - variance).abs() < 5.0 * error || !exact, "{sizes:?} {spread} {variance}");
        // The error of the independence assumption: a small part of the variance.
        assert!((sum / n).abs() < 0.3 * spread.sqrt(), "{sizes:?}: {} {}", sum / n, spread.sqrt());
        assert!((variance / spread).ln().abs() < 0.7, "{sizes:?}: {variance} {spread}");
    }
}

/// A bias alone is a Gaussian mean with known variance: every engine is exact.
#[test]
fn a_bias_is_the_conjugate_posterior() {
    let model = Network::new(&[0], OutputNoise::Known(0.5)).unwrap();
    let y: Vec<f64> = (0..40).map(|n| (f64::from(n) * 1.7).sin() + 0.4).collect();
    let precision = 5.0 / 6.0 + 40.0 / 0.5;
    for natural in [ep(&model, &y, 1, 2, 1.0), adf(&model, &y, 1)] {
        assert!((natural[1] - precision).abs() < 1e-9);
        assert!((natural[0] - y.iter().sum::<f64>() / 0.5).abs() < 1e-9);
    }
}

/// One step of refinement against its definition: moments of the tilted distribution of a weight and $\lambda$ with the
/// Gaussian evidence in place of the Student.
#[test]
fn refinement_gives_factors_with_the_expected_precision() {
    let mut model = Network::new(&[2, 3], OutputNoise::default()).unwrap();
    let natural: Vec<f64> =
        model.prior().iter().zip(model.start(3, Start::Prior)).map(|(p, l)| p + 2.0 * l + 0.5).collect();
    let before = model.prior().to_vec();
    model.refine_prior(&natural);
    // The first weight: the cavity of lambda is the hyper-prior itself.
    let prior = model.prior();
    assert!(prior[0] == 0.0 && (prior[model.weights()] - 5.0 / 6.0).abs() < 1e-12);
    // Weights of about the prior's size: the precision keeps that size, and each weight makes it slightly more
    // precise.
    assert!((0.1..10.0).contains(&model.prior_precision()));
    assert_eq!(model.prior()[2 * model.weights()..], before[2 * model.weights()..]);
    // A second pass without new information: EP over these factors has a fixed point.
    (0..50).for_each(|_| {
        let likelihood: Vec<f64> = natural.iter().zip(&before).map(|(q, p)| q - p).collect();
        let q: Vec<f64> = model.prior().iter().zip(&likelihood).map(|(p, l)| p + l).collect();
        model.refine_prior(&q);
    });
    let settled = model.prior_precision();
    let likelihood: Vec<f64> = natural.iter().zip(&before).map(|(q, p)| q - p).collect();
    let q: Vec<f64> = model.prior().iter().zip(&likelihood).map(|(p, l)| p + l).collect();
    model.refine_prior(&q);
    assert!((model.prior_precision() / settled - 1.0).abs() < 1e-9);
}

#[test]
fn the_contribution_has_the_stated_width() {
    for (inputs, hidden) in [(8, 50), (16, 50), (9, 100)] {
        let weights = (inputs + 1) * hidden + hidden + 1;
        let known = Network::new(&[inputs, hidden], OutputNoise::Known(1.0)).unwrap();
        let unknown = Network::new(&[inputs, hidden], OutputNoise::default()).unwrap();
        assert_eq!(
            (known.weights(), known.width(), unknown.width()),
            (weights, 2 * weights, 2 * weights + 2)
        );
        let mut all: Vec<usize> = unknown.blocks().into_iter().flat_map(Block::coordinates).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..unknown.width()));
    }
}

/// The sizes of the wide start on 8 inputs and 50 units: $1/v$ and $m/v$ have norm 1 in each layer, or less.
#[test]
fn the_wide_start_is_wide() {
    let model = Network::new(&[8, 50], OutputNoise::default()).unwrap();
    let start = model.start(1, Start::Wide { records: 1000 });
    let q: Vec<f64> = model.prior().iter().zip(&start).map(|(p, l)| p + l).collect();
    let variance = |k: usize| 1.0 / q[501 + k];
    assert!((variance(0) - 450f64.sqrt()).abs() < 1e-9 && (variance(450) - 51f64.sqrt()).abs() < 1e-9);
    let norm: f64 = q[..450].iter().map(|x| x * x).sum();
    assert!((norm - 1.0).abs() < 1e-12);
    // The prior has a variance of 6/5, worth 5 of 505.
    let noise = Gamma::from_natural(&q[1002..]);
    assert!((noise.rate / (noise.shape - 1.0) - (6.0 + 50.0) / 505.0).abs() < 1e-12);
    // It is proper, and needs no projection.
    assert_eq!(model.project(&mut q.clone()), 0);
}

#[test]
fn centring_is_undone_and_takes_out_the_mean() {
    let (model, natural, record) = case(&[3, 4], 5, 0.2);
    let mut cavity = NetworkCavity::default();
    model.condition(&natural, &mut cavity);
    let mut site = vec![0.0; model.width()];
    model.site(&cavity, &record, &mut site);
    let mut centred = site.clone();
    model.centre(&cavity, &mut centred);
    for (k, (g, h)) in derivatives(&model, &natural, &record).into_iter().enumerate() {
        let u = 1.0 - (g * g - 2.0 * h) / natural[model.weights() + k];
        assert!((centred[k] - g / u).abs() < 1e-9 * (1.0 + centred[k].abs()));
    }
    model.uncentre(&cavity, &mut centred);
    assert!(site.iter().zip(&centred).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + a.abs())));
}

/// EP fits a kink, finds the noise small, and has large variances where there are no records. At depth 0 to 3: both
/// computations of centred coordinates agree.
#[test]
fn centred_sites_are_sites_that_were_centred() {
    for depth in 0..4 {
        let (model, natural, record) = case(&[9, 11, 4, 6][..=depth], 7, 0.3);
        let mut cavity = NetworkCavity::default();
        model.condition(&natural, &mut cavity);
        let [mut found, mut expected] = [vec![0.0; model.width()], vec![0.0; model.width()]];
        model.site_centred(&cavity, &record, &mut found);
        model.site(&cavity, &record, &mut expected);
        model.centre(&cavity, &mut expected);
        assert!(found.iter().filter(|x| **x != 0.0).count() > model.weights());
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-13 * (1.0 + b.abs()), "{depth}: {a} {b}");
        }
    }
}

#[test]
fn a_kink_is_fitted() {
    let mut model = Network::new(&[1, 20], OutputNoise::default()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let records: Vec<f64> = (0..200)
        .map(|n| f64::from(n) / 50.0 - 2.0)
        .flat_map(|x| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            [x, x.abs() - 1.0 + 0.1 * normal]
        })
        .collect();
    let mut state = Ep::new(&model, &records, 2, &model.start(1, Start::Prior));
    for _ in 0..30 {
        state.pass(&model, &records, 0..200, 0.4);
        model.refine_prior(&state.natural(&model));
    }
    let posterior = NetworkPosterior::new(&model, &state.fit(&model));
    for x in [-1.5f64, -0.7, 0.8, 1.6] {
        let prediction = posterior.predict(&[x]);
        assert!((prediction.mean - (x.abs() - 1.0)).abs() < 0.15, "{x} {prediction:?}");
        assert_eq!(prediction, posterior.predict_naively(&[x]));
    }
    let noise = posterior.predict(&[0.0]).noise_variance;
    // The truth is 0.01, and a straight line would leave 0.33. Independent weights and few records leave some
    // residual variance.
    assert!((0.005..0.1).contains(&noise), "{noise}");
    assert!(posterior.predict(&[8.0]).variance > 3.0 * posterior.predict(&[1.0]).variance);
}

#[test]
fn quantiles_and_densities_agree() {
    let prediction = Prediction { mean: 1.0, variance: 3.0, noise_variance: 1.0 };
    assert!((prediction.quantile(0.975) - (1.0 + 2.0 * 1.959_963_984_540_054)).abs() < 1e-12);
    assert!((prediction.quantile(1e-10) - (1.0 - 2.0 * 6.361_340_902_404_056)).abs() < 1e-10);
    assert_eq!(prediction.quantile(0.0), f64::NEG_INFINITY);
    let expected = -0.5 * ((std::f64::consts::TAU * 4.0).ln() + 1.0);
    assert!((prediction.log_likelihood(3.0) - expected).abs() < 1e-14);
}

#[test]
fn what_is_no_network_is_refused() {
    let new = |sizes: &[usize], noise| Network::new(sizes, noise).err();
    assert_eq!(new(&[], OutputNoise::default()), Some(DefinitionError::NetworkShape));
    assert_eq!(new(&[3, 0], OutputNoise::default()), Some(DefinitionError::NetworkShape));
    assert_eq!(new(&[3], OutputNoise::Known(-1.0)), Some(DefinitionError::NotPositive));
    let flat = Gamma { shape: 0.5, rate: 1.0 };
    assert_eq!(new(&[3], OutputNoise::Unknown(flat)), Some(DefinitionError::NotPositive));
    let network = Network::new(&[3], OutputNoise::default()).unwrap();
    assert_eq!(network.clone().with_floor(0.0).err(), Some(DefinitionError::NotPositive));
    assert_eq!(network.with_weight_prior(flat).err(), Some(DefinitionError::NotPositive));
}

/// A site is a function of its record and the cavity alone: the scratch memory of other records or networks changes
/// no bit of it. Amplification by sampling, and the wall itself, depend on that.
#[test]
fn a_site_does_not_depend_on_the_records_before_it() {
    let site = |sizes: &[usize], record: &[f64]| {
        let model = Network::new(sizes, OutputNoise::default()).unwrap();
        let mut q: Vec<f64> =
            model.prior().iter().zip(model.start(3, Start::Prior)).map(|(p, l)| p + l).collect();
        model.project(&mut q);
        let mut cavity = NetworkCavity::default();
        model.condition(&q, &mut cavity);
        let mut out = vec![0.0; model.width()];
        model.site(&cavity, record, &mut out);
        out.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    let alone = std::thread::spawn(move || site(&[2, 7, 5], &[0.3, -0.8, 0.5])).join().unwrap();
    for before in [[1e29, -1e29, 1e29], [f64::NAN; 3], [f64::INFINITY, 0.0, 1.0], [0.4, -1.0, 2.0]] {
        // Other numbers of inputs too, so that the scratch memory of hidden units is reused for inputs.
        for sizes in [&[2, 7, 5][..], &[2, 40, 30, 20], &[1, 9, 8], &[0, 30], &[2]] {
            site(sizes, &before[..=sizes[0]]);
            assert_eq!(site(&[2, 7, 5], &[0.3, -0.8, 0.5]), alone, "{sizes:?} {before:?}");
        }
    }
}
