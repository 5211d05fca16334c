//! `reticent-experiments vips-adult`

use std::path::PathBuf;

use reticent_experiments::adult::{Adult, Method, Outcome, Summary, figure, summarise, table};
use reticent_experiments::error::ExperimentError;
use serde_json::json;

use super::output::{self, Failure, write};
use super::progress::Progress;
use super::{check_budgets, check_minimum, write_all};

/// Logistic regression on the adult data set, with and without privacy.
#[derive(clap::Args)]
#[command(after_help = "\
After Section 6.4 of Park, Foulds, Chaudhuri and Welling, \"Variational Bayes in private settings (VIPS)\".

Example:
  reticent-experiments vips-adult --methods scores,dpvi,open-scores --runs 2 --epsilon 1")]
pub(super) struct Args {
    /// The folder of adult.parquet.
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Methods: scores (ours), vips, vips-strong, dpvi, objective, objective-pure, vips-printed; without privacy open-scores, open-vb.
    #[arg(long, value_delimiter = ',', default_values_t = Method::ALL)]
    methods: Vec<Method>,
    /// Budgets.
    #[arg(long, value_delimiter = ',', default_values_t = [0.05, 0.1, 0.5, 1.0, 4.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta of every budget.
    #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
    delta: f64,
    /// Number of random splits into four fifths and one fifth.
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// Maximum number of training records.
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    records: usize,
    /// Write vips-adult.csv, vips-adult.json and vips-adult.svg to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    check_minimum("--runs", args.runs, 1)?;
    check_minimum("--records", args.records, 100)?;
    check_budgets(&args.epsilon, args.delta)?;
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let data = Adult::read(&args.data)?;
    let each: usize = args.methods.iter().map(|method| method.budgets(&args.epsilon).len()).sum();
    let progress = Progress::new("fits", args.runs * each);
    let mut outcomes: Vec<Outcome> = Vec::new();
    for run in 0..args.runs as u64 {
        let split = data.split(run, args.records);
        for method in &args.methods {
            for asked in method.budgets(&args.epsilon) {
                outcomes.push(method.run(&data, &split, asked, args.delta, run)?);
                progress.show(outcomes.len());
            }
        }
    }
    drop(progress);
    let rows = summarise(&outcomes);
    let document = json!({
        "private": false,
        "why_not_private": "the data are public, and test records are looked at",
        "settings": { "runs": args.runs, "delta": args.delta, "records": data.records(), "adjacency": "replace-one" },
        "rows": rows,
        "outcomes": outcomes,
    });
    let shown = table(&rows).map_err(ExperimentError::from)?;
    write_all(args.out.as_deref(), "vips-adult", &shown.to_csv(), &document)?;
    if let (Some(folder), Some(svg)) = (&args.out, figure(&rows)) {
        write(folder, "vips-adult.svg", &svg)?;
    }
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(header(args, &data, &rows) + &shown.to_text())
}

fn header(args: &Args, data: &Adult, rows: &[Summary]) -> String {
    let mut text = format!(
        "Area under the curve on a fifth of the {} complete records, by learning from the rest: {} splits, delta {:e}, replace-one\n\
         adjacency. Inputs are encoded by public bounds and levels, with logarithms of capital gain and loss. The noise is fresh.\n\n\
         scores          weighted scores with a noise-aware posterior: what `reticent fit logistic` does\n\
         vips            Algorithm 5 of the paper about all records; vips-strong the same with strong composition\n\
         dpvi            variational inference with clipped gradients (Jalko et al. 2017)\n\
         objective       objective perturbation (Chaudhuri et al. 2011) with Gaussian noise; objective-pure without a delta\n\
         open-           without privacy\n",
        data.records(),
        args.runs,
        args.delta
    );
    if rows.iter().any(|row| row.printed_epsilon.is_some()) {
        text += &format!(
            "vips-printed    Algorithm 5 with the paper's sampling rate 0.004, 100 steps and noise multipliers 1, 6 and 12 (asked).\n\
             \x20               printed: at a delta of 1e-3, above 1/N; true: tightly accounted, at a delta of {:e}\n",
            args.delta
        );
    }
    text + "\n"
}
