use super::*;
use reticent_noise::NoiseSource;

/// With a key of its own for each release, as in a wall.
fn choose<'a>(
    sampler: Sampler,
    step: u64,
    records: usize,
    source: &mut NoiseSource,
    state: &'a mut Vec<usize>,
) -> Result<Batch<'a>, NoiseError> {
    let key = source.sample_key()?;
    sampler.choose((step, &key), records, source, state)
}

fn rows(batch: Batch<'_>) -> Vec<usize> {
    batch.unwrap().to_vec()
}

/// Chi-square over the records, 39 degrees of freedom: exceeds 84 with probability below 1e-4.
#[test]
fn fixed_batches_are_distinct_and_uniform() {
    let mut source = NoiseSource::insecure_from_seed(1);
    let (records, batch, steps) = (40, 7, 4000);
    let mut uses = vec![0f64; records];
    let mut state = Vec::new();
    for step in 0..steps {
        let sampler = Sampler::Fixed { batch };
        let chosen = rows(choose(sampler, step, records, &mut source, &mut state).unwrap());
        let distinct: std::collections::BTreeSet<_> = chosen.iter().collect();
        assert_eq!(distinct.len(), batch);
        chosen.iter().for_each(|&row| uses[row] += 1.0);
    }
    let expected = steps as f64 * batch as f64 / records as f64;
    let chi2: f64 = uses.iter().map(|n| (n - expected).powi(2) / expected).sum();
    assert!(chi2 < 84.0, "{chi2}");
    assert!(uses.iter().any(|&n| n != expected), "a random sample does not use all records equally often");
}

/// The number of inclusions is binomial: within 4.5 standard deviations, false alarm below 1e-5.
#[test]
fn poisson_rate_is_the_accounted_one() {
    let mut source = NoiseSource::insecure_from_seed(2);
    let rate = Rate::at_most(0.037).unwrap();
    let sampler = Sampler::Poisson { rate };
    let (records, steps) = (1000, 200);
    let mut state = Vec::new();
    let mut sizes = std::collections::BTreeSet::new();
    let mut total = 0;
    for step in 0..steps {
        let size = choose(sampler, step, records, &mut source, &mut state).unwrap().unwrap().len();
        total += size;
        sizes.insert(size);
    }
    let n = records as f64 * steps as f64;
    let spread = (n * rate.value() * (1.0 - rate.value())).sqrt();
    assert!((total as f64 - n * rate.value()).abs() < 4.5 * spread, "{total}");
    assert!(sizes.len() > 5, "sizes must vary");
    let mechanism = Mechanism::Gaussian { noise_multiplier: 1.0 };
    let event = sampler.event(mechanism, 3, records);
    assert_eq!(event, Event::release(mechanism, Sampling::Poisson { rate: rate.value() }).repeat(3));
}

#[test]
fn rates_are_dyadic_and_never_larger() {
    for rate in [1e-9, 0.1, 0.5, 1.0] {
        let dyadic = Rate::at_most(rate).unwrap().value();
        assert!(dyadic <= rate && rate - dyadic < 2f64.powi(-53));
    }
    for rate in [0.0, -0.5, 1.5, f64::NAN, 1e-17] {
        assert_eq!(Rate::at_most(rate), None);
    }
}

#[test]
fn a_pass_uses_each_record_once() {
    let mut source = NoiseSource::insecure_from_seed(3);
    let sampler = Sampler::Pass { batch: 4 };
    let (records, per_pass) = (10, 3);
    let mut state = Vec::new();
    let mut orders = Vec::new();
    for pass in 0..5 {
        let mut order = Vec::new();
        for place in 0..per_pass {
            let step = pass * per_pass + place;
            let batch = choose(sampler, step, records, &mut source, &mut state).unwrap();
            assert_eq!(batch.unwrap().len() as f64, sampler.expected(step, records));
            order.extend(rows(batch));
        }
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..records).collect::<Vec<_>>());
        orders.push(order);
    }
    orders.dedup();
    assert!(orders.len() > 1, "passes are shuffled anew");
}

/// An incomplete pass costs a complete one, and each sampler has its own event.
#[test]
fn the_event_is_that_of_the_sampler() {
    let mechanism = Mechanism::Gaussian { noise_multiplier: 2.0 };
    let event = |sampler: Sampler, steps| sampler.event(mechanism, steps, 10);
    let release = |sampling, times| Event::release(mechanism, sampling).repeat(times);
    assert_eq!(event(Sampler::Full, 3), release(Sampling::None, 3));
    assert_eq!(event(Sampler::Fixed { batch: 4 }, 9), release(Sampling::Fixed { batch: 4, records: 10 }, 9));
    assert_eq!(event(Sampler::Pass { batch: 4 }, 3), release(Sampling::Pass, 1));
    assert_eq!(event(Sampler::Pass { batch: 4 }, 4), release(Sampling::Pass, 2));
}
