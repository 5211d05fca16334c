//! `reticent report`: one page about a model that needs nothing else.

mod plots;
mod style;

use std::fmt::Write as _;
use std::path::PathBuf;

use reticent_models::{Predicted, Score};

use crate::effects::{effects, middle};
use crate::opened::Opened;
use crate::output::{Failure, rounded_up, write_file};
use crate::show::{guarantee, machine_readable, shares, warnings, word};
use crate::{evaluate, fit};

/// One page about a model, for any browser.
#[derive(clap::Args)]
#[command(after_help = "\
The page holds everything that it shows, and fetches nothing. It is as public as the model file; if
that has test results (fit --test), these are not private.

Example:
  reticent report model.reticent --out report.html")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// Where the page goes.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print nothing.
    #[arg(long)]
    quiet: bool,
}

/// Plots of columns, at most.
const MOST_PLOTS: usize = 12;

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let opened = Opened::read(&args.model)?;
    fit::check_writable(&args.out)?;
    write_file(&args.out, &page(&opened))?;
    Ok(if args.quiet { String::new() } else { format!("{}\n", args.out.display()) })
}

/// The page.
pub(crate) fn page(opened: &Opened) -> String {
    let of = opened.schema.target().map_or(String::new(), |target| format!(" of {}", target.name()));
    let title = escape(&format!("{} model{of}", opened.header.model));
    let sections =
        [asked(opened), spent(opened), says(opened), uncertainty(opened), test(opened), assumptions(opened)];
    // A closing tag in a text must not end the script.
    let machine = machine_readable(opened).to_string().replace("</", "<\\/");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{}\
         <script type=\"application/json\" id=\"receipt\">{machine}</script>\n</body>\n</html>\n",
        style::STYLE,
        sections.concat()
    )
}

fn section(title: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("<section>\n<h2>{title}</h2>\n{body}</section>\n") }
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// What was asked.
fn asked(opened: &Opened) -> String {
    let header = &opened.header;
    let mut rows = vec![("Model".to_owned(), format!("{}: {}", header.model, word(&header.card["about"])))];
    if let Some(description) = opened.schema.description() {
        rows.insert(0, ("Data".to_owned(), description.to_owned()));
    }
    if let Some(target) = opened.schema.target() {
        let about = target.description().map_or(String::new(), |text| format!(" ({text})"));
        rows.push(("Target".to_owned(), format!("{}{about}", target.name())));
    }
    let names: Vec<&str> = opened.schema.features().iter().map(|column| column.name()).collect();
    rows.push(("Inputs".to_owned(), names.join(", ")));
    rows.push(("Records".to_owned(), header.receipt["records"].to_string()));
    let asked = &header.card["asked"];
    rows.push((
        "Privacy asked for".to_owned(),
        match (asked["epsilon"].as_f64(), asked["delta"].as_f64()) {
            (Some(epsilon), Some(delta)) => {
                format!("epsilon {epsilon} at delta {delta:e}, {} adjacency", word(&asked["adjacency"]))
            }
            _ => "none".to_owned(),
        },
    ));
    let rows: String = rows
        .iter()
        .map(|(name, value)| format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escape(value)))
        .collect();
    section("What was asked", &format!("<table class=\"facts\">\n{rows}</table>\n"))
}

/// What was spent, and on what.
fn spent(opened: &Opened) -> String {
    let receipt = &opened.header.receipt;
    let mut body = format!("<p class=\"guarantee\">{}</p>\n", escape(&guarantee(receipt)));
    let cost = receipt["guarantee"]["epsilon"]["upper"].as_f64();
    if let (Some(cost), Some(asked)) = (cost, opened.header.card["asked"]["epsilon"].as_f64()) {
        body += &plots::budget_bar(cost, asked);
    } else {
        body += &paragraph(
            "This model was fitted without privacy. It may reveal its records: keep it to yourself.",
        );
    }
    let head = ["What was released", "Made", "Planned", "Numbers", "Noise multiplier", "Share of the budget"];
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let mut rows = String::new();
    for (group, share) in receipt["groups"].as_array().unwrap_or(&Vec::new()).iter().zip(shares(receipt)) {
        let multiplier = group["kind"]["sum"]["noise_multiplier"].as_f64().filter(|m| *m > 0.0);
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(word(&group["what"])),
            group["made"],
            group["planned"],
            group["width"],
            multiplier.map_or("no noise".to_owned(), rounded_up),
            if share > 0.0 { format!("{:.0} %", 100.0 * share) } else { String::new() }
        );
    }
    let _ = write!(
        body,
        "<table class=\"numbers\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    );
    let _ = writeln!(
        body,
        "<p>Charged to: {}. Noise: {}. Released values moved back into their domain: {}.</p>",
        escape(word(&receipt["ledger"])),
        escape(word(&receipt["noise"])),
        receipt["projections"]
    );
    section("What was spent", &body)
}

/// The posterior, as predictions along each column or as points.
fn says(opened: &Opened) -> String {
    let effects = effects(opened);
    let mut body: String = warnings(&opened.header.card)
        .map(|warning| format!("<p class=\"warning\">{}</p>\n", escape(warning)))
        .collect();
    if !effects.is_empty() {
        body += &paragraph(
            "Each plot moves one column and keeps the others in the middle of their ranges. The line is the prediction. \
             The dark band is what the records leave open about it, the band around it adds the privacy noise (two \
             standard deviations each); the palest holds 90 % of new targets. Hover for numbers.",
        );
        body += "<div class=\"plots\">\n";
        effects.iter().take(MOST_PLOTS).for_each(|effect| body += &plots::effect(effect, opened));
        body += "</div>\n";
        if effects.len() > MOST_PLOTS {
            body += &paragraph(&format!(
                "The {MOST_PLOTS} columns that matter most of {} are shown.",
                effects.len()
            ));
        }
    }
    let points = opened.fitted.points();
    if !points.is_empty() {
        body += &paragraph(
            "Where each part of the model is, for each input in encoded units (-1 and 1 are its bounds). Thick lines are two \
             standard deviations that the records leave, thin ones add the privacy noise.",
        );
        body += &plots::points(&points, &opened.schema.encoded_names());
    }
    let highlights = opened.fitted.highlights(&opened.schema.encoded_names());
    if !highlights.is_empty() {
        body += "<table class=\"facts\">\n";
        for highlight in highlights {
            let (name, text) = (escape(&highlight.name), escape(&highlight.text));
            let _ = writeln!(body, "<tr><th scope=\"row\">{name}</th><td>{text}</td></tr>");
        }
        body += "</table>\n";
    }
    section("What the model says", &body)
}

/// Noise and data uncertainty apart, in the middle of all columns.
fn uncertainty(opened: &Opened) -> String {
    let (variances, scale, what) = match opened.fitted.predict(&middle(opened), &[]) {
        Predicted::Number { variances, .. } => {
            let unit = opened.units().unit;
            (variances, unit * unit, "a target about its prediction")
        }
        Predicted::Class { variances, .. } => (variances, 1.0, "the score behind the probability"),
        _ => return String::new(),
    };
    let mut body = paragraph(&format!(
        "The variance of {what}, with every column in the middle of its range, and where it comes from."
    ));
    body += &plots::variances([
        ("left open by the records", variances.records * scale),
        ("added by the privacy noise", variances.privacy * scale),
        ("of targets themselves", variances.targets * scale),
    ]);
    section("Where the uncertainty comes from", &body)
}

/// What was found on test records.
fn test(opened: &Opened) -> String {
    let score: Result<Score, _> = serde_json::from_value(opened.header.card["test"]["score"].clone());
    let Ok(score) = score else { return String::new() };
    let lines = evaluate::describe(&score, &opened.schema);
    let mut body =
        format!("<p class=\"warning\">{}</p>\n<div class=\"side\">\n<table>\n", escape(evaluate::NOTE));
    for line in lines.lines().skip(1) {
        let (name, value) = line.split_once("  ").unwrap_or((line, ""));
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            escape(name.trim()),
            escape(value.trim())
        );
    }
    body += "</table>\n";
    if !score.calibration.is_empty() {
        body += &plots::calibration(&score.calibration, score.rmse.is_some());
    }
    body += "</div>\n";
    section("On test records", &body)
}

/// What it all rests on.
fn assumptions(opened: &Opened) -> String {
    let stated = opened.header.receipt["assumptions"].as_array().cloned().unwrap_or_default();
    let mut items: Vec<String> = stated.iter().map(|item| word(item).to_owned()).collect();
    let limits = [
        "values outside the stated bounds were moved to the nearer bound; how many is not known",
        "uncertainty is about this model: if it does not suit the data, the truth may be outside the bands",
    ];
    items.extend(limits.map(str::to_owned));
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
    let software = word(&opened.header.receipt["software"]);
    section(
        "What this rests on",
        &format!("<ul>\n{items}</ul>\n<p class=\"small\">Made by {}.</p>\n", escape(software)),
    )
}

/// Text for HTML and SVG.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
