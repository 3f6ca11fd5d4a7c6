//! The chunks of one input in sequence, as a merge sees them.

use super::member::Member;
use crate::chunk::Chunk;
use crate::error::{Error, Kind, Result};
use crate::run::engine::Lines;
use crate::run::work::{Load, Work};
use std::sync::Arc;

/// Why a bad record is an error even if others are skipped.
pub const BY_POSITION: &str = "records are matched by position, so --on-error cannot skip a bad one";

/// The chunks of one input.
pub struct Feed {
    /// The name of the input, for messages.
    pub name: Arc<str>,
    /// Whether the input has a chain, which is then its name.
    has_chain: bool,
    /// Whether records are matched by position, so that none may be skipped.
    by_position: bool,
    /// The error that stopped the input after the last chunk.
    error: Option<Error>,
}

impl Feed {
    /// The chunks of a member.
    pub fn new(member: &Member) -> Feed {
        Feed { name: member.name(), has_chain: member.chain.is_some(), by_position: false, error: None }
    }

    /// The chunks of a member whose records are matched by position: a bad record that would be skipped is an error.
    pub fn by_position(member: &Member) -> Feed {
        Feed { by_position: true, ..Feed::new(member) }
    }

    /// The next nonempty chunk of the line with that number. Faults and counts are added to `work`.
    pub fn next_chunk(&mut self, lines: &Lines<'_, '_, Work>, line: usize, work: &mut Work) -> Result<Option<Chunk>> {
        loop {
            if let Some(error) = self.error.take() {
                return Err(self.located(error));
            }
            let Some(mut piece) = lines.pull(line) else { return Ok(None) };
            work.count(&piece);
            self.error = piece.error.take();
            let lost = piece.faults.iter().position(|fault| self.by_position && !fault.kept).map(|at| piece.faults.split_off(at));
            work.faults.append(&mut piece.faults);
            let mut chunk = match piece.take_ready() {
                Ok(Load::Chunk(chunk)) => Some(chunk),
                Ok(_) => None,
                Err(error) => return Err(self.located(error)),
            };
            if let Some(first) = lost.and_then(|lost| lost.into_iter().next()) {
                let record = first.error.location().records.map_or(0, |(record, _)| record);
                chunk = chunk.map(|chunk| {
                    let precedes = |row: &usize| chunk.origin.number(*row).is_some_and(|number| number < record);
                    chunk.slice(0, (0..chunk.nrows).take_while(precedes).count())
                });
                self.error = Some(first.error.help(BY_POSITION));
            }
            if let Some(chunk) = chunk.filter(|chunk| chunk.nrows > 0) {
                return Ok(Some(chunk));
            }
        }
    }

    /// The error of a chain names the chain.
    fn located(&self, error: Error) -> Error {
        let error = if self.by_position { error.instead_of_skipping(BY_POSITION) } else { error };
        if self.has_chain && error.kind() == Kind::Data { error.help(format!("in {}", self.name)) } else { error }
    }
}
