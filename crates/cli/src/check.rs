//! `reticent check`

use std::fmt::Write as _;
use std::path::PathBuf;

use reticent::{Check, ColumnCheck, Delimiter, Error, Format, Layout, Spots, UnitCheck};
use serde_json::json;

use crate::data::{self, LayoutArgs};
use crate::output::{self, Failure, table};

/// The first line of every check.
const NOTE: &str = "NOT PRIVATE: exact counts and places, for whoever holds the data; do not publish them";

/// Count the values of a data set that its schema does not allow. Not private.
#[derive(clap::Args)]
#[command(after_help = "\
A fit takes every value: what is missing, malformed, out of bounds or not listed counts as the schema states, and a line
that does not parse is a record of missing values. This command finds them before a fit. State bounds and levels from
what is publicly known, not from what this prints.

Example:
  reticent check --data people.csv --schema schema.toml")]
pub(crate) struct Args {
    /// The records, CSV or Parquet: a file, a folder, a pattern, or - for CSV from standard input.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// What is publicly known about them.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let schema = data::schema(&args.schema)?;
    let source = data::source(&args.data, args.layout.over(schema.layout()))?;
    let check = Check::new(&schema, &source).map_err(Error::from)?;
    if args.json {
        let mut value = serde_json::to_value(&check).expect("numbers and texts are JSON");
        value["note"] = json!(NOTE);
        return Ok(output::json(&value));
    }
    let places = match (source.format(), source.layout().quoted_newlines) {
        (Format::Parquet | Format::Arrow, _) => "rows",
        (Format::Csv, false) => "lines",
        (Format::Csv, true) => "records (the header is 1)",
    };
    Ok(describe(&check, places, source.layout()))
}

fn describe(check: &Check, places: &str, layout: Layout) -> String {
    let mut text = format!("{NOTE}\n\n{} records\n", check.records);
    for line in about_file(check, layout) {
        let _ = writeln!(text, "{line}");
    }
    if check.malformed_lines.count > 0 {
        let _ = writeln!(
            text,
            "{} lines do not parse and count as missing values: check delimiters, quotes and encoding ({places} {})",
            check.malformed_lines.count,
            list(&check.malformed_lines)
        );
    }
    let head = ["column", "missing", "out of bounds", "unknown", "malformed", &format!("first {places}"), ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(check.columns.iter().map(row));
    let _ = write!(text, "\n{}", table(&rows));
    check.units.iter().flat_map(about_unit).for_each(|line| {
        let _ = write!(text, "\n{line}\n");
    });
    let suggested = check.columns.iter().filter(|column| !column.suggestions.is_empty());
    let suggestions: Vec<String> = suggested
        .flat_map(|column| column.suggestions.iter().map(move |entry| format!("  {}: {entry}", column.name)))
        .collect();
    if !suggestions.is_empty() {
        let _ = writeln!(text, "\nEntries of the schema that would mend this:\n{}", suggestions.join("\n"));
    }
    text
}

/// How often rows repeat.
fn about_unit(unit: &UnitCheck) -> Vec<String> {
    let UnitCheck { name, units, rows, missing, most, .. } = unit;
    if unit.absent {
        return vec![format!("There is no column {name}, which the schema states as the privacy unit.")];
    }
    let mean = *rows as f64 / (*units).max(1) as f64;
    let found = format!(
        "{name}: {units} different values in {rows} rows, {mean:.1} rows each, {most} at most; {missing} rows have none."
    );
    if unit.stated {
        vec![format!("Privacy unit {found}")]
    } else if unit.repeats() {
        vec![format!(
            "{found}\nIf these are persons, whoever has several rows is protected less: add `privacy_unit = {name:?}` to the schema."
        )]
    } else {
        Vec::new()
    }
}

fn about_file(check: &Check, layout: Layout) -> Vec<String> {
    let mut lines = Vec::new();
    if check.file.gzip {
        lines.push(
            "The file is compressed: add `file = { gzip = true }` to the schema, or --gzip.".to_owned(),
        );
    }
    if let Some(delimiter) = check.file.delimiter {
        let name = delimiter.name();
        let option = if delimiter == Delimiter::Tab { "tab".to_owned() } else { format!("'{name}'") };
        lines.push(format!(
            "The delimiter is {name:?}: add `file = {{ delimiter = {name:?} }}` to the schema, or --delimiter {option}."
        ));
    }
    if check.file.no_header {
        lines.push(
            "The first line has none of the schema's columns: the file may have no header. Add one."
                .to_owned(),
        );
    }
    if layout.quoted_newlines {
        lines.push("Quoted newlines are allowed, so one line can change several records.".to_owned());
    }
    lines
}

fn row(column: &ColumnCheck) -> Vec<String> {
    if column.absent {
        let mut row = vec![String::new(); 7];
        (row[0], row[6]) = (column.name.clone(), "there is no such column".to_owned());
        return row;
    }
    let spots = [&column.missing, &column.outside, &column.unknown, &column.malformed];
    let mut first: Vec<u64> = spots.iter().flat_map(|spots| spots.first.iter().copied()).collect();
    first.sort_unstable();
    first.dedup();
    first.truncate(5);
    let notes: Vec<String> = [
        column.stored.map(|stored| format!("stored as {stored}")),
        column.constant.then(|| "the same in all records".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let counts = spots.map(|spots| spots.count.to_string());
    let places = first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    [vec![column.name.clone()], counts.to_vec(), vec![places, notes.join("; ")]].concat()
}

fn list(spots: &Spots) -> String {
    spots.first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
