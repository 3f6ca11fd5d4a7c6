//! Rewords clap errors in the form of all other errors: one message and a hint.

use super::advised::of_habit;
use super::misplaced::{is_field, is_file_of_a_format};
use super::split::{find_option, has_option};
use super::typed::Typed;
use crate::error::{Error, Message, Reason, mismatch, nearest};
use crate::numerals::written_out;
use crate::printable::{alternatives, shell_word};
use crate::verbs;
use crate::verbs::combine::no_files_from;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command};
use std::any::TypeId;
use std::borrow::Cow;
use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::Path;

/// The verb or command whose words were parsed by clap.
#[derive(Clone, Copy)]
pub struct Owner {
    pub name: &'static str,
    /// Whether it is the last verb, which can be followed by FILEs and global options.
    pub is_last: bool,
}

/// Converts the error to an `Error`. `words` are those that clap parsed.
pub fn reword(error: &clap::Error, command: &Command, owner: Owner, words: &[&OsString]) -> Error {
    let name = owner.name;
    let arg = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let argument = bare(&arg);
    let value = text(error, ContextKind::InvalidValue);
    let see = format!("usage: {}", super::help::usage_line(name, command));
    // A global option does not belong to the verb.
    let globals = Typed::augment_args(Command::new("tatter"));
    let whose = if has_option(&globals, &argument) { String::new() } else { format!("{name}: ") };
    let wrong = Misuse { error, command, globals: &globals, name, words, argument, whose, see };
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(&arg, command, &globals, owner, words).help(wrong.see),
        ErrorKind::MissingRequiredArgument => wrong.missing(),
        ErrorKind::InvalidValue if value.as_deref() == Some("") || value.is_none() => wrong.without_value(),
        ErrorKind::InvalidValue => wrong.not_listed(&value.unwrap_or_default()),
        ErrorKind::ValueValidation => wrong.invalid_value(&value.unwrap_or_default()),
        ErrorKind::ArgumentConflict => wrong.conflict(),
        ErrorKind::TooManyValues => {
            let Misuse { whose, argument, see, .. } = wrong;
            Error::usage(format!("{whose}{argument} takes no value, found `{}`", value.unwrap_or_default())).help(see)
        }
        ErrorKind::InvalidUtf8 => Error::usage(format!("{name}: an argument is not valid UTF-8")).help(wrong.see),
        ErrorKind::NoEquals => Error::usage(format!("{name}: write {}=VALUE", wrong.argument)).help(wrong.see),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            Error::usage(format!("{name}: {}", line.strip_prefix("error: ").unwrap_or(line))).help(wrong.see)
        }
    }
}

/// A wrong use of an argument that the command has.
struct Misuse<'a> {
    error: &'a clap::Error,
    command: &'a Command,
    globals: &'a Command,
    name: &'static str,
    words: &'a [&'a OsString],
    /// The argument, as the user writes it.
    argument: String,
    /// The start of a message; empty for a global option.
    whose: String,
    /// The hint that shows the usage.
    see: String,
}

impl Misuse<'_> {
    fn missing(self) -> Error {
        let missing: Vec<String> = texts(self.error, ContextKind::InvalidArg).iter().map(|a| bare(a)).collect();
        let what = match &missing[..] {
            [] => "an argument is".to_owned(),
            [one] => format!("{one} is"),
            [most @ .., last] => format!("{} and {last} are", most.join(", ")),
        };
        let meaning = match &missing[..] {
            [option] => self.meaning(option),
            _ => None,
        };
        let error = Error::usage(format!("{}: {what} missing", self.name)).help(self.see);
        let error = meaning.into_iter().fold(error, Error::help);
        match <[String; 1]>::try_from(missing) {
            Ok([option]) => error.because(Reason::MissingOption(option)),
            Err(_) => error,
        }
    }

    /// An option with its value, and what it does.
    fn meaning(&self, option: &str) -> Option<String> {
        let arg = find_option(self.command, option).or_else(|| find_option(self.globals, option))?;
        let value = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
        Some(format!("{option} {value}  {}", arg.get_help()?))
    }

    fn without_value(self) -> Error {
        let error = Error::usage(format!("{}{} needs a value", self.whose, self.argument));
        match self.words.windows(2).find_map(|pair| dashed_output(pair[0], pair[1])) {
            Some(advice) if self.argument == "--output" => error.help(advice),
            _ => {
                let meaning = self.meaning(&self.argument);
                // A global option is not part of the verb's usage.
                let error = if self.whose.is_empty() && meaning.is_some() { error } else { error.help(self.see) };
                meaning.into_iter().fold(error, Error::help)
            }
        }
    }

    /// The value is not one of those that are possible.
    fn not_listed(self, value: &str) -> Error {
        let Misuse { name, words, argument, whose, see, .. } = self;
        let valid = texts(self.error, ContextKind::ValidValue);
        if let ([word], false) = (&valid[..], argument.starts_with('-')) {
            let wrong = Error::usage(mismatch(format_args!("the word `{word}`"), format_args!("`{value}`")).prefixed(name));
            let before = words.iter().take_while(|typed| **typed != value).map(|typed| shell_word(&typed.to_string_lossy()));
            let before = before.collect::<Vec<_>>().join(" ");
            // `lookup id=TABLE`, as in `rename`
            let joined = words.first().and_then(|first| first.to_str()?.split_once('=')).filter(|(_, table)| Path::new(table).is_file());
            let wrong = match joined {
                _ if value.eq_ignore_ascii_case(word) => wrong.help(format!("write `{word}` in lowercase")),
                Some((field, table)) => {
                    let others: Vec<_> = words.iter().skip(1).map(|word| shell_word(&word.to_string_lossy())).collect();
                    let (field, table) = (shell_word(field), shell_word(table));
                    wrong.help(format!("separate the two with `{word}`: tatter {name} {field} {word} {table} {}", others.join(" ")))
                }
                None if Path::new(value).is_file() => {
                    wrong.help(format!("put the word before it: {name} {before} {word} {}", shell_word(value)))
                }
                None => wrong,
            };
            return wrong.help(see);
        }
        let wrong = Error::usage(mismatch(alternatives(&valid), format_args!("`{value}`")).prefixed(format_args!("{whose}{argument}")));
        // `completions sh`
        if name == "completions" && ["sh", "dash", "ksh", "ash"].contains(&value) {
            return wrong.help(format!("{value} has no programmable completion"));
        }
        match nearest(value, valid.iter().map(String::as_str)) {
            Some(near) => wrong.help(format!("did you mean `{near}`?")),
            None => wrong,
        }
    }

    /// The argument's parser rejects the value.
    fn invalid_value(self, value: &str) -> Error {
        let Misuse { name, words, argument, whose, see, command, .. } = self;
        let reason = self.error.source().map(ToString::to_string).unwrap_or_default();
        let option = find_option(command, &argument).or_else(|| find_option(self.globals, &argument));
        let is_positive = option.is_some_and(|option| option.get_value_parser().type_id() == TypeId::of::<NonZeroUsize>());
        // The hints of an `Error` follow its first line.
        let mut lines = reason.lines();
        let reason = expected(lines.next().unwrap_or_default(), value, is_positive);
        let is_count = ["integer", "number of"].iter().any(|word| reason.as_str().contains(word));
        let number = written_out(value).filter(|_| is_count).map(|number| format!("write the number out: {number}"));
        let is_only = option.is_none() && command.get_positionals().filter(|arg| arg.get_id() != "FILE").count() == 1;
        // `batch FILE 2`
        let moved = words.iter().map(|word| word.to_string_lossy()).find(|word| word.parse::<u64>().is_ok());
        let moved = moved.filter(|_| is_only && is_count && Path::new(value).is_file()).map(|number| {
            let others = words.iter().map(|word| word.to_string_lossy()).filter(|word| *word != number);
            let others: Vec<String> = others.map(|word| shell_word(&word)).collect();
            format!("put the number after the verb: tatter {name} {number} {}", others.join(" "))
        });
        // The only argument of a verb needs no name.
        let wrong = Error::usage(match is_only {
            true => reason.prefixed(name),
            false => reason.prefixed(format_args!("{whose}{argument}")),
        });
        let mut files = words.iter().filter(|word| Path::new(word).is_file());
        let file = files.next().filter(|_| files.next().is_none()).map_or("FILE".to_owned(), |file| shell_word(&file.to_string_lossy()));
        // `rename id key`
        let next = words.windows(2).find(|pair| *pair[0] == value).and_then(|pair| pair[1].to_str());
        let next =
            next.filter(|next| argument.contains("=") && !value.contains('=') && !next.starts_with('-') && !Path::new(next).exists());
        if let Some(next) = next {
            return wrong.help(format!("join the two with `=`: {name} {}", shell_word(&format!("{value}={next}"))));
        }
        // `rename 'id as key'`, `shard 0 2`
        if let Some((old, new)) = value.split_once(" as ").filter(|(old, new)| argument.contains('=') && is_field(old) && is_field(new)) {
            return wrong.help(format!("join the two with `=`: {name} {old}={new}"));
        }
        let total = words.windows(2).find(|pair| *pair[0] == value).and_then(|pair| pair[1].to_str()?.parse::<u64>().ok());
        if let Some(total) = total.filter(|_| name == "shard" && value.parse::<u64>().is_ok()) {
            return wrong.help(format!("join the two with `/`: {name} {value}/{total}"));
        }
        let wrong = lines.fold(wrong, |wrong, line| wrong.help(line.strip_prefix("  ").unwrap_or(line).replace("FILE", &file)));
        let wrong = number.into_iter().chain(moved).fold(wrong, Error::help);
        if Path::new(value).exists() { wrong.help(see) } else { wrong }
    }

    fn conflict(self) -> Error {
        let Misuse { words, argument, whose, see, command, .. } = self;
        let prior = texts(self.error, ContextKind::PriorArg).iter().map(|a| bare(a)).collect::<Vec<_>>().join(", ");
        if prior != argument && !prior.is_empty() {
            return Error::usage(format!("{whose}{argument} and {prior} cannot be used together")).help(see);
        }
        let error = Error::usage(format!("{whose}{argument} appears twice"));
        match listed(&argument, command, words) {
            Some(values) => error.help(format!("pass all values at once: {argument} {}", shell_word(&values))),
            None => error,
        }
    }
}

fn unknown(arg: &str, command: &Command, globals: &Command, owner: Owner, words: &[&OsString]) -> Error {
    let name = owner.name;
    if !arg.starts_with('-') || arg == "-" {
        let error = Error::usage(format!("unexpected argument `{arg}` for `{name}`")).because(Reason::UnexpectedArgument(arg.to_owned()));
        let is_name = |word: &str| word.contains(['/', '*']) || is_file_of_a_format(word);
        let is_file = |word: &OsStr| Path::new(word).exists() || word.to_str().is_some_and(is_name);
        let has_file = words.iter().any(|word| is_file(word));
        return if owner.is_last || !has_file { error } else { error.help("FILEs follow the last verb of a chain") };
    }
    // clap names only the first letter of `-abc`, so the word itself is looked up.
    let words: Vec<_> = words.iter().map(|w| w.to_string_lossy()).collect();
    let mut typed = words.iter().map(AsRef::as_ref);
    let is_it = |w: &&str| w.split('=').next() == Some(arg);
    let word = typed.clone().find(is_it).or_else(|| typed.find(|w: &&str| w.starts_with(arg))).unwrap_or(arg);
    if word.contains(' ') {
        if Path::new(word).exists() {
            let error = Error::usage(format!("{name}: `{word}` looks like an option"));
            return error.help(format!("for a file of that name, write {}", shell_word(&format!("./{word}"))));
        }
        return Error::usage(format!("{name}: `{word}` looks like an option")).help("put a space before it, inside the quotes");
    }
    if !owner.is_last && arg == "--files-from" && verbs::find(name).is_some_and(|verb| verb.combines) {
        return no_files_from(name);
    }
    if !owner.is_last && has_option(globals, arg) {
        return Error::usage(format!("{arg} is a global option, not an option of `{name}`"))
            .because(Reason::GlobalOption(arg.to_owned()))
            .help("global options come before the first verb or after the last");
    }
    if let Some(wrong) = as_argument(word, command, owner, &words) {
        return wrong;
    }
    if word.starts_with("-=") {
        let error = Error::usage(format!("`{word}` looks like an option"));
        return error.help(format!("after `--` it is standard input with a share: {name} -- {word}"));
    }
    let error = Error::usage(format!("`{name}` has no option {}", word.split('=').next().unwrap_or(word)));
    if Path::new(word).exists() {
        return error.help(format!("for a file of that name, write ./{word}"));
    }
    let before = words.iter().position(|w| w == word).and_then(|at| words.get(at.checked_sub(1)?));
    if let Some(advice) = before.and_then(|before| dashed_output(before.as_ref(), word)) {
        return error.help(advice);
    }
    let takes_it = |option: &&Cow<str>| {
        let option = option.as_ref();
        let arg = find_option(command, option).or_else(|| find_option(globals, option));
        option.starts_with("--") && !word.starts_with("--") && arg.is_some_and(|arg| arg.get_action().takes_values())
    };
    if let Some(option) = before.filter(takes_it) {
        return error.help(format!("if it is the value of {option}: {}", shell_word(&format!("{option}={word}"))));
    }
    if let Some(form) = form_of(word, command) {
        return error.help(format!("did you mean --as {form}?"));
    }
    if let Some(advice) = of_habit(name, arg, word, &words) {
        return error.help(advice);
    }
    // `select -id`, as in dplyr and mlr
    if let Some(field) = word.strip_prefix('-').filter(|field| name == "select" && field.len() > 1 && !field.starts_with('-')) {
        return error.help(format!("to leave out fields, use the verb drop: drop {}", shell_word(field)));
    }
    with_near_option(error, arg, word, command, (!owner.is_last).then_some(globals))
}

/// The error about an option that the command does not have, with advice: one of a similar name, or the verbs that have it.
/// `globals`: the global options, where they cannot be used.
fn with_near_option(error: Error, arg: &str, word: &str, command: &Command, globals: Option<&Command>) -> Error {
    let mut options: Vec<String> = command.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
    if let Some(globals) = globals {
        options.extend(globals.get_arguments().filter_map(Arg::get_long).map(|long| format!("--{long}")));
    }
    // `--n` for `-n`
    let letter = arg.strip_prefix('-').filter(|letter| letter.starts_with('-') && letter.len() == 2);
    if let Some(letter) = letter.filter(|letter| has_option(command, letter)) {
        return error.help(format!("did you mean {letter}?"));
    }
    let typed = if arg.starts_with("--") { arg.to_owned() } else { format!("-{}", word.split('=').next().unwrap_or(word)) };
    let abbreviated = options.iter().filter(|option| typed.len() > 4 && option.starts_with(&typed)).min_by_key(|option| option.len());
    if let Some(near) = abbreviated.map(String::as_str).or_else(|| nearest(&typed, options.iter().map(String::as_str))) {
        return error.help(format!("did you mean {near}?"));
    }
    // A single letter is too ambiguous.
    let owners: Vec<_> =
        crate::verbs::VERBS.iter().filter(|v| arg.starts_with("--") && has_option(&v.command(), arg)).map(|v| v.name).collect();
    if owners.is_empty() && !arg.starts_with("--") {
        return error.help("`tatter --help` lists the global options");
    }
    if owners.is_empty() || owners.len() > 4 { error } else { error.help(format!("it is an option of `{}`", owners.join("`, `"))) }
}

/// The advice for `-o -x.jsonl`, where the name of the output begins like an option.
fn dashed_output(option: impl AsRef<OsStr>, word: impl AsRef<OsStr>) -> Option<String> {
    let (option, word) = (option.as_ref(), word.as_ref().to_str()?);
    let is_file = word.starts_with('-') && is_file_of_a_format(word);
    (is_file && (option == "-o" || option == "--output"))
        .then(|| format!("for a file of that name, write -o {}", shell_word(&format!("./{word}"))))
}

/// What is wrong with a word such as -1/2 as the argument of the command, if it begins like a negative number.
fn as_argument(word: &str, command: &Command, owner: Owner, words: &[Cow<str>]) -> Option<Error> {
    let is_number = word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !is_number || words.iter().any(|w| w == "--") {
        return None;
    }
    let escaped: Vec<OsString> = ["--", word].map(OsString::from).into();
    let error = command.clone().try_get_matches_from(&escaped).err().filter(|error| error.kind() == ErrorKind::ValueValidation)?;
    Some(reword(&error, command, owner, &escaped.iter().collect::<Vec<_>>()))
}

/// The word that names the form of `--json` for --as, if the command has that form.
fn form_of<'a>(word: &'a str, command: &Command) -> Option<&'a str> {
    let form = word.strip_prefix("--")?;
    let forms = find_option(command, "--as")?.get_possible_values();
    forms.iter().any(|known| known.matches(form, false)).then_some(form)
}

/// All values of a repeated option that takes a list, separated by commas.
fn listed(option: &str, command: &Command, words: &[&OsString]) -> Option<String> {
    let takes_list = |name: &clap::builder::Str| name.ends_with('S') || name.ends_with(",..");
    find_option(command, option)?.get_value_names()?.first().filter(|name| takes_list(name))?;
    let words: Vec<Cow<str>> = words.iter().map(|word| word.to_string_lossy()).collect();
    let after = |(at, word): (usize, &Cow<str>)| match word.strip_prefix(option)? {
        "" => Some(words.get(at + 1)?.clone().into_owned()),
        value => Some(value.strip_prefix('=')?.to_owned()),
    };
    Some(words.iter().enumerate().filter_map(after).collect::<Vec<_>>().join(","))
}

/// Converts the message of a value parser to the form "expected ..., found ...".
fn expected(reason: &str, value: &str, is_positive: bool) -> Message {
    let number = match value.starts_with('-') {
        _ if is_positive => "a positive integer",
        true => "a non-negative integer",
        false => "an integer",
    };
    match reason {
        "invalid digit found in string" | "cannot parse integer from empty string" => mismatch(number, format_args!("`{value}`")),
        "number too large to fit in target type" | "number too small to fit in target type" => {
            format!("the number {value} is out of range").into()
        }
        "invalid float literal" | "cannot parse float from empty string" => mismatch("a number", format_args!("`{value}`")),
        "number would be zero for non-zero type" => mismatch("a positive integer", 0),
        _ if reason.contains("is not in") => mismatch(range(reason), value),
        // clap has made a text of the parser's error.
        _ => match reason.strip_prefix("expected ").map(|parts| (parts, parts.split_once(", found "))) {
            Some((_, Some((expected, found)))) => mismatch(expected, found),
            Some((expected, None)) if !expected.contains("found ") && !expected.contains(&format!("`{value}`")) => {
                mismatch(expected, format_args!("`{value}`"))
            }
            _ => reason.into(),
        },
    }
}

/// Rephrases `0 is not in 1..`.
fn range(reason: &str) -> String {
    let range = reason.rsplit(' ').next().unwrap_or_default();
    match range.split_once("..") {
        Some((low, "")) => at_least(low),
        Some((low, high)) => match high.strip_prefix('=') {
            Some(high) if high.len() < 10 => format!("a number from {low} to {high}"),
            Some(_) => at_least(low),
            None => format!("a number from {low} to less than {high}"),
        },
        None => format!("a number in {range}"),
    }
}

fn at_least(low: &str) -> String {
    if low == "1" { "a positive integer".to_owned() } else { format!("a number of at least {low}") }
}

/// Removes brackets and dots from `--as <FORMAT>`, `--as[=<FORMAT>]` and `<N>`.
fn bare(arg: &str) -> String {
    match arg.split_once([' ', '[']) {
        Some((option, _)) if option.starts_with('-') => option.to_owned(),
        _ => arg.trim_end_matches("...").trim_matches(['<', '>', '[', ']']).to_owned(),
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}
