//! Characters that have no glyph of their own, written as their numbers.
//!
//! Names come from files that anyone may have written. On a terminal an escape sequence in one can clear the screen, move
//! the cursor or fill the clipboard; a right-to-left override can turn an epsilon of 10 into one of 01; a character of no
//! width makes two names look alike. So every text that is printed should go through here, in the one place where it leaves the
//! program; and what is laid out in lines or columns before that, with [`line()`], so that a name cannot begin a line of its own.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character changes how others are shown, or cannot be seen: controls and format characters, separators of
/// lines and paragraphs, spaces other than the usual one, private and unassigned characters, and letters and marks that
/// Unicode lists as ignorable by default.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    match character {
        ' '..='~' => false,
        '\u{34f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => is_unprintable(character),
    }
}

/// The categories Cc, Cf, Cs, Co, Cn, Zl, Zp and Zs: what the standard library escapes in a text, apart from quotes,
/// backslashes and a combining mark at its beginning.
fn is_unprintable(character: char) -> bool {
    let mut buffer = [b'x', 0, 0, 0, 0];
    let length = 1 + character.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..length]).is_ok_and(|pair| pair.escape_debug().nth(2).is_some())
}

/// The same text on one line, with hidden characters as `\u{202e}`.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, |to, character| {
        let _ = write!(to, "{}", character.escape_unicode());
    })
}

/// The same for a text of several lines.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    let hidden = |character| character != '\n' && is_hidden(character);
    escaped(text, hidden, |to, character| {
        let _ = write!(to, "{}", character.escape_unicode());
    })
}

/// JSON with hidden characters as `\u202e`. They are in strings only, so it stays the same document.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let hidden = |character| character != '\n' && is_hidden(character);
    escaped(text, hidden, code_units)
}

/// JSON for the inside of an HTML element: with no character that could end the element, begin another or a comment.
#[must_use]
pub fn json_in_html(text: &str) -> Cow<'_, str> {
    let hidden = |character| matches!(character, '<' | '>' | '&') || is_hidden(character);
    escaped(text, hidden, code_units)
}

fn code_units(to: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(to, "\\u{unit:04x}");
    }
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut to = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if hidden(character) {
            escape(&mut to, character);
        } else {
            to.push(character);
        }
    }
    Cow::Owned(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unicode's bidirectional controls, and characters that terminals act on.
    #[test]
    fn what_moves_or_hides_text_is_hidden() {
        let bidirectional = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        let more = "\u{0}\u{7}\u{8}\t\n\r\u{1b}\u{7f}\u{80}\u{85}\u{9b}\u{9d}\u{a0}\u{ad}\u{61c}\u{200b}\u{200c}\u{200d}\
                    \u{200e}\u{200f}\u{2028}\u{2029}\u{2060}\u{3000}\u{3164}\u{feff}\u{fff9}\u{fffb}\u{e0001}\u{e007f}\u{10ffff}";
        for character in bidirectional.chain(more.chars()) {
            assert!(is_hidden(character), "{character:?}");
        }
        for character in "a~'\"\\<&>\u{e9}\u{301}\u{b1}\u{b5}\u{2264}\u{5d0}\u{627}\u{4e2d}\u{1f600}".chars()
        {
            assert!(!is_hidden(character), "{character:?}");
        }
    }

    #[test]
    fn texts_stay_what_they_are_but_for_that() {
        assert_eq!(line("a \u{b5}m\n\u{1b}[2J\u{202e}"), "a \u{b5}m\\u{a}\\u{1b}[2J\\u{202e}");
        assert_eq!(lines("a\nb\rc"), "a\nb\\u{d}c");
        assert!(matches!(lines("income (kUSD)\n"), Cow::Borrowed(_)));
        let name = "\u{7f}\u{9b}\u{202e}\u{e0041}</script><!--&\u{2028}\u{1b}\t";
        let plain = serde_json::to_string(&[name]).unwrap();
        for document in [json(&plain), json_in_html(&plain)] {
            assert!(!document.chars().any(is_hidden), "{document}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&document).unwrap(), [name]);
        }
        assert!(!json_in_html(&plain).contains(['<', '>', '&']));
    }
}
