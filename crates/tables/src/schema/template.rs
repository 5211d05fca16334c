//! A schema to be filled in, from what a file declares.

use super::Schema;
use crate::error::TableError;
use crate::source::{Declared, Found, Layout};

const HEAD: &str = r#"# What is publicly known about the table. Write what you know without looking at the records: whatever is
# written here may become public together with the model. Remove the columns that are not needed.
#
# kind = "numeric"      bounds = [low, high] in the column's own units: what is outside is moved to the nearer bound;
#                       or bounds = "private", within = [0, 1e9], to estimate them with a share of the
#                       privacy budget, somewhere in a range that is publicly known and may be far too wide
# kind = "boolean"      true and false
# kind = "categorical"  levels = ["...", ...]; unknown = "other" makes a level of all other values
# kind = "text"         vocabulary = "FILE" with a public word on each line: how often each occurs is used
#
# No value is an error. Without a rule, missing numbers and booleans count as the middle, missing and unlisted levels as the
# first level, missing texts as no words; records without a target contribute nothing. `missing = ...` states another
# value; missing = "indicator" adds a column, missing = "level" a level for whether a value is missing.
# `unit = "..."` and `description = "..."` help readers.
#
# privacy_unit = "person_id" protects all rows with the same value in that column together, such as those of one person. Without it each row is
# protected by itself: state it wherever a person may have several rows.
#
# file = { delimiter = ";", gzip = true } is for CSV files with `;` or tab instead of `,`, and for compressed ones. A
# line is a record; quoted_newlines = true allows newlines within quotes, and weakens the guarantee: see the guide.

"#;

impl Schema {
    /// The text of a schema file to be filled in, from the names and types of columns alone. It cannot be read as a schema
    /// before the facts that it lacks are filled in.
    ///
    /// # Privacy
    /// Nothing in it depends on a record. Attacked by `a_template_does_not_depend_on_the_records`.
    ///
    /// # Errors
    /// [`TableError::NoTarget`] if the target is not one of the columns.
    pub fn template(columns: &[Declared], target: Option<&str>) -> Result<String, TableError> {
        Self::template_for(columns, target, Layout::default())
    }

    /// The same for CSV files that are laid out like this.
    ///
    /// # Errors
    /// [`TableError::NoTarget`] if the target is not one of the columns.
    pub fn template_for(
        columns: &[Declared],
        target: Option<&str>,
        layout: Layout,
    ) -> Result<String, TableError> {
        let mut text = HEAD.to_owned();
        text += &super::file::layout_line(layout);
        match target {
            Some(target) => {
                let column = columns.iter().find(|column| column.name == target);
                let column = column.ok_or_else(|| TableError::NoTarget { column: target.to_owned() })?;
                text += &format!("target = {}\n", entry(column));
            }
            None => {
                text += "# target = { name = \"...\", kind = \"...\" }  # what is to be predicted; leave it out if nothing is\n";
            }
        }
        text += "features = [\n";
        for column in columns.iter().filter(|column| Some(column.name.as_str()) != target) {
            let (start, end) = match column.found {
                Some(Found::Other) => ("# ", "  # of a type that cannot be used"),
                Some(_) => ("", ""),
                None => ("", "  # or of another kind: a CSV file has no types"),
            };
            text += &format!("    {start}{},{end}\n", entry(column));
        }
        Ok(text + "]\n")
    }
}

fn entry(column: &Declared) -> String {
    let facts = match column.found {
        Some(Found::Integers | Found::Numbers) | None => "kind = \"numeric\", bounds = []",
        Some(Found::Booleans) => "kind = \"boolean\"",
        Some(Found::Texts | Found::Other) => "kind = \"categorical\", levels = []",
    };
    format!("{{ name = {}, {facts} }}", toml::Value::from(column.name.as_str()))
}
