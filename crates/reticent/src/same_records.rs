//! Whether records are known to a ledger under another name.
//!
//! A budget belongs to records, not to a name: the same file fitted under two names, or beside its ledger, spends twice what the ledger counts. So each charged
//! fit leaves keyed digests of the columns of its first records in a file beside the ledger, and a later fit of the same records under another name, or
//! without that ledger, is reported to its curator.
//!
//! # Privacy
//! **Not private**: a report depends on records. It goes to the person who holds them, by [`Fit::on_notice`](crate::Fit::on_notice), and nowhere else; nothing else
//! depends on it. The key comes from the operating system and never leaves the file, which its owner alone may read; digests of small columns could be guessed by
//! whoever has it, so neither is exported, printed or part of a model file, a receipt or a ledger.

use std::fs;
use std::path::{Path, PathBuf};

use reticent_files::Access;
use reticent_tables::{Encoder, Schema, Source};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::journal::hex;

/// Records whose columns are compared.
const RECORDS: usize = 1000;
/// Fewer records than these are too few to tell data sets apart.
const MIN_RECORDS: usize = 20;

const NOTE: &str = "Keyed digests of the records behind this ledger. SECRET: do not publish this file.";

/// The first line of each report.
const MARK: &str = "NOT PRIVATE, for the curator alone";

/// The file beside a ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prints {
    note: String,
    key: String,
    data_sets: Vec<Print>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Print {
    data_set: String,
    /// A digest of each column; random for a constant one, so that the shape of the file does not depend on the records.
    columns: Vec<String>,
}

fn beside(ledger: &Path) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(".prints");
    PathBuf::from(name)
}

impl Prints {
    fn load(ledger: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(beside(ledger)).ok()?).ok()
    }

    fn new() -> Option<Self> {
        Some(Self { note: NOTE.to_owned(), key: random()?, data_sets: Vec::new() })
    }

    /// The names under which at least half of these columns are known.
    fn names<'a>(&'a self, columns: &'a [String]) -> impl Iterator<Item = &'a str> {
        let same = |known: &&Print| {
            let common = columns.iter().filter(|column| known.columns.contains(column)).count();
            common > 0 && 2 * common >= columns.len().min(known.columns.len())
        };
        self.data_sets.iter().filter(same).map(|known| known.data_set.as_str())
    }
}

/// 256 random bits.
fn random() -> Option<String> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).ok()?;
    Some(hex(&bits))
}

fn is_constant(values: &[Option<String>]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The first records of a source, column by column. None if there are few, or they cannot be read.
pub(crate) struct FirstRecords(Vec<(String, Vec<Option<String>>)>);

impl FirstRecords {
    pub(crate) fn read(schema: &Schema, source: &Source) -> Option<Self> {
        let names: Vec<&str> = schema.columns().map(|column| column.name()).collect();
        let encoder = Encoder::new(&schema.unscaled()).ok()?.carrying(&names);
        let mut batches = encoder.stream(source);
        let mut columns: Vec<(String, Vec<Option<String>>)> =
            names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
        while let Ok(Some(batch)) = batches.next_batch() {
            for ((_, column), values) in columns.iter_mut().zip(batch.carried()) {
                column.extend(values.iter().take(RECORDS - column.len()).cloned());
            }
            if columns.first().is_none_or(|(_, column)| column.len() >= RECORDS) {
                break;
            }
        }
        columns.first().is_some_and(|(_, column)| column.len() >= MIN_RECORDS).then_some(Self(columns))
    }

    /// Digests under a key, of columns that are not constant.
    fn digests(&self, key: &str) -> Vec<String> {
        let varied = self.0.iter().filter(|(_, values)| !is_constant(values));
        let digest = |(name, values): &(String, Vec<Option<String>>)| {
            let mut hash = Sha256::new();
            for text in
                [Some(key), Some(name.as_str())].into_iter().chain(values.iter().map(Option::as_deref))
            {
                hash.update([u8::from(text.is_some())]);
                hash.update((text.unwrap_or_default().len() as u64).to_le_bytes());
                hash.update(text.unwrap_or_default());
            }
            hex(&hash.finalize().into())
        };
        varied.map(digest).collect()
    }

    /// What the curator should know before a fit that is charged to this data set of this ledger, or to none; `beside` are folders where ledgers may be.
    pub(crate) fn notice(&self, ledger: Option<(&Path, &str)>, beside: &[PathBuf]) -> Option<String> {
        if let Some((file, data_set)) = ledger {
            let prints = Prints::load(file)?;
            let columns = self.digests(&prints.key);
            let other = prints.names(&columns).find(|name| *name != data_set)?;
            return Some(format!(
                "{MARK}: the first of these records are those of data set {other:?}, which has a budget of its own. The budgets of {other:?} and {data_set:?} \
                 do not add up for whoever is in both: charge runs about the same records to one data set"
            ));
        }
        let files = beside.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        files.map(|entry| entry.path()).find_map(|file| {
            let ledger = file.to_str()?.strip_suffix(".prints").map(PathBuf::from)?;
            let prints = Prints::load(&ledger)?;
            let columns = self.digests(&prints.key);
            let name = prints.names(&columns).next()?;
            Some(format!(
                "{MARK}: the first of these records have a budget in {} as data set {name:?}, which this run is not charged to",
                ledger.display()
            ))
        })
    }

    /// Remembers the records under the name that a fit was charged to. Where it cannot be written, nothing is remembered.
    pub(crate) fn remember(&self, file: &Path, data_set: &str) -> Option<()> {
        let mut prints =
            Prints::load(file).or_else(|| if beside(file).exists() { None } else { Prints::new() })?;
        let mut columns = self.digests(&prints.key);
        let is_known = |known: &Print| {
            known.data_set == data_set && columns.iter().all(|column| known.columns.contains(column))
        };
        if prints.data_sets.iter().any(is_known) {
            return None;
        }
        while columns.len() < self.0.len() {
            columns.push(random()?);
        }
        prints.data_sets.push(Print { data_set: data_set.to_owned(), columns });
        let mut bytes = serde_json::to_vec_pretty(&prints).ok()?;
        bytes.push(b'\n');
        reticent_files::write(&beside(file), Access::Owner, &bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> FirstRecords {
        let schema = Schema::parse(
            "features = [{ name = \"age\", kind = \"numeric\", bounds = [0, 100] }, { name = \"ward\", kind = \"categorical\", levels = [\"A\"] }]",
        );
        FirstRecords::read(&schema.unwrap(), &Source::from_stream(text.as_bytes()).unwrap()).unwrap()
    }

    fn table(seed: u32, rows: u32) -> String {
        let row = |row: u32| format!("{},A\n", (row * 7919 + seed * 104_729) % 83);
        (0..rows).map(row).fold("age,ward\n".to_owned(), |text, row| text + &row)
    }

    #[test]
    fn the_same_records_under_another_name_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("b.ledger");
        let first = records(&table(1, 50));
        assert_eq!(first.notice(Some((&ledger, "w")), &[]), None);
        first.remember(&ledger, "w").unwrap();
        assert_eq!(first.notice(Some((&ledger, "w")), &[]), None, "a data set that grows keeps its name");
        let notice = records(&table(1, 50)).notice(Some((&ledger, "v")), &[]).unwrap();
        assert!(notice.starts_with("NOT PRIVATE") && notice.contains("\"w\""), "{notice}");
        assert_eq!(
            records(&table(2, 50)).notice(Some((&ledger, "v")), &[]),
            None,
            "the constant column does not count"
        );
        let alone = first.notice(None, &[folder.path().to_owned()]).unwrap();
        assert!(alone.contains("not charged"), "{alone}");
        assert_eq!(first.notice(None, &[]), None);
        // Nothing of a value is in the file, and its owner alone may read it.
        let file = beside(&ledger);
        let text = fs::read_to_string(&file).unwrap();
        let prints = Prints::load(&ledger).unwrap();
        assert_eq!(prints.data_sets[0].columns.len(), 2, "as many as there are columns, whatever is in them");
        assert!(first.remember(&ledger, "w").is_none(), "once");
        assert!(text.contains("SECRET") && !text.contains("\"A\""));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // A second key gives other digests.
        assert_ne!(first.digests("a"), first.digests("b"));
        fs::write(&file, "damaged").unwrap();
        assert!(first.notice(Some((&ledger, "v")), &[]).is_none() && first.remember(&ledger, "v").is_none());
    }
}
