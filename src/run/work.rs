//! The pieces of work of a run: blocks, chunks and encoded records, with the faults and counts that travel with them.

use super::engine::WorkPiece;
use crate::chunk::{Chunk, Decoded, Fault, Origin, RowGroup};
use crate::error::{Error, Result};
use crate::formats::{Encoded, Task};
use crate::verbs::Deferred;
use std::any::Any;

/// A piece of work on its way through the nodes.
#[derive(Default)]
pub struct Work {
    /// The payload.
    pub load: Load,
    /// Bad records that were skipped, in order.
    pub faults: Vec<Fault>,
    /// The first error; nothing follows.
    pub error: Option<Error>,
    /// Records read for it.
    pub records_in: u64,
    /// Bytes read for it.
    pub nbytes_in: u64,
}

/// The payload of a piece of work.
#[derive(Default)]
pub enum Load {
    /// Nothing.
    #[default]
    Nothing,
    /// A block to decode.
    Block(Task<Decoded>),
    /// A chunk from a fold, still to be built.
    Deferred(Deferred),
    /// A decoded chunk.
    Chunk(Chunk),
    /// Opens the next output, for the value with this name.
    Output(String),
    /// Records for one output or, if outputs have one record each, for consecutive outputs.
    Group {
        /// The number of the output file, or of the first one.
        target: u64,
        /// The chunks of the group.
        chunks: Vec<Chunk>,
    },
    /// Consecutive columns of a group.
    Columns {
        /// The number of the output file.
        target: u64,
        /// These columns of the group.
        columns: RowGroup,
        /// The number of the first column.
        first: usize,
        /// Number of records in the group, counted with its last columns.
        nrows: u64,
        /// Memory of the columns.
        nbytes: usize,
    },
    /// A digest of records for a report.
    Digest {
        /// The digest.
        digest: Box<dyn Any + Send>,
        /// Number of records.
        nrows: u64,
    },
    /// Encoded records, each part with its output.
    Encoded {
        /// Encoded chunks, each with the number of its output file.
        parts: Vec<(u64, Encoded)>,
        /// Number of records.
        nrows: u64,
    },
}

impl WorkPiece for Work {
    fn nbytes(&self) -> usize {
        match &self.load {
            Load::Columns { nbytes, .. } => *nbytes,
            _ => 0,
        }
    }
}

impl Work {
    /// Work with a chunk.
    pub fn chunk(chunk: Chunk) -> Work {
        Work { load: Load::Chunk(chunk), ..Work::default() }
    }

    /// Work with a chunk from a fold.
    pub fn deferred(chunk: Deferred) -> Work {
        Work { load: Load::Deferred(chunk), ..Work::default() }
    }

    /// Drops the bad records after the first `nrows` rows of `origin`, after which no record matters.
    pub fn forget_later(&mut self, origin: &Origin, nrows: usize) {
        let Some((_, last)) = nrows.checked_sub(1).and_then(|row| origin.records(row..nrows)) else { return };
        self.faults.retain(|fault| {
            let at = fault.error.location();
            at.input != origin.input || at.records.is_none_or(|(record, _)| record <= last)
        });
    }

    /// Work that has failed.
    pub fn failed(error: Error) -> Work {
        Work { error: Some(error), ..Work::default() }
    }

    /// Takes the payload out; faults and counts stay.
    pub fn take_load(&mut self) -> Load {
        std::mem::take(&mut self.load)
    }

    /// Takes the payload out and builds deferred chunks.
    ///
    /// # Errors
    /// The chunk cannot be built.
    pub fn take_ready(&mut self) -> Result<Load> {
        match self.take_load() {
            Load::Deferred(chunk) => chunk().map(Load::Chunk),
            other => Ok(other),
        }
    }

    /// Adds the counts of another piece; its payload, faults and error are ignored.
    pub fn count(&mut self, other: &Work) {
        self.records_in += other.records_in;
        self.nbytes_in += other.nbytes_in;
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        matches!(self.load, Load::Nothing) && self.faults.is_empty() && self.error.is_none() && self.records_in == 0 && self.nbytes_in == 0
    }
}
