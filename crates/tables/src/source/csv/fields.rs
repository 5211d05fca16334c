//! The fields of one line.
//!
//! A field that begins with a quote ends with the next single one (RFC 4180): two in a row are one that is data. A quote
//! anywhere else in a field is data. What is a field depends on the line and the delimiter alone.

use memchr::{memchr, memchr_iter};

/// Where a field is in its line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }
}

/// Splits a line. The text of quoted fields is put together in place. `false` if a quote is left open, or something
/// follows a closed one: the line has no fields then.
pub(super) fn split(line: &mut [u8], delimiter: u8, fields: &mut Vec<Span>) -> bool {
    fields.clear();
    if memchr(b'"', line).is_none() {
        let mut start = 0;
        for end in memchr_iter(delimiter, line) {
            fields.push(Span::new(start, end));
            start = end + 1;
        }
        fields.push(Span::new(start, line.len()));
        return true;
    }
    let mut at = 0;
    loop {
        if line.get(at) == Some(&b'"') {
            let Some((end, after)) = unquote(line, at + 1) else { return false };
            fields.push(Span::new(at + 1, end));
            at = after;
        } else {
            let end = memchr(delimiter, &line[at..]).map_or(line.len(), |length| at + length);
            fields.push(Span::new(at, end));
            at = end;
        }
        match line.get(at) {
            None => return true,
            Some(&byte) if byte == delimiter => at += 1,
            Some(_) => return false,
        }
    }
}

/// Puts the text of a quoted field together at its start: where that ends, and what is after the closing quote.
fn unquote(line: &mut [u8], start: usize) -> Option<(usize, usize)> {
    let (mut read, mut written) = (start, start);
    loop {
        let length = memchr(b'"', &line[read..])?;
        line.copy_within(read..read + length, written);
        (read, written) = (read + length + 1, written + length);
        if line.get(read) != Some(&b'"') {
            return Some((written, read));
        }
        line[written] = b'"';
        (read, written) = (read + 1, written + 1);
    }
}
