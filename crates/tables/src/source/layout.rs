//! How the text of a CSV file is laid out: delimiter, compression, quoted newlines.

use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How CSV files are laid out, as far as it is stated. The name of a file decides the rest: `.tsv` has tabs, `.gz` is
/// compressed, anything else has commas and is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// What is between two fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<Delimiter>,
    /// Whether the file is compressed by gzip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gzip: Option<bool>,
    /// Whether a quoted field may contain newlines. One stray quote can then join any number of lines to one record, so
    /// the claim that one line is one record does not hold: [`Schema::assumptions`](crate::Schema::assumptions) states so.
    #[serde(default, skip_serializing_if = "is_false")]
    pub quoted_newlines: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// What is between two fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delimiter {
    /// `,`
    #[serde(rename = ",", alias = "comma")]
    Comma,
    /// `;`
    #[serde(rename = ";", alias = "semicolon")]
    Semicolon,
    /// A tab.
    #[serde(rename = "tab", alias = "\t")]
    Tab,
}

impl Delimiter {
    /// Every delimiter.
    pub const ALL: [Self; 3] = [Self::Comma, Self::Semicolon, Self::Tab];

    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }

    /// As a schema and the command line write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => ",",
            Self::Semicolon => ";",
            Self::Tab => "tab",
        }
    }
}

impl FromStr for Delimiter {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "," | "comma" => Ok(Self::Comma),
            ";" | "semicolon" => Ok(Self::Semicolon),
            "tab" | "\t" | "\\t" => Ok(Self::Tab),
            _ => Err("a delimiter is `,`, `;` or `tab`"),
        }
    }
}

impl Layout {
    /// This layout, and where it states nothing the other one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            delimiter: self.delimiter.or(other.delimiter),
            gzip: self.gzip.or(other.gzip),
            quoted_newlines: self.quoted_newlines || other.quoted_newlines,
        }
    }

    pub(super) fn delimiter_of(self, file: &Path) -> Delimiter {
        self.delimiter.unwrap_or_else(|| {
            if ends_with(file, &["tsv", "tsv.gz"]) { Delimiter::Tab } else { Delimiter::Comma }
        })
    }

    pub(super) fn is_gzip(self, file: &Path) -> bool {
        self.gzip.unwrap_or_else(|| ends_with(file, &["csv.gz", "tsv.gz"]))
    }
}

/// Whether a file's name has one of these endings, in any case.
pub(super) fn ends_with(file: &Path, endings: &[&str]) -> bool {
    let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return false };
    let name = name.to_ascii_lowercase();
    endings.iter().any(|ending| name.strip_suffix(ending).is_some_and(|start| start.ends_with('.')))
}
