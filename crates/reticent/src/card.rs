//! The typed parts of a model file beside its arrays.
//!
//! The file may be forged: its checksum is no signature. So everything that is shown of it is parsed into numbers, choices and texts
//! first. A text in place of a number is an error; it is never passed on to a page or a terminal.

use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::model::{Model, Score};
use reticent_tables::Schema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::day::Day;
use crate::error::Error;
use crate::scores::PUBLIC_NOTE;
use crate::settings::Settings;

/// The model card: what a model is for, and the budget that was requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// [`Declaration::about`](reticent_core::model::Declaration::about) of the version that fitted it.
    #[serde(default)]
    pub about: String,
    /// The name of the target.
    #[serde(default)]
    pub target: Option<String>,
    /// The names of the columns that it is predicted from.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The budget that was requested; none for a fit without privacy.
    #[serde(default)]
    pub asked: Option<Asked>,
    /// The day of the fit, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_on: Option<Day>,
    /// The settings that were given; the others have their defaults.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// The records that were held out of the fit, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<HeldOut>,
    /// Scores on test records that were declared public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<PublicTest>,
    /// What a reader must know before relying on the model, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The records that were held out of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// The share that was asked for.
    pub share: f64,
    /// Identifies the secret key of the [`Holdout`](crate::Holdout), and gives nothing of it away.
    pub digest: String,
}

/// The budget that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// $\varepsilon$.
    pub epsilon: f64,
    /// $\delta$.
    pub delta: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
}

impl From<&Privacy> for Asked {
    fn from(privacy: &Privacy) -> Self {
        Self { epsilon: privacy.epsilon(), delta: privacy.delta(), adjacency: privacy.adjacency() }
    }
}

/// Scores on test records that were declared public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublicTest {
    /// The note that must be shown with them.
    #[serde(default)]
    pub note: String,
    /// The scores.
    pub score: Score,
}

impl Card {
    pub(crate) fn new(
        model: &dyn Model,
        schema: &Schema,
        privacy: Option<&Privacy>,
        settings: &Settings,
        score: Option<&Score>,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            fitted_on: Some(Day::today()),
            settings: settings.clone(),
            about: model.declaration().about.to_owned(),
            target: schema.target().map(|target| target.name().to_owned()),
            inputs: schema.features().iter().map(|column| column.name().to_owned()).collect(),
            asked: privacy.map(Asked::from),
            holdout: None,
            test: score.map(|score| PublicTest { note: PUBLIC_NOTE.to_owned(), score: score.clone() }),
            warnings,
        }
    }
}

/// Reads a part of a model file.
pub(crate) fn read<T: DeserializeOwned>(part: &str, value: &Value) -> Result<T, Error> {
    T::deserialize(value).map_err(|error| {
        let hint = "take a fresh copy, use a newer program, or fit the model again";
        Error::data(format!("the {part} in it is not one that a fit writes: {error}"), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_core::budget::{Guarantee, NotPrivate};
    use reticent_core::receipt::Receipt;
    use serde_json::json;

    fn receipt() -> Value {
        let cost = json!({ "epsilon": { "lower": 0.5, "upper": 1.0 }, "delta": 1e-5, "adjacency": "add-remove", "method": "pld" });
        let sum = json!({ "sum": { "noise_multiplier": 2.0, "geometry": { "ball": { "radius": 1.0 } }, "sampler": "full" } });
        let draw = json!({ "draw": { "scores": [0.0, 1.0], "power": 0.5 } });
        let group =
            |kind: &Value| json!({ "what": "sums", "width": 3, "kind": kind, "planned": 4, "made": 4 });
        json!({ "software": "reticent", "guarantee": cost, "adjacency": "add-remove", "records": 100, "projections": 0,
            "groups": [group(&sum), group(&draw)], "noise": "entropy", "ledger": "none", "assumptions": ["a"] })
    }

    #[test]
    fn a_receipt_is_read_back() {
        let read: Receipt = read("receipt", &receipt()).unwrap();
        assert_eq!(read.guarantee.cost().unwrap().epsilon.upper, 1.0);
        assert_eq!(read.shares(), [1.0, 0.0]);
        let mut open = receipt();
        open["guarantee"] = json!("NOT PRIVATE: fixed seed");
        let open: Receipt = super::read("receipt", &open).unwrap();
        assert_eq!(open.guarantee, Guarantee::None(NotPrivate::FixedSeed));
    }

    /// The defect: these were shown as they are in the file.
    #[test]
    fn a_text_in_place_of_a_number_is_an_error() {
        let places = [
            "/projections",
            "/records",
            "/groups/0/made",
            "/groups/0/planned",
            "/groups/0/width",
            "/guarantee",
            "/guarantee/delta",
            "/guarantee/method",
            "/guarantee/adjacency",
            "/guarantee/epsilon/upper",
            "/groups/0/kind",
            "/groups/0/kind/sum/noise_multiplier",
        ];
        for place in places {
            let mut forged = receipt();
            *forged.pointer_mut(place).unwrap() = json!("<script>alert(1)</script>");
            let error = read::<Receipt>("receipt", &forged).unwrap_err();
            assert!(error.message().contains("receipt"), "{place}");
        }
    }
}
