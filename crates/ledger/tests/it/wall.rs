//! The wall charges a ledger.

use reticent::budget::{Adjacency, Privacy};
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
