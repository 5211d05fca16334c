//! Results in a file, a line of JSON each, so that a run that was stopped goes on where it was.

use super::{Figures, Job, UciError};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A job that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What was fitted.
    pub job: Job,
    /// How well.
    pub figures: Figures,
}

/// The outcomes so far.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    outcomes: Vec<Outcome>,
}

impl Store {
    /// Opens a file of outcomes, or makes one. Lines that are none, such as a last one that was cut short, are passed over.
    ///
    /// # Errors
    /// [`UciError::File`].
    pub fn open(path: &Path) -> Result<Self, UciError> {
        let failed = |error: std::io::Error| UciError::File { file: path.to_owned(), kind: error.kind() };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        let text = std::fs::read_to_string(path).map_err(failed)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        let outcomes = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { path: path.to_owned(), file, outcomes })
    }

    /// The outcome of a job, if it is done.
    #[must_use]
    pub fn find(&self, job: &Job) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.job == *job)
    }

    /// Adds an outcome, to the file first.
    ///
    /// # Errors
    /// [`UciError::File`].
    pub fn push(&mut self, outcome: Outcome) -> Result<(), UciError> {
        let failed = |error: std::io::Error| UciError::File { file: self.path.clone(), kind: error.kind() };
        let mut line = serde_json::to_vec(&outcome).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)?;
        self.outcomes.push(outcome);
        Ok(())
    }
}
