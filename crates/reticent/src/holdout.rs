//! Records that a fit does not use, for a private evaluation afterwards.
//!
//! # Privacy
//! Row `i` of the files is held out if a keyed pseudo-random function of `i` is below the share. The key comes from the operating system, and no
//! value of a record has a part in it. So, under replace-one adjacency:
//!
//! - Given the key, two neighbouring data sets have the same rows held out, in the same places. The row in which they differ is in the fit or in the
//!   evaluation, never in both: each has neighbouring inputs or the same ones, and its guarantee holds as it stands, whatever is known of the key.
//! - The number of rows in the fit follows from the key and the public number of rows, so that it may be stated.
//! - Both together cost a record the larger of the two, as long as the files have the same rows in the same order. Nothing here relies on that: charged to
//!   one data set of a ledger, their costs add up, which is enough even if a record was in both.
//!
//! Under add/remove adjacency one row more moves all that follow to other places, so neighbours differ in many rows once the key is known. The guarantee would
//! rest on the secrecy of the key, which is kept in a file. A holdout is refused there.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use reticent_core::budget::{Adjacency, Privacy};
use reticent_files::Access;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::card::HeldOut;
use crate::error::{Error, ErrorKind};
use crate::journal;

/// What the file states about itself.
const NOTE: &str = "Which records a fit has held out. SECRET: do not publish this file, and keep it as long as the model is to be evaluated.";

/// Blocks of rows, as a pass gives them.
type Each<'a> = &'a mut dyn FnMut(&[f64]) -> ControlFlow<()>;

/// Which records a fit has held out: a key, and the share of records. [`Fit::holdout`](crate::Fit::holdout) makes one and keeps it in a file beside
/// the model, for [`Evaluation::holdout`](crate::Evaluation::holdout).
#[derive(Clone, PartialEq)]
pub struct Holdout {
    key: [u8; 32],
    share: f64,
    rows: usize,
}

/// Its key is not shown.
impl fmt::Debug for Holdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holdout")
            .field("share", &self.share)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    note: String,
    key: String,
    share: f64,
    rows: usize,
}

/// The file beside a model.
#[must_use]
pub fn holdout_beside(model: &Path) -> PathBuf {
    let mut name = model.as_os_str().to_owned();
    name.push(".holdout");
    PathBuf::from(name)
}

impl Holdout {
    /// Reads the file that a fit has written.
    ///
    /// # Errors
    /// [`Error`] if it cannot be read or is none.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, Error> {
        let file = file.as_ref();
        let wrong = |why: &dyn fmt::Display| {
            let message = format!("{} cannot be used: {why}", file.display());
            Error::data(message, "give the file that the fit wrote beside the model")
        };
        let text = std::fs::read(file).map_err(|error| wrong(&error))?;
        // The text of the error could have a part of the key in it.
        let stored: Stored = serde_json::from_slice(&text).map_err(|_| wrong(&"it is no holdout file"))?;
        let key = key_of(&stored.key).ok_or_else(|| wrong(&"it is no holdout file"))?;
        check_share(stored.share)?;
        Ok(Self { key, share: stored.share, rows: stored.rows })
    }

    /// That of a fit: new, or that of the run that is resumed.
    pub(crate) fn of_fit(
        share: f64,
        rows: usize,
        privacy: Option<&Privacy>,
        out: Option<&Path>,
        resume: bool,
    ) -> Result<Self, Error> {
        let out = out.ok_or_else(|| {
            Error::settings(
                "a holdout needs a model file, which its key is kept beside",
                "name it with `out`",
            )
        })?;
        match privacy.map(Privacy::adjacency) {
            Some(Adjacency::ReplaceOne) => {}
            Some(Adjacency::AddRemove) => return Err(no_add_remove()),
            None => {
                let hint = "give the fit a privacy budget, or split the file";
                return Err(Error::settings("records are held out of private fits only", hint));
            }
        }
        let file = holdout_beside(out);
        if resume {
            let kept = Self::load(&file)?;
            kept.check_rows(rows)?;
            return if kept.share == share { Ok(kept) } else { Err(another(&file)) };
        }
        if file.exists() && out.exists() {
            let message =
                format!("{} exists, and states which records that model has not seen", file.display());
            return Err(Error::new(ErrorKind::Io, message, "name another model file, or remove both"));
        }
        Self::draw(share, rows)
    }

    fn draw(share: f64, rows: usize) -> Result<Self, Error> {
        check_share(share)?;
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            let message = format!("the operating system gives no random numbers: {error}");
            Error::new(ErrorKind::Io, message, "check it")
        })?;
        Ok(Self { key, share, rows })
    }

    /// Writes it beside a model: its owner alone may read it.
    pub(crate) fn write_beside(&self, out: &Path) -> Result<(), Error> {
        let key = journal::hex(&self.key);
        let stored = Stored { note: NOTE.to_owned(), key, share: self.share, rows: self.rows };
        let mut bytes = serde_json::to_vec_pretty(&stored).unwrap_or_default();
        bytes.push(b'\n');
        let file = holdout_beside(out);
        reticent_files::write(&file, Access::Owner, &bytes).map_err(|error| Error::not_written(&file, &error))
    }

    /// Whether a row is held out, by its place in the files.
    fn holds(&self, row: u64) -> bool {
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update(row.to_le_bytes());
        let digest = hash.finalize();
        let coin = digest.iter().take(8).fold(0, |coin: u64, byte| coin << 8 | u64::from(*byte));
        // The upper 53 bits, which a double holds exactly.
        ((coin >> 11) as f64) < self.share * (1_u64 << 53) as f64
    }

    /// The number of rows that are held out, and of those that are not.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let held = (0..self.rows as u64).filter(|row| self.holds(*row)).count();
        (held, self.rows - held)
    }

    /// The rows of a part, of all rows.
    pub(crate) fn part(&self, rows: &[f64], width: usize, part: Part) -> Vec<f64> {
        let mut kept = Vec::new();
        let mut first = 0;
        self.extend(&mut kept, rows, width, part, &mut first);
        kept
    }

    /// The places in the files of rows that are not held out, by their numbers among these, in increasing order.
    pub(crate) fn places(&self, wanted: &[usize]) -> Vec<usize> {
        let mut left = wanted.iter().copied().peekable();
        let fitted = (0..self.rows).filter(|row| !self.holds(*row as u64)).enumerate();
        fitted.filter(|(number, _)| left.next_if_eq(number).is_some()).map(|(_, place)| place).collect()
    }

    /// A pass over the rows of a part, by a pass over all rows.
    pub(crate) fn pass(&self, width: usize, part: Part, all: impl FnOnce(Each<'_>), each: Each<'_>) {
        let (mut first, mut kept) = (0, Vec::new());
        all(&mut |block| {
            kept.clear();
            self.extend(&mut kept, block, width, part, &mut first);
            each(&kept)
        });
    }

    fn extend(&self, kept: &mut Vec<f64>, block: &[f64], width: usize, part: Part, first: &mut u64) {
        for row in block.chunks_exact(width) {
            if self.holds(*first) == (part == Part::HeldOut) {
                kept.extend_from_slice(row);
            }
            *first += 1;
        }
    }

    /// Refuses files with another number of rows: their rows are in other places. It is public under replace-one adjacency.
    pub(crate) fn check_rows(&self, rows: usize) -> Result<(), Error> {
        if rows == self.rows {
            return Ok(());
        }
        let message = format!("there are {rows} records, and the fit had {}", self.rows);
        Err(Error::data(message, "give the files of the fit, unchanged and in the same order"))
    }

    /// Identifies the key without giving it away.
    pub(crate) fn digest(&self) -> String {
        let mut bytes = b"holdout".to_vec();
        bytes.extend(self.key);
        journal::hex(&journal::sha256(&bytes))
    }

    /// What the model file states: not the key.
    pub(crate) fn stated(&self) -> HeldOut {
        HeldOut { share: self.share, digest: self.digest() }
    }

    /// Refuses a model that was fitted to the records that are held out, or whose fit held out others.
    pub(crate) fn check_model(&self, held: Option<&HeldOut>) -> Result<(), Error> {
        if held.is_some_and(|held| held.digest == self.digest()) {
            return Ok(());
        }
        let message = "the model was not fitted with this holdout: it may have seen these records";
        Err(Error::data(message, "give the file that its fit wrote beside it"))
    }

    /// What a receipt states.
    pub(crate) fn assumption(&self, part: Part) -> String {
        let (held, fitted) = self.counts();
        match part {
            Part::Fitted => format!(
                "{held} of {} records were held out by secret coins, independent of their values: the other {fitted} were fitted to",
                self.rows
            ),
            Part::HeldOut => format!(
                "these are the {held} of {} records that a fit has held out: the files have the same rows in the same order as for the fit",
                self.rows
            ),
        }
    }
}

/// One of the two parts of the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Fitted,
    HeldOut,
}

/// The error of a holdout under add/remove adjacency.
pub(crate) fn no_add_remove() -> Error {
    let message = "under add-remove adjacency no records can be held out: one record more moves all others to other places";
    Error::settings(
        message,
        "choose replace-one for `adjacency`, or keep test records in a file of their own",
    )
}

/// The error of a holdout with privacy units: which rows are held out would depend on whose they are.
pub(crate) fn no_units() -> Error {
    Error::settings(
        "with a privacy unit no records can be held out: a unit could have rows on both sides",
        "keep the test records in a file of their own, with all rows of a unit on one side",
    )
}

fn another(file: &Path) -> Error {
    let message = format!("{} is of a run with another share", file.display());
    Error::data(message, "resume with the share of that run")
}

fn check_share(share: f64) -> Result<(), Error> {
    if (0.01..=0.9).contains(&share) {
        return Ok(());
    }
    Err(Error::settings(
        format!("the share of records to hold out must be from 0.01 to 0.9, not {share}"),
        "a fifth, 0.2, is common",
    ))
}

fn key_of(hex: &str) -> Option<[u8; 32]> {
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    let byte = |k: usize| u8::from_str_radix(&hex[2 * k..2 * k + 2], 16).ok();
    let key: Option<Vec<u8>> = (0..32).map(byte).collect();
    key?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(share: f64, rows: usize) -> Holdout {
        Holdout { key: [7; 32], share, rows }
    }

    /// The share has a standard error of (0.2 * 0.8 / 100,000)^(1/2) = 0.0013; five of them are exceeded once in a million keys. Pairs of neighbours are
    /// held out as often as independent coins are, 0.04, with a standard error below 0.001.
    #[test]
    fn coins_are_fair_and_independent() {
        let holdout = Holdout::draw(0.2, 100_000).unwrap();
        let coins: Vec<bool> = (0..100_000).map(|row| holdout.holds(row)).collect();
        let share = |count: usize| count as f64 / 100_000.0;
        assert!((share(coins.iter().filter(|held| **held).count()) - 0.2).abs() < 0.0065);
        assert!((share(coins.windows(2).filter(|pair| pair[0] && pair[1]).count()) - 0.04).abs() < 0.005);
        assert_eq!(holdout.counts().0, coins.iter().filter(|held| **held).count());
        assert_ne!(Holdout::draw(0.2, 10).unwrap().key, holdout.key);
    }

    /// The guarantee: each row is in one part, whatever its values and those of other rows are, in one block or in many.
    #[test]
    fn each_row_is_in_one_part_by_its_place_alone() {
        let holdout = fixed(0.3, 1000);
        let rows: Vec<f64> = (0..2000).map(f64::from).collect();
        let [fitted, held] = [Part::Fitted, Part::HeldOut].map(|part| holdout.part(&rows, 2, part));
        assert_eq!((held.len() / 2, fitted.len() / 2), holdout.counts());
        let mut all: Vec<f64> = fitted.iter().chain(&held).copied().collect();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, rows);
        // Another value of one row changes that row alone, in the part that it was in.
        let mut replaced = rows.clone();
        replaced[1000] = f64::NAN;
        for (part, before) in [(Part::Fitted, &fitted), (Part::HeldOut, &held)] {
            let after = holdout.part(&replaced, 2, part);
            let changed = before.iter().zip(&after).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
            assert_eq!(after.len(), before.len());
            assert_eq!(changed, usize::from(holdout.holds(500) == (part == Part::HeldOut)));
            let mut passed = Vec::new();
            let blocks = |each: Each<'_>| {
                let _ = rows.chunks(14).try_for_each(each);
            };
            holdout.pass(2, part, blocks, &mut |block| {
                passed.extend_from_slice(block);
                ControlFlow::Continue(())
            });
            assert_eq!(&passed, before);
        }
    }

    #[test]
    fn samples_are_found_by_their_numbers_among_the_fitted() {
        let holdout = fixed(0.3, 1000);
        let fitted: Vec<usize> = (0..1000).filter(|row| !holdout.holds(*row as u64)).collect();
        let wanted = [0, 1, 5, 300, fitted.len() - 1];
        assert_eq!(holdout.places(&wanted), wanted.map(|number| fitted[number]));
        assert!(holdout.places(&[]).is_empty());
    }

    #[test]
    fn the_file_is_read_back_and_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m.reticent");
        let holdout = fixed(0.25, 40);
        holdout.write_beside(&model).unwrap();
        let file = holdout_beside(&model);
        assert_eq!(Holdout::load(&file).unwrap(), holdout);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("SECRET: do not publish"), "{text}");
        assert!(!format!("{holdout:?}").contains('7'), "{holdout:?}");
        for bad in ["{}", "", &text.replace("0707", "07"), &text.replace("0.25", "2.5")] {
            std::fs::write(&file, bad).unwrap();
            assert!(Holdout::load(&file).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_model_of_a_holdout_is_evaluated_on_it() {
        let holdout = fixed(0.2, 100);
        assert!(holdout.check_model(Some(&holdout.stated())).is_ok());
        assert!(holdout.check_model(None).is_err());
        assert!(holdout.check_model(Some(&Holdout::draw(0.2, 100).unwrap().stated())).is_err());
        assert!(!holdout.digest().contains("0707"));
    }

    #[test]
    fn a_holdout_is_refused_where_it_is_not_sound() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m.reticent");
        let privacy = |adjacency| Privacy::new(1.0, 1e-6, adjacency).unwrap();
        let replace = privacy(Adjacency::ReplaceOne);
        let of = |share, privacy: Option<&Privacy>, out: Option<&Path>| {
            Holdout::of_fit(share, 100, privacy, out, false)
        };
        assert!(of(0.2, Some(&replace), Some(&model)).is_ok());
        assert!(of(0.2, Some(&privacy(Adjacency::AddRemove)), Some(&model)).is_err());
        assert!(of(0.2, None, Some(&model)).is_err());
        assert!(of(0.2, Some(&replace), None).is_err());
        for share in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(of(share, Some(&replace), Some(&model)).is_err(), "{share}");
        }
        // A resumed run has the key of the run that it resumes.
        assert!(Holdout::of_fit(0.2, 100, Some(&replace), Some(&model), true).is_err());
        fixed(0.2, 100).write_beside(&model).unwrap();
        let resumed = |share, rows| Holdout::of_fit(share, rows, Some(&replace), Some(&model), true);
        assert_eq!(resumed(0.2, 100).unwrap(), fixed(0.2, 100));
        assert!(resumed(0.3, 100).is_err() && resumed(0.2, 99).is_err());
        // The key of a model that is there is not replaced.
        std::fs::write(&model, "").unwrap();
        assert!(of(0.2, Some(&replace), Some(&model)).is_err());
    }
}
