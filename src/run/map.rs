//! The stateless part of a run: decodes blocks and applies the map verbs before the next fold, on any thread.
//!
//! Bad records travel as faults with the good ones and are counted at the sink, where order is restored. So does the
//! first error, after the records that precede it.

use super::first_bad::first_bad;
use super::uncovered::{by_combined, by_record, by_verb};
use super::work::{Load, Work};
use crate::chunk::{Chunk, Decoded, Fault, Origin, Rows};
use crate::error::{Kind, Result};
use crate::schema::Schema;
use crate::verbs::Map;
use std::collections::HashMap;
use std::sync::Arc;

/// The map of a verb, and the schema of its output.
pub struct Step {
    /// The name of the verb.
    pub verb: &'static str,
    /// What it does.
    pub map: Arc<dyn Map>,
    /// The schema of its output.
    pub schema: Arc<Schema>,
}

/// Decodes a block, if the work has one, and applies fused maps. A stateless node.
pub fn decode_and_map(mut work: Work, maps: &[Step], input_schema: &Schema, skip: bool) -> Work {
    let load = match work.take_ready() {
        Ok(load) => load,
        Err(error) => return Work { error: Some(error), ..work },
    };
    let chunk = match load {
        Load::Block(task) => match task() {
            Ok(decoded) => match accepted(decoded, skip, input_schema, &mut work) {
                Ok(chunk) => chunk,
                Err(error) => return Work::failed(error),
            },
            Err(error) => return Work { error: Some(error), ..work },
        },
        Load::Chunk(chunk) => chunk,
        Load::Group { target, chunks } if !maps.is_empty() => return map_group(work, target, chunks, maps, skip),
        other => return Work { load: other, ..work },
    };
    let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
    match map_chunk(chunk, maps, skip, &mut work) {
        Ok(chunk) => work.load = Load::Chunk(chunk),
        Err(error) => work.error = Some(error),
    }
    in_order(&mut work.faults, &origin, nrows);
    work
}

/// Sorts the bad records of a chunk by their position in it, regardless of which map rejected them.
fn in_order(faults: &mut [Fault], origin: &Origin, nrows: usize) {
    if faults.len() < 2 {
        return;
    }
    let rows_are_ascending = match &origin.rows {
        Rows::From(_) => true,
        Rows::Listed(records) => records.is_sorted(),
        _ => false,
    };
    if rows_are_ascending {
        return faults.sort_by_key(|fault| fault.error.location().records);
    }
    let files = origin.files();
    let mut rows = HashMap::new();
    for row in (0..nrows).rev() {
        let (file, record, _) = origin.source(row);
        rows.insert((files.get(file as usize).and_then(|(name, _)| name.as_deref()), record), row);
    }
    faults.sort_by_key(|fault| {
        let at = fault.error.location();
        at.records.and_then(|(record, _)| rows.get(&(at.input.as_deref(), record)).copied())
    });
}

/// The records of a decoded block. Its counts and bad records are added to `work`; the first bad record becomes an
/// error if none may be skipped.
///
/// # Errors
/// The records do not match the schema, which is a bug.
fn accepted(decoded: Decoded, skip: bool, schema: &Schema, work: &mut Work) -> Result<Chunk> {
    work.records_in += (decoded.chunk.nrows + decoded.faults.iter().filter(|fault| !fault.kept).count()) as u64;
    work.nbytes_in += decoded.nbytes;
    work.faults = decoded.faults;
    let fatal = work.faults.iter().position(|fault| !skip || fault.error.kind() == Kind::Internal);
    if let Some(fatal) = fatal {
        work.error = Some(work.faults.swap_remove(fatal).error);
        work.faults.clear();
    }
    decoded.chunk.check(schema)?;
    Ok(decoded.chunk)
}

/// Applies the maps to records that are already numbered. On an error, the preceding records are kept.
fn map_group(mut work: Work, target: u64, chunks: Vec<Chunk>, maps: &[Step], skip: bool) -> Work {
    let mut mapped = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        match map_chunk(chunk, maps, skip, &mut work) {
            Ok(chunk) => mapped.push(chunk),
            Err(error) => work.error = Some(error),
        }
        if work.error.is_some() {
            break;
        }
    }
    mapped.retain(|chunk| chunk.nrows > 0);
    work.load = if mapped.is_empty() { Load::Nothing } else { Load::Group { target, chunks: mapped } };
    work
}

/// Applies the maps in sequence. On an error, the preceding records are kept.
fn map_chunk(mut chunk: Chunk, maps: &[Step], skip: bool, work: &mut Work) -> Result<Chunk> {
    for Step { verb, map, schema } in maps {
        let given = chunk.clone();
        chunk = match apply(map.as_ref(), chunk, skip, &mut work.faults) {
            Ok(chunk) => chunk,
            Err(error) => {
                let (before, error) = first_bad(&given, error, |part| map.apply(part));
                work.error = Some(match (skip, map.keeps_rows()) {
                    (false, true) if given.origin.is_of_single_records() => by_record(error),
                    (false, _) => error,
                    (true, true) => by_combined(error, verb),
                    (true, false) => by_verb(error, verb),
                });
                map.apply(given.slice(0, before))?
            }
        };
        chunk.check(schema)?;
    }
    Ok(chunk)
}

/// Applies one map. If bad records may be skipped, they are found by bisecting the chunk, because they are few.
fn apply(map: &dyn Map, chunk: Chunk, skip: bool, faults: &mut Vec<Fault>) -> Result<Chunk> {
    if !(skip && map.keeps_rows() && chunk.origin.is_of_single_records()) {
        return map.apply(chunk);
    }
    let error = match map.apply(chunk.clone()) {
        Err(error) if error.kind() == Kind::Data => error,
        other => return other,
    };
    if chunk.nrows <= 1 {
        faults.push(Fault { error: chunk.origin.resolve(error, chunk.nrows), length: 0, raw: None, kept: false });
        return map.apply(chunk.slice(0, 0));
    }
    let middle = chunk.nrows / 2;
    let first = apply(map, chunk.slice(0, middle), skip, faults)?;
    let second = apply(map, chunk.slice(middle, chunk.nrows - middle), skip, faults)?;
    Chunk::concat(&[first, second])
}
