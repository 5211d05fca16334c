//! What to expect of a plan at several budgets or numbers of records, by simulation.

use reticent::{Forecast, Plan};
use reticent_report::tables::number;

use super::Args;
use crate::output::{self, Failure, json, table};

/// Seed of simulated records: plans of the same schema are tried on the same ones.
const SEED: u64 = 0;
/// Steps of the search for an epsilon: each halves the logarithm of the range.
const STEPS: usize = 10;
/// The least epsilon that is tried.
const MIN_EPSILON: f64 = 1e-3;

const NONE: &str =
    "no widths are expected: bounds are still to be estimated, or a simulated fit would take long\n";

/// The failure of a comparison that has nothing to compare.
fn none() -> Failure {
    let hint = "give one --epsilon and one --records for the plan itself; for widths state bounds, or choose a model of quicker fits";
    Failure::failed(NONE.trim_end(), Some(hint.to_owned()))
}

/// Expected widths and errors of one plan.
pub(super) fn expected(plan: &Plan, simulations: usize) -> Result<String, Failure> {
    let Some(forecast) = plan.forecast(simulations, SEED)? else { return Ok(format!("\n{NONE}")) };
    let mut rows = vec![
        ["", "half the width of 95 % intervals", "expected", "without noise"].map(str::to_owned).to_vec(),
    ];
    for (variable, width, free) in forecast.variables() {
        let what = format!("{}, the median of its parameters", variable.replace('_', " "));
        rows.push(vec![String::new(), what, number(width, width), number(free, width)]);
    }
    rows.extend(
        forecast.errors.iter().map(|(name, value)| vec![String::new(), name.clone(), number(*value, 0.0)]),
    );
    Ok(format!("\n{}\n{}", heading(&forecast), table(&rows)))
}

fn heading(forecast: &Forecast) -> String {
    format!(
        "Expected, by {} fits to {} simulated records that agree with the schema",
        forecast.data_sets, forecast.simulated_records
    )
}

/// Compares budgets and numbers of records.
pub(super) fn run(
    args: &Args,
    plan: &dyn Fn(usize, f64) -> Result<Plan, Failure>,
) -> Result<String, Failure> {
    let mut forecasts = Vec::new();
    for &records in &args.records {
        for &epsilon in &args.epsilon {
            let forecast = plan(records, epsilon)?.forecast(args.simulations.max(1), SEED)?;
            forecasts.push(forecast.ok_or_else(none)?);
        }
    }
    if let Some(out) = &args.out {
        output::write_file(out, &reticent_report::forecasts(&forecasts, args.epsilon.len() > 1))?;
    }
    Ok(if args.json { json(&forecasts) } else { text(&forecasts) })
}

fn text(forecasts: &[Forecast]) -> String {
    let Some(first) = forecasts.first() else { return String::new() };
    let mut header = vec!["records".to_owned(), "epsilon".to_owned()];
    header.extend(first.variables().iter().map(|(variable, ..)| variable.replace('_', " ")));
    header.extend(first.errors.iter().map(|(name, _)| name.clone()));
    let row = |forecast: &Forecast| {
        let mut row =
            vec![forecast.records.to_string(), forecast.epsilon.map_or(String::new(), |e| e.to_string())];
        row.extend(
            forecast.variables().iter().map(|(_, width, _)| format!("\u{b1} {}", number(*width, *width))),
        );
        row.extend(forecast.errors.iter().map(|(_, value)| number(*value, 0.0)));
        row
    };
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(forecasts.iter().map(row)).collect();
    format!(
        "{}\n\u{b1} is half the width of the 95 % interval of the median parameter of a variable\n\n{}",
        heading(first),
        table(&rows)
    )
}

/// The least epsilon at which the expected half width is at most so large.
pub(super) fn target(
    args: &Args,
    width: f64,
    plan: &dyn Fn(usize, f64) -> Result<Plan, Failure>,
) -> Result<String, Failure> {
    let (&[records], &[most]) = (&args.records[..], &args.epsilon[..]) else {
        return Err(Failure::usage(
            "--target-width needs one --records and one --epsilon, the largest to try",
            "give one of each",
        ));
    };
    let expected = |epsilon: f64| -> Result<f64, Failure> {
        let forecast = plan(records, epsilon)?.forecast(args.simulations.max(1), SEED)?;
        let forecast = forecast.ok_or_else(none)?;
        match &args.parameter {
            None => Ok(forecast.variables().first().map_or(f64::NAN, |(_, width, _)| *width)),
            Some(name) => {
                let found = forecast.parameters.iter().find(|parameter| parameter.name == *name);
                let names =
                    || forecast.parameters.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
                let missing = || {
                    Failure::usage(format!("there is no parameter {name:?}"), format!("one of: {}", names()))
                };
                found.map(|parameter| parameter.half_width).ok_or_else(missing)
            }
        }
    };
    let what = args.parameter.as_deref().unwrap_or("the median parameter");
    let best = expected(most)?;
    if best.is_nan() || best > width {
        let hint = "allow more epsilon, collect more records, or accept wider intervals".to_owned();
        let message = format!(
            "at epsilon {most} half the interval of {what} is expected to be {} wide",
            number(best, best)
        );
        return Err(Failure::failed(message, Some(hint)));
    }
    let (mut low, mut high, mut found) = (MIN_EPSILON.min(most), most, best);
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        let wide = expected(middle)?;
        if wide <= width {
            (high, found) = (middle, wide);
        } else {
            low = middle;
        }
    }
    if args.json {
        return Ok(json(
            &serde_json::json!({ "epsilon": high, "half_width": found, "parameter": args.parameter, "records": records }),
        ));
    }
    Ok(format!(
        "epsilon {}: half the 95 % interval of {what} is expected to be {} wide, with {records} records\n",
        number(high, 0.1 * high),
        number(found, found)
    ))
}
