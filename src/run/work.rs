//! What flows through a run: blocks, chunks and encoded records, with the faults and counts that travel with them.

use super::engine::Piece;
use crate::chunk::{Chunk, Decoded, Fault};
use crate::error::{Error, Result};
use crate::formats::{Encoded, Task};
use crate::verbs::Deferred;
use std::any::Any;

/// A piece of work on its way through the nodes.
#[derive(Default)]
pub struct Work {
    /// What is worked on.
    pub load: Load,
    /// Bad records that were left out, in order.
    pub faults: Vec<Fault>,
    /// The first error; nothing follows.
    pub error: Option<Error>,
    /// Records read for it.
    pub records_in: u64,
    /// Bytes read for it.
    pub nbytes_in: u64,
}

/// What a piece of work carries.
#[derive(Default)]
pub enum Load {
    /// Nothing.
    #[default]
    Nothing,
    /// A block to decode.
    Block(Task<Decoded>),
    /// A chunk of a fold, still to be made.
    Deferred(Deferred),
    /// A decoded chunk.
    Chunk(Chunk),
    /// The next output is to be opened: that of the value of this name.
    Output(String),
    /// Records for one output, or, where outputs are one record each, from the given number on.
    Group {
        /// The number of the output file.
        target: u64,
        /// The chunks of the group.
        chunks: Vec<Chunk>,
    },
    /// Some consecutive columns of a group.
    Columns {
        /// The number of the output file.
        target: u64,
        /// The chunks of the group, with these columns only.
        chunks: Vec<Chunk>,
        /// The number of the first of the columns.
        first: usize,
        /// Records of the group, counted with the last of its columns.
        nrows: u64,
        /// Memory of the columns.
        nbytes: usize,
    },
    /// What a report needs of a chunk.
    Digest {
        /// The digest.
        digest: Box<dyn Any + Send>,
        /// Records in it.
        nrows: u64,
    },
    /// Encoded records, each part for the output of that number.
    Encoded {
        /// Encoded chunks, each with the number of its output file.
        parts: Vec<(u64, Encoded)>,
        /// Records in it.
        nrows: u64,
    },
}

impl Piece for Work {
    fn nbytes(&self) -> usize {
        match &self.load {
            Load::Columns { nbytes, .. } => *nbytes,
            _ => 0,
        }
    }
}

impl Work {
    /// Work on a chunk.
    pub fn chunk(chunk: Chunk) -> Work {
        Work { load: Load::Chunk(chunk), ..Work::default() }
    }

    /// Work on a chunk of a fold.
    pub fn deferred(chunk: Deferred) -> Work {
        Work { load: Load::Deferred(chunk), ..Work::default() }
    }

    /// Work that has failed.
    pub fn failed(error: Error) -> Work {
        Work { error: Some(error), ..Work::default() }
    }

    /// Takes the load out; what travels with it stays.
    pub fn take_load(&mut self) -> Load {
        std::mem::take(&mut self.load)
    }

    /// Takes the load out; a deferred chunk is made.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn take_ready(&mut self) -> Result<Load> {
        match self.take_load() {
            Load::Deferred(chunk) => chunk().map(Load::Chunk),
            other => Ok(other),
        }
    }

    /// Adds what another piece counts; its load, faults and error do not count.
    pub fn count(&mut self, other: &Work) {
        self.records_in += other.records_in;
        self.nbytes_in += other.nbytes_in;
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        matches!(self.load, Load::Nothing) && self.faults.is_empty() && self.error.is_none() && self.records_in == 0 && self.nbytes_in == 0
    }
}
