//! Receipts: what was spent, on which releases, and under which assumptions.

use crate::budget::{Adjacency, Guarantee, NotPrivate};
use crate::wall::{Geometry, Rate, Sampler};
use reticent_accounting::Event;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The receipt of one run. All of it is public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Name and version of the program.
    pub software: String,
    /// The cost of the whole plan with its accountant, or the reason why there is no guarantee.
    pub guarantee: Guarantee,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// The public number of privacy units: of records, if each is one.
    pub records: usize,
    /// The column whose value all rows of a privacy unit share, if not each record is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy_unit: Option<String>,
    /// The releases, one entry for each group.
    pub groups: Vec<Entry>,
    /// How often noise moved a released value out of its domain, so that the engine projected it back.
    pub projections: u64,
    /// Source of the noise.
    pub noise: String,
    /// Name of the ledger that was charged.
    pub ledger: String,
    /// The assumptions of the guarantee.
    pub assumptions: Vec<String>,
}

impl Receipt {
    pub(crate) fn new(
        guarantee: Guarantee,
        adjacency: Adjacency,
        records: usize,
        groups: Vec<Entry>,
        projections: u64,
        ledger: String,
    ) -> Self {
        let estimated = groups.iter().any(|entry| entry.what == crate::bounds::WHAT);
        Self {
            software: concat!("reticent ", env!("CARGO_PKG_VERSION")).into(),
            guarantee,
            adjacency,
            records,
            privacy_unit: None,
            groups: groups.into_iter().map(|entry| entry.under(guarantee)).collect(),
            projections,
            noise: match guarantee {
                Guarantee::None(reason) => reason.to_string(),
                Guarantee::Private(_) => "operating system entropy".into(),
            },
            ledger,
            assumptions: assumptions(guarantee, adjacency, estimated),
        }
    }

    /// States that all rows with the same value in a column were one privacy unit.
    pub fn protects(&mut self, column: &str) {
        self.privacy_unit = Some(column.to_owned());
        self.assumptions.retain(|assumption| assumption != ROWS_ARE_UNITS);
        for assumption in &mut self.assumptions {
            *assumption = assumption.replace("the number of records", "the number of privacy units");
        }
    }

    /// How many records, or privacy units, there were.
    #[must_use]
    pub fn counted(&self) -> String {
        match &self.privacy_unit {
            None => format!("{} records", self.records),
            Some(column) => format!("{} privacy units (rows with the same {column})", self.records),
        }
    }

    /// The share of the budget that each group of releases takes, 0 for draws: Gaussian releases compose by the sum
    /// of the squares of their reciprocal noise multipliers.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let weight = |entry: &Entry| {
            let multiplier = entry.noise_multiplier().filter(|multiplier| *multiplier > 0.0);
            multiplier.map_or(0.0, |multiplier| entry.planned as f64 / (multiplier * multiplier))
        };
        let weights: Vec<f64> = self.groups.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
    }
}

/// A group of releases of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Description of the released quantity.
    pub what: String,
    /// Coordinates of a sum, or candidates of a draw.
    pub width: usize,
    /// Mechanism of each release.
    pub kind: Kind,
    /// Number of releases planned and charged.
    pub planned: u64,
    /// Number of releases made.
    pub made: u64,
    /// The accounting event of all planned releases; `None` if there is no guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
}

impl Entry {
    /// Noise multiplier of noisy sums, 0 without noise; draws have none.
    #[must_use]
    pub fn noise_multiplier(&self) -> Option<f64> {
        match self.kind {
            Kind::Sum { noise_multiplier, .. } => Some(noise_multiplier),
            Kind::Draw { .. } => None,
        }
    }

    /// The entry without unfounded figures: no event without a guarantee, and no noise multiplier without noise.
    fn under(mut self, guarantee: Guarantee) -> Self {
        if let Guarantee::None(reason) = guarantee {
            self.event = None;
            match &mut self.kind {
                Kind::Sum { noise_multiplier, .. } if reason == NotPrivate::NoNoise => {
                    *noise_multiplier = 0.0;
                }
                Kind::Draw { power, .. } if reason == NotPrivate::NoNoise => *power = 1.0,
                _ => {}
            }
        }
        self
    }
}

/// The mechanism of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A noisy sum.
    Sum {
        /// The domain that contributions were clipped to.
        geometry: Geometry,
        /// The sampling of records.
        sampler: Sampler,
        /// Lower bound of the noise standard deviation (Laplace: scale) over the sensitivity.
        noise_multiplier: f64,
    },
    /// A draw from a tempered posterior.
    Draw {
        /// The range that scores were clipped to.
        scores: (f64, f64),
        /// The power that the likelihood was tempered with.
        power: f64,
    },
}

/// An assumption of receipts without private bounds. A caller whose bounds have another source, such as data declared
/// to be public, must replace it.
pub const BOUNDS_WERE_STATED: &str = "bounds were chosen without looking at the data";

/// The assumption of receipts without a privacy unit.
const ROWS_ARE_UNITS: &str = "the privacy unit is a row: a person with several rows is protected less";

/// The assumptions of every guarantee of this library. Bounds that were `estimated` by a release are no assumption.
fn assumptions(guarantee: Guarantee, adjacency: Adjacency, estimated: bool) -> Vec<String> {
    if guarantee.cost().is_none() {
        return Vec::new();
    }
    let count = match adjacency {
        Adjacency::ReplaceOne => "the number of records is public",
        Adjacency::AddRemove => {
            "the number of records in this receipt is a public guess, not read from the data"
        }
    };
    let rest = [
        ROWS_ARE_UNITS,
        "clipping, plan and candidates were chosen without looking at the data",
        "a query is a pure function of one record and of public values",
        "the noise and the sample of records stay secret, and no attacker measures the time of single releases",
        "the noise is indistinguishable from random for anyone who cannot break ChaCha",
    ];
    let bounds = (!estimated).then_some(BOUNDS_WERE_STATED);
    std::iter::once(count).chain(bounds).chain(rest).map(String::from).collect()
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.guarantee)?;
        writeln!(f, "{}, {} adjacency", self.counted(), self.adjacency)?;
        for (entry, share) in self.groups.iter().zip(self.shares()) {
            let Entry { what, width, kind, planned, made, .. } = entry;
            write!(f, "- {what}: {made} of {planned} releases, {width} numbers each, {kind}")?;
            writeln!(
                f,
                "{}",
                if share > 0.0 { format!(", {:.0} % of the budget", 100.0 * share) } else { String::new() }
            )?;
        }
        writeln!(f, "noise: {}; ledger: {}", self.noise, self.ledger)?;
        writeln!(f, "projections: {}; made by {}", self.projections, self.software)?;
        if !self.assumptions.is_empty() {
            writeln!(f, "assumptions:")?;
        }
        self.assumptions.iter().try_for_each(|assumption| writeln!(f, "- {assumption}"))
    }
}

/// How a release was made, without what it is.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum { geometry, sampler, noise_multiplier } if *noise_multiplier > 0.0 => {
                // Down: there may not seem to be more noise than there was.
                let multiplier = (noise_multiplier * 1e4).floor() / 1e4;
                write!(f, "{geometry}, {sampler}, noise multiplier {multiplier:.4}")
            }
            Self::Sum { geometry, sampler, .. } => write!(f, "{geometry}, {sampler}, no noise"),
            Self::Draw { scores: (lower, upper), power } => {
                write!(f, "draws with scores in [{lower}, {upper}] to the power {power:.4}")
            }
        }
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ball { radius } => write!(f, "L2 ball of radius {}", digits(*radius)),
            Self::NonNegativeBall { radius } => {
                write!(f, "non-negative L2 ball of radius {}", digits(*radius))
            }
            Self::Box { .. } => f.write_str("box"),
            Self::L1Ball { radius } => write!(f, "L1 ball of radius {}", digits(*radius)),
            Self::Blocks { radius, blocks } => {
                write!(f, "L2 ball of radius {} over {} scaled blocks", digits(*radius), blocks.len())
            }
            Self::Outer { radius } => write!(f, "outer products of vectors of radius {}", digits(*radius)),
        }
    }
}

/// Six digits, without zeros at the end.
fn digits(x: f64) -> String {
    let decimals = (5.0 - x.abs().log10().floor()).clamp(0.0, 12.0);
    if !decimals.is_finite() {
        return x.to_string();
    }
    let text = format!("{x:.*}", decimals as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("all records"),
            Self::Fixed { batch } => write!(f, "fixed batches of {batch}"),
            Self::Poisson { rate } => write!(f, "Poisson samples of rate {}", rate.value()),
            Self::Pass { batch } => write!(f, "shuffled passes in batches of {batch}"),
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rate = f64::deserialize(deserializer)?;
        Self::at_most(rate).ok_or_else(|| serde::de::Error::custom("a rate is more than 0 and at most 1"))
    }
}

impl Serialize for Rate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radii_have_six_digits() {
        let texts = [1.0, 100.0, 0.196_007_274_153_663_65, 1.315_057_413_195_332_5, 1e-7, 0.0].map(digits);
        assert_eq!(texts, ["1", "100", "0.196007", "1.31506", "0.0000001", "0"]);
    }
}
