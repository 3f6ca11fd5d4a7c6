//! Paths of fields as they are written in other tools and in expressions, with what to write instead.

use super::Field;
use crate::path::quoted;
use crate::printable::shell_word;

/// Advice for a path to a field of the record that does not exist, as it was written.
pub fn advice(text: &str, fields: &[Field]) -> Option<String> {
    let is_field = |name: &str| fields.iter().any(|field| field.name == name.trim());
    let first = |text: &str, separator| text.split(separator).next().is_some_and(is_field);
    // The shell has replaced `*` with the names of files.
    if std::path::Path::new(text).is_file() {
        return Some(format!("{} is a file; if the shell expanded `*`, quote it: '*'", shell_word(text)));
    }
    let bare = text.trim_matches(['"', '\'']);
    if bare.len() < text.len() && first(bare, '.') {
        return Some(format!("write the name without quotes inside: {bare}"));
    }
    if let Some(name) = text.strip_prefix(['!', '~', '^', '-']).filter(|name| is_field(name)) {
        return Some(format!("to leave out a field, use the verb drop: drop {}", shell_word(&quoted(name))));
    }
    if let Some((name, chain)) = text.split_once('|').filter(|(name, _)| first(name, ',')) {
        return Some(format!("chain verbs with `then`, outside the quotes: {} then {}", name.trim(), chain.trim()));
    }
    if let Some((new, old)) = text.split_once('=').filter(|(_, old)| is_field(old)) {
        return Some(format!("to rename a field, use the verb rename: rename {}", shell_word(&format!("{old}={new}"))));
    }
    if text.split(';').count() > 1 && text.split(';').all(is_field) {
        let names: Vec<&str> = text.split(';').map(str::trim).collect();
        return Some(format!("separate fields with commas: {}", names.join(",")));
    }
    if text.contains('/') && first(text, '/') {
        return Some(format!("separate the names of a path with dots: {}", text.replace('/', ".")));
    }
    if text.contains('[') && first(text, '[') {
        return Some(format!("an index works in expressions: map {}", shell_word(&format!("item = {text}"))));
    }
    if text.ends_with(')') && text.contains('(') {
        return Some(format!("compute it first: map {} then ...", shell_word(&format!("x = {text}"))));
    }
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b"-:".contains(&b));
    is_number.then(|| match numbered(text, fields) {
        Some(names) => format!("fields are selected by name, not by number: select {names}"),
        None => "fields are selected by name, not by number".to_owned(),
    })
}

/// The names of the fields at positions such as 1,3, counted from 1; `None` if there is no such field.
fn numbered(text: &str, fields: &[Field]) -> Option<String> {
    let name = |number: &str| Some(quoted(&fields.get(number.parse::<usize>().ok()?.checked_sub(1)?)?.name));
    let names: Vec<String> = text.split(',').map(name).collect::<Option<_>>()?;
    Some(shell_word(&names.join(",")))
}
