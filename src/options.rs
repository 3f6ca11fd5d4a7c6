//! The options of a run, resolved: enums and numbers, whatever was typed ([`crate::cli`] reads the words).

use crate::demand::Numbers;
use crate::error::{Error, Result};
use crate::notice::{Notices, Tally};
use crate::path::glob_matches;
use crate::schema::{Schema, Type};
use crate::screen;
use crate::tensor::Tensor;
use crate::tensor::arrow::extension::TensorTypes;
use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

/// What the global options say. [`Options::default`] is what they say where none is given, on a machine with
/// one core and 1 GiB of memory to use.
#[derive(Clone, Debug)]
pub struct Options {
    /// Output file; `-` or nothing: standard output.
    pub output: Option<OsString>,
    /// Whether `@N` and `#` in the output's name mean themselves.
    pub is_output_literal: bool,
    /// Directory of one output for each input.
    pub output_dir: Option<OsString>,
    /// Where the files written are listed.
    pub manifest: Option<OsString>,
    /// Name of the input's format.
    pub from: Option<String>,
    /// Name of the output's format.
    pub to: Option<String>,
    /// Name of standard input in messages.
    pub input_name: Option<String>,
    /// A list of further input files; `-`: on standard input.
    pub files_from: Option<OsString>,
    /// Whether zero bytes end the names in that list.
    pub null_separated: bool,
    /// Types of fields, or @FILE.
    pub schema: Option<OsString>,
    /// Number of files the output is divided into; `None`: a single output.
    pub shards: Option<usize>,
    /// Write shards even if those of an earlier run with another N remain.
    pub force: bool,
    /// Never replace a file.
    pub no_clobber: bool,
    /// An output may replace an input.
    pub in_place: bool,
    /// Output files are flushed to disk before they get their names.
    pub durable: bool,
    /// Print the plan, write nothing.
    pub dry_run: bool,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Records in a chunk, at most.
    pub chunk_rows: Option<usize>,
    /// Seed of verbs and functions that draw at random.
    pub seed: u64,
    /// `NAME=VALUE` of `--arg`.
    pub args: Vec<String>,
    /// `NAME=FILE` of `--with`.
    pub with: Vec<String>,
    /// What to do with bad records.
    pub on_error: OnError,
    /// Exit with 0 up to that many bad records; one more fails the run.
    pub max_errors: Option<u64>,
    /// Size of a record, such as a line or a TFRecord, at most, in bytes.
    pub max_record_bytes: u64,
    /// Memory for verbs that hold records.
    pub max_memory: u64,
    /// Where temporary files are made; `None`: beside the output.
    pub temp_dir: Option<PathBuf>,
    /// Notices are errors.
    pub strict: bool,
    /// Whether to show progress.
    pub progress: When,
    /// Where a summary of the run is written as JSON; `-`: standard error.
    pub summary: Option<PathBuf>,
    /// Show no notices and no progress.
    pub quiet: bool,
    /// Print formats, threads, the memory limit and a summary to standard error.
    pub verbose: bool,
    /// Print the time spent in each stage to standard error.
    pub explain_time: bool,
    /// Whether messages on standard error are JSON lines.
    pub json_messages: bool,
    /// Whether messages are colored; see [`in_color`].
    pub color: When,
    /// `None`: the format's own default.
    pub compression: Option<Compression>,
    /// Rows in a Parquet row group or an Arrow record batch, at most; `None`: the format's own default.
    pub row_group_rows: Option<usize>,
    /// Which features of TFRecords are read as scalars.
    pub scalar: Scalars,
    /// Which dense numeric fields get Arrow's tensor extension types; `None`: none.
    pub tensor_types: Option<TensorTypes>,
    /// Skip the checksums of TFRecords.
    pub no_verify: bool,
    /// Leave null fields out of JSON output.
    pub omit_null: bool,
    /// Read fields of mixed type as `json`.
    pub mixed: bool,
    /// Bytes of piped input used for inference; `u64::MAX`: it is copied to a temporary file and read as a file is.
    pub infer_bytes: u64,
    /// The splits of a TFDS data set that are read, such as `train[:10%]`; the name of the one that is written.
    pub split: Option<String>,
    /// The name of the TFDS data set that is written; `None`: by its directory.
    pub dataset_name: Option<String>,
    /// Whether class labels of a TFDS data set are read as their names.
    pub class_names: bool,
    /// Index of the first feature in libsvm; `None`: as found, and 1 in what is written.
    pub index_base: Option<i64>,
    /// Entries of a sparse row with the same index are summed when read.
    pub sum_duplicates: bool,
    /// How CSV and TSV are written down.
    pub csv: CsvOptions,
    /// Where records come from, as fields.
    pub source_columns: SourceColumns,
    /// What of Megatron's datasets is read and written.
    pub megatron: MegatronOptions,
    /// Records of TFRecord and ArrayRecord are bytes, whatever they hold.
    pub raw_records: bool,
    /// Members of a WebDataset are bytes, whatever their extension.
    pub raw_members: bool,
    /// Notices of the run: `options.notices.add(text, options.strict)?`.
    pub notices: Notices,
    /// Records that were read again and passed on once more.
    pub repeated: Tally,
    /// What `--verbose` tells of the run: `options.remarks.add(text, false)?`.
    pub remarks: Notices,
    /// The arrays of `--with`, once they are read: each with all its axes in one row.
    pub arrays: Arc<BTreeMap<String, (Type, Tensor)>>,
    /// The tables that verbs look records up in, by file and fields.
    pub tables: Arc<BTreeMap<(OsString, Vec<String>), Table>>,
    /// What a report compares with.
    pub baseline: Option<Arc<dyn Any + Send + Sync>>,
    /// Hints on the types that inference found, shown only by `schema`.
    pub hints: Notices,
    /// The records that the first verb keeps, by their numbers in each input; `None`: it has to see all.
    pub only: Option<Arc<Numbers>>,
    /// Name of the inputs' format, if all have the same; known once they are open.
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
            split: None,
            dataset_name: None,
            class_names: false,
            index_base: None,
            sum_duplicates: false,
            csv: CsvOptions::default(),
            source_columns: SourceColumns::default(),
            megatron: MegatronOptions::default(),
            raw_records: false,
            raw_members: false,
            notices: Notices::default(),
            remarks: Notices::default(),
            repeated: Tally::default(),
            arrays: Arc::default(),
            tables: Arc::default(),
            baseline: None,
            hints: Notices::default(),
            only: None,
            source: None,
        }
    }
}

impl Options {
    /// The columns that a report on standard output has to fit; `None` where it goes to a file or nothing is known.
    pub fn columns(&self) -> Option<usize> {
        let is_stdout = self.output.as_ref().is_none_or(|output| output == "-");
        is_stdout.then(screen::columns).flatten()
    }
}

/// How CSV and TSV are written down, where it is not as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// Between the fields; `None`: a comma or a tab.
    pub delimiter: Option<u8>,
    /// Between the items of a list; `None`: a field is one value.
    pub list_separator: Option<u8>,
    /// Fields that are null; `None`: those that are empty.
    pub nulls: Option<Vec<String>>,
    /// The names of the columns, where the first line is a record.
    pub columns: Option<Vec<String>>,
}

/// Where a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceColumn {
    /// The name of its input.
    File,
    /// Its number in the input, from 1.
    Record,
    /// The byte of the input at which it starts, decompressed.
    Byte,
}

/// The fields that `--source` adds, with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceColumns(pub Vec<(String, SourceColumn)>);

impl SourceColumns {
    /// `file,record,byte`, each perhaps with a name: `path=file`.
    ///
    /// # Errors
    /// Another word, or one name twice.
    pub fn parse(text: &str) -> Result<SourceColumns> {
        let mut columns: Vec<(String, SourceColumn)> = Vec::new();
        for word in text.split(',') {
            let (name, what) = word.split_once('=').unwrap_or((word, word));
            let column = match what {
                "file" => SourceColumn::File,
                "record" => SourceColumn::Record,
                "byte" => SourceColumn::Byte,
                _ => return Err(Error::usage(format!("--source {text}: expected file, record or byte, found `{what}`"))),
            };
            if name.is_empty() || columns.iter().any(|(other, _)| other == name) {
                return Err(Error::usage(format!("--source {text}: each field needs a different name")));
            }
            columns.push((name.to_owned(), column));
        }
        Ok(SourceColumns(columns))
    }

    /// Whether the bytes at which records start are wanted.
    pub fn wants_byte(&self) -> bool {
        self.0.iter().any(|(_, column)| *column == SourceColumn::Byte)
    }
}

/// What of Megatron's datasets is read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MegatronOptions {
    /// A record is a document, not a sequence.
    pub documents: bool,
    /// Number of token ids, which decides on the dtype; `None`: that of the field.
    pub vocab_size: Option<u64>,
    /// Write the smallest integer dtype that holds all values.
    pub smallest_dtype: bool,
    /// The token that ends each document.
    pub append_eod: Option<i64>,
}

/// A file that was read whole.
#[derive(Clone, Debug)]
pub struct Table {
    /// The fields that were asked for.
    pub schema: Schema,
    /// Number of records.
    pub nrows: usize,
    /// One column for each field.
    pub columns: Vec<Tensor>,
}

/// What to do with bad records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The first one fails the run.
    #[default]
    Fail,
    /// They are left out.
    Skip,
    /// Only the field that cannot be read is replaced, by null.
    Null,
    /// They are left out, and written to a file.
    Quarantine(PathBuf),
}

impl OnError {
    /// Whether bad records are left out.
    pub fn skips(&self) -> bool {
        *self != OnError::Fail
    }
}

/// Whether to show something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Where standard error is a terminal.
    #[default]
    Auto,
    /// Wherever standard error goes.
    Always,
    /// Not at all, even on a terminal.
    Never,
}

/// Whether messages are colored: `--color`, else what standard error and the environment say
/// (<https://no-color.org>, `CLICOLOR_FORCE`, `TERM=dumb`).
pub fn in_color(when: When) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR") => false,
        When::Auto if std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") => true,
        When::Auto => std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// How the pages or buffers of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
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
    /// The level of zstd where none is given.
    pub const ZSTD_LEVEL: i32 = 1;
}

/// Which features of TFRecords are scalars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scalars {
    /// No feature.
    #[default]
    None,
    /// All that never hold more than one value.
    Auto,
    /// Those whose name matches one of these patterns.
    Matching(Vec<String>),
}

impl Scalars {
    /// Whether a feature of that name, whose records hold up to `longest` values, is one.
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
/// There is no name.
pub fn named<'a>(text: &'a str, option: &str, what: &str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(Error::usage(format!("{option} takes NAME={what}, not {text:?}"))),
    }
}
