//! `cargo xtask fuzz`
//!
//! Builds the target of all readers with the stable compiler and LLVM's coverage pass, as cargo-fuzz does, which need not be installed. The flag
//! of the pass, and flags for single packages, require `RUSTC_BOOTSTRAP` on a stable compiler.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Outcome, root};

/// Limits for one input: seconds, and megabytes of memory.
const LIMITS: [&str; 2] = ["-timeout=60", "-rss_limit_mb=2048"];

/// Counts every edge of the control flow and traces comparisons, so that magic numbers are found.
const COVERAGE: [&str; 7] = [
    "--cfg",
    "fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The packages that handle the bytes of an input. Edges elsewhere, as in matrix products, would only make the build slow. A package with a
/// build script cannot be covered: the flags would apply to that too, which is not linked to libFuzzer.
const COVERED: [&str; 15] = [
    "reticent-fuzz",
    "reticent-mutations",
    "reticent-cli",
    "reticent",
    "reticent-core",
    "reticent-files",
    "reticent-ledger",
    "reticent-tables",
    "arrow-array",
    "arrow-data",
    "arrow-ipc",
    "parquet",
    "safetensors",
    "toml",
    "toml_parser",
];

/// Command-line options.
struct Options {
    seconds: u64,
    reader: Option<String>,
    seed: u32,
}

fn parse(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: 0, reader: None, seed: 0 };
    for pair in arguments.chunks(2) {
        let wrong = || format!("{}: not an option with a value that can be used", pair.join(" "));
        match *pair {
            ["--minutes", minutes] => {
                let minutes: f64 = minutes.parse().map_err(|_| wrong())?;
                options.seconds = (60.0 * minutes).ceil() as u64;
            }
            ["--reader", reader] => options.reader = Some(reader.to_owned()),
            ["--seed", seed] => options.seed = seed.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    // libFuzzer treats a time of 0 as unlimited.
    if options.seconds == 0 { Err("--minutes must be above 0".to_owned()) } else { Ok(options) }
}

/// Builds the target and runs it with each reader for the given time, one per core in parallel.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let options = parse(arguments)?;
    let folder = root().join("fuzz");
    let program = build(&folder)?;
    let mut readers = readers(&program)?;
    if let Some(only) = &options.reader {
        readers.retain(|reader| reader == only);
        if readers.is_empty() {
            return Err(format!("there is no reader {only:?} in crates/mutations"));
        }
    }
    let corpora = folder.join("target/corpus");
    // Removed at the end, since fuzzers leave their files behind.
    let scratch = Path::new("/dev/shm").join(format!("reticent-fuzz-{}", std::process::id()));
    let _ = std::fs::create_dir(&scratch);
    let outcome = Fuzzing { folder, program, corpora, scratch: scratch.clone(), options }.all(&readers);
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

/// The names of all readers, which the program prints if none is named.
fn readers(program: &Path) -> Result<Vec<String>, String> {
    let output = Command::new(program).env_remove("RETICENT_READER").stderr(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let names: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    if names.is_empty() { Err(format!("{} names no reader", program.display())) } else { Ok(names) }
}

/// Builds the target and returns its path.
fn build(folder: &Path) -> Result<PathBuf, String> {
    let version = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc states no host")?;
    // With an explicit target, macros and what they need are built without the flags.
    let mut command = Command::new("cargo");
    command
        .args(["build", "--release", "--locked", "--target", host, "-Zprofile-rustflags"])
        .current_dir(folder);
    for package in COVERED {
        command.args(["--config", &format!("profile.release.package.{package}.rustflags = {COVERAGE:?}")]);
    }
    command.env("RUSTC_BOOTSTRAP", "1");
    crate::run(&mut command)?;
    Ok(folder.join("target").join(host).join("release/readers"))
}

struct Fuzzing {
    folder: PathBuf,
    program: PathBuf,
    /// Growing corpora of inputs that reach new code; not part of the repository.
    corpora: PathBuf,
    scratch: PathBuf,
    options: Options,
}

impl Fuzzing {
    fn all(&self, readers: &[String]) -> Outcome {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut found = Vec::new();
        for together in readers.chunks(cores) {
            let started: Result<Vec<Child>, String> =
                together.iter().map(|reader| self.start(reader)).collect();
            for (reader, mut child) in together.iter().zip(started?) {
                let status = child.wait().map_err(|error| format!("{reader}: {error}"))?;
                println!("{reader:<12} {}", self.summary(reader));
                if !status.success() {
                    found.push(reader.as_str());
                }
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        found.iter().for_each(|reader| self.explain(reader));
        Err(format!("fuzzing found inputs that break: {}", found.join(", ")))
    }

    fn log(&self, reader: &str) -> PathBuf {
        self.corpora.join(format!("{reader}.log"))
    }

    fn start(&self, reader: &str) -> Result<Child, String> {
        let wrong = |error: std::io::Error| format!("{reader}: {error}");
        let artifacts = self.folder.join("artifacts").join(reader);
        let kept = self.folder.join("corpus").join(reader);
        let corpus = self.corpora.join(reader);
        for folder in [&artifacts, &kept, &corpus] {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let log = File::create(self.log(reader)).map_err(wrong)?;
        let mut command = Command::new(&self.program);
        command
            .env("RETICENT_READER", reader)
            .env("RETICENT_SCRATCH", &self.scratch)
            .env("RETICENT_SEEDS", &corpus)
            .arg(corpus)
            .arg(kept)
            .args(LIMITS);
        command
            .arg(format!("-max_total_time={}", self.options.seconds))
            .arg(format!("-seed={}", self.options.seed));
        command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg("-print_final_stats=1");
        command.arg("-max_len=65536").stdout(Stdio::null()).stderr(log).current_dir(&self.folder);
        command.spawn().map_err(wrong)
    }

    /// The log of libFuzzer.
    fn printed(&self, reader: &str) -> String {
        std::fs::read(self.log(reader))
            .map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Number of inputs, covered edges and peak memory.
    fn summary(&self, reader: &str) -> String {
        let printed = self.printed(reader);
        let stat = |name: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            line.map_or("?", |rest| rest.trim_start_matches(':').trim()).to_owned()
        };
        let reached = printed.lines().rev().find_map(|line| line.split("cov: ").nth(1)?.split(' ').next());
        let (inputs, memory) = (stat("number_of_executed_units"), stat("peak_rss_mb"));
        format!("{inputs} inputs, {} edges, at most {memory} MB", reached.unwrap_or("?"))
    }

    /// Prints the end of the log, and how to reproduce it.
    fn explain(&self, reader: &str) {
        let printed = self.printed(reader);
        let lines: Vec<&str> = printed.lines().collect();
        eprintln!(
            "\n{reader}: the end of {}\n{}",
            self.log(reader).display(),
            lines[lines.len().saturating_sub(40)..].join("\n")
        );
        let program = self.program.display();
        eprintln!("again: RETICENT_READER={reader} {program} FILE, with the file named above");
    }
}
