//! The wall charges a ledger.

use reticent::budget::{self, Adjacency, Privacy};
use reticent::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, SumId, Sums, Wall, WallError};
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
    let cap = Amount::new(2.5 * price, 2.5e-5);
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
    assert!((spent().spent.epsilon - price).abs() < 1e-9);

    // A run that releases nothing gives everything back.
    let (idle, _) = wall(Ledger::open(&path).unwrap()).unwrap();
    idle.finish(0).unwrap();
    assert!((spent().spent.epsilon - price).abs() < 1e-9);

    // One that dies stays charged, and then nothing is left for a third.
    let (mut lost, id) = wall(Ledger::open(&path).unwrap()).unwrap();
    lost.sum(id, &Copy).unwrap();
    drop(lost);
    let refusal = wall(Ledger::open(&path).unwrap()).err().unwrap().to_string();
    for word in ["requested", "remaining", "spent"] {
        assert!(refusal.contains(word), "{refusal}");
    }
    assert!((spent().spent.epsilon - 2.0 * price).abs() < 1e-9);
}

/// What has no guarantee cannot be charged.
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

/// A stopped run goes on with what the ledger gave it, once, and is charged once.
#[test]
fn a_stopped_run_goes_on_once_and_with_its_own_plan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let price = plan().0.price(1e-5).unwrap().epsilon.upper;
    // Enough for one run, and not for two.
    let cap = Amount::new(1.5 * price, 1.5e-5);
    Ledger::create(&path).unwrap().add_data_set("trial", "none", cap, "replace-one").unwrap();
    let open = || Ledger::open(&path).unwrap();
    let spent = || open().account("trial").unwrap().spent.epsilon;
    let request = |plan: &Plan| budget::Request {
        guarantee: budget::Guarantee::Private(plan.price(1e-5).unwrap()),
        event: plan.event(),
        releases: vec!["a sum".to_owned()],
    };
    let run = || Run::new(open(), "trial", "none", "a test");
    let mut first = run();
    let ticket = budget::Ledger::reserve(&mut first, &request(&plan().0)).unwrap();
    assert_eq!(budget::Ledger::set_aside(&mut first), None, "nothing has begun");
    budget::Ledger::start(&mut first, &ticket).unwrap();
    let (id, secret) = budget::Ledger::set_aside(&mut first).unwrap();
    drop(first);
    assert!((spent() - price).abs() < 1e-9);

    let resumed = |secret: &str, plan: &Plan| {
        let mut run = run().resuming(id, secret.to_owned());
        let ticket = budget::Ledger::reserve(&mut run, &request(plan)).unwrap();
        budget::Ledger::start(&mut run, &ticket).map(|()| run)
    };
    let mut other = Plan::new(100, Adjacency::ReplaceOne);
    let (what, sampler, geometry) = ("a sum".to_owned(), Sampler::Full, Geometry::Ball { radius: 1.0 });
    other.sums(Sums { what, width: 1, geometry, sampler, noise_multiplier: 9.0, steps: 2 }).unwrap();
    assert!(resumed(&secret, &other).is_err(), "another plan");
    assert!(resumed("guessed", &plan().0).is_err(), "another secret");
    let mut second = resumed(&secret, &plan().0).unwrap();
    assert!(resumed(&secret, &plan().0).is_err(), "it went on before");
    let (_, again) = budget::Ledger::set_aside(&mut second).unwrap();
    assert_ne!(secret, again);
    assert!(resumed(&again, &plan().0).is_ok(), "it was stopped again");
    assert!((spent() - price).abs() < 1e-9, "charged once");
}
