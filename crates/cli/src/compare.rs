//! `reticent compare`

use std::path::PathBuf;

use reticent::{Compared, Difference, SCORES_NOTE, SavedModel};
use serde_json::json;

use crate::data::{self, LayoutArgs};
use crate::output::{self, Failure, Lines};
use crate::private::{self, PrivateArgs};

/// Compare models of the same target on the same test records. Not private, unless --epsilon is given.
#[derive(clap::Args)]
#[command(after_help = "\
Differences are from the first model, with standard errors over the records, which are paired. Without --epsilon they are exact
statistics of the records: publish them only if these records are public. With --epsilon they are estimated from one noisy sum over
the records, each with an interval, and charged to the data set of the test records in a --ledger.

Example:
  reticent compare model.reticent model.reticent --data test.csv")]
pub(crate) struct Args {
    /// The model files. Their targets must have the same name, kind, and levels or bounds.
    #[arg(required = true, num_args = 1..)]
    models: Vec<PathBuf>,
    /// The test records, or - for CSV from standard input. Those without a target are left out and counted.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    private: PrivateArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let models = args.models.iter().map(SavedModel::load).collect::<Result<Vec<_>, _>>()?;
    let models: Vec<&SavedModel> = models.iter().collect();
    let names: Vec<String> = args.models.iter().map(|file| file.display().to_string()).collect();
    let records = || data::data(&args.data, args.layout.over(models[0].schema().layout()));
    if let Some(evaluation) = args.private.evaluate(&models, records)? {
        return Ok(match args.json {
            true => private::json(&evaluation, &names),
            false => reticent_report::text::evaluation(&evaluation, &names),
        });
    }
    let compared = reticent::compare(&models, records()?)?;
    if args.json {
        return Ok(output::json(&json!({ "note": SCORES_NOTE, "files": names, "compared": compared })));
    }
    Ok(describe(&compared, &names, &models))
}

/// A figure, if all models have it.
type Of = fn(&reticent::ComparedModel) -> Option<Difference>;

fn describe(compared: &Compared, names: &[String], models: &[&SavedModel]) -> String {
    let unit = models[0].schema().target().and_then(|target| target.unit());
    let unit = unit.map_or(String::new(), |unit| format!(", {unit}"));
    let mut text = Lines::default();
    text.line(SCORES_NOTE);
    text.line(format_args!("test records: {}", compared.records));
    if compared.without_target > 0 {
        text.line(format_args!("records without a target, left out: {}", compared.without_target));
    }
    text.line("\u{b1} is one standard error; differences are from the first model, paired by record");
    let figures: [(String, Of); 6] = [
        ("log-likelihood of a record".to_owned(), |model| Some(model.log_likelihood)),
        (format!("root mean squared error{unit}"), |model| model.rmse),
        ("accuracy".to_owned(), |model| model.accuracy),
        ("area under the ROC curve".to_owned(), |model| model.auc),
        ("calibration error".to_owned(), |model| model.calibration_error),
        ("inside the 95 % interval".to_owned(), |model| model.coverage_95),
    ];
    for (figure, of) in &figures {
        let found: Vec<(&String, Difference)> = names
            .iter()
            .zip(&compared.models)
            .filter_map(|(name, model)| of(model).map(|difference| (name, difference)))
            .collect();
        if found.is_empty() {
            continue;
        }
        text.blank();
        let mut rows = vec![vec![figure.clone(), "value".to_owned(), "difference".to_owned()]];
        for (k, (name, one)) in found.into_iter().enumerate() {
            let value = format!("{:.4} \u{b1} {:.4}", one.value, one.standard_error);
            let difference = format!("{:+.4} \u{b1} {:.4}", one.difference, one.difference_error);
            rows.push(vec![format!("  {name}"), value, if k == 0 { String::new() } else { difference }]);
        }
        text.table(&rows);
    }
    text.into()
}
