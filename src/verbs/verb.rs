//! The contract of a verb: what it declares, what it binds to, and the operators that do its work.
//!
//! A verb is a [`clap::Args`] with a name, a summary, examples and [`Verb::bind`]. `bind` sees the schema before any
//! record is read: all names, types and shapes are checked there. It returns a [`Bound`]: the schema of the output and an
//! [`Operator`] that works on chunks:
//!
//! - [`Map`]: stateless, chunk to chunk, in any order, on any thread. Adjacent maps are fused.
//! - [`Fold`]: one chunk at a time, in order; it may hold records and may end the stream.
//! - [`Report`]: ends the chain and writes text instead of records. With a [`Digest`], its work on chunks is stateless too.
//!
//! Verbs hold no threads, locks or channels.

use super::combine::Combined;
use crate::chunk::{Chunk, Fault};
use crate::demand::{Demand, Numbers};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::Schema;
use std::any::Any;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;

/// An example of a verb, shown in its help and man page and run by a test.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it shows, in a few words.
    pub about: &'static str,
    /// The arguments after `tatter`, as typed in a shell.
    pub args: &'static str,
    /// Standard input. Several files are written as `head` prints them: `==> NAME <==` before each.
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
    /// One line for lists of verbs.
    const SUMMARY: &'static str;
    /// The description in `--help`: what it does to which types, and what it refuses.
    const ABOUT: &'static str;
    /// The source of its semantics, such as `tf.data.Dataset.batch`.
    const MEANING: &'static str = "";
    /// Examples, run as tests.
    const EXAMPLES: &'static [Example];

    /// Whether its only positional argument may be left out; it is then parsed from an empty word.
    const OPTIONAL_ARGUMENT: bool = false;
    /// Whether its only positional argument is left out; called with a function that says whether an option is given.
    const ARGUMENT_UNLESS: Option<ArgumentUnless> = None;
    /// Whether it combines several inputs ([`Verb::combine`]), which follow it on the command line; it begins a chain.
    const COMBINES: bool = false;
    /// Whether it prints a report instead of passing records on; a report ends a chain.
    const REPORTS: bool = false;
    /// Whether it reports bad records ([`Report::fault`]), so that reading continues after them.
    const TAKES_FAULTS: bool = false;
    /// Whether it needs records at all; a report may need only the schema.
    const NEEDS_RECORDS: bool = true;

    /// [`Verb::REPORTS`], where that depends on the options.
    fn reports(&self) -> bool {
        Self::REPORTS
    }

    /// Checks the verb against the schema of its input and returns the operator that does its work. A verb that
    /// [combines](Verb::COMBINES) leaves the records as they are: the run has combined them.
    ///
    /// # Errors
    /// Usage errors: unknown fields, types it does not work on, arguments that are invalid for the schema.
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let _ = options;
        if Self::COMBINES { Ok(Bound::unchanged(schema)) } else { Err(Error::internal("a verb that is not bound")) }
    }

    /// The inputs that these FILEs name, and how it combines them, where it does.
    ///
    /// # Errors
    /// FILEs that it does not take.
    fn combine(&self, files: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        let _ = (files, options);
        Ok(None)
    }

    /// The files that are read whole before the run, and the fields needed of each; [`Verb::bind`] finds them in
    /// [`Options::tables`].
    fn tables(&self) -> Vec<(OsString, Vec<String>)> {
        Vec::new()
    }

    /// The data set that a report compares with, where it does: the run reads it first, through the same report, and
    /// [`Verb::bind`] finds what came of it ([`Report::into_baseline`]) in [`Options::baseline`].
    fn baseline(&self) -> Option<OsString> {
        None
    }

    /// The numbers, in their inputs, of the only records that it keeps, where it chooses by them.
    ///
    /// # Errors
    /// They are not numbers.
    fn numbers(&self) -> Result<Option<Numbers>> {
        Ok(None)
    }

    /// Of an input of that many records those that it passes on, by their numbers from 0, in the order in which it does, where
    /// that depends on nothing else: a run may then read these records only, each at its place, and leave out the verb.
    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        let _ = (nrecords, options);
        None
    }

    /// The outputs that it divides the records among, where it does; such a verb ends a chain.
    ///
    /// # Errors
    /// Arguments that contradict each other.
    fn parts(&self) -> Result<Option<Vec<Part>>> {
        Ok(None)
    }

    /// What the verb needs of its input if `after` is needed of its output, from its arguments only. By default everything; the
    /// same if it [combines](Verb::COMBINES).
    fn demand(&self, after: Demand) -> Demand {
        if Self::COMBINES { after } else { Demand::everything() }
    }
}

/// A verb bound to a schema.
pub struct Bound {
    /// The schema of its output.
    pub schema: Arc<Schema>,
    /// What does its work.
    pub operator: Operator,
}

impl Bound {
    /// A verb that leaves records as they are.
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
    /// Work on all chunks in order, with state.
    Fold(Box<dyn Fold>),
    /// The end of a chain that writes text.
    Report(Box<dyn Report>),
    /// The end of a chain that writes several outputs: those of [`Verb::parts`].
    Split(Route),
}

/// One of several outputs of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// What `-o` names.
    Output,
    /// A file of its own.
    File(OsString),
    /// What `-o` names, with this in the name.
    Named(String),
    /// Any number of files: what `-o` names, with a value in the name of each ([`Route::Values`]).
    EachValue,
}

/// Which part a record belongs to.
pub enum Route {
    /// The map adds a last column, of int64: the number of the part.
    Mapped(Arc<dyn Map>),
    /// As [`Route::Mapped`], of all records in order; it adds that column and changes nothing else.
    Folded(Box<dyn Fold>),
    /// By the values of a key.
    Values {
        /// Adds a last column, of strings: what the name of the record's file has for `{}`.
        names: Arc<dyn Map>,
        /// The key, as it was given.
        key: String,
    },
    /// By the number of the record, from 0.
    Numbered(Arc<dyn Fn(u64) -> usize + Send + Sync>),
}

/// A stateless operator.
pub trait Map: Send + Sync {
    /// Transforms a chunk. An error names the row of the chunk ([`crate::error::Error::at_row`]) if one row caused it;
    /// with `--on-error skip` the engine finds bad records by halving the chunk.
    ///
    /// # Errors
    /// The data does not allow it.
    fn apply(&self, chunk: Chunk) -> Result<Chunk>;

    /// Whether output row i depends only on input row i, so that bad records can be skipped.
    fn keeps_rows(&self) -> bool {
        true
    }

    /// How many times the memory of a chunk its output may take, about; a chunk is divided before a verb that multiplies it.
    fn growth(&self) -> usize {
        1
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
    /// No later record can matter: reading stops. `finish` is still called.
    Done,
}

/// An operator with state that gets one chunk at a time, in order.
pub trait Fold: Send {
    /// Takes a chunk, never an empty one; appends finished chunks to `out`.
    ///
    /// # Errors
    /// The data does not allow it.
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow>;

    /// Chunks to be made on any thread, called after each [`Fold::push`]; they follow what that gave.
    fn deferred(&mut self) -> Vec<Deferred> {
        Vec::new()
    }

    /// Called after the last chunk until it returns `None`.
    ///
    /// # Errors
    /// The data does not allow it.
    fn finish(&mut self) -> Result<Option<Chunk>> {
        Ok(None)
    }

    /// As [`Fold::finish`], but a chunk may be left to be made on any thread: for verbs that hold all records.
    ///
    /// # Errors
    /// As [`Fold::finish`].
    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        Ok(self.finish()?.map(|chunk| Box::new(|| Ok(chunk)) as Deferred))
    }
}

/// A chunk that is made on any thread.
pub type Deferred = Box<dyn FnOnce() -> Result<Chunk> + Send>;

/// The stateless part of a report: extracts what it needs of a chunk, on any thread.
pub trait Digest: Send + Sync {
    /// What the report needs of a chunk.
    ///
    /// # Errors
    /// The data does not allow it.
    fn digest(&self, chunk: &Chunk) -> Result<Box<dyn Any + Send>>;
}

/// An operator that ends the chain and writes text.
pub trait Report: Send {
    /// The stateless part of the work; if there is one, [`Report::push_digest`] is called instead of [`Report::push`].
    fn digest(&self) -> Option<Arc<dyn Digest>> {
        None
    }

    /// Takes the result of [`Digest::digest`], in the order of the chunks.
    ///
    /// # Errors
    /// The data does not allow it.
    fn push_digest(&mut self, digest: Box<dyn Any + Send>) -> Result<Flow> {
        let _ = digest;
        Ok(Flow::More)
    }

    /// A fold that takes the chunks first; the report gets what it gives, chunks of that schema.
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

    /// Takes a chunk; may already write. `Done` stops reading.
    ///
    /// # Errors
    /// Writing fails, or the data does not allow it.
    fn push(&mut self, chunk: &Chunk, out: &mut dyn Write) -> Result<Flow>;

    /// Writes the rest. The verdict determines the exit code.
    ///
    /// # Errors
    /// Writing fails.
    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict>;

    /// What another run of the same report compares with: see [`Verb::baseline`].
    ///
    /// # Errors
    /// What is still to be added cannot be.
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

/// Verbs that are listed together in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Convert and look into files.
    Inspect,
    /// Choose and order records.
    Records,
    /// Combine several inputs.
    Inputs,
    /// Choose, compute and retype fields.
    Fields,
    /// Group records, and take groups apart.
    Batches,
    /// Change the form of tensors.
    Tensors,
}

impl Group {
    /// All groups, in the order of the help.
    pub const ALL: [Group; 6] = [Group::Inspect, Group::Records, Group::Inputs, Group::Fields, Group::Batches, Group::Tensors];

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Inspect => "Convert and inspect",
            Group::Records => "Records",
            Group::Inputs => "Several inputs",
            Group::Fields => "Fields",
            Group::Batches => "Batches",
            Group::Tensors => "Tensors",
        }
    }
}

/// A type-erased verb: a row of the registry.
pub struct Entry {
    /// Which verbs it is listed with.
    pub group: Group,
    /// See [`Verb::NAME`].
    pub name: &'static str,
    /// See [`Verb::SUMMARY`].
    pub summary: &'static str,
    /// See [`Verb::ABOUT`].
    pub about: &'static str,
    /// See [`Verb::MEANING`].
    pub meaning: &'static str,
    /// See [`Verb::EXAMPLES`].
    pub examples: &'static [Example],
    /// See [`Verb::OPTIONAL_ARGUMENT`].
    pub optional_argument: bool,
    /// See [`Verb::ARGUMENT_UNLESS`].
    pub argument_unless: Option<ArgumentUnless>,
    /// See [`Verb::COMBINES`].
    pub combines: bool,
    augment: fn(clap::Command) -> clap::Command,
    parse: fn(&clap::ArgMatches) -> Result<Box<dyn Parsed>, clap::Error>,
}

/// A verb with parsed arguments, not yet bound to a schema.
pub trait Parsed: Send + Sync {
    /// See [`Verb::NAME`].
    fn name(&self) -> &'static str;
    /// See [`Verb::reports`].
    fn is_report(&self) -> bool;
    /// See [`Verb::TAKES_FAULTS`].
    fn takes_faults(&self) -> bool;
    /// See [`Verb::NEEDS_RECORDS`].
    fn needs_records(&self) -> bool;
    /// See [`Verb::bind`].
    ///
    /// # Errors
    /// As [`Verb::bind`].
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound>;
    /// See [`Verb::COMBINES`].
    fn combines(&self) -> bool {
        false
    }
    /// See [`Verb::combine`].
    ///
    /// # Errors
    /// As [`Verb::combine`].
    fn combine(&self, files: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        let _ = (files, options);
        Ok(None)
    }
    /// See [`Verb::tables`].
    fn tables(&self) -> Vec<(OsString, Vec<String>)> {
        Vec::new()
    }
    /// See [`Verb::baseline`].
    fn baseline(&self) -> Option<OsString> {
        None
    }
    /// See [`Verb::numbers`].
    ///
    /// # Errors
    /// As [`Verb::numbers`].
    fn numbers(&self) -> Result<Option<Numbers>> {
        Ok(None)
    }
    /// See [`Verb::draw`].
    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        let _ = (nrecords, options);
        None
    }
    /// See [`Verb::parts`].
    ///
    /// # Errors
    /// As [`Verb::parts`].
    fn parts(&self) -> Result<Option<Vec<Part>>> {
        Ok(None)
    }
    /// See [`Verb::demand`].
    fn demand(&self, after: Demand) -> Demand;
}

struct Typed<V>(V);

impl<V: Verb> Parsed for Typed<V> {
    fn name(&self) -> &'static str {
        V::NAME
    }
    fn is_report(&self) -> bool {
        self.0.reports()
    }
    fn takes_faults(&self) -> bool {
        V::TAKES_FAULTS
    }
    fn needs_records(&self) -> bool {
        V::NEEDS_RECORDS
    }
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        self.0.bind(schema, options)
    }
    fn combines(&self) -> bool {
        V::COMBINES
    }
    fn combine(&self, files: Vec<OsString>, options: &Options) -> Result<Option<Combined>> {
        self.0.combine(files, options)
    }
    fn tables(&self) -> Vec<(OsString, Vec<String>)> {
        self.0.tables()
    }
    fn baseline(&self) -> Option<OsString> {
        self.0.baseline()
    }
    fn numbers(&self) -> Result<Option<Numbers>> {
        self.0.numbers()
    }
    fn draw(&self, nrecords: u64, options: &Options) -> Option<Vec<u32>> {
        self.0.draw(nrecords, options)
    }
    fn parts(&self) -> Result<Option<Vec<Part>>> {
        self.0.parts()
    }
    fn demand(&self, after: Demand) -> Demand {
        self.0.demand(after)
    }
}

/// The registry row of a verb.
pub const fn entry<V: Verb>(group: Group) -> Entry {
    Entry {
        group,
        name: V::NAME,
        summary: V::SUMMARY,
        about: V::ABOUT,
        meaning: V::MEANING,
        examples: V::EXAMPLES,
        optional_argument: V::OPTIONAL_ARGUMENT,
        argument_unless: V::ARGUMENT_UNLESS,
        combines: V::COMBINES,
        augment: V::augment_args,
        parse: |matches| Ok(Box::new(Typed(V::from_arg_matches(matches)?))),
    }
}

impl Entry {
    /// The clap command of the verb: its own options and positional arguments.
    pub fn command(&self) -> clap::Command {
        (self.augment)(clap::Command::new(self.name).about(self.summary))
    }

    /// Builds the verb from the parsed arguments.
    ///
    /// # Errors
    /// Those of clap.
    pub fn parse(&self, matches: &clap::ArgMatches) -> Result<Box<dyn Parsed>, clap::Error> {
        (self.parse)(matches)
    }
}
