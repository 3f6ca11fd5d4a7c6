//! The global options: defined once for the parser, the help, the man page and everyone who reads them.

use crate::error::Error;
use crate::notice::Notices;
use crate::schema::Type;
use crate::tensor::Tensor;
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Options that stand before the first verb or after the last.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Output file; `-` or nothing: standard output
    #[arg(short = 'o', long = "output", value_name = "OUT", help_heading = "Files")]
    pub output: Option<String>,
    /// Format of the input [default: by its first bytes, else by extension]
    #[arg(long, value_name = "FORMAT", help_heading = "Files")]
    pub from: Option<String>,
    /// Format of the output [default: by extension; jsonl on standard output]
    #[arg(long, value_name = "FORMAT", help_heading = "Files")]
    pub to: Option<String>,
    /// Name of standard input in messages
    #[arg(long, value_name = "NAME", help_heading = "Files")]
    pub input_name: Option<String>,
    /// Types of fields, or @FILE: such a text, or data that states its types; may be partial
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Files")]
    pub schema: Option<String>,
    /// Write so many shards: OUT-00000-of-00008
    #[arg(long, value_name = "N", help_heading = "Files")]
    pub shards: Option<usize>,
    /// Leave files of an earlier run with other numbers where they are
    #[arg(long, help_heading = "Files")]
    pub force: bool,
    /// Print the plan; write nothing
    #[arg(long, help_heading = "Running")]
    pub dry_run: bool,
    /// Worker threads [default: the cores this process may use]
    #[arg(long, value_name = "N", help_heading = "Running")]
    pub threads: Option<usize>,
    /// Records in a chunk, at most [default: by size]
    #[arg(long, value_name = "N", help_heading = "Running")]
    pub chunk_rows: Option<usize>,
    /// Seed of shuffle, sample and the like
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Running")]
    pub seed: u64,
    /// A value for expressions
    #[arg(long = "arg", value_name = "NAME=VALUE", help_heading = "Running")]
    pub args: Vec<String>,
    /// An array as a constant for expressions: an npy, or an npz or safetensors file that holds one
    #[arg(long = "with", value_name = "NAME=FILE", help_heading = "Running")]
    pub with: Vec<String>,
    /// Bad records: fail, skip, or quarantine=FILE
    #[arg(long, value_name = "fail|skip|quarantine=FILE", default_value = "fail", help_heading = "Bad input")]
    pub on_error: String,
    /// So many bad records still give exit code 0; one more fails the run
    #[arg(long, value_name = "N", help_heading = "Bad input")]
    pub max_errors: Option<u64>,
    /// The longest record: a line, a TFRecord
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_bytes, help_heading = "Bad input")]
    pub max_record_bytes: u64,
    /// Memory of verbs that hold everything [default: 75% of what the process may use]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = "Bad input")]
    pub max_memory: Option<u64>,
    /// Notices are errors
    #[arg(long, help_heading = "Bad input")]
    pub strict: bool,
    /// auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"], help_heading = "Messages")]
    pub progress: String,
    /// Write counts of the run as JSON
    #[arg(long, value_name = "FILE", help_heading = "Messages")]
    pub summary: Option<PathBuf>,
    /// No notices, no progress
    #[arg(short, long, help_heading = "Messages")]
    pub quiet: bool,
    /// Say what is done
    #[arg(short, long, help_heading = "Messages")]
    pub verbose: bool,
    /// auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "always", "never"], help_heading = "Messages")]
    pub color: String,
    /// none, snappy, zstd[:LEVEL], gzip or lz4
    #[arg(long, value_name = "CODEC", help_heading = "Formats")]
    pub compression: Option<String>,
    /// Rows in a Parquet row group or Arrow record batch, at most
    #[arg(long, value_name = "N", help_heading = "Formats")]
    pub row_group_rows: Option<usize>,
    /// TFRecord features that are scalars, or auto
    #[arg(long, value_name = "NAMES|auto", help_heading = "Formats")]
    pub scalar: Option<String>,
    /// Mark dense fields with Arrow's tensor extension types
    #[arg(long, help_heading = "Formats")]
    pub tensor_types: bool,
    /// Do not verify the checksums of TFRecords
    #[arg(long, help_heading = "Formats")]
    pub no_verify: bool,
    /// JSON lines without the keys of null fields
    #[arg(long, help_heading = "Formats")]
    pub omit_null: bool,
    /// Read fields of mixed type as `json`
    #[arg(long, value_name = "json", value_parser = ["json"], help_heading = "Formats")]
    pub mixed: Option<String>,
    /// How much of a pipe decides its types
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_bytes, help_heading = "Formats")]
    pub infer_bytes: u64,
    /// What the run has to tell besides: `options.notices.add(text, options.strict)?`.
    #[arg(skip)]
    pub notices: Notices,
    /// The arrays of `--with`, once they are read: each with all its axes in one row.
    #[arg(skip)]
    pub arrays: Arc<BTreeMap<String, (Type, Tensor)>>,
    /// What inference has to tell about the types, for `schema` alone to show.
    #[arg(skip)]
    pub hints: Notices,
    /// Name of the inputs' format, where all have the same; known once they are open.
    #[arg(skip)]
    pub source: Option<&'static str>,
}

/// Cuts `NAME=VALUE`.
///
/// # Errors
/// No name.
pub fn named<'a>(text: &'a str, option: &str, what: &str) -> Result<(&'a str, &'a str), Error> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        _ => Err(Error::usage(format!("{option} takes NAME={what}, not {text:?}"))),
    }
}

/// A number of bytes: `1000`, `64KiB`, `2GiB`, `1MB`.
///
/// # Errors
/// No number, or an unknown unit.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.trim()[digits.len()..].to_ascii_lowercase();
    let factor: u64 = match unit.as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(format!("`{unit}` is no unit of bytes; write 1000, 64KiB, 2GiB")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| "expected a number of bytes, as 1000, 64KiB, 2GiB".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is more than a 64-bit number holds".to_owned())
}
