//! Lines that an open quote joins, for schemas that state `quoted_newlines`.
//!
//! There is no claim of stability here: one stray quote can join all lines that follow it.

use std::io::{self, Read};

use memchr::memchr;

use super::lines::{Line, Lines, MAX_LINE};

/// Appends the next record to `record`, without the end of its last line: `None` at the end of the file, `false` if it is
/// too long. A newline within quotes is one LF, whether the file has CR LF or LF there.
pub(super) fn next_record<R: Read>(
    lines: &mut Lines<R>,
    delimiter: u8,
    record: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    let start = record.len();
    let (mut state, mut first, mut fits) = (State::Start, true, true);
    loop {
        let Some(line) = lines.next_line()? else {
            // The end of the file within quotes leaves a record that does not parse.
            return Ok((!first).then_some(fits));
        };
        match line {
            Line::Whole(line) => {
                if !first {
                    record.push(b'\n');
                }
                state = state.after(line, delimiter);
                record.extend_from_slice(line);
            }
            // How its quotes would have ended is unknown.
            Line::TooLong => (fits, state) = (false, State::Start),
        }
        if record.len() - start > MAX_LINE {
            fits = false;
            record.truncate(start);
        }
        if state != State::Quoted {
            return Ok(Some(fits));
        }
        first = false;
    }
}

/// Where in a record a byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a field.
    Start,
    /// In a field without quotes, or after a closing one.
    Plain,
    Quoted,
}

impl State {
    /// The state at the end of a line.
    fn after(mut self, line: &[u8], delimiter: u8) -> Self {
        let mut at = 0;
        while at < line.len() {
            match self {
                Self::Quoted => {
                    let Some(length) = memchr(b'"', &line[at..]) else { return Self::Quoted };
                    at += length + 1;
                    if line.get(at) == Some(&b'"') {
                        at += 1;
                    } else {
                        self = Self::Plain;
                    }
                }
                Self::Start if line[at] == b'"' => (self, at) = (Self::Quoted, at + 1),
                Self::Start | Self::Plain => {
                    let Some(length) = memchr(delimiter, &line[at..]) else { return Self::Plain };
                    (self, at) = (Self::Start, at + length + 1);
                }
            }
        }
        self
    }
}
