//! Plays all games and writes the table of results: `cargo xtask audit` calls it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use reticent_audit::report::{markdown, today};
use reticent_audit::row::Row;
use reticent_audit::suite::Suite;

const USAGE: &str = "usage: reticent-audit --program PATH-OF-RETICENT [--out FILE] [--short]";

struct Options {
    program: PathBuf,
    out: Option<PathBuf>,
    short: bool,
}

fn options() -> Option<Options> {
    let (mut program, mut out, mut short) = (None, None, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--program" => program = Some(PathBuf::from(words.next()?)),
            "--out" => out = Some(PathBuf::from(words.next()?)),
            "--short" => short = true,
            _ => return None,
        }
    }
    // Games are played in folders of their own.
    Some(Options { program: std::path::absolute(program?).ok()?, out, short })
}

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
fn main() -> ExitCode {
    let Some(Options { program, out, short }) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let suite = if short { Suite::short() } else { Suite::full() };
    let started = Instant::now();
    let show = |row: &Row| print!("{:7.1} s {}", started.elapsed().as_secs_f64(), row.markdown());
    let sections = match suite.play(&program, show) {
        Ok(sections) => sections,
        Err(failure) => {
            eprintln!("error: {failure}");
            return ExitCode::FAILURE;
        }
    };
    let text = markdown(&sections, &today(), started.elapsed().as_secs_f64());
    if let Some(out) = out.as_deref()
        && let Err(error) = std::fs::write(out, text)
    {
        eprintln!("error: {}: {error}", Path::display(out));
        return ExitCode::FAILURE;
    }
    let refuted: Vec<&Row> =
        sections.iter().flat_map(|section| &section.rows).filter(|row| row.refuted()).collect();
    for row in &refuted {
        eprintln!("refuted: {}, {}", row.game, row.adjacency);
    }
    if refuted.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
