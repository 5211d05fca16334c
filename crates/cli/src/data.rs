//! Files that are named on the command line.

use std::path::Path;

use reticent::{Data, Delimiter, Error, ErrorKind, Layout, Schema, SchemaError, Source};

use crate::output::Failure;

/// How CSV files are laid out, where neither their names nor the schema state it.
#[derive(Debug, Clone, Copy, clap::Args)]
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
        true => Source::from_stream(std::io::stdin().lock()),
        false => Source::open(path),
    };
    Ok(source.map_err(Error::from)?.with_layout(layout))
}

/// The same as a data set, named as on the command line.
pub(crate) fn data(path: &Path, layout: Layout) -> Result<Data, Failure> {
    Ok(Data::from(source(path, layout)?).named(path.display().to_string()))
}

/// Opens a schema; its file is part of every message.
pub(crate) fn schema(file: &Path) -> Result<Schema, Failure> {
    Schema::load(file).map_err(|error| {
        let named = matches!(error, SchemaError::Unreadable { .. });
        let error = Error::from(error);
        if named { error } else { error.in_file(file) }.into()
    })
}

/// An error of a fit, with the schema's file if it is about the schema.
pub(crate) fn about_schema(file: &Path) -> impl Fn(Error) -> Failure {
    move |error| if error.kind() == ErrorKind::Schema { error.in_file(file) } else { error }.into()
}
