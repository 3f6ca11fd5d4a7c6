//! The global options as typed, and their resolution. This is the single definition for the parser, the help, the man
//! page and completions.

use crate::error::{Error, Result, mismatch, nearest};
use crate::formats::{FORMATS, Format};
use crate::io::limits::available_memory;
use crate::options::{Compression, CsvOptions, MegatronOptions, OnError, Options, Quote, Scalars, SourceColumns, When};
use crate::path::FieldPath;
use crate::printable::shell_word;
use crate::tensor::arrow::extension::TensorTypes;
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Options before the first verb or after the last.
#[derive(Args, Clone, Debug, Default)]
pub struct Typed {
    /// Output file; `-` is standard output [default: standard output]
    #[arg(short = 'o', long = "output", value_name = "OUT", help_heading = "Files")]
    output: Option<OsString>,
    /// Write one file per input into DIR, named after the input, with the extension of the output format
    #[arg(long, value_name = "DIR", conflicts_with = "output", help_heading = "Files")]
    output_dir: Option<OsString>,
    /// Write a JSON list of the output files: names, record counts, sizes in bytes and SHA-256
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    manifest: Option<OsString>,
    /// Format of the input [default: detected from the first bytes, otherwise from the extension]
    #[arg(long, value_name = "FORMAT", help_heading = "Files")]
    from: Option<String>,
    /// Format of the output [default: by extension; jsonl for standard output and for a name without an extension]
    #[arg(long, value_name = "FORMAT", help_heading = "Files")]
    to: Option<String>,
    /// Name to use for standard input in messages and --source; random numbers depend on it
    #[arg(long, value_name = "NAME", help_heading = "Files")]
    input_name: Option<String>,
    /// Read the names of additional files and directories from LIST, one per line; `-` is standard input
    #[arg(long, value_name = "LIST", help_heading = "Files")]
    files_from: Option<OsString>,
    /// Names in LIST are NUL-terminated, as `find -print0` writes them
    #[arg(short = '0', long = "null", help_heading = "Files")]
    null_separated: bool,
    /// Types of some or all fields; @FILE reads them from the output of `schema`, as text or JSON, or from a data file that stores its types
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Files")]
    schema: Option<OsString>,
    /// Write N shards: OUT-00000-of-0000N, ...; record i goes to shard i mod N
    #[arg(long, value_name = "N", help_heading = "Files")]
    shards: Option<usize>,
    /// Write shards even if shards from an earlier run with a different N exist
    #[arg(long, help_heading = "Files")]
    force: bool,
    /// Fail if an output file already exists
    #[arg(long, help_heading = "Files")]
    no_clobber: bool,
    /// Let an output file replace an input file
    #[arg(long, help_heading = "Files")]
    in_place: bool,
    /// Flush output files to disk (fsync) before renaming them into place
    #[arg(long, help_heading = "Files")]
    durable: bool,
    /// Add the origin of each record as fields: file, record (numbered from 1), byte (offset from 0), hive (fields in the names of directories, such as year=2024); NAME=file adds the file as NAME
    #[arg(long, value_name = "WHAT,..", value_parser = SourceColumns::parse, help_heading = "Files")]
    source: Option<SourceColumns>,
    /// Print the plan without running it
    #[arg(long, help_heading = "Running")]
    dry_run: bool,
    /// Worker threads [default: available cores]
    #[arg(long, value_name = "N", help_heading = "Running")]
    threads: Option<NonZeroUsize>,
    /// Maximum records in a chunk [default: by size]
    #[arg(long, value_name = "N", help_heading = "Running")]
    chunk_rows: Option<NonZeroUsize>,
    /// Write each record to standard output as soon as it arrives on a pipe, for example from tail -f
    #[arg(long, help_heading = "Running")]
    unbuffered: bool,
    /// Directory for temporary files [default: the directory of the output file; for standard output, TMPDIR or /tmp]
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    temp_dir: Option<PathBuf>,
    /// Seed for random numbers; give it before the first verb if the last verb has its own --seed
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Running")]
    seed: u64,
    /// Define a constant for expressions: VALUE is a literal (7, True, [1, 2], "text"); anything else is a string
    #[arg(long = "arg", value_name = "NAME=VALUE", help_heading = "Running")]
    args: Vec<String>,
    /// Define an array constant for expressions, from a file with one array: npy, npz or safetensors
    #[arg(long = "with", value_name = "NAME=FILE", help_heading = "Running")]
    with: Vec<String>,
    /// What to do with bad records; the quarantine file is JSON Lines
    #[arg(long, value_name = "fail|skip|null|quarantine=FILE", default_value = "fail", help_heading = "Bad input")]
    on_error: OsString,
    /// Exit with 0 if at most N records are bad; otherwise fail
    #[arg(long, value_name = "N", help_heading = "Bad input")]
    max_errors: Option<u64>,
    /// Maximum size of a record, such as a line or a TFRecord
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_bytes, help_heading = "Bad input")]
    max_record_bytes: u64,
    /// Memory limit for verbs that buffer records; beyond it, sort and some other verbs spill to temporary files [default: 75% of available memory]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Bad input")]
    max_memory: Option<u64>,
    /// Treat notices as errors
    #[arg(long, help_heading = "Bad input")]
    strict: bool,
    /// When to show progress: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = WHEN, help_heading = "Messages")]
    progress: String,
    /// Write a summary of the run as JSON; `-` writes it to standard error
    #[arg(long, value_name = "FILE", help_heading = "Messages")]
    summary: Option<PathBuf>,
    /// Suppress notices and progress
    #[arg(short, long, help_heading = "Messages")]
    quiet: bool,
    /// Print formats, threads, memory limit and a summary to standard error
    #[arg(short, long, help_heading = "Messages")]
    verbose: bool,
    /// Print the time spent in each stage, and the maximum speedup from more threads
    #[arg(long, help_heading = "Messages")]
    explain_time: bool,
    /// When to color messages: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = WHEN, help_heading = "Messages")]
    color: String,
    /// Format of messages on standard error: text, or json (one object per line)
    #[arg(long, value_name = "text|json", default_value = "text", value_parser = ["text", "json"], help_heading = "Messages")]
    messages: String,
    /// Compression of the output: gzip, zstd or none; Parquet, Arrow and ArrayRecord also accept some of snappy, lz4 and zstd:LEVEL [default: by extension, otherwise the default of the format]
    #[arg(long, value_name = "CODEC", help_heading = "Format options")]
    compression: Option<String>,
    /// Maximum rows in a Parquet row group, Arrow record batch or ArrayRecord chunk [default for ArrayRecord: 1]
    #[arg(long, value_name = "N", help_heading = "Format options")]
    row_group_rows: Option<NonZeroUsize>,
    /// TFRecord features to read as scalars; auto: every feature that never has more than one value
    #[arg(long, value_name = "NAMES|auto", help_heading = "Format options")]
    scalar: Option<String>,
    /// Write dense numeric fields of fixed shape (with =variable, of any shape) as Arrow's tensor extension types
    #[arg(long, value_name = "fixed|variable", num_args = 0..=1, require_equals = true, default_missing_value = "fixed", value_parser = tensor_types, help_heading = "Format options")]
    tensor_types: Option<TensorTypes>,
    /// Do not verify the checksums of TFRecords and ArrayRecords
    #[arg(long, help_heading = "Format options")]
    no_verify: bool,
    /// Omit null fields from JSON output
    #[arg(long, help_heading = "Format options")]
    omit_null: bool,
    /// Read fields of mixed type as `json`, and CSV columns of mixed type as `string`
    #[arg(long, value_name = "json", value_parser = ["json"], hide_possible_values = true, help_heading = "Format options")]
    mixed: Option<String>,
    /// Number of bytes of piped input from which to infer types; all: the whole input, read from a temporary copy [default: 64MiB; with --unbuffered, the bytes that arrive first]
    #[arg(long, value_name = "BYTES", value_parser = parse_infer_bytes, help_heading = "Format options")]
    infer_bytes: Option<u64>,
    /// TFDS: on input, the split to read, such as train, 'train[:10%]', train+test, or all; on output, the name of the split
    #[arg(long, value_name = "SPLIT", help_heading = "Format options")]
    split: Option<String>,
    /// TFDS: name of the dataset to write [default: the name of its directory]
    #[arg(long = "name", value_name = "NAME", help_heading = "Format options")]
    dataset_name: Option<String>,
    /// TFDS: read class labels as their names
    #[arg(long, help_heading = "Format options")]
    class_names: bool,
    /// libsvm: index of the first feature [default: on input, 0 if any index is 0, otherwise 1; on output, the base of a libsvm input, otherwise 1]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(i64).range(0..=1), help_heading = "Format options")]
    index_base: Option<i64>,
    /// libsvm, Matrix Market, SciPy: sum values that have the same index in a row
    #[arg(long, help_heading = "Format options")]
    sum_duplicates: bool,
    /// CSV: character between fields [default: a comma; for TSV, a tab]
    #[arg(long, value_name = "CHAR", value_parser = ascii, help_heading = "Format options")]
    delimiter: Option<u8>,
    /// CSV: quote character of the input [default: "]; none: quotes are ordinary characters, as in many TSV files
    #[arg(long, value_name = "CHAR", value_parser = quote, help_heading = "Format options")]
    quote: Option<Quote>,
    /// CSV: character between the items of a list [default: none; a field is one value]
    #[arg(long, value_name = "CHAR", value_parser = ascii, help_heading = "Format options")]
    list_separator: Option<u8>,
    /// CSV: comma-separated list of strings that mean null [default: the empty field]
    #[arg(long, value_name = "WORDS", help_heading = "Format options")]
    nulls: Option<String>,
    /// CSV: names of the columns; the first line is data, not a header
    #[arg(long, value_name = "NAMES", help_heading = "Format options")]
    columns: Option<String>,
    /// TFRecord, ArrayRecord: records are plain bytes, in one field `bytes` [default: tf.Example]
    #[arg(long, help_heading = "Format options")]
    raw_records: bool,
    /// WebDataset: read every member as bytes [default: by extension, such as json, txt, cls]
    #[arg(long, help_heading = "Format options")]
    raw_members: bool,
    /// Megatron: read one record per document, with its sequences as rows [default: one per sequence]
    #[arg(long, help_heading = "Format options")]
    documents: bool,
    /// Megatron: vocabulary size; token ids are written as uint16 if N is below 65500, otherwise as int32, and ids of N or more are rejected [default: use the dtype of the field]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "smallest_dtype", help_heading = "Format options")]
    vocab_size: Option<u64>,
    /// Megatron: write the smallest integer dtype that can hold all values, which are kept in temporary files until the dtype is known
    #[arg(long, help_heading = "Format options")]
    smallest_dtype: bool,
    /// Megatron: append this token to each document
    #[arg(long, value_name = "ID", allow_negative_numbers = true, help_heading = "Format options")]
    append_eod: Option<i64>,
}

/// Parses a quote character.
fn quote(text: &str) -> std::result::Result<Quote, String> {
    match text.as_bytes() {
        b"none" => Ok(Quote::None),
        b"\"" => Ok(Quote::Char(b'"')),
        _ => ascii(text).map(Quote::Char).map_err(|_| "expected one character, such as ', or none".to_owned()),
    }
}

/// Parses a field separator.
fn ascii(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [one] if one.is_ascii() && !one.is_ascii_alphanumeric() && !matches!(one, b'"' | b'\n' | b'\r' | b'-' | b'+' | b'.') => Ok(*one),
        _ => Err("expected one character that is not a letter, digit, quote, `+`, `-` or `.`\nfor a tab: --delimiter '\\t'".to_owned()),
    }
}

const WHEN: [&str; 3] = ["auto", "always", "never"];

impl Typed {
    /// Refuses options with a file where none is expected, or without the file that they need.
    fn refuse_mistaken_files(&self) -> Result<()> {
        if self.null_separated && self.files_from.is_none() {
            let error = Error::usage("--null requires --files-from LIST");
            return Err(error.help("to read strings in CSV as null, such as NA and the empty field: --nulls 'NA,'"));
        }
        if let Some(file) = self.schema.as_ref().and_then(|text| text.to_str()).filter(|text| std::path::Path::new(text).is_file()) {
            let error = Error::usage(mismatch("types", "the name of a file").prefixed(format_args!("--schema {file}")));
            return Err(error.help(format!("to read it from the file: --schema {}", shell_word(&format!("@{file}")))));
        }
        let is_file_name = |text: &&str| {
            let (stem, extension) = text.rsplit_once('.').unwrap_or_default();
            !stem.is_empty() && !extension.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c))
        };
        if let Some(file) = self.schema.as_ref().and_then(|text| text.to_str()).filter(is_file_name) {
            let error = Error::usage(mismatch("types", file).prefixed("--schema"));
            return Err(error
                .help(format!("to read types from a file: --schema @{file}"))
                .help("write types as `name: type`, such as tokens: int64[?]"));
        }
        if self.schema.as_deref() == Some(OsStr::new("@-")) {
            let error = Error::usage("--schema @-: the types are read from a file, not from standard input");
            return Err(error.help("pass the output of a command as text: --schema \"$(tatter schema FILE)\""));
        }
        Ok(())
    }

    /// Resolves every option value.
    ///
    /// # Errors
    /// A usage error for a value that is not one of those expected.
    pub fn resolve(mut self) -> Result<Options> {
        for (name, option) in [(&mut self.from, "--from"), (&mut self.to, "--to")] {
            if let Some(name) = name {
                *name = known_format(name, option)?.to_owned();
            }
        }
        self.refuse_mistaken_files()?;
        Ok(Options {
            threads: threads(self.threads),
            on_error: on_error(&self.on_error)?,
            max_memory: self.max_memory.unwrap_or_else(|| available_memory() / 4 * 3),
            progress: when(&self.progress),
            json_messages: self.messages == "json",
            color: when(&self.color),
            compression: self.compression.as_deref().map(compression).transpose()?,
            scalar: scalars(self.scalar.as_deref())?,
            mixed: self.mixed.is_some(),
            output: self.output,
            output_dir: self.output_dir,
            manifest: self.manifest,
            from: self.from,
            to: self.to,
            input_name: self.input_name,
            files_from: self.files_from,
            null_separated: self.null_separated,
            schema: self.schema,
            shards: self.shards,
            force: self.force,
            no_clobber: self.no_clobber,
            in_place: self.in_place,
            durable: self.durable,
            dry_run: self.dry_run,
            chunk_rows: self.chunk_rows.map(NonZeroUsize::get),
            seed: self.seed,
            temp_dir: self.temp_dir,
            args: self.args,
            with: self.with,
            max_errors: self.max_errors,
            max_record_bytes: self.max_record_bytes,
            strict: self.strict,
            summary: self.summary,
            quiet: self.quiet,
            verbose: self.verbose,
            explain_time: self.explain_time,
            row_group_rows: self.row_group_rows.map(NonZeroUsize::get),
            tensor_types: self.tensor_types,
            no_verify: self.no_verify,
            omit_null: self.omit_null,
            infer_bytes: self.infer_bytes.unwrap_or(if self.unbuffered { 1 } else { Options::default().infer_bytes }),
            unbuffered: self.unbuffered,
            split: self.split,
            dataset_name: self.dataset_name,
            class_names: self.class_names,
            index_base: self.index_base,
            sum_duplicates: self.sum_duplicates,
            csv: CsvOptions {
                delimiter: self.delimiter,
                quote: self.quote,
                list_separator: self.list_separator,
                nulls: self.nulls.map(|words| words.split(',').map(str::to_owned).collect()),
                columns: self.columns.map(|names| names.split(',').map(str::to_owned).collect()),
            },
            raw_records: self.raw_records,
            raw_members: self.raw_members,
            source_columns: self.source.unwrap_or_default(),
            megatron: MegatronOptions {
                documents: self.documents,
                vocab_size: self.vocab_size,
                smallest_dtype: self.smallest_dtype,
                append_eod: self.append_eod,
            },
            ..Options::default()
        })
    }
}

/// The format with this name, or whose files have it as their extension.
fn known_format(name: &str, option: &str) -> Result<&'static str> {
    let can_be = |format: &&&dyn Format| option != "--to" || format.name() != "none";
    let names = || FORMATS.iter().filter(can_be).map(|f| f.name());
    let by_extension = || FORMATS.iter().find(|format| format.extensions().contains(&name)).map(|format| format.name());
    if let Some(known) = names().find(|known| *known == name).or_else(by_extension) {
        return Ok(known);
    }
    if name.is_empty() {
        return Err(Error::usage(format!("{option}: the name of a format is missing")));
    }
    let error = Error::usage(format!("{option} {name}: unknown format"));
    let same = match name {
        "jsonlines" | "json-lines" | "ldjson" | "jl" => Some("jsonl"),
        "numpy" | "np" => Some("npz"),
        _ => None,
    };
    if let ("--to", "html") = (option, name) {
        return Err(error.help("`stats` writes a report: stats --as html"));
    }
    if let ("--to", "table" | "pretty" | "md" | "markdown" | "xtab" | "box") = (option, name) {
        return Err(error.help("for columns of text: --to tsv | column -t; the verb `show` prints tensors as TensorFlow does"));
    }
    Err(match same.or_else(|| nearest(name, names())) {
        Some(near) => error.help(format!("did you mean {near}?")),
        None => error.help(format!("the formats are: {}", names().collect::<Vec<_>>().join(", "))),
    })
}

fn threads(typed: Option<NonZeroUsize>) -> usize {
    typed.or_else(|| std::thread::available_parallelism().ok()).map_or(1, |threads| threads.get().min(1024))
}

fn on_error(text: &OsStr) -> Result<OnError> {
    match (text.to_str(), text.as_bytes().strip_prefix(b"quarantine=")) {
        (Some("fail"), _) => Ok(OnError::Fail),
        (Some("skip"), _) => Ok(OnError::Skip),
        (Some("null"), _) => Ok(OnError::Null),
        (_, Some(b"-")) => Err(Error::usage("--on-error quarantine=-: expected the name of a file")
            .help("the messages on standard error name the bad records")),
        (_, Some(file)) if !file.is_empty() => Ok(OnError::Quarantine(OsStr::from_bytes(file).into())),
        (name, _) => {
            let error = Error::usage(format!("--on-error {}: expected fail, skip, null or quarantine=FILE", text.display()));
            Err(match name {
                Some("ignore" | "drop" | "warn" | "continue") => error.help("to skip bad records: --on-error skip"),
                Some(name) if "quarantine=".starts_with(name) => {
                    error.help("to keep bad records in a file: --on-error quarantine=bad.jsonl")
                }
                _ => error,
            })
        }
    }
}

/// One of [`WHEN`], which the parser has checked.
fn when(text: &str) -> When {
    match text {
        "always" => When::Always,
        "never" => When::Never,
        _ => When::Auto,
    }
}

/// The value of `--color` in words that may have failed to parse, because their error message is colored too.
pub fn typed_color(words: &[OsString]) -> When {
    typed_value(words, "--color").map_or(When::Auto, |value| when(&value))
}

/// Whether `--messages` requests JSON, in words that may have failed to parse.
pub fn typed_json_messages(words: &[OsString]) -> bool {
    typed_value(words, "--messages").is_some_and(|value| value == "json")
}

fn typed_value(words: &[OsString], option: &str) -> Option<String> {
    let words: Vec<_> = words.iter().take_while(|word| *word != "--").map(|word| word.to_string_lossy()).collect();
    let value = words.iter().enumerate().rev().find_map(|(i, word)| match word.strip_prefix(option) {
        Some("") => words.get(i + 1).map(AsRef::as_ref),
        Some(value) => value.strip_prefix('='),
        None => None,
    });
    value.map(str::to_owned)
}

fn compression(text: &str) -> Result<Compression> {
    let (name, level) = match text.split_once(':') {
        Some((name, level)) => (name, Some(level)),
        None => (text, None),
    };
    let zstd_level = |text: &str| text.parse().ok().filter(|level| (1..=22).contains(level));
    let codec = match (name, level) {
        ("zstd", None) => Compression::Zstd(Compression::ZSTD_LEVEL),
        ("zstd", Some(level)) => match zstd_level(level) {
            Some(level) => Compression::Zstd(level),
            None => return Err(Error::usage(format!("--compression {text}: zstd has levels 1 to 22"))),
        },
        ("none", _) => Compression::None,
        ("snappy", _) => Compression::Snappy,
        ("gzip", _) => Compression::Gzip,
        ("lz4", _) => Compression::Lz4,
        _ => {
            let error = Error::usage(format!("--compression {text}: expected none, snappy, zstd, zstd:LEVEL, gzip or lz4"));
            let near = match name {
                "gz" => Some("gzip"),
                "zst" => Some("zstd"),
                _ => nearest(name, ["none", "snappy", "zstd", "gzip", "lz4"]),
            };
            return Err(match near {
                Some(near) => error.help(format!("did you mean {near}?")),
                None => error,
            });
        }
    };
    if level.is_some() && name != "zstd" {
        return Err(Error::usage(format!("--compression {text}: only zstd has levels")));
    }
    Ok(codec)
}

fn scalars(text: Option<&str>) -> Result<Scalars> {
    Ok(match text {
        None => Scalars::None,
        Some("auto") => Scalars::Auto,
        Some(names) => Scalars::Matching(FieldPath::parse_list(names)?.iter().map(|p| p.names().join(".")).collect()),
    })
}

/// Parses a number of bytes, or `all`.
fn parse_infer_bytes(text: &str) -> Result<u64, String> {
    if text == "all" { Ok(u64::MAX) } else { parse_bytes(text) }
}

/// Parses a number of bytes: `1000`, `64KiB`, `2GiB`, `1MB`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text.trim()[digits.len()..];
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(format!("`{unit}` is not a byte unit; write, for example, 1000, 64KiB or 2GiB")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| "expected a number of bytes, such as 1000, 64KiB or 2GiB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "the number does not fit in 64 bits".to_owned())
}

fn tensor_types(text: &str) -> std::result::Result<TensorTypes, String> {
    match text {
        "fixed" => Ok(TensorTypes::Fixed),
        "variable" => Ok(TensorTypes::Variable),
        _ => Err(format!("expected fixed or variable, found `{text}`")),
    }
}
