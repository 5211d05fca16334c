//! Distinguishing games through the command line: from a file to the exit code, the output and the written files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reticent_core::budget::{Adjacency, Privacy};
use reticent_tables::ModelFile;
use serde_json::Value;

use crate::case::Case;
use crate::clock::of_children;
use crate::event::Observation;
use crate::failure::Failure;
use crate::game::{Effort, Games};
use crate::library::code;
use crate::row::{Claim, Row};

/// Maximum of numbers of a model file in an observation.
const NUMBERS: usize = 48;
/// File names within a folder, equal for both data sets, since messages contain them.
const NAMES: [&str; 3] = ["data.csv", "schema.toml", "model.reticent"];

/// A data file with a command that fits a model to it.
struct Fit<'a> {
    program: &'a Path,
    folder: tempfile::TempDir,
    arguments: Vec<String>,
}

impl<'a> Fit<'a> {
    fn new(
        program: &'a Path,
        case: &Case,
        file: &[u8],
        (privacy, records): (Privacy, usize),
    ) -> Result<Self, Failure> {
        let folder = scratch()?;
        fs::write(folder.path().join(NAMES[0]), file)?;
        fs::write(folder.path().join(NAMES[1]), &case.schema)?;
        let [data, schema, out] = NAMES;
        let (epsilon, delta) = (privacy.epsilon(), privacy.delta());
        let mut arguments = format!(
            "fit {} --data {data} --schema {schema} --out {out} --epsilon {epsilon} --delta {delta:e} --json",
            case.model
        );
        for (name, value) in &case.settings {
            arguments.push_str(&format!(" --set {name}={value}"));
        }
        if privacy.adjacency() == Adjacency::AddRemove {
            arguments.push_str(&format!(" --adjacency add-remove --records {records}"));
        }
        let arguments =
            arguments.split(' ').chain(case.arguments.iter().copied()).map(str::to_owned).collect();
        Ok(Self { program, folder, arguments })
    }

    /// Runs the command and observes exit code, output and written files, which are then removed.
    fn play(&self) -> Result<(Observation, Option<f64>), Failure> {
        let mut command = Command::new(self.program);
        // Results do not depend on threads, which take time to start.
        command.args(&self.arguments).current_dir(self.folder.path()).env("RAYON_NUM_THREADS", "1");
        let output = command.output()?;
        let mut observation = vec![output.status.code().map_or(-1.0, f64::from)];
        observation.push(code(&String::from_utf8_lossy(&output.stderr)));
        let mut printed: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let claimed = printed["receipt"]["guarantee"]["epsilon"]["upper"].as_f64();
        let projections = printed["receipt"]["projections"].as_f64().unwrap_or(-1.0);
        let records = printed["receipt"]["records"].as_f64().unwrap_or(-1.0);
        printed["receipt"]["projections"] = Value::Null;
        // The rest of the output must be equal for both data sets.
        observation.extend([projections, records, code(&printed.to_string())]);
        self.written(&mut observation)?;
        Ok((observation, claimed))
    }

    /// The epsilon of a receipt. Required, since a program that always fails would pass.
    fn claim(&self) -> Result<f64, Failure> {
        // A fit may fail by chance, if noise makes the posterior improper.
        for _ in 0..20 {
            if let (_, Some(epsilon)) = self.play()? {
                return Ok(epsilon);
            }
        }
        Err(Failure::new(format!("no receipt from `reticent {}`", self.arguments.join(" "))))
    }

    fn written(&self, observation: &mut Observation) -> Result<(), Failure> {
        let mut names = Vec::new();
        let (mut size, mut numbers) = (0, Vec::new());
        for entry in fs::read_dir(self.folder.path())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == NAMES[0] || name == NAMES[1] {
                continue;
            }
            size += entry.metadata()?.len();
            if name == NAMES[2] {
                let ModelFile { header, arrays } = ModelFile::read(entry.path())?;
                let values = arrays.values().flat_map(|array| array.values().iter().copied());
                numbers.push(arrays.values().map(|array| array.values().len()).sum::<usize>() as f64);
                numbers.push(code(&format!("{}{}", header.plan, header.bounds)));
                numbers.extend(values.take(NUMBERS));
            }
            names.push(name);
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        names.sort();
        observation.extend([code(&names.join("\n")), size as f64]);
        observation.extend(numbers);
        Ok(())
    }
}

/// A temporary folder, in memory where possible: the audit writes thousands of small files.
fn scratch() -> Result<tempfile::TempDir, Failure> {
    let memory = PathBuf::from("/dev/shm");
    Ok(if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? })
}

/// Two files that differ in one line, and the public number of records.
pub struct Files {
    /// The first file.
    pub first: Vec<u8>,
    /// The second.
    pub second: Vec<u8>,
    /// The public number of records under add/remove.
    pub records: usize,
}

impl Files {
    /// Ordinary lines of a case with `line` in their middle, and the same with `instead` or nothing in its place.
    #[must_use]
    pub fn with_line(case: &Case, line: &[u8], instead: Option<&[u8]>) -> Self {
        let lines = case.ordinary(case.records - 1);
        let file = |middle: Option<&[u8]>| {
            let mut bytes = format!("{}\n", case.header).into_bytes();
            for (n, one) in lines.iter().enumerate() {
                if let (true, Some(middle)) = (n == lines.len() / 2, middle) {
                    bytes.extend_from_slice(middle);
                    bytes.push(b'\n');
                }
                bytes.extend_from_slice(one.as_bytes());
                bytes.push(b'\n');
            }
            bytes
        };
        Self { first: file(Some(line)), second: file(instead), records: case.records }
    }
}

/// Games of a program on two files: the event may depend on its exit code, its output and its files.
///
/// # Errors
/// [`Failure`] if the program cannot be run.
pub fn play(
    program: &Path,
    (case, what): (&Case, &str),
    files: &Files,
    privacy: Privacy,
    effort: &Effort,
) -> Result<Row, Failure> {
    let about = (privacy, files.records);
    let (first, second) =
        (Fit::new(program, case, &files.first, about)?, Fit::new(program, case, &files.second, about)?);
    let claimed = second.claim()?;
    let games = Games::play(effort, of_children, || Ok(first.play()?.0), || Ok(second.play()?.0))?;
    let claim = Claim { epsilon: claimed, delta: privacy.delta(), mu: None };
    Ok(games.row(format!("{}: {what}", case.name), privacy.adjacency(), claim))
}

/// Malformed lines by name: for a case of one column, and for one of three.
#[must_use]
pub fn malformed_lines(columns: usize) -> Vec<(&'static str, Vec<u8>)> {
    let long = vec![b'x'; (1 << 20) + 10];
    let mut lines: Vec<(&str, Vec<u8>)> = vec![
        ("a blank line", Vec::new()),
        ("a stray quote", b"\"x".to_vec()),
        ("a quote within", b"x\"y".to_vec()),
        ("three quotes", b"\"\"\"".to_vec()),
        ("a bare carriage return", b"x\ry".to_vec()),
        ("nothing but a carriage return", b"\r".to_vec()),
        ("a value that is not listed", b"w".to_vec()),
        ("too many fields", b"x,x,x,x,x".to_vec()),
        ("a line of more than 1 MiB", long),
        ("no UTF-8", b"\xff\xfe".to_vec()),
        ("a NUL byte", b"\0".to_vec()),
        ("a byte order mark", b"\xef\xbb\xbfx".to_vec()),
    ];
    if columns == 3 {
        let fields: [(&str, &str); 10] = [
            ("a missing target", "0.1,0.2,"),
            ("a target that is no number", "0.1,0.2,much"),
            ("a missing value", ",0.2,0.1"),
            ("a value that is no number", "NaN,0.2,0.1"),
            ("an infinite value", "inf,0.2,0.1"),
            ("a value beyond all numbers", "1e999,0.2,0.1"),
            ("too few fields", "0.1,0.2"),
            ("another delimiter", "0.1;0.2;0.1"),
            ("a quote that opens the first field", "\"0.1,0.2,0.1"),
            ("a quote that opens the last field", "0.1,0.2,\"0.1"),
        ];
        lines.retain(|(name, _)| ["a blank line", "a bare carriage return", "no UTF-8"].contains(name));
        lines.extend(fields.map(|(name, line)| (name, line.as_bytes().to_vec())));
    }
    lines
}
