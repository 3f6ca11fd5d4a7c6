//! Text from files on a terminal: control characters are shown, not obeyed.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control characters (escape sequences among them) and characters that change the direction of text
/// written as `\u{1b}`; new lines stay.
///
/// ```
/// assert_eq!(tatter::printable::printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
