//! Whether records are known to a ledger under another name.
//!
//! A budget belongs to records, not to a name: the same file fitted under two names, or beside its ledger, spends twice what the ledger counts. So each charged
//! fit leaves keyed digests of the columns of its first records in a file beside the ledger, and a later fit of the same records under another name, or
//! without that ledger, is reported to its curator. A fit is charged once the ledger has marked it as started: one that is refused leaves nothing.
//!
//! # Privacy
//! **Not private**: a report depends on records. It goes to the person who holds them, by [`Fit::on_notice`](crate::Fit::on_notice), and nowhere else; nothing else
//! depends on it. Of the file, the digests alone depend on records: each name has one entry with as many digests as the schema has columns, and each charged fit
//! replaces it; where there are too few records, or a constant column, digests are random. Attacked by
//! `existence_and_size_of_the_file_do_not_depend_on_the_records`. The key comes from the operating system and never leaves the file, which its owner alone may
//! read; digests of small columns could be guessed by whoever has it, so neither is exported, printed or part of a model file, a receipt or a ledger.

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

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Print {
    data_set: String,
    /// For each column a digest, or random bits if it has none.
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

/// The values of a column so far, of which no text is kept.
struct Column {
    name: String,
    hash: Sha256,
    /// A digest of the first value, and whether another one differs.
    first: Option<[u8; 32]>,
    varied: bool,
}

impl Column {
    fn add(&mut self, value: Option<&str>) {
        let digest = Sha256::new()
            .chain_update([u8::from(value.is_some())])
            .chain_update(value.unwrap_or_default())
            .finalize()
            .into();
        self.varied |= *self.first.get_or_insert(digest) != digest;
        self.hash.update(digest);
    }
}

/// A digest of the first records of a source, for each column of a schema: none for one that is constant, or if there are few records.
pub(crate) struct FirstRecords(Vec<(String, Option<[u8; 32]>)>);

impl FirstRecords {
    pub(crate) fn read(schema: &Schema, source: &Source) -> Option<Self> {
        let names: Vec<&str> = schema.columns().map(|column| column.name()).collect();
        let encoder = Encoder::new(&schema.unscaled()).ok()?.carrying(&names);
        let mut batches = encoder.stream(source);
        let new = |name: &&str| Column {
            name: (*name).to_owned(),
            hash: Sha256::new(),
            first: None,
            varied: false,
        };
        let (mut columns, mut read): (Vec<Column>, usize) = (names.iter().map(new).collect(), 0);
        while read < RECORDS
            && let Ok(Some(batch)) = batches.next_batch()
        {
            for (column, values) in columns.iter_mut().zip(batch.carried()) {
                values.iter().take(RECORDS - read).for_each(|value| column.add(value.as_deref()));
            }
            read += batch.rows().len();
        }
        let digest = |Column { name, hash, varied, .. }: Column| {
            (name, (varied && read >= MIN_RECORDS).then(|| hash.finalize().into()))
        };
        Some(Self(columns.into_iter().map(digest).collect()))
    }

    /// Digests under a key.
    fn digests(&self, key: &str) -> impl Iterator<Item = Option<String>> {
        self.0.iter().map(move |(name, digest)| {
            let hash = Sha256::new().chain_update(key).chain_update(digest.as_ref()?).chain_update(name);
            Some(hex(&hash.finalize().into()))
        })
    }

    /// Those of columns that have one.
    fn known_digests(&self, key: &str) -> Vec<String> {
        self.digests(key).flatten().collect()
    }

    /// What the curator should know before a fit that is charged to this data set of this ledger, or to none; `beside` are folders where ledgers may be.
    pub(crate) fn notice(&self, ledger: Option<(&Path, &str)>, beside: &[PathBuf]) -> Option<String> {
        if let Some((file, data_set)) = ledger {
            let prints = Prints::load(file)?;
            let columns = self.known_digests(&prints.key);
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
            let columns = self.known_digests(&prints.key);
            let name = prints.names(&columns).next()?;
            Some(format!(
                "{MARK}: the first of these records have a budget in {} as data set {name:?}, which this run is not charged to",
                ledger.display()
            ))
        })
    }

    /// Remembers the records under the name that a fit is charged to, in place of those of an earlier fit. Where it cannot be written, nothing is remembered.
    pub(crate) fn remember(&self, file: &Path, data_set: &str) -> Option<()> {
        let mut prints =
            Prints::load(file).or_else(|| if beside(file).exists() { None } else { Prints::new() })?;
        let columns =
            self.digests(&prints.key).map(|digest| digest.or_else(random)).collect::<Option<_>>()?;
        prints.data_sets.retain(|known| known.data_set != data_set);
        prints.data_sets.push(Print { data_set: data_set.to_owned(), columns });
        let mut bytes = serde_json::to_vec_pretty(&prints).ok()?;
        bytes.push(b'\n');
        reticent_files::write(&beside(file), Access::Owner, &bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Privacy, Session};

    fn records(text: &str) -> FirstRecords {
        FirstRecords::read(&Schema::parse(SCHEMA).unwrap(), &Source::from_stream(text.as_bytes()).unwrap())
            .unwrap()
    }

    /// Ages and wards in rows.
    const SCHEMA: &str = "features = [{ name = \"age\", kind = \"numeric\", bounds = [0, 100] }, { name = \"ward\", kind = \"categorical\", levels = [\"A\"] }]";

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
        assert!(text.contains("SECRET") && !text.contains("\"A\""));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // A second key gives other digests.
        assert_ne!(first.known_digests("a"), first.known_digests("b"));
        fs::write(&file, "damaged").unwrap();
        assert!(first.notice(Some((&ledger, "v")), &[]).is_none() && first.remember(&ledger, "v").is_none());
    }

    /// Charged fits of records of all kinds, few and many, constant and changed: the file is there after the first, with one entry as long as ever. What a ledger
    /// refuses is not remembered.
    #[test]
    fn existence_and_size_of_the_file_do_not_depend_on_the_records() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("b.ledger");
        let levels = "features = [{ name = \"age\", kind = \"categorical\", levels = [\"1\", \"2\"] }, { name = \"ward\", kind = \"categorical\", levels = [\"A\", \"B\"] }]";
        let schema = Schema::parse(levels).unwrap();
        let cap = Privacy::new(10.0, 1e-4, Adjacency::AddRemove).unwrap();
        let session = Session::create(&ledger, "w", &cap, Some(&schema)).unwrap();
        let fit = |epsilon: f64, text: &str| {
            let privacy = Privacy::new(epsilon, 0.0, Adjacency::AddRemove).unwrap();
            let data = Source::from_stream(text.as_bytes()).unwrap();
            session.fit("dirichlet", &schema).unwrap().privacy(privacy).records(50).run(data).map(drop)
        };
        let size = || fs::metadata(beside(&ledger)).map(|file| file.len()).ok();
        assert!(fit(11.0, &table(1, 50)).is_err());
        assert_eq!(size(), None, "refused, and not charged");
        let mut sizes = Vec::new();
        for text in [
            table(1, 0),
            table(1, 5),
            table(1, 50),
            table(2, 50),
            table(1, 50),
            table(3, 1500),
            "age,ward\n".to_owned() + &"7,A\n".repeat(30),
        ] {
            fit(1.0, &text).unwrap();
            sizes.push(size().unwrap());
            let prints = Prints::load(&ledger).unwrap();
            assert!(prints.data_sets.len() == 1 && prints.data_sets[0].columns.len() == 2);
        }
        assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
        // A refused fit leaves the entry as it is.
        fit(1.0, &table(1, 50)).unwrap();
        let before = fs::read(beside(&ledger)).unwrap();
        assert!(fit(11.0, &table(2, 50)).is_err());
        assert_eq!(fs::read(beside(&ledger)).unwrap(), before);
    }

    /// Of 1000 records of 10 kB, 32 bytes are kept for each column.
    #[test]
    fn no_text_of_the_first_records_is_kept() {
        let long = |row: usize| format!("{},{}\n", row, "x".repeat(10_000));
        let first = records(&(0..1000).map(long).fold("age,ward\n".to_owned(), |text, row| text + &row));
        let kept = first.0.iter().map(|(name, digest)| name.len() + size_of_val(digest));
        assert_eq!(kept.sum::<usize>(), 7 + 2 * 33);
        let [age, ward] = [0, 1].map(|column| first.0[column].1);
        assert!(age.is_some() && ward.is_none());
    }
}
