use crate::{json, reticent, stdout};

#[test]
fn a_budget_is_given_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.ledger");
    let file = file.display();
    let made = stdout(&format!("ledger init {file} --data-set trial --epsilon 2 --delta 1e-5"));
    assert!(made.contains("trial") && made.contains("replace-one"), "{made}");
    stdout(&format!("ledger init {file} --data-set survey --epsilon 1 --delta 1e-6 --adjacency add-remove"));

    let accounts = json(&format!("ledger show {file}"));
    assert_eq!(accounts.as_array().unwrap().len(), 2);
    let trial = &json(&format!("ledger show {file} --data-set trial"))[0];
    assert_eq!(trial["cap"]["epsilon"], 2.0);
    assert_eq!(trial["remaining"]["delta"], 1e-5);
    assert_eq!(trial["spent"]["epsilon"], 0.0);
    assert_eq!(json(&format!("ledger history {file} --data-set trial")), serde_json::json!([]));

    let again = reticent(&format!("ledger init {file} --data-set trial --epsilon 3 --delta 1e-5"));
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8(again.stderr).unwrap().contains("trial"));
}

#[test]
fn spending_shows_in_the_history() {
    use reticent_ledger::{Amount, Ledger, Request};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.ledger");
    stdout(&format!("ledger init {} --data-set trial --epsilon 2 --delta 1e-5", file.display()));
    let request = |epsilon| Request {
        amount: Amount::new(epsilon, 1e-6),
        schema_fingerprint: "none".into(),
        adjacency: "replace-one".into(),
        purpose: "a first look".into(),
        plan_json: "{}".into(),
    };
    let mut ledger = Ledger::open(&file).unwrap();
    let spent = ledger.reserve("trial", &request(0.5)).unwrap();
    ledger.start(&spent).unwrap();
    let unused = ledger.reserve("trial", &request(0.25)).unwrap();
    drop(ledger);

    let history = stdout(&format!("ledger history {} --data-set trial", file.display()));
    assert!(
        history.contains("started") && history.contains("0.50000") && history.contains("a first look"),
        "{history}"
    );
    stdout(&format!("ledger cancel {} {}", file.display(), unused.id()));
    let refused = reticent(&format!("ledger cancel {} {}", file.display(), spent.id()));
    assert_eq!(refused.status.code(), Some(1));
    let account = &json(&format!("ledger show {}", file.display()))[0];
    assert_eq!(account["spent"]["epsilon"], 0.5);
}

#[test]
fn a_wrong_file_is_one_sentence_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "patient 7 weighs 81 kg, and this is no database at all").unwrap();
    for arguments in [
        format!("ledger show {}", folder.path().join("absent.ledger").display()),
        format!("ledger show {}", text.display()),
        format!("ledger init {} --data-set a --epsilon 1 --delta 1e-5", text.display()),
        format!(
            "ledger init {} --data-set a --epsilon 1 --delta 1e-5 --schema {}/none.toml",
            text.display(),
            folder.path().display()
        ),
    ] {
        let output = reticent(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {error}");
        assert!(error.starts_with("error: ") && error.contains("\nhint: "), "{arguments}: {error}");
        assert!(!error.contains("81"), "{arguments}: {error}");
    }
    let new = folder.path().join("new.ledger");
    crate::refused(
        &format!("ledger init {} --data-set a --epsilon -1 --delta 1e-5", new.display()),
        "epsilon",
    );
    assert!(!new.exists());
}
