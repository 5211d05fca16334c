use super::*;
use crate::numpy::RandomState;
use reticent_core::budget::Adjacency;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A small set in the columns and bounds of power: the target is linear in the inputs but for its noise, and within the bounds.
fn folder(records: usize) -> tempfile::TempDir {
    let mut rng = RandomState::new(7);
    let bounds = Set::Power.bounds();
    let mut text = "x0,x1,x2,x3,y\n".to_owned();
    for _ in 0..records {
        let u: Vec<f64> = (0..4).map(|_| rng.random_sample()).collect();
        for (u, (low, high)) in u.iter().zip(bounds) {
            write!(text, "{},", low + u * (high - low)).unwrap();
        }
        let (low, high) = bounds[4];
        let share = 0.1 + 0.5 * u[0] + 0.3 * u[1] * u[1] + 0.1 * rng.random_sample();
        writeln!(text, "{}", low + share * (high - low)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("uci_power_plant.csv"), text).unwrap();
    folder
}

fn experiment(methods: &[Method], passes: usize) -> Experiment {
    let budget = Budget { epsilon: 8.0, delta: 1e-5, adjacency: Adjacency::AddRemove, public_moments: false };
    let replace = Budget { adjacency: Adjacency::ReplaceOne, ..budget };
    Experiment {
        sets: vec![Set::Power],
        methods: methods.to_vec(),
        splits: 2,
        passes,
        hidden: Some(10),
        budgets: vec![budget, replace],
    }
}

/// The deviation of the shares above is the root of $0.25/12 + 0.09 \cdot 4/45 + 0.01/12$, in units of 76 megawatts: 13. A useful fit
/// is below; the middle of the bounds is off by a little more, as the mean is 0.5.
#[test]
fn every_method_learns_something() {
    let folder = folder(2000);
    let experiment = Experiment { splits: 1, ..experiment(&Method::ALL, 10) };
    let mut store = Store::open(&folder.path().join("results.jsonl")).unwrap();
    run(&experiment.jobs(), folder.path(), &mut store, |_, _| ()).unwrap();
    for job in experiment.jobs() {
        let Figures { rmse, log_likelihood, coverage, .. } = store.find(&job).expect("all are done").figures;
        let bound = if job.method == Method::Middle { 14.0 } else { 13.0 };
        assert!(rmse < bound, "{}: {rmse}", job.method);
        assert!(log_likelihood.is_finite(), "{}: {log_likelihood}", job.method);
        assert!((0.5..=1.0).contains(&coverage), "{}: {coverage}", job.method);
        assert!(job.method.is_private() == job.budget.is_some());
    }
    // Uniform between bounds that are 76 apart.
    let job = experiment.job(Set::Power, Method::Middle, None, 0);
    let middle = store.find(&job).unwrap().figures;
    assert!((middle.log_likelihood + 76f64.ln()).abs() < 1e-9);
}

#[test]
fn finished_jobs_are_not_run_again() {
    let folder = folder(100);
    let file = folder.path().join("results.jsonl");
    let experiment = experiment(&[Method::Linear, Method::Middle], 1);
    let jobs = experiment.jobs();
    assert_eq!(jobs.len(), 2 * 3);
    let done = |store: &mut Store| {
        let count = AtomicUsize::new(0);
        run(&jobs, folder.path(), store, |done, _| count.store(done, Ordering::Relaxed)).unwrap();
        count.into_inner()
    };
    let mut store = Store::open(&file).unwrap();
    assert_eq!(done(&mut store), 6);
    assert_eq!(done(&mut store), 0);
    drop(store);

    // The last line is truncated, as after a kill: only its job is run again.
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 6);
    std::fs::write(&file, &text[..text.len() - 20]).unwrap();
    let mut store = Store::open(&file).unwrap();
    assert_eq!(done(&mut store), 1);
    assert_eq!(done(&mut Store::open(&file).unwrap()), 0);

    // Another budget is another job.
    let mut other = experiment;
    other.budgets[0].epsilon = 2.0;
    let missing = other.jobs().iter().filter(|job| store.find(job).is_none()).count();
    assert_eq!(missing, 2);
}

#[test]
fn a_fit_that_diverged_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.jsonl");
    let job = experiment(&[], 1).job(Set::Wine, Method::Sep, None, 0);
    let figures =
        Figures { rmse: f64::INFINITY, log_likelihood: f64::NEG_INFINITY, coverage: 0.0, seconds: 1.0 };
    Store::open(&file).unwrap().push(Outcome { job: job.clone(), figures }).unwrap();
    assert_eq!(Store::open(&file).unwrap().find(&job).map(|outcome| outcome.figures), Some(figures));
}

#[test]
fn tables_have_mean_and_deviation_beside_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("results.jsonl")).unwrap();
    let experiment = experiment(&[Method::Sep, Method::Linear], 1);
    for (split, rmse) in [(0, 4.0), (1, 5.0)] {
        let job = experiment.job(Set::Power, Method::Sep, None, split);
        let figures = Figures { rmse, log_likelihood: -2.0, coverage: 0.95, seconds: 1.0 };
        store.push(Outcome { job, figures }).unwrap();
    }
    let report = Report::new(&experiment, &store);
    let text = report.table(Measure::Rmse).unwrap().to_text();
    assert!(text.contains("4.500 \u{b1} 0.50"), "{text}");
    // Not finished yet.
    assert!(text.contains("private linear, epsilon 8, add/remove") && text.contains("  -\n"), "{text}");
    assert!(text.contains("paper as printed: SEP") && text.contains("4.061 \u{b1} 0.1356"), "{text}");
    assert!(!report.table(Measure::Coverage).unwrap().to_text().contains("printed"));
    assert_eq!(report.summary().unwrap().rows().len(), 3);
    let page = report.to_html(&[Measure::Rmse, Measure::Coverage], "One & all.").unwrap();
    assert!(page.contains("One &amp; all.") && page.contains("df6fb4a") && !page.contains("<script"));
}

#[test]
fn a_private_job_needs_a_budget() {
    let job = Job { budget: None, ..experiment(&[], 1).job(Set::Power, Method::Linear, None, 0) };
    let data = Data { set: Set::Power, values: vec![0.0; 500] };
    assert!(matches!(evaluate(&data, &splits(100, 1)[0], &job), Err(ExperimentError::Budget)));
}
