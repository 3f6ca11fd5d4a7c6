//! Detects from the first bytes of an input whether it has one record per line.

use crate::json::cursor::Cursor;

/// The form of the first value of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// An object that ends on its first line.
    Line,
    /// An object that spans several lines, or an array.
    Values,
}

/// A head of this length can end before its first value does.
const CUT_OFF_BYTES: usize = 4096;

/// The form of the first value; `None` if it is neither an object nor an array.
pub fn first_value(head: &[u8]) -> Option<First> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    match head {
        [b'{', ..] => {}
        [b'[', rest @ ..] => return matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b']')).then_some(First::Values),
        _ => return None,
    }
    // An object that is completed by later lines, not by its first line.
    let line = Cursor::new(head, 0, true).skip_value().is_ok();
    let mut values = Cursor::new(head, 0, false);
    let cut_off = head.len() >= CUT_OFF_BYTES;
    let goes_on = head.contains(&b'\n') && (values.skip_value().is_ok() || (cut_off && values.at_end()));
    Some(if !line && goes_on { First::Values } else { First::Line })
}

/// Whether the head begins with a whole JSON value that ends its line or is followed by another one, or is truncated inside
/// a value. In a table, other columns follow.
pub fn is_value(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let mut value = Cursor::new(head, 0, false);
    if value.skip_value().is_err() {
        return head.len() >= CUT_OFF_BYTES && value.at_end();
    }
    let blank = value.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    match value.rest()[blank..].first() {
        None | Some(b'\n') => true,
        Some(next) => blank == 0 && matches!(next, b'{' | b'['),
    }
}
