//! The words of another tool's command line: which are files, options and their values, and the key.

use crate::cli::misplaced::is_file_of_a_format;
use crate::cli::patterns::is_search;
use crate::cli::split::{find_option, is_option};
use crate::cli::typed::Typed;
use clap::{Args, Command};
use std::ffi::OsString;
use std::path::Path;

/// The word after an option that names fields, or the first word that is not a file.
pub fn key_of(own: &[String]) -> Option<&String> {
    let is_field = |word: &&String| !is_there(word) && !is_file_of_a_format(word);
    let options = ["-f", "-j", "--on", "-c", "--columns", "--by", "--key", "--subset", "--left-on", "on", "using"];
    let named = options.into_iter().find_map(|option| name_after(own, option).filter(is_field));
    named.or_else(|| own.iter().find(|word| !is_file(word) && !is_option(word) && is_name(word)))
}

/// The name after an option.
pub fn name_after<'a>(own: &'a [String], option: &str) -> Option<&'a String> {
    own.iter().skip_while(|word| *word != option).nth(1).filter(|word| is_name(word))
}

/// Not a number, nor numbers as in `cut -f 1,3-`.
fn is_name(word: &str) -> bool {
    word.contains(char::is_alphanumeric) && word.parse::<f64>().is_err() && !word.chars().all(|c| c.is_ascii_digit() || ",-".contains(c))
}

pub fn is_there(word: &str) -> bool {
    word == "-" || Path::new(word).exists()
}

/// Whether a word is a file, which need not exist. A program in the language of another tool contains dots too, and
/// `meta.lang` is a field.
pub fn is_file(word: &str) -> bool {
    let is_program = word.starts_with(['.', '{', '$']) || word.contains('(');
    let is_path = !is_file_of_a_format(word) && word.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
    is_there(word) || (word.contains(['.', '/']) && !is_program && !is_path)
}

/// Options of other tools whose value is no field, file or number of a suggested command; with the tools, or for all of them.
const IGNORED: &[(&[&str], &[&str])] = &[
    (&[], &["--keep", "--how", "--lp", "--rp", "--suffix", "--suffixes", "--kind", "--axis", "--method", "--strategy", "--validate"]),
    (&[], &["--na-position", "--na_position", "--names-to", "--names_to", "--values-to", "--values_to", "--aggfunc", "--min-periods"]),
    (&["stats1", "merge-fields", "step"], &["-a"]),
];

/// The words without such options and their values.
pub fn without_ignored(name: &str, words: Vec<String>) -> Vec<String> {
    let is_ignored =
        |word: &str| IGNORED.iter().any(|(tools, options)| options.contains(&bare(word)) && (tools.is_empty() || tools.contains(&name)));
    let mut is_value = false;
    let is_kept = |word: &String| {
        let was_value = std::mem::take(&mut is_value);
        let ignored = !was_value && is_ignored(word);
        is_value = ignored && !word.contains('=');
        !was_value && !ignored
    };
    words.into_iter().filter(is_kept).collect()
}

/// The global options that take a value, with their values, and the remaining words.
pub fn global_options(name: &str, words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let globals = Typed::augment_args(Command::new("tatter"));
    let takes_value = |word: &str| find_option(&globals, word).is_some_and(|arg| arg.get_action().takes_values());
    let (mut own, mut others) = (Vec::<String>::new(), Vec::<String>::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        // The other tool's option of this name may take no value: `cut -o -f id`.
        let is_followed = word.contains('=') || words.as_slice().first().is_some_and(|next| !next.starts_with('-') || next == "-");
        // grep prints what matches with -o, before the pattern.
        let is_own = is_search(name) && word == "-o" && others.iter().all(|word| is_option(word));
        if !takes_value(bare(&word)) || !is_followed || is_own {
            others.push(word);
            continue;
        }
        let value = if word.contains('=') { None } else { words.next() };
        own.push(word);
        own.extend(value);
    }
    (own, others)
}

/// An option without its value.
pub fn bare(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

pub fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
