//! Private evaluation, for `evaluate` and `compare`.

use std::path::PathBuf;

use reticent::{Data, Error, Evaluation, Figure, Holdout, Privacy, PrivateEvaluation, SavedModel};

use crate::event::Neighbours;
use crate::output::{self, Failure, Lines};
use crate::{interrupt, progress, show};

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

/// A private evaluation as text, with these names of its models.
pub(crate) fn describe(evaluation: &PrivateEvaluation, names: &[String]) -> String {
    let mut text = Lines::default();
    text.line(format_args!("Private evaluation of {}", names.join(", ")));
    evaluation.notes.iter().for_each(|note| text.line(note));
    let unit = evaluation.unit.as_deref().map_or(String::new(), |unit| format!(" {unit}"));
    if let Some(clip) = evaluation.clipped_at {
        text.line(format_args!("errors are clipped at {}{unit}", short(clip)));
    }
    let row = |figure: &Figure| {
        let name = match &evaluation.second_class {
            Some(class) if figure.name == "share of the second class" => format!("share of {class}"),
            _ => figure.name.clone(),
        };
        let value = figure.value.map_or_else(|| "not distinguishable from noise".to_owned(), short);
        let interval = format!("[{}, {}]", short(figure.lower), short(figure.upper));
        vec![name, value, interval, short(figure.records_sd), short(figure.privacy_sd)]
    };
    let heading = ["figure", "value", "95 % interval", "sd of the sample", "sd of the noise"];
    let heading: Vec<String> = heading.map(str::to_owned).to_vec();
    text.blank();
    text.table(&[heading.clone(), row(&evaluation.evaluated.records)]);
    for (name, model) in names.iter().zip(&evaluation.evaluated.models) {
        text.blank();
        text.line(name);
        text.table(
            &std::iter::once(heading.clone()).chain(model.figures.iter().map(row)).collect::<Vec<_>>(),
        );
        if !model.differences.is_empty() {
            text.line(format_args!("less {}", names[0]));
            text.table(&model.differences.iter().map(row).collect::<Vec<_>>());
        }
        if let (false, Some(class)) = (model.calibration.is_empty(), &evaluation.second_class) {
            let heading = [&format!("predicted P({class})"), "observed", "95 % interval", "records"];
            let mut rows: Vec<Vec<String>> = vec![heading.map(str::to_owned).to_vec()];
            rows.extend(model.calibration.iter().map(|point| {
                let figure = &point.observed;
                let interval = format!("[{}, {}]", short(figure.lower), short(figure.upper));
                let observed = short(figure.value.unwrap_or(f64::NAN));
                vec![short(point.predicted), observed, interval, format!("{:.0}", point.count)]
            }));
            text.table(&rows);
        }
    }
    text.blank();
    text.line("Receipt of the test records");
    show::receipt(&evaluation.receipt).lines().for_each(|line| text.line(line));
    text.into()
}

/// Four significant digits; counts in full.
fn short(value: f64) -> String {
    if value.abs() >= 1000.0 {
        return format!("{value:.0}");
    }
    let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (3.0 - digits).clamp(0.0, 6.0) as usize)
}

/// JSON of a private evaluation with the names of its models.
pub(crate) fn json(evaluation: &PrivateEvaluation, names: &[String]) -> String {
    let mut value = serde_json::to_value(evaluation).unwrap_or_default();
    value["files"] = serde_json::json!(names);
    output::json(&value)
}
