//! Safe display of text from files and arguments: control characters are shown instead of interpreted, and words are
//! quoted for a shell.

use std::borrow::Cow;
use std::fmt::Write;

/// The byte order mark that text in UTF-8 may begin with.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text with control characters (including escape sequences) and characters that change text direction written as
/// `\u{1b}`; newlines are kept.
///
/// ```
/// assert_eq!(tatter::printable::printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\n");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    shown(text, |c| c != '\n' && is_hidden(c))
}

/// The text on one line: as [`printable`], with newlines shown too. For names and values from files in lines that tatter
/// composes, so that they cannot start a line of their own.
///
/// ```
/// assert_eq!(tatter::printable::one_line("a\nerror: b\u{2028}"), "a\\nerror: b\\u{2028}");
/// ```
pub fn one_line(text: &str) -> Cow<'_, str> {
    shown(text, is_hidden)
}

/// The text with hidden characters shown.
fn shown(text: &str, is_hidden: impl Fn(char) -> bool + Copy) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_hidden(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(out)
}

/// The text of a JSON value with hidden characters as escapes, which do not change its meaning.
///
/// ```
/// assert_eq!(tatter::printable::in_json("{\"a\":\"\u{9b}\"}"), "{\"a\":\"\\u009b\"}");
/// ```
pub fn in_json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// A word quoted for a shell, in single quotes only if needed.
///
/// ```
/// use tatter::printable::shell_word;
/// assert_eq!(["a/b.jsonl", "n > 1", "it's", ""].map(shell_word), ["a/b.jsonl", "'n > 1'", r"'it'\''s'", "''"]);
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./,=:@%+".contains(c);
    // zsh expands `=x` to the path of the command x.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) { word.to_owned() } else { shell_quoted(word) }
}

/// A word in single quotes for a shell; with hidden characters as `$'a\\nb'`, which bash, zsh and POSIX.1-2024 read.
///
/// ```
/// use tatter::printable::shell_quoted;
/// assert_eq!(shell_quoted("it's\n\u{1b}"), r"$'it\'s\n\x1b'");
/// assert_eq!(["x=0", "it's=0"].map(shell_quoted), ["'x=0'", r"'it'\''s=0'"]);
/// ```
pub fn shell_quoted(word: &str) -> String {
    if !word.contains(is_hidden) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut out = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_ascii() && is_hidden(c) => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_hidden(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "'"
}

/// A count and what is counted: `1 record`, `2 records`.
///
/// ```
/// use tatter::printable::counted;
/// assert_eq!([0, 1, 2].map(|n| counted(n, "record")), ["0 records", "1 record", "2 records"]);
/// ```
pub fn counted(n: u64, what: &str) -> String {
    format!("{n} {}", plural(n, what))
}

/// The first `most` names and the number of the others, for messages.
///
/// ```
/// use tatter::printable::listed;
/// assert_eq!(listed(["a", "b", "c"].into_iter(), 2), "a, b, and 1 more");
/// ```
pub fn listed(names: impl ExactSizeIterator<Item = impl Into<String>>, most: usize) -> String {
    let left_out = names.len().saturating_sub(most);
    let shown = names.take(most).map(Into::into).collect::<Vec<_>>().join(", ");
    if left_out == 0 { shown } else { format!("{shown}, and {left_out} more") }
}

/// The name of `n` things.
pub fn plural(n: u64, what: &str) -> String {
    if n == 1 { what.to_owned() } else { format!("{what}s") }
}

/// A number of axes.
///
/// ```
/// assert_eq!([0, 1, 2].map(tatter::printable::counted_axes), ["0 axes", "1 axis", "2 axes"]);
/// ```
pub fn counted_axes(n: usize) -> String {
    format!("{n} ax{}", if n == 1 { "is" } else { "es" })
}

/// The verb for `n` things.
///
/// ```
/// assert_eq!([0, 1, 2].map(tatter::printable::is_or_are), ["are", "is", "are"]);
/// ```
pub fn is_or_are(n: usize) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

/// Words to choose from: `a`, `a or b`, `a, b or c`.
///
/// ```
/// use tatter::printable::alternatives;
/// assert_eq!(alternatives(&["text", "json"]), "text or json");
/// assert_eq!(alternatives(&["auto", "always", "never"]), "auto, always or never");
/// ```
pub fn alternatives(words: &[impl AsRef<str>]) -> String {
    joined(words, "or")
}

/// All of some words: `a`, `a and b`, `a, b and c`.
///
/// ```
/// assert_eq!(tatter::printable::all_of(&["csv", "tsv"]), "csv and tsv");
/// ```
pub fn all_of(words: &[impl AsRef<str>]) -> String {
    joined(words, "and")
}

fn joined(words: &[impl AsRef<str>], conjunction: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} {conjunction} {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// The size of records left out, to follow their number: ` (23 bytes)`; empty if it is unknown, that is 0.
pub fn size_left_out(nbytes: u64) -> String {
    if nbytes == 0 { String::new() } else { format!(" ({})", counted(nbytes, "byte")) }
}

/// Control characters, line separators, and characters that change text direction.
pub fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
