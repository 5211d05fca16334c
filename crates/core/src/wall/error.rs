//! Errors of plans and of releases.

use crate::budget::{LedgerError, PrivacyError};
use crate::observer::ObserverError;
use reticent_noise::NoiseError;

/// Why a plan is refused. Nothing in it depends on a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message explains its variant and fields")]
pub enum PlanError {
    #[error("{what}: {fault}")]
    Invalid { what: String, fault: &'static str },
    #[error(
        "{what}: no lattice fits a noise multiplier of {multiplier}; \
             hint: choose one nearer to 1, fewer coordinates or a box nearer to 0"
    )]
    Lattice { what: String, multiplier: f64 },
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
    #[error(
        "epsilon {epsilon:.3} is larger than {largest:.1}, up to which the noise of so many numbers is certified at this delta; \
             hint: plan fewer or noisier releases"
    )]
    Certificate { epsilon: f64, largest: f64 },
}

/// Why a release was refused. Nothing in it depends on the value of a record. [`RecordCount`](Self::RecordCount) depends on the number
/// of records, and only where that number is public.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message explains its variant and fields")]
pub enum WallError {
    #[error("the records are not whole rows of {width} values")]
    Shape { width: usize },
    #[error("there are not {planned} records, as planned")]
    RecordCount { planned: usize },
    #[error("the plan has no such group")]
    UnknownGroup,
    #[error("a width of {planned} was planned, not {given}")]
    Width { planned: usize, given: usize },
    #[error("only contributions that are clipped to a ball can be sparse")]
    Sparse,
    #[error("all {planned} planned releases of {what:?} have been made; hint: plan more of them beforehand")]
    Exhausted { what: String, planned: u64 },
    #[error("log weights must be none, or one finite number below 1e6 for each candidate")]
    LogWeights,
    #[error(
        "the plan costs epsilon {planned} and at most {allowed} is allowed; hint: more noise or fewer steps"
    )]
    OverBudget { planned: f64, allowed: f64 },
    #[error(
        "{what} is only released from records in this process; hint: another model, or all records of it on one machine"
    )]
    Local { what: String },
    #[error("the job or a part of its sums is refused: {fault}")]
    Job { fault: &'static str },
    #[error("the records cannot be summed where they are: {fault}; what was reserved stays charged")]
    Place { fault: &'static str },
    #[error("stopped; what was reserved stays charged")]
    Stopped,
    #[error("all stages of the plan have been entered")]
    NoStage,
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Observer(#[from] ObserverError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
