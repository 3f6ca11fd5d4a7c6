//! Parses the chains in brackets of individual inputs: `mix a.jsonl [ filter 'x > 0' b.jsonl ]`.

use super::brackets::{Chains, typed};
use super::help;
use super::split::{Words, split};
use super::typed::Typed;
use crate::error::{Error, Result, mismatch};
use crate::printable::all_of;
use crate::run::reading::is_of_an_input;
use crate::run::{Branch, Branches, Invocation};
use crate::verbs;
use clap::{Arg, Args, Command};
use std::ffi::OsString;
use std::path::Path;

/// The result of parsing the words of a chain.
pub enum ParsedChain {
    /// A request for help.
    Text(String),
    /// A chain, and the names of the global options that were given.
    Chain(Box<Invocation>, Vec<String>),
}

/// The result of parsing all chains in brackets.
pub enum InBrackets {
    /// A request for help in one of the chains.
    Help(String),
    /// All chains.
    Branches(Branches),
}

/// Parses the words of a chain.
type Read = fn(&mut Words) -> Result<ParsedChain>;

/// Parses the chains in brackets, which are valid only for a verb that combines inputs.
///
/// # Errors
/// Usage errors only.
pub fn branches_of(verb: &verbs::Entry, chains: &Chains, read: Read) -> Result<InBrackets> {
    if let (Some((chain, _)), false) = (chains.first(), verb.combines) {
        let error =
            Error::usage(format!("{}: `{}` reads one stream, not several inputs with their own chains", chain.display(), verb.name));
        let names: Vec<&str> = verbs::VERBS.iter().filter(|verb| verb.combines).map(|verb| verb.name).collect();
        return Err(error
            .help(format!("only inputs of {} can have their own chains, in brackets", all_of(&names)))
            .help("for a file named `[`, write ./["));
    }
    let mut branches = Branches::new();
    for (name, words) in chains {
        let found = branch(verb, words.clone(), read).map_err(|e| e.help(format!("in {}", name.display())))?;
        match found {
            Ok(branch) => branches.insert(name.clone(), branch),
            Err(text) => return Ok(InBrackets::Help(text)),
        };
    }
    Ok(InBrackets::Branches(branches))
}

/// Parses the chain of an input, or the help request in it: a command line without run or output options. Without a
/// verb, records are passed on unchanged.
fn branch(verb: &verbs::Entry, words: Vec<OsString>, read: Read) -> Result<std::result::Result<Branch, String>> {
    let mut words = split(words)?;
    if words.before.iter().any(|word| word == "-h" || word == "--help") {
        return Ok(Err(help::of_verb(words.verbs[0].first().and_then(|name| verbs::find(name.to_str()?)).unwrap_or(verb))));
    }
    let first = words.verbs[0].first().map(|first| first.to_string_lossy().into_owned());
    match first {
        None if words.verbs.len() == 1 && (!words.files.is_empty() || !words.before.is_empty()) => words.verbs[0] = vec!["convert".into()],
        None if words.verbs.len() == 1 => {
            return Err(Error::usage("the brackets are empty").help(format!("{} A [ filter 'x > 0' B ]", verb.name)));
        }
        // Files, or a misspelled verb.
        Some(first)
            if verbs::find(&first).is_none() && (first.contains(['.', '/', '*', '@']) || Path::new(&first).exists() || first == "-") =>
        {
            if words.verbs.len() > 1 {
                let error = Error::usage(mismatch("a verb", format_args!("the file `{first}`")));
                let verbs: Vec<String> = words.verbs[1..].iter().map(|own| typed(own)).collect();
                return Err(error.help(format!("FILEs follow the verbs: [ {} {} ]", verbs.join(" then "), typed(&words.verbs[0]))));
            }
            words.verbs[0].insert(0, "convert".into());
        }
        _ => {}
    }
    let (invocation, given) = match read(&mut words)? {
        ParsedChain::Chain(invocation, given) => (invocation, given),
        ParsedChain::Text(text) => return Ok(Err(text)),
    };
    let Invocation { verbs, files, branches, options } = *invocation;
    if let Some(other) = given.iter().find(|option| !is_of_an_input(option)) {
        let globals = Typed::augment_args(Command::new("tatter"));
        let arg = globals.get_arguments().find(|arg| arg.get_id() == other.as_str());
        let name = arg.and_then(Arg::get_long).map_or_else(|| other.clone(), |long| format!("--{long}"));
        return Err(Error::usage(format!("{name} applies to the whole run, not to one input")).help("put it outside the brackets"));
    }
    Ok(Ok(Branch { verbs: verbs.into(), files, branches, options, given }))
}
