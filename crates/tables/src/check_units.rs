//! How often rows repeat in columns that identify someone. For the curator of the data: nothing here is private.

use std::collections::HashMap;

use serde::Serialize;

use crate::encode::Encoder;
use crate::error::TableError;
use crate::schema::{Column, Kind, Missing, Schema};
use crate::source::{Declared, Source};
use crate::units::UnitKey;

/// Words of names of columns that identify someone.
const WORDS: [&str; 22] = [
    "id",
    "ids",
    "uuid",
    "guid",
    "key",
    "code",
    "number",
    "no",
    "nr",
    "mrn",
    "ssn",
    "nhs",
    "pseudonym",
    "person",
    "patient",
    "subject",
    "participant",
    "user",
    "customer",
    "household",
    "account",
    "member",
];

/// **Not private.** How often the values of a column repeat.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnitCheck {
    /// The column.
    pub name: String,
    /// Whether the schema states it as its privacy unit.
    pub stated: bool,
    /// Whether the files lack it.
    pub absent: bool,
    /// Different values.
    pub units: u64,
    /// Rows with a value.
    pub rows: u64,
    /// Rows without a value: each is a unit of its own.
    pub missing: u64,
    /// Most rows with the same value.
    pub most: u64,
}

impl UnitCheck {
    /// Whether some values occur more than once.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.most > 1
    }

    /// The privacy unit of a schema, or the columns that may be one.
    pub(crate) fn all(
        schema: &Schema,
        source: &Source,
        declared: &[Declared],
    ) -> Result<Vec<Self>, TableError> {
        let stated = schema.privacy_unit().map(|unit| unit.column().to_owned());
        let of_schema = |name: &str| schema.columns().any(|column| column.name() == name);
        let candidates = match &stated {
            Some(column) => vec![column.clone()],
            None => {
                let names = declared.iter().map(|column| &column.name);
                names.filter(|name| identifies(name) && !of_schema(name)).cloned().collect()
            }
        };
        let mut found = Vec::new();
        for name in candidates {
            let mut check = Self {
                stated: stated.is_some(),
                absent: false,
                units: 0,
                rows: 0,
                missing: 0,
                most: 0,
                name,
            };
            check.absent = !declared.iter().any(|column| column.name == check.name);
            if !check.absent {
                match check.count(source) {
                    // Its name alone makes no column a unit.
                    Err(TableError::NoUnits { .. }) if stated.is_none() => continue,
                    counted => counted?,
                }
            }
            found.push(check);
        }
        Ok(found)
    }

    fn count(&mut self, source: &Source) -> Result<(), TableError> {
        // The encoder reads the column as a unit; some column must be encoded as well, and any can be read as a truth value.
        let schema = Schema::new(
            None,
            vec![Column::new(self.name.clone(), Kind::Boolean { missing: Missing::Unstated })?],
        )?;
        let encoder = Encoder::new(&schema)?.with_units(&self.name, [0; 32]);
        let mut times: HashMap<UnitKey, u64> = HashMap::new();
        let mut batches = encoder.stream(source);
        while let Some(batch) = batches.next_batch()? {
            for unit in batch.units() {
                match unit {
                    Some(unit) => *times.entry(*unit).or_default() += 1,
                    None => self.missing += 1,
                }
            }
        }
        self.units = times.len() as u64;
        self.rows = times.values().sum();
        self.most = times.values().copied().max().unwrap_or(0);
        Ok(())
    }
}

/// Whether a name has a word for someone or something that is identified, such as `patient_id`, `PersonID` and `household number`.
fn identifies(name: &str) -> bool {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_alphanumeric() {
            let begins = !before.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase());
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        before = letter;
    }
    // Without a mark between the words: `personid`.
    let together = |word: &String| word.strip_suffix("id").is_some_and(|rest| WORDS.contains(&rest));
    words.iter().any(|word| WORDS.contains(&word.as_str()) || together(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_identifiers_are_found() {
        for name in
            ["person_id", "PatientID", "id", "Household number", "personid", "MRN", "subject.key", "customer"]
        {
            assert!(identifies(name), "{name}");
        }
        for name in ["age", "idle", "income", "video", "period", "nose", "paid", ""] {
            assert!(!identifies(name), "{name}");
        }
    }

    #[test]
    fn repeats_are_counted() {
        let text = "patient_id,age,visit_code\n7,30,a\n7.0,31,a\n8,40,a\n,50,b\n";
        let schema = |unit: &str| {
            let features = "features = [{ name = \"age\", kind = \"numeric\", bounds = [0, 100] }]";
            Schema::parse(&format!("{unit}\n{features}")).unwrap()
        };
        let source = || Source::from_stream(text.as_bytes()).unwrap();
        let all = |unit: &str| {
            let source = source();
            UnitCheck::all(&schema(unit), &source, &source.columns().unwrap()).unwrap()
        };
        let patients = |stated| UnitCheck {
            name: "patient_id".into(),
            stated,
            absent: false,
            units: 2,
            rows: 3,
            missing: 1,
            most: 2,
        };
        let visits = UnitCheck {
            name: "visit_code".into(),
            units: 2,
            rows: 4,
            missing: 0,
            most: 3,
            ..patients(false)
        };
        assert_eq!(all(""), [patients(false), visits]);
        assert_eq!(all("privacy_unit = \"patient_id\""), [patients(true)]);
        let lacking = all("privacy_unit = \"person_id\"");
        assert!(lacking.len() == 1 && lacking[0].absent && lacking[0].stated);
    }
}
