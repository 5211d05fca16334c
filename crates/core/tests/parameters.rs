//! Every model of the registry names its parameters in the units of the schema: those of simulated records are found, and summary, draws and
//! the saved model agree. A model without a case here fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Poisson, StandardNormal};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::{
    Code, Codebook, CodedColumn, Model, Posterior, SettingValue, Summary, TableShape, Target, models,
};
use reticent_core::wall::{NoiseSource, Records};

/// Records with known parameters.
struct Case {
    codebook: Codebook,
    target: Target,
    settings: Vec<(&'static str, SettingValue)>,
    rows: Vec<Vec<f64>>,
    /// Names of parameters, and their values in the units of the codebook.
    truth: Vec<(String, f64)>,
    /// Whether labels are arbitrary: then each value belongs to some parameter of the variable.
    any_label: bool,
}

fn column(name: &str, unit: Option<&str>, code: Code) -> CodedColumn {
    CodedColumn { name: name.into(), unit: unit.map(str::to_owned), code }
}

fn number(name: &str, unit: &str, low: f64, high: f64) -> CodedColumn {
    column(name, Some(unit), Code::Number { centre: 0.5 * (low + high), scale: 0.5 * (high - low) })
}

fn encode(column: &CodedColumn, value: f64) -> f64 {
    let Code::Number { centre, scale } = column.code else { panic!("a number") };
    ((value - centre) / scale).clamp(-1.0, 1.0)
}

fn flag(name: &str) -> CodedColumn {
    column(name, None, Code::Flag { levels: ["false".into(), "true".into()] })
}

fn smoker() -> CodedColumn {
    column(
        "smoker",
        None,
        Code::Levels { levels: ["never", "former", "current"].map(str::to_owned).to_vec() },
    )
}

fn side(yes: bool) -> f64 {
    if yes { 1.0 } else { -1.0 }
}

fn one_of(level: usize, levels: usize) -> impl Iterator<Item = f64> {
    (0..levels).map(move |k| f64::from(u8::from(k == level)))
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn truth<const N: usize>(values: [(&str, f64); N]) -> Vec<(String, f64)> {
    values.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Age, smoker and emergency, and a target by a linear score of them in data units: `0.1 age + (0, 0.5, 2) + 1.5 emergency`.
fn patients(
    records: usize,
    target: CodedColumn,
    of_score: &mut dyn FnMut(f64, &mut ChaCha8Rng) -> f64,
) -> (Codebook, Vec<Vec<f64>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let columns = vec![number("age", "years", 20.0, 80.0), smoker(), flag("emergency")];
    let row = |_| {
        let (age, level, emergency) = (rng.random_range(20.0..80.0), rng.random_range(0..3), rng.random());
        let score = 0.1 * age + [0.0, 0.5, 2.0][level] + if emergency { 1.5 } else { 0.0 };
        let mut row = vec![encode(&columns[0], age)];
        row.extend(one_of(level, 3));
        row.extend([side(emergency), of_score(score, &mut rng)]);
        row
    };
    let rows = (0..records).map(row).collect();
    (Codebook { columns, target: Some(target) }, rows)
}

/// A stay in days with standard deviation 1 about `2 + score`.
fn stays(records: usize, variable: &str) -> Case {
    let target = number("stay", "days", 0.0, 30.0);
    let coded = target.clone();
    let (codebook, rows) =
        patients(records, target, &mut |score, rng| encode(&coded, 2.0 + score + normal(rng)));
    let named = |term: &str, value: f64| (format!("{variable}[{term}]"), value);
    let truth = match variable {
        "" => Vec::new(),
        _ => vec![
            named("age", 0.1),
            named("smoker = former", 0.5),
            named("smoker = current", 2.0),
            named("emergency = true", 1.5),
        ],
    };
    Case { codebook, target: Target::Number, settings: Vec::new(), rows, truth, any_label: false }
}

/// Two classes, of which the second has the probability `link(score / 2 - 4)`.
fn classes(records: usize, link: fn(f64) -> f64) -> Case {
    let (codebook, rows) = patients(records, flag("admitted"), &mut |score, rng| {
        side(rng.random::<f64>() < link(0.5 * score - 4.0))
    });
    let truth = truth([
        ("intercept", -4.0),
        ("coefficient[age]", 0.05),
        ("coefficient[smoker = former]", 0.25),
        ("coefficient[smoker = current]", 1.0),
        ("coefficient[emergency = true]", 0.75),
    ]);
    Case { codebook, target: Target::TwoClasses, settings: Vec::new(), rows, truth, any_label: false }
}

fn plain(columns: Vec<CodedColumn>, rows: Vec<Vec<f64>>, truth: Vec<(String, f64)>) -> Case {
    let codebook = Codebook { columns, target: None };
    Case { codebook, target: Target::Nothing, settings: Vec::new(), rows, truth, any_label: false }
}

fn case(model: &str) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let n = 6000;
    match model {
        "linear" => {
            let mut case = stays(n, "coefficient");
            case.truth.extend(truth([("intercept", 2.0), ("residual_sd", 1.0)]));
            case
        }
        "regression" | "network" => stays(n, "effect"),
        "network-vi" => {
            Case { settings: vec![("hidden", 5u64.into()), ("passes", 5u64.into())], ..stays(600, "") }
        }
        "network-sgd" => {
            Case { settings: vec![("hidden", 5u64.into()), ("steps", 50u64.into())], ..stays(2000, "") }
        }
        "logistic" => {
            let mut case = classes(20_000, |x| 1.0 / (1.0 + (-x).exp()));
            case.truth.push(("odds_ratio[age]".into(), 0.05f64.exp()));
            case
        }
        "probit" => classes(20_000, |x| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)),
        "beta-bernoulli" => {
            let columns = vec![flag("emergency"), number("age", "years", 0.0, 100.0)];
            let row = |_| vec![side(rng.random::<f64>() < 0.3), side(rng.random::<f64>() < 0.8)];
            plain(columns, (0..n).map(row).collect(), truth([("rate[emergency]", 0.3), ("rate[age]", 0.8)]))
        }
        "dirichlet" => {
            let row = |_| {
                let level = [0, 0, 0, 1, 2][rng.random_range(0..5)];
                one_of(level, 3).chain([side(rng.random::<f64>() < 0.75)]).collect()
            };
            let truth = truth([
                ("share[smoker, never]", 0.6),
                ("share[smoker, former]", 0.2),
                ("share[smoker, current]", 0.2),
                ("share[emergency, true]", 0.75),
            ]);
            plain(vec![smoker(), flag("emergency")], (0..n).map(row).collect(), truth)
        }
        "poisson" => {
            let visits = number("visits", "visits", 0.0, 20.0);
            let law = Poisson::new(3.5).unwrap();
            let rows = (0..n).map(|_| vec![encode(&visits, law.sample(&mut rng))]).collect();
            let case = plain(vec![visits], rows, truth([("rate[visits]", 3.5)]));
            Case { settings: vec![("bound", 20u64.into())], ..case }
        }
        "normal" | "multivariate-normal" => {
            let columns = vec![number("age", "years", 0.0, 100.0), number("weight", "kg", 20.0, 140.0)];
            let row = |_| {
                let age = 50.0 + 10.0 * normal(&mut rng);
                let weight = 70.0 + 0.6 * (age - 50.0) + 8.0 * normal(&mut rng);
                vec![encode(&columns[0], age), encode(&columns[1], weight)]
            };
            let rows = (0..n).map(row).collect();
            // The variance of weight is 36 + 64, and its covariance with age 60.
            let mut truth =
                truth([("mean[age]", 50.0), ("mean[weight]", 70.0), ("sd[age]", 10.0), ("sd[weight]", 10.0)]);
            truth.extend((model != "normal").then(|| ("correlation[age, weight]".to_owned(), 0.6)));
            plain(columns, rows, truth)
        }
        "naive-bayes" => {
            let columns = vec![number("age", "years", 20.0, 80.0), smoker(), flag("emergency")];
            let row = |_| {
                let yes = rng.random::<f64>() < 0.4;
                // Ages of the second class are uniform in the upper half of the bounds.
                let age = if yes { rng.random_range(50.0..80.0) } else { rng.random_range(20.0..80.0) };
                let level = if yes { [0, 1, 2, 2][rng.random_range(0..4)] } else { rng.random_range(0..2) };
                let mut row = vec![encode(&columns[0], age)];
                row.extend(one_of(level, 3));
                row.extend([side(rng.random::<f64>() < if yes { 0.7 } else { 0.2 }), side(yes)]);
                row
            };
            let rows = (0..n).map(row).collect();
            let truth = truth([
                ("class_share[true]", 0.4),
                ("share[false, age, 20 to 35]", 0.25),
                ("share[true, age, 50 to 65]", 0.5),
                ("share[true, smoker, current]", 0.5),
                ("share[false, smoker, former]", 0.5),
                ("share[true, emergency, true]", 0.7),
                ("share[false, emergency, false]", 0.8),
            ]);
            let codebook = Codebook { columns, target: Some(flag("ill")) };
            let settings = vec![("bins", 4u64.into())];
            Case { codebook, target: Target::TwoClasses, settings, rows, truth, any_label: false }
        }
        "mixture" => {
            let columns = vec![number("age", "years", 0.0, 100.0), number("weight", "kg", 20.0, 140.0)];
            let row = |k: usize| {
                let (age, weight) = if k.is_multiple_of(2) { (30.0, 50.0) } else { (70.0, 110.0) };
                // A deviation of 0.1 in encoded units.
                let (age, weight) = (age + 5.0 * normal(&mut rng), weight + 6.0 * normal(&mut rng));
                vec![encode(&columns[0], age), encode(&columns[1], weight)]
            };
            let rows = (0..n).map(row).collect();
            let truth = truth([
                ("mean[age]", 30.0),
                ("mean[age]", 70.0),
                ("mean[weight]", 50.0),
                ("mean[weight]", 110.0),
            ]);
            let settings = vec![("components", 2u64.into()), ("noise-sd", 0.1.into())];
            Case { settings, any_label: true, ..plain(columns, rows, truth) }
        }
        "hmm" => {
            let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            let columns = vec![
                column("region", None, Code::Levels { levels: texts(&["north", "south"]) }),
                column("month", None, Code::Levels { levels: texts(&["1", "2", "3", "4"]) }),
                smoker(),
                flag("emergency"),
            ];
            let row = |k: usize| {
                let (region, time) = (k % 2, k / 2 % 4);
                let first = (region == 0) == (time < 2);
                let level = if first { [0, 0, 0, 1, 2] } else { [2, 2, 2, 1, 1] }[rng.random_range(0..5)];
                let yes = rng.random::<f64>() < if first { 0.75 } else { 0.25 };
                let mut row: Vec<f64> = one_of(region, 2).collect();
                row.extend(one_of(time, 4).chain(one_of(level, 3)));
                row.push(side(yes));
                row
            };
            let rows = (0..8000).map(row).collect();
            let truth = truth([
                ("profile[smoker, never]", 0.6),
                ("profile[smoker, never]", 0.0),
                ("profile[smoker, current]", 0.6),
                ("profile[emergency, true]", 0.75),
                ("profile[emergency, true]", 0.25),
            ]);
            Case { settings: vec![("states", 2u64.into())], any_label: true, ..plain(columns, rows, truth) }
        }
        "topics" => {
            let word = |k: usize| column("note", None, Code::Word { word: format!("w{k}") });
            let row = |k: usize| {
                let mut row = vec![0.0; 8];
                (0..20).for_each(|_| row[4 * (k % 2) + rng.random_range(0..4)] += 1.0);
                row
            };
            let rows = (0..3000).map(row).collect();
            let mut truth = truth([("topic_share", 0.5)]);
            truth.extend((0..8).map(|k| (format!("word_probability[w{k}]"), 0.25)));
            let case = plain((0..8).map(word).collect(), rows, truth);
            Case { settings: vec![("topics", 2u64.into())], any_label: true, ..case }
        }
        "sigmoid-belief" => {
            let columns = (0..6).map(|k| flag(&format!("item {k}"))).collect();
            let row = |_| {
                let on = rng.random();
                (0..6).map(|_| side(rng.random::<f64>() < if on { 0.9 } else { 0.1 })).collect()
            };
            let case = plain(columns, (0..4000).map(row).collect(), Vec::new());
            Case { settings: vec![("units", 2u64.into())], ..case }
        }
        other => panic!("no case for {other}: add one"),
    }
}

impl Case {
    fn shape(&self) -> TableShape {
        let columns = self.codebook.columns.iter().map(CodedColumn::width).collect();
        let mut shape = TableShape::new(columns, self.target, self.rows.len());
        shape.settings =
            self.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        shape
    }
}

/// Standard deviations within which a true value must be: 5 are exceeded once in 1.7 million, of about 120 values. The bias of the approximation is allowed
/// one more.
const MAX_DEVIATIONS: f64 = 6.0;

/// Error of a share without a stated one: a fifth of the smallest that is to be found.
const POINT_ERROR: f64 = 0.05;

fn check(name: &str, case: &Case, posterior: &dyn Posterior) -> Vec<Summary> {
    let parameters = posterior.parameters(&case.codebook);
    let summary = parameters.summary();
    assert!(!summary.is_empty(), "{name}: no parameters");
    for found in &summary {
        let Summary { mean, sd, records_sd, privacy_sd, quantiles, note, .. } = found;
        assert!(mean.is_finite() && sd.is_finite(), "{name}: {found:?}");
        // A number without uncertainty states why.
        let stated =
            |note: &String| ["fixed", "point estimate", "probability"].iter().any(|word| note.contains(word));
        assert!(*sd > 0.0 || note.as_ref().is_some_and(stated), "{name}: {found:?}");
        assert!(quantiles.windows(2).all(|pair| pair[0] <= pair[1]), "{name}: {found:?}");
        assert!(
            (records_sd.powi(2) + privacy_sd.powi(2) - sd * sd).abs() <= 1e-9 * sd * sd,
            "{name}: {found:?}"
        );
    }
    let mut names: Vec<&str> = summary.iter().map(|found| found.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{name}: two parameters of one name");
    for (of, value) in &case.truth {
        let labels = |found: &Summary| {
            // Without the label of a component, state or topic.
            let place = found
                .place
                .iter()
                .filter(|(dimension, _)| !["component", "state", "topic"].contains(dimension));
            let labels: Vec<&str> = place.map(|(_, label)| label.as_str()).collect();
            if labels.is_empty() {
                found.variable.to_owned()
            } else {
                format!("{}[{}]", found.variable, labels.join(", "))
            }
        };
        let candidates: Vec<&Summary> = match case.any_label {
            true => summary.iter().filter(|found| labels(found) == *of).collect(),
            // A regression whose refinement was not worth its noise is linear.
            false => {
                let linear = of.replacen("effect", "coefficient", 1);
                summary.iter().filter(|found| found.name == *of || found.name == linear).collect()
            }
        };
        assert!(!candidates.is_empty(), "{name}: no {of} among {names:?}");
        let gap = |found: &&Summary| {
            (found.mean - value).abs() / if found.sd > 0.0 { found.sd } else { POINT_ERROR / MAX_DEVIATIONS }
        };
        let nearest = candidates.iter().map(gap).fold(f64::INFINITY, f64::min);
        // A share of 0 is at the edge of its support.
        let edge = *value == 0.0 && candidates.iter().any(|found| found.quantiles[0] < 0.01);
        assert!(nearest < MAX_DEVIATIONS || edge, "{name}: {of} is {value}, found {candidates:?}");
    }
    agree(name, &parameters, &summary);
    summary
}

/// Draws have the means and standard deviations of the summary. A chain has only so many different draws, so its error is that of the number drawn.
fn agree(name: &str, parameters: &reticent_core::model::Parameters, summary: &[Summary]) {
    let count = 4000;
    let draws = parameters.draws(count, 3);
    assert_eq!(draws.names.len(), summary.len(), "{name}");
    for (k, found) in summary.iter().enumerate() {
        let column: Vec<f64> = draws.column(k).collect();
        let mean = column.iter().sum::<f64>() / count as f64;
        let sd = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        let error = found.sd / (count as f64).sqrt();
        assert!(
            (mean - found.mean).abs() <= 5.0 * error + 1e-9 * found.mean.abs(),
            "{name}: {found:?}: {mean}"
        );
        assert!((sd - found.sd).abs() <= 0.15 * found.sd + 1e-12, "{name}: {found:?}: {sd}");
    }
}

#[test]
fn every_model_finds_its_parameters_in_the_units_of_the_schema() {
    // All models that fail, not the first alone.
    let fails =
        |model: &&&'static dyn Model| catch_unwind(AssertUnwindSafe(|| fit_and_check(**model))).is_err();
    let failed: Vec<&str> = models().iter().filter(fails).map(|model| model.name()).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn fit_and_check(model: &dyn Model) {
    let privacy = Privacy::new(8.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let (name, case) = (model.name(), case(model.name()));
    let shape = case.shape();
    let (mut fits, mut refused) = (0, Vec::new());
    for privacy in [Some(&privacy), None] {
        // Some models have only a private fit, or none.
        let plan = match model.plan(&shape, privacy) {
            Ok(plan) => plan,
            Err(error) => {
                refused.push(error.to_string());
                continue;
            }
        };
        let records = Records::new(case.rows.concat(), shape.width()).unwrap();
        let source = NoiseSource::from_os().unwrap();
        let Ok((fitted, _)) = plan.run(records, source, privacy, Box::new(Unlimited)) else { continue };
        let summary = check(name, &case, fitted.as_ref());
        if privacy.is_none() {
            // A floor of the noise keeps matrices invertible: a share of 1e-4 of the variance.
            let noisy = summary.iter().find(|found| found.privacy_sd > 1e-2 * found.sd);
            assert!(noisy.is_none(), "{name}: noise without privacy: {noisy:?}");
        }
        let again = model.load(&fitted.save().unwrap()).unwrap();
        assert_eq!(again.parameters(&case.codebook).summary(), summary, "{name}");
        simulates(name, &case, again.as_ref());
        fits += 1;
    }
    assert!(fits > 0, "{name} was never fitted: {refused:?}");
}

/// A model without a target has a distribution of records: its means are those of the records it was fitted to.
fn simulates(name: &str, case: &Case, posterior: &dyn Posterior) {
    let rows = posterior.simulate_rows(4000, 1, 0);
    let Some(rows) = rows else {
        return assert!(case.target != Target::Nothing, "{name} simulates no records");
    };
    let width = case.codebook.inputs();
    assert!(rows.iter().all(|row| row.len() == width && row.iter().all(|x| x.is_finite())), "{name}");
    // The length of simulated documents is a convention, and topics are drawn from their prior.
    let per_word =
        |rows: &[Vec<f64>]| rows.iter().flat_map(|row| &row[..width]).sum::<f64>() / rows.len() as f64;
    let scale = if name == "topics" { per_word(&case.rows) / per_word(&rows) } else { 1.0 };
    for k in 0..width {
        let moments = |rows: &[Vec<f64>]| {
            let n = rows.len() as f64;
            let mean = rows.iter().map(|row| row[k]).sum::<f64>() / n;
            (mean, rows.iter().map(|row| (row[k] - mean).powi(2)).sum::<f64>() / n)
        };
        let ((truth, variance), (mean, _)) = (moments(&case.rows), moments(&rows));
        // Five standard errors of the simulation, and a tenth of the deviation of a record for the error of the fit.
        let allowed = 5.0 * (variance / rows.len() as f64).sqrt() + 0.1 * variance.sqrt();
        assert!((scale * mean - truth).abs() < allowed, "{name}, input {k}: {mean} for {truth}");
    }
}
