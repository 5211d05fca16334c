//! Fits through the library: charged once, stopped midway, resumed, and the same in the ledger and the file.

use std::path::{Path, PathBuf};

use reticent::{
    Adjacency, Amount, Cancel, ErrorKind, Fit, Ledger, ModelFile, Privacy, SavedModel, Schema, Session, State,
};

const SCHEMA: &str = r#"features = [{ name = "a", kind = "boolean" }, { name = "b", kind = "boolean" }]"#;

struct Case {
    folder: tempfile::TempDir,
    schema: Schema,
}

impl Case {
    fn new(rows: usize) -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap(), schema: Schema::parse(SCHEMA).unwrap() };
        let text: String =
            (0..rows).map(|n| if n % 3 == 0 { "true,false\n" } else { "false,true\n" }).collect();
        std::fs::write(case.path("data.csv"), format!("a,b\n{text}")).unwrap();
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn session(&self) -> Session {
        let cap = Privacy::new(1.5, 1e-4, Adjacency::ReplaceOne).unwrap();
        Session::create(self.path("budget.ledger"), "people", &cap, Some(&self.schema)).unwrap()
    }
}

fn privacy() -> Privacy {
    Privacy::new(1.0, 1e-8, Adjacency::ReplaceOne).unwrap()
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The receipt is complete before it is settled: assumptions of the schema are in the ledger too.
#[test]
fn ledger_and_model_hold_the_same_receipt() {
    let case = Case::new(500);
    let (session, out) = (case.session(), case.path("model.reticent"));
    let fitted = session.fit("beta-bernoulli", &case.schema).unwrap().privacy(privacy()).out(&out);
    let fitted = fitted.run(case.path("data.csv")).unwrap();
    let history = session.history().unwrap();
    assert_eq!((history.len(), history[0].state), (1, State::Settled));
    let charge = serde_json::to_value(&history[0]).unwrap();
    let kept = &charge["receipt"];
    let kept = kept.as_str().map_or_else(|| kept.clone(), |text| serde_json::from_str(text).unwrap());
    let in_file = ModelFile::read(&out).unwrap().header.receipt;
    assert_eq!(kept, in_file);
    assert_eq!(in_file, serde_json::to_value(fitted.receipt()).unwrap());
    let rules = case.schema.value_rules();
    assert!(!rules.is_empty() && rules.iter().all(|rule| fitted.receipt().assumptions.contains(rule)));
    assert!(!exists(&case.path("model.reticent.journal")));
    assert_eq!(SavedModel::load(&out).unwrap().receipt(), fitted.receipt());
}

/// A model that is saved later has been paid for already, and replaces no file.
#[test]
fn a_model_is_saved_once() {
    let case = Case::new(300);
    let session = case.session();
    let fitted = session.fit("beta-bernoulli", &case.schema).unwrap().privacy(privacy());
    let fitted = fitted.run(case.path("data.csv")).unwrap();
    assert_eq!(session.history().unwrap()[0].state, State::Settled);
    let out = case.path("model.reticent");
    fitted.save(&out).unwrap();
    assert_eq!(fitted.save(&out).unwrap_err().kind(), ErrorKind::Io);
    let more = Privacy::new(3.0, 1e-8, Adjacency::ReplaceOne).unwrap();
    let again = session.fit("beta-bernoulli", &case.schema).unwrap().privacy(more);
    let error = again.run(case.path("data.csv")).err().expect("the budget is spent");
    assert_eq!(error.kind(), ErrorKind::Budget);
    assert!(error.message().contains("remaining"), "{error}");
}

/// Bytes of records that are kept: those of a few thousand.
const MEMORY: u64 = 1 << 18;

/// A pass over a file that does not fit in memory ends at its next block. What was reserved stays charged, and the run can be resumed.
#[test]
fn a_pass_is_stopped_midway_and_resumed() {
    // More numbers than are kept: the records are read again for each release.
    let case = Case::new(200_000);
    let (session, cancel) = (case.session(), Cancel::new());
    let fit = || {
        let fit = session.fit("beta-bernoulli", &case.schema).unwrap().privacy(privacy());
        fit.out(case.path("model.reticent")).memory(MEMORY)
    };
    let stop = cancel.clone();
    // Set once the release has begun: only a pass can see it.
    let stopped = fit().cancelled_by(&cancel).on_progress(move |_| stop.cancel());
    let error = stopped.run(case.path("data.csv")).err().expect("it was stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    assert!(error.message().contains("stays charged") && error.hint().unwrap().contains("resume"), "{error}");
    assert!(!exists(&case.path("model.reticent")) && exists(&case.path("model.reticent.journal")));
    assert_eq!(session.history().unwrap()[0].state, State::Started);
    fit().resume(true).run(case.path("data.csv")).unwrap();
    let history = session.history().unwrap();
    assert_eq!((history.len(), history[0].state), (1, State::Settled));
    assert!(exists(&case.path("model.reticent")) && !exists(&case.path("model.reticent.journal")));
}

/// Held-out records are no part of a fit, be they streamed or kept: a third of the others has `a`, and not a third of 0.8 of all. A run that is resumed holds out the
/// same records. The number of those that are not held out is binomial: five standard deviations.
#[test]
fn held_out_records_are_absent_from_a_fit_and_from_its_resumption() {
    for rows in [200_000, 3000] {
        let case = Case::new(rows);
        let (session, cancel) = (case.session(), Cancel::new());
        let fit = |share: f64| {
            let fit = session.fit("beta-bernoulli", &case.schema).unwrap().privacy(privacy());
            fit.out(case.path("model.reticent")).holdout(share).memory(MEMORY)
        };
        let stop = cancel.clone();
        let stopped = fit(0.2).cancelled_by(&cancel).on_progress(move |_| stop.cancel());
        let is_streamed = rows > 3000;
        let ended = stopped.run(case.path("data.csv"));
        let key = std::fs::read(case.path("model.reticent.holdout")).unwrap();
        if is_streamed {
            assert_eq!(ended.err().expect("it was stopped").kind(), ErrorKind::Stopped);
            let other = fit(0.3).resume(true).run(case.path("data.csv")).err().expect("another share");
            assert!(other.message().contains("another share"), "{other}");
            fit(0.2).resume(true).run(case.path("data.csv")).unwrap();
        }
        assert_eq!(std::fs::read(case.path("model.reticent.holdout")).unwrap(), key);
        let model = SavedModel::load(case.path("model.reticent")).unwrap();
        let (n, fitted) = (rows as f64, model.receipt().records as f64);
        assert!((fitted - 0.8 * n).abs() < 5.0 * (0.16 * n).sqrt(), "{fitted} of {n}");
        let rate = &model.summary().unwrap()[0];
        // The interval covers in all but one of a million fits if it is so much wider.
        assert!((rate.mean - 1.0 / 3.0).abs() < 5.0 * rate.sd && rate.sd < 0.015, "{rate:?}");
        assert_eq!(model.card().holdout.as_ref().unwrap().share, 0.2);
    }
}

/// A run that is stopped before its first release costs nothing.
#[test]
fn stopped_before_the_first_release() {
    let case = Case::new(300);
    let (session, cancel) = (case.session(), Cancel::new());
    cancel.cancel();
    let fit = session.fit("beta-bernoulli", &case.schema).unwrap().privacy(privacy()).cancelled_by(&cancel);
    let error =
        fit.out(case.path("model.reticent")).run(case.path("data.csv")).err().expect("it was stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped);
    assert!(session.history().unwrap().iter().all(|charge| charge.state == State::Cancelled));
    assert!(!exists(&case.path("model.reticent.journal")));
}

/// Kinds of errors, without a look at their texts.
#[test]
fn errors_have_kinds() {
    let case = Case::new(50);
    let fit = |model: &str| Fit::new(model, &case.schema).map(|fit| fit.privacy(privacy()));
    let kind = |fit: Result<Fit, reticent::Error>, data: &str| {
        fit.and_then(|fit| fit.run(case.path(data))).err().expect("an error").kind()
    };
    assert_eq!(kind(fit("oracle"), "data.csv"), ErrorKind::Settings);
    assert_eq!(kind(fit("linear"), "data.csv"), ErrorKind::Schema);
    assert_eq!(
        kind(fit("beta-bernoulli").map(|fit| fit.setting("wings", 2.0)), "data.csv"),
        ErrorKind::Settings
    );
    assert_eq!(kind(fit("beta-bernoulli"), "absent.csv"), ErrorKind::Io);
    std::fs::write(case.path("other.csv"), "c\n1\n").unwrap();
    assert_eq!(kind(fit("beta-bernoulli"), "other.csv"), ErrorKind::Data);
    assert_eq!(kind(Fit::new("beta-bernoulli", &case.schema), "data.csv"), ErrorKind::Settings);
}

/// Files of earlier versions are refused with one clear sentence.
#[test]
fn files_of_earlier_versions() {
    let case = Case::new(50);
    let file = case.path("budget.ledger");
    let mut ledger = Ledger::create(&file).unwrap();
    ledger.add_data_set("people", "fnv1a:00", Amount::new(2.0, 1e-4), "replace-one").unwrap();
    drop(ledger);
    let fit = || Fit::new("beta-bernoulli", &case.schema).unwrap().privacy(privacy());
    let error = fit().ledger(&file, "people").run(case.path("data.csv")).err().expect("another fingerprint");
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.message().contains("earlier version"), "{error}");

    std::fs::write(case.path("model.reticent.journal"), b"reticent journal 1\n").unwrap();
    let fit = fit().out(case.path("model.reticent")).resume(true);
    let error = fit.run(case.path("data.csv")).err().expect("another format");
    assert!(error.message().contains("another version"), "{error}");
}
