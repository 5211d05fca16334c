//! Texts for a terminal: a model file, a receipt, scores, and tables.

use std::fmt::Write as _;

use reticent::{
    Account, Check, ColumnCheck, Delimiter, Effect, EffectScale, Error, Figure, Format, Layout, PUBLIC_NOTE,
    PrivateEvaluation, Receipt, ResidualBin, ResidualCheck, SavedModel, Schema, Score, Source, Spots,
    Summary, UnitCheck, variables, visible,
};

use crate::tables;

/// The content of a model file, with what remains of the budget of its data set: what `reticent show` prints.
///
/// # Errors
/// [`Error`] if the file is forged, so that its parts do not fit together.
pub fn model(model: &SavedModel, account: Option<&Account>) -> Result<String, Error> {
    let summaries = model.summary()?;
    let mut text = model.guarded(lead)?;
    for group in variables(&summaries) {
        variable(&mut text, model, group);
    }
    let is_named = summaries.iter().any(|summary| summary.variable != "intercept");
    if !is_named {
        model.guarded(|model| unnamed(model, &mut text))?;
    }
    if let Some(check) = model.residual_check() {
        residuals(&mut text, &check);
    }
    text.blank();
    text.line("Receipt");
    receipt(model.receipt()).lines().for_each(|line| text.line(line));
    if let Some(account) = account {
        text.blank();
        text.line(format_args!("Now {}", crate::remaining(account)));
    }
    if let Some(test) = &model.card().test {
        text.blank();
        score(&mut text, PUBLIC_NOTE, &test.score, model.schema());
    }
    Ok(text.into())
}

/// The table of a variable.
fn variable(text: &mut Lines, model: &SavedModel, group: &[Summary]) {
    text.blank();
    text.line(tables::title(group, model));
    if group.first().is_some_and(|first| first.variable == "state_probability") {
        return text.table(&tables::states(group));
    }
    let (shown, more) = tables::cut(group);
    text.table(&tables::rows(shown));
    if more > 0 {
        text.line(format_args!("and {more} more: show --json, or reticent draws"));
    }
}

/// The released distribution of residuals beside the normal one.
fn residuals(text: &mut Lines, check: &ResidualCheck) {
    text.blank();
    text.line("Standardised residuals, from a released histogram: the model suits the records if both columns agree");
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut rows = vec![["", "share", "normal"].map(str::to_owned).to_vec()];
    let row = |bin: &ResidualBin| vec![tables::residual_label(bin), percent(bin.share), percent(bin.normal)];
    rows.extend(check.summary.iter().map(row));
    text.table(&rows);
}

/// What the model is, by which command, and what a reader must know.
fn lead(model: &SavedModel) -> Lines {
    let mut text = Lines::default();
    text.line(crate::sentence(model));
    text.line(crate::command(model));
    text.line(format_args!("{}: {}", model.kind().name(), model.kind().declaration().about));
    for warning in &model.card().warnings {
        text.line(format_args!("warning: {warning}"));
    }
    text
}

/// A summary of a posterior without named parameters.
fn unnamed(model: &SavedModel, text: &mut Lines) {
    if let Some(effects) = model.effects().filter(|effects| !effects.columns.is_empty()) {
        text.blank();
        let unit = match effects.scale {
            EffectScale::Target { .. } => "",
            EffectScale::Probability { .. } => " of the probability of the positive class",
        };
        text.line(format_args!("Change{unit} at both ends of each column, against its reference"));
        text.table(&effect_rows(&effects.columns));
    }
}

fn effect_rows(effects: &[Effect]) -> Vec<Vec<String>> {
    let mut rows =
        vec![["column", "reference", "from", "change", "to", "change"].map(str::to_owned).to_vec()];
    for effect in effects {
        let (Some(low), Some(high)) = (effect.points.first(), effect.points.last()) else { continue };
        let mut row = vec![effect.column.clone(), effect.reference.clone()];
        for point in [low, high] {
            let interval =
                point.with_privacy.map_or(String::new(), |(low, high)| format!(" [{low:.4}, {high:.4}]"));
            row.extend([point.label.clone(), format!("{:.4}{interval}", point.mean)]);
        }
        rows.push(row);
    }
    rows
}

/// The receipt as text. A model file may be forged, so each of its texts stays on one line.
#[must_use]
pub fn receipt(receipt: &Receipt) -> String {
    let mut receipt = receipt.clone();
    let groups = receipt.groups.iter_mut().map(|group| &mut group.what);
    let texts = [&mut receipt.software, &mut receipt.noise, &mut receipt.ledger].into_iter();
    for text in texts.chain(groups).chain(&mut receipt.assumptions) {
        *text = visible::line(text).into_owned();
    }
    receipt.to_string()
}

/// The table of a score, below the note that must be shown with it.
pub fn score(text: &mut Lines, note: &str, score: &Score, schema: &Schema) {
    text.line(note);
    let rows: Vec<Vec<String>> =
        score_rows(score, schema).into_iter().map(|(name, value)| vec![name, value]).collect();
    text.table(&rows);
}

/// The classes of the target.
fn levels(schema: &Schema) -> Vec<&str> {
    schema.target().map(|target| target.levels()).unwrap_or_default()
}

/// The share of test records of the positive class, by the bins of the calibration; none if they are not of classes.
fn positive_share(score: &Score) -> Option<f64> {
    let count: u64 = score.calibration.iter().map(|bin| bin.count).sum();
    let positive: f64 = score.calibration.iter().map(|bin| bin.count as f64 * bin.happened).sum();
    (score.rmse.is_none() && count > 0).then(|| positive / count as f64)
}

/// The numbers of a score, with their names.
#[must_use]
pub fn score_rows(score: &Score, schema: &Schema) -> Vec<(String, String)> {
    let unit =
        schema.target().and_then(|target| target.unit()).map_or(String::new(), |unit| format!(" {unit}"));
    let mut rows = vec![("test records".to_owned(), score.records.to_string())];
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    if score.without_target > 0 {
        row("records without a target, left out", score.without_target.to_string());
    }
    if let Some(rmse) = score.rmse {
        row("root mean squared error", format!("{rmse:.5}{unit}"));
    }
    if let Some(perplexity) = score.perplexity {
        row("perplexity of a word, at most", format!("{perplexity:.1}"));
    }
    if let Some(accuracy) = score.accuracy {
        row("accuracy", format!("{:.2} %", 100.0 * accuracy));
        if let (Some(share), [negative, positive]) = (positive_share(score), &levels(schema)[..]) {
            let (class, share) = if share < 0.5 { (negative, 1.0 - share) } else { (positive, share) };
            row(&format!("base rate: always {class}"), format!("{:.2} %", 100.0 * share));
        }
    }
    if let Some(auc) = score.auc {
        row("area under the ROC curve", format!("{auc:.4}"));
    }
    row("log-likelihood of a record", format!("{:.4}", score.log_likelihood));
    if let Some(coverage) = score.coverage {
        for (level, share) in [50, 80, 95].iter().zip(coverage) {
            row(&format!("inside the {level} % interval"), format!("{:.1} %", 100.0 * share));
        }
    }
    if let Some(error) = score.calibration_error {
        row("calibration error", format!("{error:.4}"));
    }
    rows
}

/// A private evaluation as text, with these names of its models.
#[must_use]
pub fn evaluation(evaluation: &PrivateEvaluation, names: &[String]) -> String {
    let mut text = Lines::default();
    text.line(format_args!("Private evaluation of {}", names.join(", ")));
    evaluation.notes.iter().for_each(|note| text.line(note));
    let unit = evaluation.unit.as_deref().map_or(String::new(), |unit| format!(" {unit}"));
    if let Some(clip) = evaluation.clipped_at {
        text.line(format_args!("errors are clipped at {}{unit}", short(clip)));
    }
    let row = |figure: &Figure| {
        let name = match &evaluation.second_class {
            Some(class) if figure.name == "share of the second class" => format!("share of {class}"),
            _ => figure.name.clone(),
        };
        let value = figure.value.map_or_else(|| "not distinguishable from noise".to_owned(), short);
        let interval = format!("[{}, {}]", short(figure.lower), short(figure.upper));
        vec![name, value, interval, short(figure.records_sd), short(figure.privacy_sd)]
    };
    let heading = ["figure", "value", "95 % interval", "sd of the sample", "sd of the noise"];
    let heading: Vec<String> = heading.map(str::to_owned).to_vec();
    text.blank();
    text.table(&[heading.clone(), row(&evaluation.evaluated.records)]);
    for (name, model) in names.iter().zip(&evaluation.evaluated.models) {
        text.blank();
        text.line(name);
        text.table(
            &std::iter::once(heading.clone()).chain(model.figures.iter().map(row)).collect::<Vec<_>>(),
        );
        if !model.differences.is_empty() {
            text.line(format_args!("less {}", names[0]));
            text.table(&model.differences.iter().map(row).collect::<Vec<_>>());
        }
        if let (false, Some(class)) = (model.calibration.is_empty(), &evaluation.second_class) {
            let heading = [&format!("predicted P({class})"), "observed", "95 % interval", "records"];
            let mut rows: Vec<Vec<String>> = vec![heading.map(str::to_owned).to_vec()];
            rows.extend(model.calibration.iter().map(|point| {
                let figure = &point.observed;
                let interval = format!("[{}, {}]", short(figure.lower), short(figure.upper));
                let observed = short(figure.value.unwrap_or(f64::NAN));
                vec![short(point.predicted), observed, interval, format!("{:.0}", point.count)]
            }));
            text.table(&rows);
        }
    }
    text.blank();
    text.line("Receipt of the test records");
    receipt(&evaluation.receipt).lines().for_each(|line| text.line(line));
    text.into()
}

/// Four significant digits; counts in full.
fn short(value: f64) -> String {
    if value.abs() >= 1000.0 {
        return format!("{value:.0}");
    }
    let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (3.0 - digits).clamp(0.0, 6.0) as usize)
}

/// The first line of every check.
pub const CHECK_NOTE: &str =
    "NOT PRIVATE: exact counts and places, for whoever holds the data; do not publish them";

/// What a schema makes of a data set: what `reticent check` prints.
#[must_use]
pub fn check(check: &Check, source: &Source) -> String {
    let layout = source.layout();
    let places = match (source.format(), source.layout().quoted_newlines) {
        (Format::Parquet | Format::Arrow, _) => "rows",
        (Format::Csv, false) => "lines",
        (Format::Csv, true) => "records (the header is 1)",
    };
    let mut text = format!("{CHECK_NOTE}\n\n{} records\n", check.records);
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
    rows.extend(check.columns.iter().map(check_row));
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

fn check_row(column: &ColumnCheck) -> Vec<String> {
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

/// Text for people, line by line: a name with a line break or other hidden characters stays on its line, and shows them.
#[derive(Debug, Default)]
pub struct Lines(String);

impl Lines {
    /// Adds a text, on one line.
    pub fn line(&mut self, text: impl std::fmt::Display) {
        self.0.push_str(&visible::line(&text.to_string()));
        self.blank();
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.0.push('\n');
    }

    /// Adds a [`table`].
    pub fn table(&mut self, rows: &[Vec<String>]) {
        self.0.push_str(&table(rows));
    }
}

impl From<Lines> for String {
    fn from(lines: Lines) -> Self {
        lines.0
    }
}

/// Left-aligned columns, two spaces apart. A cell with a line break or other hidden characters shows them.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let clean = |row: &Vec<String>| row.iter().map(|cell| visible::line(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(clean).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
