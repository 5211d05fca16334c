//! From a schema and files to what models want.

use std::path::Path;

use reticent::wall::Records;
use reticent_models::{Facts, ModelError, Target};
use reticent_tables::{
    Delimiter, Kind, Layout, ModelFileError, Rows, Scale, Schema, SchemaError, Source, Stream, TableError,
};

use crate::output::Failure;

/// How CSV files are laid out, where neither their names nor the schema state it.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct LayoutArgs {
    /// What is between two fields of a CSV file: `,`, `;` or `tab`. The schema may state it too.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<Delimiter>,
    /// The CSV file is compressed by gzip, whatever its name.
    #[arg(long)]
    gzip: bool,
}

fn delimiter(text: &str) -> Result<Delimiter, &'static str> {
    text.parse()
}

impl LayoutArgs {
    /// What was given on the command line, and otherwise what a schema states.
    pub(crate) fn over(self, stated: Layout) -> Layout {
        let given = Layout {
            delimiter: self.delimiter,
            gzip: self.gzip.then_some(true),
            quoted_newlines: stated.quoted_newlines,
        };
        given.or(stated)
    }
}

/// Opens files, or reads standard input to its end if the path is `-`.
pub(crate) fn source(path: &Path, layout: Layout) -> Result<Source, Failure> {
    let source = match path.as_os_str() == "-" {
        true => Source::from_stream(std::io::stdin().lock())?,
        false => Source::open(path)?,
    };
    Ok(source.with_layout(layout))
}

/// What a schema says about the rows that it makes.
pub(crate) fn facts(schema: &Schema, records: usize) -> Facts {
    let columns = schema.features().iter().flat_map(|column| column.input_widths());
    let target = schema.target().map_or(Target::Nothing, |column| match column.kind() {
        Kind::Numeric { .. } => Target::Number,
        _ if column.levels().len() == 2 => Target::TwoClasses,
        _ => Target::Classes,
    });
    let words = schema.features().iter().map(|column| match column.kind() {
        Kind::Text { vocabulary, .. } => vocabulary.len(),
        _ => 0,
    });
    Facts { words: Some(words.sum()), ..Facts::new(columns.collect(), target, records) }
}

/// Opens a schema; its file is part of every message.
pub(crate) fn schema(file: &Path) -> Result<Schema, Failure> {
    Schema::load(file).map_err(|error| {
        let failure = Failure::from(error);
        match failure.message.contains(&*file.to_string_lossy()) {
            true => failure,
            false => Failure { message: format!("{}: {}", file.display(), failure.message), ..failure },
        }
    })
}

/// The first column that is not scaled by bounds.
pub(crate) fn without_bounds(schema: &Schema) -> Option<&str> {
    let moments = |kind: &Kind| matches!(kind, Kind::Numeric { scale: Scale::Moments { .. }, .. });
    schema.columns().find(|column| moments(column.kind())).map(|column| column.name())
}

/// Numbers of encoded records that are kept in memory, 64 MB; more of them are read again for each release.
pub(crate) const KEPT: usize = 1 << 23;

/// The same for releases about samples, 1 GB: a pass for each of many would take too long.
const AT_HAND: usize = 1 << 27;

fn collect(stream: &Stream) -> Vec<f64> {
    let mut all = Vec::new();
    stream.pass(&mut |block| all.extend_from_slice(block));
    all
}

/// Encoded rows as the wall wants them.
pub(crate) fn records(rows: Rows) -> Result<Records, Failure> {
    let (count, width) = (rows.count(), rows.width());
    let records = match rows {
        Rows::Kept(table) => Records::new(table.into_values(), width),
        Rows::Streamed(stream) => {
            let mut all = None;
            let pass = move |wanted: Option<&[usize]>, each: &mut dyn FnMut(&[f64])| match wanted {
                None => stream.pass(each),
                Some(wanted) if count * width > AT_HAND => each(&stream.some(wanted)),
                Some(wanted) => {
                    let all: &Vec<f64> = all.get_or_insert_with(|| collect(&stream));
                    let row = |row: &usize| all.get(row * width..(row + 1) * width);
                    each(&wanted.iter().filter_map(row).flatten().copied().collect::<Vec<f64>>());
                }
            };
            Records::streamed(count, width, Box::new(pass))
        }
    };
    Ok(records.map_err(ModelError::from)?)
}

/// The names of files in a sentence.
pub(crate) fn name(source: &Source) -> String {
    match source.files() {
        [file] => file.display().to_string(),
        files => format!("{} files", files.len()),
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Self::from_error(&error, "check the file and the schema").not_usage()
    }
}

impl From<SchemaError> for Failure {
    fn from(error: SchemaError) -> Self {
        Self::from_error(&error, "`reticent schema --from FILE` writes one to fill in").not_usage()
    }
}

impl From<ModelFileError> for Failure {
    fn from(error: ModelFileError) -> Self {
        Self::from_error(&error, "give the file that `reticent fit` wrote").not_usage()
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let usage = matches!(
            error,
            ModelError::Unknown { .. }
                | ModelError::NoSetting { .. }
                | ModelError::NeedsSetting { .. }
                | ModelError::Setting { .. }
                | ModelError::TooLarge { .. }
                | ModelError::OnlyWithPrivacy { .. }
                | ModelError::OnlyWithoutPrivacy { .. }
        );
        let failure = Self::from_error(&error, "see --help for what each option means");
        if usage { failure } else { failure.not_usage() }
    }
}
