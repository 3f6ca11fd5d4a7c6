//! The chunks of one input in sequence, as a merge sees them.

use super::member::Member;
use crate::chunk::Chunk;
use crate::error::{Error, Kind, Result};
use crate::run::engine::Lines;
use crate::run::work::{Load, Work};
use std::sync::Arc;

/// The chunks of one input.
pub struct Feed {
    /// The name of the input, for messages.
    pub name: Arc<str>,
    /// Whether the input has a chain, which then is its name.
    has_chain: bool,
    /// The error that stopped the input after the last chunk.
    error: Option<Error>,
}

impl Feed {
    /// The chunks of a member.
    pub fn new(member: &Member) -> Feed {
        Feed { name: member.name(), has_chain: member.chain.is_some(), error: None }
    }

    /// The next nonempty chunk of the line with that number. Faults and counts are added to `work`.
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

    /// The error of a chain names the chain.
    fn located(&self, error: Error) -> Error {
        if self.has_chain && error.kind() == Kind::Data { error.help(format!("in {}", self.name)) } else { error }
    }
}
