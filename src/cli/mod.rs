//! The command line: words to a chain of verbs, and the texts that explain it.
//!
//! ```text
//! tatter [GLOBAL OPTIONS] VERB [OPTIONS] [ARGS] [then VERB ...]... [FILE]... [GLOBAL OPTIONS] [-- FILE...]
//! ```
//! [`cut`] finds the verbs' words without knowing the verbs; each verb's own clap command then reads
//! its words, the last verb's together with the global options and the FILEs. Only the commands of
//! the verbs at hand are built.

mod alone;
mod completions;
mod cut;
mod help;
mod man;
mod reword;
mod synonyms;

pub use alone::{ALONE, Alone};
pub use help::{MARKS, short_usage, verb_table};
pub use man::pages;

use crate::error::{Error, Result, nearest};
use crate::options::Options;
use crate::run::Invocation;
use crate::verbs::{self, Verdict};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use cut::{Words, cut};
use reword::{Place, reword};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use synonyms::quoted;

/// What the words of a command line ask for.
pub enum Request {
    /// Run a chain of verbs.
    Chain(Box<Invocation>),
    /// Run a command that is no verb of a chain.
    Alone(Box<dyn FnOnce(&mut dyn Write) -> Result<Verdict>>),
    /// Print a text on standard output.
    Text(String),
}

/// Reads the words after the program's name.
///
/// # Errors
/// Usage errors only.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request> {
    let words = words
        .into_iter()
        .map(|w| {
            w.into_string().map_err(|w| Error::usage(format!("`{}` is no UTF-8; rename it, or give it on standard input", w.display())))
        })
        .collect::<Result<Vec<String>>>()?;
    if words.is_empty() {
        return Err(Error::usage("no verb is given").help(help::short_usage()));
    }
    let words = cut(words)?;
    for word in &words.before {
        match word.as_str() {
            "-h" => return Ok(Request::Text(help::short())),
            "--help" => return Ok(Request::Text(help::long())),
            "-V" | "--version" => return Ok(Request::Text(format!("tatter {}\n", env!("CARGO_PKG_VERSION")))),
            _ => {}
        }
    }
    let Some(first) = words.segments[0].first() else {
        return Err(no_verb(&words));
    };
    if let Some(alone) = alone::find(first) {
        return stand_alone(alone, words);
    }
    let mut parsed = Vec::with_capacity(words.segments.len());
    for (i, segment) in words.segments.iter().enumerate() {
        let (verb, arguments) = verb_of(segment, i, &words)?;
        if arguments.iter().any(|w| w == "-h" || w == "--help") {
            return Ok(Request::Text(help::of_verb(verb)));
        }
        let place = Place { name: verb.name, last: i + 1 == words.segments.len() };
        let command = if place.last { whole(verb.command()) } else { bare(verb.command()) };
        let arguments: Vec<&String> = if place.last { words.before.iter().chain(arguments).collect() } else { arguments.iter().collect() };
        let matches = matches_of(verb, &command, &arguments).map_err(|e| reword(&e, &command, place, &arguments))?;
        parsed.push(verb.parse(&matches).map_err(|e| reword(&e, &command, place, &arguments))?);
        if place.last {
            let (files, options) = files_and_options(&matches, &words.files)?;
            forgotten_then(&files, place.name)?;
            forgotten_comma(&files, verb, &matches)?;
            if let (true, Some(format)) = (parsed.iter().any(|v| v.is_report() && v.needs_records()), &options.to) {
                let error = Error::usage(format!("`{}` prints text, not records: --to {format} has no effect", place.name));
                return Err(error.help("leave out --to"));
            }
            return Ok(Request::Chain(Box::new(Invocation { verbs: parsed, files, options })));
        }
    }
    Err(Error::usage("no verb"))
}

/// Parses the words of a verb. An optional argument that is left out becomes an empty word, so that FILEs are not taken for it.
fn matches_of(verb: &verbs::Entry, command: &Command, words: &[&String]) -> Result<clap::ArgMatches, clap::Error> {
    let result = command.clone().try_get_matches_from(words);
    match &result {
        Err(error) if verb.optional_argument && is_left_out(error) => {
            let empty = String::new();
            command.clone().try_get_matches_from(std::iter::once(&empty).chain(words.iter().copied()))
        }
        _ => result,
    }
}

/// Whether the error says that the argument is missing or is something else, such as a FILE.
fn is_left_out(error: &clap::Error) -> bool {
    let is_argument = |arg: &str| arg.starts_with('<');
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    };
    let value = text(ContextKind::InvalidValue);
    let is_file = || !value.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) || value == "-" || Path::new(value).exists();
    match error.kind() {
        ErrorKind::MissingRequiredArgument => is_argument(text(ContextKind::InvalidArg)),
        ErrorKind::ValueValidation => is_argument(text(ContextKind::InvalidArg)) && is_file(),
        _ => false,
    }
}

/// Commands that are no verbs take global options as a last verb does.
fn stand_alone(alone: &'static Alone, words: Words) -> Result<Request> {
    if words.segments.len() > 1 {
        return Err(Error::usage(format!("`{}` stands alone: it is no verb of a chain", alone.name)));
    }
    if words.segments[0].iter().any(|w| w == "-h" || w == "--help") {
        return Ok(Request::Text(help::of_alone(alone)));
    }
    let place = Place { name: alone.name, last: true };
    let command = settings(Options::augment_args(alone.command()));
    let arguments: Vec<&String> = words.before.iter().chain(&words.segments[0][1..]).chain(&words.files).collect();
    let matches = command.clone().try_get_matches_from(&arguments).map_err(|e| reword(&e, &command, place, &arguments))?;
    let options = Options::from_arg_matches(&matches).map_err(|e| reword(&e, &command, place, &arguments))?;
    Ok(Request::Alone(Box::new(move |out| (alone.run)(&matches, &options, out))))
}

/// The verb that a segment starts with, and its words.
fn verb_of<'a>(segment: &'a [String], index: usize, words: &Words) -> Result<(&'static verbs::Entry, &'a [String])> {
    let Some((name, arguments)) = segment.split_first() else {
        let side = if index == 0 { "in front of the first `then`" } else { "behind `then`" };
        return Err(Error::usage(format!("a verb is missing {side}")).help("write VERB then VERB; a file of that name is given as ./then"));
    };
    verbs::find(name).map(|verb| (verb, arguments)).ok_or_else(|| unknown_verb(name, index, words))
}

/// A verb's command for the middle of a chain: its own words only.
fn bare(command: Command) -> Command {
    settings(command)
}

/// A verb's command for the end of a chain: its own words, the global options and the FILEs.
fn whole(command: Command) -> Command {
    let files = Arg::new("FILE").num_args(0..).action(ArgAction::Append).value_hint(clap::ValueHint::FilePath);
    let globals = Options::augment_args(Command::new("tatter"));
    let is_global = |arg: &Arg| globals.get_arguments().any(|global| global.get_id() == arg.get_id());
    // An option that the verb and the run share, such as --seed, is read by both.
    let is_shared = command.get_arguments().any(is_global);
    let own: Vec<Arg> = command.get_arguments().filter(|arg| !is_global(arg)).cloned().collect();
    let command = if is_shared { Command::new("tatter").args(own) } else { command };
    settings(Options::augment_args(command).arg(files))
}

fn settings(command: Command) -> Command {
    let negative = |arg: Arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg };
    command.no_binary_name(true).disable_help_flag(true).disable_version_flag(true).mut_args(negative)
}

fn files_and_options(matches: &clap::ArgMatches, behind_dashes: &[String]) -> Result<(Vec<String>, Options)> {
    let mut files: Vec<String> = matches.get_many::<String>("FILE").into_iter().flatten().cloned().collect();
    files.extend_from_slice(behind_dashes);
    let options = Options::from_arg_matches(matches).map_err(|e| Error::usage(e.to_string()))?;
    Ok((files, options))
}

/// `tatter head 3 count x.jsonl`: a verb where a file is expected.
fn forgotten_then(files: &[String], last: &str) -> Result<()> {
    match files.iter().find(|f| verbs::find(f).is_some() && !Path::new(f).exists()) {
        Some(verb) => Err(Error::usage(format!("`{verb}` is a verb, but stands where FILEs stand, behind `{last}`"))
            .help(format!("verbs are chained with the word `then`: {last} ... then {verb} ..."))
            .help(format!("a file of that name is given as ./{verb}"))),
        None => Ok(()),
    }
}

/// `tatter select id tokens FILE`: fields that are given as separate words.
fn forgotten_comma(files: &[String], verb: &verbs::Entry, matches: &clap::ArgMatches) -> Result<()> {
    let command = verb.command();
    let takes_list = |arg: &&Arg| arg.get_value_names().is_some_and(|names| names.iter().any(|n| n == "FIELDS" || n.ends_with(",..")));
    let Some(list) = command.get_positionals().find(takes_list) else { return Ok(()) };
    let is_field = |file: &&String| !file.is_empty() && !file.contains(['/', '.', '*', '@', '-']) && !Path::new(file).exists();
    let fields: Vec<&String> = files.iter().take_while(|file| is_field(file)).collect();
    let (Some(first), Some(typed)) = (fields.first(), matches.get_raw(list.get_id().as_str()).and_then(|mut words| words.next())) else {
        return Ok(());
    };
    let all = [typed.to_string_lossy().into_owned()].into_iter().chain(fields.iter().map(|f| (*f).clone())).collect::<Vec<_>>().join(",");
    let rest: Vec<String> = files[fields.len()..].iter().map(|file| quoted(file)).collect();
    let command = format!("tatter {} {} {}", verb.name, quoted(&all), rest.join(" "));
    Err(Error::usage(format!("{first}: there is no such file")).help(format!("separate fields with commas: {}", command.trim_end())))
}

fn unknown_verb(name: &str, index: usize, words: &Words) -> Error {
    if let Some(alone) = alone::find(name) {
        return Error::usage(format!("`{}` stands alone: it is no verb of a chain", alone.name));
    }
    if name.starts_with('-') && name.len() > 1 {
        return Error::usage(format!("`{name}` stands where a verb is expected, behind `then`"))
            .help("options of a verb stand behind its name; global options stand before the first verb or after the last");
    }
    let output = words.segments.iter().flatten().chain(&words.before).any(|w| w.starts_with("-o") || w.starts_with("--output"));
    if index == 0 && (name == "-" || Path::new(name).exists()) {
        let error = Error::usage(format!("`{name}` is a FILE; the verb in front of it is missing"));
        return if output {
            error.help(format!("to write its records in another format: tatter convert {name} -o OUT"))
        } else {
            error.help(format!("to see what is in it: tatter schema {name}"))
        };
    }
    let names = verbs::VERBS.iter().map(|v| v.name).chain(ALONE.iter().map(|a| a.name));
    let error = Error::usage(format!("there is no verb `{name}`"));
    let suggestions = synonyms::suggestions(name, index, words);
    if !suggestions.is_empty() {
        return suggestions.into_iter().fold(error, Error::help);
    }
    match nearest(name, names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if index == 0 && (name.contains('.') || name.contains('/')) => {
            error.help("a file of that name does not exist either; the verb comes first, then FILEs: tatter schema FILE")
        }
        None => error.help("`tatter -h` lists the verbs"),
    }
}

fn no_verb(words: &Words) -> Error {
    if words.segments.len() > 1 {
        return Error::usage("a verb is missing in front of the first `then`").help("a file of that name is given as ./then");
    }
    let file = words.files.first().map_or("FILE", String::as_str);
    Error::usage("no verb is given").help(format!("to see what is in a file: tatter schema {file}")).help("`tatter -h` lists the verbs")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line that a command line fails with.
    fn refused(line: &str) -> String {
        match parse(line.split_whitespace().map(OsString::from)) {
            Ok(_) => format!("no error for {line}"),
            Err(error) => {
                assert_eq!(error.exit_code(), 2);
                error.to_string().lines().next().unwrap_or_default().to_owned()
            }
        }
    }

    #[test]
    fn no_option_of_a_verb_has_a_globals_name() {
        let globals = settings(Options::augment_args(Command::new("tatter")));
        for verb in verbs::VERBS {
            for arg in verb.command().get_arguments() {
                // --seed is read by the run too.
                for global in globals.get_arguments().filter(|global| global.get_id() != "seed") {
                    assert_ne!(arg.get_id(), global.get_id(), "{}", verb.name);
                    assert!(arg.get_long().is_none() || arg.get_long() != global.get_long(), "{}: --{:?}", verb.name, arg.get_long());
                    assert!(arg.get_short().is_none() || arg.get_short() != global.get_short(), "{}: -{:?}", verb.name, arg.get_short());
                }
                assert!(!["help", "version"].contains(&arg.get_long().unwrap_or_default()), "{}", verb.name);
                assert!(!['h', 'V'].contains(&arg.get_short().unwrap_or_default()), "{}", verb.name);
            }
        }
    }

    #[test]
    fn every_verb_has_a_fixed_number_of_arguments() {
        for verb in verbs::VERBS {
            whole(verb.command()).debug_assert();
            let command = verb.command();
            for arg in command.get_positionals() {
                assert!(arg.is_required_set(), "{}: {} may be left out", verb.name, arg.get_id());
                assert!(matches!(arg.get_action(), ArgAction::Set), "{}: {} takes several words", verb.name, arg.get_id());
            }
        }
        for alone in ALONE {
            settings(Options::augment_args(alone.command())).debug_assert();
        }
    }

    #[test]
    fn names_are_told_apart() {
        let names: Vec<_> = verbs::VERBS.iter().map(|v| v.name).chain(ALONE.iter().map(|a| a.name)).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name} twice");
            assert_ne!(*name, "then");
        }
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let table = [
            ("--from jsonl", "no verb is given"),
            ("then", "a verb is missing in front of the first `then`"),
            ("Cargo.toml", "`Cargo.toml` is a FILE; the verb in front of it is missing"),
            ("--frm jsonl", "there is no option `--frm`"),
            ("missing.jsonl", "there is no verb `missing.jsonl`"),
            ("completions bash then man", "`completions` stands alone: it is no verb of a chain"),
            ("--from", "--from needs a value: --from FORMAT"),
        ];
        for (line, expected) in table {
            assert_eq!(refused(line), expected);
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
        /// Whatever is typed, it is parsed or refused with a usage error of one line and its help.
        #[test]
        fn any_words_are_parsed_or_refused(
            words in proptest::collection::vec(proptest::sample::select(vec![
                "head", "take", "uniq", "batch", "select", "then", "--", "-", "-o", "--output=", "-q", "-qo", "-h", "--from", "jsonl", "3", "-1", "all",
                "--schema", "", "x", "--=", "-é", "é", "--max-values", "x=1", "help", "man", "completions", "bash", "--drop-remainder", "=",
            ]), 0..8)
        ) {
            if let Err(error) = parse(words.iter().map(OsString::from)) {
                proptest::prop_assert_eq!(error.exit_code(), 2);
                proptest::prop_assert!(!error.message().contains('\n') && !error.message().is_empty(), "{}", error);
            }
        }
    }
}
