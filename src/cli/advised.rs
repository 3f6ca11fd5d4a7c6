//! Fills the advice for options of other tools with the words of the command line.

use super::habits;
use super::misplaced::{is_field, is_file_of_a_format};
use super::patterns::in_single_quotes;
use super::split::is_option;
use super::synonyms::sort_keys;
use crate::expr::names_used;
use crate::formats::FORMATS;
use crate::printable::shell_word;
use std::borrow::Cow;
use std::path::Path;

/// The advice for an option of another tool. `arg`: the option as clap names it; `word`: as it is written among the `words`.
pub fn of_habit(name: &str, arg: &str, word: &str, words: &[Cow<str>]) -> Option<String> {
    // clap names one letter of `-rn`.
    let is_cluster = |word: &&Cow<str>| arg.len() == 2 && word.len() == 3 && is_option(word) && word.ends_with(&arg[1..]);
    let own = words.iter().find(is_cluster).and_then(|word| habits::of_option(name, word));
    // `-O csv`
    let format = words.iter().skip_while(|other| *other != word).nth(1).filter(|_| ["-O", "-t"].contains(&word) && name != "sort");
    if let Some(format) = format.filter(|format| FORMATS.iter().any(|known| known.name() == &***format)) {
        return Some(format!("did you mean --to {format}?"));
    }
    let advice = own.or_else(|| habits::of_option(name, word.split('=').next().unwrap_or(word)))?;
    if name == "sort" && advice.contains("--by FIELD") {
        return Some(with_keys(advice, words));
    }
    Some(filled_in(advice, words))
}

/// The advice with the keys of a sort, and their directions.
fn with_keys(advice: &str, words: &[Cow<str>]) -> String {
    let meant = words.iter().map(|word| &**word).filter(|word| is_option(word) || (is_field(word) && !Path::new(word).exists()));
    match sort_keys(meant, |name| Some(name.len() > 4 && !name.starts_with('-'))) {
        Some(keys) => advice.replace("FIELD -r", "FIELD").replace("FIELD", &shell_word(&keys)),
        None => advice.to_owned(),
    }
}

/// The advice with the field, the number, the condition and the FILE that the words name.
fn filled_in(advice: &str, words: &[Cow<str>]) -> String {
    let only = |is_meant: &dyn Fn(&str) -> bool| {
        let mut found = words.iter().map(|word| &**word).filter(|word| is_meant(word));
        found.next().filter(|_| found.next().is_none())
    };
    let is_file = |word: &str| Path::new(word).exists();
    let mut advice = advice.to_owned();
    if let Some(field) = only(&|word| is_field(word) && !is_file(word)).filter(|_| !advice.contains("FIELD: ")) {
        advice = advice.replace("FIELDS", field).replace("FIELD", field);
    }
    if let Some(number) = only(&|word| word.parse::<u64>().is_ok() && !is_file(word))
        && let Some(form) = advice.strip_suffix(" N").filter(|form| form.contains("positional"))
    {
        advice = format!("{form} {number}");
    }
    if let Some(condition) =
        only(&|word| !is_option(word) && !is_file(word) && !is_file_of_a_format(word)).filter(|word| names_used(word, false).is_some())
    {
        advice = advice.replace("(CONDITION)", &format!("({})", in_single_quotes(condition)));
    }
    match only(&is_file).filter(|_| advice.contains("FILE | tatter")) {
        Some(file) => advice.replace(" FILE", &format!(" {}", shell_word(file))),
        None => advice,
    }
}
