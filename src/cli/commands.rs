//! The standalone commands, one row each.

use super::standalone::Standalone;
use super::{help, man, scripts, topics};
use crate::error::Error;
use crate::formats::IndexForm;
use crate::run::diff::{self, Comparison};
use crate::run::index;
use crate::tensor::equal::Tolerance;
use crate::verbs::{Example, Keys, Verdict};
use clap::{Arg, ArgAction};
use std::ffi::{OsStr, OsString};

/// An option of `diff` that takes a number.
fn tolerance(name: &'static str, help: &'static str) -> Arg {
    let number = |text: &str| match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("expected a number that is not negative, such as 1e-6"),
    };
    Arg::new(name).long(name).value_name("X").value_parser(number).help(help)
}

/// All standalone commands, in help order.
pub static COMMANDS: &[Standalone] = &[
    Standalone {
        name: "diff",
        summary: "Print the first difference between two datasets",
        about: "Compares two datasets, in any formats, record by record, and prints the first difference: the record, the path to \
                the value, and both values. The exit code is 1 if there is a difference. Both datasets are read with a common schema that \
                fits all records, so 1 equals 1.0, int32 equals int64, and an absent key equals null, as does a field that \
                only one dataset has; field order does not matter. \
                If both are Parquet or Arrow files, their stored types, nullability and metadata are also compared.\n\n\
                Indices in a path start at 0: docs[1].tokens[2]. Options such as --from and --schema apply to both; \
                --on-error does not apply.\n\n\
                With --by, records with equal keys are compared, whatever their order, and the report says how many records are in only one \
                of the datasets and how many differ, and shows the first of each. A key must be unique in each dataset. Keys are compared as in `unique`. \
                Both datasets are sorted by key, beyond --max-memory in temporary files (see --temp-dir).",
        examples: &[
            Example {
                about: "the datasets differ in one value",
                args: "diff a.jsonl b.jsonl",
                input: "==> a.jsonl <==\n{\"id\": 1, \"x\": [1]}\n{\"id\": 2, \"x\": [2, 3]}\n\
                        ==> b.jsonl <==\n{\"id\": 1, \"x\": [1.0]}\n{\"id\": 2, \"x\": [2, 4]}\n",
                output: "record 2: x[1]\n  a.jsonl: 3.0\n  b.jsonl: 4.0\n",
            },
            Example {
                about: "compare the output of a chain with a file, ignoring types and metadata",
                args: "drop x a.jsonl | tatter diff --values-only - b.jsonl",
                input: "==> a.jsonl <==\n{\"id\": 1, \"x\": [1]}\n==> b.jsonl <==\n{\"id\": 1}\n{\"id\": 2}\n",
                output: "record 2: only in b.jsonl; standard input ends before it\n",
            },
            Example {
                about: "floats may differ by one part in a million",
                args: "diff --rtol 1e-6 a.jsonl b.jsonl",
                input: "==> a.jsonl <==\n{\"x\": [0.1, 2.0]}\n==> b.jsonl <==\n{\"x\": [0.10000001, 2.1]}\n",
                output: "record 1: x[1]\n  a.jsonl: 2.0\n  b.jsonl: 2.1\n",
            },
            Example {
                about: "records are paired by id",
                args: "diff --by id a.jsonl b.jsonl",
                input: "==> a.jsonl <==\n{\"id\": 1, \"x\": \"a\"}\n{\"id\": 2, \"x\": \"b\"}\n{\"id\": 3, \"x\": \"c\"}\n\
                        ==> b.jsonl <==\n{\"id\": 3, \"x\": \"d\"}\n{\"id\": 1, \"x\": \"a\"}\n",
                output: "1 record only in a.jsonl: record 2, id: 2\n1 record differs: records 3 and 1, id: 3: x\n  a.jsonl: \"c\"\n  b.jsonl: \"d\"\n",
            },
        ],
        takes_output: true,
        augment: |command| {
            let file = |name: &'static str, help: &'static str| {
                Arg::new(name).required(true).value_parser(clap::value_parser!(OsString)).value_hint(clap::ValueHint::FilePath).help(help)
            };
            command
                .arg(file("A", "First dataset: a file, a quoted glob, shards or a directory; - is standard input"))
                .arg(file("B", "Second dataset, given in the same way"))
                .arg(
                    Arg::new("by")
                        .long("by")
                        .value_name("FIELDS")
                        .value_parser(Keys::parse)
                        .help("Compare records with the same values of these fields, instead of by position"),
                )
                .arg(Arg::new("values-only").long("values-only").action(ArgAction::SetTrue).help("Ignore types and metadata"))
                .arg(tolerance("rtol", "Floats a and b are equal if |a - b| <= ATOL + RTOL * |b| [default: 0]"))
                .arg(tolerance("atol", "Absolute tolerance; see --rtol [default: 0]"))
        },
        run: |matches, options, out| {
            let name = |which| matches.get_one::<OsString>(which).map_or(OsStr::new(""), OsString::as_os_str);
            let [relative, absolute] = ["rtol", "atol"].map(|which| matches.get_one::<f64>(which).copied());
            let tolerance = (relative.is_some() || absolute.is_some())
                .then(|| Tolerance { relative: relative.unwrap_or(0.0), absolute: absolute.unwrap_or(0.0) });
            let by = matches.get_one::<Keys>("by").cloned();
            let comparison = Comparison { by, values_only: matches.get_flag("values-only"), tolerance };
            diff::run(name("A"), name("B"), comparison, options, out)
        },
    },
    Standalone {
        name: "index",
        summary: "Write an index of the records of TFRecord files",
        about: "Lets `get`, `sample`, `shuffle` and `tail` read only the records they need. Writes x.tfrecord.idx next to each file: one \
                line per record with its offset and length, framing included, as DALI's tfrecord2idx does. With --binary it writes \
                x.tfrecord.offsets: pairs of uint64, little endian, which NumPy reads with numpy.fromfile(name, '<u8').reshape(-1, 2). \
                Either kind of index will do. The files must not be compressed.",
        examples: &[
            Example {
                about: "with an index, `get` reads only the third record",
                args: "convert ids.jsonl -o ids.tfrecord && tatter index ids.tfrecord && tatter get 3 --scalar id ids.tfrecord",
                input: "==> ids.jsonl <==\n{\"id\": 5}\n{\"id\": 6}\n{\"id\": 7}\n",
                output: "ids.tfrecord.idx: 3 records\n{\"id\":7}\n",
            },
            Example {
                about: "the offset and length of each record",
                args: "convert ids.jsonl -o ids.tfrecord && tatter index ids.tfrecord && cat ids.tfrecord.idx",
                input: "==> ids.jsonl <==\n{\"id\": 5}\n{\"id\": 6}\n",
                output: "ids.tfrecord.idx: 2 records\n0 31\n31 31\n",
            },
        ],
        takes_output: true,
        augment: |command| {
            command
                .arg(
                    Arg::new("FILE")
                        .required(true)
                        .num_args(1..)
                        .value_parser(clap::value_parser!(OsString))
                        .value_hint(clap::ValueHint::FilePath)
                        .help("TFRecord files, quoted globs, shards or directories"),
                )
                .arg(Arg::new("binary").long("binary").action(ArgAction::SetTrue).help("Write pairs of uint64 instead of text"))
        },
        run: |matches, options, out| {
            let files: Vec<OsString> = matches.get_many::<OsString>("FILE").unwrap_or_default().cloned().collect();
            let form = if matches.get_flag("binary") { IndexForm::Binary } else { IndexForm::Text };
            index::run(&files, form, options, out)
        },
    },
    Standalone {
        name: "completions",
        summary: "Print shell completions: bash, zsh, fish or powershell",
        about: "Prints a script that completes verbs, options, their values, files, and the fields of the file on the \
                command line (in fish, only if the file comes before the cursor).\n\n\
                bash:\n    \
                    mkdir -p ~/.local/share/bash-completion/completions\n    \
                    tatter completions bash > ~/.local/share/bash-completion/completions/tatter\n\
                zsh, in a directory of $fpath:\n    \
                    tatter completions zsh > ~/.zfunc/_tatter\n\
                fish:\n    \
                    tatter completions fish > ~/.config/fish/completions/tatter.fish\n\
                PowerShell:\n    \
                    tatter completions powershell >> $PROFILE",
        examples: &[],
        takes_output: false,
        augment: |command| {
            command.arg(Arg::new("SHELL").required(true).value_parser(scripts::SHELLS).help("Shell for which to print the script"))
        },
        run: |matches, _, out| scripts::write(matches.get_one::<String>("SHELL").map_or("", String::as_str), out),
    },
    Standalone {
        name: "man",
        summary: "Print a man page, or write all pages to a directory",
        about: "Prints the man page of a verb or of `functions`, or tatter(1) if no PAGE is given, in roff format. \
                To view a page, run `tatter man head | man -l -`. `tatter man --output DIR` writes all pages to a directory.",
        examples: &[],
        takes_output: true,
        augment: |command| command.arg(Arg::new("PAGE").help("A verb, or functions [default: tatter]")),
        run: |matches, options, out| {
            let page = matches.get_one::<String>("PAGE").map(String::as_str);
            match (page, &options.output) {
                (None, Some(directory)) => man::write_all(std::path::Path::new(directory), COMMANDS, options, out)?,
                (Some(_), Some(_)) => return Err(Error::usage("man --output writes all pages; it takes no PAGE")),
                (page, None) => {
                    let text = man::page(page.unwrap_or("tatter"), COMMANDS)?;
                    out.write_all(&text).map_err(|e| Error::io("standard output", "cannot write", &e))?;
                }
            }
            Ok(Verdict::Good)
        },
    },
    Standalone {
        name: "help",
        summary: "Show help on a verb, a function or a topic",
        about: "The same as `tatter VERB --help` or, without a verb, `tatter --help`. \
                `tatter help functions` lists the functions available in expressions, and `tatter help concat` explains a single one; if a \
                verb and a function share a name, as with `unique`, `tatter help tf.unique` explains the function. `tatter help topics` lists the topics.",
        examples: &[],
        takes_output: false,
        augment: |command| {
            command.arg(Arg::new("TOPIC").num_args(1..).help("A verb, a function, a topic, or another command, such as diff"))
        },
        run: |matches, _, out| {
            let text = match matches.get_many::<String>("TOPIC") {
                Some(words) => topics::of_word(&words.map(String::as_str).collect::<Vec<_>>().join(" "), COMMANDS)?,
                None => help::long(COMMANDS),
            };
            out.write_all(text.as_bytes()).map_err(|e| Error::io("standard output", "cannot write", &e))?;
            Ok(Verdict::Good)
        },
    },
];

/// Finds a command by name.
pub fn find(name: &str) -> Option<&'static Standalone> {
    COMMANDS.iter().find(|c| c.name == name)
}
