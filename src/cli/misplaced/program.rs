//! Detects programs of jq as the argument of `map`, `filter` and other verbs that take expressions.

use super::words::{copy, line};
use crate::cli::jq;
use crate::cli::line::shell_words;
use crate::cli::split::Words;
use crate::error::{Error, Result, mismatch};
use crate::expr::names_used;
use crate::verbs::Entry;
use clap::ArgMatches;
use std::ffi::{OsStr, OsString};

/// Detects `filter 'select(.x > 1)'` and `map '{x, n: len(y)}'`: expressions in the syntax of jq, and programs for which other
/// verbs are made. `at`: the position of the verb.
///
/// # Errors
/// There is one, with the intended command.
pub fn in_argument(verb: &Entry, matches: &ArgMatches, words: &Words, at: usize) -> Result<()> {
    let command = verb.command();
    let takes = |id: &str| command.get_positionals().any(|arg| arg.get_id() == id);
    let typed = |id: &str| matches.get_raw(id).and_then(|mut words| words.next()).and_then(OsStr::to_str);
    let (text, assigns) = match (takes("assignments"), takes("condition")) {
        (true, _) => (typed("assignments"), true),
        (_, true) => (typed("condition"), false),
        _ => (None, false),
    };
    let Some(text) = text else { return Ok(()) };
    let chooses = !assigns && text.trim_start().starts_with("select(");
    if !text.contains(['.', '{', '(']) || !chooses && names_used(text, assigns).is_some() {
        return Ok(());
    }
    let own = if assigns { jq::statements(text) } else { jq::expression(text).filter(|meant| meant != text) };
    let chain = match own {
        Some(meant) => vec![vec![verb.name.into(), meant.into()]],
        None if assigns || verb.name == "filter" => match jq::verbs(text) {
            Some(chain) => shell_words(&format!("tatter {chain}"))
                .split(|word| word == "then")
                .map(|own| own.iter().map(OsString::from).collect())
                .collect(),
            None => return Ok(()),
        },
        None => return Ok(()),
    };
    let what = if assigns { "an assignment" } else { "an expression" };
    let error = Error::usage(mismatch(what, "a program for jq").prefixed(verb.name));
    Err(error.help(format!("did you mean: {}", replaced(words, at, text, chain))))
}

/// The command line with the `at`-th verb and its argument replaced by a chain.
fn replaced(words: &Words, at: usize, argument: &str, mut chain: Vec<Vec<OsString>>) -> String {
    let mut meant = copy(words);
    let mut rest = meant.verbs.remove(at).split_off(1);
    if let Some(place) = rest.iter().position(|word| word == argument) {
        rest.remove(place);
    }
    chain.iter_mut().last().into_iter().for_each(|last| last.append(&mut rest));
    meant.verbs.splice(at..at, chain);
    line(&meant)
}
