use super::query::{BINS, bin, middle_of};
use super::*;
use crate::budget::{Adjacency, Unlimited};
use crate::model::{Codebook, Link, ModelError, Parameters, Saved, Score, Scorer, Variances};
use crate::wall::{NoiseSource, Records};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal, Uniform};

/// Predicts its first input as a number of this standard deviation.
struct Line {
    sd: f64,
}

/// Predicts a class whose log odds are this many times its first input.
struct Odds {
    slope: f64,
}

impl Posterior for Line {
    fn parameters(&self, _: &Codebook) -> Parameters {
        Parameters::default()
    }
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        let (mean, sd) = (inputs[0], self.sd);
        let quantiles = probabilities.iter().map(|p| mean + sd * crate::math::normal::quantile(*p));
        let variances = Variances { targets: sd * sd, ..Variances::default() };
        Predicted::Number { mean, variances, quantiles: quantiles.collect() }
    }
    fn save(&self) -> Result<Saved, ModelError> {
        unreachable!("not saved")
    }
}

impl Posterior for Odds {
    fn parameters(&self, _: &Codebook) -> Parameters {
        Parameters::default()
    }
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let score = self.slope * inputs[0];
        let (link, variances) = (Link::Logistic, Variances::default());
        Predicted::Class { probability: link.probability(score), score, link, variances }
    }
    fn save(&self) -> Result<Saved, ModelError> {
        unreachable!("not saved")
    }
}

fn judged(posterior: &dyn Posterior) -> Judged<'_> {
    Judged { posterior, middle: &[0.0], unit: 10.0, bounded: true }
}

fn scored(posterior: &dyn Posterior, rows: &[f64]) -> Score {
    let mut scorer = Scorer::new(10.0);
    for row in rows.chunks_exact(2) {
        scorer.add(&posterior.predict_row(&row[..1], &crate::model::QUANTILES), row[1]);
    }
    scorer.finish().unwrap()
}

/// Inputs from -1/2 to 1/2 and targets about them.
fn numbers(n: usize, sd: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let uniform = Uniform::new(-0.5, 0.5).unwrap();
    let mut row = || {
        let (x, normal): (f64, f64) = (uniform.sample(rng), StandardNormal.sample(rng));
        [x, (x + sd * normal).clamp(-1.0, 1.0)]
    };
    (0..n).flat_map(|_| row()).collect()
}

/// Standard normal log odds, and the classes that they give.
fn classes(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let uniform = Uniform::new(0.0, 1.0).unwrap();
    let mut row = || {
        let x: f64 = StandardNormal.sample(rng);
        [x, if uniform.sample(rng) < Link::Logistic.probability(x) { 1.0 } else { -1.0 }]
    };
    (0..n).flat_map(|_| row()).collect()
}

fn run(models: Vec<Judged<'_>>, rows: Vec<f64>, privacy: &Privacy, seed: u64) -> Evaluated {
    let width = 2 * models.len();
    let n = rows.len() / width;
    let plan = EvaluationPlan::new(models, n, privacy).unwrap();
    assert_eq!(plan.record_width(), width);
    let (records, source) = (Records::new(rows, width).unwrap(), NoiseSource::insecure_from_seed(seed));
    let mut wall =
        Wall::new(records, source, plan.releases().unwrap(), privacy, Box::new(Unlimited)).unwrap();
    plan.evaluate(&mut wall).unwrap()
}

fn figure<'a>(figures: &'a [Figure], name: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.name.starts_with(name)).unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn half() -> Privacy {
    Privacy::new(0.5, 1e-6, Adjacency::ReplaceOne).unwrap()
}

/// The requirement: at epsilon 0.5 and 10,000 records within 0.01 and 2 % in the median of 20 runs.
#[test]
fn ten_thousand_records_give_close_figures_at_epsilon_one_half() {
    let (mut areas, mut errors) = (Vec::new(), Vec::new());
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (odds, line) = (Odds { slope: 1.0 }, Line { sd: 0.1 });
        let rows = classes(10_000, &mut rng);
        let exact = scored(&odds, &rows);
        let evaluated = run(vec![judged(&odds)], rows, &half(), seed);
        let found = figure(&evaluated.models[0].figures, "area").value.unwrap();
        areas.push((found - exact.auc.unwrap()).abs());
        let rows = numbers(10_000, 0.1, &mut rng);
        let exact = scored(&line, &rows).rmse.unwrap();
        let evaluated = run(vec![judged(&line)], rows, &half(), 100 + seed);
        let found = figure(&evaluated.models[0].figures, "root").value.unwrap();
        errors.push((found / exact - 1.0).abs());
    }
    let (area, error) = (median(areas), median(errors));
    assert!(area < 0.01, "{area}");
    assert!(error < 0.02, "{error}");
}

/// Intervals of 95 % contain the value in the population, from a large sample of it, in at least 90 % of 200 runs: with
/// true coverage .95 fewer happen once in a thousand.
#[test]
fn intervals_cover_the_value_in_the_population() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (odds, line) = (Odds { slope: 1.0 }, Line { sd: 0.1 });
    let truth = scored(&odds, &classes(400_000, &mut rng));
    let wanted = [
        ("area", truth.auc.unwrap()),
        ("accuracy", truth.accuracy.unwrap()),
        ("log loss", -truth.log_likelihood),
        ("share", 0.5),
    ];
    let truth = scored(&line, &numbers(400_000, 0.1, &mut rng));
    let coverage = truth.coverage.unwrap();
    let numbers_wanted =
        [("root", truth.rmse.unwrap()), ("inside the 50", coverage[0]), ("inside the 95", coverage[2])];
    let mut hits = vec![0; wanted.len() + numbers_wanted.len()];
    let runs = 200;
    for (seed, n) in (0..runs).zip([1500, 4000, 10_000].into_iter().cycle()) {
        let privacy = Privacy::new(0.5 + 0.5 * (seed % 4) as f64, 1e-6, Adjacency::ReplaceOne).unwrap();
        let evaluated = run(vec![judged(&odds)], classes(n, &mut rng), &privacy, seed);
        let other = run(vec![judged(&line)], numbers(n, 0.1, &mut rng), &privacy, 1000 + seed);
        let all = wanted.iter().map(|wanted| (wanted, &evaluated));
        let all = all.chain(numbers_wanted.iter().map(|wanted| (wanted, &other)));
        for (hit, ((name, truth), evaluated)) in hits.iter_mut().zip(all) {
            let figure = figure(&evaluated.models[0].figures, name);
            *hit += usize::from(figure.lower <= *truth && *truth <= figure.upper);
        }
    }
    assert!(hits.iter().all(|hit| *hit as f64 >= 0.9 * runs as f64), "{hits:?}");
}

/// With a huge budget the figures are the exact ones up to the width of the bins, the squared errors that are clipped, and the noise.
#[test]
fn a_huge_budget_gives_the_exact_figures() {
    let privacy = Privacy::new(40.0, 1e-6, Adjacency::AddRemove).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (odds, line) = (Odds { slope: 1.0 }, Line { sd: 0.1 });
    let rows = classes(20_000, &mut rng);
    let exact = scored(&odds, &rows);
    let evaluated = run(vec![judged(&odds)], rows, &privacy, 1);
    let figures = &evaluated.models[0].figures;
    let close = |name: &str, exact: f64, within: f64| {
        let found = figure(figures, name).value.unwrap();
        assert!((found - exact).abs() < within, "{name}: {found} {exact}");
    };
    close("area", exact.auc.unwrap(), 2e-3);
    close("accuracy", exact.accuracy.unwrap(), 1e-3);
    close("log loss", -exact.log_likelihood, 2e-3);
    assert!((evaluated.records.value.unwrap() - 20_000.0).abs() < 10.0);
    // A calibrated model is calibrated in every point: 5 standard errors of the sample, and the width of a bin.
    assert!(evaluated.models[0].calibration.len() > 4);
    for point in &evaluated.models[0].calibration {
        let found = point.observed.value.unwrap();
        let error = 5.0 * (0.25 / point.count).sqrt() + 0.02;
        assert!((found - point.predicted).abs() < error, "{point:?}");
    }
    let rows = numbers(20_000, 0.1, &mut rng);
    let exact = scored(&line, &rows);
    let evaluated = run(vec![judged(&line)], rows, &privacy, 2);
    let figures = &evaluated.models[0].figures;
    let found = figure(figures, "root").value.unwrap();
    assert!((found / exact.rmse.unwrap() - 1.0).abs() < 2e-3, "{found} {exact:?}");
    for (name, share) in
        ["inside the 50", "inside the 80", "inside the 95"].iter().zip(exact.coverage.unwrap())
    {
        let found = figure(figures, name).value.unwrap();
        assert!((found - share).abs() < 1e-3, "{name}: {found} {share}");
    }
}

/// Whatever the record, the norm of a contribution is at most the radius; some records reach it, so that it is no larger than it must be.
#[test]
fn contributions_reach_and_never_exceed_the_radius() {
    let (a, b) = (Odds { slope: 1.0 }, Odds { slope: -1.0 });
    let (c, d) = (Line { sd: 0.1 }, Line { sd: 0.3 });
    for models in
        [vec![judged(&a)], vec![judged(&a), judged(&b)], vec![judged(&c)], vec![judged(&c), judged(&d)]]
    {
        let plan = EvaluationPlan::new(models.clone(), 100, &half()).unwrap();
        let (layout, mut largest) = (&plan.layout, 0f64);
        for x in [-1e9, -20.0, -1.0, -0.5, 0.0, 0.05, 0.5, 1.0, 20.0, 1e9] {
            for y in [-1.0, 0.0, 1.0] {
                let record = [x, y].repeat(models.len());
                let mut out = vec![0.0; layout.width()];
                layout.contribute(&record, &mut out);
                assert!(out.iter().all(|value| *value >= 0.0));
                largest = largest.max(out.iter().map(|value| value * value).sum::<f64>().sqrt());
            }
        }
        assert!(largest <= layout.radius() * (1.0 + 1e-12), "{largest}");
        // Two models cannot have both the largest losses and a difference: of 7/2 (classes) or 13/4 (numbers) they reach 1/4 less.
        let short = if models.len() > 1 { 0.25 } else { 0.0 };
        let reached = (layout.radius().powi(2) - short).sqrt();
        // The least log loss is not 0 but e^-8, of a maximum of 8.
        assert!((largest - reached).abs() < (-8f64).exp() / 8.0, "{largest} {reached}");
    }
}

/// The predicted class is a function of the bin, and scores beyond the ends are in the last bins.
#[test]
fn bins_hold_their_scores() {
    assert_eq!([bin(-9.0), bin(-8.0), bin(8.0), bin(9.0)], [0, 0, BINS - 1, BINS - 1]);
    assert_eq!([bin(0.0), bin(1e-9)], [BINS / 2 - 1, BINS / 2]);
    assert!((0..BINS).all(|k| bin(middle_of(k)) == k));
}

/// Records without a target contribute nothing, and are not counted.
#[test]
fn records_without_a_target_are_not_counted() {
    let line = Line { sd: 0.1 };
    let mut rows = numbers(20_000, 0.1, &mut ChaCha8Rng::seed_from_u64(1));
    rows.chunks_exact_mut(2).step_by(2).for_each(|row| row[1] = f64::NAN);
    let privacy = Privacy::new(8.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let evaluated = run(vec![judged(&line)], rows, &privacy, 5);
    let Figure { lower, upper, .. } = evaluated.records;
    assert!(lower <= 10_000.0 && 10_000.0 <= upper && upper - lower < 100.0, "{:?}", evaluated.records);
}

/// Of two models the better one has the better figures, and intervals of differences contain the exact ones.
#[test]
fn differences_are_those_of_the_records() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (good, flat) = (Odds { slope: 1.0 }, Odds { slope: 0.3 });
    let twice = |rows: &[f64]| rows.chunks_exact(2).flat_map(|row| [row[0], row[1]].repeat(2)).collect();
    let rows: Vec<f64> = classes(10_000, &mut rng);
    let (a, b) = (scored(&good, &rows), scored(&flat, &rows));
    let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let evaluated = run(vec![judged(&good), judged(&flat)], twice(&rows), &privacy, 3);
    assert!(evaluated.models[0].differences.is_empty());
    let loss = figure(&evaluated.models[1].differences, "log loss");
    let exact = a.log_likelihood - b.log_likelihood;
    assert!(loss.lower > 0.0 && loss.lower <= exact && exact <= loss.upper, "{loss:?} {exact}");
    let right = figure(&evaluated.models[1].differences, "accuracy");
    assert!(right.lower <= 0.0 && 0.0 <= right.upper && right.upper - right.lower < 0.05, "{right:?}");
    let (sharp, wide) = (Line { sd: 0.1 }, Line { sd: 0.3 });
    let rows = numbers(10_000, 0.1, &mut rng);
    let evaluated = run(vec![judged(&sharp), judged(&wide)], twice(&rows), &privacy, 4);
    let same = figure(&evaluated.models[1].differences, "root");
    assert!(same.lower <= 0.0 && 0.0 <= same.upper, "{same:?}");
}

/// Differences of exact scores have the standard errors of the bootstrap of the same records.
#[test]
fn standard_errors_are_those_of_the_bootstrap() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let rows = classes(400, &mut rng);
    let models = [Odds { slope: 1.0 }, Odds { slope: -0.2 }];
    let compare = |rows: &[f64]| {
        let mut comparison = Comparison::new(2, 1.0);
        for row in rows.chunks_exact(2) {
            for (k, model) in models.iter().enumerate() {
                comparison.add(k, &model.predict_row(&row[..1], &[]), row[1]);
            }
        }
        comparison.finish().unwrap()
    };
    let figures = |compared: &Compared| {
        let model = &compared.models[1];
        [model.auc.unwrap(), model.accuracy.unwrap(), model.log_likelihood]
    };
    let stated = figures(&compare(&rows));
    let pick = Uniform::new(0, 400).unwrap();
    let again: Vec<[Difference; 3]> = (0..400)
        .map(|_| {
            let sample = (0..400).flat_map(|_| {
                let k: usize = pick.sample(&mut rng);
                [rows[2 * k], rows[2 * k + 1]]
            });
            figures(&compare(&sample.collect::<Vec<f64>>()))
        })
        .collect();
    for (k, stated) in stated.iter().enumerate() {
        let mean = again.iter().map(|one| one[k].difference).sum::<f64>() / 400.0;
        let sd = (again.iter().map(|one| (one[k].difference - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
        // A standard deviation of 400 draws is within 5 of its standard errors, 1/sqrt(800) each.
        assert!((stated.difference_error / sd - 1.0).abs() < 5.0 / 800f64.sqrt(), "{k}: {stated:?} {sd}");
    }
}

/// Models with other targets, and a budget without a delta, are refused before a record is read.
#[test]
fn what_cannot_be_evaluated_is_refused() {
    let (odds, line) = (Odds { slope: 1.0 }, Line { sd: 0.1 });
    let new = |models, privacy: &Privacy| EvaluationPlan::new(models, 100, privacy).err();
    assert!(matches!(new(vec![], &half()), Some(EvaluationError::NoModel)));
    let mixed = vec![judged(&odds), judged(&line)];
    assert!(matches!(new(mixed, &half()), Some(EvaluationError::Target)));
    let pure = Privacy::new(1.0, 0.0, Adjacency::ReplaceOne).unwrap();
    assert!(matches!(new(vec![judged(&odds)], &pure), Some(EvaluationError::NoDelta)));
}
