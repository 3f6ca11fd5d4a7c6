//! Detects misplaced words, typed out of habit from other tools, and suggests the right command.

mod missing_file;
mod program;
mod words;

pub use missing_file::in_files;
pub use program::in_argument;
pub use words::{copy, is_field, is_file_of_a_format};

use super::brackets::typed_word;
use super::habits;
use super::matches::{bare, matches_of};
use super::split::{Words, find_option, has_option};
use super::typed::Typed;
use crate::error::{Error, Kind, Reason, Result, mismatch};
use crate::expr::{self, names_used};
use crate::io::is_there;
use crate::options::Options;
use crate::schema::DType;
use crate::verbs::{self, Entry, Parsed};
use clap::{ArgMatches, Args, Command};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use words::{descends, line, moved, without_word};

/// Inputs of a verb that combines several, with a name or a weight in the syntax of another tool.
///
/// # Errors
/// There is one.
pub fn in_inputs(inputs: &[OsString], verb: &str) -> Result<()> {
    let is_file = |name: &str| Path::new(name).exists();
    for name in inputs.iter().filter_map(|input| input.to_str()).filter(|name| !is_file(name)) {
        let error = || Error::new(Kind::Io, "no such file").in_input(name);
        if verb == "zip" && name.split_once('=').is_some_and(|(_, file)| is_file(file)) {
            return Err(error().help("use --as to name the inputs: zip --as a,b A B"));
        }
        if verb == "mix" && name.rsplit_once(':').is_some_and(|(file, weight)| is_file(file) && weight.parse::<f64>().is_ok()) {
            return Err(error().help("append each weight to its input with `=`: mix a.jsonl=0.7 b.jsonl=0.3"));
        }
    }
    Ok(())
}

/// Detects `select data.jsonl`, where a FILE is given instead of an argument. Without FILE, the run would wait for
/// standard input; it does with `-`.
///
/// # Errors
/// A misplaced FILE.
pub fn file_as_argument(files: &[OsString], verb: &Entry, parsed: &dyn Parsed, matches: &ArgMatches) -> Result<()> {
    let command = verb.command();
    let Some(last) = command.get_positionals().filter(|arg| arg.get_id() != "FILE").last().filter(|_| files.is_empty()) else {
        return Ok(());
    };
    // Tables and other files are legitimate arguments of this type.
    if matches.try_get_one::<OsString>(last.get_id().as_str()).is_ok() {
        return Ok(());
    }
    let typed = matches.get_raw(last.get_id().as_str()).and_then(|mut words| words.next()).map(Path::new);
    let Some(file) = typed.filter(|path| path.extension().is_some() && path.is_file()) else { return Ok(()) };
    // `split` lists its alternatives if all of them are missing.
    parsed.parts()?;
    let name = last.get_value_names().and_then(|names| names.first()).map_or("an argument", |name| name.as_str());
    Err(Error::usage(format!("{}: expected {name} before {}", verb.name, file.display()))
        .help(format!("usage: {}", super::help::usage_line(verb.name, &command))))
}

/// Detects `select FILE id`, where a FILE comes before the argument of its verb. `owner`: the verb's name.
///
/// # Errors
/// The arguments are in this order, with the intended command.
pub fn file_before_argument(command: &Command, owner: &str, matches: &ArgMatches, words: &Words) -> Result<()> {
    let Some(first) = command.get_positionals().find(|arg| arg.get_id() != "FILE") else { return Ok(()) };
    let typed = matches.get_raw(first.get_id().as_str()).and_then(|mut words| words.next()).and_then(OsStr::to_str);
    let Some(file) = typed.filter(|typed| is_file_of_a_format(typed) && Path::new(typed).is_file()) else { return Ok(()) };
    let mut others = matches.get_raw("FILE").into_iter().flatten();
    if !others.any(|other| other != "-" && !Path::new(other).exists()) {
        return Ok(());
    }
    let name = first.get_value_names().and_then(|names| names.first()).map_or("its argument", |name| name.as_str());
    let error = Error::usage(mismatch(format_args!("{name} before the FILEs"), file).prefixed(owner));
    Err(error.help(moved(words, file, usize::MAX, &[file])))
}

/// Detects `select id tokens FILE`, with fields as separate words, and `select id from FILE`, with SQL words.
///
/// # Errors
/// A misplaced word, with the intended command.
pub fn forgotten_comma(files: &[OsString], verb: &Entry, matches: &ArgMatches, words: &Words) -> Result<()> {
    let command = verb.command();
    let takes_list =
        |arg: &&clap::Arg| arg.get_value_names().is_some_and(|names| names.iter().any(|n| n == "FIELDS" || n.ends_with(",..")));
    let Some(list) = command.get_positionals().find(takes_list) else { return Ok(()) };
    let typed = matches.get_raw(list.get_id().as_str()).and_then(|mut words| words.next());
    // An option may stand for the list.
    let Some(typed) = typed.filter(|typed| !typed.is_empty()) else { return Ok(()) };
    // `meta.lang` is a field.
    let is_missing = |file: &&str| !file.contains(['/', '*', '@', '-']) && !is_file_of_a_format(file) && !is_there(OsStr::new(file));
    let found: Vec<&str> = files.iter().map_while(|file| file.to_str().filter(|file| !file.is_empty() && is_missing(file))).collect();
    let Some(first) = found.first() else { return Ok(()) };
    let mut verbs = words.verbs.clone();
    let Some(own) = verbs.last_mut() else { return Ok(()) };
    let mut remove = |word: &str| {
        if let Some(at) = own.iter().rposition(|own| own == word) {
            own.remove(at);
        }
    };
    let error = Error::usage(format!("{first}: no such file"));
    // A condition can contain anything.
    let second = files.get(1).and_then(|file| file.to_str()).filter(|file| !Path::new(file).exists());
    let advice = match (first.to_ascii_lowercase().as_str(), second) {
        ("from", _) => {
            remove(first);
            // `select a from FILE where 'x > 1'`
            let at = files.iter().position(|word| word.eq_ignore_ascii_case("where") && !Path::new(word).exists());
            if let Some(condition) = at.and_then(|at| files.get(at + 1)?.to_str()) {
                at.and_then(|at| files[at].to_str()).into_iter().for_each(&mut remove);
                remove(condition);
                let at = verbs.len() - 1;
                let meant = if names_used(condition, false).is_none() { expr::condition(condition) } else { None };
                verbs.insert(at, vec!["filter".into(), meant.map_or_else(|| condition.into(), OsString::from)]);
            }
            "no word is needed before the FILEs: "
        }
        ("where", Some(condition)) => {
            remove(first);
            remove(condition);
            let at = verbs.len() - 1;
            let meant = if names_used(condition, false).is_none() { expr::condition(condition) } else { None };
            verbs.insert(at, vec!["filter".into(), meant.map_or_else(|| condition.into(), OsString::from)]);
            "for conditions, use `filter`: "
        }
        ("as", Some(name)) if verb.name == "select" => {
            remove(first);
            remove(name);
            let rest = own.iter().position(|word| word == typed).map(|at| own.split_off(at + 1)).unwrap_or_default();
            let mut pair = typed.to_owned();
            pair.push("=");
            pair.push(name);
            verbs.push([vec!["rename".into(), pair], rest].concat());
            "to rename fields, use `rename`: "
        }
        _ => {
            let fields: Vec<&str> = found.iter().copied().take_while(|word| !word.contains(' ')).collect();
            if fields.is_empty() {
                return Ok(());
            }
            fields.iter().for_each(|field| remove(field));
            if let Some(old) = own.iter_mut().find(|word| *word == typed) {
                for field in &fields {
                    old.push(",");
                    old.push(field);
                }
            }
            "separate fields with commas: "
        }
    };
    let meant = Words { verbs, ..copy(words) };
    Err(error.help(format!("{advice}{}", line(&meant))))
}

/// Adds the intended command to the error of a verb that is not the last one, the `at`-th: `shuffle 1000 then head 1 FILE`.
pub fn before_then(error: Error, words: &Words, at: usize, verb: &Entry) -> Error {
    if let Some(Reason::GlobalOption(option)) = error.reason() {
        return after_last(option, words, at).into_iter().fold(error.clone(), Error::help);
    }
    let known = without_option(error.clone(), words);
    let Some(Reason::UnexpectedArgument(word)) = error.reason().filter(|_| known.helps().len() == error.helps().len()) else {
        return known;
    };
    let (own, command) = (&words.verbs[at], verb.command());
    let part = Words { verbs: words.verbs[..=at].to_vec(), after: words.verbs[at + 1..].to_vec(), ..copy(words) };
    let from = own.iter().position(|own| *own == word.as_str()).unwrap_or(own.len());
    let is_missing =
        |option: &str| find_option(&command, option).is_some_and(clap::Arg::is_required_set) && !own.iter().any(|own| own == option);
    let size = ["--size", "--length"].into_iter().find(|option| word.parse::<u64>().is_ok() && is_missing(option));
    if let Some(option) = size {
        return Error::usage(error.message()).help(format!("use {option}: {}", moved(&part, word, from, &[option, word])));
    }
    if command.get_arguments().filter_map(clap::Arg::get_long).any(|option| is_missing(&format!("--{option}"))) {
        return error;
    }
    let others = words.verbs[at + 1..].iter().flatten().filter(|word| Path::new(word).is_file());
    let files = own[from..].iter().filter(|word| !word.to_string_lossy().starts_with('-')).chain(others).cloned().collect::<Vec<_>>();
    match missing_file::in_files(&files, verb, false, &Options::default(), &part, &|_| None) {
        Err(found) if !found.helps().is_empty() => found.helps().iter().cloned().fold(Error::usage(error.message()), Error::help),
        _ => error,
    }
}

/// The command line with a global option among the words of the `at`-th verb moved to the end.
fn after_last(option: &str, words: &Words, at: usize) -> Option<String> {
    let mut meant = copy(words);
    let own = meant.verbs.get_mut(at)?;
    let globals = Typed::augment_args(Command::new("tatter"));
    let has_own_value = |word: &OsStr| word.to_str().and_then(|word| word.strip_prefix(option)).is_some_and(|rest| rest.starts_with('='));
    let from = own.iter().position(|word| word == option || has_own_value(word))?;
    let takes_value = own[from] == option && find_option(&globals, option)?.get_action().takes_values();
    let moved: Vec<OsString> = own.drain(from..(from + 1 + usize::from(takes_value)).min(own.len())).collect();
    meant.verbs.last_mut()?.extend(moved);
    Some(line(&meant))
}

/// Adds the intended command to errors: `sort x FILE` and `window 3 FILE` lack --by or --size, and in `head 1 FILE then
/// count` a FILE precedes `then`.
pub fn without_option(error: Error, words: &Words) -> Error {
    let own = words.verbs.last().map_or(&[][..], Vec::as_slice);
    match error.reason().cloned() {
        Some(Reason::MissingOption(argument)) if !argument.starts_with('-') && !words.files.is_empty() => {
            let mut meant = copy(words);
            let mut files = std::mem::take(&mut meant.files);
            // It must not look like an option.
            if let Some(first) = files.first_mut().filter(|first| first.to_string_lossy().starts_with('-')) {
                let is_expression = ["CONDITION", "ASSIGNMENTS"].contains(&argument.as_str());
                let text = first.to_string_lossy();
                *first = if is_expression { format!(" {text}") } else { format!("`{text}`") }.into();
            }
            meant.verbs.iter_mut().last().into_iter().for_each(|last| last.extend(files.iter().cloned()));
            error.help(format!("every argument after `--` is a FILE: {}", line(&meant)))
        }
        Some(Reason::UnexpectedArgument(file)) if Path::new(&file).exists() => match after_last_verb(&file, words) {
            Some(moved) => error.help(moved),
            None => error,
        },
        Some(Reason::UnexpectedArgument(word)) => match joined(&word, words) {
            Some(meant) => error.help(meant),
            None => error,
        },
        Some(Reason::MissingOption(option)) if option == "--size" || option == "--length" => {
            // `window 3`, `windows tokens 3`, `pack 512`
            let is_number = |word: &&str| word.parse::<u64>().is_ok();
            let is_plain = |word: &OsString| !word.to_string_lossy().starts_with('-') && !Path::new(word).exists();
            match own.iter().skip(1).filter_map(|word| word.to_str()).find(is_number) {
                // The number is taken for the field.
                Some(size)
                    if own.first().is_some_and(|name| name == "windows")
                        && own.iter().skip(1).filter(|word| is_plain(word)).count() == 1 =>
                {
                    let files = own.iter().skip(1).filter(|word| *word != size).map(|word| typed_word(&word.to_string_lossy()));
                    let window = [format!("tatter window --size {size} --shift 1")].into_iter().chain(files);
                    error
                        .help(format!("for windows over a list: windows FIELD --size {size}"))
                        .help(format!("for windows of consecutive records: {}", window.collect::<Vec<_>>().join(" ")))
                }
                // `pack tokens 512` has a second mistake.
                Some(_) if option == "--length" && own.iter().skip(1).filter(|word| is_plain(word)).count() > 1 => error,
                Some(size) => {
                    let at = own.iter().position(|word| word == size).unwrap_or(1);
                    error.help(format!("use {option}: {}", moved(words, size, at, &[&option, size])))
                }
                None => error,
            }
        }
        Some(Reason::MissingOption(option)) if option == "--by" => {
            // `sort x`, `sort -r x`, `sort x desc`
            let command = own.first().and_then(|name| verbs::find(name.to_str()?)).map(verbs::Entry::command);
            let is_flag = |word: &&str| {
                command.as_ref().and_then(|command| find_option(command, word)).is_some_and(|arg| !arg.get_action().takes_values())
            };
            let is_meant = |word: &&str| is_field(word) && !Path::new(word).exists();
            let mut arguments = own.iter().skip(1).map_while(|word| word.to_str()).filter(|word| !is_flag(word));
            let first = arguments.next().filter(is_meant);
            // `sort by price`, as in SQL.
            let second = arguments.next().filter(|field| first.is_some_and(|by| by.eq_ignore_ascii_case("by")) && is_meant(field));
            match second.or(first) {
                Some(field) => {
                    let meant = first.filter(|_| second.is_some()).map_or_else(|| copy(words), |by| without_word(words, by));
                    // `sort price desc`, as in SQL.
                    let direction = own.iter().filter_map(|word| Some((word.to_str()?, descends(word)?))).next();
                    let (meant, key) = match direction.filter(|(word, _)| *word != field && !Path::new(word).exists()) {
                        Some((word, true)) => (without_word(&meant, word), format!("-{field}")),
                        Some((word, false)) => (without_word(&meant, word), field.to_owned()),
                        None => (meant, field.to_owned()),
                    };
                    let at = meant.verbs.last().and_then(|own| own.iter().position(|word| word == field)).unwrap_or(1);
                    error.help(format!("use --by to specify a field: {}", moved(&meant, field, at, &["--by", &key])))
                }
                None => error,
            }
        }
        _ => error,
    }
}

/// The advice for `select a b then ...`, `rename a b then ...` and `sort a then ...`, whose words would be joined, or need
/// an option; `None` for other words.
fn joined(word: &str, words: &Words) -> Option<String> {
    let at = words.verbs.iter().position(|own| own.iter().skip(1).any(|own| own == word))?;
    let own = &words.verbs[at];
    let verb = verbs::find(own.first()?.to_str()?)?;
    let command = verb.command();
    let place = own.iter().position(|own| own == word)?;
    if own.iter().skip(1).any(|word| Path::new(word).exists()) {
        return None;
    }
    let is_meant = |word: &OsString| word.to_str().is_some_and(|word| !word.starts_with('-') && !is_file_of_a_format(word));
    let argument = command.get_positionals().find(|arg| arg.get_id() != "FILE");
    let value = argument.and_then(|arg| arg.get_value_names()?.first().map(ToString::to_string)).unwrap_or_default();
    let mut meant = copy(words);
    let own = &mut meant.verbs[at];
    let needs_more = || command.get_arguments().any(|arg| arg.is_required_set() && arg.get_id() != "by");
    let advice = if argument.is_none() && has_option(&command, "--by") && !needs_more() && is_field(word) {
        own.insert(place, "--by".into());
        "use --by to specify a field"
    } else if place == 2 && value.contains('=') && own.get(1).is_some_and(|name| is_meant(name) && !name.to_string_lossy().contains('=')) {
        let mut pair = [own.remove(1), own.remove(1)];
        // `cast int32 image_id`
        if value.ends_with("=TYPE") && pair[0].to_str().is_some_and(|name| DType::from_name(name).is_some()) {
            pair.reverse();
        }
        own.insert(1, pair.join(OsStr::new("=")));
        "join the two with `=`"
    } else if place == 2 && value == "FIELDS" && own.get(1).is_some_and(is_meant) && is_field(word) {
        while own.get(place).is_some_and(|next| next.to_str().is_some_and(is_field)) {
            let next = own.remove(place);
            if !own[1].to_string_lossy().ends_with(',') {
                own[1].push(",");
            }
            own[1].push(next);
        }
        "separate fields with commas"
    } else {
        return None;
    };
    Some(format!("{advice}: {}", line(&meant)))
}

/// The command line with a FILE of an earlier verb moved to the end; `None` if that verb must end a chain.
fn after_last_verb(file: &str, words: &Words) -> Option<String> {
    let at = words.verbs.iter().position(|own| own.iter().any(|word| word == file))?;
    if at + 1 == words.verbs.len() {
        return None;
    }
    let mut moved = copy(words);
    if let Some(last) = moved.verbs[at].iter().rposition(|word| word == file) {
        moved.verbs[at].remove(last);
    }
    let (name, arguments) = moved.verbs[at].split_first()?;
    let verb = verbs::find(name.to_str()?)?;
    let matches = matches_of(verb, &bare(verb.command()), &arguments.iter().collect::<Vec<_>>()).ok()?;
    if verb.parse(&matches).ok()?.is_report() {
        return None;
    }
    // `convert FILE then`
    if moved.verbs.last().is_some_and(Vec::is_empty) {
        moved.verbs.pop();
    }
    moved.verbs.iter_mut().last().into_iter().for_each(|last| last.push(file.into()));
    Some(line(&moved))
}

/// Detects `FILE head 1`, where the verb follows its FILE.
pub fn verb_after_file(words: &Words) -> Option<String> {
    let own = words.verbs.first()?;
    let (file, rest) = own.split_first()?;
    verbs::find(rest.first()?.to_str()?)?;
    let mut reordered = copy(words);
    reordered.verbs[0] = rest.to_vec();
    reordered.verbs.last_mut()?.push(file.clone());
    Some(line(&reordered))
}

/// Detects `select -v id`, where -v inverts the choice in other tools, but here means --verbose.
///
/// # Errors
/// The first word after the verb is such an option.
pub fn inverted(verb: &Entry, arguments: &[OsString]) -> Result<()> {
    let Some(option) = arguments.first().and_then(|word| word.to_str()).filter(|word| *word == "-v") else { return Ok(()) };
    match habits::of_option(verb.name, option) {
        Some(advice) => Err(Error::usage(format!("`{} {option}`: {option} means --verbose here", verb.name))
            .help(advice)
            .help("for more messages, use --verbose")),
        None => Ok(()),
    }
}
