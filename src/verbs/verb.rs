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

use crate::chunk::{Chunk, Fault};
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::any::Any;
use std::io::Write;
use std::sync::Arc;

/// One example of a verb: shown in its help and man page, run by a test.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it shows, in a few words.
    pub about: &'static str,
    /// The arguments after `tatter`, as typed in a shell.
    pub args: &'static str,
    /// Standard input.
    pub input: &'static str,
    /// Standard output.
    pub output: &'static str,
}

/// A verb of a chain.
pub trait Verb: clap::Args + Send + Sync + 'static {
    /// As typed.
    const NAME: &'static str;
    /// One line.
    const SUMMARY: &'static str;
    /// The paragraphs of `--help`: what it does to which types, and what it refuses.
    const ABOUT: &'static str;
    /// Where the meaning comes from: `tf.data.Dataset.batch`.
    const MEANING: &'static str = "";
    const EXAMPLES: &'static [Example];

    /// Whether it reports instead of giving records: only at the end of a chain.
    const REPORTS: bool = false;
    /// Whether it reports bad records ([`Report::fault`]), so that reading goes on behind them.
    const TAKES_FAULTS: bool = false;
    /// Whether it looks at records at all; a report may look at the schema alone.
    const NEEDS_RECORDS: bool = true;

    /// Checks the verb against the schema in front of it, and says what it does to chunks.
    ///
    /// # Errors
    /// Usage errors: unknown fields, types it does not work on, arguments that do not fit.
    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound>;

    /// What the verb needs from the stream in front of it, when `after` is needed behind it.
    /// Known from the arguments alone. Everything, unless a verb knows better.
    fn demand(&self, after: Demand) -> Demand {
        let _ = after;
        Demand::everything()
    }
}

/// A verb bound to a schema.
pub struct Bound {
    /// The schema behind the verb.
    pub schema: Arc<Schema>,
    /// What does its work.
    pub operator: Operator,
}

/// What a verb does to chunks.
pub enum Operator {
    Map(Arc<dyn Map>),
    Fold(Box<dyn Fold>),
    Report(Box<dyn Report>),
}

/// A stateless step.
pub trait Map: Send + Sync {
    /// The chunk behind the verb. An error names the row of the chunk ([`crate::error::Error::at_row`]) where
    /// one row is to blame; with `--on-error skip` the engine finds bad records by halving the chunk.
    ///
    /// # Errors
    /// The data does not allow it.
    fn apply(&self, chunk: Chunk) -> Result<Chunk>;

    /// Whether row i behind the step is made of row i in front of it alone, so that bad records can be left out.
    fn keeps_rows(&self) -> bool {
        true
    }

    /// Whether there are as many rows behind the step as in front of it, so that it does not matter which is numbered first.
    fn keeps_count(&self) -> bool {
        self.keeps_rows()
    }
}

/// Whether a fold wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    More,
    /// No later record can matter: the reader is stopped. `finish` is still called.
    Done,
}

/// A step with state, fed one chunk at a time in order.
pub trait Fold: Send {
    /// Takes a chunk, never one without rows; gives what is ready into `out`.
    ///
    /// # Errors
    /// The data does not allow it.
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow>;

    /// After the last chunk: called until it gives `None`.
    ///
    /// # Errors
    /// The data does not allow it.
    fn finish(&mut self) -> Result<Option<Chunk>> {
        Ok(None)
    }
}

/// What a report needs of a chunk, taken out of it on any thread.
pub trait Digest: Send + Sync {
    /// # Errors
    /// The data does not allow it.
    fn digest(&self, chunk: &Chunk) -> Result<Box<dyn Any + Send>>;
}

/// A step that ends the chain and writes a text.
pub trait Report: Send {
    /// The stateless half of the work; with one, [`Report::push_digest`] is called in the place of [`Report::push`].
    fn digest(&self) -> Option<Arc<dyn Digest>> {
        None
    }

    /// Takes what [`Digest::digest`] gave, in the order of the chunks.
    ///
    /// # Errors
    /// The data does not allow it.
    fn push_digest(&mut self, digest: Box<dyn Any + Send>) -> Result<Flow> {
        let _ = digest;
        Ok(Flow::More)
    }

    /// Whether bad records are reported by [`Report::fault`] instead of failing the run.
    fn takes_faults(&self) -> bool {
        false
    }

    /// A record that could not be used; only called if [`Report::takes_faults`].
    fn fault(&mut self, fault: &Fault) {
        let _ = fault;
    }

    /// Takes a chunk; may write already. `Done` stops the reader.
    ///
    /// # Errors
    /// Writing fails, or the data does not allow it.
    fn push(&mut self, chunk: &Chunk, out: &mut dyn Write) -> Result<Flow>;

    /// Writes what is left. The verdict decides the exit code.
    ///
    /// # Errors
    /// Writing fails.
    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict>;
}

/// Whether a report found everything in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// Exit code 1.
    Bad,
}

/// A verb whose type is forgotten: a row of [`VERBS`].
pub struct Entry {
    pub name: &'static str,
    pub summary: &'static str,
    pub about: &'static str,
    pub meaning: &'static str,
    pub examples: &'static [Example],
    augment: fn(clap::Command) -> clap::Command,
    parse: fn(&clap::ArgMatches) -> Result<Box<dyn Parsed>, clap::Error>,
}

/// A verb with its arguments, before it meets a schema.
pub trait Parsed: Send + Sync {
    fn name(&self) -> &'static str;
    /// See [`Verb::REPORTS`].
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
    /// See [`Verb::demand`].
    fn demand(&self, after: Demand) -> Demand;
}

struct Typed<V>(V);

impl<V: Verb> Parsed for Typed<V> {
    fn name(&self) -> &'static str {
        V::NAME
    }
    fn is_report(&self) -> bool {
        V::REPORTS
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
    fn demand(&self, after: Demand) -> Demand {
        self.0.demand(after)
    }
}

/// The row of a verb in [`VERBS`].
pub const fn entry<V: Verb>() -> Entry {
    Entry {
        name: V::NAME,
        summary: V::SUMMARY,
        about: V::ABOUT,
        meaning: V::MEANING,
        examples: V::EXAMPLES,
        augment: V::augment_args,
        parse: |matches| Ok(Box::new(Typed(V::from_arg_matches(matches)?))),
    }
}

impl Entry {
    /// The clap command of the verb: its own options and positional arguments.
    pub fn command(&self) -> clap::Command {
        (self.augment)(clap::Command::new(self.name).about(self.summary))
    }

    /// The verb with the arguments found.
    ///
    /// # Errors
    /// As clap says it.
    pub fn parse(&self, matches: &clap::ArgMatches) -> Result<Box<dyn Parsed>, clap::Error> {
        (self.parse)(matches)
    }
}
