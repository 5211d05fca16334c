//! Options that describe releases for the accountant.

use clap::ValueEnum;
use reticent_accounting::{Adjacency, Event, Mechanism, Method, Sampling};
use serde::Serialize;

use crate::output::Failure;

/// The mechanism, the sampler and the adjacency.
#[derive(clap::Args)]
pub(crate) struct EventArgs {
    /// The noise.
    #[arg(long, value_enum, default_value_t = Noise::Gaussian)]
    pub(crate) mechanism: Noise,

    /// How the records of a step are chosen.
    #[arg(long, value_enum, default_value_t = Scheme::None)]
    pub(crate) sampling: Scheme,

    /// Records in a batch (fixed).
    #[arg(long)]
    batch: Option<u64>,

    /// Records in the data set (fixed).
    #[arg(long)]
    records: Option<u64>,

    /// Probability that a record is in a step (poisson).
    #[arg(long, allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Passes over the data (shuffle); each record is used once in each.
    #[arg(long)]
    epochs: Option<u64>,

    /// Which data sets are neighbours [default: add-remove for poisson, else replace].
    #[arg(long, value_enum)]
    adjacency: Option<Neighbours>,

    /// The accountant.
    #[arg(long, value_parser = |name: &str| name.parse::<Method>().map_err(|e| e.to_string() + "; known are auto, exact, pld, rdp, wang9, wang27, zcdp, composition"))]
    accountant: Option<Method>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Noise {
    Gaussian,
    Laplace,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheme {
    /// All records in each step.
    None,
    /// Each record with probability --rate.
    Poisson,
    /// --batch of --records, drawn afresh for each step.
    Fixed,
    /// Whole passes over the data in any order.
    Shuffle,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Neighbours {
    /// One record is exchanged for another.
    #[value(alias = "replace-one")]
    Replace,
    /// One record is added or removed.
    #[value(alias = "add/remove")]
    AddRemove,
}

impl Neighbours {
    pub(crate) fn adjacency(self) -> Adjacency {
        match self {
            Self::Replace => Adjacency::ReplaceOne,
            Self::AddRemove => Adjacency::AddRemove,
        }
    }
}

/// The sampler as it is printed.
#[derive(Serialize)]
#[serde(tag = "sampling", rename_all = "kebab-case")]
pub(crate) enum SamplingRecord {
    None { steps: u64 },
    Poisson { rate: f64, steps: u64 },
    Fixed { batch: u64, records: u64, steps: u64 },
    Shuffle { epochs: u64 },
}

impl EventArgs {
    pub(crate) fn adjacency(&self) -> Adjacency {
        let usual =
            if self.sampling == Scheme::Poisson { Neighbours::AddRemove } else { Neighbours::Replace };
        self.adjacency.unwrap_or(usual).adjacency()
    }

    pub(crate) fn accountant(&self) -> Method {
        self.accountant.unwrap_or(Method::Auto)
    }

    /// Whether one accountant was named.
    pub(crate) fn wants_one_accountant(&self) -> bool {
        self.accountant.is_some_and(|method| method != Method::Auto)
    }

    pub(crate) fn sampling(&self) -> Result<Sampling, Failure> {
        let missing = |option: &str, scheme: &str| {
            Failure::usage(format!("--sampling {scheme} needs {option}"), format!("add {option} VALUE"))
        };
        let unused = |option: &str, given: bool, ok: bool| {
            if given && !ok {
                let hint = "it belongs to another --sampling scheme; leave it out or change the scheme";
                Err(Failure::usage(format!("{option} does not apply to this sampling scheme"), hint))
            } else {
                Ok(())
            }
        };
        unused("--rate", self.rate.is_some(), self.sampling == Scheme::Poisson)?;
        unused("--batch", self.batch.is_some(), self.sampling == Scheme::Fixed)?;
        unused("--epochs", self.epochs.is_some(), self.sampling == Scheme::Shuffle)?;
        Ok(match self.sampling {
            Scheme::None => Sampling::None,
            Scheme::Poisson => {
                Sampling::Poisson { rate: self.rate.ok_or_else(|| missing("--rate", "poisson"))? }
            }
            Scheme::Fixed => Sampling::Fixed {
                batch: self.batch.ok_or_else(|| missing("--batch", "fixed"))?,
                records: self.records.ok_or_else(|| missing("--records", "fixed"))?,
            },
            Scheme::Shuffle => Sampling::Pass,
        })
    }

    /// How often the release happens: steps, or passes.
    pub(crate) fn repetitions(&self, steps: Option<u64>) -> Result<u64, Failure> {
        if self.sampling != Scheme::Shuffle {
            return Ok(steps.unwrap_or(1));
        }
        if steps.is_some() {
            let hint = "use --epochs: a pass costs the same however many batches it is cut into";
            return Err(Failure::usage("--steps does not apply to shuffled passes", hint));
        }
        self.epochs.ok_or_else(|| Failure::usage("--sampling shuffle needs --epochs", "add --epochs VALUE"))
    }

    pub(crate) fn release(&self, noise_multiplier: f64) -> Result<Event, Failure> {
        let mechanism = match self.mechanism {
            Noise::Gaussian => Mechanism::Gaussian { noise_multiplier },
            Noise::Laplace => Mechanism::Laplace { noise_multiplier },
        };
        Ok(Event::release(mechanism, self.sampling()?))
    }

    pub(crate) fn record(&self, times: u64) -> Result<SamplingRecord, Failure> {
        Ok(match self.sampling()? {
            Sampling::None => SamplingRecord::None { steps: times },
            Sampling::Poisson { rate } => SamplingRecord::Poisson { rate, steps: times },
            Sampling::Fixed { batch, records } => SamplingRecord::Fixed { batch, records, steps: times },
            Sampling::Pass => SamplingRecord::Shuffle { epochs: times },
        })
    }

    /// One line for people.
    pub(crate) fn describe(&self, times: u64) -> Result<String, Failure> {
        let noise = if self.mechanism == Noise::Gaussian { "Gaussian" } else { "Laplace" };
        let steps = if times == 1 { "step".to_owned() } else { format!("{times} steps") };
        let how = match self.sampling()? {
            Sampling::None => format!("{steps} on all records"),
            Sampling::Poisson { rate } => format!("{steps}, each record in each with probability {rate}"),
            Sampling::Fixed { batch, records } => {
                format!("{steps} on {batch} of {records} records, drawn afresh each time")
            }
            Sampling::Pass => format!("{times} whole passes over the data"),
        };
        Ok(format!("{noise} noise, {how}; {} adjacency", self.adjacency()))
    }
}
