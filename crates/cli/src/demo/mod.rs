//! `reticent demo`: a simulated table, fitted at several budgets, from schema to report.

mod clinic;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::{Adjacency, Error, Fit, Privacy, SavedModel, Schema, model};

use crate::output::{Failure, make_folder, rounded_down, rounded_up, table, write};
use crate::progress::Progress;
use crate::{interrupt, report};

/// Fit a simulated table at several budgets, from schema to report.
#[derive(clap::Args)]
#[command(after_help = "\
The table is simulated, with a public seed, so nobody's data are in it. The noise is fresh each time.

Example:
  reticent demo --out reticent-demo")]
pub(crate) struct Args {
    /// Where models, predictions, schema and report go.
    #[arg(long, value_name = "DIR", default_value = "reticent-demo")]
    out: PathBuf,
    /// The number of records to fit.
    #[arg(long, value_name = "N", default_value_t = 8000)]
    records: usize,
}

const DELTA: f64 = 1e-5;
/// Nothing for no privacy.
const EPSILONS: [Option<f64>; 4] = [None, Some(8.0), Some(1.0), Some(0.1)];
/// The budget whose report is shown.
const SHOWN: f64 = 1.0;

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    if !(100..100_000).contains(&args.records) {
        let message = format!("--records must be at least 100 and below 100000, not {}", args.records);
        return Err(Failure::usage(message, "leave it out for 8000"));
    }
    let folder = &args.out;
    make_folder(folder)?;
    write(folder, "schema.toml", clinic::SCHEMA)?;
    write(folder, "train.csv", &clinic::table(args.records, 1))?;
    write(folder, "test.csv", &clinic::table(args.records / 4, 2))?;

    let header = ["", "epsilon", "error (days)", "log-likelihood", "inside 50 %", "80 %", "95 %", "spent"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let progress = Progress::new("fits", EPSILONS.len() as u64, false);
    for (done, epsilon) in (1..).zip(EPSILONS) {
        let name = epsilon.map_or("baseline.reticent".to_owned(), |e| format!("epsilon-{e}.reticent"));
        let model = fitted(folder, &name, epsilon)?;
        rows.push(row(&model, epsilon)?);
        if epsilon == Some(SHOWN) {
            model.predict(folder.join("test.csv"), folder.join("predictions.csv"))?;
            write(folder, "report.html", &report::page(&model, None, None)?)?;
        }
        progress.show(done);
    }
    drop(progress);
    Ok(text(args, &rows))
}

fn fitted(folder: &Path, name: &str, epsilon: Option<f64>) -> Result<SavedModel, Failure> {
    let schema = Schema::parse(clinic::SCHEMA).map_err(Error::from)?;
    // Test records are simulated, so they are public; and files of an earlier demo have cost nothing.
    let fit = Fit::new("regression", &schema)?.test(folder.join("test.csv")).test_is_public().overwrite(true);
    let fit = match epsilon {
        Some(epsilon) => {
            fit.privacy(Privacy::new(epsilon, DELTA, Adjacency::ReplaceOne).map_err(Error::from)?)
        }
        None => fit.without_privacy(),
    };
    let out = folder.join(name);
    fit.out(&out).cancelled_by(&interrupt::listen()).run(folder.join("train.csv"))?;
    Ok(SavedModel::load(&out)?)
}

fn row(model: &SavedModel, epsilon: Option<f64>) -> Result<Vec<String>, Failure> {
    let test = model.card().test.as_ref();
    let score = &test.ok_or_else(|| Failure::failed("a model has no scores", None))?.score;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let [half, most, nearly_all] = score.coverage.unwrap_or_default().map(percent);
    let spent = model.receipt().guarantee.cost().map_or("NOT PRIVATE".to_owned(), |cost| {
        format!("{} to {}", rounded_down(cost.epsilon.lower), rounded_up(cost.epsilon.upper))
    });
    Ok(vec![
        String::new(),
        epsilon.map_or("none".to_owned(), |epsilon| epsilon.to_string()),
        format!("{:.3}", score.rmse.unwrap_or(f64::NAN)),
        format!("{:.3}", score.log_likelihood),
        half,
        most,
        nearly_all,
        spent,
    ])
}

fn text(args: &Args, rows: &[Vec<String>]) -> String {
    let out = args.out.display();
    let mut text = format!(
        "A hospital has {} simulated records of patients, and wants to publish how long they stay.\n\
         The regression model predicts {}.\nOn {} other patients:\n\n",
        args.records,
        model("regression").map_or("", |model| model.declaration().about),
        args.records / 4
    );
    text.push_str(&table(rows));
    let _ = write!(
        text,
        "\nError, likelihood and coverage are those of the test records; epsilon is at delta {DELTA:e}, replace-one,\n\
         between the bounds of the accountant. Less privacy budget means more noise, and wider intervals that still cover.\n\n\
         {out}/ has the models, predictions.csv, schema.toml and report.html: open that in a browser.\n\n\
         With a file of your own:\n  \
         reticent schema --from FILE --target COLUMN > schema.toml    # then fill in bounds and levels\n  \
         reticent fit regression --data FILE --schema schema.toml --epsilon 1 --delta 1e-5 --out model.reticent\n  \
         reticent report model.reticent --out report.html\n"
    );
    text
}
