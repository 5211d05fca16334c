//! Private evaluation, for `evaluate` and `compare`.

use std::path::PathBuf;

use reticent::{Data, Error, Evaluation, Holdout, Privacy, PrivateEvaluation, SavedModel};

use crate::event::Neighbours;
use crate::output::{self, Failure};
use crate::{interrupt, progress};

/// What may be spent on the test records, and where that is noted.
#[derive(clap::Args)]
pub(crate) struct PrivateArgs {
    /// Evaluate with privacy: the epsilon to spend on the test records.
    #[arg(long, allow_negative_numbers = true, requires = "delta")]
    epsilon: Option<f64>,
    /// The delta to spend on them.
    #[arg(long, allow_negative_numbers = true, requires = "epsilon")]
    delta: Option<f64>,
    /// Which sets of test records are neighbours.
    #[arg(long, value_enum, default_value = "replace")]
    adjacency: Neighbours,
    /// A public guess of the number of test records (add-remove only).
    #[arg(long, value_name = "N", requires = "epsilon")]
    records: Option<usize>,
    /// The ledger to charge.
    #[arg(long, value_name = "FILE", requires = "data_set", requires = "epsilon")]
    ledger: Option<PathBuf>,
    /// The data set in the ledger: one for the test records. For held-out records, that of the fit.
    #[arg(long, value_name = "NAME", requires = "ledger")]
    data_set: Option<String>,
    /// Evaluate on the records that `fit --holdout` has held out of these files: the file that it wrote beside the model.
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    holdout: Option<PathBuf>,
    /// Allow a delta of 1/N or more.
    #[arg(long, requires = "epsilon")]
    allow_large_delta: bool,
    /// Write the private evaluation with its receipt to this file, as JSON.
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    out: Option<PathBuf>,
    /// Resume the run that was interrupted, at no further cost, from the journal beside --out.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Replace the file of --out, even if it has cost budget.
    #[arg(long, requires = "out")]
    force: bool,
}

impl PrivateArgs {
    /// What may be spent, if anything.
    fn privacy(&self) -> Result<Option<Privacy>, Failure> {
        let (Some(epsilon), Some(delta)) = (self.epsilon, self.delta) else { return Ok(None) };
        let privacy = Privacy::new(epsilon, delta, self.adjacency.adjacency()).map_err(Error::from)?;
        Ok(Some(if self.allow_large_delta { privacy.allow_large_delta() } else { privacy }))
    }

    /// Evaluates with privacy if there is a budget.
    pub(crate) fn evaluate(
        &self,
        models: &[&SavedModel],
        records: impl FnOnce() -> Result<Data, Failure>,
    ) -> Result<Option<PrivateEvaluation>, Failure> {
        let Some(privacy) = self.privacy()? else { return Ok(None) };
        let mut evaluation = Evaluation::new(models)?
            .privacy(privacy)
            .resume(self.resume)
            .overwrite(self.force)
            .on_progress(progress::releases(false))
            .cancelled_by(&interrupt::listen());
        if let (Some(ledger), Some(data_set)) = (&self.ledger, &self.data_set) {
            evaluation = evaluation.ledger(ledger, data_set);
        }
        if let Some(number) = self.records {
            evaluation = evaluation.records(number);
        }
        if let Some(file) = &self.holdout {
            evaluation = evaluation.holdout(Holdout::load(file)?);
        }
        if let Some(out) = &self.out {
            evaluation = evaluation.out(out);
        }
        Ok(Some(evaluation.run(records()?)?))
    }
}

/// JSON of a private evaluation with the names of its models.
pub(crate) fn json(evaluation: &PrivateEvaluation, names: &[String]) -> String {
    let mut value = serde_json::to_value(evaluation).unwrap_or_default();
    value["files"] = serde_json::json!(names);
    output::json(&value)
}
