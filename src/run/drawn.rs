//! Reads the records that the first verb draws by number (`sample`, `shuffle`) at random positions, using the index of
//! each input.

use super::engine::Origin;
use super::opened::Opened;
use super::work::{Load, Work};
use crate::chunk::{Chunk, Decoded};
use crate::demand::{Demand, RecordNumbers};
use crate::error::{Error, Result};
use crate::formats::{Numbered, Request, Task};
use crate::options::{OnError, Options};
use crate::schema::Schema;
use crate::verbs::{Budget, Parsed};
use std::sync::Arc;

/// Approximate number of input bytes read for one chunk, and maximum number of its records.
const CHUNK_NBYTES: u64 = 2 << 20;
const CHUNK_ROWS: u64 = 1 << 14;
/// Reading a record at a random position may cost as much as reading this many in sequence.
const PLACE_COST: u64 = 8;

/// Selected records of the inputs, in output order.
pub struct Drawn {
    /// Record numbers, from 0, counted across all inputs.
    order: Vec<u32>,
    /// The number of records up to the end of each input.
    ends: Vec<u64>,
    rows_per_chunk: usize,
}

/// The records that the first verb draws, if reading only these costs less than reading all; the verb is then complete.
/// `is_stated`: the types are known without inspecting records. `nbytes`: the size of all inputs, if known. `numbered`:
/// how to find the records of each input by number, if possible.
///
/// # Errors
/// An index is damaged.
pub fn plan(
    verbs: &[Box<dyn Parsed>],
    options: &Options,
    is_stated: bool,
    nbytes: Option<u64>,
    numbered: impl FnOnce() -> Result<Option<Vec<Numbered>>>,
) -> Result<Option<Drawn>> {
    let Some((first, rest)) = verbs.split_first() else { return Ok(None) };
    // If bad records are skipped, they do not count, so all records must be inspected.
    if options.on_error != OnError::Fail || first.draw(0, options).is_none() {
        return Ok(None);
    }
    if !is_stated && nbytes.is_none_or(|nbytes| nbytes <= Budget::room(options)) {
        return Ok(None);
    }
    let Some(numbered) = numbered()? else { return Ok(None) };
    let nbytes = numbered.iter().fold(0u64, |sum, one| sum.saturating_add(one.nbytes));
    let is_large = nbytes > Budget::room(options);
    let mut nrecords = 0u64;
    let mut ends = Vec::with_capacity(numbered.len());
    for one in &numbered {
        nrecords = nrecords.saturating_add(one.nrecords);
        ends.push(nrecords);
    }
    let Some(mut order) = first.draw(nrecords, options) else { return Ok(None) };
    let limit = rest.iter().rev().fold(Demand::everything(), |after, verb| verb.demand(after)).records;
    order.truncate(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX));
    let nread = numbered.iter().map(|one| one.nread).max().unwrap_or(1);
    let rows_per_chunk = (CHUNK_NBYTES / (nbytes / nrecords.max(1)).max(1)).clamp(1, CHUNK_ROWS);
    // Each chunk reads its own records and those stored together with them, but at most all records.
    let (nchunks, rows) = ((order.len() as u64).div_ceil(rows_per_chunk), (order.len() as u64).min(rows_per_chunk));
    let cost = nchunks.saturating_mul(rows.saturating_mul(nread).saturating_mul(PLACE_COST).min(nrecords));
    let are_few = cost <= nrecords;
    let pays = if order.is_sorted() { is_stated } else { is_stated && are_few || is_large && nread <= PLACE_COST };
    if !pays {
        return Ok(None);
    }
    let by = match numbered.as_slice() {
        [only] => only.by.to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.by, rest.len()),
        [] => return Ok(None),
    };
    options.remarks.add(format!("{} reads {} of {nrecords} records, using {by}", first.name(), order.len()), false)?;
    let rows = rows_per_chunk as usize;
    Ok(Some(Drawn { order, ends, rows_per_chunk: options.chunk_rows.map_or(rows, |most| most.clamp(1, rows)) }))
}

impl Drawn {
    /// Whether the output order is the order of the inputs.
    pub fn ascends(&self) -> bool {
        self.order.is_sorted()
    }

    /// Requests only the selected records of each input.
    pub fn narrow(&self, requests: &mut [Request]) {
        let mut start = 0;
        for (request, end) in requests.iter_mut().zip(&self.ends) {
            let own = self.order.partition_point(|record| u64::from(*record) < start)
                ..self.order.partition_point(|record| u64::from(*record) < *end);
            let numbers = self.order[own].iter().map(|record| u64::from(*record) - start + 1);
            request.only = Some(Arc::new(RecordNumbers::ascending(numbers)));
            start = *end;
        }
    }

    /// A stream of the records, in output order.
    pub fn origin<'a>(self, mut opened: Vec<Opened>, schema: Arc<Schema>, request: Request) -> Origin<'a, Work> {
        let mut given = 0;
        Origin::Source(Box::new(move || {
            let end = self.order.len().min(given + self.rows_per_chunk);
            let records = self.order.get(given..end).filter(|records| !records.is_empty())?;
            given = end;
            Some(match self.task(records, &mut opened, &schema, &request) {
                Ok(task) => Work { load: Load::Block(task), ..Work::default() },
                Err(error) => {
                    given = self.order.len();
                    Work::failed(error)
                }
            })
        }))
    }

    /// Reads these records, on any thread.
    fn task(&self, records: &[u32], opened: &mut [Opened], schema: &Arc<Schema>, request: &Request) -> Result<Task<Decoded>> {
        let mut rows: Vec<usize> = (0..records.len()).collect();
        rows.sort_unstable_by_key(|row| records[*row]);
        let ascending: Vec<u64> = rows.iter().map(|row| u64::from(records[*row])).collect();
        let (mut tasks, mut start, mut first) = (Vec::new(), 0, 0);
        for (opened, end) in opened.iter_mut().zip(&self.ends) {
            let last = ascending.partition_point(|record| record < end);
            if last > first {
                let only = RecordNumbers::ascending(ascending[first..last].iter().map(|record| record - start + 1));
                tasks.push(opened.read(schema, &Request { only: Some(Arc::new(only)), ..request.clone() })?);
            }
            (start, first) = (*end, last);
        }
        Ok(Box::new(move || {
            let (mut parts, mut nbytes) = (Vec::new(), 0);
            for task in tasks.into_iter().flatten() {
                let decoded = task?()?;
                nbytes += decoded.nbytes;
                if !decoded.faults.is_empty() {
                    return Ok(Decoded { chunk: decoded.chunk.slice(0, 0), nbytes, ..decoded });
                }
                parts.push(decoded.chunk);
            }
            Ok(Decoded { chunk: reordered(&parts, &rows)?, faults: Vec::new(), nbytes, offsets: Vec::new() })
        }))
    }
}

/// The rows of all parts, in the order given by `rows`.
fn reordered(parts: &[Chunk], rows: &[usize]) -> Result<Chunk> {
    if parts.iter().map(|part| part.nrows).sum::<usize>() != rows.len() {
        return Err(Error::internal("an input has other records than were asked for"));
    }
    let found = parts.iter().enumerate().flat_map(|(part, chunk)| (0..chunk.nrows).map(move |row| (part, row)));
    let mut positions = vec![(0, 0); rows.len()];
    for (row, position) in rows.iter().zip(found) {
        positions[*row] = position;
    }
    Chunk::interleave(parts, &positions)
}
