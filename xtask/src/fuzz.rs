//! `cargo xtask fuzz`
//!
//! Builds the targets with the stable compiler and LLVM's coverage pass, as cargo-fuzz does, which need not be installed. The flag of
//! the pass requires `RUSTC_BOOTSTRAP` on a stable compiler.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{Outcome, root};

/// Limits for one input: seconds, and megabytes of memory.
const LIMITS: [&str; 2] = ["-timeout=60", "-rss_limit_mb=2048"];

/// Counts every edge of the control flow and traces comparisons, so that magic numbers are found.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Command-line options.
struct Options {
    seconds: u64,
    target: Option<String>,
    seed: u32,
}

fn parse(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options { seconds: 0, target: None, seed: 0 };
    for pair in arguments.chunks(2) {
        let wrong = || format!("{}: not an option with a value that can be used", pair.join(" "));
        match *pair {
            ["--minutes", minutes] => {
                let minutes: f64 = minutes.parse().map_err(|_| wrong())?;
                options.seconds = (60.0 * minutes).ceil() as u64;
            }
            ["--target", target] => options.target = Some(target.to_owned()),
            ["--seed", seed] => options.seed = seed.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    // libFuzzer treats a time of 0 as unlimited.
    if options.seconds == 0 { Err("--minutes must be above 0".to_owned()) } else { Ok(options) }
}

/// Builds the targets and runs each for the given time, one per core in parallel.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let options = parse(arguments)?;
    let folder = root().join("fuzz");
    let mut targets = targets(&folder)?;
    if let Some(only) = &options.target {
        targets.retain(|target| target == only);
        if targets.is_empty() {
            return Err(format!("there is no target {only:?} in fuzz/fuzz_targets"));
        }
    }
    let programs = build(&folder)?;
    let corpora = folder.join("target/corpus");
    // Removed at the end, since fuzzers leave their files behind.
    let scratch = Path::new("/dev/shm").join(format!("reticent-fuzz-{}", std::process::id()));
    let _ = std::fs::create_dir(&scratch);
    let outcome = Fuzzing { folder, programs, corpora, scratch: scratch.clone(), options }.all(&targets);
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

/// The names of all targets, in order.
fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let entries =
        std::fs::read_dir(folder.join("fuzz_targets")).map_err(|error| format!("fuzz_targets: {error}"))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// Builds all targets and returns their folder.
fn build(folder: &Path) -> Result<PathBuf, String> {
    let version = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc states no host")?;
    // With an explicit target, the flags do not apply to build scripts and macros, which are not linked to libFuzzer.
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--target", host]).current_dir(folder);
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", COVERAGE);
    crate::run(&mut command)?;
    Ok(folder.join("target").join(host).join("release"))
}

struct Fuzzing {
    folder: PathBuf,
    programs: PathBuf,
    /// Growing corpora of inputs that reach new code; not part of the repository.
    corpora: PathBuf,
    scratch: PathBuf,
    options: Options,
}

impl Fuzzing {
    fn all(&self, targets: &[String]) -> Outcome {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut found = Vec::new();
        for together in targets.chunks(cores) {
            let started: Result<Vec<Child>, String> =
                together.iter().map(|target| self.start(target)).collect();
            for (target, mut child) in together.iter().zip(started?) {
                let status = child.wait().map_err(|error| format!("{target}: {error}"))?;
                println!("{target:<12} {}", self.summary(target));
                if !status.success() {
                    found.push(target.as_str());
                }
            }
        }
        if found.is_empty() {
            return Ok(());
        }
        found.iter().for_each(|target| self.explain(target));
        Err(format!("fuzzing found inputs that break: {}", found.join(", ")))
    }

    fn log(&self, target: &str) -> PathBuf {
        self.corpora.join(format!("{target}.log"))
    }

    fn start(&self, target: &str) -> Result<Child, String> {
        let wrong = |error: std::io::Error| format!("{target}: {error}");
        let artifacts = self.folder.join("artifacts").join(target);
        let kept = self.folder.join("corpus").join(target);
        let corpus = self.corpora.join(target);
        for folder in [&artifacts, &kept, &corpus] {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let log = File::create(self.log(target)).map_err(wrong)?;
        let mut command = Command::new(self.programs.join(target));
        command
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
    fn printed(&self, target: &str) -> String {
        std::fs::read(self.log(target))
            .map_or(String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Number of inputs, covered edges and peak memory.
    fn summary(&self, target: &str) -> String {
        let printed = self.printed(target);
        let stat = |name: &str| {
            let line = printed.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            line.map_or("?", |rest| rest.trim_start_matches(':').trim()).to_owned()
        };
        let reached = printed.lines().rev().find_map(|line| line.split("cov: ").nth(1)?.split(' ').next());
        let (inputs, memory) = (stat("number_of_executed_units"), stat("peak_rss_mb"));
        format!("{inputs} inputs, {} edges, at most {memory} MB", reached.unwrap_or("?"))
    }

    /// Prints the end of the log, and how to reproduce it.
    fn explain(&self, target: &str) {
        let printed = self.printed(target);
        let lines: Vec<&str> = printed.lines().collect();
        eprintln!(
            "\n{target}: the end of {}\n{}",
            self.log(target).display(),
            lines[lines.len().saturating_sub(40)..].join("\n")
        );
        eprintln!("again: {} FILE, with the file named above", self.programs.join(target).display());
    }
}
