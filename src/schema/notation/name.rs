//! Names of fields, labels and features in the notation. Read and written by the same rules.

use crate::error::Result;
use crate::printable::is_hidden;
use crate::schema::cursor::Cursor;
use crate::schema::literal::{quote, text};

/// Whether a name needs no backquotes, because it contains no special character of the notation.
fn is_bare(c: char) -> bool {
    !(c.is_whitespace() || c.is_control() || ":;,=.*`{}()[]<>\"'#?".contains(c))
}

/// Parses a name: bare, in backquotes, or in double quotes with JSON's escapes.
pub(super) fn name(cursor: &mut Cursor, what: &str) -> Result<String> {
    let start = cursor.pos();
    let rest = cursor.rest();
    if rest.starts_with('"') {
        return text(cursor);
    }
    if let Some(quoted) = rest.strip_prefix('`') {
        let (mut end, mut name) = (0, String::new());
        loop {
            let Some(length) = quoted[end..].find('`') else {
                return Err(cursor.fail(start, start + 1, "this backquote is not closed"));
            };
            name.push_str(&quoted[end..end + length]);
            end += length + 1;
            if !quoted[end..].starts_with('`') {
                cursor.advance(end + 1);
                return Ok(name);
            }
            name.push('`');
            end += 1;
        }
    }
    let length = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
    if length == 0 {
        return Err(cursor.unexpected(what));
    }
    cursor.advance(length);
    Ok(rest[..length].to_owned())
}

/// A name in notation form: in backquotes unless it is a plain word, or in double quotes if it has characters that cannot be seen.
/// Labels and features that consist of digits are quoted, because they would be read as sizes.
pub fn name_text(name: &str) -> String {
    if name.contains(is_hidden) {
        return quote(name);
    }
    // At the start of a text, U+FEFF would be dropped as a byte order mark, and `@` would begin the name of a file.
    let bare = !name.is_empty()
        && !name.starts_with(['\u{feff}', '@'])
        && name.chars().all(is_bare)
        && !name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if bare { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}
