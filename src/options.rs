//! The resolved options of a run: enums and numbers ([`crate::cli`] parses the command line).

use crate::demand::RecordNumbers;
use crate::error::{Error, Result, mismatch};
use crate::notice::{Notices, Tally};
use crate::path::{self, glob_matches, new_name};
use crate::schema::{Field, Schema, Type};
use crate::screen;
use crate::tensor::Tensor;
use crate::tensor::arrow::extension::TensorTypes;
use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The values of the global options. [`Options::default`] has the values without any option, on a machine with one core
/// and 1 GiB of available memory.
#[derive(Clone, Debug)]
pub struct Options {
    /// Output file; `-` or `None` for standard output.
    pub output: Option<OsString>,
    /// Whether `@N` and `#` in the output name are literal.
    pub is_output_literal: bool,
    /// Directory with one output per input.
    pub output_dir: Option<OsString>,
    /// File that lists the files written.
    pub manifest: Option<OsString>,
    /// Name of the input's format.
    pub from: Option<String>,
    /// Name of the output's format.
    pub to: Option<String>,
    /// Name of standard input in messages.
    pub input_name: Option<String>,
    /// A list of additional input files; `-` reads it from standard input.
    pub files_from: Option<OsString>,
    /// Whether names in that list are terminated by NUL bytes.
    pub null_separated: bool,
    /// Types of fields, or @FILE.
    pub schema: Option<OsString>,
    /// Number of output files; `None` for a single output.
    pub shards: Option<usize>,
    /// Write shards even if shards of an earlier run with a different N exist.
    pub force: bool,
    /// Never replace a file.
    pub no_clobber: bool,
    /// Allow an output to replace an input.
    pub in_place: bool,
    /// Flush output files to disk before renaming them.
    pub durable: bool,
    /// Print the plan, write nothing.
    pub dry_run: bool,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Maximum number of records in a chunk.
    pub chunk_rows: Option<usize>,
    /// Seed of verbs and functions that use random numbers.
    pub seed: u64,
    /// `NAME=VALUE` of `--arg`.
    pub args: Vec<String>,
    /// `NAME=FILE` of `--with`.
    pub with: Vec<String>,
    /// What to do with bad records.
    pub on_error: OnError,
    /// Exit with 0 for up to that many bad records; one more fails the run.
    pub max_errors: Option<u64>,
    /// Bad records and values of the preceding inputs, if each input has its own output.
    pub bad_before: u64,
    /// Maximum size of a record, such as a line or a TFRecord, in bytes.
    pub max_record_bytes: u64,
    /// Memory for verbs that hold records.
    pub max_memory: u64,
    /// Directory for temporary files; `None` for that of the output.
    pub temp_dir: Option<PathBuf>,
    /// Treat notices as errors.
    pub strict: bool,
    /// Whether to show progress.
    pub progress: When,
    /// File for a summary of the run as JSON; `-` for standard error.
    pub summary: Option<PathBuf>,
    /// Show no notices and no progress.
    pub quiet: bool,
    /// Print formats, threads, the memory limit and a summary to standard error.
    pub verbose: bool,
    /// Print the time spent in each stage to standard error.
    pub explain_time: bool,
    /// Whether messages on standard error are JSON Lines.
    pub json_messages: bool,
    /// Whether messages are colored; see [`in_color`].
    pub color: When,
    /// `None` for the default of the format.
    pub compression: Option<Compression>,
    /// Maximum number of rows in a Parquet row group or Arrow record batch; `None` for the default of the format.
    pub row_group_rows: Option<usize>,
    /// Which features of TFRecords are read as scalars.
    pub scalar: Scalars,
    /// Which dense numeric fields get Arrow's tensor extension types; `None` for none.
    pub tensor_types: Option<TensorTypes>,
    /// Skip the checksums of TFRecords.
    pub no_verify: bool,
    /// Omit null fields from JSON output.
    pub omit_null: bool,
    /// Read fields of mixed type as `json`, and CSV columns of mixed type as `string`.
    pub mixed: bool,
    /// Bytes of piped input used for inference; with `u64::MAX`, the input is copied to a temporary file and read like
    /// a file.
    pub infer_bytes: u64,
    /// Whether records are written to standard output as soon as they are complete. Types of a pipe are inferred from
    /// what arrives first, as `infer_bytes` is then 1.
    pub unbuffered: bool,
    /// The splits of a TFDS dataset to read, such as `train[:10%]`, or the name of the split to write.
    pub split: Option<String>,
    /// The name of the TFDS dataset to write; `None` to derive it from the directory.
    pub dataset_name: Option<String>,
    /// Whether class labels of a TFDS dataset are read as names.
    pub class_names: bool,
    /// Index of the first libsvm feature; `None` to detect it on input and use 1 on output.
    pub index_base: Option<i64>,
    /// Sum the entries of a sparse row with the same index when reading.
    pub sum_duplicates: bool,
    /// The CSV and TSV dialect.
    pub csv: CsvOptions,
    /// The fields to add with the origin of records.
    pub source_columns: SourceColumns,
    /// The fields of `--source hive` in the directories of all inputs; known after the inputs have been found.
    pub hive_fields: Arc<Vec<Field>>,
    /// How Megatron datasets are read and written.
    pub megatron: MegatronOptions,
    /// Whether TFRecord and ArrayRecord records are read as raw bytes.
    pub raw_records: bool,
    /// Whether WebDataset members are read as bytes, regardless of extension.
    pub raw_members: bool,
    /// Notices of the run: `options.notices.add(text, options.strict)?`.
    pub notices: Notices,
    /// Number of records that were read again and passed on once more.
    pub repeated: Tally,
    /// Information for `--verbose`: `options.remarks.add(text, false)?`.
    pub remarks: Notices,
    /// The arrays of `--with`, after they have been read: each with all its axes in one row.
    pub arrays: Arc<BTreeMap<String, (Type, Tensor)>>,
    /// The lookup tables of verbs, by file and fields.
    pub tables: Arc<BTreeMap<(OsString, Vec<String>), Table>>,
    /// The types that `--schema` gives, after it has been read.
    pub declared: Arc<Schema>,
    /// The baseline that a report compares with.
    pub baseline: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether another input of the command, such as a table, may be the one with the splits of `--split`.
    pub splits_beside: bool,
    /// Hints about inferred types, shown only by `schema`.
    pub hints: Notices,
    /// The records that the first verb keeps, by number in each input; `None` if it must see all.
    pub only: Option<Arc<RecordNumbers>>,
    /// The format name of the inputs, if all have the same; known after they have been opened.
    pub source: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            output: None,
            is_output_literal: false,
            output_dir: None,
            manifest: None,
            from: None,
            to: None,
            input_name: None,
            files_from: None,
            null_separated: false,
            schema: None,
            shards: None,
            force: false,
            no_clobber: false,
            in_place: false,
            durable: false,
            dry_run: false,
            threads: 1,
            chunk_rows: None,
            seed: 0,
            args: Vec::new(),
            with: Vec::new(),
            on_error: OnError::default(),
            max_errors: None,
            bad_before: 0,
            max_record_bytes: 256 << 20,
            max_memory: 1 << 30,
            temp_dir: None,
            strict: false,
            progress: When::default(),
            summary: None,
            quiet: false,
            verbose: false,
            explain_time: false,
            json_messages: false,
            color: When::default(),
            compression: None,
            row_group_rows: None,
            scalar: Scalars::default(),
            tensor_types: None,
            no_verify: false,
            omit_null: false,
            mixed: false,
            infer_bytes: 64 << 20,
            unbuffered: false,
            split: None,
            dataset_name: None,
            class_names: false,
            index_base: None,
            sum_duplicates: false,
            csv: CsvOptions::default(),
            source_columns: SourceColumns::default(),
            hive_fields: Arc::default(),
            megatron: MegatronOptions::default(),
            raw_records: false,
            raw_members: false,
            notices: Notices::default(),
            remarks: Notices::default(),
            repeated: Tally::default(),
            arrays: Arc::default(),
            tables: Arc::default(),
            declared: Arc::default(),
            baseline: None,
            splits_beside: false,
            hints: Notices::default(),
            only: None,
            source: None,
        }
    }
}

impl Options {
    /// The width that a report on standard output must fit; `None` if it goes to a file or the width is unknown.
    pub fn columns(&self) -> Option<usize> {
        let is_stdout = self.output.as_ref().is_none_or(|output| output == "-");
        is_stdout.then(screen::columns).flatten()
    }

    /// The extension of the output's name, which determines the form of a report.
    pub fn output_extension(&self) -> Option<&str> {
        Path::new(self.output.as_ref()?).extension()?.to_str()
    }
}

/// How fields of CSV and TSV input are quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// With this character.
    Char(u8),
    /// Not at all: quotes are ordinary characters.
    None,
}

/// Deviations from the default CSV and TSV dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// The field separator; `None` for a comma or tab.
    pub delimiter: Option<u8>,
    /// The quote character of the input; `None` for `"`.
    pub quote: Option<Quote>,
    /// The separator of list items; `None` if a field is a single value.
    pub list_separator: Option<u8>,
    /// Texts that mean null; `None` for empty fields.
    pub nulls: Option<Vec<String>>,
    /// The column names, if the first line is a record.
    pub columns: Option<Vec<String>>,
}

/// The origin of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceColumn {
    /// The name of its input.
    File,
    /// Its number in the input, from 1.
    Record,
    /// Its byte offset in the decompressed input.
    Byte,
    /// The fields in the names of directories, such as `year=2024`.
    Hive,
}

/// The fields that `--source` adds, with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceColumns(pub Vec<(String, SourceColumn)>);

impl SourceColumns {
    /// Parses `file,record,byte,hive`, each but the last optionally with a name: `path=file`.
    ///
    /// # Errors
    /// An unknown word, or a repeated name.
    pub fn parse(text: &str) -> Result<SourceColumns> {
        let mut columns: Vec<(String, SourceColumn)> = Vec::new();
        for word in path::split(text, ',')? {
            let (name, what) = word.rsplit_once('=').unwrap_or((word, word));
            let column = match what {
                "file" => SourceColumn::File,
                "record" => SourceColumn::Record,
                "byte" => SourceColumn::Byte,
                "hive" if name == what => SourceColumn::Hive,
                "hive" => {
                    return Err(Error::usage("hive adds several fields, which have the names of directories")
                        .help("rename them later: rename old=new"));
                }
                _ => return Err(Error::usage(mismatch("file, record, byte or hive", format_args!("`{what}`")))),
            };
            let name = new_name(name)?;
            if columns.iter().any(|(other, _)| *other == name) {
                return Err(Error::usage("each field needs a different name"));
            }
            columns.push((name, column));
        }
        Ok(SourceColumns(columns))
    }

    /// Whether the byte offsets of records are needed.
    pub fn wants_byte(&self) -> bool {
        self.wants(SourceColumn::Byte)
    }

    /// Whether this is among them.
    pub fn wants(&self, wanted: SourceColumn) -> bool {
        self.0.iter().any(|(_, column)| *column == wanted)
    }
}

/// Options for Megatron datasets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MegatronOptions {
    /// Whether a record is a document rather than a sequence.
    pub documents: bool,
    /// Number of token ids, which determines the dtype; `None` to use that of the field.
    pub vocab_size: Option<u64>,
    /// Write the smallest integer dtype that holds all values.
    pub smallest_dtype: bool,
    /// The token appended to each document.
    pub append_eod: Option<i64>,
}

/// A file that was read completely.
#[derive(Clone, Debug)]
pub struct Table {
    /// The fields that were requested.
    pub schema: Schema,
    /// Number of records.
    pub nrows: usize,
    /// One column per field.
    pub columns: Vec<Tensor>,
}

/// What to do with bad records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The first bad record fails the run.
    #[default]
    Fail,
    /// Bad records are skipped.
    Skip,
    /// Only the unreadable field is replaced with null.
    Null,
    /// Bad records are skipped and written to a file.
    Quarantine(PathBuf),
}

impl OnError {
    /// Whether bad records are skipped.
    pub fn skips(&self) -> bool {
        *self != OnError::Fail
    }
}

/// When to show something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// If standard error is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never, even on a terminal.
    Never,
}

/// Whether messages are colored: given by `--color`, else by standard error and the environment
/// (<https://no-color.org>, <https://bixense.com/clicolors>, `TERM=dumb`).
pub fn in_color(when: When) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR") => false,
        When::Auto if std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") => true,
        When::Auto if std::env::var_os("CLICOLOR").is_some_and(|value| value == "0") => false,
        When::Auto => std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// The compression of the pages or buffers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    None,
    /// With Snappy.
    Snappy,
    /// With Zstandard, at a level from 1 to 22.
    Zstd(i32),
    /// With gzip.
    Gzip,
    /// With LZ4.
    Lz4,
}

impl Compression {
    /// The default zstd level.
    pub const ZSTD_LEVEL: i32 = 1;
}

/// Which TFRecord features are scalars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scalars {
    /// No feature.
    #[default]
    None,
    /// All features that never hold more than one value.
    Auto,
    /// Features whose names match one of these patterns.
    Matching(Vec<String>),
}

impl Scalars {
    /// Whether a feature with that name, whose records hold up to `longest` values, is a scalar.
    pub fn includes(&self, name: &str, longest: usize) -> bool {
        match self {
            Scalars::None => false,
            Scalars::Auto => longest <= 1,
            Scalars::Matching(patterns) => patterns.iter().any(|p| glob_matches(p, name)),
        }
    }
}

/// Splits `NAME=VALUE`.
///
/// # Errors
/// The name is missing.
pub fn named<'a>(text: &'a str, option: &str, what: &str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, _)) if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            let error = Error::usage(format!("{option} {name}: this name cannot be used in expressions"));
            Err(error.help("a name consists of letters, digits and `_`, and does not start with a digit"))
        }
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(Error::usage(mismatch(format_args!("NAME={what}"), format_args!("`{text}`")).prefixed(option))),
    }
}
