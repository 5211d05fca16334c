//! `reticent-experiments table2` and `table3`

use std::path::PathBuf;

use clap::ValueEnum;
use reticent_core::budget::Adjacency;
use reticent_experiments::error::ExperimentError;
use reticent_experiments::uci::{Budget, Experiment, Measure, Method, NOTE, Report, Set, Store, run};

use super::output::{self, Failure, write};
use super::progress::Progress;
use super::{check_budgets, check_minimum, write_all};

/// Regression on five data sets, with and without privacy, over splits.
#[derive(clap::Args)]
#[command(after_help = "\
After Tables 2 and 3 of Vinaroz and Park, \"Differentially private stochastic expectation propagation\". Both commands share their
results: what one has done the other shows. A run that was stopped goes on where it was.

Example:
  reticent-experiments table2 --sets wine,kin8nm --methods sep,regression,linear --splits 2 --epsilon 1")]
pub(super) struct Args {
    /// The folder of the data sets: uci_naval.parquet and so on, with columns x0, x1, ... and y.
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Data sets: naval, kin8nm, power, wine, protein.
    #[arg(long, value_delimiter = ',', default_values_t = Set::ALL)]
    sets: Vec<Set>,
    /// Methods: vi, adf, ep, sep, sep-clipped without privacy; regression, linear, dp-sgd private; middle of the bounds.
    #[arg(long, value_delimiter = ',', default_values_t = Method::ALL)]
    methods: Vec<Method>,
    /// Budgets of private methods.
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 4.0, 8.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta of every budget.
    #[arg(long, default_value_t = 1e-5, allow_negative_numbers = true)]
    delta: f64,
    /// The adjacency; may be both.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Neighbours::AddRemove])]
    adjacency: Vec<Neighbours>,
    /// Number of the published splits.
    #[arg(long, default_value_t = 5)]
    splits: usize,
    /// Passes of methods without privacy.
    #[arg(long, default_value_t = 40)]
    passes: usize,
    /// Hidden units of their networks; 50 if not given, and 100 for protein.
    #[arg(long)]
    hidden: Option<usize>,
    /// Scale by the moments of the training part in private methods too, as the papers do: private only if these are public.
    #[arg(long)]
    assume_public_moments: bool,
    /// Two splits and two passes, as a quick check.
    #[arg(long, conflicts_with_all = ["splits", "passes"])]
    quick: bool,
    /// The folder of results.jsonl, which runs add to, and of the tables.
    #[arg(long, value_name = "DIR", default_value = "reticent-table2")]
    out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Neighbours {
    /// One has a record more.
    AddRemove,
    /// One record is another.
    ReplaceOne,
}

/// Which table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Two,
    Three,
}

impl Args {
    fn experiment(&self) -> Result<Experiment, Failure> {
        check_minimum("--splits", self.splits, 1)?;
        check_minimum("--passes", self.passes, 1)?;
        check_minimum("--hidden", self.hidden.unwrap_or(1), 1)?;
        check_budgets(&self.epsilon, self.delta)?;
        let (splits, passes) = if self.quick { (2, 2) } else { (self.splits, self.passes) };
        let budget = |adjacency, epsilon| Budget {
            epsilon,
            delta: self.delta,
            adjacency,
            public_moments: self.assume_public_moments,
        };
        let adjacencies = self.adjacency.iter().map(|neighbours| match neighbours {
            Neighbours::AddRemove => Adjacency::AddRemove,
            Neighbours::ReplaceOne => Adjacency::ReplaceOne,
        });
        let budgets =
            adjacencies.flat_map(|adjacency| self.epsilon.iter().map(move |&e| budget(adjacency, e)));
        Ok(Experiment {
            sets: self.sets.clone(),
            methods: self.methods.clone(),
            splits,
            passes,
            hidden: self.hidden,
            budgets: budgets.collect(),
        })
    }
}

pub(super) fn table(args: &Args, number: Number) -> Result<String, Failure> {
    let experiment = args.experiment()?;
    output::make_folder(&args.out)?;
    let mut store = Store::open(&args.out.join("results.jsonl"))?;
    let jobs = experiment.jobs();
    // All jobs count, those that were done before too.
    let progress = Progress::new("fits", jobs.len());
    run(&jobs, &args.data, &mut store, |done, missing| progress.show(jobs.len() - missing + done))?;
    drop(progress);

    let report = Report::new(&experiment, &store);
    let (name, first) = match number {
        Number::Two => ("table2", Measure::Rmse),
        Number::Three => ("table3", Measure::LogLikelihood),
    };
    let second = if number == Number::Two { Measure::LogLikelihood } else { Measure::Rmse };
    let introduction = introduction(args, &experiment);
    let document = report.to_json()?;
    write_all(Some(&args.out), name, &report.summary().map_err(ExperimentError::from)?.to_csv(), &document)?;
    let page = report.to_html(&[first, second, Measure::Coverage], &introduction)?;
    write(&args.out, &format!("{name}.html"), &page)?;
    if args.json {
        return Ok(output::json(&document));
    }
    let mut text = wrapped(&introduction);
    for measure in [first, Measure::Coverage] {
        let table = report.table(measure).map_err(ExperimentError::from)?;
        text += &format!("\n{}\n\n{}", measure.title(), table.to_text());
    }
    let folder = args.out.display();
    let note = wrapped(NOTE);
    Ok(format!("{text}\n{note}\nwritten: {name}.csv, {name}.json and {name}.html in {folder}\n"))
}

/// Lines of at most 110 characters, the last with its end.
fn wrapped(text: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        if length > 0 {
            let fits = length + 1 + word.chars().count() <= 110;
            lines.push(if fits { ' ' } else { '\n' });
            length = if fits { length + 1 } else { 0 };
        }
        lines.push_str(word);
        length += word.chars().count();
    }
    lines + "\n"
}

fn introduction(args: &Args, experiment: &Experiment) -> String {
    let scaling = if args.assume_public_moments {
        "Private methods scale by the moments of the training part, which are assumed to be public: no budget pays for them."
    } else {
        "Private methods know public bounds of the columns and nothing else."
    };
    format!(
        "Mean \u{b1} standard deviation over {} of the published splits, in the units of the targets. Methods without privacy scale by the \
         moments of the training part and make {} passes. {scaling} The settings of DP-SGD were chosen with the test data in sight, which \
         no private method may do. delta is {:e}; the noise is fresh, so private figures vary a little from run to run.",
        experiment.splits, experiment.passes, args.delta
    )
}
