//! Help texts, generated from the definitions that parse the command line.

use super::arguments;
use super::standalone::Standalone;
use super::typed::Typed;
use crate::error::nearest;
use crate::formats::{FORMATS, Format};
use crate::screen;
use crate::verbs::combine::brackets;
use crate::verbs::{self, Entry, Example, Group, VERBS};
use clap::{Arg, Args, Command, ValueHint};
use std::fmt::Write;

const TITLE: &str = "tatter: ragged, sparse and structured tensors from the command line";
/// The command syntax.
pub const USAGE: &str = "Usage: tatter VERB [OPTIONS] [ARGS] [then VERB ...]... [FILE]... [-o OUT]";

pub const NOTATION: &str = "\
Types, as `schema` prints them and --schema reads them; fields are separated by newlines or `;`:
  id:     int64                       a scalar
  tokens: int64[?]                    a vector; its size may differ from record to record
  embed:  float32[4, 32]              a fixed shape, the same in every record
  batch:  int64[?, (?)]               axis 1 is ragged: row lengths differ within a record
  docs:   {title: string, tokens: string[?]}[?]
                                      a list of structures
  feats:  sparse<float32>[?, 1000]    a sparse tensor
  props:  map<string, int64>          a map: verbs see {key: string, value: int64}[?]
  note:   optional string             the whole field may be null
  tags:   string[?] with nulls        values inside may be null
  age:    int64 = -1                  a missing value is read as -1
  raw:    json                        any JSON value, kept as JSON text
  when:   timestamp[us, UTC]          times and decimals as in Arrow: date32, time64[ns], duration[s], decimal128(9, 2); printed as arrow<timestamp[us, UTC]>
Axes are numbered within a record: axis 0 is the outermost axis of a field; negative numbers count back from the innermost axis. Inside \
structures, `docs.tokens` has axis 0 (docs) and axis 1 (tokens). A name in brackets, as in int64[words], is a label: it means the same \
as `?`.
dtypes: bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, string, bytes. Names that are not \
identifiers are written in backquotes. A comment starts with # and ends with the line.
";

pub const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    bad data: an invalid record, records skipped by --on-error (more than --max-errors, if given), errors found by validate, a failed check (assert, diff, stats --max-drift, --strict)
  2    usage error, detected before the first record is processed: an unknown option, verb, field or function, or a type mismatch
  3    a file cannot be read or written
  70   a bug in tatter
  129, 130, 131, 143  terminated by SIGHUP, SIGINT (Ctrl-C), SIGQUIT or SIGTERM, respectively
";

/// Environment variables, one line each, also used in the man page.
pub const ENVIRONMENT: &str = "\
Environment variables:
  COLUMNS         width of help and tables when standard output is not a terminal
  NO_COLOR        disables color in messages if set to a nonempty value
  CLICOLOR        disables color in messages if set to 0
  CLICOLOR_FORCE  enables color in messages even if standard error is not a terminal
  TERM            disables color in messages if set to dumb
  TMPDIR          directory for temporary files when output goes to standard output and --temp-dir is not given [default: /tmp]
No environment variable changes the records that are written.
";

/// The line below `Usage:` for a verb or a standalone command.
pub fn usage_line(name: &str, command: &Command) -> String {
    // The command of the last verb of a chain has global options in place of the verb's own options of the same name.
    let verb = verbs::find(name).map(Entry::command);
    let command = verb.as_ref().unwrap_or(command);
    let mut line = format!("tatter {name}");
    let own = || command.get_opts().filter(|o| o.get_help_heading().is_none());
    if own().any(|o| !o.is_required_set()) {
        line.push_str(" [OPTIONS]");
    }
    for arg in command.get_positionals().filter(|a| a.get_id() != "FILE") {
        let word = arg.get_value_names().and_then(|names| names.first()).map_or(arg.get_id().as_str(), |name| name.as_str());
        if arg.is_required_set() && !verbs::find(name).is_some_and(|verb| verb.optional_argument || verb.argument_unless.is_some()) {
            let _ = write!(line, " {word}");
        } else {
            let _ = write!(line, " [{word}]");
        }
    }
    for option in own().filter(|o| o.is_required_set()) {
        let value = option.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
        let _ = write!(line, " --{} {value}", option.get_long().unwrap_or_default());
    }
    if command.get_positionals().any(|a| a.get_id() == "FILE" && a.is_required_set()) {
        line.push_str(" FILE...");
    } else if let Some(verb) = verbs::find(name) {
        line.push_str(if verb.combines { " FILE..." } else { " [FILE]..." });
    }
    line
}

/// Shown if standard input is a terminal and no input is given.
pub fn short_usage() -> String {
    format!(
        "{USAGE}\nTry `tatter schema FILE` to see the fields of a file, `tatter -h` for the verbs, or `tatter VERB -h` for one of them.\n"
    )
}

/// The output of `-h`: one screen.
pub fn short(commands: &[Standalone]) -> String {
    let others = commands.iter().map(|c| c.name).collect::<Vec<_>>().join(" ");
    let commands = row("Other commands:", &others);
    fitted(&format!("{TITLE}\n{USAGE}\n\n{}{commands}\n{SHORT}", verb_names()))
}

/// The options and the example that `-h` shows.
const SHORT: &str = "\
Options, before the first verb or after the last:
  Files:               -o OUT, --from FORMAT, --to FORMAT, --schema TEXT
  Running:             --dry-run, --threads N, --on-error skip, -q, -v

Example: pad the tokens in each batch of 32 records to a common length
  tatter select tokens then batch 32 then to-dense train.jsonl -o padded.npz

`tatter VERB --help` explains a verb. `tatter --help` lists all options, formats, types and exit codes, \
`tatter help functions` the functions, `tatter help topics` further topics.
";

/// The output of `--help`: everything.
pub fn long(commands: &[Standalone]) -> String {
    let mut text = format!("{TITLE}\n\n{USAGE}\n\n{ABOUT}\nVerbs:\n{}\nOther commands:\n{}", verb_list(), command_list(commands));
    let _ = write!(text, "\n{}\nFormats (the names that --from and --to accept):\n", global_options());
    text.push_str(&format_list());
    let _ = write!(text, "{SUFFIXES}\n{ARRAYS}\n{NOTATION}\n{EXIT_CODES}");
    fitted(&text)
}

pub const ABOUT: &str = "\
Reads records whose fields vary in length, represents each field as a ragged, sparse, dense or structured tensor, runs a chain of verbs \
over the stream, and writes the records back out. `then` chains verbs in one process; a chain produces the same records as a pipeline of \
the same verbs. FILEs follow the last verb; global options come before the first verb or after the last; after `--`, every argument is a \
FILE. With no FILE, or when FILE is `-`, tatter reads standard input. Without -o, or with `-o -`, output goes to standard output as JSON \
Lines. -h prints a summary, --help the full help, and -V or --version the version.

A FILE is a file, a quoted glob ('part-*.parquet', 'data/**/*.jsonl'), NAME@N (the N shards NAME-00000-of-0000N) or a directory (all files \
below it, sorted by path, as in PyArrow and Polars). Symbolic links to directories are not followed, and names that begin with `.` or `_` \
(_SUCCESS) are skipped. Several FILEs are read as one stream. A missing shard is an error for NAME@N, and a notice (an error with \
--strict) for a glob or a directory.
";

/// The layout of records in npz, npy and safetensors, also used in the man page.
pub const ARRAYS: &str = "\
npz, npy, safetensors: all records are stacked, with the record axis first.
  dense field x       x
  ragged field        x/values, x/row_splits_0 (records), x/row_splits_1, ..
  string field        like a ragged field: x/values holds the bytes (uint8), with one additional row_splits array
  sparse field        x/indices, x/values, x/dense_shape; also x/dense_shapes, one per record, if they may differ
  times, durations    datetime64 and timedelta64, in which null is NaT; not in safetensors
  inside structures   by path: docs.tokens/values
With one file per record (`-o 'batch-#####.npz'`), each file contains the arrays of one record, without the record axis: axis 0 of a \
batch is the first axis of the array, and rows of equal size are dense. npz and safetensors files of both layouts are read back as the records that were written. \
In arrays written by other programs, axis 0 is the record axis; if --schema declares all axes of an array, including axis 0, the whole \
file is read as one record. An npy file is one array without a name: its rows are records with one field, `value`. `tatter schema --as \
numpy` prints the code that loads a file of all records. Arrays cannot store other nulls, and cannot be written to standard output.
";

pub const SUFFIXES: &str = "\
The input format is detected from the first bytes or, failing that, the extension; the output format from the extension. An additional \
extension, .gz, .zst or .zlib, compresses the output; compressed input is detected by its first bytes.
";

pub fn format_list() -> String {
    let of = |format: &dyn Format| {
        let extensions: Vec<_> = format.extensions().iter().map(|e| format!(".{e}")).collect();
        format!("{}{}", format.summary(), bracketed(&extensions.join(" ")))
    };
    list(&FORMATS.iter().map(|format| (format.name(), of(*format))).collect::<Vec<_>>())
}

/// Names with their descriptions, in two columns.
pub fn list(rows: &[(impl AsRef<str>, impl AsRef<str>)]) -> String {
    let width = longest(rows.iter().map(|(name, _)| name.as_ref()));
    rows.iter().map(|(name, text)| list_row(2, width, name.as_ref(), text.as_ref())).collect()
}

fn bracketed(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({text})") }
}

pub fn verb_list() -> String {
    let width = longest(VERBS.iter().map(|verb| verb.name));
    let mut text = String::new();
    for group in Group::ALL {
        let _ = writeln!(text, "  {}:", group.title());
        text.extend(VERBS.iter().filter(|verb| verb.group == group).map(|verb| list_row(4, width, verb.name, verb.summary)));
    }
    text
}

fn command_list(commands: &[Standalone]) -> String {
    list(&commands.iter().map(|command| (command.name, command.summary)).collect::<Vec<_>>())
}

fn longest<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(str::len).max().unwrap_or(0)
}

/// A name and its description, in two columns.
fn list_row(indent: usize, width: usize, name: &str, text: &str) -> String {
    format!("{:indent$}{name:<width$}  {text}\n", "")
}

/// The names of the verbs, one row per group.
fn verb_names() -> String {
    let names = |group| VERBS.iter().filter(|verb| verb.group == group).map(|verb| verb.name).collect::<Vec<_>>().join(" ");
    Group::ALL.into_iter().map(|group| row(&format!("{}:", group.title()), &names(group))).collect()
}

fn row(title: &str, text: &str) -> String {
    format!("  {title:<21}{text}\n")
}

/// The width of help: that of the terminal, limited for readability.
fn columns() -> usize {
    screen::columns().unwrap_or(screen::DEFAULT).min(100)
}

/// Wraps text to fit the terminal.
pub fn fitted(text: &str) -> String {
    screen::wrapped(text, columns())
}

pub fn global_options() -> String {
    arguments::listed(&Typed::augment_args(Command::new("tatter")), columns())
}

/// An option with its description.
pub fn of_option(option: &Arg) -> String {
    of_options([option])
}

/// Options with their descriptions.
pub fn of_options<'a>(options: impl IntoIterator<Item = &'a Arg>) -> String {
    arguments::listed(&Command::new("tatter").args(options.into_iter().cloned()), columns())
}

/// The nearest of `names` to a mistyped word. A short word is close to many names, so the names must start with the
/// same letter.
pub fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_short = word.chars().count() < 5;
    let begins_alike = |name: &&str| name.chars().next() == word.chars().next();
    nearest(word, names.filter(|name| !is_short || begins_alike(name)))
}

/// The output of `tatter VERB --help`.
pub fn of_verb(verb: &Entry) -> String {
    let mut text = match verb.combines {
        true => of(verb.name, verb.summary, &format!("{}\n\n{}", verb.about, brackets(verb.name)), verb.command()),
        false => of(verb.name, verb.summary, verb.about, verb.command()),
    };
    if !verb.meaning.is_empty() {
        let _ = write!(text, "\n{}", fitted(&format!("Modeled on: {}\n", verb.meaning)));
    }
    examples(&mut text, verb.examples);
    text + &closing()
}

/// The end of the help of everything that reads files.
fn closing() -> String {
    let options = fitted("\n`tatter --help` lists the global options, such as --from, --schema and -o.\n");
    format!("\n{}{options}", fitted(EXIT_CODES))
}

/// The output of `tatter COMMAND --help` for a standalone command.
pub fn of_command(command: &Standalone) -> String {
    let own = command.command();
    let reads_files = own.get_arguments().any(|arg| arg.get_value_hint() == ValueHint::FilePath);
    let mut text = of(command.name, command.summary, command.about, own);
    examples(&mut text, command.examples);
    if reads_files { text + &closing() } else { text }
}

fn of(name: &str, summary: &str, about: &str, command: Command) -> String {
    let head = format!("tatter {name}: {summary}\n\nUsage: {}\n\n{}\n", usage_line(name, &command), about.trim_end());
    let mut text = fitted(&head);
    let arguments = arguments::listed(&command, columns());
    if !arguments.is_empty() {
        let _ = write!(text, "\n{arguments}");
    }
    text
}

fn examples(text: &mut String, examples: &[Example]) {
    if examples.is_empty() {
        return;
    }
    text.push_str("\nExamples:\n");
    for example in examples {
        let command = screen::wrapped_command(&format!("    $ tatter {}", example.args), columns(), 8);
        let _ = writeln!(text, "{}\n{command}", fitted(&format!("  {}", example.about)));
        for (label, lines) in [("in", example.input), ("out", example.output)] {
            for (i, line) in lines.lines().enumerate() {
                let label = if i == 0 { label } else { "" };
                text.push_str(&fitted(&format!("    {label:<5}{line}\n")));
            }
        }
    }
}

/// The markers around [`verb_table`] in README.md.
pub const MARKS: (&str, &str) = ("<!-- verbs -->\n", "<!-- end of verbs -->");

/// The verbs as a Markdown table.
pub fn verb_table() -> String {
    let mut text = String::from("| verb | what it does | modeled on |\n|---|---|---|\n");
    for verb in VERBS {
        let words = usage_line(verb.name, &verb.command());
        let words = words.trim_start_matches("tatter ").trim_end_matches(" [FILE]...").replace(" [OPTIONS]", "");
        let _ = writeln!(text, "| `{}` | {} | {} |", words.replace('|', "\\|"), verb.summary.replace('|', "\\|"), verb.meaning);
    }
    text
}
