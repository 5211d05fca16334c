//! The parameters of a model as rows of text.

use reticent::{ResidualBin, SavedModel, Summary};

/// Rows of a variable that are shown; the rest is in `--json` and `reticent draws`.
pub const MAX_ROWS: usize = 60;

/// The elements of a variable that are shown, and how many more there are.
#[must_use]
pub fn cut(group: &[Summary]) -> (&[Summary], usize) {
    let shown = group.len().min(MAX_ROWS);
    (&group[..shown], group.len() - shown)
}

/// The note that all elements share, if there are several: it is stated once, in the title.
fn common_note(group: &[Summary]) -> Option<&str> {
    let note = group.first()?.note.as_deref()?;
    (group.len() > 1 && group.iter().all(|other| other.note.as_deref() == Some(note))).then_some(note)
}

/// What the elements of a variable are, in words.
#[must_use]
pub fn title(group: &[Summary], model: &SavedModel) -> String {
    let note = common_note(group).map_or_else(String::new, |note| format!(" ({note})"));
    heading(group, model) + &note
}

fn heading(group: &[Summary], model: &SavedModel) -> String {
    let Some(first) = group.first() else { return String::new() };
    let target = model.schema().target();
    let name = target.map_or("the target", |target| target.name());
    let positive = target.and_then(|target| target.levels().last().map(|level| (*level).to_owned()));
    let class = positive.map_or_else(|| name.to_owned(), |level| format!("{name} = {level}"));
    let has_classes = target.is_some_and(|target| target.levels().len() == 2);
    let dimensions = first.place.len();
    match first.variable {
        "intercept" if has_classes => {
            format!("Intercept of the score of {class}: all numbers 0, all levels the references")
        }
        "intercept" => format!("Intercept of {name}: all numbers 0, all levels the references"),
        "coefficient" if has_classes => format!("Coefficients of the score of {class}"),
        "coefficient" => format!("Coefficients of {name}"),
        "odds_ratio" => {
            format!(
                "Odds ratios of {class}: for one unit more of a number, for a level against the reference"
            )
        }
        "effect" => {
            format!(
                "Effects on {name}: the average slope of a number; of a level, against the reference at the means of the others"
            )
        }
        // The note of the parameter states where it is, if not at the means.
        "prediction_at_means" if first.note.is_some() => format!("Prediction of {name} at the reference"),
        "prediction_at_means" => format!("Prediction of {name} with every column at its released mean"),
        "residual_sd" => format!("Standard deviation of {name} about its prediction"),
        "mean" if dimensions > 1 => "Means of the components".to_owned(),
        "mean" => "Mean of each column".to_owned(),
        "sd" => "Standard deviation of each column".to_owned(),
        "noise_sd" => "Standard deviation of records about the mean of their component".to_owned(),
        "weight" if dimensions == 1 => "Weights of the components".to_owned(),
        "rate" => "Rate of each column".to_owned(),
        "class_share" => format!("Shares of the classes of {name}"),
        "share" if dimensions > 2 => "Shares of the levels of each column, by class".to_owned(),
        "share" => "Shares of the levels of each column".to_owned(),
        "profile" => "Profile of each state: shares of the levels of each column".to_owned(),
        "transition" => "Transition: the probability of the state at the next time".to_owned(),
        "state_probability" => "State of each region at each time".to_owned(),
        "topic_share" => "Shares of the topics".to_owned(),
        "word_probability" => "Words of each topic, by their probability".to_owned(),
        other => {
            let words = other.replace('_', " ");
            words[..1].to_uppercase() + &words[1..]
        }
    }
}

/// The labels of an element: a level with its column is `column = level`.
#[must_use]
pub fn label(summary: &Summary) -> String {
    let mut text = String::new();
    for (k, (dimension, label)) in summary.place.iter().enumerate() {
        let is_level = *dimension == "level" && k > 0 && summary.place[k - 1].0 == "column";
        let between = if k == 0 {
            ""
        } else if is_level {
            " = "
        } else {
            ", "
        };
        text += between;
        text += label;
    }
    text
}

/// A header, and a row for each element. A number without an error of its own (a fixed one, or a point estimate) has neither deviation nor interval.
#[must_use]
pub fn rows(group: &[Summary]) -> Vec<Vec<String>> {
    let texts = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>();
    let direction = group.iter().any(|row| row.direction.is_some());
    let units = group.iter().any(|row| row.unit.is_some());
    let errors = group.iter().any(|row| row.sd != 0.0);
    let mut header = texts(if errors { &["", "mean", "sd", "95 % interval"] } else { &["", "value"] });
    header.extend(direction.then(|| "direction".to_owned()));
    header.extend(texts(if errors { &["sd: records", "privacy"] } else { &[] }));
    header.extend(units.then(|| "unit".to_owned()));
    let common = common_note(group).is_some();
    let one = |summary: &Summary| {
        let note =
            summary.note.as_ref().filter(|_| !common).map_or(String::new(), |note| format!(" ({note})"));
        let number = |x: f64| number(x, summary.sd);
        let known = |text: String| if summary.sd == 0.0 { String::new() } else { text };
        let (low, high) = summary.interval();
        let mut row = vec![format!("{}{note}", label(summary)).trim_start().to_owned(), number(summary.mean)];
        if errors {
            row.push(known(number(summary.sd)));
            row.push(known(format!("[{}, {}]", number(low), number(high))));
        }
        if direction {
            row.push(summary.direction.map_or(String::new(), probability));
        }
        if errors {
            row.extend([summary.records_sd, summary.privacy_sd].map(|sd| known(number(sd))));
        }
        row.extend(units.then(|| summary.unit.clone().unwrap_or_default()));
        row
    };
    std::iter::once(header).chain(group.iter().map(one)).collect()
}

/// A row for each region: its most probable states, with the first and the last of the times that each lasts for, in the order of the table.
#[must_use]
pub fn states(group: &[Summary]) -> Vec<Vec<String>> {
    let place = |summary: &Summary, name: &str| {
        let found = summary.place.iter().find(|(dimension, _)| *dimension == name);
        found.map_or_else(String::new, |(_, label)| label.clone())
    };
    let mut rows = vec![vec![String::new(), "most probable state, and when".to_owned()]];
    for region in group.chunk_by(|a, b| place(a, "region") == place(b, "region")) {
        let times = region.chunk_by(|a, b| place(a, "time") == place(b, "time"));
        let probable = times.filter_map(|time| {
            let state = time.iter().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
            Some((place(state, "state"), place(state, "time")))
        });
        let probable: Vec<(String, String)> = probable.collect();
        let lasting = probable.chunk_by(|a, b| a.0 == b.0).map(|run| match run {
            [(state, time)] => format!("{state} ({time})"),
            _ => format!("{} ({} to {})", run[0].0, run[0].1, run[run.len() - 1].1),
        });
        rows.push(vec![place(&region[0], "region"), lasting.collect::<Vec<_>>().join(", ")]);
    }
    rows
}

/// A bin of standardised residuals, in standard deviations.
#[must_use]
pub fn residual_label(bin: &ResidualBin) -> String {
    match (bin.from, bin.to) {
        (None, Some(to)) => format!("below {to}"),
        (Some(from), None) => format!("above {from}"),
        (Some(from), Some(to)) => format!("{from} to {to}"),
        (None, None) => "all".to_owned(),
    }
}

/// Three digits, and never a 1 that is none.
#[must_use]
pub fn probability(p: f64) -> String {
    if p > 0.999 { "> 0.999".to_owned() } else { format!("{p:.3}") }
}

/// A number with two significant digits of its standard deviation; four of its own if there is none.
#[must_use]
pub fn number(x: f64, sd: f64) -> String {
    let (scale, digits) = if sd > 0.0 && sd.is_finite() { (sd, 1) } else { (x.abs(), 3) };
    if !(x.is_finite() && scale > 0.0) {
        return format!("{x}");
    }
    let decimals = digits - scale.log10().floor() as i32;
    if decimals > 9 || x.abs() >= 1e9 {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.*}", decimals.max(0) as usize);
    // What rounds to 0 has no sign.
    match text.strip_prefix('-') {
        Some(size) if size.bytes().all(|digit| matches!(digit, b'0' | b'.')) => size.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits_of_their_deviation() {
        assert_eq!(number(12.345_678, 0.034_5), "12.346");
        assert_eq!(number(12.345_678, 3.0), "12.3");
        assert_eq!(number(1234.5, 120.0), "1234");
        assert_eq!(number(-0.000_012_3, 0.000_001), "-0.0000123");
        assert_eq!(number(5.678_9, 0.0), "5.679");
        assert_eq!(number(-0.001, 0.12), "0.00");
        assert_eq!(number(-0.4, 0.12), "-0.40");
        assert_eq!(probability(0.999_99), "> 0.999");
    }

    fn summary(place: &[(&'static str, &str)], sd: f64) -> Summary {
        Summary {
            name: "share".into(),
            variable: "share",
            place: place.iter().map(|(dimension, label)| (*dimension, (*label).to_owned())).collect(),
            unit: None,
            note: None,
            mean: 0.25,
            sd,
            records_sd: sd,
            privacy_sd: 0.0,
            quantiles: [-2.0, -0.7, 0.0, 0.7, 2.0].map(|z| 0.25 + z * sd),
            direction: None,
        }
    }

    #[test]
    fn levels_are_named_with_their_columns() {
        let of = |place: &[(&'static str, &str)]| label(&summary(place, 0.1));
        assert_eq!(of(&[("column", "blood"), ("level", "AB")]), "blood = AB");
        assert_eq!(of(&[("class", "yes"), ("column", "blood"), ("level", "AB")]), "yes, blood = AB");
        assert_eq!(of(&[("region", "North"), ("time", "3")]), "North, 3");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn states_are_listed_by_region() {
        let one = |region: &str, time: &str, state: &str, mean: f64| Summary {
            mean,
            ..summary(&[("region", region), ("time", time), ("state", state)], 0.0)
        };
        let of =
            |region, time, first: f64| [one(region, time, "1", first), one(region, time, "2", 1.0 - first)];
        let north = [of("north", "may", 0.9), of("north", "june", 0.8), of("north", "july", 0.1)];
        let rows = states(&[north.concat(), of("south", "may", 0.3).to_vec()].concat());
        assert_eq!(rows[1..], [["north", "1 (may to june), 2 (july)"], ["south", "2 (may)"]]);
    }

    /// An interval of no width would claim that a point estimate has no error.
    #[test]
    fn a_point_has_no_interval() {
        let table = rows(&[summary(&[("column", "a")], 0.0), summary(&[("column", "b")], 0.1)]);
        assert_eq!(table[1], ["a", "0.2500", "", "", "", ""]);
        assert_eq!(table[2], ["b", "0.25", "0.10", "[0.05, 0.45]", "0.10", "0.00"]);
        assert_eq!(rows(&[summary(&[("column", "a")], 0.0)]), [["", "value"], ["a", "0.2500"]]);
    }

    #[test]
    fn a_note_of_all_is_stated_once() {
        let noted = |column| Summary { note: Some("fixed".into()), ..summary(&[("column", column)], 0.0) };
        assert_eq!(rows(&[noted("a"), noted("b")])[1..], [["a", "0.2500"], ["b", "0.2500"]]);
        assert_eq!(common_note(&[noted("a"), noted("b")]), Some("fixed"));
        let other = summary(&[("column", "c")], 0.0);
        assert_eq!(rows(&[noted("a"), other])[1..], [["a (fixed)", "0.2500"], ["c", "0.2500"]]);
    }
}
