//! Lines and fields, byte by byte.

use std::io::{self, Read};

use super::fields::{Span, split};
use super::lines::{Line, Lines, MAX_LINE};

/// Hands over a few bytes at a time, and is interrupted in between.
struct Trickle<'a> {
    bytes: &'a [u8],
    step: usize,
    interrupted: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = self.step.min(into.len()).min(self.bytes.len());
        into[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

/// The lines of a text; too long ones are `None`.
fn lines(input: impl Read) -> Vec<Option<Vec<u8>>> {
    let (mut lines, mut found) = (Lines::new(input), Vec::new());
    while let Some(line) = lines.next_line().expect("bytes in memory") {
        found.push(match line {
            Line::Whole(line) => Some(line.to_vec()),
            Line::TooLong => None,
        });
    }
    found
}

fn whole(texts: &[&str]) -> Vec<Option<Vec<u8>>> {
    texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect()
}

#[test]
fn lines_end_with_a_newline_and_lose_one_cr() {
    assert_eq!(lines(&b""[..]), whole(&[]));
    assert_eq!(lines(&b"\n"[..]), whole(&[""]));
    assert_eq!(lines(&b"a\n\nb"[..]), whole(&["a", "", "b"]));
    assert_eq!(lines(&b"a\nb\n"[..]), whole(&["a", "b"]));
    assert_eq!(lines(&b"a\n\n"[..]), whole(&["a", ""]));
    assert_eq!(lines(&b"a\r\nb\r\r\nc\rd\r"[..]), whole(&["a", "b\r", "c\rd"]));
    assert_eq!(lines(&b"a\0b\x85\xe2\x80\xa8c\n"[..]).len(), 1, "nothing but LF ends a line");
}

/// A line of 1 MiB is read, one of a byte more is not, and the lines around it are.
#[test]
fn lines_that_are_too_long_are_skipped_alone() {
    for (length, ending, fits) in [
        (MAX_LINE, "\n", true),
        (MAX_LINE, "\r\n", true),
        (MAX_LINE + 1, "\n", false),
        (MAX_LINE + 1, "\r\n", false),
        (5 * MAX_LINE, "\n", false),
        (MAX_LINE, "", true),
        (MAX_LINE + 1, "", false),
        (3 * MAX_LINE, "", false),
    ] {
        let after = if ending.is_empty() { "" } else { "after\n" };
        let text = format!("before\n{}{ending}{after}", "x".repeat(length));
        for step in [text.len(), 77_777] {
            let found = lines(Trickle { bytes: text.as_bytes(), step, interrupted: false });
            assert_eq!(found.len(), if after.is_empty() { 2 } else { 3 });
            assert_eq!(found[1].as_ref().map(Vec::len), fits.then_some(length), "{length} {ending:?}");
            assert_eq!(
                found.last().cloned().flatten().as_deref(),
                match after {
                    "" => found[1].as_deref(),
                    _ => Some(&b"after"[..]),
                }
            );
        }
    }
}

#[test]
fn lines_do_not_depend_on_the_sizes_of_reads() {
    let text = b"a,b\r\n\n\"x\r\n\xff,\r1\n last\r";
    let at_once = lines(&text[..]);
    for step in 1..text.len() {
        assert_eq!(lines(Trickle { bytes: text, step, interrupted: false }), at_once, "{step}");
    }
}

/// The fields of a line, or nothing.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut bytes, mut spans) = (line.as_bytes().to_vec(), Vec::new());
    if !split(&mut bytes, b',', &mut spans) {
        return None;
    }
    let text = |span: &Span| String::from_utf8_lossy(&bytes[span.start as usize..span.end as usize]).into();
    Some(spans.iter().map(text).collect())
}

#[test]
fn fields_are_those_of_rfc_4180() {
    let some = |texts: &[&str]| Some(texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
    assert_eq!(fields(""), some(&[""]));
    assert_eq!(fields(","), some(&["", ""]));
    assert_eq!(fields("a,b c,"), some(&["a", "b c", ""]));
    assert_eq!(fields("\"a,b\",c"), some(&["a,b", "c"]));
    assert_eq!(fields("\"\",\"\"\"\",\"a\"\"b\"\"\""), some(&["", "\"", "a\"b\""]));
    assert_eq!(fields("5\" pipe, \"x\""), some(&["5\" pipe", " \"x\""]), "a quote within a field is data");
    for malformed in ["\"", "a,\"b", "\"a\"b,c", "\"a\" ,b", "\"\"\"", "\"a\"\"", "a,\"b,c\"\""] {
        assert_eq!(fields(malformed), None, "{malformed}");
    }
}
