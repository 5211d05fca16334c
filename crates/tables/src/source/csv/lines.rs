//! The physical lines of a file.
//!
//! A line is what ends with LF, or what is left at the end of the file without one. One CR before the end of a line is
//! dropped; any other CR is data. It is dropped from a last line without LF too: a line means the same wherever it is
//! in the file, so that a line that is put after it changes nothing about it.
//!
//! What a line is depends on its own bytes and on nothing else: not on the lines around it, nor on how many bytes the
//! system hands over at a time. Attacked by `one_edited_line_changes_at_most_one_record` and
//! `lines_do_not_depend_on_the_sizes_of_reads`.

use std::io::{self, ErrorKind, Read};

use memchr::memchr;

/// Bytes of the longest line that is read. Longer ones are skipped, in constant memory.
pub(super) const MAX_LINE: usize = 1 << 20;

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 18;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// More than [`MAX_LINE`] bytes.
    TooLong,
}

/// Reads lines.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// What has been read and not been handed out is `buffer[start..end]`.
    start: usize,
    end: usize,
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BLOCK], start: 0, end: 0, ended: false }
    }

    /// The next line, until there are none. An empty rest after the last LF is no line.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        let (mut searched, mut too_long) = (0, false);
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let line = self.start..self.start + searched + at;
                self.start = line.end + 1;
                return Ok(Some(whole(&self.buffer[line], too_long)));
            }
            searched = self.end - self.start;
            if self.ended {
                if searched == 0 && !too_long {
                    return Ok(None);
                }
                let line = self.start..self.end;
                self.start = self.end;
                return Ok(Some(whole(&self.buffer[line], too_long)));
            }
            // With a CR at its end a line may be one byte longer.
            if searched > MAX_LINE + 1 {
                (too_long, searched, self.start) = (true, 0, self.end);
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.ended = read == 0;
                    self.end += read;
                    return Ok(());
                }
            }
        }
    }
}

fn whole(line: &[u8], too_long: bool) -> Line<'_> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if too_long || line.len() > MAX_LINE { Line::TooLong } else { Line::Whole(line) }
}
