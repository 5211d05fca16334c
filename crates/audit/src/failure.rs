//! Why a game could not be played.

use std::fmt;

/// Why a game could not be played. Games use synthetic tables, so messages may contain any value.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure with this message.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// A failure with the message of an error.
    #[must_use]
    pub fn from_error(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }

    /// Prefixes the message with the game in which it occurred.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

macro_rules! from {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::from_error(error)
            }
        })*
    };
}

from!(
    std::io::Error,
    serde_json::Error,
    reticent_core::model::ModelError,
    reticent_tables::TableError,
    reticent_tables::SchemaError,
    reticent_tables::ModelFileError,
    reticent_core::budget::PrivacyError
);
