//! The contract of a verb: what it declares, what it binds to, and the operators that do the work.
//!
//! A verb is a [`clap::Args`] with a name, a summary, examples and [`Verb::bind`]. `bind` sees the schema before any
//! record is read and checks all names, types and shapes. It returns a [`Bound`]: the output schema and an [`Operator`]
//! that works on chunks:
//!
//! - [`Map`]: stateless, chunk to chunk, in any order, on any thread. Adjacent maps are fused.
//! - [`Fold`]: one chunk at a time, in order; it may hold records and may end the stream.
//! - [`Report`]: ends the chain and writes text instead of records. With a [`Digest`], part of its work is stateless
//!   too.
//!
//! Verbs do not use threads, locks or channels; `tests/it/layers.rs` lists the exceptions, each with its reason.

use super::combine::Combined;
use crate::chunk::{Chunk, Fault};
use crate::demand::{Demand, RecordNumbers};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::Schema;
use crate::schema::facts::Facts;
use std::any::Any;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;

/// An example of a verb, shown in its help and man page and run as a test.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it shows, in a few words.
    pub about: &'static str,
    /// The arguments after `tatter`, as typed in a shell.
    pub args: &'static str,
    /// Standard input. Several files are written as `head` prints them, each preceded by `==> NAME <==`.
    pub input: &'static str,
    /// Standard output.
    pub output: &'static str,
}

/// See [`Verb::ARGUMENT_UNLESS`].
pub type ArgumentUnless = fn(&dyn Fn(&str) -> bool) -> bool;

/// A verb of a chain.
pub trait Verb: clap::Args + Send + Sync + 'static {
    /// The name on the command line.
    const NAME: &'static str;
    /// The summary in lists of verbs, one line.
    const SUMMARY: &'static str;
    /// The description in `--help`: what the verb does to which types, and what it rejects.
    const ABOUT: &'static str;
    /// The source of its semantics, such as `tf.data.Dataset.batch`.
    const MEANING: &'static str = "";
    /// Examples, run as tests.
    const EXAMPLES: &'static [Example];

    /// Whether its only positional argument is optional; if omitted, it is parsed from an empty word.
    const OPTIONAL_ARGUMENT: bool = false;
    /// Whether its only positional argument is omitted; called with a function that reports whether an option is given.
    const ARGUMENT_UNLESS: Option<ArgumentUnless> = None;
    /// Whether it combines several inputs ([`Verb::combine`]), which follow it on the command line. Such a verb begins
    /// a chain.
    const COMBINES: bool = false;
    /// Whether it computes with values, so that its results depend on their types. If records after it are limited in
    /// number, types are inferred from others too, as in a pipeline of separate commands.
    const COMPUTES: bool = false;
    /// Whether it prints a report instead of passing records on; a report ends a chain.
    const REPORTS: bool = false;
    /// Whether it reports bad records ([`Report::fault`]), so that reading continues after them.
    const TAKES_FAULTS: bool = false;
    /// Whether it needs records at all; a report may need only the schema.
    const NEEDS_RECORDS: bool = true;
    /// [`Verb::REPORTS`], if that depends on the options.
    fn reports(&self) -> bool {
        Self::REPORTS
    }

    /// If it only drops whole fields: patterns of their names. They are not read, and may be of any type.
    fn drops(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks the verb against the input schema and returns its operator. A verb that [combines](Verb::COMBINES) inputs
    /// leaves records unchanged, because the run has already combined them.
    ///
    /// # Errors
    /// Usage errors: unknown fields, unsupported types, or arguments that are invalid for the schema.
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let _ = options;
        if Self::COMBINES { Ok(Bound::unchanged(schema)) } else { Err(Error::internal("a verb that is not bound")) }
    }

    /// The inputs that these FILEs name and how the verb combines them, if it does.
    ///
    /// # Errors
    /// FILEs that the verb does not accept.
    fn combine(&self, files: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        let _ = (files, options);
        Ok(None)
    }

    /// What files declare about all records, in terms of the output. Whether it is valid for the fields is checked later.
    fn facts(&self, facts: Facts) -> Facts {
        facts
    }

    /// Files that are read completely before the run, with the fields needed from each. [`Verb::bind`] finds them in
    /// [`Options::tables`].
    fn tables(&self) -> Vec<(OsString, Vec<String>)> {
        Vec::new()
    }

    /// The dataset that a report compares with, if any. The run reads it first, through the same report, and
    /// [`Verb::bind`] finds the result ([`Report::into_baseline`]) in [`Options::baseline`].
    fn baseline(&self) -> Option<OsString> {
        None
    }

    /// The numbers of the only records that it keeps, if it selects by record number within an input.
    ///
    /// # Errors
    /// Invalid record numbers.
    fn numbers(&self) -> Result<Option<RecordNumbers>> {
        Ok(None)
    }

    /// Given the number of records of an input, the numbers (from 0) of those it passes on, in output order, if these
    /// depend on nothing else. A run can then read only these records, each from its position, and skip the verb.
    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        let _ = (nrecords, options);
        None
    }

    /// The outputs among which it divides the records, if it does. Such a verb ends a chain.
    ///
    /// # Errors
    /// Arguments that contradict each other.
    fn parts(&self) -> Result<Option<Vec<OutputPart>>> {
        Ok(None)
    }

    /// The demand on its input, given the demand on its output, determined from its arguments alone. By default
    /// everything, or the same demand if it [combines](Verb::COMBINES) inputs.
    fn demand(&self, after: Demand) -> Demand {
        if Self::COMBINES { after } else { Demand::everything() }
    }
}

/// A verb bound to a schema.
pub struct Bound {
    /// The output schema.
    pub schema: Arc<Schema>,
    /// The operator that does the work.
    pub operator: Operator,
}

impl Bound {
    /// A verb that passes records on unchanged.
    pub fn unchanged(schema: &Arc<Schema>) -> Bound {
        Bound { schema: schema.clone(), operator: Operator::Map(Arc::new(Unchanged)) }
    }
}

/// Passes chunks on unchanged.
pub struct Unchanged;

impl Map for Unchanged {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        Ok(chunk)
    }
}

/// The work of a verb on chunks.
pub enum Operator {
    /// Stateless work on single chunks.
    Map(Arc<dyn Map>),
    /// Stateful work on all chunks, in order.
    Fold(Box<dyn Fold>),
    /// Ends a chain and writes text.
    Report(Box<dyn Report>),
    /// Ends a chain and writes several outputs: those of [`Verb::parts`].
    Split(Route),
}

/// One of several outputs of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPart {
    /// The output named by `-o`.
    Output,
    /// A separate file.
    File(OsString),
    /// The output named by `-o`, with this text inserted into the name.
    Named(String),
    /// Any number of files: the output named by `-o`, with a value inserted into each name ([`Route::Values`]).
    EachValue,
}

/// Determines which part a record belongs to.
pub enum Route {
    /// The map adds a last column of int64 with the part number.
    Mapped(Arc<dyn Map>),
    /// Like [`Route::Mapped`], but over all records in order. The fold adds that column and changes nothing else.
    Folded(Box<dyn Fold>),
    /// By the values of a key.
    Values {
        /// Adds a last column of strings: the text that replaces `{}` in the name of the record's file.
        names: Arc<dyn Map>,
        /// The key as given on the command line.
        key: String,
    },
    /// By record number, from 0.
    Numbered(Arc<dyn Fn(u64) -> usize + Send + Sync>),
}

/// The parts of a [divided](Map::divided) chunk, in order, made as they are needed.
pub type ChunkParts = Box<dyn Iterator<Item = Result<Chunk>> + Send>;

/// A stateless operator.
pub trait Map: Send + Sync {
    /// Transforms a chunk. If a single row caused an error, the error names it ([`crate::error::Error::at_row`]); with
    /// `--on-error skip` the engine finds bad records by bisecting the chunk.
    ///
    /// # Errors
    /// Invalid data.
    fn apply(&self, chunk: Chunk) -> Result<Chunk>;

    /// Whether output row i depends only on input row i, so that bad records can be skipped.
    fn keeps_rows(&self) -> bool {
        true
    }

    /// Whether the output may take many times the memory of the input. Chunks are [divided](Map::divided) before such a
    /// verb.
    fn grows(&self) -> bool {
        false
    }

    /// Parts of a chunk, whose outputs are small and together those of the chunk.
    ///
    /// # Errors
    /// Only internal errors.
    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        Ok(Box::new(std::iter::once(Ok(chunk))))
    }

    /// Whether the output has as many rows as the input, so that rows can be numbered before or after it.
    fn keeps_count(&self) -> bool {
        self.keeps_rows()
    }
}

/// Whether a fold or a report needs more input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    More,
    /// No later record matters, so reading stops. `finish` is still called.
    Done,
}

/// A stateful operator that gets one chunk at a time, in order.
pub trait Fold: Send {
    /// Whether the record after the last that it passes on has decided that it is done, so that bad records before that
    /// one count.
    fn judges_next(&self) -> bool {
        false
    }

    /// Whether a chunk that is rejected because of a row has no effect, so that the rows before it can be passed again:
    /// which records a later verb gets must not depend on chunk boundaries.
    fn rejects_as_a_whole(&self) -> bool {
        false
    }

    /// A step that any thread applies to each chunk first, and the schema of its output, which [`Fold::push`] takes.
    fn before(&self) -> Option<(Arc<dyn Map>, Arc<Schema>)> {
        None
    }

    /// Takes a nonempty chunk and appends finished chunks to `out`.
    ///
    /// # Errors
    /// Invalid data.
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow>;

    /// Chunks that any thread can build. Called after each [`Fold::push`]; they follow the chunks from that call.
    fn deferred(&mut self) -> Vec<Deferred> {
        Vec::new()
    }

    /// Called after the last chunk until it returns `None`.
    ///
    /// # Errors
    /// Invalid data.
    fn finish(&mut self) -> Result<Option<Chunk>> {
        Ok(None)
    }

    /// Like [`Fold::finish`], but a chunk can be left for any thread to build. For verbs that hold all records.
    ///
    /// # Errors
    /// See [`Fold::finish`].
    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        Ok(self.finish()?.map(|chunk| Box::new(|| Ok(chunk)) as Deferred))
    }
}

/// A chunk that any thread can build.
pub type Deferred = Box<dyn FnOnce() -> Result<Chunk> + Send>;

/// The stateless part of a report: extracts what it needs from a chunk, on any thread.
pub trait Digest: Send + Sync {
    /// Extracts what the report needs from a chunk.
    ///
    /// # Errors
    /// Invalid data.
    fn digest(&self, chunk: &Chunk) -> Result<Box<dyn Any + Send>>;
}

/// An operator that ends the chain and writes text.
pub trait Report: Send {
    /// The number of records that still matter, if not all do. Bad records after them are not counted.
    fn wants(&self) -> Option<u64> {
        None
    }

    /// The stateless part of the work. If there is one, [`Report::push_digest`] is called instead of [`Report::push`].
    fn digest(&self) -> Option<Arc<dyn Digest>> {
        None
    }

    /// Takes the result of [`Digest::digest`], in chunk order.
    ///
    /// # Errors
    /// Invalid data.
    fn push_digest(&mut self, digest: Box<dyn Any + Send>) -> Result<Flow> {
        let _ = digest;
        Ok(Flow::More)
    }

    /// A fold that takes the chunks first; the report gets its output, which are chunks of that schema.
    fn collector(&self) -> Option<(Box<dyn Fold>, Arc<Schema>)> {
        None
    }

    /// Whether bad records are reported by [`Report::fault`] instead of failing the run.
    fn takes_faults(&self) -> bool {
        false
    }

    /// Takes a bad record; only called if [`Report::takes_faults`].
    fn fault(&mut self, fault: &Fault) {
        let _ = fault;
    }

    /// Takes a chunk. May already write output. `Done` stops reading.
    ///
    /// # Errors
    /// Writing fails, or the data is invalid.
    fn push(&mut self, chunk: &Chunk, out: &mut dyn Write) -> Result<Flow>;

    /// Writes the rest. The verdict determines the exit code.
    ///
    /// # Errors
    /// Writing fails.
    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict>;

    /// The baseline that another run of the same report compares with: see [`Verb::baseline`].
    ///
    /// # Errors
    /// The remaining data cannot be added.
    fn into_baseline(self: Box<Self>) -> Result<Option<Arc<dyn Any + Send + Sync>>> {
        Ok(None)
    }
}

/// The result of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No errors were found: exit code 0.
    Good,
    /// Errors or differences were found: exit code 1.
    Bad,
}
