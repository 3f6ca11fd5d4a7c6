//! `tatter help WORD`: a verb, a command, a function, or a topic such as formats, types and exit codes.

use super::help::{ABOUT, ARRAYS, ENVIRONMENT, EXIT_CODES, NOTATION, SUFFIXES, USAGE};
use super::help::{fitted, format_list, global_options, list, near, of_command, of_option, of_options, of_verb, verb_list};
use super::split::find_option;
use super::standalone::Standalone;
use super::synonyms;
use super::typed::Typed;
use crate::error::{Error, Result, nearest};
use crate::expr;
use crate::formats::{FORMATS, Format};
use crate::options::Options;
use crate::schema::Schema;
use crate::verbs::{self, VERBS};
use clap::{Args, Command};
use std::sync::Arc;

const EXPRESSIONS: &str = "\
Expressions are used by `map`, `filter`, `sort --by` and other verbs; see `tatter help map` and `tatter help filter`.
`tatter help operators` lists their operators, `tatter help functions` their functions, and `tatter help strings.split` explains a single one. `--arg NAME=VALUE` and `--with NAME=FILE` \
define constants.
";

/// The operators of expressions with their meaning, from highest to lowest precedence.
const OPERATORS: &[(&[&str], &str)] = &[
    (&["x.name", "x[i]", "x[a:b]"], "field of a structure; item; slice"),
    (&["**"], "power"),
    (&["-x", "+x", "~x"], "sign; logical NOT of a bool, bitwise NOT of an integer"),
    (&["*", "/", "//", "%", "@"], "// rounds down; % is the remainder; @ is the matrix product"),
    (&["+", "-"], "sum and difference; + joins strings, and lists as in Python"),
    (&["<<", ">>"], "shift left, shift right"),
    (&["&"], "bitwise or logical AND"),
    (&["^"], "bitwise or logical XOR"),
    (&["|"], "bitwise or logical OR"),
    (&["==", "!=", "<", "<=", ">", ">="], "comparisons, which can be chained: 1 <= x < 5"),
    (&["not"], "logical NOT of a bool"),
    (&["and"], "logical AND of bools; short-circuits"),
    (&["or"], "logical OR of bools; short-circuits"),
];

const OPERATOR_NOTES: &str = "\
`&`, `^` and `|` are logical for bools and bitwise for integers. They bind more tightly than comparisons: write x > 1 and x < 4, or \
(x > 1) & (x < 4). Between lists in brackets and shapes, `+` and `*` mean the same as in Python: [1] + [2] is [1, 2], and [0] * 3 is \
[0, 0, 0]. Next to a tensor, a list is a tensor; to join tensors, use concat([[1], x, [2]], 0). Arithmetic on integers wraps around at the \
limits of their dtype, as in TensorFlow. A 64-bit integer and a float are compared exactly, without rounding the integer.
";

const TIMES: &str = "\
Times have the types of Arrow: date32, timestamp[us], timestamp[ms, UTC], time64[ns], duration[s]. They are read from text if --schema \
declares them, as in --schema 'd: date32; t: timestamp[us]'; the verb `cast` and the function `timestamp` convert text and numbers, also text in \
other formats: timestamp(t, format=\"%d/%m/%Y %H:%M\"). Times can be compared with text: t < \"2024-05-01\".

The difference of two times is a duration. Durations are added to times, to each other, multiplied by integers, and divided; as text they are written \
PT1H30M or P1D: t + \"P1D\"; (end - start) / \"PT1S\" is a number of seconds. The result has the finer unit of both. cast(t, int64) returns the count of \
units since 1970, and cast(n, \"timestamp[us]\") converts it back.
";

const NULLS: &str = "\
A value may be null if its type is `optional` or has `with nulls`; an absent key of JSON is read as null, and null and the \
empty list are different. Verbs that choose, move or rename whole values pass nulls through; those that compute with values, such as `to-dense`, fail at the first null. The verb `fill-null` replaces \
nulls, filter 'not is_null(x)' drops such records, and a default in --schema is read instead of null: 'age: int64 = -1'.
";

const VERSION: &str = "`tatter --version` prints the version; with -v, it also prints the build configuration.\n";

/// The output of `tatter help WORD`.
///
/// # Errors
/// There is no such verb, command, function or topic.
pub fn of_word(word: &str, commands: &[Standalone]) -> Result<String> {
    if let Some(verb) = verbs::find(word) {
        return Ok(of_verb(verb));
    }
    if let Some(command) = commands.iter().find(|c| c.name == word) {
        return Ok(of_command(command));
    }
    if word.starts_with('-') {
        return option(word.split('=').next().unwrap_or(word));
    }
    let module = || topic(word).is_none().then(|| expr::functions_of(word.strip_prefix("tf.").unwrap_or(word))).flatten();
    if let Some(text) = expr::function_help(word).or_else(module) {
        let verb = match word.strip_prefix("tf.").unwrap_or(word) {
            "concat" => Some("concatenate"),
            "where" => Some("filter"),
            own => verbs::find(own).map(|verb| verb.name),
        };
        let verb = verb.map_or(String::new(), |verb| format!("\nFor whole records: tatter help {verb}\n"));
        return Ok(fitted(&(text + &verb)));
    }
    if let Some(text) = topic(word) {
        return Ok(fitted(&text));
    }
    let error = Error::usage(format!("no help topic `{word}`"));
    let forms = synonyms::forms(word);
    let functions = expr::instead_of(word);
    if let Some(form) = forms.first() {
        let verb = form.split(' ').nth(1).filter(|_| !needs_duckdb(form)).and_then(verbs::find);
        let error = functions.iter().fold(error, |error, line| error.help(format!("in expressions: {line}")));
        let error = forms.iter().fold(error, |error, form| {
            let purpose = if needs_duckdb(form) { "with DuckDB" } else { "did you mean" };
            error.help(format!("{purpose}: {form}"))
        });
        return Err(match verb {
            Some(verb) => error.help(format!("`tatter help {0}` explains `{0}`", verb.name)),
            None => error,
        });
    }
    if !functions.is_empty() {
        return Err(functions.into_iter().fold(error, Error::help));
    }
    if let (true, Ok(text)) = (word.len() > 2, option(&format!("--{word}"))) {
        return Ok(text);
    }
    if word.len() < 3 {
        return Err(error.help("`tatter help topics` lists the topics"));
    }
    let functions = expr::functions::all().flat_map(|f| f.names.iter().copied());
    Err(match near(word, VERBS.iter().map(|v| v.name).chain(commands.iter().map(|c| c.name)).chain(functions)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`tatter -h` lists the verbs, `tatter help topics` the topics"),
    })
}

/// Whether a command converts the records for DuckDB.
fn needs_duckdb(command: &str) -> bool {
    command.contains(" duckdb ")
}

/// The help of an option, which is global or belongs to some verbs.
fn option(name: &str) -> Result<String> {
    let globals = Typed::augment_args(Command::new("tatter"));
    if let Some(arg) = find_option(&globals, name) {
        return Ok(of_option(arg));
    }
    let commands: Vec<_> = VERBS.iter().map(|verb| (verb.name, verb.command())).collect();
    let owners = || commands.iter().filter_map(|(verb, command)| Some((verb, find_option(command, name)?)));
    if owners().next().is_some() {
        return Ok(owners().map(|(verb, arg)| format!("tatter {verb}\n{}", of_option(arg))).collect::<Vec<_>>().join("\n"));
    }
    let longs = [&globals].into_iter().chain(commands.iter().map(|(_, command)| command)).flat_map(Command::get_arguments);
    let longs: Vec<String> = longs.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    let error = Error::usage(format!("unknown option `{name}`"));
    Err(match nearest(name, longs.iter().map(String::as_str)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`tatter help options` lists the global options"),
    })
}

/// A topic of `tatter help`.
struct Topic {
    /// Its name, followed by others that find it.
    names: &'static [&'static str],
    summary: &'static str,
    text: fn() -> String,
}

/// All topics, but not the formats, which are topics too.
static TOPICS: &[Topic] = &[
    Topic {
        names: &["usage", "tatter", "files", "inputs", "input", "glob", "globs", "shards", "stdin", "stdout", "pipes"],
        summary: "command syntax, chains of verbs, input files",
        text: || format!("{USAGE}\n\n{ABOUT}"),
    },
    Topic { names: &["verbs", "commands"], summary: "all verbs", text: verb_list },
    Topic {
        names: &["options", "option", "global options", "globals", "threads", "memory"],
        summary: "global options",
        text: global_options,
    },
    Topic {
        names: &["formats", "format", "compression", "gzip", "zstd"],
        summary: "file formats; each format name is also a topic",
        text: || format!("{}{SUFFIXES}", format_list()),
    },
    Topic { names: &["arrays"], summary: "how npz, npy and safetensors store records", text: || ARRAYS.to_owned() },
    Topic {
        names: &["types", "type", "dtypes", "dtype", "notation", "schemas", "axes", "axis"],
        summary: "the notation of --schema",
        text: || NOTATION.to_owned(),
    },
    Topic {
        names: &["times", "time", "dates", "date"],
        summary: "dates, times and durations, and their functions",
        text: || format!("{TIMES}\n{}", expr::family_list("Times")),
    },
    Topic {
        names: &["nulls", "null"],
        summary: "which verbs accept nulls, and the functions for nulls",
        text: || format!("{NULLS}\n{}", expr::family_list("Nulls")),
    },
    Topic {
        names: &["expressions", "expression", "exprs", "expr"],
        summary: "verbs that use expressions",
        text: || EXPRESSIONS.to_owned(),
    },
    Topic { names: &["operators", "operator", "precedence"], summary: "expression operators and their precedence", text: operators },
    Topic { names: &["functions", "function", "tf"], summary: "functions for use in expressions", text: expr::function_list },
    Topic {
        names: &["exit codes", "exit code", "exit status", "exit", "status"],
        summary: "meaning of the exit codes",
        text: || EXIT_CODES.to_owned(),
    },
    Topic { names: &["environment", "environment variables", "env"], summary: "environment variables", text: || ENVIRONMENT.to_owned() },
    Topic { names: &["version"], summary: "how to print the version", text: || VERSION.to_owned() },
    Topic { names: &["topics", "topic"], summary: "this list", text: topics },
];

fn topics() -> String {
    list(&TOPICS.iter().map(|topic| (topic.names[0].to_owned(), topic.summary)).collect::<Vec<_>>())
}

fn operators() -> String {
    let rows: Vec<(String, &str)> = OPERATORS.iter().map(|(operators, meaning)| (operators.join("  "), *meaning)).collect();
    format!(
        "Operators, from highest to lowest precedence; operators on the same line have equal precedence:\n{}{OPERATOR_NOTES}",
        list(&rows)
    )
}

/// The text for a topic. `words` are those after `help`, with spaces between them.
fn topic(words: &str) -> Option<String> {
    let name = words.to_ascii_lowercase().replace(['_', '-'], " ");
    if OPERATORS.iter().any(|(operators, _)| operators.contains(&words)) {
        return Some(operators());
    }
    if let Some(topic) = TOPICS.iter().find(|topic| topic.names.contains(&name.as_str())) {
        return Some((topic.text)());
    }
    let called = FORMATS.iter().find(|format| format.name().replace('-', " ") == name);
    let format = called.or_else(|| FORMATS.iter().find(|format| format.extensions().contains(&name.trim_start_matches('.'))));
    format.map(|format| of_format(*format))
}

fn of_format(format: &dyn Format) -> String {
    let name = format.name();
    let mut text = format!("{name}: {}\n", format.summary());
    let extensions: Vec<String> = format.extensions().iter().map(|extension| format!(".{extension}")).collect();
    if !extensions.is_empty() {
        text.push_str(&format!("Extensions: {}\n", extensions.join(" ")));
    }
    let is_written = format.writer(&Arc::new(Schema::new(Vec::new())), &Options::default()).is_some();
    text.push_str(&match is_written {
        true => format!("\nUse `--from {name}` or `--to {name}` if the format cannot be detected from the contents or the name."),
        false => format!("\nUse `--from {name}` to read this format; tatter cannot write it."),
    });
    text.push_str(" `tatter help formats` lists all formats.\n");
    let globals = Typed::augment_args(Command::new("tatter"));
    let compression = format.has_compression().then_some("--compression");
    let names = compression.into_iter().chain(format.options().iter().copied()).chain(format.has_splits().then_some("--split"));
    let own: Vec<_> = names.filter_map(|name| find_option(&globals, name)).collect();
    if !own.is_empty() {
        text.push_str(&format!("\n{}", of_options(own)));
    }
    if ["npz", "npy", "safetensors"].contains(&name) {
        text.push_str(&format!("\n{ARRAYS}"));
    }
    text
}
