//! What several runs cost together, in the ledger. (The filters themselves are tested in `reticent-accounting`.)

use reticent_accounting::{Adjacency, Event, Mechanism, Method, Sampling, account, gaussian};
use reticent_ledger::{Account, Amount, Composition, Ledger, LedgerError, Releases, Request};

use crate::spender::{gaussian_request, request, with_cap};

fn spend(ledger: &mut Ledger, request: &Request) -> Result<(), LedgerError> {
    let run = ledger.reserve("trial", request)?;
    ledger.start(&run)?;
    ledger.settle(&run, request.amount, "{}")
}

fn exact(request: &Request, times: u64, delta: f64) -> f64 {
    let event = request.releases.as_ref().unwrap().event.clone().repeat(times);
    account(&event, Adjacency::ReplaceOne, delta, Method::Exact).unwrap().epsilon.upper
}

/// By basic composition they would cost (5, 1e-5).
#[test]
fn ten_fits_are_charged_their_joint_cost() {
    let (_folder, path, mut ledger) = with_cap(1.6, 1.1e-5);
    let each = gaussian_request(0.5, 1e-6);
    for _ in 0..10 {
        spend(&mut ledger, &each).unwrap();
    }
    let account = Ledger::open(&path).unwrap().account("trial").unwrap();
    assert_eq!(account.composition, Some(Composition::Joint));
    assert!((account.sum.epsilon - 5.0).abs() < 1e-9);
    let true_cost = exact(&each, 10, 1.1e-5);
    assert!((1.5..1.53).contains(&true_cost), "{true_cost}");
    assert!(account.spent.epsilon >= true_cost && account.spent.epsilon < 1.02 * true_cost, "{account:?}");
    assert_eq!(account.spent.delta, 1.1e-5);
    // The Gaussian filter has 85 % of delta: more fits than these cost too much there.
    let most = (10..20).take_while(|&times| exact(&each, times, 0.85 * 1.1e-5) <= 1.6).last().unwrap();
    for _ in 10..most {
        spend(&mut ledger, &each).unwrap();
    }
    assert!(matches!(spend(&mut ledger, &each), Err(LedgerError::Refused(_))));
}

#[test]
fn a_refusal_states_the_largest_epsilon_that_fits() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    spend(&mut ledger, &gaussian_request(0.5, 1e-6)).unwrap();
    let Err(LedgerError::Refused(refusal)) = ledger.reserve("trial", &gaussian_request(1.1, 1e-6)) else {
        panic!()
    };
    let largest = refusal.remaining;
    // The squares of mu add up, to that of the cap at 85 % of its delta.
    let mu = |epsilon, delta| gaussian::noise_multiplier(epsilon, delta).unwrap().recip();
    let left = (mu(1.0, 0.85e-5).powi(2) - mu(0.5, 1e-6).powi(2)).sqrt();
    let expected = gaussian::epsilon(1.0 / left, 1e-6).unwrap();
    assert!(refusal.joint && (largest.epsilon / expected - 1.0).abs() < 1e-6, "{largest:?} {expected}");
    assert_eq!(largest.delta, 1e-6);
    let text = refusal.to_string();
    let hint = format!("hint: a run of one Gaussian release fits with at most {largest}");
    assert_eq!(text.lines().last().unwrap(), hint, "{text}");
    let more = gaussian_request(largest.epsilon * (1.0 + 1e-6), 1e-6);
    assert!(matches!(ledger.reserve("trial", &more), Err(LedgerError::Refused(_))));
    spend(&mut ledger, &gaussian_request(largest.epsilon, 1e-6)).unwrap();
}

/// A run that takes all of the cap fits, pure or not, and then nothing more.
#[test]
fn one_run_of_the_whole_cap_is_granted() {
    let pure = |epsilon, delta| {
        let event = Event::release(Mechanism::Pure { epsilon }, Sampling::None);
        Request { releases: Some(Releases { event, deviation: 0.0 }), ..request(epsilon, delta) }
    };
    for (cap, whole) in [
        (Amount::new(1.0, 1e-5), gaussian_request(1.0, 1e-5)),
        (Amount::new(1.0, 1e-5), pure(1.0, 0.0)),
        (Amount::new(1.0, 0.0), pure(1.0, 0.0)),
    ] {
        let (_folder, _path, mut ledger) = with_cap(cap.epsilon, cap.delta);
        assert_eq!(ledger.account("trial").unwrap().remaining, cap);
        spend(&mut ledger, &whole).unwrap();
        let account = ledger.account("trial").unwrap();
        assert_eq!((account.composition, account.spent.epsilon), (Some(Composition::Basic), 1.0));
        assert!(spend(&mut ledger, &pure(0.001, 0.0)).is_err());
    }
}

/// What a next fit would leave is what it leaves.
#[test]
fn the_account_after_a_run_is_foretold() {
    let numbers = |account: &Account| (account.spent, account.remaining, account.sum, account.composition);
    let (_folder, _path, mut ledger) = with_cap(2.0, 1e-5);
    for amount in [Amount::new(0.3, 1e-6), Amount::new(0.1, 0.0), Amount::new(1.0, 1e-7)] {
        let after = ledger.account("trial").unwrap().after(amount).unwrap();
        let request = if amount.delta > 0.0 {
            let mut request = gaussian_request(amount.epsilon, amount.delta);
            request.releases.as_mut().unwrap().deviation = 0.0;
            request
        } else {
            let event = Event::release(Mechanism::Pure { epsilon: amount.epsilon }, Sampling::None);
            Request {
                releases: Some(Releases { event, deviation: 0.0 }),
                ..request(amount.epsilon, amount.delta)
            }
        };
        spend(&mut ledger, &request).unwrap();
        assert_eq!(numbers(&ledger.account("trial").unwrap()), numbers(&after));
    }
    let account = ledger.account("trial").unwrap();
    assert!(account.after(Amount::new(2.0, 1e-6)).is_none());
    assert!(account.after(Amount::new(f64::NAN, 1e-6)).is_none());
    assert!(account.after(account.remaining).is_some());
}

/// Lowering the charge of a run when it is settled leaves its figures as they were reserved.
#[test]
fn settling_does_not_lower_the_joint_cost() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let run = ledger.reserve("trial", &gaussian_request(0.9, 1e-6)).unwrap();
    ledger.start(&run).unwrap();
    let fits = |ledger: &Ledger| ledger.account("trial").unwrap().after(Amount::new(0.8, 1e-6)).is_some();
    assert!(!fits(&ledger));
    ledger.settle(&run, Amount::new(0.8, 1e-6), "{}").unwrap();
    assert!(!fits(&ledger));
    // A cancelled one costs nothing.
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let run = ledger.reserve("trial", &gaussian_request(0.9, 1e-6)).unwrap();
    ledger.cancel(run.id()).unwrap();
    assert!(fits(&ledger));
    assert_eq!(ledger.account("trial").unwrap().spent.epsilon, 0.0);
}

/// Amounts that are far above what the stated releases cost: their sum has more than 64 bits.
#[test]
fn sums_beyond_64_bits_are_no_error() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let mut large = gaussian_request(0.01, 1e-6);
    large.amount = Amount::new(1e6, 0.9);
    for _ in 0..20 {
        spend(&mut ledger, &large).unwrap();
    }
    let _ = ledger.reserve("trial", &large).unwrap();
    let account = ledger.account("trial").unwrap();
    assert!(account.spent.epsilon < 0.1 && account.sum.epsilon > 9e6, "{account:?}");
}

#[test]
fn releases_that_are_invalid_are_refused() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let mut bad = gaussian_request(0.5, 1e-6);
    bad.releases.as_mut().unwrap().event = Event::gaussian(-1.0, Sampling::None);
    let error = ledger.reserve("trial", &bad).unwrap_err();
    assert!(
        matches!(error, LedgerError::Releases { .. }) && error.to_string().contains("\nhint: "),
        "{error}"
    );
    assert!(ledger.history("trial").unwrap().is_empty());
}
