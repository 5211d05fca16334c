//! What a stopped run leaves behind, so that it can go on: the releases it has made.
//!
//! All inference is done on releases, so a run that is given them again is where it was. Only what is still missing is asked of the
//! records, with fresh noise.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::output::{self, Failure};
use crate::watched::{Recorded, Secret};

/// Of the file.
const FORMAT: u64 = 1;

/// A run that was stopped. All of it is public but the secret of the ledger.
#[derive(Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    format: u64,
    /// What is fitted to what, with which plan: the run that goes on must be the same.
    of: String,
    /// Its number in the ledger, and what the ledger wants to see.
    pub(crate) run: Option<Secret>,
    pub(crate) releases: Vec<Recorded>,
}

/// Where the checkpoint of a model goes.
pub(crate) fn beside(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".checkpoint");
    PathBuf::from(name)
}

impl Checkpoint {
    pub(crate) fn new(of: &Value, releases: Vec<Recorded>, run: Option<Secret>) -> Self {
        Self { format: FORMAT, of: of.to_string(), run, releases }
    }

    /// Reads that of the same run.
    pub(crate) fn read(file: &Path, of: &Value) -> Result<Self, Failure> {
        let wrong = |why: &str, hint: &str| {
            let message = format!("{}: {why}", file.display());
            Failure::failed(message, Some(hint.to_owned()))
        };
        let text = std::fs::read_to_string(file)
            .map_err(|_| wrong("there is no checkpoint to go on from", "leave --resume out to start anew"))?;
        let read: Self = serde_json::from_str(&text)
            .ok()
            .filter(|read: &Self| read.format == FORMAT)
            .ok_or_else(|| wrong("this is no checkpoint that can be read", "start anew without --resume"))?;
        let of = of.to_string();
        if read.of != of {
            let hint = "give the options, schema and data that the run was stopped with";
            return Err(wrong("the checkpoint is of another run", hint));
        }
        Ok(read)
    }

    /// Writes it in one move, so that there is never half of one.
    pub(crate) fn write(&self, file: &Path) -> Result<(), Failure> {
        let trial = file.with_extension(format!("checkpoint.{}", std::process::id()));
        let text = serde_json::to_string(self).expect("a checkpoint is numbers and texts");
        let written = std::fs::File::create(&trial)
            .and_then(|mut to| to.write_all(text.as_bytes()).and_then(|()| to.sync_all()))
            .and_then(|()| std::fs::rename(&trial, file));
        written.map_err(|error| output::not_written(file, &error))
    }
}
