//! The chunks of one input in sequence, as a merge sees them.

use super::member::Member;
use crate::chunk::Chunk;
use crate::error::{Error, Kind, Result};
use crate::run::engine::Lines;
use crate::run::work::{Load, Work};
use std::sync::Arc;

/// The chunks of one input.
pub struct Feed {
    /// Of the input, for messages.
    pub name: Arc<str>,
    /// Whether the input has a chain, which is its name.
    has_chain: bool,
    /// What stopped it after the last chunk.
    error: Option<Error>,
}

impl Feed {
    /// Those of a member.
    pub fn new(member: &Member) -> Feed {
        Feed { name: member.name(), has_chain: member.chain.is_some(), error: None }
    }

    /// The next chunk with records, of the line of that number; faults and counts go to `work`.
    pub fn next_chunk(&mut self, lines: &Lines<'_, '_, Work>, line: usize, work: &mut Work) -> Result<Option<Chunk>> {
        loop {
            if let Some(error) = self.error.take() {
                return Err(self.located(error));
            }
            let Some(mut piece) = lines.pull(line) else { return Ok(None) };
            work.count(&piece);
            work.faults.append(&mut piece.faults);
            self.error = piece.error.take();
            match piece.take_ready() {
                Ok(Load::Chunk(chunk)) if chunk.nrows > 0 => return Ok(Some(chunk)),
                Ok(_) => {}
                Err(error) => return Err(self.located(error)),
            }
        }
    }

    /// The error of a chain says which.
    fn located(&self, error: Error) -> Error {
        if self.has_chain && error.kind() == Kind::Data { error.help(format!("in {}", self.name)) } else { error }
    }
}
