//! Completion of a command line: `tatter __complete SHELL ...`, which the scripts of the shells call.
//!
//! ```text
//! answer    the completions: verbs, options, values, fields
//! fields    the fields of the file on the command line, inferred from its first bytes
//! print     the output for each shell
//! ```

mod answer;
mod fields;
mod print;

use super::line::Line;
use std::ffi::OsString;

/// The hidden word with which the scripts call the program.
const WORD: &str = "__complete";

/// The completions, if the arguments are a request from a script. Invalid requests complete nothing, because an error
/// message would end up on the command line.
pub fn complete(words: &[OsString]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (word, rest) = words.split_first()?;
    let answer = |(shell, rest): (&String, &[String])| {
        let line = Line::read(shell, rest)?;
        Some(print::printed(shell, &line, answer::answer(&line)))
    };
    (word == WORD).then(|| rest.split_first().and_then(answer).unwrap_or_default())
}
