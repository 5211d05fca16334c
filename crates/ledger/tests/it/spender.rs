//! Fixtures: a fresh ledger, a request, and spending processes.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reticent_accounting::{Event, Sampling, gaussian};
use reticent_ledger::{Amount, Ledger, Request};
use tempfile::TempDir;

pub const SCHEMA: &str = "a1b2";
pub const ADJACENCY: &str = "replace-one";

pub fn fresh() -> (TempDir, PathBuf, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.ledger");
    let ledger = Ledger::create(&path).unwrap();
    (folder, path, ledger)
}

/// A fresh ledger with one data set, "trial".
pub fn with_cap(epsilon: f64, delta: f64) -> (TempDir, PathBuf, Ledger) {
    let (folder, path, mut ledger) = fresh();
    ledger.add_data_set("trial", SCHEMA, Amount::new(epsilon, delta), ADJACENCY).unwrap();
    (folder, path, ledger)
}

/// A request without stated releases: by basic composition.
pub fn request(epsilon: f64, delta: f64) -> Request {
    Request {
        amount: Amount::new(epsilon, delta),
        schema_fingerprint: SCHEMA.into(),
        adjacency: ADJACENCY.into(),
        purpose: "a test".into(),
        plan_json: r#"{"releases": 2}"#.into(),
        releases: None,
    }
}

/// A request for one Gaussian release of exactly this cost.
pub fn gaussian_request(epsilon: f64, delta: f64) -> Request {
    let multiplier = gaussian::noise_multiplier(epsilon, delta).unwrap();
    let event = Event::gaussian(multiplier, Sampling::None);
    let releases = reticent_ledger::Releases { event, deviation: 1e-30 };
    Request { releases: Some(releases), ..request(epsilon, delta) }
}

/// Runs the ignored test `name` of this binary as a process of its own, in `folder`, with an argument.
pub fn spawn(name: &str, folder: &Path, argument: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"])
        .env("LEDGER_TEST_FOLDER", folder)
        .env("LEDGER_TEST_ARGUMENT", argument.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The arguments of [`spawn`]; `None` when the ignored tests are run directly.
pub fn spawned() -> Option<(PathBuf, u64)> {
    let folder = std::env::var_os("LEDGER_TEST_FOLDER")?;
    let argument = std::env::var("LEDGER_TEST_ARGUMENT").ok()?;
    Some((folder.into(), argument.parse().ok()?))
}

/// Record of the releases, independent of the ledger.
pub struct Releases(File);

impl Releases {
    pub fn append(folder: &Path, name: &str) -> Self {
        Self(OpenOptions::new().create(true).append(true).open(folder.join(name)).unwrap())
    }

    /// Durable when it returns.
    pub fn publish(&mut self, line: &str) {
        self.0.write_all(format!("{line}\n").as_bytes()).unwrap();
        self.0.sync_data().unwrap();
    }

    pub fn read(folder: &Path, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014), for seeded choices.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
