//! What a model file holds beside its arrays, in types.
//!
//! The file may be forged: its checksum is no signature. So what is shown of it is read into numbers, choices and texts
//! first. Where a number should be, a text is an error; it is never passed on to a page or a terminal.

use std::fmt;

use reticent::budget::{Adjacency, Cost, Guarantee, NotPrivate};
use reticent_models::Score;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::output::Failure;

/// The receipt, as far as it is shown.
#[derive(Debug, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) software: String,
    #[serde(deserialize_with = "guarantee")]
    pub(crate) guarantee: Guarantee,
    pub(crate) records: u64,
    pub(crate) groups: Vec<Group>,
    pub(crate) projections: u64,
    pub(crate) noise: String,
    pub(crate) ledger: String,
    pub(crate) assumptions: Vec<String>,
}

/// Releases of the same kind.
#[derive(Debug, Deserialize)]
pub(crate) struct Group {
    pub(crate) what: String,
    pub(crate) width: u64,
    pub(crate) planned: u64,
    pub(crate) made: u64,
    kind: Kind,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Sum { noise_multiplier: f64 },
    Draw {},
}

impl Group {
    /// Of a noisy sum. A sum without noise has 0, a draw has none.
    pub(crate) fn noise_multiplier(&self) -> Option<f64> {
        match self.kind {
            Kind::Sum { noise_multiplier } => Some(noise_multiplier),
            Kind::Draw {} => None,
        }
    }
}

impl Receipt {
    /// The shares of the budget of each group of releases: Gaussian releases compose by the squares of their signal to
    /// noise ratios.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let weight = |group: &Group| {
            let multiplier = group.noise_multiplier().filter(|multiplier| *multiplier > 0.0);
            multiplier.map_or(0.0, |multiplier| group.planned as f64 / (multiplier * multiplier))
        };
        let weights: Vec<f64> = self.groups.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
    }
}

/// The model card, as far as it is shown.
#[derive(Debug, Deserialize)]
pub(crate) struct Card {
    /// Nothing for a fit without privacy.
    #[serde(default)]
    pub(crate) asked: Option<Asked>,
    /// Scores on test records that were declared public.
    #[serde(default)]
    pub(crate) test: Option<Test>,
    /// What is wrong with the posterior, in sentences.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

/// The budget that was asked for.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) adjacency: Neighbours,
}

/// An adjacency, as cards spell it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Neighbours {
    ReplaceOne,
    #[serde(alias = "add/remove")]
    AddRemove,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adjacency = match self {
            Self::ReplaceOne => Adjacency::ReplaceOne,
            Self::AddRemove => Adjacency::AddRemove,
        };
        adjacency.fmt(f)
    }
}

/// Scores in a model file.
#[derive(Debug, Deserialize)]
pub(crate) struct Test {
    pub(crate) score: Score,
}

/// Reads a part of a model file.
pub(crate) fn read<T: DeserializeOwned>(part: &str, value: &Value) -> Result<T, Failure> {
    T::deserialize(value).map_err(|error| {
        let hint = "take a fresh copy, use a newer program, or fit the model again";
        Failure::failed(
            format!("the {part} in it is not one that `fit` writes: {error}"),
            Some(hint.to_owned()),
        )
    })
}

/// A cost, or one of the reasons why there is none.
fn guarantee<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Guarantee, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Private(Cost),
        None(Reason),
    }
    #[derive(Deserialize)]
    enum Reason {
        #[serde(rename = "NOT PRIVATE: no noise")]
        NoNoise,
        #[serde(rename = "NOT PRIVATE: fixed seed")]
        FixedSeed,
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Private(cost) => Guarantee::Private(cost),
        Written::None(Reason::NoNoise) => Guarantee::None(NotPrivate::NoNoise),
        Written::None(Reason::FixedSeed) => Guarantee::None(NotPrivate::FixedSeed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let failure = read::<Receipt>("receipt", &forged).unwrap_err();
            assert!(failure.message.contains("receipt"), "{place}");
        }
    }
}
