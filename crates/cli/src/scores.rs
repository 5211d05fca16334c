//! Scores on test records, in a file of their own beside the model.
//!
//! # Privacy
//! Scores are exact statistics of the test records. No release covers them and no budget pays for them, so they do not
//! belong into a file that carries a receipt, unless the test records are declared public: then receipt, card and report
//! state that.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use reticent_files::Access;
use reticent_models::Score;
use reticent_tables::{ModelFile, Source};
use serde::{Deserialize, Serialize};

use crate::evaluate;
use crate::output::{self, Failure};

/// The file.
#[derive(Serialize, Deserialize)]
struct Scores {
    note: String,
    /// The checksum of the model file that they are about.
    model_checksum: String,
    test: String,
    score: Score,
}

/// Where the scores of a model go.
pub(crate) fn beside(out: &Path) -> PathBuf {
    out.with_extension("scores.json")
}

/// Writes the scores of the model in a file beside it, readable by its owner alone.
pub(crate) fn write(out: &Path, test: &Path, score: &Score) -> Result<(), Failure> {
    let scores = Scores {
        note: evaluate::NOTE.to_owned(),
        model_checksum: checksum(&ModelFile::read(out)?)?,
        test: test.display().to_string(),
        score: score.clone(),
    };
    let file = beside(out);
    reticent_files::write(&file, Access::Owner, output::json(&scores).as_bytes())
        .map_err(|error| output::not_written(&file, &error))
}

fn checksum(model: &ModelFile) -> Result<String, Failure> {
    model.checksum().map_err(|fault| Failure::from_error(&fault, "fit the model again").not_usage())
}

/// Reads the scores of this model.
pub(crate) fn read(file: &Path, model: &ModelFile) -> Result<Score, Failure> {
    let wrong = |why: &str| {
        let hint = "give the .scores.json file that `fit --test` wrote beside this model";
        Failure::failed(format!("{}: {why}", file.display()), Some(hint.to_owned()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let scores: Scores =
        serde_json::from_str(&text).map_err(|error| wrong(&format!("these are no scores: {error}")))?;
    if scores.model_checksum != checksum(model)? {
        return Err(wrong("these scores are of another model"));
    }
    Ok(scores.score)
}

/// Refuses test files that are training files too, before anything is spent: scores on the records of the fit are too
/// good.
///
/// # Privacy
/// Files are compared by where they are (path after links, device and inode), never by what is in them. A comparison of
/// contents would make the exit code a function of the private records: whoever may choose the test file could guess the
/// whole table but one record, and learn from one refusal what that record is, at no charge. So a copy of the training
/// file is accepted, and its scores are too good.
pub(crate) fn refuse_training_files(training: &Source, tests: &Source) -> Result<(), Failure> {
    let known: HashSet<Place> = training.files().iter().flat_map(|file| places(file)).collect();
    match tests.files().iter().find(|file| places(file).iter().any(|place| known.contains(place))) {
        None => Ok(()),
        Some(file) => {
            let hint = "give records that the model is not fitted to, or leave --test out";
            Err(Failure::usage(format!("{}: this is a training file too", file.display()), hint))
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
