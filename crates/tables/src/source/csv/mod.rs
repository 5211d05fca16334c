//! CSV files. Every field is read as text; the schema decides what it means.
//!
//! # Stability
//! **Adding, removing or replacing one line of the file, other than its header, changes at most one record:** an added line
//! adds one record and a removed line removes one, at its place; a replaced line replaces one; all others stay what they
//! are, in their order. So neighbouring files are neighbouring data sets, under both adjacencies.
//!
//! *Proof sketch.* The file is cut at each LF, and nothing else ends a line ([`lines`]). Let the lines after the header be
//! $l_1, \ldots, l_n$. Record $i$ is $r(l_i)$, where the function $r$ depends on the delimiter and the header and has no memory:
//! 1. A line of more than 1 MiB is a record of missing values. So is a line that is not UTF-8.
//! 2. Otherwise it is split at its delimiters, with quotes that begin and end within it ([`fields`]). If a quote is left
//!    open, or the number of fields is not that of the header, it is a record of missing values. An empty line has one
//!    field, which is empty: a missing value in a file of one column, a record of missing values in any other.
//!
//! There is no other case: $r$ is defined for each sequence of bytes without LF, nothing is skipped, and nothing fails. The
//! edit of one $l_i$ changes one $r(l_i)$. A line is the same whether it is the last one or not, and with or without LF at
//! the end of the file: its CR is dropped in both cases. $\square$
//!
//! What the claim is not about:
//! - The header, which is public. Its errors name columns of the schema and nothing from the file.
//! - An empty last line without LF, which no reader can tell from a LF that ends the line before: programs that
//!   *separate* records by LF, rather than end each with one, lose a last record that is an empty line.
//! - Compression: the claim is about the lines of the text.
//! - Files whose schema states `quoted_newlines`: there a quote can join lines ([`quoted`]), no claim is made, and
//!   [`Schema::assumptions`](crate::Schema::assumptions) states so.
//!
//! Attacked by `one_edited_line_changes_at_most_one_record` (100,000 random edits), `a_blank_line_is_a_record`,
//! `a_stray_quote_stays_in_its_line` and `a_bare_cr_is_data`.

mod fields;
mod lines;
mod quoted;

use std::io::{self, Read};
use std::path::Path;

use fields::{Span, split};
use lines::{Line, Lines};

use super::layout::Delimiter;
use super::{Declared, Format, Wanted, positions};
use crate::error::TableError;

/// Bytes of the records that are handed over at once, about.
const CHUNK: usize = 1 << 22;

/// The byte order mark that spreadsheets write is not part of the first name.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Wanted fields of some records.
#[derive(Default)]
pub(crate) struct Written {
    bytes: Vec<u8>,
    /// Row by row, in the wanted order. A record of missing values has empty spans.
    spans: Vec<Span>,
    columns: usize,
    rows: usize,
    /// Records whose lines did not parse.
    malformed: Vec<usize>,
}

impl Written {
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The values of a column; an empty one is missing.
    pub(crate) fn column(&self, column: usize) -> impl Iterator<Item = Option<&[u8]>> {
        self.spans[column..].iter().step_by(self.columns).map(|span| {
            let field = &self.bytes[span.start as usize..span.end as usize];
            (!field.is_empty()).then_some(field)
        })
    }

    /// Records whose lines did not parse, from 0.
    pub(crate) fn malformed(&self) -> &[usize] {
        &self.malformed
    }
}

/// Reads the records of a file.
pub(super) struct Reader {
    lines: Lines<Input>,
    delimiter: u8,
    quoted_newlines: bool,
    /// Fields of a record, as the header has them.
    fields: usize,
    wanted: Vec<usize>,
    rows: usize,
    scratch: Vec<Span>,
}

/// Reads a record to the end of `into`: `None` at the end of the file, `false` if it is too long.
fn next_record(
    lines: &mut Lines<Input>,
    quoted_newlines: Option<u8>,
    into: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    if let Some(delimiter) = quoted_newlines {
        return quoted::next_record(lines, delimiter, into);
    }
    Ok(match lines.next_line()? {
        None => None,
        Some(Line::TooLong) => Some(false),
        Some(Line::Whole(line)) => {
            into.extend_from_slice(line);
            Some(true)
        }
    })
}

/// The names in the first line. `None` if it is no header: nothing of it may be part of a message.
fn header(line: &mut [u8], delimiter: u8) -> Option<Vec<String>> {
    let line = match line.starts_with(MARK) {
        true => &mut line[MARK.len()..],
        false => line,
    };
    std::str::from_utf8(line).ok().filter(|line| !line.is_empty())?;
    let mut fields = Vec::new();
    if !split(line, delimiter, &mut fields) {
        return None;
    }
    let name = |field: &Span| String::from_utf8_lossy(&line[field.start as usize..field.end as usize]).into();
    Some(fields.iter().map(name).collect())
}

/// The names in the header of a file.
pub(super) fn columns(
    file: &Path,
    input: Input,
    delimiter: Delimiter,
    quoted_newlines: bool,
) -> Result<Vec<Declared>, TableError> {
    let delimiter = delimiter.byte();
    let (_, names) = begin(file, input, delimiter, quoted_newlines.then_some(delimiter))?;
    Ok(names.into_iter().map(|name| Declared { name, found: None }).collect())
}

/// What lines are read from.
type Input = Box<dyn Read + Send>;

/// The lines after the header, and the names in it.
fn begin(
    file: &Path,
    input: Input,
    delimiter: u8,
    quoted_newlines: Option<u8>,
) -> Result<(Lines<Input>, Vec<String>), TableError> {
    let (mut lines, mut line) = (Lines::new(input), Vec::new());
    let first =
        next_record(&mut lines, quoted_newlines, &mut line).map_err(|error| unreadable(file, &error))?;
    match first.filter(|fits| *fits).and_then(|_| header(&mut line, delimiter)) {
        Some(names) => Ok((lines, names)),
        None => Err(TableError::Damaged { file: file.to_owned(), format: Format::Csv }),
    }
}

fn unreadable(file: &Path, error: &io::Error) -> TableError {
    TableError::Unreadable { file: file.to_owned(), kind: error.kind() }
}

impl Reader {
    pub(super) fn open(
        file: &Path,
        input: Input,
        delimiter: Delimiter,
        quoted_newlines: bool,
        columns: &[Wanted],
        rows: usize,
    ) -> Result<Self, TableError> {
        let delimiter = delimiter.byte();
        let (lines, names) = begin(file, input, delimiter, quoted_newlines.then_some(delimiter))?;
        let wanted = positions(file, &names.iter().map(String::as_str).collect::<Vec<_>>(), columns)?;
        let scratch = Vec::new();
        Ok(Self { lines, delimiter, quoted_newlines, fields: names.len(), wanted, rows, scratch })
    }

    pub(super) fn next_chunk(&mut self, file: &Path) -> Result<Option<Written>, TableError> {
        let mut chunk = Written { columns: self.wanted.len(), ..Written::default() };
        while chunk.rows < self.rows && chunk.bytes.len() < CHUNK {
            if !self.next_into(&mut chunk).map_err(|error| unreadable(file, &error))? {
                break;
            }
        }
        Ok((chunk.rows > 0).then_some(chunk))
    }

    /// Appends the next record, if there is one.
    fn next_into(&mut self, chunk: &mut Written) -> io::Result<bool> {
        let start = chunk.bytes.len();
        let quoted_newlines = self.quoted_newlines.then_some(self.delimiter);
        let Some(fits) = next_record(&mut self.lines, quoted_newlines, &mut chunk.bytes)? else {
            return Ok(false);
        };
        let line = &mut chunk.bytes[start..];
        let parses = fits
            && std::str::from_utf8(line).is_ok()
            && split(line, self.delimiter, &mut self.scratch)
            && self.scratch.len() == self.fields;
        if parses {
            let moved = |span: Span| Span { start: span.start + start as u32, end: span.end + start as u32 };
            chunk.spans.extend(self.wanted.iter().map(|&position| moved(self.scratch[position])));
        } else {
            chunk.bytes.truncate(start);
            chunk.spans.extend(std::iter::repeat_n(Span::default(), self.wanted.len()));
            chunk.malformed.push(chunk.rows);
        }
        chunk.rows += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
