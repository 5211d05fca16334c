use reticent_core::wall::{Rate, Sampler, Sums};

use super::*;
use crate::{Adjacency, Session};

fn plan(adjacency: Adjacency, sampler: Sampler, steps: u64) -> (Plan, SumId) {
    let mut plan = Plan::new(4000, adjacency);
    let sums = Sums {
        what: "numbers".into(),
        width: 1,
        geometry: Geometry::Ball { radius: 1.0 },
        sampler,
        noise_multiplier: 6.0,
        steps,
    };
    let id = plan.sums(sums).unwrap();
    (plan, id)
}

fn privacy(adjacency: Adjacency) -> Privacy {
    Privacy::new(1.0, 1e-6, adjacency).unwrap()
}

/// Each release has its own function, rows beside numbers are absent, contributions that are not numbers are zeros, and each row of a sample is computed once.
#[test]
fn contributions_are_those_of_the_current_release() {
    let rate = Rate::at_most(0.25).unwrap();
    for sampler in [Sampler::Full, Sampler::Poisson { rate }, Sampler::Fixed { batch: 1500 }] {
        let (plan, id) = plan(Adjacency::ReplaceOne, sampler, 2);
        let mut values: Vec<f64> = (0..4000).map(f64::from).collect();
        values[7] = f64::NAN;
        let mut run = Custom::new(plan).without_privacy().begin_rows(values, 1).unwrap();
        for by in [1.0, -2.0] {
            let given = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let seen = std::sync::Arc::clone(&given);
            let compute = move |rows: &[f64], out: &mut [f64]| {
                seen.lock().unwrap().extend_from_slice(rows);
                out.iter_mut()
                    .zip(rows)
                    .for_each(|(out, x)| *out = if *x == 9.0 { f64::INFINITY } else { by * x });
            };
            let released = run.sum(id, 1, Box::new(compute)).unwrap();
            let given = given.lock().unwrap();
            let expected: f64 = given.iter().filter(|x| **x != 9.0 && x.is_finite()).sum();
            assert_eq!(released.values, [by * expected]);
            assert!(given.iter().filter(|x| x.is_finite()).is_sorted_by(|a, b| a < b));
            match sampler {
                Sampler::Full => assert_eq!(given.len(), 4000),
                Sampler::Fixed { .. } => assert_eq!(given.len(), 1500),
                // Six standard deviations: a false alarm in 5e8 runs.
                _ => assert!((given.len() as f64 - 1000.0).abs() < 6.0 * 27.4, "{}", given.len()),
            }
        }
        assert!(run.sum(id, 1, Box::new(|_, _| ())).is_err());
    }
}

#[test]
fn own_queries_are_charged_before_they_are_released() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.ledger");
    let cap = Privacy::new(2.5, 1e-5, Adjacency::AddRemove).unwrap();
    let session = Session::create(&file, "ward", &cap, None).unwrap();
    let spent = || session.account().unwrap().remaining.epsilon;
    let begin = || {
        let (plan, id) = plan(Adjacency::AddRemove, Sampler::Full, 1);
        let run = Custom::new(plan).privacy(privacy(Adjacency::AddRemove)).ledger(&file, "ward");
        run.begin_rows(vec![0.5; 3000], 1).map(|run| (run, id))
    };
    // Reserved, and given back: nothing was released.
    drop(begin().unwrap());
    assert_eq!(spent(), 2.5);
    let (run, _) = begin().unwrap();
    run.finish(0, Vec::new()).unwrap();
    assert_eq!(spent(), 2.5);
    // Charged while it is released, and for good if it is dropped.
    let (mut run, id) = begin().unwrap();
    let (path, before) = (file.clone(), spent());
    run.sum(
        id,
        1,
        Box::new(move |_, _| {
            let account = Session::open(&path, "ward").unwrap().account().unwrap();
            assert!(account.remaining.epsilon < before);
        }),
    )
    .unwrap();
    assert!(run.sum(id, 1, Box::new(|_, _| ())).is_err());
    drop(run);
    let left = spent();
    assert!(left < 2.5 && left > 1.0, "{left}");
    // Settled with its receipt.
    let (mut run, id) = begin().unwrap();
    run.sum(id, 1, Box::new(|_, out| out.fill(1.0))).unwrap();
    let receipt = run.finish(0, vec!["a claim".into()]).unwrap();
    assert_eq!(receipt.assumptions.last().unwrap(), "a claim");
    assert_eq!(session.history().unwrap().len(), 4);
    // Refused.
    while let Ok((mut run, id)) = begin() {
        run.sum(id, 1, Box::new(|_, _| ())).unwrap();
    }
    assert_eq!(begin().err().unwrap().kind(), ErrorKind::Budget);
}

/// Rows of people: each counts once, with the mean of what its rows contribute, wherever blocks end.
#[test]
fn units_have_one_contribution() {
    let schema = Schema::parse(
        r#"
        privacy_unit = "person"
        features = [{ name = "x", kind = "numeric", bounds = [-1, 1] }]
    "#,
    )
    .unwrap();
    let rows: String =
        (0..9000).map(|n| format!("{},{}\n", n % 4000, if n < 4000 { 1 } else { 0 })).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, format!("person,x\n{rows}")).unwrap();
    let (plan, id) = plan(Adjacency::ReplaceOne, Sampler::Full, 1);
    let mut run = Custom::new(plan).without_privacy().begin(file, &schema).unwrap();
    let released = run.sum(id, 1, Box::new(|rows, out| out.copy_from_slice(rows))).unwrap();
    // 1000 persons have three rows, one of which is 1, and 3000 have two.
    assert!((released.values[0] - (1000.0 / 3.0 + 1500.0)).abs() < 1e-9, "{:?}", released.values);
}

#[test]
fn a_cancelled_release_is_not_made() {
    let (plan, id) = plan(Adjacency::ReplaceOne, Sampler::Full, 1);
    let cancel = Cancel::new();
    let custom = Custom::new(plan).privacy(privacy(Adjacency::ReplaceOne)).cancelled_by(&cancel);
    let mut run = custom.begin_rows(vec![0.0; 4000], 1).unwrap();
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let called = std::sync::Arc::clone(&calls);
    let compute = move |_: &[f64], _: &mut [f64]| {
        called.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        cancel.cancel();
    };
    assert_eq!(run.sum(id, 1, Box::new(compute)).err().unwrap().kind(), ErrorKind::Stopped);
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 1);
}

/// A row that panics is zeros, and the others of its block are not.
#[test]
fn a_panic_has_no_influence_on_other_rows() {
    for bad in [vec![], vec![17], vec![0, 1023, 1024, 3999]] {
        let (plan, id) = plan(Adjacency::ReplaceOne, Sampler::Full, 1);
        let values: Vec<f64> = (0..4000).map(f64::from).collect();
        let expected: f64 = values.iter().filter(|x| !bad.contains(&(**x as usize))).sum();
        let mut run = Custom::new(plan).without_privacy().begin_rows(values, 1).unwrap();
        let compute = move |rows: &[f64], out: &mut [f64]| {
            for (x, out) in rows.iter().zip(out) {
                assert!(!bad.contains(&(*x as usize)), "{x}");
                *out += x;
            }
        };
        assert_eq!(run.sum(id, 1, Box::new(compute)).unwrap().values, [expected]);
    }
}
