//! Every private model fits records that are elsewhere: the same releases, bit for bit.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::{TableShape, Target, model, models};
use reticent_core::observer::{Observer, ObserverError, Step};
use reticent_core::receipt::Kind;
use reticent_core::wall::{Job, NoiseSource, Partial, Place, Records, Sampler, Wall, WallError};
use serde_json::Value;

/// A table shape with settings.
struct Case {
    model: &'static str,
    columns: Vec<usize>,
    target: Target,
    records: usize,
    epsilon: f64,
    delta: f64,
    settings: &'static [(&'static str, f64)],
}

fn case(model: &'static str, columns: &[usize], target: Target, records: usize) -> Case {
    Case { model, columns: columns.to_vec(), target, records, epsilon: 4.0, delta: 1e-6, settings: &[] }
}

/// Together they use every query of the registry that a private model releases.
fn cases() -> Vec<Case> {
    let (number, two, none) = (Target::Number, Target::TwoClasses, Target::Nothing);
    let few = [1, 3];
    let many = [[1; 20].as_slice(), &[3; 10]].concat();
    let mut cases = vec![
        case("linear", &few, number, 500),
        case("regression", &few, number, 500),
        Case { epsilon: 50.0, ..case("regression", &[1, 1], number, 3000) },
        case("logistic", &few, two, 500),
        case("logistic", &many, two, 2000),
        case("logistic", &[200, 150], two, 2000),
        case("probit", &few, two, 500),
        Case { settings: &[("components", 2.0), ("noise-sd", 0.2)], ..case("mixture", &[1, 1], none, 500) },
        Case { epsilon: 20.0, settings: &[("hidden", 3.0)], ..case("network", &few, number, 1000) },
        Case { settings: &[("states", 2.0), ("iterations", 5.0)], ..case("hmm", &[2, 3, 3], none, 500) },
        Case { settings: &[("topics", 2.0)], ..case("topics", &[1; 8], none, 300) },
        Case { settings: &[("units", 2.0)], ..case("sigmoid-belief", &[1; 6], none, 300) },
        Case { settings: &[("steps", 20.0), ("batch", 40.0)], ..case("network-sgd", &few, number, 500) },
        case("beta-bernoulli", &[1; 6], none, 500),
        case("dirichlet", &[1, 3, 90], none, 500),
        case("naive-bayes", &few, two, 500),
        case("normal", &[1; 6], none, 500),
        case("multivariate-normal", &[1; 6], none, 500),
        Case { settings: &[("bound", 4.0)], ..case("poisson", &[1; 6], none, 500) },
    ];
    // Laplace noise.
    for name in ["beta-bernoulli", "naive-bayes", "normal", "multivariate-normal"] {
        let target = if name == "naive-bayes" { two } else { none };
        let columns: &[usize] = if target == none { &[1, 1] } else { &few };
        cases.push(Case { delta: 0.0, ..case(name, columns, target, 500) });
    }
    cases
}

/// Inputs between -1 and 1, one level of each column of several, and a target that depends on them.
fn rows(case: &Case) -> Vec<f64> {
    let mut state = 11u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut values = Vec::new();
    for _ in 0..case.records {
        let mut score = 0.0;
        for &levels in &case.columns {
            let level = (0.5 * (random() + 1.0) * levels as f64) as usize;
            match (case.model, levels) {
                ("topics", _) => values.push((2.0 * random()).max(0.0).floor()),
                (_, 1) => {
                    values.push(random());
                    score += 0.5 * values[values.len() - 1];
                }
                _ => {
                    values.extend((0..levels).map(|k| f64::from(u8::from(k == level))));
                    score += if level == 0 { 0.2 } else { -0.1 };
                }
            }
        }
        match case.target {
            Target::Number => {
                values.push((score + (3.0 * score).sin() / 3.0 + 0.1 * random()).clamp(-1.0, 1.0));
            }
            Target::TwoClasses => values.push(if score + 0.5 * random() > 0.0 { 1.0 } else { -1.0 }),
            _ => {}
        }
    }
    values
}

/// Names of releases and their values.
type Releases = Vec<(String, Vec<f64>)>;

/// Keeps all released values.
#[derive(Clone, Default)]
struct Transcript(Arc<Mutex<Releases>>);

impl Observer for Transcript {
    fn on_release(&mut self, step: Step<'_>, values: &[f64]) -> Result<(), ObserverError> {
        self.0.lock().unwrap().push((step.to_string(), values.to_vec()));
        Ok(())
    }
}

/// Records in three parts, each summed by a job that is written and read, in pieces.
struct Parts {
    values: Vec<f64>,
    width: usize,
    queries: Arc<Mutex<BTreeSet<String>>>,
}

impl Place for Parts {
    fn units(&self) -> usize {
        self.values.len() / self.width
    }
    fn width(&self) -> usize {
        self.width
    }
    fn add(&mut self, job: &Job, _: &mut dyn FnMut() -> bool) -> Result<Vec<Partial>, WallError> {
        let text = job.write();
        let description: Value = serde_json::from_slice(&text).unwrap();
        let name = description["query"]["name"].as_str().unwrap().to_owned();
        self.queries.lock().unwrap().insert(name);
        let units = self.units();
        (0..3)
            .map(|k| {
                let job = Job::read(&text)?;
                let (mut part, mut first) = (job.nothing(), k * units / 3);
                let end = (k + 1) * units / 3;
                while first < end {
                    let next = (first + 1000).min(end);
                    job.add_rows(first, &self.values[first * self.width..next * self.width], &mut part)?;
                    first = next;
                }
                Partial::read(&part.write())
            })
            .collect()
    }
}

/// Whether a plan has releases about samples that cannot be drawn in parts.
fn is_local(plan: &reticent_core::wall::Plan) -> bool {
    plan.entries().any(|entry| match &entry.kind {
        Kind::Sum { sampler, .. } => !matches!(sampler, Sampler::Full | Sampler::Poisson { .. }),
        Kind::Draw { .. } => true,
    })
}

#[test]
fn every_private_model_fits_records_that_are_elsewhere() {
    let queries: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let mut fitted = BTreeSet::new();
    for case in cases() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
            let mut shape = TableShape::new(case.columns.clone(), case.target, case.records);
            for (name, value) in case.settings {
                shape.settings.insert((*name).into(), (*value).into());
            }
            let privacy = Privacy::new(case.epsilon, case.delta, adjacency).unwrap();
            let planned = match model(case.model).unwrap().plan(&shape, Some(&privacy)) {
                Ok(planned) => planned,
                // Some models are only for a public number of records.
                Err(error) if adjacency == Adjacency::AddRemove => {
                    assert!(!error.to_string().is_empty());
                    continue;
                }
                Err(error) => panic!("{}: {error}", case.model),
            };
            assert!(!is_local(&planned.releases().unwrap()), "{}", case.model);
            let values = rows(&case);
            let width = shape.width();
            let run = |records| {
                let source = NoiseSource::insecure_from_seed(5);
                let plan = planned.releases().unwrap();
                let transcript = Transcript::default();
                let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited))
                    .unwrap()
                    .observed_by(Box::new(transcript.clone()));
                let error = planned.fit(&mut wall).err().map(|error| error.to_string());
                (std::mem::take(&mut *transcript.0.lock().unwrap()), error)
            };
            let here = run(Records::new(values.clone(), width).unwrap());
            let place = Parts { values, width, queries: Arc::clone(&queries) };
            let there = run(Records::at(Box::new(place)).unwrap());
            assert!(here.0.len() == there.0.len(), "{}: {:?} {:?}", case.model, here.1, there.1);
            for (a, b) in here.0.iter().zip(&there.0) {
                let same = a.1.iter().zip(&b.1).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same && a.0 == b.0 && a.1.len() == b.1.len(), "{}: {}", case.model, a.0);
            }
            assert_eq!(here.1, there.1, "{}", case.model);
            assert!(here.1.is_none() && !here.0.is_empty(), "{}: {:?}", case.model, here.1);
        }
        fitted.insert(case.model);
    }
    let all: BTreeSet<&str> = models().iter().map(|model| model.name()).collect();
    assert_eq!(all.difference(&fitted).collect::<Vec<_>>(), [&"network-vi"], "it is without privacy");
    let used: Vec<String> = queries.lock().unwrap().iter().cloned().collect();
    let expected = [
        "belief-statistics",
        "bernoulli-signs",
        "clipped-linear-sites",
        "dirichlet-counts",
        "hmm-events",
        "known-targets",
        "logistic-centred-scores",
        "logistic-class-sums",
        "logistic-curvatures",
        "logistic-products",
        "logistic-scores",
        "mixture-residuals",
        "mixture-sketch",
        "multivariate-normal-products",
        "naive-bayes-counts",
        "network-gradients",
        "network-squared-residuals",
        "normal-squares",
        "poisson-counts",
        "regression-features",
        "regression-losses",
        "regression-moments",
        "regression-network-sites",
        "regression-residual-bins",
        "regression-squared-residuals",
        "topic-counts",
    ];
    assert_eq!(used, expected);
}
