//! Rows of results as text for a terminal, as CSV and as JSON, and the quartiles that fill them.

use std::fmt::Write as _;

use serde_json::{Value, json};
use thiserror::Error;

/// Errors of tables.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The row has more or fewer cells than the table has columns.
    #[error("the row has {cells} cells, but the table has {columns} columns")]
    Width {
        /// Cells of the row.
        cells: usize,
        /// Columns of the table.
        columns: usize,
    },
    /// There is nothing to summarise, or one of the values is not a number.
    #[error("quartiles need at least one value, and every value a number")]
    NoQuartiles,
}

/// One entry of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words, set flush left.
    Text(String),
    /// A number, set flush right.
    Number(f64),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl Cell {
    /// Text for a terminal: numbers to four significant digits.
    pub(crate) fn display(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => digits(*number, 4),
        }
    }
}

/// Named columns and rows of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_string()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Cell>) -> Result<(), TableError> {
        if row.len() != self.columns.len() {
            return Err(TableError::Width { cells: row.len(), columns: self.columns.len() });
        }
        self.rows.push(row);
        Ok(())
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows, each as long as [`columns`](Self::columns).
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Aligned columns for a terminal, numbers to four significant digits.
    pub fn to_text(&self) -> String {
        let cells: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::display).collect()).collect();
        let width = |c: usize| {
            let lengths = cells.iter().map(|row| row[c].chars().count());
            lengths.fold(self.columns[c].chars().count(), usize::max)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let numeric: Vec<bool> = (0..self.columns.len()).map(|c| self.is_numeric(c)).collect();

        let mut text = String::new();
        let mut line = |cells: &[String]| {
            let pad = |(c, cell): (usize, &String)| {
                if numeric[c] {
                    format!("{cell:>w$}", w = widths[c])
                } else {
                    format!("{cell:<w$}", w = widths[c])
                }
            };
            let padded: Vec<String> = cells.iter().enumerate().map(pad).collect();
            text.push_str(padded.join("  ").trim_end());
            text.push('\n');
        };
        line(&self.columns);
        line(&widths.iter().map(|&width| "-".repeat(width)).collect::<Vec<_>>());
        cells.iter().for_each(|row| line(row));
        text
    }

    /// Comma-separated values as in RFC 4180, numbers to the last digit.
    pub fn to_csv(&self) -> String {
        let quote = |text: &str| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_string()
            }
        };
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => quote(text),
            Cell::Number(number) => number.to_string(),
        };
        let mut csv = self.columns.iter().map(|name| quote(name)).collect::<Vec<_>>().join(",");
        for row in &self.rows {
            let _ = write!(csv, "\r\n{}", row.iter().map(cell).collect::<Vec<_>>().join(","));
        }
        csv + "\r\n"
    }

    /// `{"columns": [...], "rows": [[...], ...]}`. JSON has no infinities; they become the strings `"inf"`, `"-inf"`
    /// and `"NaN"`.
    pub fn to_json(&self) -> Value {
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => json!(text),
            Cell::Number(number) if number.is_finite() => json!(number),
            Cell::Number(number) => json!(number.to_string()),
        };
        let rows: Vec<Vec<Value>> = self.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        json!({ "columns": self.columns, "rows": rows })
    }

    /// Whether every cell of the column is a number.
    pub(crate) fn is_numeric(&self, column: usize) -> bool {
        self.rows.iter().all(|row| matches!(row[column], Cell::Number(_)))
    }
}

/// A number with this many significant digits.
#[must_use]
pub fn digits(number: f64, digits: usize) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let places = digits.max(1) - 1;
    // The exponent after rounding, so that 999.96 to four digits is 1000 and not 1000.0.
    let scientific = format!("{number:.places$e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if (-4..6).contains(&exponent) {
        format!("{number:.*}", (places as i32 - exponent).max(0) as usize)
    } else {
        scientific
    }
}

/// The quartiles of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// A quarter of the values are below it.
    pub lower: f64,
    /// Half of the values are below it.
    pub median: f64,
    /// Three quarters of the values are below it.
    pub upper: f64,
}

impl Quartiles {
    /// With linear interpolation between order statistics: the value at place `p (n - 1)`, counted from 0 (type 7 of
    /// Hyndman and Fan, "Sample quantiles in statistical packages", 1996).
    pub fn of(values: &[f64]) -> Result<Self, TableError> {
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return Err(TableError::NoQuartiles);
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| {
            let place = p * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            // Two equal neighbours may be infinite, and their difference is then not a number.
            if below == above { below } else { below + place.fract() * (above - below) }
        };
        Ok(Self { lower: at(0.25), median: at(0.5), upper: at(0.75) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["method", "F mean"]);
        table.push(vec!["SEP".into(), 0.000_712_34.into()]).unwrap();
        table.push(vec!["DP-SEP, ε = 1".into(), 1234.5678.into()]).unwrap();
        table.push(vec!["say \"no\"".into(), f64::INFINITY.into()]).unwrap();
        table
    }

    #[test]
    fn text_is_aligned() {
        let expected = "\
method            F mean
-------------  ---------
SEP            0.0007123
DP-SEP, ε = 1       1235
say \"no\"             inf
";
        assert_eq!(table().to_text(), expected);
    }

    #[test]
    fn csv_is_quoted_and_exact() {
        let expected =
            "method,F mean\r\nSEP,0.00071234\r\n\"DP-SEP, ε = 1\",1234.5678\r\n\"say \"\"no\"\"\",inf\r\n";
        assert_eq!(table().to_csv(), expected);
    }

    #[test]
    fn json_keeps_the_order_and_the_infinities() {
        let expected = concat!(
            r#"{"columns":["method","F mean"],"rows":[["SEP",0.00071234],"#,
            r#"["DP-SEP, ε = 1",1234.5678],["say \"no\"","inf"]]}"#
        );
        assert_eq!(table().to_json().to_string(), expected);
    }

    #[test]
    fn a_short_row_is_refused() {
        let error = TableError::Width { cells: 1, columns: 2 };
        assert_eq!(table().push(vec![1.0.into()]), Err(error));
    }

    #[test]
    fn four_significant_digits() {
        let cases = [
            (999.96, "1000"),
            (0.1, "0.1000"),
            (-2.5, "-2.500"),
            (4162.9041, "4163"),
            (1.5e-7, "1.500e-7"),
            (0.0, "0"),
        ];
        for (number, text) in cases {
            assert_eq!(digits(number, 4), text);
        }
    }

    #[test]
    fn quartiles_interpolate() {
        // NumPy: percentile([1, 2, 3, 4], [25, 50, 75]) is [1.75, 2.5, 3.25].
        let quartiles = Quartiles::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(quartiles, Quartiles { lower: 1.75, median: 2.5, upper: 3.25 });
        let quartiles = Quartiles::of(&[1.0, f64::INFINITY, f64::INFINITY]).unwrap();
        assert_eq!((quartiles.median, quartiles.upper), (f64::INFINITY, f64::INFINITY));
        assert_eq!(Quartiles::of(&[]), Err(TableError::NoQuartiles));
    }
}
