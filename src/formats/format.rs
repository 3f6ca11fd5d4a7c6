//! The contract between a run and the formats.
//!
//! A [`Reader`] cuts one input into blocks, each with a [`Task`] that decodes it into a chunk; tasks run on any thread,
//! in any order. A [`Writer`] gets chunks, encoded on any thread, in order. Formats do not use threads, locks or
//! channels, and do not depend on verbs.

use crate::chunk::{Chunk, Decoded, RowGroup};
use crate::demand::{RecordNumbers, Wanted};
use crate::error::{Error, Result, nearest};
use crate::io::Input;
use crate::options::{OnError, Options};
use crate::path::quoted;
use crate::schema::{Field, Schema, Type};
use crate::tensor::Tensor;
use std::any::Any;
use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A file format.
pub trait Format: Sync {
    /// The name for `--from` and `--to`.
    fn name(&self) -> &'static str;
    /// A one-line description for the help.
    fn summary(&self) -> &'static str;
    /// File name extensions without the dot.
    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }
    /// Whether these first bytes (decompressed, up to 64 KiB) are in the format. Formats are asked in table order.
    fn sniff(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }
    /// Whether an input is in the format. Only formats that cannot be recognized from the first bytes read further.
    fn recognises(&self, input: &Input) -> bool {
        self.sniff(input.head())
    }
    /// Whether an input is in the format beyond doubt, so that reading it as another format must be a mistake.
    fn is_evident(&self, input: &Input) -> bool {
        self.recognises(input)
    }
    /// The name of the first of the formats that share an encoding, such as `jsonl` for `json`: each of them may be given
    /// for an input that is recognized as another of them.
    fn family(&self) -> &'static str {
        self.name()
    }
    /// Whether an empty file is valid and has no records.
    fn may_be_empty(&self) -> bool {
        false
    }
    /// Whether a directory is one dataset in the format rather than a folder of files. Its input has no bytes; the
    /// reader opens the files in it.
    fn holds(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }
    /// How an output directory is written; `None` if an output is a file or shards of a file.
    fn directory(&self) -> Option<&'static dyn Directory> {
        None
    }
    /// The options that only some formats have and this one uses, such as `--delimiter`.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }
    /// Whether its datasets have splits, selected with `--split`.
    fn has_splits(&self) -> bool {
        false
    }
    /// Whether a field may be spread over several features of a record.
    fn has_features(&self) -> bool {
        false
    }
    /// Creates a reader for one input; `None` if the format is write-only.
    fn reader(&self, input: Arc<Input>, options: &Options) -> Option<Result<Box<dyn Reader>>> {
        let _ = (input, options);
        None
    }
    /// Creates a writer for one output; `None` if the format is read-only.
    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        let _ = (schema, options);
        None
    }
    /// Creates a writer for an output with a single record, if that makes a difference.
    fn record_writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        self.writer(schema, options)
    }
    /// Whether `--compression` refers to compression within the format. Otherwise, files are compressed as a whole.
    fn has_compression(&self) -> bool {
        false
    }
    /// Whether it cannot be written to standard output, because it is complete only at the end.
    fn needs_file(&self) -> bool {
        false
    }
    /// The single array of a file of arrays, with all its axes, as one row; `None` if files hold records.
    ///
    /// # Errors
    /// Reading fails, or the file holds several arrays.
    fn constant(&self, input: &Input) -> Option<Result<(Type, Tensor)>> {
        let _ = input;
        None
    }
    /// The extensions of the two files of an output that is a pair of files; the first is started first.
    fn pair(&self) -> Option<[&'static str; 2]> {
        None
    }
    /// Whether it reports the byte offset of each record ([`Decoded::offsets`]).
    fn has_offsets(&self) -> bool {
        false
    }
    /// Whether the output is text that can be shown on a terminal.
    fn is_text(&self) -> bool {
        false
    }
}

/// An output that is a directory: shards, and metadata files.
pub trait Directory: Sync {
    /// The name of its shards, in the syntax of `-o`: `name@8.ext`.
    ///
    /// # Errors
    /// The directory cannot be written.
    fn shards(&self, directory: &Path, options: &Options) -> Result<String>;
    /// The metadata files by name, in the order in which they are renamed after the shards. The file that marks the
    /// directory as complete is last.
    ///
    /// # Errors
    /// Existing files in the directory cannot be read.
    fn describe(&self, schema: &Schema, directory: &Path, shards: &[Shard], options: &Options) -> Result<Vec<(String, Vec<u8>)>>;
}

/// A completed shard.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    /// Number of records.
    pub nrecords: u64,
    /// Size in bytes.
    pub nbytes: u64,
}

/// Work that can run on any thread.
pub type Task<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// Tasks in input order. Cutting the input into them is sequential and parses no values.
pub type Tasks<T> = Box<dyn Iterator<Item = Result<Task<T>>> + Send>;

/// Maximum number of records without values that a file can claim to have.
pub const MAX_EMPTY_RECORDS: u64 = 1 << 28;

/// A request from a run to an input.
#[derive(Clone)]
pub struct Request {
    /// The fields to read.
    pub wanted: Wanted,
    /// For inference: fields that must exist but whose types do not matter, because they are dropped first.
    pub dropped: Wanted,
    /// Maximum number of records; `None` for all.
    pub records: Option<u64>,
    /// The numbers of the only records needed. A reader that cannot find them may return others too. `None` for all.
    pub only: Option<Arc<RecordNumbers>>,
    /// For inference: stop after about this many bytes; `None` to read everything.
    pub sample_bytes: Option<u64>,
    /// The declared schema (`--schema`), which can be partial at every level.
    pub declared: Arc<Schema>,
    /// Whether the types hold for all records of the run, except for bad ones that are skipped.
    pub is_settled: bool,
    /// The options of the run.
    pub options: Arc<Options>,
}

impl Request {
    /// Asks for all fields of all records.
    pub fn everything(declared: Arc<Schema>, options: Arc<Options>) -> Request {
        Request {
            wanted: Wanted::All,
            dropped: Wanted::none(),
            records: None,
            only: None,
            sample_bytes: None,
            declared,
            is_settled: false,
            options,
        }
    }

    /// Whether a bad record is left out as a whole.
    pub fn leaves_out(&self) -> bool {
        self.options.on_error.skips() && !self.nulls()
    }

    /// Whether an unreadable field becomes null, instead of its record being skipped.
    pub fn nulls(&self) -> bool {
        self.options.on_error == OnError::Null
    }

    /// What reads the declared fields alone, if bad records are skipped: a record that these types make bad is left out, so it
    /// must not determine the types of the other fields. `read` is given the schema and the request for these fields; its errors
    /// are left to the reading of all fields.
    pub fn declared_alone<T>(&self, read: impl FnOnce(Schema, Request) -> Result<T>) -> Option<T> {
        let is_checked = |field: &&Field| self.wanted.includes(&field.name) && field.ty.fields().is_none() && field.source.values.is_none();
        let fields: Vec<Field> = self.declared.fields.iter().filter(is_checked).cloned().collect();
        let wanted = Wanted::matching(fields.iter().map(|field| field.name.clone()));
        if self.leaves_out() && !fields.is_empty() { read(Schema::new(fields), Request { wanted, ..self.clone() }).ok() } else { None }
    }

    /// Notes a declared field that no record has if one with a similar name is in the records, unless it becomes an error. `found`:
    /// the names in the records. `parts`: the names under which a format stores a field, besides its own.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn note_misspelt<'a>(&self, found: impl Iterator<Item = &'a str> + Clone, parts: impl Fn(&Field) -> Vec<String>) -> Result<()> {
        let declared = &self.declared.fields;
        if declared.is_empty() {
            return Ok(());
        }
        let names = |field: &Field| [vec![field.name.clone(), field.source_name().to_owned()], parts(field)].concat();
        let seen: HashSet<&str> = found.clone().collect();
        let known: HashSet<String> = declared.iter().flat_map(names).collect();
        for field in declared.iter().filter(|field| !names(field).iter().any(|name| seen.contains(name.as_str()))) {
            let others = found.clone().filter(|name| !known.contains(*name));
            let Some(near) = nearest(field.source_name(), others) else { continue };
            let text = format!("--schema names {}, but the records have {}", quoted(field.source_name()), quoted(near));
            let is_required = !field.ty.optional && field.default.is_none() && self.wanted.includes(&field.name);
            // Verbs other than `schema` read the records, and the first without a required field is an error.
            let list = if is_required { &self.options.hints } else { &self.options.notices };
            list.add(text, false)?;
        }
        Ok(())
    }
}

/// Reads one input.
pub trait Reader: Send {
    /// The schema of the data to be read.
    ///
    /// # Errors
    /// The input cannot be read, or is not in the format.
    fn infer(&mut self, request: &Request) -> Result<Inference>;

    /// The number of records, if it is known without reading them and the records of [`Request::only`] can be read
    /// selectively.
    ///
    /// # Errors
    /// The index cannot be read or is damaged.
    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        let _ = request;
        Ok(None)
    }

    /// The records in input order. `schema` is the whole schema, of all inputs together. A decoded chunk has a column
    /// for each required field, in schema order. A record that does not fit is a fault; one that a wider inferred
    /// schema would hold is an error of [`crate::error::Kind::Widened`].
    ///
    /// # Errors
    /// The input cannot be read.
    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>>;
}

/// Records that can be found by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Number of records.
    pub nrecords: u64,
    /// Average number of records that must be read to get one.
    pub nread: u64,
    /// Bytes of all records on disk, including framing.
    pub nbytes: u64,
    /// What locates them, for messages.
    pub by: Arc<str>,
}

/// How a reader determines its schema.
pub enum Inference {
    /// The file declares it. The reader has already applied `--schema`.
    Known(Schema),
    /// The records must be inspected.
    Scan(Tasks<Box<dyn Observed>>),
}

/// Observations of the types of some records. Merging is associative and commutative, so threads do not matter.
/// Observations of all inputs in one format are merged.
pub trait Observed: Send {
    /// Merges observations of other records in the same format.
    fn merge(&mut self, other: Box<dyn Observed>);
    /// The number of records observed; `None` if it is not known.
    fn nrecords(&self) -> Option<u64> {
        None
    }
    /// The schema that holds everything observed.
    ///
    /// # Errors
    /// All conflicts, with the places where they were found, and a `--schema` that reads the records.
    fn schema(&self, request: &Request) -> Result<Schema>;
    /// The observations as their concrete type, for [`Observed::merge`].
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// An encoded chunk.
pub type Encoded = Box<dyn Any + Send>;

/// Encodes chunks, on any thread.
pub trait Encode: Send + Sync {
    /// # Errors
    /// The format cannot hold a value; the error names the row and the field, with advice.
    fn encode(&self, chunk: Chunk) -> Result<Encoded>;

    /// Called once, after the last chunk, for notices about all of them.
    ///
    /// # Errors
    /// There is a notice, and notices are errors.
    fn finish(&self) -> Result<()> {
        Ok(())
    }

    /// Encodes the rows of several chunks as one group. The result must not depend on chunk boundaries.
    ///
    /// # Errors
    /// See [`Encode::encode`]; the error names the records.
    fn encode_group(&self, chunks: Vec<Chunk>) -> Result<Encoded> {
        let chunk = Chunk::concat(&chunks)?;
        drop(chunks);
        let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
        self.encode(chunk).map_err(|e| origin.resolve(e, nrows))
    }

    /// Encodes consecutive columns of a group, starting with column `first`. The writer gets the columns of a group in
    /// order. Only for formats with several [`Grouping::shares`].
    ///
    /// # Errors
    /// See [`Encode::encode_group`].
    fn encode_columns(&self, _columns: RowGroup, _first: usize) -> Result<Encoded> {
        Err(Error::internal("a format without columns was given some of them"))
    }
}

/// How an output is divided into row groups, based only on rows, never on chunk boundaries.
#[derive(Clone, Copy, Debug)]
pub struct Grouping {
    /// Maximum number of records in a group.
    pub rows: usize,
    /// Maximum number of bytes in a group ([`Grouping::nbytes_of`]), which holds at least one row.
    pub nbytes: usize,
    /// The number of column shares in which a group can be encoded in parallel; 1 for encoding it as a whole.
    pub shares: usize,
}

impl Grouping {
    /// Whether columns are encoded separately.
    pub fn divides_columns(&self) -> bool {
        self.shares > 1
    }

    /// The size of rows in a group, in bytes. It does not depend on chunk boundaries.
    pub fn nbytes_of(&self, rows: &Chunk) -> usize {
        if self.divides_columns() { RowGroup::nbytes(rows) } else { rows.nbytes() }
    }
}

/// Writes one output.
pub trait Writer: Send {
    /// The groups that chunks must form, if the format has groups.
    fn grouping(&self) -> Option<Grouping> {
        None
    }
    /// The encoder, which runs on any thread.
    fn encoder(&self) -> Arc<dyn Encode>;
    /// Starts the output.
    ///
    /// # Errors
    /// Writing fails.
    fn begin(&mut self, out: Box<dyn Write + Send>) -> Result<()>;
    /// Starts the second file of an output that is a pair.
    ///
    /// # Errors
    /// Writing fails.
    fn begin_second(&mut self, out: Box<dyn Write + Send>) -> Result<()> {
        let _ = out;
        Err(Error::internal("a format of one file was given a second"))
    }
    /// Appends encoded chunks, in order.
    ///
    /// # Errors
    /// Writing fails.
    fn write(&mut self, encoded: Encoded) -> Result<()>;
    /// Ends the output and flushes it.
    ///
    /// # Errors
    /// Writing fails.
    fn finish(&mut self) -> Result<()>;
}
