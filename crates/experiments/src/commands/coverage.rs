//! `reticent-experiments coverage`

use std::path::PathBuf;

use reticent_experiments::coverage::{Coverage, Row, Share, Start};
use reticent_experiments::error::ExperimentError;
use reticent_experiments::mixture::Simulation;
use reticent_experiments::table::{Cell, Table, digits};
use serde_json::json;

use super::output::{self, Failure};
use super::progress::Progress;
use super::{check_budgets, check_minimum, write_all};

/// Coverage of private credible regions.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent-experiments coverage --sets 2 --epsilon 10")]
pub(super) struct Args {
    /// Number of data sets.
    #[arg(long, default_value_t = 200)]
    sets: usize,
    /// A budget; may be given several times.
    #[arg(long, default_values_t = [0.1, 1.0, 10.0], allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta of every budget.
    #[arg(long, default_value_t = 1e-5, allow_negative_numbers = true)]
    delta: f64,
    /// Write coverage.csv and coverage.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

const SIMULATION: Simulation = Simulation {
    records: 1000,
    components: 4,
    dimension: 4,
    prior_variance: 10.0,
    noise_variance: 0.25,
    // Eight standard deviations of the noise.
    separation: 4.0,
};

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    check_minimum("--sets", args.sets, 2)?;
    check_budgets(&args.epsilon, args.delta)?;
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let experiment = Coverage {
        sets: args.sets,
        simulation: SIMULATION,
        epsilons: args.epsilon.clone(),
        delta: args.delta,
        level: 0.95,
        point_sd: 0.5,
    };
    let progress = Progress::new("data sets", args.sets);
    let rows = experiment.run(|done| progress.show(done))?;
    drop(progress);
    let document = json!({
        "private": false,
        "why_not_private": "the data are simulated, and compared with the truth",
        "settings": {
            "sets": args.sets,
            "records": SIMULATION.records,
            "components": SIMULATION.components,
            "dimension": SIMULATION.dimension,
            "prior_variance": SIMULATION.prior_variance,
            "noise_variance": SIMULATION.noise_variance,
            "separation": SIMULATION.separation,
            "delta": args.delta,
            "level": experiment.level,
            "point_sd": experiment.point_sd,
        },
        "rows": rows,
    });
    write_all(args.out.as_deref(), "coverage", &exact(&rows)?.to_csv(), &document)?;
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(header(args, &experiment) + &shown(&rows)?.to_text())
}

fn header(args: &Args, experiment: &Coverage) -> String {
    format!(
        "How often regions of {} % hold the true mean of their component: {} data sets with means at least {} apart,\n\
         {} records in {} dimensions from {} components, noise sd {}; delta {:e}, replace-one adjacency\n\
         The data are simulated; the noise is fresh, so figures vary a little from run to run.\n\n\
         sketch        the fit finds the components from a private sketch\n\
         points        the fit starts at public points, each coordinate within sd {} of the truth\n\
         noise-aware   regions include the uncertainty from the privacy noise; naive ones do not\n\
         \u{b1}             one standard error, with data sets as units\n\
         sd, error     of a coordinate of a mean: what is reported, and the distance from the truth (medians over means)\n\n",
        100.0 * experiment.level,
        args.sets,
        SIMULATION.separation,
        SIMULATION.records,
        SIMULATION.dimension,
        SIMULATION.components,
        SIMULATION.noise_variance.sqrt(),
        args.delta,
        experiment.point_sd,
    )
}

fn name(start: Start) -> &'static str {
    match start {
        Start::Sketch => "sketch",
        Start::Points => "points",
    }
}

fn shown(rows: &[Row]) -> Result<Table, ExperimentError> {
    let share = |Share { share, standard_error }: Share| {
        format!("{:.1} \u{b1} {:.1} %", 100.0 * share, 100.0 * standard_error)
    };
    let mut table = Table::new(&["epsilon", "start", "noise-aware", "naive", "sd", "error"]);
    for row in rows {
        let cells = [
            row.epsilon.to_string(),
            name(row.start).to_owned(),
            share(row.noise_aware),
            share(row.naive),
            digits(row.reported_sd, 3),
            digits(row.error, 3),
        ];
        table.push(cells.iter().map(|cell| cell.as_str().into()).collect())?;
    }
    Ok(table)
}

fn exact(rows: &[Row]) -> Result<Table, ExperimentError> {
    let columns = [
        "epsilon",
        "start",
        "noise_aware",
        "noise_aware_standard_error",
        "naive",
        "naive_standard_error",
        "reported_sd",
        "error",
    ];
    let mut table = Table::new(&columns);
    for row in rows {
        let mut cells: Vec<Cell> = vec![row.epsilon.into(), name(row.start).into()];
        for Share { share, standard_error } in [row.noise_aware, row.naive] {
            cells.extend([share.into(), standard_error.into()]);
        }
        cells.extend([row.reported_sd.into(), row.error.into()]);
        table.push(cells)?;
    }
    Ok(table)
}
