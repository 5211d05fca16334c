//! `reticent-experiments foulds-hmm`

use std::path::PathBuf;

use reticent_experiments::crashes::{
    Crashes, Experiment, Method, Regions, Report, paid_assignments, picture, posterior, run,
};
use reticent_experiments::figure::{Scale, lines};

use super::output::{self, Failure, write};
use super::progress::Progress;
use super::{check_budgets, check_minimum, write_all};

/// Private hidden Markov models of crashes by region and month, compared with naive Bayes.
#[derive(clap::Args)]
#[command(after_help = "\
After section 5 of Foulds, Geumlek, Welling and Chaudhuri, \"On the theory and practice of privacy-preserving Bayesian data
analysis\", on fatal crashes in the US instead of war logs. A run that was stopped goes on where it was.

Example:
  reticent-experiments foulds-hmm --regions division --splits 2 --epsilon 1,5")]
pub(super) struct Args {
    /// The folder of fars_2013_2015.parquet.
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// What a region is: division, state.
    #[arg(long, value_delimiter = ',', default_values_t = Regions::ALL)]
    regions: Vec<Regions>,
    /// Methods: naive-bayes, naive, noise-aware, exponential.
    #[arg(long, value_delimiter = ',', default_values_t = Method::ALL)]
    methods: Vec<Method>,
    /// Budgets.
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta of every budget.
    #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
    delta: f64,
    /// Number of splits, with a tenth of the cells held out in each.
    #[arg(long, default_value_t = 10)]
    splits: usize,
    /// States of the models that are scored.
    #[arg(long, default_value_t = 10)]
    states: usize,
    /// Chains of each fit.
    #[arg(long, default_value_t = 4)]
    chains: usize,
    /// Draws of each chain; the first half is not used.
    #[arg(long, default_value_t = 200)]
    iterations: usize,
    /// States of the models that are drawn.
    #[arg(long, default_value_t = 3)]
    drawn_states: usize,
    /// The budget of the models that are drawn.
    #[arg(long, default_value_t = 5.0, allow_negative_numbers = true)]
    drawn_epsilon: f64,
    /// The folder of results.jsonl, which runs add to, and of the tables and figures.
    #[arg(long, value_name = "DIR", default_value = "reticent-foulds-hmm")]
    out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn table(args: &Args) -> Result<String, Failure> {
    check_minimum("--splits", args.splits, 1)?;
    check_minimum("--states", args.states, 1)?;
    check_minimum("--chains", args.chains, 1)?;
    check_minimum("--iterations", args.iterations, 2)?;
    check_minimum("--drawn-states", args.drawn_states, 2)?;
    check_budgets(&args.epsilon, args.delta)?;
    check_budgets(&[args.drawn_epsilon], args.delta)?;
    output::make_folder(&args.out)?;
    let experiment = Experiment {
        regions: args.regions.clone(),
        methods: args.methods.clone(),
        epsilons: args.epsilon.clone(),
        delta: args.delta,
        splits: args.splits,
        states: args.states,
        chains: args.chains,
        iterations: args.iterations,
    };
    let jobs = experiment.jobs();
    let progress = Progress::new("fits", jobs.len());
    let outcomes = run(&jobs, &args.data, &args.out.join("results.jsonl"), |done| progress.show(done))?;
    drop(progress);
    let report = Report::new(&experiment, &outcomes);
    let document = report.to_json()?;
    write_all(Some(&args.out), "foulds-hmm", &report.summary()?.to_csv(), &document)?;
    let mut written = vec!["foulds-hmm.csv".to_owned(), "foulds-hmm.json".to_owned()];
    for &regions in &args.regions {
        figures(args, &report, regions, &mut written)?;
    }
    if args.json {
        return Ok(output::json(&document));
    }
    let mut text = header(args);
    for &regions in &args.regions {
        text += &format!("\nRegions: {regions}\n\n{}", report.table(regions)?.to_text());
    }
    Ok(format!("{text}\nwritten: {} in {}\n", written.join(", "), args.out.display()))
}

/// Figures 3 to 7 for a kind of region.
fn figures(
    args: &Args,
    report: &Report<'_>,
    regions: Regions,
    written: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut figure = |number: usize, svg: &str| {
        let name = format!("fig{number}-{regions}.svg");
        let done = write(&args.out, &name, svg);
        written.push(name);
        done
    };
    let (states, epsilon) = (args.drawn_states, args.drawn_epsilon);
    let crashes = Crashes::read(&args.data, regions)?;
    let fitted = posterior(&crashes, states, epsilon, args.delta)?;
    let title = format!("States of a private HMM: noisy counts, epsilon {epsilon}");
    let panels = [(title.as_str(), &fitted.assignments[..])];
    figure(3, &picture::assignments(&panels, regions.names(), states))?;
    let width = crashes.layout.categories();
    for state in 0..2 {
        let title = format!("State {}: shares, \u{b1} two standard deviations", state + 1);
        let of = |values: &[f64]| values[state * width..][..width].to_vec();
        let svg = picture::profile(&title, state, &of(&fitted.profiles), &of(&fitted.profiles_sd));
        figure(4 + state, &svg)?;
    }
    let title = format!("Log-likelihood of held-out events, by {regions} and month");
    let y = ("held-out log-likelihood of an event, nats", Scale::Linear);
    figure(6, &lines(&title, ("epsilon", Scale::Logarithmic), y, &report.curves(regions)))?;
    let [most, last] = paid_assignments(&crashes, states, epsilon, args.delta)?;
    let title =
        format!("Exponential mechanism, epsilon {epsilon}: most frequent in the second half of the passes");
    let panels = [(title.as_str(), &most[..]), ("The last pass alone", &last[..])];
    figure(7, &picture::assignments(&panels, regions.names(), states))
}

fn header(args: &Args) -> String {
    format!(
        "Log-likelihood of the events of held-out cells (a region in a month), in nats for each event\n\
         mean \u{b1} standard deviation over {} splits, a tenth of the cells held out in each; {} states; delta {:e}, add/remove adjacency\n\
         The data are public and scored in the clear: nothing here is private. The noise is fresh, so figures vary a little.\n\n\
         naive Bayes           one state, by noisy counts of all cells together\n\
         HMM, counts           noisy counts of each cell, released once; the naive one takes them for the true ones\n\
         exponential mechanism every update is paid for, by bounded range; a pass over all cells costs two draws\n\
         ahead of naive Bayes  at the same budget, \u{b1} standard error over splits\n\
         of the gain           the share of that lead without privacy that is left\n\
         ahead of naive        the noise-aware one, \u{b1} standard error\n",
        args.splits, args.states, args.delta
    )
}
