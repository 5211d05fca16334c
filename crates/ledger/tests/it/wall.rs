//! The wall charges a ledger.

use reticent_core::budget::{self, Adjacency, Privacy};
use reticent_core::wall::{
    Geometry, NoiseSource, Plan, Query, Records, Sampler, SumId, Sums, Wall, WallError,
};
use reticent_ledger::{Amount, Ledger, Run, State};

struct Copy;

impl Query for Copy {
    fn width(&self) -> usize {
        1
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out.copy_from_slice(record);
    }
}

fn plan() -> (Plan, SumId) {
    let mut plan = Plan::new(100, Adjacency::ReplaceOne);
    let geometry = Geometry::Ball { radius: 1.0 };
    let (what, sampler) = ("a sum".to_owned(), Sampler::Full);
    let id = plan.sums(Sums { what, width: 1, geometry, sampler, noise_multiplier: 8.0, steps: 2 }).unwrap();
    (plan, id)
}

fn wall(ledger: Ledger) -> Result<(Wall, SumId), WallError> {
    let (plan, id) = plan();
    let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne).unwrap();
    let records = Records::new(vec![0.5; 100], 1).unwrap();
    let run = Run::new(ledger, "trial", "none", "a test");
    Ok((Wall::new(records, NoiseSource::from_os().unwrap(), plan, &privacy, Box::new(run))?, id))
}

#[test]
fn a_run_is_reserved_started_settled_and_refused_when_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let price = plan().0.price(1e-5).unwrap().epsilon.upper;
    // The squares of mu add up: two runs cost about 1.4 times as much as one, and three 1.7 times.
    let cap = Amount::new(1.5 * price, 1e-5);
    Ledger::create(&path).unwrap().add_data_set("trial", "none", cap, "replace-one").unwrap();
    let spent = || Ledger::open(&path).unwrap().account("trial").unwrap();
    let states =
        || Ledger::open(&path).unwrap().history("trial").unwrap().iter().map(|c| c.state).collect::<Vec<_>>();

    let (mut first, id) = wall(Ledger::open(&path).unwrap()).unwrap();
    assert_eq!(states(), [State::Reserved]);
    first.sum(id, &Copy).unwrap();
    assert_eq!(states(), [State::Started]);
    let receipt = first.finish(0).unwrap();
    assert!(receipt.ledger.contains("trial"));
    assert_eq!(states(), [State::Settled]);
    // Stopping early is no cheaper: when to stop may depend on what was released.
    assert!((spent().sum.epsilon - price).abs() < 1e-9);

    // A run that releases nothing is refunded.
    let (idle, _) = wall(Ledger::open(&path).unwrap()).unwrap();
    idle.finish(0).unwrap();
    assert!((spent().sum.epsilon - price).abs() < 1e-9);

    // A run that crashes stays charged, and then nothing is left for a third.
    let (mut lost, id) = wall(Ledger::open(&path).unwrap()).unwrap();
    lost.sum(id, &Copy).unwrap();
    drop(lost);
    let refusal = wall(Ledger::open(&path).unwrap()).err().unwrap().to_string();
    for word in ["requested", "remaining", "spent"] {
        assert!(refusal.contains(word), "{refusal}");
    }
    assert!((spent().sum.epsilon - 2.0 * price).abs() < 1e-9);
}

/// A run without a guarantee cannot be charged.
#[test]
fn a_run_without_privacy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let mut ledger = Ledger::create(&path).unwrap();
    ledger.add_data_set("trial", "none", Amount::new(1.0, 1e-5), "replace-one").unwrap();
    let run = Run::new(ledger, "trial", "none", "a baseline");
    let records = Records::new(vec![0.5; 100], 1).unwrap();
    let wall = Wall::without_privacy(records, NoiseSource::from_os().unwrap(), plan().0, Box::new(run));
    assert!(wall.err().unwrap().to_string().contains("NOT PRIVATE"));
    assert!(Ledger::open(&path).unwrap().history("trial").unwrap().is_empty());
}

/// A run with a journal is charged once, and resumes only with its newest journal and its own plan.
#[test]
fn only_the_newest_journal_of_a_run_can_be_resumed() {
    use budget::Ledger as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let price = plan().0.price(1e-5).unwrap().epsilon.upper;
    // Enough for one run, and not for two.
    let cap = Amount::new(1.2 * price, 1e-5);
    Ledger::create(&path).unwrap().add_data_set("trial", "none", cap, "replace-one").unwrap();
    let open = || Ledger::open(&path).unwrap();
    let spent = || open().account("trial").unwrap().sum.epsilon;
    let request = |plan: &Plan| budget::Request {
        guarantee: budget::Guarantee::Private(plan.price(1e-5).unwrap()),
        event: plan.event(),
        deviation: plan.noise_deviation(),
        releases: vec!["a sum".to_owned()],
    };
    let token = open().token().unwrap();
    let run = |digests: &[&str]| {
        let digests = digests.iter().map(|&digest| digest.to_owned()).collect();
        Run::new(open(), "trial", "none", "a test").journalled(token.clone(), "journal".into(), digests)
    };
    let active = |digests: &[&str], plan: &Plan| {
        let mut run = run(digests);
        let ticket = run.reserve(&request(plan))?;
        run.start(&ticket).map(|()| run)
    };
    // Reserved twice under one token, as after a kill between the two: one charge.
    run(&["a"]).reserve(&request(&plan().0)).unwrap();
    let mut first = active(&["a"], &plan().0).unwrap();
    assert!((spent() - price).abs() < 1e-9, "charged once");
    first.advance("b").unwrap();

    let mut other = Plan::new(100, Adjacency::ReplaceOne);
    let (what, sampler, geometry) = ("a sum".to_owned(), Sampler::Full, Geometry::Ball { radius: 1.0 });
    other.sums(Sums { what, width: 1, geometry, sampler, noise_multiplier: 9.0, steps: 2 }).unwrap();
    assert!(active(&["a", "b"], &other).is_err(), "another plan");
    assert!(active(&["a"], &plan().0).is_err(), "an older journal");
    assert!(active(&["a", "x"], &plan().0).is_err(), "another journal");
    // Ahead of the ledger, as after a crash between the two writes. Two processes resume from one point, with distinct digests.
    let mut second = active(&["a", "b", "c", "second"], &plan().0).unwrap();
    assert!(active(&["a", "b", "c", "third"], &plan().0).is_err(), "another process has resumed");
    assert!(first.advance("d").is_err(), "the journal of the first is stale");
    second.advance("d").unwrap();
    assert!(matches!(open().look_up(&token).unwrap(), Some((State::Started, Some(digest))) if digest == "d"));
    // A run can be resumed any number of times.
    let third = active(&["a", "b", "c", "second", "d", "third"], &plan().0).unwrap();
    assert_eq!((third.state(), third.id()), (Some(State::Started), Some(1)));
    assert!(active(&["a", "b", "c", "second", "d", "third"], &plan().0).is_ok());
    assert!((spent() - price).abs() < 1e-9, "charged once");
}

/// A reservation that was never started is refunded; a started one is not.
#[test]
fn only_unstarted_reservations_are_refunded() {
    use budget::Ledger as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let cap = Amount::new(10.0, 1e-4);
    Ledger::create(&path).unwrap().add_data_set("trial", "none", cap, "replace-one").unwrap();
    let open = || Ledger::open(&path).unwrap();
    let token = open().token().unwrap();
    let run = || {
        Run::new(open(), "trial", "none", "a test").journalled(
            token.clone(),
            "journal".into(),
            vec!["a".into()],
        )
    };
    let planned = budget::Request {
        guarantee: budget::Guarantee::Private(plan().0.price(1e-5).unwrap()),
        event: plan().0.event(),
        deviation: plan().0.noise_deviation(),
        releases: Vec::new(),
    };
    assert!(run().refund().unwrap(), "nothing was reserved");
    let mut started = run();
    let ticket = started.reserve(&planned).unwrap();
    started.start(&ticket).unwrap();
    assert!(!started.refund().unwrap());
    // By its token alone, as after a commit that was reported as failed.
    assert!(!run().refund().unwrap());
    assert!(open().account("trial").unwrap().spent.epsilon > 0.0);
}
