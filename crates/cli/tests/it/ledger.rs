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
        releases: None,
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

/// Two fits of one Gaussian release each, at (0.5, 1e-5) and (1, 1e-5), and a cap of (2, 1e-4): what the fit prints, and what `show` and `report` state
/// later, is what the ledger has spent then. The exact joint costs at 0.85e-4 are 0.41684 and 0.97627, and what is left at 1e-4 is 1.90323 and
/// 1.63155, by the formula of Balle and Wang; a fit may cost a thousandth less than it was asked for.
#[test]
fn what_remains_is_beside_what_was_spent() {
    let case = crate::fit::Case::new(500);
    let ledger = case.path("budget.ledger");
    stdout(&format!("ledger init {ledger} --data-set people --epsilon 2 --delta 1e-4"));
    let fit = |out: &str, epsilon: f64| {
        format!(
            "{} --epsilon {epsilon} --delta 1e-5 --ledger {ledger} --data-set people",
            case.fit("linear", out)
        )
    };
    let stated = |text: &str, runs: &str| -> [f64; 2] {
        let quoted = text.replace("&quot;", "\"");
        let (_, after) =
            quoted.split_once("data set \"people\" has spent epsilon ").unwrap_or_else(|| panic!("{text}"));
        let (spent, rest) = after.split_once(&format!(" of 2 at delta 1e-4, after {runs}; ")).unwrap();
        let (_, left) = rest.split_once("fits with up to epsilon ").unwrap();
        let (left, _) = left.split_once(" at delta 1e-4").unwrap();
        [spent.parse().unwrap(), left.parse().unwrap()]
    };
    let printed = stdout(&fit("first", 0.5));
    let [spent, left] = stated(&printed, "1 run");
    assert!((0.416..0.4169).contains(&spent) && (1.903..1.904).contains(&left), "{printed}");
    let found = json(&fit("second", 1.0));
    let account = &found["account"];
    let [exact, remaining] =
        ["/spent/epsilon", "/remaining/epsilon"].map(|at| account.pointer(at).unwrap().as_f64().unwrap());
    assert!((0.975..0.9763).contains(&exact) && (1.631..1.633).contains(&remaining), "{account}");
    assert!((1.499..=1.5).contains(&account["sum"]["epsilon"].as_f64().unwrap()), "{account}");

    let model = case.path("first");
    assert!(!stdout(&format!("show {model}")).contains("has spent"));
    let shown = stated(&stdout(&format!("show {model} --ledger {ledger}")), "2 runs");
    // Five digits: spent is rounded up, and what is left down.
    assert!(exact <= shown[0] && shown[0] - exact < 1e-4, "{shown:?} {exact}");
    assert!(shown[1] <= remaining && remaining - shown[1] < 1e-4, "{shown:?} {remaining}");
    let account = &json(&format!("show {model} --ledger {ledger}"))["account"];
    assert_eq!((&account["id"], &account["remaining"]["epsilon"]), (&"people".into(), &remaining.into()));
    let page = case.path("report.html");
    stdout(&format!("report {model} --ledger {ledger} --out {page}"));
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(stated(&page, "2 runs"), shown);
    let (_, this) = page
        .split_once("of the epsilon of 2 of the data set, this fit: ")
        .unwrap_or_else(|| panic!("{page}"));
    let this: f64 = this.split_once(',').unwrap().0.parse().unwrap();
    assert!((0.4995..=0.5).contains(&this), "{this}");

    // The picture, and what a next run would leave: 1.09204 for the three. At 1e-5, 1.91693 is the most that fits.
    let text = stdout(&format!("ledger show {ledger}"));
    let bar = format!("people [{}{}] 49 % of epsilon spent at delta 1e-4", "#".repeat(20), ".".repeat(20));
    assert!(text.contains(&bar) && text.contains("their sum: epsilon 1.5000, delta 2.0000e-5"), "{text}");
    let text = stdout(&format!("ledger show {ledger} --epsilon 0.5 --delta 1e-5"));
    assert!(text.contains("  after a run of epsilon 0.5, delta 1e-5: epsilon 1.09"), "{text}");
    let next = &json(&format!("ledger show {ledger} --epsilon 0.5 --delta 1e-5"))[0]["next"];
    let after = next["after"]["spent"]["epsilon"].as_f64().unwrap();
    assert!((1.091..1.0921).contains(&after) && next["requested"]["epsilon"] == 0.5, "{next}");
    let text = stdout(&format!("ledger show {ledger} --epsilon 2 --delta 1e-5"));
    assert!(text.contains("it would be refused"), "{text}");
    let refused = reticent(&fit("third", 1.95));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1)
            && error.contains("one Gaussian release fits with at most epsilon 1.91"),
        "{error}"
    );

    // A model that was charged to no ledger, and a ledger that does not have the data set.
    crate::noted(&format!("{} --epsilon 1 --delta 1e-5", case.fit("linear", "free")));
    crate::failed(&format!("show {} --ledger {ledger}", case.path("free")), "no ledger");
    let other = case.path("other.ledger");
    stdout(&format!("ledger init {other} --data-set trial --epsilon 2 --delta 1e-4"));
    let refused = reticent(&format!("show {model} --ledger {other}"));
    assert_eq!(refused.status.code(), Some(1));
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
