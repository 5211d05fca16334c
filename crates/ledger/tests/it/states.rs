//! The rules one by one: each misuse of the ledger has its own error and changes nothing.

use reticent_ledger::{Account, Amount, LedgerError, State};

use crate::spender::{ADJACENCY, SCHEMA, fresh, request, with_cap};

fn wrong_state(outcome: Result<(), LedgerError>, expected_action: &str, expected_state: State) {
    match outcome {
        Err(LedgerError::WrongState { action, state, .. }) => {
            assert_eq!((action, state), (expected_action, expected_state));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_goes_from_reserved_to_started_to_settled() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let balance = |account: Account| (account.spent, account.unsettled);
    let reservation = ledger.reserve("trial", &request(0.5, 1e-6)).unwrap();
    assert_eq!((reservation.data_set(), reservation.reserved()), ("trial", Amount::new(0.5, 1e-6)));
    let full = Amount::new(0.5, 1e-6);
    assert_eq!(balance(ledger.account("trial").unwrap()), (full, full));
    ledger.start(&reservation).unwrap();
    assert_eq!(balance(ledger.account("trial").unwrap()), (full, full));
    ledger.settle(&reservation, Amount::new(0.4, 0.0), r#"{"releases": 1}"#).unwrap();
    assert_eq!(balance(ledger.account("trial").unwrap()), (Amount::new(0.4, 0.0), Amount::new(0.0, 0.0)));
}

#[test]
fn a_reservation_moves_only_forward() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let spent = Amount::new(0.1, 0.0);

    let run = ledger.reserve("trial", &request(0.5, 0.0)).unwrap();
    wrong_state(ledger.settle(&run, spent, "{}"), "settle", State::Reserved);
    ledger.start(&run).unwrap();
    wrong_state(ledger.start(&run), "start", State::Started);
    wrong_state(ledger.cancel(run.id()), "cancel", State::Started);
    assert_eq!(ledger.account("trial").unwrap().spent.epsilon, 0.5);
    ledger.settle(&run, spent, "{}").unwrap();
    wrong_state(ledger.settle(&run, Amount::new(0.0, 0.0), "{}"), "settle", State::Settled);
    wrong_state(ledger.start(&run), "start", State::Settled);
    wrong_state(ledger.cancel(run.id()), "cancel", State::Settled);
    assert_eq!(ledger.account("trial").unwrap().spent.epsilon, 0.1);

    let abandoned = ledger.reserve("trial", &request(0.9, 0.0)).unwrap();
    ledger.cancel(abandoned.id()).unwrap();
    assert_eq!(ledger.account("trial").unwrap().spent.epsilon, 0.1);
    wrong_state(ledger.cancel(abandoned.id()), "cancel", State::Cancelled);
    wrong_state(ledger.start(&abandoned), "start", State::Cancelled);
    wrong_state(ledger.settle(&abandoned, spent, "{}"), "settle", State::Cancelled);
    let counts = ledger.account("trial").unwrap().counts;
    assert_eq!((counts.reserved, counts.started, counts.settled, counts.cancelled), (0, 0, 1, 1));
}

#[test]
fn a_run_cannot_settle_above_its_reservation() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let run = ledger.reserve("trial", &request(0.5, 1e-6)).unwrap();
    ledger.start(&run).unwrap();
    for actual in [Amount::new(0.500000000001, 0.0), Amount::new(0.1, 1.1e-6)] {
        match ledger.settle(&run, actual, "{}") {
            Err(LedgerError::AboveReservation { reserved, actual: stated, .. }) => {
                assert_eq!((reserved, stated), (Amount::new(0.5, 1e-6), actual));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(ledger.account("trial").unwrap().spent, Amount::new(0.5, 1e-6));
    }
    ledger.settle(&run, Amount::new(0.5, 1e-6), "{}").unwrap();
}

#[test]
fn a_request_must_match_the_data_set() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let reserve =
        |ledger: &mut reticent_ledger::Ledger, id: &str, change: fn(&mut reticent_ledger::Request)| {
            let mut request = request(0.1, 0.0);
            change(&mut request);
            ledger.reserve(id, &request).map(drop).unwrap_err()
        };
    match reserve(&mut ledger, "trial", |request| request.schema_fingerprint = "ffff".into()) {
        LedgerError::SchemaMismatch { data_set, recorded, given } => {
            assert_eq!((data_set.as_str(), recorded.as_str(), given.as_str()), ("trial", SCHEMA, "ffff"));
        }
        other => panic!("{other:?}"),
    }
    match reserve(&mut ledger, "trial", |request| request.adjacency = "add/remove".into()) {
        LedgerError::AdjacencyMismatch { recorded, given, .. } => {
            assert_eq!((recorded.as_str(), given.as_str()), (ADJACENCY, "add/remove"));
        }
        other => panic!("{other:?}"),
    }
    let error = reserve(&mut ledger, "trial", |request| request.adjacency = "swap".into());
    assert!(matches!(error, LedgerError::UnknownAdjacency { given } if given == "swap"));
    let error = reserve(&mut ledger, "trail", |_| {});
    assert!(matches!(error, LedgerError::UnknownDataSet { id } if id == "trail"));
    let error = reserve(&mut ledger, "trial", |request| request.plan_json = "{\n \"a\": }".into());
    assert!(matches!(error, LedgerError::InvalidJson { what: "plan", line: 2, column: 7 }), "{error:?}");
    assert!(ledger.history("trial").unwrap().is_empty());
    assert!(matches!(ledger.account("trail"), Err(LedgerError::UnknownDataSet { .. })));
    assert!(matches!(ledger.history("trail"), Err(LedgerError::UnknownDataSet { .. })));
}

#[test]
fn amounts_out_of_domain_are_errors() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let run = ledger.reserve("trial", &request(0.5, 1e-6)).unwrap();
    ledger.start(&run).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, -f64::MIN_POSITIVE] {
        for (epsilon, delta) in [(bad, 0.0), (0.1, bad)] {
            let outcomes = [
                ledger.reserve("trial", &request(epsilon, delta)).map(drop),
                ledger.settle(&run, Amount::new(epsilon, delta), "{}"),
                ledger.add_data_set("other", SCHEMA, Amount::new(epsilon, delta), ADJACENCY),
            ];
            for outcome in outcomes {
                assert!(matches!(outcome, Err(LedgerError::Amount { .. })), "{bad}: {outcome:?}");
            }
        }
    }
    let error = ledger.reserve("trial", &request(0.0, 0.0)).map(drop).unwrap_err();
    let expected = "the requested epsilon must be a number above 0 and at most 1e6, but it is 0\n\
        hint: correct the number and try again";
    assert_eq!(error.to_string(), expected);
    assert_eq!(ledger.data_sets().unwrap().len(), 1);
}

#[test]
fn a_data_set_is_added_once_under_a_plain_id() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let cap = Amount::new(5.0, 1e-5);
    let again = ledger.add_data_set("trial", SCHEMA, cap, ADJACENCY);
    assert!(matches!(again, Err(LedgerError::DuplicateDataSet { id }) if id == "trial"));
    // The second letter of the sixth is Cyrillic, and the seventh ends in a zero-width space.
    let long = "x".repeat(201);
    for id in [
        "",
        " trial",
        "trial\n",
        "tri\0al",
        "my trial",
        "t\u{433}ial",
        "trial\u{200b}",
        "trïal",
        "-trial",
        "trial.",
        "Trial",
        &long,
    ] {
        let outcome = ledger.add_data_set(id, SCHEMA, cap, ADJACENCY);
        assert!(matches!(outcome, Err(LedgerError::InvalidId { .. })), "{id:?}");
    }
    let outcome = ledger.add_data_set("other", SCHEMA, cap, "neighbouring");
    assert!(matches!(outcome, Err(LedgerError::UnknownAdjacency { .. })));
    let all = ledger.data_sets().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].id.as_str(), all[0].cap), ("trial", Amount::new(1.0, 1e-5)));
}

#[test]
fn data_sets_have_budgets_of_their_own() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    ledger.add_data_set("other", SCHEMA, Amount::new(0.5, 0.0), ADJACENCY).unwrap();
    let _ = ledger.reserve("trial", &request(1.0, 1e-5)).unwrap();
    let _ = ledger.reserve("other", &request(0.5, 0.0)).unwrap();
    assert_eq!(ledger.history("other").unwrap().len(), 1);
}

#[test]
fn a_reservation_is_valid_in_its_own_ledger_only() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    let (_other_folder, _other_path, mut other) = with_cap(1.0, 1e-5);
    let here = ledger.reserve("trial", &request(0.1, 0.0)).unwrap();
    let there = other.reserve("trial", &request(0.9, 0.0)).unwrap();
    assert_eq!(here.id(), there.id());
    assert!(matches!(other.start(&here), Err(LedgerError::UnknownReservation { id: 1 })));
    other.start(&there).unwrap();
    assert!(matches!(
        other.settle(&here, Amount::new(0.0, 0.0), "{}"),
        Err(LedgerError::UnknownReservation { id: 1 })
    ));
    assert!(matches!(ledger.cancel(99), Err(LedgerError::UnknownReservation { id: 99 })));
}

#[test]
fn a_refusal_states_the_balance_and_a_hint() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-4);
    let run = ledger.reserve("trial", &request(0.75, 2e-5)).unwrap();
    ledger.start(&run).unwrap();
    let Err(LedgerError::Refused(refusal)) = ledger.reserve("trial", &request(0.5, 1e-5)) else { panic!() };
    assert_eq!(refusal.spent, Amount::new(0.75, 2e-5));
    assert_eq!(refusal.requested, Amount::new(0.5, 1e-5));
    assert_eq!(refusal.remaining, Amount::new(0.25, 8e-5));
    assert_eq!(
        LedgerError::Refused(refusal).to_string(),
        "the privacy budget of data set \"trial\" does not cover this run
  requested  epsilon 0.5, delta 1e-5
  remaining  epsilon 0.25, delta 8e-5
  spent      epsilon 0.75, delta 2e-5
  cap        epsilon 1, delta 1e-4
hint: request at most epsilon 0.25, delta 8e-5"
    );

    let hint = |outcome: Result<_, LedgerError>| {
        outcome.map(|_| ()).unwrap_err().to_string().lines().last().unwrap().to_owned()
    };
    let _ = ledger.reserve("trial", &request(0.1, 8e-5)).unwrap();
    assert_eq!(
        hint(ledger.reserve("trial", &request(0.1, 1e-9))),
        "hint: no delta remains; request delta 0 and at most epsilon 0.15; one reservation was never started and can be cancelled"
    );
    let _ = ledger.reserve("trial", &request(0.15, 0.0)).unwrap();
    assert_eq!(
        hint(ledger.reserve("trial", &request(0.1, 0.0))),
        "hint: the budget is used up; results that were already released can be reused at no cost; 2 reservations were never started and can be cancelled"
    );
}

#[test]
fn every_error_ends_with_a_hint() {
    let (_folder, path, mut ledger) = fresh();
    let run = {
        ledger.add_data_set("trial", SCHEMA, Amount::new(1.0, 0.0), ADJACENCY).unwrap();
        ledger.reserve("trial", &request(0.5, 0.0)).unwrap()
    };
    let errors = [
        ledger.settle(&run, Amount::new(0.1, 0.0), "{}").unwrap_err(),
        ledger.settle(&run, Amount::new(0.1, 0.0), "").unwrap_err(),
        ledger.cancel(7).unwrap_err(),
        ledger.account("x").unwrap_err(),
        ledger.reserve("trial", &request(0.6, 0.0)).unwrap_err(),
        reticent_ledger::Ledger::create(&path).unwrap_err(),
        reticent_ledger::Ledger::open("/nowhere/at/all").unwrap_err(),
        reticent_ledger::Ledger::create("/nowhere/at/all").unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().lines().last().unwrap().starts_with("hint: "), "{error}");
    }
}

/// Errors travel through threads and error reporters, and a ledger may move to a worker thread.
#[test]
fn the_types_may_cross_threads() {
    fn send<T: Send + 'static>() {}
    fn sync<T: Sync>() {}
    send::<reticent_ledger::Ledger>();
    send::<reticent_ledger::Reservation>();
    send::<LedgerError>();
    sync::<LedgerError>();
}
