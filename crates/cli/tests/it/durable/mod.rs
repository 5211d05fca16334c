//! Paid for is never lost: whatever ends a fit, the same command with `--resume` finishes it, and it is charged once.

#![cfg(target_os = "linux")]

mod cut;
mod damage;
mod kills;
mod syscalls;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::fit::{Case, SCHEMA};

/// A fit that is charged to a ledger, in a folder where nothing else is: the table and its schema are elsewhere.
pub(crate) struct Fit {
    case: Case,
    work: tempfile::TempDir,
    model: &'static str,
    /// What a run costs, and what it releases, by one that nothing has ended.
    cost: f64,
    releases: Vec<String>,
}

const PRIVACY: &str = "--epsilon 1 --delta 1e-5";
const LEDGER: &str = "budget.ledger";
const MODEL: &str = "model.reticent";
const JOURNAL: &str = "model.reticent.journal";

/// Files by name.
type Folder = BTreeMap<String, Vec<u8>>;

impl Fit {
    /// One release.
    pub(crate) fn of_one_release() -> Self {
        let schema = "features = [{ name = \"member\", kind = \"boolean\" }, { name = \"rich\", kind = \"boolean\" }]\n";
        Self::new("beta-bernoulli", schema)
    }

    /// Bounds are estimated first, as a stage of their own: ten releases and more.
    pub(crate) fn of_many_releases() -> Self {
        let private = "bounds = \"private\", within = [0, 1000]";
        Self::new(
            "linear",
            &SCHEMA.replace("bounds = [0, 100]", private).replace("bounds = [20, 70]", private),
        )
    }

    fn new(model: &'static str, schema: &str) -> Self {
        let (case, work) = (Case::new(200), tempfile::tempdir().unwrap());
        case.write("schema.toml", schema);
        let mut fit = Self { case, work, model, cost: 0.0, releases: Vec::new() };
        fit.must(&fit.init());
        fit.must(&fit.fit());
        let shown = crate::json(&format!("show {}", fit.path(MODEL).display()));
        fit.releases = shown["receipt"]["groups"].as_array().unwrap().iter().map(what).collect();
        fit.cost = fit.account()["spent"]["epsilon"].as_f64().unwrap();
        assert!(fit.cost > 0.9 && !fit.releases.is_empty());
        fit.clear();
        fit
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// Enough for one run, and not for two.
    pub(crate) fn init(&self) -> String {
        format!("ledger init {} --data-set people --epsilon 1.2 --delta 1.5e-5", self.path(LEDGER).display())
    }

    pub(crate) fn fit(&self) -> String {
        let (data, schema) = (self.case.path("people.csv"), self.case.path("schema.toml"));
        format!(
            "fit {} {PRIVACY} --data {data} --schema {schema} --ledger {} --data-set people --out {}",
            self.model,
            self.path(LEDGER).display(),
            self.path(MODEL).display()
        )
    }

    /// The command, with the shim if there is one.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.args(arguments.split_whitespace()).stdin(Stdio::null());
        command
    }

    pub(crate) fn shimmed(&self, shim: &Path, arguments: &str, settings: &[(&str, &str)]) -> Output {
        let mut command = self.command(arguments);
        command.env("LD_PRELOAD", shim).env("SHIM_FOLDER", self.work.path());
        command.envs(settings.iter().copied()).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn must(&self, arguments: &str) {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn account(&self) -> serde_json::Value {
        crate::json(&format!("ledger show {}", self.path(LEDGER).display()))[0].clone()
    }

    pub(crate) fn clear(&self) {
        for name in self.folder().keys() {
            std::fs::remove_file(self.path(name)).unwrap();
        }
    }

    /// Without the digests of records, on which nothing depends.
    pub(crate) fn folder(&self) -> Folder {
        let entries = std::fs::read_dir(self.work.path()).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
            .filter(|(name, _)| !name.ends_with(".prints"))
            .collect()
    }

    pub(crate) fn put(&self, folder: &Folder) {
        self.clear();
        for (name, bytes) in folder {
            std::fs::write(self.path(name), bytes).unwrap();
        }
    }

    /// Whatever has happened: nothing that was released is uncharged.
    #[track_caller]
    pub(crate) fn check_charged(&self, when: &str) {
        let folder = self.folder();
        // As a release is written: a zero byte, the length of its name, and the name. Plans name releases too.
        let kept = |what: &String| {
            let item = [&[0u8][..], &(what.len() as u32).to_le_bytes(), what.as_bytes()].concat();
            folder.get(JOURNAL).is_some_and(|bytes| bytes.windows(item.len()).any(|part| part == item))
        };
        let released = self.releases.iter().any(kept) || folder.contains_key(MODEL);
        if released {
            let account = self.account();
            let counts = &account["counts"];
            let charged = counts["started"].as_u64().unwrap() + counts["settled"].as_u64().unwrap();
            assert_eq!(charged, 1, "{when}: released and not charged: {account}");
            assert_eq!(account["spent"]["epsilon"].as_f64(), Some(self.cost), "{when}");
        }
    }

    /// Does what a user would do next, and checks that there is a model, that it was charged once, and that nothing is left over.
    #[track_caller]
    pub(crate) fn finish(&self, when: &str) {
        self.check_charged(when);
        if !self.folder().get(LEDGER).is_some_and(|_| {
            self.command(&format!("ledger show {} --data-set people", self.path(LEDGER).display()))
                .output()
                .unwrap()
                .status
                .success()
        }) {
            self.must(&self.init());
        }
        let resumable = self.path(JOURNAL).exists();
        if resumable {
            self.must(&format!("{} --resume", self.fit()));
        } else if !self.path(MODEL).exists() {
            self.must(&self.fit());
        }
        let account = self.account();
        let count = |state: &str| account["counts"][state].as_u64().unwrap();
        assert_eq!((count("settled"), count("started"), count("reserved")), (1, 0, 0), "{when}: {account}");
        assert_eq!(account["spent"]["epsilon"].as_f64(), Some(self.cost), "{when}: {account}");
        let names: Vec<String> = self.folder().into_keys().collect();
        assert_eq!(names, [LEDGER, MODEL], "{when}");
        let shown = crate::json(&format!("show {}", self.path(MODEL).display()));
        assert_eq!(
            shown["receipt"]["groups"].as_array().unwrap().iter().map(what).collect::<Vec<_>>(),
            self.releases
        );
    }
}

fn what(group: &serde_json::Value) -> String {
    group["what"].as_str().unwrap().to_owned()
}

/// The shim, compiled; nothing where there is no C compiler.
pub(crate) fn shim(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/durable/shim.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl")
        .status();
    match compiled {
        Ok(status) => {
            assert!(status.success(), "the shim does not compile");
            Some(library)
        }
        Err(_) => {
            #[allow(
                clippy::print_stderr,
                reason = "a test that does nothing must not look like one that passes"
            )]
            {
                eprintln!("skipped: there is no C compiler (cc)");
            }
            None
        }
    }
}

/// A number from the environment, so that a long run can be asked for.
pub(crate) fn rounds(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// SplitMix64 (Steele, Lea and Flood 2014), for seeded choices.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A model that cost budget and a schema that somebody has filled in are not written over by accident, and nothing is charged
/// for the attempt.
#[test]
fn nothing_is_overwritten_without_force() {
    let fit = Fit::of_one_release();
    fit.must(&fit.init());
    std::fs::write(fit.path(MODEL), "precious").unwrap();
    crate::failed(&fit.fit(), "already exists");
    assert_eq!(fit.account()["spent"]["epsilon"], 0.0);
    assert_eq!(fit.folder()[MODEL], b"precious");
    fit.must(&format!("{} --force", fit.fit()));
    assert_ne!(fit.folder()[MODEL], b"precious");
    assert_eq!(fit.folder().len(), 2);

    let (data, schema) = (fit.case.path("people.csv"), fit.case.path("filled.toml"));
    let write = format!("schema --from {data} --target income --out {schema}");
    fit.must(&write);
    std::fs::write(&schema, "filled in").unwrap();
    crate::failed(&write, "already exists");
    assert_eq!(std::fs::read(&schema).unwrap(), b"filled in");
    fit.must(&format!("{write} --force"));
}

/// Journal, ledger and model are their owner's alone, and a link in the place of any is not followed.
#[test]
fn secrets_are_their_owners_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let fit = Fit::of_one_release();
    fit.must(&fit.init());
    let shims = tempfile::tempdir().unwrap();
    let victim = fit.case.path("victim");
    std::fs::write(&victim, "precious").unwrap();
    symlink(&victim, fit.path(JOURNAL)).unwrap();
    let output = fit.command(&fit.fit()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    std::fs::remove_file(fit.path(JOURNAL)).unwrap();
    symlink(&victim, fit.path(MODEL)).unwrap();
    crate::failed(&fit.fit(), "already exists");
    assert_eq!(fit.account()["spent"]["epsilon"], 0.0);
    fit.must(&format!("{} --force", fit.fit()));
    assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    let mode = |name: &str| std::fs::symlink_metadata(fit.path(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(LEDGER), mode(MODEL)), (0o600, 0o600));
    // Killed anywhere, all that is left is the owner's alone too.
    let Some(shim) = shim(shims.path()) else { return };
    for at in 1.. {
        fit.clear();
        fit.must(&fit.init());
        let at = at.to_string();
        if fit.shimmed(&shim, &fit.fit(), &[("SHIM_HOW", "kill"), ("SHIM_AT", &at)]).status.success() {
            break;
        }
        for name in fit.folder().keys() {
            assert_eq!(mode(name), 0o600, "{name} after a kill at call {at}");
        }
    }
}

/// An old copy of a journal does not go on, and of two that go on at once one does.
#[test]
fn only_the_newest_journal_goes_on() {
    let fit = Fit::of_many_releases();
    let folder = tempfile::tempdir().unwrap();
    let Some(shim) = shim(folder.path()) else { return };
    fit.must(&fit.init());
    let (stopped, _) = stopped_before_the_model(&fit, &shim);
    let resume = format!("{} --resume", fit.fit());
    // Another plan or other options are another run.
    crate::failed(&resume.replace("--epsilon 1 ", "--epsilon 0.9 "), "another run: it differs in asked");
    crate::failed(&fit.fit(), "was interrupted");
    let shown = crate::stdout(&format!("ledger show {}", fit.path(LEDGER).display()));
    assert!(shown.contains("--resume") && shown.contains(JOURNAL), "{shown}");
    // It goes on, and dies again before the model is written. Its journal is further now, and the older copy is refused.
    let mut again = String::new();
    for at in 1.. {
        again = at.to_string();
        fit.put(&stopped);
        let output = fit.shimmed(&shim, &resume, &[("SHIM_HOW", "kill"), ("SHIM_AT", &again)]);
        assert!(!output.status.success(), "the ledger never had another digest");
        let newer = fit.folder();
        if newer[LEDGER] != stopped[LEDGER]
            && !newer.contains_key(MODEL)
            && !newer.contains_key("budget.ledger-journal")
        {
            break;
        }
    }
    let newest = fit.folder();
    let mut older = newest.clone();
    older.insert(JOURNAL.to_owned(), stopped[JOURNAL].clone());
    fit.put(&older);
    crate::failed(&resume, "gone further than this journal");
    assert_eq!(
        fit.folder()[JOURNAL],
        stopped[JOURNAL],
        "a refused journal is left as it is, at call {again}"
    );
    fit.put(&newest);
    fit.finish("from the newest");

    // Two at once, from two copies in two places: one is charged once, and the other is refused.
    fit.put(&stopped);
    let other = tempfile::tempdir().unwrap();
    let out = other.path().join(MODEL);
    std::fs::write(other.path().join(JOURNAL), &stopped[JOURNAL]).unwrap();
    let elsewhere = resume.replace(&fit.path(MODEL).display().to_string(), &out.display().to_string());
    let children =
        [&resume, &elsewhere].map(|arguments| fit.command(arguments).stderr(Stdio::piped()).spawn().unwrap());
    let outputs = children.map(|child| child.wait_with_output().unwrap());
    let succeeded = outputs.iter().filter(|output| output.status.success()).count();
    assert_eq!(succeeded, 1, "{outputs:?}");
    assert_eq!(fit.path(MODEL).exists(), outputs[0].status.success());
    assert_eq!(fit.account()["spent"]["epsilon"].as_f64(), Some(fit.cost));
}

/// The folder of a run that died when all was released and synchronised and the model was not there yet, and the number of the
/// call that it died at.
pub(crate) fn stopped_before_the_model(fit: &Fit, shim: &Path) -> (Folder, u64) {
    let begun = fit.folder();
    let mut before = None;
    for at in 1.. {
        fit.put(&begun);
        let text = at.to_string();
        let output = fit.shimmed(shim, &fit.fit(), &[("SHIM_HOW", "kill"), ("SHIM_AT", &text)]);
        assert!(!output.status.success(), "the model was never written");
        let folder = fit.folder();
        if folder.contains_key(MODEL) {
            break;
        }
        before = Some((folder, at));
    }
    let (folder, at) = before.unwrap();
    fit.put(&folder);
    let written = folder[JOURNAL].windows(9).any(|part| {
        part == [&[0u8][..], &(fit.releases[0].len() as u32).to_le_bytes(), &fit.releases[0].as_bytes()[..4]]
            .concat()
    });
    assert!(written, "nothing was journalled, and nothing is shown");
    (folder, at)
}
