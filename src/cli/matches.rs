//! The clap command of a verb at its position in a chain, and its parsed arguments.

use super::typed::Typed;
use crate::verbs;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Args, Command};
use std::ffi::OsString;
use std::path::Path;

/// The command of a verb in the middle of a chain: only its own arguments.
pub fn bare(command: Command) -> Command {
    settings(command)
}

/// The command of a verb at the end of a chain: its own arguments, the global options and the FILEs.
pub fn whole(command: Command) -> Command {
    let globals = Typed::augment_args(Command::new("tatter"));
    let is_global = |arg: &Arg| globals.get_arguments().any(|global| global.get_id() == arg.get_id());
    // An option that the verb shares with the run, such as --seed, is read by both.
    let is_shared = command.get_arguments().any(is_global);
    let own: Vec<Arg> = command.get_arguments().filter(|arg| !is_global(arg)).cloned().collect();
    let command = if is_shared { Command::new("tatter").args(own) } else { command };
    settings(Typed::augment_args(command).arg(files_argument()))
}

/// The FILEs after the arguments of a verb.
pub fn files_argument() -> Arg {
    Arg::new("FILE")
        .num_args(0..)
        .action(ArgAction::Append)
        .value_parser(clap::value_parser!(OsString))
        .value_hint(clap::ValueHint::FilePath)
}

/// The FILEs of a command that has [`files_argument`].
pub fn given_files(matches: &clap::ArgMatches) -> Vec<OsString> {
    matches.get_many::<OsString>("FILE").into_iter().flatten().cloned().collect()
}

/// A command whose first word is an argument, without its own options for help and version.
pub fn settings(command: Command) -> Command {
    let own = |arg: Arg| {
        let id = arg.get_id().clone();
        // Flags may be repeated, for example by an alias that contains -q.
        if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg.overrides_with(id) }
    };
    command.no_binary_name(true).disable_help_flag(true).disable_version_flag(true).mut_args(own)
}

/// Parses the words of a verb. If an optional argument is omitted, an empty word is inserted, so that FILEs are not
/// mistaken for it.
pub fn matches_of(verb: &verbs::Entry, command: &Command, words: &[&OsString]) -> Result<clap::ArgMatches, clap::Error> {
    let empty = OsString::new();
    let without = || command.clone().try_get_matches_from(std::iter::once(&empty).chain(words.iter().copied()));
    let is_given = |option: &str| words.iter().any(|word| word.to_string_lossy().split('=').next() == Some(option));
    if verb.argument_unless.is_some_and(|is_left_out| is_left_out(&is_given)) {
        return without();
    }
    match command.clone().try_get_matches_from(words) {
        Err(error) if verb.optional_argument && is_left_out(&error) => without(),
        // If neither the argument nor an option that replaces it is given, the verb's error lists all of them.
        Err(error) if verb.argument_unless.is_some() && error.kind() == ErrorKind::MissingRequiredArgument && is_left_out(&error) => {
            without()
        }
        result => result,
    }
}

/// Whether the error says that the argument is missing or invalid, for example because it is a FILE.
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
        ErrorKind::InvalidUtf8 => true,
        _ => false,
    }
}
