//! The short version of the audit, through the library. The command line has its own in the tests of the program.
//!
//! A result is wrong with probability at most 1e-9 (`ALPHA`), so that a failure is never chance.

use reticent_audit::canaries;
use reticent_audit::case::{ADJACENCIES, Case, canary_cases, case, cases, unit_cases};
use reticent_audit::clock::of_thread;
use reticent_audit::game::{Attack, Data, Effort, Games};
use reticent_audit::library::{Encoded, Mechanism};
use reticent_audit::row::{Claim, Row};
use reticent_audit::suite::Suite;
use reticent_core::budget::{Adjacency, Privacy};

fn hold(rows: &[Row]) {
    for row in rows {
        assert!(!row.refuted(), "{}", row.markdown());
    }
}

fn each(play: impl Fn(&Suite, &Case, Adjacency) -> Vec<Row>) {
    for case in cases() {
        for &adjacency in case.adjacencies() {
            hold(&play(&Suite::short(), &case, adjacency));
        }
    }
}

#[test]
fn first_releases_hold_their_claims() {
    each(|suite, case, adjacency| suite.first_releases(case, adjacency).unwrap());
}

#[test]
fn persons_with_many_rows_hold_their_claims() {
    for case in unit_cases() {
        for &adjacency in case.adjacencies() {
            hold(&Suite::short().persons(&case, adjacency).unwrap());
        }
    }
}

/// If each of the 40 rows of a person counted as a unit, its effect would be up to 40 times what is claimed: the games find it.
#[test]
fn a_person_whose_rows_all_count_is_caught() {
    let by_person = unit_cases().into_iter().find(|case| case.model == "linear").unwrap();
    let privacy = Privacy::new(1.0, 1e-5, Adjacency::AddRemove).unwrap();
    let attack = Attack::new(&by_person, Data::Ordinary, privacy).unwrap();
    let mechanism = Mechanism::new(&case("linear"), by_person.records, privacy).unwrap();
    let by_rows = |encoded: &Encoded| Encoded::rows(encoded.values.clone());
    let [first, second] = [&attack.neighbours.rows, &attack.neighbours.other_rows].map(by_rows);
    let game = |rows: &Encoded| Ok(vec![attack.score(&mechanism.play(rows, 1)?.transcript)]);
    let games = Games::play(&Effort::exactly(MANY), of_thread, || game(&first), || game(&second)).unwrap();
    let row = games.row("by rows".into(), Adjacency::AddRemove, attack.claim().unwrap());
    assert!(row.refuted(), "{}", row.markdown());
}

#[test]
fn special_data_hold_their_claims() {
    each(|suite, case, adjacency| suite.special_data(case, adjacency).unwrap());
}

/// The complete audit takes half an hour: it must not end with a data set that a model refuses.
#[test]
fn every_special_data_set_has_a_plan() {
    for case in cases() {
        for &adjacency in case.adjacencies() {
            for data in Data::special(adjacency) {
                let (common, records) = data.common(&case, adjacency);
                let privacy = Privacy::new(1.0, 1e-5, adjacency).unwrap();
                let planned = Mechanism::new(&case, records, privacy);
                assert!(planned.is_ok(), "{}, {adjacency}, {data:?}: {:?}", case.name, planned.err());
                assert!(adjacency == Adjacency::AddRemove || common.len() + 1 == records);
            }
        }
    }
}

#[test]
fn complete_fits_hold_their_claims() {
    each(|suite, case, adjacency| suite.complete_fits(case, adjacency).unwrap());
}

#[test]
fn canaries_are_no_easier_to_find_than_claimed() {
    for case in canary_cases() {
        for adjacency in ADJACENCIES {
            hold(&Suite::short().many_canaries(&case, adjacency).unwrap());
        }
    }
}

/// The release of a private evaluation, for numbers and for classes; and with a third of its mu claimed it is refuted, as with too little noise.
#[test]
fn evaluations_hold_their_claims() {
    for name in ["linear", "logistic"] {
        for adjacency in ADJACENCIES {
            let rows = Suite::short().evaluations(&case(name), adjacency).unwrap();
            assert_eq!(rows.len(), 1);
            hold(&rows);
        }
    }
    let row =
        reticent_audit::evaluation::play(&case("logistic"), Adjacency::ReplaceOne, &Effort::exactly(MANY));
    let row = row.unwrap().unwrap();
    assert!(!row.refuted(), "{}", row.markdown());
    let mu = row.claim.mu.expect("the noise is Gaussian");
    let broken = Row { claim: Claim { mu: Some(mu / 3.0), ..row.claim }, ..row };
    assert!(broken.refuted(), "{}", broken.markdown());
}

/// Number of games on broken mechanisms: enough to always refute them.
const MANY: usize = 4000;

/// The audit detects broken mechanisms. Releases with the noise of a budget are refuted if they claim a third of its mu, as noise of a third of
/// the needed deviation would be. At a mu of 1.6 the rates are 0.79 and 0.21; limits of 2000 games each at 1e-9 are 0.06 off, so that 1.2 is
/// refuted give or take 0.04, and a third is 0.53.
#[test]
fn too_little_noise_is_caught() {
    for (name, adjacency) in [
        ("linear", Adjacency::AddRemove),
        ("dirichlet of 24 columns", Adjacency::AddRemove),
        ("dirichlet of 24 columns", Adjacency::ReplaceOne),
    ] {
        let row = Attack::with_large_budget(&case(name), Data::Ordinary, adjacency)
            .unwrap()
            .first_releases(&Effort::exactly(MANY))
            .unwrap();
        let mu = row.claim.mu.expect("the noise is Gaussian");
        assert!(!row.refuted(), "{}", row.markdown());
        let broken = Row { claim: Claim { mu: Some(mu / 3.0), ..row.claim }, ..row };
        assert!(broken.refuted(), "{}", broken.markdown());
    }
}

/// The same for epsilon: a release without a delta claims its epsilon of 3. Above the larger of the two counts lie rates of 0.5 and 0.5 e^-3;
/// their limits of 2000 games each at 1e-9 are 0.44 and 0.05, so that about 2 is refuted give or take 0.15, and a quarter is 0.75.
#[test]
fn too_large_a_ratio_is_caught() {
    let privacy = Privacy::new(3.0, 0.0, Adjacency::AddRemove).unwrap();
    let row = Attack::new(&case("dirichlet"), Data::Ordinary, privacy)
        .unwrap()
        .first_releases(&Effort::exactly(MANY))
        .unwrap();
    assert!(!row.refuted(), "{}", row.markdown());
    let broken = Row { claim: Claim { epsilon: 0.75, ..row.claim }, ..row };
    assert!(broken.refuted(), "{}", broken.markdown());
}

/// A fit without noise that claims an epsilon of 1 is caught, by its posterior alone.
#[test]
fn a_fit_without_noise_is_caught() {
    let (case, privacy) = (case("dirichlet"), Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne).unwrap());
    let mechanism = Mechanism::without_noise(&case, case.records, privacy).unwrap();
    let neighbours = &Attack::new(&case, Data::Ordinary, privacy).unwrap().neighbours;
    let game = |rows: &Encoded| {
        Ok(reticent_audit::library::visible_result(mechanism.play(rows, usize::MAX)?.result.as_ref()))
    };
    let (first, second) = (|| game(&neighbours.rows), || game(&neighbours.other_rows));
    let games = Games::play(&Effort::exactly(300), of_thread, first, second).unwrap();
    let claim = Claim { epsilon: 1.0, delta: 1e-5, mu: None };
    let row = games.row("no noise".into(), Adjacency::ReplaceOne, claim);
    assert!(row.refuted(), "{}", row.markdown());
}

/// Canaries in a fit without noise are all found: 24 canaries in each of 20 runs give 40 guesses at the least, and all are right. Randomised
/// response of epsilon 0.3 is right with probability 0.574, and 40 times with 2.4e-10.
#[test]
fn canaries_in_a_fit_without_noise_are_caught() {
    let case = canary_cases().into_iter().find(|case| case.model == "logistic").unwrap();
    let privacy = Privacy::new(0.3, 1e-14, Adjacency::ReplaceOne).unwrap();
    let mechanism = Mechanism::without_noise(&case, canaries::records(&case), privacy).unwrap();
    let claim = Claim { epsilon: 0.3, delta: 1e-14, mu: None };
    let effort = Effort::exactly(20);
    let row = canaries::attack(&case, &mechanism, claim, &effort).unwrap();
    assert!(row.refuted(), "{}", row.markdown());
}
