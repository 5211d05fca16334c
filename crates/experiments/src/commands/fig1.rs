//! `reticent-experiments fig1`

use std::path::PathBuf;

use reticent_experiments::error::ExperimentError;
use reticent_experiments::figure::{FigureError, Panel, html, svg};
use reticent_experiments::mixture::paper_data;
use reticent_experiments::table::Table;
use reticent_experiments::table1::{Method, outcome, run as fit};
use reticent_experiments::truth;

use super::output::{Failure, make_folder, write};
use super::progress::Progress;
use super::{check_budgets, check_minimum};

/// The posteriors of one data set as a picture, with a page around it.
#[derive(clap::Args)]
#[command(after_help = "\
After Figure 1 of Vinaroz and Park, \"Differentially private stochastic expectation propagation\".

Example:
  reticent-experiments fig1 --records 300 --epsilon 5 --out figures")]
pub(super) struct Args {
    /// The seed of the data set, by the published generator.
    #[arg(long, default_value_t = 60)]
    seed: u32,
    /// Records.
    #[arg(long, default_value_t = 1000)]
    records: usize,
    /// Numbers in a record, of which two are shown.
    #[arg(long, default_value_t = 2)]
    dimension: usize,
    /// Components.
    #[arg(long, default_value_t = 4)]
    components: usize,
    /// A budget; may be given several times.
    #[arg(long, default_values_t = [1.0, 5.0, 50.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta of every budget.
    #[arg(long, default_value_t = 1e-5, allow_negative_numbers = true)]
    delta: f64,
    /// Write fig1.svg and fig1.html to this folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    check_minimum("--records", args.records, 2)?;
    check_minimum("--dimension", args.dimension, 2)?;
    check_minimum("--components", args.components, 1)?;
    check_budgets(&args.epsilon, args.delta)?;
    let data = paper_data(args.seed, args.records, args.components, args.dimension)
        .map_err(|error| Failure::from_error(&error, "use another --seed, such as 60"))?;
    make_folder(&args.out)?;
    let exact = truth::given_labels(&data);
    let mut panels = vec![Panel::truth("exact, true labels", &data, &exact)];
    let mut table = Table::new(&[
        "method",
        "F mean",
        "F covariance",
        "KL(truth || fit)",
        "KL(fit || truth)",
        "naive KL",
        "covered, %",
    ]);
    let private = args.epsilon.iter().map(|&epsilon| Method::DpSep { epsilon });
    let methods: Vec<Method> = [Method::Ep, Method::Sep].into_iter().chain(private).collect();
    let progress = Progress::new("methods", methods.len());
    for (done, &method) in methods.iter().enumerate() {
        let fitted = fit(&data, method, args.delta, 0)?;
        let panel = match method {
            Method::DpSep { epsilon } => {
                let title = format!("DP-SEP, \u{3b5} = {epsilon}");
                Panel::private(&title, &data, &exact, &fitted.naive, &fitted.components)
            }
            Method::Ep => Panel::fit("EP", &data, &exact, &fitted.components),
            _ => Panel::fit("SEP", &data, &exact, &fitted.components),
        };
        panels.push(panel?);
        let found = outcome(&data, &exact, &fitted, args.seed, method)?;
        table
            .push(vec![
                method.to_string().as_str().into(),
                found.f_mean.into(),
                found.f_cov.into(),
                found.kl.into(),
                found.reverse_kl.into(),
                found.naive_kl.into(),
                (100.0 * found.covered).into(),
            ])
            .map_err(ExperimentError::from)?;
        progress.show(done + 1);
    }
    drop(progress);
    let figure = svg(&data, &panels, 3)?;
    let introduction = format!(
        "The posterior of the means of a mixture: {} records in {} dimensions from {} components, the published generator \
         with seed {}. Each panel shows the first two coordinates, the close-ups below it where each mean is. The private \
         fits are at delta {:e}; what they report is the dashed ring. The table compares each fit with the exact posterior \
         given the true labels. The data are simulated; the noise is fresh.",
        args.records, args.dimension, args.components, args.seed, args.delta
    );
    write(&args.out, "fig1.svg", &figure)?;
    write(
        &args.out,
        "fig1.html",
        &html("Posteriors of a mixture, with and without privacy", &introduction, &figure, &table),
    )?;
    let folder = args.out.display();
    Ok(format!(
        "Posteriors of the means of a mixture, compared with the exact one given the true labels (data set {})\n\
         The data are simulated; the noise is fresh, so figures vary a little from run to run.\n\n\
         {}\nwritten: fig1.svg and fig1.html in {folder}\n",
        args.seed,
        table.to_text()
    ))
}

impl From<FigureError> for Failure {
    fn from(error: FigureError) -> Self {
        Self::from_error(&error, "see --help for what each option means")
    }
}
