//! A fold verb as a node of the engine.

use super::engine::Serial;
use super::uncovered::by_verb;
use super::work::{Load, Work};
use crate::chunk::Chunk;
use crate::error::{Error, Kind, Result};
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

    /// Passes on finished chunks.
    fn give(&mut self, chunks: Vec<Chunk>, out: &mut Vec<Work>) -> Result<()> {
        for chunk in chunks {
            chunk.check(&self.schema)?;
            out.push(Work::chunk(chunk));
        }
        let deferred = self.fold.deferred();
        out.extend(deferred.into_iter().map(|chunk| self.deferred(chunk)));
        Ok(())
    }

    fn fail(&mut self, error: Error, out: &mut Vec<Work>) -> bool {
        self.failed = true;
        out.push(Work::failed(error));
        false
    }
}

/// Passes a chunk to a fold. On an error, the records before the first bad one are passed if they were not.
fn push_rows(fold: &mut dyn Fold, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
    let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
    if nrows == 1 || !fold.rejects_as_a_whole() {
        return fold.push(chunk, out).map_err(|e| origin.resolve(e, nrows));
    }
    match fold.push(chunk.clone(), out) {
        Err(error) if error.kind() == Kind::Data && error.location().row.is_some() => {
            let middle = nrows / 2;
            match push_rows(fold, chunk.slice(0, middle), out)? {
                Flow::Done => Ok(Flow::Done),
                Flow::More => push_rows(fold, chunk.slice(middle, nrows - middle), out),
            }
        }
        result => result.map_err(|e| origin.resolve(e, nrows)),
    }
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
            let result = push_rows(self.fold.as_mut(), chunk, &mut chunks);
            if let Ok(Flow::Done) = result {
                if self.fold.judges_next() {
                    let passed: usize = chunks.iter().map(|chunk| chunk.nrows).sum();
                    work.forget_later(&origin, nrows.min(passed + 1));
                } else if let Some(last) = chunks.last() {
                    work.forget_later(&last.origin, last.nrows);
                }
            }
            let given_all = self.give(chunks, &mut given);
            more = match given_all.and(result) {
                Ok(flow) => flow == Flow::More,
                Err(error) => {
                    let error = if self.skip { by_verb(error, self.verb) } else { error };
                    self.fail(error, &mut given)
                }
            };
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
            Err(error) => self.fail(error, out),
        }
    }
}
