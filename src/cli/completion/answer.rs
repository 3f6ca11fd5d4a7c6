//! Computes the completions at the cursor: verbs first, options after a dash, then the values of each argument.

use super::fields;
use crate::cli::commands::COMMANDS;
use crate::cli::line::Line;
use crate::cli::split::is_option;
use crate::cli::typed::Typed;
use crate::expr;
use crate::formats::FORMATS;
use crate::schema::{DType, PartitionEncoding};
use crate::verbs::{self, VERBS};
use clap::{Arg, Args, Command};

/// The completions at the cursor.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// Complete words that start with the typed text.
    pub items: Vec<Item>,
    /// File names are also possible.
    pub files: bool,
    /// More of the same word can follow, so no space is added.
    pub glued: bool,
}

/// A completion.
#[derive(Debug, PartialEq)]
pub struct Item {
    /// The word.
    pub text: String,
    /// A one-line description.
    pub about: String,
}

impl Answer {
    fn files() -> Answer {
        Answer { files: true, ..Answer::default() }
    }

    fn of<T: Into<String>, A: Into<String>>(items: impl IntoIterator<Item = (T, A)>) -> Answer {
        let items = items.into_iter().map(|(text, about)| Item { text: text.into(), about: about.into() }).collect();
        Answer { items, ..Answer::default() }
    }

    /// Prepends the typed part of the word to each item.
    fn after(mut self, typed: &str) -> Answer {
        self.items.iter_mut().for_each(|item| item.text.insert_str(0, typed));
        self
    }
}

/// Computes the completions at the cursor.
pub fn answer(line: &Line) -> Answer {
    let (line, is_inside) = &line.inside();
    let mut answer = anything(line);
    let may_end = !line.before.is_empty() && answer.items.iter().any(|item| item.text == "then");
    if *is_inside && may_end {
        answer.items.extend(Answer::of([("]", "end the chain of this input")]).items);
    }
    answer.items.retain(|item| item.text != line.current);
    // A name that needs backquotes is offered without them only if nothing else begins so.
    let bare = |text: &str| text.replace('`', "");
    let begins_bare = |item: &Item| bare(&item.text).starts_with(&bare(&line.current));
    match answer.items.iter().any(|item| item.text.starts_with(&line.current)) {
        true => answer.items.retain(|item| item.text.starts_with(&line.current)),
        false => answer.items.retain(begins_bare),
    }
    answer
}

fn anything(line: &Line) -> Answer {
    if line.before.iter().any(|word| word == "--") {
        return Answer::files();
    }
    let start = line.before.iter().rposition(|word| word == "then").map_or(0, |then| then + 1);
    let globals = Typed::augment_args(Command::new("tatter"));
    let mut words = &line.before[start..];
    if start == 0 {
        let mut reader = Reader::new([&globals, &globals]);
        while let Some((word, rest)) = words.split_first().filter(|(word, _)| reader.pending.is_some() || is_option(word)) {
            reader.read(word);
            words = rest;
        }
        if let Some(arg) = reader.pending {
            return value(arg, &line.current, line);
        }
    }
    let Some((name, words)) = words.split_first() else {
        return match line.current == "-" || is_option(&line.current) {
            true if start == 0 => option(&line.current, [&globals, &Command::new("help and version")], line),
            true => Answer::default(),
            false => names(start == 0),
        };
    };
    let (verb, command) = match (verbs::find(name), COMMANDS.iter().find(|command| command.name == name)) {
        (Some(verb), _) => (Some(verb), verb.command()),
        (None, Some(command)) => (None, command.command()),
        (None, None) => return Answer::files(),
    };
    let mut reader = Reader::new([&command, &globals]);
    words.iter().for_each(|word| reader.read(word));
    if let Some(arg) = reader.pending {
        return value(arg, &line.current, line);
    }
    if line.current == "-" || is_option(&line.current) {
        return option(&line.current, [&command, &globals], line);
    }
    let positional = command.get_positionals().nth(reader.arguments);
    match (positional, verb) {
        (Some(arg), Some(verb)) if verb.optional_argument => Answer { files: true, ..value(arg, &line.current, line) },
        (Some(arg), _) => value(arg, &line.current, line),
        (None, Some(verb)) => {
            let bracket = verb.combines.then_some(("[", "an input with its own chain"));
            Answer { files: true, ..Answer::of([("then", "chain another verb")].into_iter().chain(bracket)) }
        }
        (None, None) => Answer::default(),
    }
}

/// Tracks options and their values.
struct Reader<'a> {
    commands: [&'a Command; 2],
    /// The option whose value is next.
    pending: Option<&'a Arg>,
    /// Words so far that are not part of an option.
    arguments: usize,
}

impl<'a> Reader<'a> {
    fn new(commands: [&'a Command; 2]) -> Reader<'a> {
        Reader { commands, pending: None, arguments: 0 }
    }

    fn read(&mut self, word: &str) {
        if self.pending.take().is_some() {
            return;
        }
        if !is_option(word) || word[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.arguments += 1;
        } else if !word.contains('=') {
            self.pending = find(word, self.commands).filter(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set());
        }
    }
}

/// Finds an option by name.
fn find<'a>(word: &str, commands: [&'a Command; 2]) -> Option<&'a Arg> {
    let is_meant = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        // `-qo OUT`: the last letter takes the value.
        None => arg.get_short().is_some_and(|short| word.ends_with(short)),
    };
    commands.into_iter().find_map(|command| command.get_opts().find(is_meant))
}

/// Completes verbs and, before the first `then`, standalone commands.
fn names(is_first: bool) -> Answer {
    let others = COMMANDS.iter().filter(|_| is_first).map(|command| (command.name, command.summary));
    Answer::of(VERBS.iter().map(|verb| (verb.name, verb.summary)).chain(others))
}

/// Completes an option, or its value after `=`.
fn option(current: &str, commands: [&Command; 2], line: &Line) -> Answer {
    if let Some((name, typed)) = current.split_once('=') {
        return find(name, commands).map_or_else(Answer::default, |arg| value(arg, typed, line).after(&format!("{name}=")));
    }
    let long = |arg: &Arg| Some((format!("--{}", arg.get_long()?), help(arg)));
    let short = |arg: &Arg| Some((format!("-{}", arg.get_short()?), help(arg)));
    let options = || commands.into_iter().flat_map(Command::get_opts);
    let mut answer = Answer::of(options().filter_map(long));
    if !current.starts_with("--") {
        answer.items.extend(Answer::of(options().filter(|arg| arg.get_long().is_none()).filter_map(short)).items);
    }
    answer.items.push(Item { text: "--help".to_owned(), about: "Explain all of it".to_owned() });
    answer
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

const CODECS: [&str; 5] = ["none", "snappy", "zstd", "gzip", "lz4"];

/// Completes the value of an argument from its possible values, or from its value name in the help.
fn value(arg: &Arg, typed: &str, line: &Line) -> Answer {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let about = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
        return Answer::of(possible.iter().map(|value| (value.get_name(), about(value))));
    }
    let name = arg.get_value_names().and_then(|names| names.first()).map_or(arg.get_id().as_str(), |name| name.as_str());
    match name {
        "FORMAT" => Answer::of(FORMATS.iter().map(|format| (format.name(), format.summary()))),
        "CODEC" => Answer::of(CODECS.map(|codec| (codec, ""))),
        "E" => Answer::of(PartitionEncoding::VECTORS.iter().map(|encoding| (encoding.name(), ""))),
        "TOPIC" => {
            let functions = expr::functions::all().flat_map(|f| f.names.iter().copied()).map(|name| (name, "a function"));
            let mut answer = names(true);
            answer.items.extend(Answer::of([("functions", "all functions")].into_iter().chain(functions)).items);
            answer
        }
        "PAGE" => Answer::of(VERBS.iter().map(|verb| (verb.name, verb.summary)).chain([("functions", "functions for use in expressions")])),
        "A" | "B" => Answer::files(),
        "EXPR" | "CONDITION" | "ASSIGNMENTS" => {
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '`';
            let head = typed.trim_end_matches(is_part);
            Answer { glued: true, ..fields_of(line, "", fields::Names::Expression).after(head) }
        }
        "KEY" if table(line).is_some() => fields_of(line, "", fields::Names::OfTable),
        "NAMES" => {
            let head = typed.rfind(',').map_or("", |comma| &typed[..=comma]);
            Answer { glued: true, ..fields_of(line, head, fields::Names::OfTable).after(head) }
        }
        "FIELD" | "PATH" => fields_of(line, "", fields::Names::Path),
        "FIELDS" | "KEY" | "FIELD,.." => {
            let head = typed.rfind(',').map_or("", |comma| &typed[..=comma]);
            Answer { glued: true, ..fields_of(line, head, fields::Names::Path).after(head) }
        }
        _ if name.starts_with("FIELD=") || name.starts_with("OLD=") => assigned(name, typed, line),
        _ if ["FILE", "OUT", "LIST", "DIR", "TABLE"].iter().any(|word| name.split(['|', '=', '@']).any(|part| part == *word)) => {
            Answer { files: true, ..words_of(name) }
        }
        _ => words_of(name),
    }
}

/// The table of `lookup FIELD in TABLE`.
fn table(line: &Line) -> Option<&String> {
    let own = line.before.iter().rev().take_while(|word| *word != "then").take_while(|word| *word != "in").count();
    let is_lookup = line.before.iter().rev().take_while(|word| *word != "then").any(|word| word == "lookup");
    line.before.get((line.before.len() - own)..)?.first().filter(|_| is_lookup)
}

/// The words in `fail|skip|quarantine=FILE`. Lowercase words are typed literally.
fn words_of(name: &str) -> Answer {
    let word = |part: &str| part.trim_end_matches(|c: char| c.is_ascii_uppercase()).to_owned();
    let words = name.split('|').map(word).filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
    let answer = Answer::of(words.map(|word| (word, "")));
    Answer { glued: answer.items.iter().any(|item| item.text.ends_with('=')), ..answer }
}

/// Completes `x=int8,y=`: a field, then `=`, then a dtype where one is expected.
fn assigned(name: &str, typed: &str, line: &Line) -> Answer {
    let is_list = name.ends_with(",..");
    let head = typed.rfind(',').filter(|_| is_list).map_or("", |comma| &typed[..=comma]);
    match typed[head.len()..].split_once('=') {
        Some((field, _)) if name.contains("=TYPE") => {
            let dtypes = DType::NAMED.iter().filter(|(_, dtype)| dtype.is_tensor()).map(|(name, _)| (*name, ""));
            Answer { glued: is_list, ..Answer::of(dtypes).after(&format!("{head}{field}=")) }
        }
        Some(_) => Answer::default(),
        None => {
            let mut answer = fields_of(line, head, fields::Names::Path).after(head);
            answer.items.iter_mut().for_each(|item| item.text.push('='));
            Answer { glued: true, ..answer }
        }
    }
}

/// The fields that reach the verb, except those already in the list.
fn fields_of(line: &Line, list: &str, names: fields::Names) -> Answer {
    let listed: Vec<&str> = list.split(',').map(|part| part.split('=').next().unwrap_or(part)).collect();
    let fields = match names {
        fields::Names::OfTable => table(line).map_or_else(Vec::new, |table| fields::of_file(table)),
        names => fields::fields(line, names),
    };
    let fields = fields.into_iter().filter(|(name, _)| !listed.contains(&name.as_str()));
    Answer::of(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The completions of a line, whose last word is being completed; `|` separates the words after it.
    fn offered(line: &str) -> Vec<String> {
        let (before, after) = line.split_once('|').unwrap_or((line, ""));
        let mut before: Vec<String> = before.split(' ').map(str::to_owned).collect();
        let current = before.pop().unwrap();
        let after = after.split_whitespace().map(str::to_owned).collect();
        answer(&Line { before, current, after, ..Line::default() }).items.into_iter().map(|item| item.text).collect()
    }

    #[test]
    fn verbs_come_before_options() {
        let all = offered("");
        assert!(all.contains(&"select".to_owned()) && all.contains(&"completions".to_owned()));
        assert!(all.iter().all(|word| !word.starts_with('-')));
        assert_eq!(offered("sel"), ["select"]);
        assert_eq!(offered("--from jsonl he"), ["head", "help"]);
        assert_eq!(offered("head 3 then sho"), ["show"]);
        assert!(offered("head 3 then hel").is_empty(), "no command inside a chain");
        assert_eq!(offered("head 3 th"), ["then"]);
    }

    #[test]
    fn options_are_those_of_the_verb_and_global_ones() {
        assert_eq!(offered("batch --drop"), ["--drop-remainder"]);
        assert!(offered("batch -")[0].starts_with("--"), "its own first");
        assert_eq!(offered("--dry"), ["--dry-run"]);
        assert!(offered("head --max-e").contains(&"--max-errors".to_owned()));
    }

    #[test]
    fn values_of_options() {
        assert_eq!(offered("convert --from jsonl --to tf"), ["tfrecord", "tfds"]);
        assert_eq!(offered("convert --to=tfr"), ["--to=tfrecord"]);
        assert_eq!(offered("--on-error "), ["fail", "skip", "null", "quarantine="]);
        assert!(offered("schema --as ").contains(&"tf-spec".to_owned()));
        assert_eq!(offered("--color al"), ["always"]);
        assert_eq!(offered("convert --compression s"), ["snappy"]);
        assert_eq!(offered("completions "), crate::cli::scripts::SHELLS);
        assert_eq!(offered("help reduce_ma"), ["reduce_max"]);
        assert_eq!(offered("pack --length 3 --strategy f").len(), offered("pack --strategy f").len());
        assert!(offered("head --threads ").is_empty());
    }

    #[test]
    fn fields_of_the_file() {
        let file = format!("{}/fixtures/inputs/docs.jsonl", env!("CARGO_MANIFEST_DIR"));
        let offered = |line: &str| offered(&line.replace("FILE", &file));
        assert_eq!(offered("select |FILE"), ["id", "docs", "docs.title", "docs.tokens"]);
        assert_eq!(offered("select id,|FILE"), ["id,docs", "id,docs.title", "id,docs.tokens"]);
        assert_eq!(offered("rename i|FILE"), ["id="]);
        assert_eq!(offered("cast id=int1|FILE"), ["id=int16"]);
        assert_eq!(offered("promote docs.tokens --as toks then select t|FILE"), ["toks"]);
        assert_eq!(offered("promote docs.tokens --as toks then sort --by le|FILE"), [""; 0]);
        assert_eq!(offered("sort --by len(do|then head FILE"), ["len(docs", "len(docs.title", "len(docs.tokens"]);
        assert_eq!(offered("show FILE -f"), [""; 0]);
        assert!(offered("select |no-such-file").is_empty());
        assert_eq!(offered("lookup x in FILE --key |other.jsonl"), ["id", "docs"]);
        assert_eq!(offered("lookup x in FILE --take id,|other.jsonl"), ["id,docs"]);
    }
}
