//! A fold verb as a node of the engine.

use super::engine::Serial;
use super::uncovered::by_verb;
use super::work::{Load, Work};
use crate::chunk::{Chunk, Origin};
use crate::error::Result;
use crate::schema::Schema;
use crate::verbs::{Deferred, Flow, Fold};
use std::sync::Arc;

/// A fold verb as a node.
pub struct FoldNode {
    verb: &'static str,
    fold: Box<dyn Fold>,
    schema: Arc<Schema>,
    /// Whether other nodes skip bad records.
    skip: bool,
    failed: bool,
}

impl FoldNode {
    /// A node for the fold of a verb, whose output has this schema. `skip`: other nodes skip bad records.
    pub fn new(verb: &'static str, fold: Box<dyn Fold>, schema: Arc<Schema>, skip: bool) -> FoldNode {
        FoldNode { verb, fold, schema, skip, failed: false }
    }

    fn deferred(&self, chunk: Deferred) -> Work {
        let (schema, verb, skip) = (self.schema.clone(), self.verb, self.skip);
        Work::deferred(Box::new(move || {
            let chunk = chunk().map_err(|e| if skip { by_verb(e, verb) } else { e })?;
            chunk.check(&schema).map(|()| chunk)
        }))
    }

    fn checked(&mut self, result: Result<Flow>, chunks: Vec<Chunk>, out: &mut Vec<Work>) -> bool {
        for chunk in chunks {
            if let Err(error) = chunk.check(&self.schema) {
                self.failed = true;
                out.push(Work::failed(error));
                return false;
            }
            out.push(Work::chunk(chunk));
        }
        match result {
            Ok(flow) => flow == Flow::More,
            Err(error) => {
                self.failed = true;
                out.push(Work::failed(error));
                false
            }
        }
    }
}

/// Drops the bad records after the last row of `origin`, after which no record matters.
fn forget_later(work: &mut Work, origin: &Origin, nrows: usize) {
    let Some((_, last)) = nrows.checked_sub(1).and_then(|row| origin.records(row..nrows)) else { return };
    work.faults.retain(|fault| {
        let at = fault.error.location();
        at.input != origin.input || at.records.is_none_or(|(record, _)| record <= last)
    });
}

impl Serial<Work> for FoldNode {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        let (load, error) = match work.take_ready() {
            Ok(load) => (load, work.error.take()),
            Err(error) => (Load::Nothing, Some(error)),
        };
        let mut more = true;
        let mut given = Vec::new();
        if let Load::Chunk(chunk) = load
            && chunk.nrows > 0
        {
            let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
            let mut chunks = Vec::new();
            let result = self.fold.push(chunk, &mut chunks).map_err(|e| {
                let error = if self.skip { by_verb(e, self.verb) } else { e };
                origin.resolve(error, nrows)
            });
            if let (Ok(Flow::Done), false) = (&result, self.fold.judges_next())
                && let Some(last) = chunks.last()
            {
                forget_later(&mut work, &last.origin, last.nrows);
            }
            more = self.checked(result, chunks, &mut given);
            if !self.failed {
                let deferred = self.fold.deferred();
                given.extend(deferred.into_iter().map(|chunk| self.deferred(chunk)));
            }
        }
        // The engine limits pieces in flight by number, so an empty piece would displace one with records.
        match given.first_mut() {
            Some(first) => {
                first.count(&work);
                first.faults = work.faults;
            }
            None => out.push(work),
        }
        out.append(&mut given);
        if !more {
            return false;
        }
        match error {
            Some(error) => {
                self.failed = true;
                out.push(Work::failed(error));
                false
            }
            None => true,
        }
    }

    fn finish(&mut self, out: &mut Vec<Work>) -> bool {
        if self.failed {
            return false;
        }
        match self.fold.finish_deferred() {
            Ok(Some(chunk)) => {
                out.push(self.deferred(chunk));
                true
            }
            Ok(None) => false,
            Err(error) => self.checked(Err(error), Vec::new(), out),
        }
    }
}
