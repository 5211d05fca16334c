//! The parameters of a model as rows of text.

use reticent::{SavedModel, Summary};

/// Rows of a variable that are shown; the rest is in `--json` and `reticent draws`.
pub const MAX_ROWS: usize = 60;

/// The elements of a variable that are shown, and how many more there are.
#[must_use]
pub fn cut(group: &[Summary]) -> (&[Summary], usize) {
    let shown = group.len().min(MAX_ROWS);
    (&group[..shown], group.len() - shown)
}

/// What a variable is, in words.
#[must_use]
pub fn title(variable: &str, model: &SavedModel) -> String {
    let target = model.schema().target();
    let name = target.map_or("the target", |target| target.name());
    let positive = target.and_then(|target| target.levels().last().map(|level| (*level).to_owned()));
    let class = positive.map_or_else(|| name.to_owned(), |level| format!("{name} = {level}"));
    match (variable, target.is_some_and(|target| target.levels().len() == 2)) {
        ("intercept", true) => {
            format!("Intercept of the score of {class}: all numbers 0, all levels the references")
        }
        ("intercept", false) => format!("Intercept of {name}: all numbers 0, all levels the references"),
        ("coefficient", true) => format!("Coefficients of the score of {class}"),
        ("coefficient", false) => format!("Coefficients of {name}"),
        ("odds_ratio", _) => format!("Odds ratios of {class}"),
        ("effect", _) => {
            format!(
                "Effects on {name}: the average slope of a number; of a level, against the reference at the means of the others"
            )
        }
        ("prediction_at_means", _) => format!("Prediction of {name} with every column at its released mean"),
        ("residual_sd", _) => format!("Standard deviation of {name} about its prediction"),
        (other, _) => {
            let words = other.replace('_', " ");
            words[..1].to_uppercase() + &words[1..]
        }
    }
}

/// A header, and a row for each element.
#[must_use]
pub fn rows(group: &[Summary]) -> Vec<Vec<String>> {
    let texts = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>();
    let (direction, units) =
        (group.iter().any(|row| row.direction.is_some()), group.iter().any(|row| row.unit.is_some()));
    let mut header = texts(&["", "mean", "sd", "95 % interval"]);
    header.extend(direction.then(|| "direction".to_owned()));
    header.extend(texts(&["sd: records", "privacy"]));
    header.extend(units.then(|| "unit".to_owned()));
    let one = |summary: &Summary| {
        let labels: Vec<&str> = summary.place.iter().map(|(_, label)| label.as_str()).collect();
        let note = summary.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        let number = |x: f64| number(x, summary.sd);
        let (low, high) = summary.interval();
        let mut row = vec![format!("{}{note}", labels.join(", ")), number(summary.mean), number(summary.sd)];
        row.push(format!("[{}, {}]", number(low), number(high)));
        if direction {
            row.push(summary.direction.map_or(String::new(), probability));
        }
        row.extend([number(summary.records_sd), number(summary.privacy_sd)]);
        row.extend(units.then(|| summary.unit.clone().unwrap_or_default()));
        row
    };
    std::iter::once(header).chain(group.iter().map(one)).collect()
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
    format!("{x:.*}", decimals.max(0) as usize)
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
        assert_eq!(probability(0.999_99), "> 0.999");
    }
}
