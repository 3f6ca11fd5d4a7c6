//! Parses the command line into a chain of verbs, a standalone command or a text to print.

use super::brackets::typed;
use super::branches::{InBrackets, ParsedChain, branches_of};
use super::commands::{self, COMMANDS};
use super::help;
use super::jq;
use super::matches::{bare, files_argument, given_files, matches_of, settings, whole};
use super::misplaced;
use super::reword::{Owner, reword};
use super::split::{Words, find_option, split};
use super::sql;
use super::standalone::Standalone;
use super::synonyms::{self, Known};
use super::topics;
use super::typed::Typed;
use super::version;
use crate::error::{Error, Result, mismatch};
use crate::options::Options;
use crate::printable::shell_word;
use crate::run::{Branches, Invocation, is_refused, outline};
use crate::schema::Schema;
use crate::verbs::{self, Parsed, Verdict};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// The action that the command line requests.
pub enum Request {
    /// Run a chain of verbs.
    Chain(Box<Invocation>),
    /// Run a standalone command.
    Standalone(Box<dyn FnOnce(&mut dyn Write) -> Result<Verdict>>),
    /// Print a text on standard output.
    Text(String),
    /// Files without a verb: a preview on a terminal, otherwise an error.
    Look(Box<Invocation>, Error),
}

/// Parses the words after the program name.
///
/// # Errors
/// Usage errors only.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--files-from")) {
        // Without --files-from, -0 is a number.
        words.iter_mut().filter(|word| *word == "-0").for_each(|word| *word = "--null".into());
    }
    if words.is_empty() {
        return Err(Error::usage("no verb given").excerpt(help::short_usage()));
    }
    let program = jq::of_options(&words);
    let mut words = split(words).map_err(|error| match program {
        Some(meant) => Error::usage(error.message()).help(meant),
        None => error,
    })?;
    let is_verbose =
        words.before.iter().any(|w| w == "-v" || w == "--verbose") || words.verbs[0].iter().any(|w| w == "-v" || w == "--verbose");
    let asked = words.verbs[0].first().and_then(|name| name.to_str());
    for word in &words.before {
        match (word.to_str(), asked.and_then(verbs::find), asked.and_then(commands::find)) {
            (Some("-h" | "--help"), Some(verb), _) => return Ok(Request::Text(help::of_verb(verb))),
            (Some("-h" | "--help"), _, Some(command)) => return Ok(Request::Text(help::of_command(command))),
            _ => {}
        }
        match word.to_str() {
            Some("-h") => return Ok(Request::Text(help::short(COMMANDS))),
            Some("--help") => return Ok(Request::Text(help::long(COMMANDS))),
            Some("-V" | "--version") => return Ok(Request::Text(version::text(is_verbose))),
            Some("-Vv" | "-vV") => return Ok(Request::Text(version::text(true))),
            _ => {}
        }
    }
    let Some(first) = words.verbs[0].first() else {
        return Err(no_verb(&words));
    };
    if let Some(command) = first.to_str().and_then(commands::find) {
        return standalone(command, words);
    }
    if words.verbs.len() == 1 && verbs::find(&first.to_string_lossy()).is_none() && Path::new(first).exists() {
        return look(words);
    }
    chain(&mut words).map(|found| match found {
        ParsedChain::Text(text) => Request::Text(text),
        ParsedChain::Chain(invocation, _) => Request::Chain(invocation),
    })
}

/// Whether the words of a verb ask for its help. The `-h` of `sort --by -h` is the field h, in descending order.
fn asks_for_help(verb: &verbs::Entry, arguments: &[OsString]) -> bool {
    let Some(at) = arguments.iter().position(|word| word == "-h" || word == "--help") else { return false };
    let before = at.checked_sub(1).and_then(|before| arguments[before].to_str());
    let is_value = before.is_some_and(|option| {
        let command = verb.command();
        find_option(&command, option).is_some_and(|arg| arg.get_action().takes_values() && arg.is_allow_hyphen_values_set())
    });
    !(is_value && arguments[at] == "-h") || asks_for_help(verb, &arguments[at + 1..])
}

/// The option that verbs share with the run.
const SEED: &str = "seed";

fn has_seed(verb: &verbs::Entry) -> bool {
    verb.command().get_arguments().any(|arg| arg.get_id() == SEED)
}

/// Parses the words of a chain.
fn chain(words: &mut Words) -> Result<ParsedChain> {
    let mut parsed = Vec::with_capacity(words.verbs.len());
    let mut combined = Vec::new();
    let mut branches = Branches::new();
    let chains = std::mem::take(&mut words.chains);
    let words = &*words;
    // A `then` without a verb is reported before the FILEs that make the verb before it look like the last one.
    if let Some(empty) = words.verbs.iter().skip(1).position(Vec::is_empty) {
        verb_of(&[], empty + 1, words)?;
    }
    for (i, own) in words.verbs.iter().enumerate() {
        let (verb, arguments) = verb_of(own, i, words)?;
        if asks_for_help(verb, arguments) {
            return Ok(ParsedChain::Text(help::of_verb(verb)));
        }
        misplaced::inverted(verb, arguments)?;
        if i == 0 {
            branches = match branches_of(verb, &chains, chain)? {
                InBrackets::Branches(branches) => branches,
                InBrackets::Help(text) => return Ok(ParsedChain::Text(text)),
            };
        }
        let owner = Owner { name: verb.name, is_last: i + 1 == words.verbs.len() };
        let command = match (owner.is_last, verb.combines) {
            (true, _) => whole(verb.command()),
            (false, true) => bare(verb.command().arg(files_argument())),
            (false, false) => bare(verb.command()),
        };
        if verb.combines && i > 0 {
            return Err(not_first(verb, &words.verbs[..i]));
        }
        let has_seed = has_seed(verb);
        let arguments: Vec<&OsString> =
            if owner.is_last { options_before(words, arguments, has_seed).chain(arguments).collect() } else { arguments.iter().collect() };
        let matches = matches_of(verb, &command, &arguments).map_err(|e| {
            let error = reword(&e, &command, owner, &arguments);
            if owner.is_last { misplaced::without_option(error, words) } else { misplaced::before_then(error, words, i, verb) }
        })?;
        if owner.is_last && !verb.combines {
            misplaced::file_before_argument(&command, owner.name, &matches, words)?;
        }
        misplaced::in_argument(verb, &matches, words, i)?;
        parsed.push(verb.parse(&matches).map_err(|e| reword(&e, &command, owner, &arguments))?);
        if verb.combines && !owner.is_last {
            combined = given_files(&matches);
        }
        if owner.is_last {
            let (files, options) = inputs_and_options(words, verb, &matches, &parsed, combined)?;
            let given = Typed::augment_args(Command::new("tatter"))
                .get_arguments()
                .map(|arg| arg.get_id().to_string())
                .filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine) && !(has_seed && id == SEED))
                .collect();
            return Ok(ParsedChain::Chain(Box::new(Invocation { verbs: parsed, files, branches, options }), given));
        }
    }
    Err(Error::usage("no verb"))
}

/// The error of a verb that combines inputs, after other verbs.
fn not_first(verb: &verbs::Entry, before: &[Vec<OsString>]) -> Error {
    let error = Error::usage(format!("`{0}` reads its own inputs: it must be the first verb of a chain", verb.name));
    let before: Vec<String> = before.iter().map(|own| typed(own)).collect();
    error.help(format!("put the preceding verbs in the brackets of an input: {} [ {} FILE ] FILE", verb.name, before.join(" then ")))
}

/// The inputs and the global options of a chain, which are checked. `verb`: the last one; `matches`: its words; `combined`:
/// the inputs that the first verb combines, if it is not the last one.
fn inputs_and_options(
    words: &Words,
    verb: &verbs::Entry,
    matches: &ArgMatches,
    parsed: &[Box<dyn Parsed>],
    mut combined: Vec<OsString>,
) -> Result<(Vec<OsString>, Options)> {
    let (mut files, mut options) = files_and_options(matches, &words.files)?;
    // The seed of a verb is not that of the run, so adding a verb after it changes nothing else.
    if has_seed(verb) {
        options.seed = global_seed(&words.before);
    }
    forgotten_then(&files, verb.name)?;
    if let (Some(first), Some(file)) = (combined.first(), files.first()) {
        let name = words.verbs[0].first().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let error = Error::usage(format!(
            "`{name}` reads the inputs that follow it, such as {}; {} comes after the last verb",
            first.display(),
            file.display()
        ));
        return Err(error.help(format!("list all inputs directly after `{name}`")));
    }
    files.append(&mut combined);
    if !parsed.first().is_some_and(|first| first.combines()) {
        if let Some(last) = parsed.last() {
            misplaced::file_as_argument(&files, verb, last.as_ref(), matches)?;
        }
        misplaced::forgotten_comma(&files, verb, matches, words)?;
        misplaced::in_files(&files, verb, parsed.last().is_some_and(|last| last.is_report()), &options, words, &outlined)?;
    } else if let Some(name) = words.verbs[0].first().and_then(|name| name.to_str()) {
        misplaced::in_inputs(&files, name)?;
    }
    if let (true, Some(format)) = (parsed.iter().any(|v| v.is_report() && v.needs_records()), &options.to) {
        let error = Error::usage(format!("`{}` prints text, not records: --to {format} has no effect", verb.name));
        let has_forms = find_option(&verb.command(), "--as").is_some_and(|arg| !arg.get_possible_values().is_empty());
        return Err(error.help(if has_forms { "choose its format with --as" } else { "omit --to" }));
    }
    Ok((files, options))
}

/// Standalone commands accept global options, like the last verb of a chain.
fn standalone(standalone: &'static Standalone, words: Words) -> Result<Request> {
    if standalone.name == "help" && words.verbs.len() == 2 && words.verbs[0].len() == 1 && words.verbs[1].is_empty() {
        // The word `then` itself.
        return Ok(Request::Text(topics::of_word("usage", COMMANDS)?));
    }
    if words.verbs.len() > 1 {
        return Err(Error::usage(format!("`{}` is not a verb, so it cannot be part of a chain", standalone.name)));
    }
    if let ("help", [_, option]) = (standalone.name, words.verbs[0].as_slice())
        && let Some(option) = option.to_str().filter(|option| option.starts_with('-') && !["--help", "-h"].contains(option))
    {
        return Ok(Request::Text(topics::of_word(option, COMMANDS)?));
    }
    if words.verbs[0].iter().any(|w| w == "-h" || w == "--help") {
        return Ok(Request::Text(help::of_command(standalone)));
    }
    if let Some((chain, inner)) = words.chains.first() {
        let error = Error::usage(format!("{}: `{}` takes no chains in brackets", chain.display(), standalone.name));
        let is_verb = inner.first().and_then(|first| verbs::find(first.to_str()?)).is_some();
        let chain = format!("{}{}", if is_verb { "" } else { "convert " }, typed(inner));
        return Err(error
            .help(format!("write its records to a file first: tatter {chain} -o OUT"))
            .help("for a file named `[`, write ./["));
    }
    let owner = Owner { name: standalone.name, is_last: true };
    let command = settings(Typed::augment_args(standalone.command()));
    let arguments: Vec<&OsString> = words.before.iter().chain(&words.verbs[0][1..]).chain(&words.files).collect();
    let matches = command.clone().try_get_matches_from(&arguments).map_err(|e| reword(&e, &command, owner, &arguments))?;
    let options = Typed::from_arg_matches(&matches).map_err(|e| reword(&e, &command, owner, &arguments))?.resolve()?;
    if options.files_from.is_some() {
        return Err(Error::usage(format!("`{}` takes no --files-from", standalone.name)));
    }
    if let (Some(output), false) = (&options.output, standalone.takes_output) {
        let error = Error::usage(format!("`{}` prints to standard output and takes no -o", standalone.name));
        return Err(error.help(format!("redirect its output: > {}", shell_word(&output.to_string_lossy()))));
    }
    Ok(Request::Standalone(Box::new(move |out| (standalone.run)(&matches, &options, out))))
}

/// FILEs and global options without a verb.
fn look(words: Words) -> Result<Request> {
    let name = words.verbs[0].first().map_or_else(String::new, |first| first.to_string_lossy().into_owned());
    let error = unknown_verb(&name, 0, &words);
    let command = whole(Command::new("tatter"));
    let Ok(matches) = command.try_get_matches_from(words.before.iter().chain(&words.verbs[0])) else { return Err(error) };
    let (files, options) = files_and_options(&matches, &words.files)?;
    if options.output.is_some() || options.to.is_some() {
        return Err(error);
    }
    Ok(Request::Look(Box::new(Invocation { verbs: Vec::new(), files, branches: Branches::new(), options }), error))
}

/// The verb named by the first of these words, and its arguments.
fn verb_of<'a>(words_of_verb: &'a [OsString], index: usize, words: &Words) -> Result<(&'static verbs::Entry, &'a [OsString])> {
    let Some((name, arguments)) = words_of_verb.split_first() else {
        let side = if index == 0 { "before the first `then`" } else { "after `then`" };
        return Err(Error::usage(format!("expected a verb {side}")).help("write VERB then VERB; for a file of that name, write ./then"));
    };
    let name = name.to_string_lossy();
    verbs::find(&name).map(|verb| (verb, arguments)).ok_or_else(|| unknown_verb(&name, index, words))
}

/// The global options before the first verb; without --seed if the last verb is given its own.
fn options_before<'a>(words: &'a Words, arguments: &[OsString], has_seed: bool) -> impl Iterator<Item = &'a OsString> {
    let is_seed = |word: &OsString| word.to_str().is_some_and(|word| word == "--seed" || word.starts_with("--seed="));
    let is_own = has_seed && arguments.iter().any(is_seed);
    let mut is_value = false;
    words.before.iter().filter(move |word| {
        let left_out = is_own && (std::mem::take(&mut is_value) || is_seed(word));
        is_value = left_out && *word == "--seed";
        !left_out
    })
}

/// The seed of the run, of these global options before the first verb.
fn global_seed(before: &[OsString]) -> u64 {
    let command = settings(Typed::augment_args(Command::new("tatter"))).ignore_errors(true);
    let seed = command.try_get_matches_from(before).ok().and_then(|matches| matches.get_one::<u64>(SEED).copied());
    seed.unwrap_or_default()
}

fn files_and_options(matches: &clap::ArgMatches, after_dashes: &[OsString]) -> Result<(Vec<OsString>, Options)> {
    let mut files = given_files(matches);
    files.extend_from_slice(after_dashes);
    let options = Typed::from_arg_matches(matches).map_err(|e| Error::usage(e.to_string()))?.resolve()?;
    Ok((files, options))
}

/// Detects `tatter head 3 count x.jsonl`, where a verb is given instead of a file.
fn forgotten_then(files: &[OsString], last: &str) -> Result<()> {
    if let Some(word) = files.iter().filter_map(|f| f.to_str()).find(|f| f.eq_ignore_ascii_case("then") && !Path::new(f).exists()) {
        return Err(Error::usage(format!("`{word}` does not chain verbs")).help("write `then` in lowercase"));
    }
    match files.iter().filter_map(|f| f.to_str()).find(|f| verbs::find(f).is_some() && !Path::new(f).exists()) {
        Some(verb) => Err(Error::usage(mismatch(format_args!("a FILE after `{last}`"), format_args!("the verb `{verb}`")))
            .help(format!("chain verbs with `then`: {last} ... then {verb} ..."))
            .help(format!("for a file of that name, write ./{verb}"))),
        None => Ok(()),
    }
}

/// The schema that reaches the last verb of a command line, if it is found in time.
pub fn outlined(words: Vec<OsString>) -> Option<Schema> {
    match parse(words) {
        Ok(Request::Chain(invocation)) => outline(*invocation),
        _ => None,
    }
}

fn unknown_verb(name: &str, index: usize, words: &Words) -> Error {
    if let Some(command) = commands::find(name) {
        return Error::usage(format!("`{}` is not a verb, so it cannot be part of a chain", command.name));
    }
    if name.starts_with('-') && name.len() > 1 {
        return Error::usage(mismatch("a verb after `then`", format_args!("`{name}`")))
            .help("options of a verb follow its name; global options come before the first verb or after the last");
    }
    if index > 0 && Path::new(name).is_file() {
        let error = Error::usage(mismatch("a verb after `then`", format_args!("the file `{name}`")));
        return error.help("FILEs follow the last verb, without `then`");
    }
    let output = words.verbs.iter().flatten().chain(&words.before).any(|w| {
        let word = w.to_string_lossy();
        word.starts_with("-o") || word.starts_with("--output")
    });
    if let [.., option, value] = words.before.as_slice()
        && let (Some(option), Some(value)) = (option.to_str(), value.to_str())
        && index == 0
        && verbs::find(value).is_some()
        && option.starts_with('-')
    {
        let rest = typed(&words.verbs[0]);
        return Error::usage(format!("{option} needs a value, found the verb `{value}`"))
            .help(format!("put the value before the verb: tatter {option} VALUE {value} {rest}"));
    }
    // The name itself, which can be any bytes.
    let word = words.verbs.get(index).and_then(|verb| verb.first());
    if index == 0 && (name == "-" || word.is_some_and(|word| Path::new(word).exists())) {
        if let (".", Some(command)) = (name, foreign_program(name, index, words).filter(|_| words.verbs[0].len() > 1)) {
            return Error::usage("unknown verb `.`").help(command);
        }
        let file = word.map_or_else(|| shell_word(name), |word| typed(std::slice::from_ref(word)));
        let error = Error::usage(mismatch("a verb", format_args!("the file `{name}`")));
        if let Some(command) = misplaced::verb_after_file(words) {
            return error.help(format!("FILEs follow the verbs: {command}"));
        }
        return if output {
            error.help(format!("to write its records in another format: tatter convert {file} -o OUT"))
        } else {
            error.help(format!("to see its fields: tatter schema {file}"))
        };
    }
    let names = verbs::VERBS.iter().map(|v| v.name).chain(COMMANDS.iter().map(|c| c.name));
    let error = Error::usage(format!("unknown verb `{name}`"));
    if let Some(command) = foreign_program(name, index, words) {
        return error.help(command);
    }
    if let Some(advice) = super::habits::of_verb(name) {
        return error.help(advice);
    }
    let known = Known {
        accepts: &|words| parse(words).is_ok_and(|request| !matches!(request, Request::Look(..))),
        refuses: &|words| match parse(words) {
            Ok(Request::Chain(invocation)) => is_refused(*invocation),
            _ => false,
        },
        outline: &outlined,
    };
    let suggestions = synonyms::suggestions(name, index, words, &known);
    if !suggestions.is_empty() {
        return suggestions.iter().enumerate().fold(error, |error, (i, command)| error.help(suggested(i == 0, command)));
    }
    if index == 0 && name == "tatter" {
        return error.help("the name of the program is given twice");
    }
    if index == 0 && name.split_once(' ').is_some_and(|(first, _)| verbs::find(first).is_some()) {
        let rest: String = words.verbs[0][1..].iter().map(|word| format!(" {}", typed(std::slice::from_ref(word)))).collect();
        return error.help(format!("quote each argument separately, not all of them together: tatter {name}{rest}"));
    }
    if index == 0 && jq::is_program(name) && !misplaced::is_file_of_a_format(name) {
        return error
            .help("this looks like a program for jq; write verbs: filter CONDITION, select FIELDS, map 'NAME = EXPR'")
            .help("`tatter -h` lists the verbs");
    }
    match help::near(&name.to_lowercase(), names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if index == 0 && (name.contains('.') || name.contains('/')) => {
            error.help("no file has that name either; the verb comes first, then FILEs: tatter schema FILE")
        }
        None => error.help("`tatter -h` lists the verbs"),
    }
}

/// The line that suggests a command.
fn suggested(is_first: bool, command: &str) -> String {
    if !synonyms::is_command(command) {
        return command.to_owned();
    }
    match (is_first, command.contains("duckdb ")) {
        (true, false) => format!("did you mean: {command}"),
        (false, false) => format!("or: {command}"),
        (true, true) => format!("DuckDB can do it: {command}"),
        (false, true) => format!("or, with DuckDB: {command}"),
    }
}

/// The command for an SQL query or a jq path that is given where a verb is expected.
fn foreign_program(name: &str, index: usize, words: &Words) -> Option<String> {
    if index > 0 || words.verbs.len() > 1 {
        return None;
    }
    let rest = words.verbs[0].get(1..)?;
    let is_sql = ["sql", "query", "csvsql"].contains(&name);
    let query = if is_sql { rest.iter().filter_map(|word| word.to_str()).find(|word| sql::is_query(word))? } else { name };
    let has_nulls = |file: &str, field: &str| {
        let schema = outlined(["schema", "--", file].map(OsString::from).to_vec());
        schema.is_some_and(|schema| schema.index_of(field).is_some_and(|at| schema.fields[at].ty.optional))
    };
    let file_of = |table: &str| file_of_table(table, rest, &words.files);
    let meant = sql::equivalent(query, file_of, has_nulls).map(|command| suggested(true, &command));
    if is_sql {
        return meant;
    }
    let is_jq = ["jq", "yq"].contains(&name);
    let program = if is_jq { rest.iter().find(|word| !word.to_string_lossy().starts_with('-'))?.to_str()? } else { name };
    let follows = rest.iter().position(|word| word == program).filter(|_| is_jq).map_or(0, |at| at + 1);
    meant.or_else(|| {
        let command = jq::equivalent(program, &typed(&rest[follows..])).filter(|_| is_jq || jq::is_program(program))?;
        Some(match jq::field_path(program) {
            Some(_) => format!("to print a field: {command}"),
            None => suggested(true, &command),
        })
    })
}

/// The FILE that a query names as a table: itself, or the one given besides with that name or no other.
fn file_of_table(table: &str, rest: &[OsString], files: &[OsString]) -> Option<String> {
    if Path::new(table).is_file() {
        return Some(table.to_owned());
    }
    let given: Vec<&str> = rest.iter().chain(files).filter_map(|word| word.to_str()).filter(|word| Path::new(word).is_file()).collect();
    let has_stem = |file: &&&str| Path::new(file).file_name().and_then(|name| name.to_str()?.split('.').next()) == Some(table);
    let only = || given.first().filter(|_| given.len() == 1 && !table.contains(['.', '/']));
    given.iter().find(has_stem).or_else(only).map(|file| (*file).to_owned())
}

fn no_verb(words: &Words) -> Error {
    if words.verbs.len() > 1 {
        return Error::usage("expected a verb before the first `then`").help("for a file of that name, write ./then");
    }
    let file = words.files.first().map_or_else(|| "FILE".to_owned(), |file| file.display().to_string());
    Error::usage("no verb given").help(format!("to see the fields of a file: tatter schema {file}")).help("`tatter -h` lists the verbs")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first line of the error for a command line.
    fn refused(line: &str) -> String {
        match parse(line.split_whitespace().map(OsString::from)) {
            Ok(Request::Look(_, error)) => error.to_string().lines().next().unwrap_or_default().to_owned(),
            Ok(_) => format!("no error for {line}"),
            Err(error) => {
                assert_eq!(error.exit_code(), 2);
                error.to_string().lines().next().unwrap_or_default().to_owned()
            }
        }
    }

    #[test]
    fn no_option_of_a_verb_has_a_globals_name() {
        let globals = settings(Typed::augment_args(Command::new("tatter")));
        for verb in verbs::VERBS {
            for arg in verb.command().get_arguments() {
                // The run reads --seed too.
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
                assert!(matches!(arg.get_action(), clap::ArgAction::Set), "{}: {} takes several words", verb.name, arg.get_id());
            }
        }
        for command in COMMANDS {
            settings(Typed::augment_args(command.command())).debug_assert();
        }
    }

    #[test]
    fn names_are_told_apart() {
        let names: Vec<_> = verbs::VERBS.iter().map(|v| v.name).chain(COMMANDS.iter().map(|c| c.name)).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name} twice");
            assert_ne!(*name, "then");
        }
    }

    #[test]
    fn what_is_not_a_chain_is_refused() {
        let table = [
            ("--from jsonl", "no verb given"),
            ("then", "expected a verb before the first `then`"),
            ("Cargo.toml", "expected a verb, found the file `Cargo.toml`"),
            ("--frm jsonl", "unknown option `--frm`"),
            ("missing.jsonl", "unknown verb `missing.jsonl`"),
            ("completions bash then man", "`completions` is not a verb, so it cannot be part of a chain"),
            ("--from", "--from needs a value: --from FORMAT"),
        ];
        for (line, expected) in table {
            assert_eq!(refused(line), expected);
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]
        /// Any words either parse or fail with a one-line usage error and a hint.
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
