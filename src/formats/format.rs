//! The contract between a run and the formats.
//!
//! A [`Reader`] cuts one input into blocks, each a [`Task`] that decodes it into a chunk; tasks run on
//! any thread, in any order. A [`Writer`] gets chunks encoded on any thread, in order. Formats hold
//! no threads, locks or channels and never see verbs.

use crate::chunk::{Chunk, Decoded};
use crate::demand::{Numbers, Wanted};
use crate::error::{Error, Result};
use crate::io::Input;
use crate::options::{OnError, Options};
use crate::schema::{Schema, Type};
use crate::tensor::Tensor;
use std::any::Any;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A file format.
pub trait Format: Sync {
    /// As typed after `--from` and `--to`.
    fn name(&self) -> &'static str;
    /// One line for the help.
    fn summary(&self) -> &'static str;
    /// File name extensions without the dot.
    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }
    /// Whether these first bytes (decompressed, up to 64 KiB) are the format's. Asked in the order of the table.
    fn sniff(&self, head: &[u8]) -> bool {
        let _ = head;
        false
    }
    /// Whether an input is of the format. Only formats that their first bytes do not tell look further.
    fn recognises(&self, input: &Input) -> bool {
        self.sniff(input.head())
    }
    /// Whether a file without a byte is one without records.
    fn may_be_empty(&self) -> bool {
        false
    }
    /// Whether a directory is one data set of the format, and not a folder of files. Its input has no bytes;
    /// the reader opens the files in it.
    fn holds(&self, directory: &Path) -> bool {
        let _ = directory;
        false
    }
    /// The files of an output that is a directory; `None`: an output is a file, or shards of one.
    fn directory(&self) -> Option<&'static dyn Directory> {
        None
    }
    /// Whether its data sets have splits, which `--split` names.
    fn has_splits(&self) -> bool {
        false
    }
    /// A reader of one input; `None` if the format is only written.
    fn reader(&self, input: Arc<Input>, options: &Options) -> Option<Result<Box<dyn Reader>>> {
        let _ = (input, options);
        None
    }
    /// A writer of one output; `None` if the format is only read.
    fn writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        let _ = (schema, options);
        None
    }
    /// A writer of an output that holds a single record, where that makes a difference.
    fn record_writer(&self, schema: &Arc<Schema>, options: &Options) -> Option<Result<Box<dyn Writer>>> {
        self.writer(schema, options)
    }
    /// Whether `--compression` is compression inside the format; otherwise files are compressed as a whole.
    fn has_compression(&self) -> bool {
        false
    }
    /// Whether it is not written to standard output, because it is only complete at the end.
    fn needs_file(&self) -> bool {
        false
    }
    /// The only array of a file of arrays, with all its axes, as one row; `None` if its files hold records.
    ///
    /// # Errors
    /// Reading fails; the file holds several arrays.
    fn constant(&self, input: &Input) -> Option<Result<(Type, Tensor)>> {
        let _ = input;
        None
    }
    /// The extensions of the two files that an output consists of, where it is not one; the first is begun first.
    fn pair(&self) -> Option<[&'static str; 2]> {
        None
    }
    /// Whether it reports the byte at which each record starts ([`Decoded::offsets`]).
    fn has_offsets(&self) -> bool {
        false
    }
    /// Whether the output is text that a terminal can show.
    fn is_text(&self) -> bool {
        false
    }
}

/// An output that is a directory: shards, and files that describe them.
pub trait Directory: Sync {
    /// The name of the shards in it, as `-o` takes it: `name@8.ext`.
    ///
    /// # Errors
    /// The directory cannot be written.
    fn shards(&self, directory: &Path, options: &Options) -> Result<String>;
    /// The other files by name, in the order in which they get their names: after the shards, the one last without
    /// which the directory is not complete.
    ///
    /// # Errors
    /// What is in the directory already cannot be read.
    fn describe(&self, schema: &Schema, directory: &Path, shards: &[Shard], options: &Options) -> Result<Vec<(String, Vec<u8>)>>;
}

/// A shard that was written.
#[derive(Clone, Copy, Debug)]
pub struct Shard {
    /// Its records.
    pub nrecords: u64,
    /// Its size.
    pub nbytes: u64,
}

/// Work that can be done on any thread.
pub type Task<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// Tasks in the order of the input. Cutting one off is sequential and parses no value.
pub type Tasks<T> = Box<dyn Iterator<Item = Result<Task<T>>> + Send>;

/// What a run wants of an input.
#[derive(Clone)]
pub struct Request {
    /// The fields to read.
    pub wanted: Wanted,
    /// How many records at most; `None`: all.
    pub records: Option<u64>,
    /// The numbers of the only records that are wanted; a reader that cannot find them may give others too. `None`: all.
    pub only: Option<Arc<Numbers>>,
    /// For inference: stop after about this many bytes; `None`: look at everything.
    pub sample_bytes: Option<u64>,
    /// The declared schema (`--schema`); may be partial at every level.
    pub declared: Arc<Schema>,
    /// The options of the run.
    pub options: Arc<Options>,
}

impl Request {
    /// Whether a field that cannot be read is null, instead of its record being left out.
    pub fn nulls(&self) -> bool {
        self.options.on_error == OnError::Null
    }
}

/// Reads one input.
pub trait Reader: Send {
    /// The schema of what the run will read.
    ///
    /// # Errors
    /// The input cannot be read, or is not of the format.
    fn infer(&mut self, request: &Request) -> Result<Inference>;

    /// How many records it has, where that is known without reading them, and where those of [`Request::only`] are read
    /// without the others.
    ///
    /// # Errors
    /// The index cannot be read, or is damaged.
    fn numbered(&mut self, request: &Request) -> Result<Option<Numbered>> {
        let _ = request;
        Ok(None)
    }

    /// The records in the order of the input. `schema` is the whole schema, of all inputs together;
    /// a decoded chunk has a column for each of its fields that is wanted, in the schema's order. A
    /// record that does not fit is a fault; one that a wider inferred schema would hold is an error
    /// of [`crate::error::Kind::Widened`].
    ///
    /// # Errors
    /// The input cannot be read.
    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>>;
}

/// Records that are found by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// How many there are.
    pub nrecords: u64,
    /// How many have to be read for one of them, on average.
    pub nread: u64,
    /// Bytes of all of them on disk, with what is around them.
    pub nbytes: u64,
    /// What they are found by, for messages.
    pub by: Arc<str>,
}

/// How a reader knows its schema.
pub enum Inference {
    /// The file gives it. Where `--schema` differs, the reader has taken that.
    Known(Schema),
    /// The records have to be looked at.
    Scan(Tasks<Box<dyn Observed>>),
}

/// What has been seen of the types of some records. Merging is associative and commutative, so that
/// threads do not matter. Observations of all inputs of one format are merged.
pub trait Observed: Send {
    /// Takes in what was seen of other records of the same format.
    fn merge(&mut self, other: Box<dyn Observed>);
    /// The schema that holds everything seen.
    ///
    /// # Errors
    /// Clashes: all of them, with the places they were seen at, and one `--schema` that reads them all.
    fn schema(&self, request: &Request) -> Result<Schema>;
    /// The observations as their own type, for [`Observed::merge`].
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// A chunk as it will be in the output.
pub type Encoded = Box<dyn Any + Send>;

/// Turns chunks into output, on any thread.
pub trait Encode: Send + Sync {
    /// # Errors
    /// The format cannot hold a value; names the row, the field and the way out.
    fn encode(&self, chunk: Chunk) -> Result<Encoded>;

    /// Encodes the rows of several chunks as one group. What comes out must not depend on where the
    /// chunks were cut.
    ///
    /// # Errors
    /// See [`Encode::encode`], with the records named.
    fn encode_group(&self, chunks: Vec<Chunk>) -> Result<Encoded> {
        let chunk = Chunk::concat(&chunks)?;
        drop(chunks);
        let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
        self.encode(chunk).map_err(|e| origin.resolve(e, nrows))
    }

    /// Encodes some consecutive columns of a group, of which `first` is the first. The writer gets the columns
    /// of a group in sequence. Only for formats with [`Grouping::shares`].
    ///
    /// # Errors
    /// See [`Encode::encode_group`].
    fn encode_columns(&self, chunks: Vec<Chunk>, first: usize) -> Result<Encoded> {
        match first {
            0 => self.encode_group(chunks),
            _ => Err(Error::internal("a format without columns was given some of them")),
        }
    }
}

/// How an output is cut into groups of rows: by the rows only, never by the chunks they come in.
#[derive(Clone, Copy, Debug)]
pub struct Grouping {
    /// Records in a group.
    pub rows: usize,
    /// A group also ends before it holds more than this many bytes ([`Chunk::nbytes`]), but holds one row at least.
    pub nbytes: usize,
    /// In how many shares of its columns a group may be encoded at the same time; 1: as a whole.
    pub shares: usize,
}

/// Writes one output.
pub trait Writer: Send {
    /// Groups that chunks must come in, if the format has any.
    fn grouping(&self) -> Option<Grouping> {
        None
    }
    /// The part that runs on any thread.
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
    /// Appends what the encoder made, in order.
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
