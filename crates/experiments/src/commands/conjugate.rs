//! `reticent-experiments foulds-fig1`, `foulds-fig2`, `foulds-are`, `foulds-coverage` and `naive-bayes`

use std::path::PathBuf;

use reticent_experiments::conjugate::{
    Adult, Covered, Draws, Efficiency, Model, Setting, coverage, densities, efficiency,
};
use reticent_experiments::error::ExperimentError;
use reticent_experiments::figure::{Scale, Series, html, lines};
use reticent_experiments::table::{Cell, Table, digits};
use serde_json::{Value, json};

use super::output::{self, Failure, make_folder, write};
use super::progress::Progress;
use super::{check_budgets, check_minimum, not_usage, write_all};

const SIMULATED: &str = "Data and noise are simulated: the experiment measures methods and gives no privacy.";

/// Private posteriors of one rate as a picture.
#[derive(clap::Args)]
#[command(after_help = "\
After Figure 1 of Foulds et al., \"On the theory and practice of privacy-preserving Bayesian data analysis\".

Example:
  reticent-experiments foulds-fig1 --out figures")]
pub(super) struct Fig1Args {
    /// The true rate.
    #[arg(long, default_value_t = 0.3)]
    rate: f64,
    /// Where the posterior sample is truncated on both sides.
    #[arg(long, default_value_t = 0.2)]
    truncation: f64,
    /// The budget.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    epsilon: f64,
    /// Records.
    #[arg(long, default_value_t = 20)]
    records: usize,
    /// Draws of the noise.
    #[arg(long, default_value_t = 30)]
    draws: usize,
    /// The seed of the noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write foulds-fig1.svg, .csv and .json to this folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Error of samples of a rate, by number of records.
#[derive(clap::Args)]
#[command(after_help = "\
After Figure 2 of Foulds et al.

Example:
  reticent-experiments foulds-fig2 --repeats 1000 --out figures")]
pub(super) struct Fig2Args {
    #[command(flatten)]
    common: GrowingArgs,
    /// The true rate.
    #[arg(long, default_value_t = 0.1)]
    rate: f64,
    /// Where the posterior sample is truncated on both sides.
    #[arg(long, default_value_t = 0.05)]
    truncation: f64,
    /// The budget.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true)]
    epsilon: f64,
    /// Numbers of records.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000])]
    records: Vec<usize>,
}

/// Efficiency of posterior samples relative to the best estimate, by number of records.
#[derive(clap::Args)]
#[command(after_help = "\
After Theorems 4 and 5 of Foulds et al.: a draw from a posterior has twice the variance of the best estimate, a sample at
temperature T has 1 + T times that, however many records there are.

Example:
  reticent-experiments foulds-are --repeats 20000")]
pub(super) struct AreArgs {
    #[command(flatten)]
    common: GrowingArgs,
    /// The true rate.
    #[arg(long, default_value_t = 0.3)]
    rate: f64,
    /// Where the posterior sample is truncated on both sides.
    #[arg(long, default_value_t = 0.2)]
    truncation: f64,
    /// The budget.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    epsilon: f64,
    /// Numbers of records.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 100, 300, 1000, 3000, 10_000, 100_000])]
    records: Vec<usize>,
}

#[derive(clap::Args)]
pub(super) struct GrowingArgs {
    /// Data sets of each size.
    #[arg(long, default_value_t = 4000)]
    repeats: u64,
    /// Write a figure, CSV and JSON to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Coverage of intervals from noisy statistics.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent-experiments foulds-coverage --sets 1000 --out figures")]
pub(super) struct CoverageArgs {
    /// Data sets for each line.
    #[arg(long, default_value_t = 1000)]
    sets: u64,
    /// Budgets, pure, under replace-one adjacency.
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 1.0, 10.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// Numbers of records.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1000])]
    records: Vec<usize>,
    /// Write foulds-coverage.csv and .json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Naive Bayes on the census income data, with and without privacy.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent-experiments naive-bayes --data ../shared/data --epsilon 1")]
pub(super) struct NaiveBayesArgs {
    /// The folder of adult.parquet, with the columns `income` and `split`.
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Budgets.
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 1.0, 10.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta of every budget. Normal columns have no use for it.
    #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
    delta: f64,
    /// Runs that private figures are averages of.
    #[arg(long, default_value_t = 10)]
    runs: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Validates rate, truncation and budget.
fn setting(p: f64, truncation: f64, epsilon: f64) -> Result<Setting, Failure> {
    check_budgets(&[epsilon], 1e-6)?;
    if !(p > 0.0 && p < 1.0 && truncation > 0.0 && truncation < 0.5) {
        let hint = "such as --rate 0.3 --truncation 0.2";
        return Err(Failure::usage("a rate is between 0 and 1, and a truncation between 0 and 1/2", hint));
    }
    Ok(Setting { p, truncation, epsilon })
}

fn settings_json(Setting { p, truncation, epsilon }: Setting, temperature: f64) -> Value {
    json!({ "rate": p, "truncation": truncation, "epsilon": epsilon, "temperature": temperature })
}

pub(super) fn fig1(args: &Fig1Args) -> Result<String, Failure> {
    let setting = setting(args.rate, args.truncation, args.epsilon)?;
    check_minimum("--records", args.records, 1)?;
    check_minimum("--draws", args.draws, 1)?;
    make_folder(&args.out)?;
    let found = densities(setting, args.records, args.draws, args.seed);
    write(&args.out, "foulds-fig1.svg", &found.svg())?;
    let mut table =
        Table::new(&["rate", "without_privacy", "posterior_sample", "printed_1", "noise_aware_1"]);
    for (k, &rate) in found.grid.iter().enumerate() {
        let row = [rate, found.exact[k], found.sample[k], found.printed[0][k], found.noise_aware[0][k]];
        table.push(row.map(Cell::from).to_vec()).map_err(ExperimentError::from)?;
    }
    let document = json!({
        "private": false,
        "why_not_private": "the data are simulated",
        "settings": settings_json(setting, found.temperature),
        "records": args.records,
        "rates": found.grid,
        "without_privacy": found.exact,
        "posterior_sample": found.sample,
        "printed": found.printed,
        "noise_aware": found.noise_aware,
    });
    write_all(Some(&args.out), "foulds-fig1", &table.to_csv(), &document)?;
    Ok(format!(
        "Posteriors of a rate of {}: {} records, epsilon {}, samples truncated at {} and so at temperature {:.3}\n{SIMULATED}\n\n\
         written: foulds-fig1.svg, .csv and .json in {}\n",
        args.rate,
        args.records,
        args.epsilon,
        args.truncation,
        found.temperature,
        args.out.display()
    ))
}

/// A method as shown and as in files, and its figure.
type Method = (&'static str, &'static str, fn(&Draws) -> f64);

const NAMES: [Method; 5] = [
    ("without privacy", "without_privacy", |d| d.exact),
    ("posterior sample", "posterior_sample", |d| d.sample),
    ("noisy counts as printed", "printed", |d| d.printed),
    ("noise-aware", "noise_aware", |d| d.noise_aware),
    ("noise-aware mean", "noise_aware_mean", |d| d.noise_aware_mean),
];

pub(super) fn fig2(args: &Fig2Args) -> Result<String, Failure> {
    let setting = setting(args.rate, args.truncation, args.epsilon)?;
    let what = format!(
        "The mean distance of a rate from the truth, {}: epsilon {}, samples truncated at {} and so at temperature {:.1}; {} data sets of each size",
        setting.p,
        setting.epsilon,
        setting.truncation,
        setting.temperature(),
        args.common.repeats
    );
    growing(
        &args.common,
        setting,
        &args.records,
        ("foulds-fig2", "Error of one draw of a rate, by method", &what, "mean distance from the truth"),
        |row| row.l1,
    )
}

pub(super) fn are(args: &AreArgs) -> Result<String, Failure> {
    let setting = setting(args.rate, args.truncation, args.epsilon)?;
    let t = setting.temperature();
    let what = format!(
        "The mean squared error of a rate of {} over that of the best estimate: epsilon {}, samples truncated at {}; {} data sets of each size\n\
         As records grow, a draw from a posterior should tend to 2, a sample at temperature T = {t:.3} to 1 + T = {:.3}, a posterior mean to 1;\n\
         the ratio of a sample to a posterior draw to (1 + T)/2 = {:.3}",
        setting.p,
        setting.epsilon,
        setting.truncation,
        args.common.repeats,
        1.0 + t,
        0.5 * (1.0 + t)
    );
    let title = "Asymptotic relative efficiency of a draw, by method";
    let names = ("foulds-are", title, what.as_str(), "squared error over that of the best estimate");
    growing(&args.common, setting, &args.records, names, |row| row.relative)
}

/// A table and a figure of one number for each method and size.
fn growing(
    args: &GrowingArgs,
    setting: Setting,
    sizes: &[usize],
    (name, title, what, axis): (&str, &str, &str, &str),
    of: fn(&Efficiency) -> Draws,
) -> Result<String, Failure> {
    check_minimum("--repeats", args.repeats as usize, 2)?;
    for &size in sizes {
        check_minimum("--records", size, 1)?;
    }
    args.out.as_deref().map_or(Ok(()), make_folder)?;
    let progress = Progress::new("sizes", sizes.len());
    let mut rows = Vec::new();
    for &size in sizes {
        rows.extend(efficiency(setting, &[size], args.repeats));
        progress.show(rows.len());
    }
    drop(progress);
    let header = |pick: fn(&Method) -> &'static str| {
        std::iter::once("records").chain(NAMES.iter().map(pick)).chain(["ratio"]).collect::<Vec<_>>()
    };
    let (mut shown, mut exact) = (Table::new(&header(|n| n.0)), Table::new(&header(|n| n.1)));
    for row in &rows {
        let draws = of(row);
        let values: Vec<f64> = NAMES.iter().map(|(_, _, pick)| pick(&draws)).chain([row.ratio()]).collect();
        let text = values.iter().map(|&x| Cell::from(digits(x, 4).as_str()));
        let cells = std::iter::once(row.records.to_string().as_str().into()).chain(text).collect();
        shown.push(cells).map_err(ExperimentError::from)?;
        let cells = std::iter::once(row.records as f64).chain(values).map(Cell::from).collect();
        exact.push(cells).map_err(ExperimentError::from)?;
    }
    let document = json!({
        "private": false,
        "why_not_private": "the data are simulated",
        "settings": settings_json(setting, setting.temperature()),
        "repeats": args.repeats,
        "rows": rows,
    });
    if let Some(folder) = &args.out {
        let series: Vec<Series> = NAMES
            .iter()
            .map(|(name, _, pick)| {
                Series::new(name, rows.iter().map(|row| (row.records as f64, pick(&of(row)))).collect())
            })
            .collect();
        let axes = (("records", Scale::Logarithmic), (axis, Scale::Logarithmic));
        let figure = lines(title, axes.0, axes.1, &series);
        write(folder, &format!("{name}.svg"), &figure)?;
        write(folder, &format!("{name}.html"), &html(title, what, &figure, &shown))?;
    }
    write_all(args.out.as_deref(), name, &exact.to_csv(), &document)?;
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(format!("{what}\n{SIMULATED}\n\n{}", shown.to_text()))
}

pub(super) fn covered(args: &CoverageArgs) -> Result<String, Failure> {
    check_budgets(&args.epsilon, 1e-6)?;
    check_minimum("--sets", args.sets as usize, 2)?;
    for &records in &args.records {
        check_minimum("--records", records, 2)?;
    }
    args.out.as_deref().map_or(Ok(()), make_folder)?;
    let models = [Model::Bernoulli, Model::Dirichlet, Model::Mean];
    let progress = Progress::new("lines", models.len() * args.records.len() * args.epsilon.len());
    let mut rows: Vec<Covered> = Vec::new();
    for model in models {
        for &records in &args.records {
            for &epsilon in &args.epsilon {
                rows.push(coverage(model, records, epsilon, args.sets)?);
                progress.show(rows.len());
            }
        }
    }
    drop(progress);
    let columns = ["model", "records", "epsilon", "noise_aware", "naive", "printed", "standard_error"];
    let mut table = Table::new(&columns);
    for row in &rows {
        let name = match row.model {
            Model::Bernoulli => "rate",
            Model::Dirichlet => "20 shares",
            Model::Mean => "mean",
        };
        let printed = row.printed.map_or(Cell::from("-"), Cell::from);
        let cells = vec![
            name.into(),
            row.records.to_string().as_str().into(),
            row.epsilon.to_string().as_str().into(),
            row.noise_aware.into(),
            row.naive.into(),
            printed,
            row.standard_error.into(),
        ];
        table.push(cells).map_err(ExperimentError::from)?;
    }
    let document = json!({
        "private": false,
        "why_not_private": "the data are simulated, and compared with the truth",
        "sets": args.sets,
        "rows": rows,
    });
    write_all(args.out.as_deref(), "foulds-coverage", &table.to_csv(), &document)?;
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(format!(
        "Coverage of 95 % intervals, {} data sets each: a rate of 0.3 and a mean of 0.2 with deviation 0.4 within\n\
         [-1, 1], and 20 shares drawn from their prior; Laplace noise, replace-one adjacency. {SIMULATED}\n\n{}",
        args.sets,
        table.to_text()
    ))
}

pub(super) fn naive_bayes(args: &NaiveBayesArgs) -> Result<String, Failure> {
    check_budgets(&args.epsilon, args.delta)?;
    check_minimum("--runs", args.runs as usize, 1)?;
    let adult = Adult::read(&args.data).map_err(not_usage)?;
    let mut rows = Vec::new();
    for &epsilon in &args.epsilon {
        rows.push(adult.scores(epsilon, args.delta, args.runs).map_err(not_usage)?);
    }
    if args.json {
        return Ok(output::json(
            &json!({ "private": false, "why_not_private": "the data are public", "rows": rows }),
        ));
    }
    let columns = ["epsilon", "no privacy", "noise-aware", "naive", "normal, no privacy", "normal, private"];
    let mut table = Table::new(&columns);
    for row in &rows {
        let values =
            [row.without_privacy, row.noise_aware, row.naive, row.gaussian_without_privacy, row.gaussian];
        let cells = std::iter::once(row.epsilon).chain(values).map(Cell::from).collect();
        table.push(cells).map_err(ExperimentError::from)?;
    }
    Ok(format!(
        "The share of right classes on the test part of the census income data: naive Bayes from tables of counts of all columns but\n\
         fnlwgt, and from normal numeric columns as in diffprivlib; delta {:e}, replace-one adjacency, mean of {} runs.\n\
         Bounds and levels are taken to be public.\n\n{}",
        args.delta,
        args.runs,
        table.to_text()
    ))
}
