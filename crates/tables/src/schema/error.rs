//! Why a schema was refused. A schema is public, so its messages may name what is in it.

use std::io;
use std::path::PathBuf;

/// Why there is no schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum SchemaError {
    #[error("{}: cannot be read ({kind}); hint: check the path", file.display())]
    Unreadable { file: PathBuf, kind: io::ErrorKind },
    /// The text is not quoted: it may be a data file given by mistake.
    #[error(
        "the schema is not TOML from line {line}, column {column} on; hint: `target = {{ name = ..., kind = ... }}` and \
         `features = [{{ name = ..., kind = ... }}, ...]`"
    )]
    NotToml { line: usize, column: usize },
    #[error("the schema is TOML, but {reason}")]
    Shape { reason: String },
    #[error("column {column:?}: {fault}")]
    Column { column: String, fault: ColumnFault },
    #[error("the schema has no features; hint: list at least one column under `features`")]
    NoFeatures,
    #[error("the schema has no target; hint: state one, `target = {{ name = ..., kind = ... }}`")]
    NoTarget,
    #[error("the schema names column {column:?} twice; hint: keep one")]
    Repeated { column: String },
    #[error(
        "the column {column:?} is the privacy unit, whose values are secret, and cannot be used as well; hint: remove it from `features` and `target`"
    )]
    UnitIsColumn { column: String },
    #[error(
        "a privacy unit is the name of a column, and `rows_per_unit` is from 1 to 1000; hint: `privacy_unit = \"person_id\"`, and no `rows_per_unit` \
         for the mean of all rows of a person"
    )]
    UnitRows,
    #[error("the schema has no column {column:?}; hint: check the spelling")]
    NoColumn { column: String },
    #[error("there are no rows to take bounds or moments from; hint: check that the data set is not empty")]
    NoRows,
    #[error("rows of {given} values were given where the schema makes {expected}; hint: read them unscaled")]
    Width { expected: usize, given: usize },
}

/// What is wrong with a column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum ColumnFault {
    #[error("a column needs a name")]
    NoName,
    #[error(
        "a numeric column needs `bounds = [low, high]`, `bounds = \"private\"`, or `mean` and `sd`; \
         hint: state the range that is known without looking at the data"
    )]
    NoScale,
    #[error(
        "bounds are two finite numbers, the lower one first, and not the same; hint: `bounds = [0, 100]`"
    )]
    Bounds,
    #[error(
        "private bounds need a range to look for them in, two finite numbers, which is known without looking at the data \
         and may be far too wide; hint: `bounds = \"private\", within = [0, 1e9]`"
    )]
    Within,
    #[error("`bounds` and `mean`, `sd` exclude each other; hint: keep the bounds")]
    TwoScales,
    #[error("`mean` is a finite number and `sd` one above 0")]
    Moments,
    #[error("the value for missing ones is finite and within the bounds")]
    MissingOutside,
    #[error("`missing` is a value of the column's own kind: {expected}")]
    MissingKind { expected: &'static str },
    #[error("`{key}` does not belong to a {kind} column; hint: remove it, or change `kind`")]
    Misplaced { key: &'static str, kind: &'static str },
    #[error("a categorical column needs `levels = [\"...\", ...]`")]
    NoLevels,
    #[error(
        "a level is an empty text, which means a missing value; hint: `missing = \"missing\"` makes a level of it"
    )]
    EmptyLevel,
    #[error("a level is listed twice")]
    RepeatedLevel,
    #[error("a text column needs `vocabulary = \"FILE\"`, with a word on each line, and at least one word")]
    NoWords,
    #[error(
        "entry {entry} of the vocabulary is not one word in lower case letters and digits, so no text contains it"
    )]
    NotAWord { entry: usize },
    #[error("a word of the vocabulary is listed twice")]
    RepeatedWord,
    #[error("the vocabulary {} cannot be read ({kind}); hint: its path is relative to the schema's folder", file.display())]
    Vocabulary { file: PathBuf, kind: io::ErrorKind },
    #[error("the vocabulary is a file, and here its words must be listed")]
    VocabularyFile,
    #[error("only numeric columns have bounds or moments")]
    NotNumeric,
    #[error("its bounds are not private; hint: `within` belongs to `bounds = \"private\"`")]
    NotPrivate,
    #[error("a text cannot be predicted; hint: choose a target of another kind")]
    TextTarget,
    #[error("`positive` names one of two classes; hint: remove it, or list two levels")]
    NotTwoClasses,
    #[error("`positive` and `reference` name a level of the column; hint: its levels are {levels}")]
    NoSuchLevel { levels: String },
    #[error("`positive` belongs to the target and `reference` to a feature")]
    Emphasis,
    #[error("`prior` is the prior of a coefficient, so it belongs to a feature")]
    TargetPrior,
    #[error("a prior has a finite mean and a positive sd, such as `prior = {{ mean = 0, sd = 1 }}`")]
    NotAPrior,
    #[error(
        "a prior needs stated bounds: with private ones the unit of the coefficient is not known before the fit; hint: state `bounds`, or leave out `prior`"
    )]
    PriorWithoutBounds,
    #[error("a target needs at least two levels")]
    OneLevel,
    #[error(
        "a target has no indicator of missing values; hint: leave `missing` out, and records without a target contribute nothing"
    )]
    TargetIndicator,
}
