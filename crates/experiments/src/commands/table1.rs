//! `reticent-experiments table1`

use std::path::PathBuf;

use clap::ValueEnum;
use reticent_experiments::error::ExperimentError;
use reticent_experiments::table::{Cell, Quartiles, Table, digits};
use reticent_experiments::table1::{Method, Outcome, PAPER, Table1, mean, projections, seeds, values};
use serde_json::json;

use super::output::{self, Failure};
use super::progress::Progress;
use super::{check_budgets, check_minimum, write_all};

/// Error of posteriors of a mixture, at several budgets.
#[derive(clap::Args)]
#[command(after_help = "\
After Table 1 of Vinaroz and Park, \"Differentially private stochastic expectation propagation\".

Example:
  reticent-experiments table1 --sets 2 --records 300 --dimension 2 --epsilon 5 --printed-passes 1")]
pub(super) struct Args {
    /// Number of data sets: the published generator with the seeds 60, 61, ...
    #[arg(long, default_value_t = 20)]
    sets: usize,
    /// Records of each.
    #[arg(long, default_value_t = 1000)]
    records: usize,
    /// Numbers in a record; the paper has 4.
    #[arg(long, default_value_t = 4)]
    dimension: usize,
    /// Components.
    #[arg(long, default_value_t = 4)]
    components: usize,
    /// The delta of every budget.
    #[arg(long, default_value_t = 1e-5, allow_negative_numbers = true)]
    delta: f64,
    /// A budget; may be given several times.
    #[arg(long, default_values_t = [1.0, 5.0, 5.5, 50.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// Passes of the printed algorithm with the noise it needs; 0 leaves it out.
    #[arg(long, default_value_t = 100)]
    printed_passes: u64,
    /// The reference posterior.
    #[arg(long, value_enum, default_value_t = Truth::Labels)]
    truth: Truth,
    /// Write table1.csv and table1.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Truth {
    /// The exact posterior given the true labels.
    Labels,
    /// The posterior with the labels unknown, sampled by NUTS.
    Nuts,
}

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    check_minimum("--sets", args.sets, 1)?;
    check_minimum("--records", args.records, 2)?;
    check_minimum("--dimension", args.dimension, 1)?;
    check_minimum("--components", args.components, 1)?;
    check_budgets(&args.epsilon, args.delta)?;
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let experiment = Table1 {
        seeds: seeds(args.sets, args.components, args.dimension),
        records: args.records,
        components: args.components,
        dimension: args.dimension,
        delta: args.delta,
        epsilons: args.epsilon.clone(),
        printed_passes: (args.printed_passes > 0).then_some(args.printed_passes),
        nuts: args.truth == Truth::Nuts,
    };
    let progress = Progress::new("data sets", args.sets);
    let outcomes = experiment.run(|done| progress.show(done))?;
    drop(progress);
    let summary = experiment.summary(&outcomes).map_err(ExperimentError::from)?;
    let document = json!({
        "private": false,
        "why_not_private": "the data are simulated, and compared with the truth",
        "settings": {
            "seeds": experiment.seeds,
            "records": args.records,
            "dimension": args.dimension,
            "components": args.components,
            "delta": args.delta,
            "epsilon": args.epsilon,
            "printed_passes": args.printed_passes,
            "truth": if experiment.nuts { "nuts" } else { "labels" },
        },
        "summary": summary.to_json(),
        "paper_as_printed": PAPER,
        "outcomes": outcomes,
    });
    write_all(args.out.as_deref(), "table1", &summary.to_csv(), &document)?;
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(header(args, &experiment) + &shown(&experiment, &outcomes)?.to_text())
}

fn header(args: &Args, experiment: &Table1) -> String {
    let truth = match args.truth {
        Truth::Labels => "the exact posterior given the true labels",
        Truth::Nuts => "the posterior with the labels unknown, sampled by NUTS",
    };
    let (first, last) = (experiment.seeds[0], experiment.seeds[experiment.seeds.len() - 1]);
    let mut text = format!(
        "Posteriors of the means of a mixture, compared with {truth}\n\
         {} records in {} dimensions from {} components; medians [quartiles] over {} data sets (seeds {first} to {last}); delta {:e}\n\
         The data are simulated; the noise is fresh, so figures vary a little from run to run.\n\n\
         paper F, KL       what the public code behind the paper's Table 1 calls F-norm and KL, against its own truth: squared\n                  \
         errors, and the size of a KL that lacks its trace\n\
         F mean, F cov     Frobenius norms of the errors of all means and of all covariances\n\
         KL, reverse       KL(truth || fit) and KL(fit || truth), averaged over components\n\
         naive KL          KL(truth || fit) with the uncertainty from the privacy noise left out\n\
         covered           the share of true means in their 95 % regions, averaged over data sets\n\
         projected         how often a step had to be moved back to a density, where it is counted\n\
         paper as printed  for one data set; its middle budget is 5 in the full version and 5.5 in the workshop version\n",
        args.records, args.dimension, args.components, args.sets, args.delta,
    );
    if experiment.printed_passes.is_some() {
        text.push_str(&format!(
            "true epsilon      the printed algorithm, {} pass{}, with the noise that its own step and sampler need for that\n                  \
             epsilon, by our accountant\n",
            args.printed_passes,
            if args.printed_passes == 1 { "" } else { "es" },
        ));
    }
    text.push('\n');
    text
}

/// The table for a terminal.
fn shown(experiment: &Table1, outcomes: &[Outcome]) -> Result<Table, Failure> {
    let columns = [
        "method",
        "paper F",
        "paper KL",
        "F mean",
        "F cov",
        "KL",
        "reverse",
        "naive KL",
        "covered",
        "projected",
    ];
    let mut table = Table::new(&columns);
    let mut push = |cells: Vec<String>| {
        table
            .push(cells.iter().map(|cell| Cell::from(cell.as_str())).collect())
            .map_err(ExperimentError::from)
    };
    for method in experiment.methods() {
        push(row(method, outcomes)?)?;
    }
    for printed in PAPER {
        let first = [
            format!("paper as printed: {}", printed.method),
            printed.f_norm.to_string(),
            printed.kl.to_string(),
        ];
        push(first.into_iter().chain((0..7).map(|_| "-".to_owned())).collect())?;
    }
    Ok(table)
}

fn row(method: Method, outcomes: &[Outcome]) -> Result<Vec<String>, ExperimentError> {
    let quartiles = |figure| Quartiles::of(&values(outcomes, method, figure));
    let all = |figure| {
        quartiles(figure).map(|Quartiles { lower, median, upper }| {
            format!("{} [{}, {}]", digits(median, 3), digits(lower, 3), digits(upper, 3))
        })
    };
    let median = |figure| quartiles(figure).map(|quartiles| digits(quartiles.median, 3));
    Ok(vec![
        method.to_string(),
        all(|o| o.published_f)?,
        median(|o| o.published_kl)?,
        median(|o| o.f_mean)?,
        median(|o| o.f_cov)?,
        all(|o| o.kl)?,
        median(|o| o.reverse_kl)?,
        median(|o| o.naive_kl)?,
        format!("{:.1} %", 100.0 * mean(&values(outcomes, method, |o| o.covered))),
        projections(outcomes, method)?.map_or("-".to_owned(), |count| count.to_string()),
    ])
}
