//! The interface between the run and inputs that are read side by side.

use super::engine::Origin;
use super::opened::Opened;
use super::work::Work;
use crate::demand::Demand;
use crate::error::Result;
use crate::schema::Schema;
use std::sync::Arc;

/// Several inputs that become one stream.
pub trait Several: Send {
    /// The schema of the stream, inferred from `share` bytes of each file or from all.
    ///
    /// # Errors
    /// An input cannot be read, its chain cannot be bound, or the types of two inputs disagree.
    fn infer(&mut self, demand: &Demand, share: Option<u64>, threads: usize) -> Result<Inferred>;

    /// The stream, under the schema inferred last. Takes the open inputs.
    ///
    /// # Errors
    /// A chain cannot be bound.
    fn origin<'a>(&mut self) -> Result<Origin<'a, Work>>;

    /// The files of all inputs.
    fn opened(&self) -> Box<dyn Iterator<Item = &Opened> + '_>;

    /// Opens regular files again, from the start.
    ///
    /// # Errors
    /// A file cannot be opened.
    fn reopen(&mut self) -> Result<()>;

    /// A copy of the inputs, to be opened again.
    fn closed(&self) -> Box<dyn Several>;

    /// The inputs that have their own chains.
    fn chains(&self) -> Vec<ChainOfInput>;
}

/// An input with its own chain, for the plan of a run.
pub struct ChainOfInput {
    /// The chain as typed, in brackets.
    pub text: Arc<str>,
    /// The number after that of its last file.
    pub end: usize,
    /// The schema of its records.
    pub schema: Schema,
}

/// A schema, and whether all records are known to fit it.
pub struct Inferred {
    /// The required fields, of all inputs together.
    pub schema: Schema,
    /// Whether all records are known to fit the schema, because each input declares its types or was read completely.
    pub is_settled: bool,
    /// Whether each input declares its types, so that no record needs to be inspected.
    pub is_stated: bool,
}
