//! Scores on test records, in a file of their own beside the model.
//!
//! # Privacy
//! Scores are exact statistics of the test records. No release covers them and no budget pays for them, so they do not
//! belong into a file that carries a receipt, unless the test records are declared public: then receipt, card and report
//! state that.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use reticent_core::model::Score;
use reticent_files::Access;
use reticent_tables::{ModelFault, ModelFile, Source};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::saved::SavedModel;

/// What must be stated with every score.
pub const SCORES_NOTE: &str =
    "NOT PRIVATE: the scores are exact statistics of the test records, without noise; no receipt covers them";
/// The same where the test records were declared public.
pub const PUBLIC_NOTE: &str = "the scores are exact statistics of test records that were declared public; the receipt does not cover them";

/// The file.
#[derive(Serialize, Deserialize)]
struct Scores {
    note: String,
    /// The checksum of the model file that they are about.
    model_checksum: String,
    test: String,
    score: Score,
}

/// Where a fit with test records puts their scores: beside the model.
#[must_use]
pub fn scores_beside(out: &Path) -> PathBuf {
    out.with_extension("scores.json")
}

/// Writes the scores of the model in a file beside it, readable by its owner alone.
pub(crate) fn write(out: &Path, test: String, score: &Score) -> Result<(), Error> {
    let model_checksum = ModelFile::read(out)?.checksum().map_err(damaged)?;
    let scores = Scores { note: SCORES_NOTE.to_owned(), model_checksum, test, score: score.clone() };
    let file = scores_beside(out);
    let text = serde_json::to_string_pretty(&scores).map_err(|error| {
        Error::data(format!("the scores cannot be written: {error}"), "check the test records")
    })?;
    reticent_files::write(&file, Access::Owner, format!("{text}\n").as_bytes())
        .map_err(|error| Error::not_written(&file, &error))
}

fn damaged(fault: ModelFault) -> Error {
    Error::of(ErrorKind::Data, &fault, "fit the model again")
}

/// Reads a model with the scores that a fit has written beside it.
///
/// # Errors
/// [`Error`] if either cannot be read, or the scores are of another model.
pub fn load_with_scores(model: &Path, scores: &Path) -> Result<(SavedModel, Score), Error> {
    let wrong = |why: &str| {
        let hint = "give the .scores.json file that the fit with `test` wrote beside this model";
        Error::data(format!("{}: {why}", scores.display()), hint)
    };
    let file = ModelFile::read(model)?;
    let text = std::fs::read_to_string(scores)
        .map_err(|error| wrong(&format!("cannot be read: {error}")).with_kind(ErrorKind::Io))?;
    let found: Scores =
        serde_json::from_str(&text).map_err(|error| wrong(&format!("these are no scores: {error}")))?;
    if found.model_checksum != file.checksum().map_err(damaged)? {
        return Err(wrong("these scores are of another model"));
    }
    Ok((SavedModel::of_file(file, model)?, found.score))
}

/// Refuses test files that are training files too, before anything is spent: scores on the records of the fit are too
/// good.
///
/// # Privacy
/// Files are compared by where they are (path after links, device and inode), never by what is in them. A comparison of
/// contents would make the exit code a function of the private records: whoever may choose the test file could guess the
/// whole table but one record, and learn from one refusal what that record is, at no charge. So a copy of the training
/// file is accepted, and its scores are too good.
pub(crate) fn refuse_training_files(training: &Source, tests: &Source) -> Result<(), Error> {
    let known: HashSet<Place> = training.files().iter().flat_map(|file| places(file)).collect();
    match tests.files().iter().find(|file| places(file).iter().any(|place| known.contains(place))) {
        None => Ok(()),
        Some(file) => {
            let hint = "give records that the model is not fitted to, or leave `test` out";
            Err(Error::settings(format!("{}: this is a training file too", file.display()), hint))
        }
    }
}

/// Where a file is. What cannot be found out is no place: the file is opened later, and that fails then.
#[derive(PartialEq, Eq, Hash)]
enum Place {
    Path(PathBuf),
    #[cfg(unix)]
    Inode(u64, u64),
}

fn places(file: &Path) -> Vec<Place> {
    let mut places: Vec<Place> = std::fs::canonicalize(file).ok().map(Place::Path).into_iter().collect();
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(file) {
        use std::os::unix::fs::MetadataExt as _;
        places.push(Place::Inode(metadata.dev(), metadata.ino()));
    }
    places
}
