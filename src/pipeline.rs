//! What the engine's nodes do in a run: decode and map, fold, group, encode, write.
//!
//! Bad records travel as faults beside the good ones and are counted where everything is in order
//! again, at the sink; so does the first error, behind the records in front of it.

use crate::chunk::{Chunk, Decoded, Fault, Rows};
use crate::engine::Serial;
use crate::error::{Error, Kind, Result};
use crate::formats::{Encode, Encoded, Format, Grouping, Task, Writer};
use crate::io::{Layout, Outputs};
use crate::options::Options;
use crate::schema::Schema;
use crate::schema::leaves::leaves;
use crate::verbs::{Digest, Flow, Fold, Map};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// A piece of work on its way through the nodes.
#[derive(Default)]
pub struct Work {
    pub load: Load,
    /// Bad records that were left out, in order.
    pub faults: Vec<Fault>,
    /// The first error; nothing follows.
    pub error: Option<Error>,
    pub records_in: u64,
    pub nbytes_in: u64,
}

/// What a piece of work carries.
#[derive(Default)]
pub enum Load {
    #[default]
    Nothing,
    Block(Task<Decoded>),
    Chunk(Chunk),
    /// Records for one output, or, where outputs are one record each, from the given number on.
    Group {
        target: u64,
        chunks: Vec<Chunk>,
    },
    /// What a report needs of a chunk.
    Digest {
        digest: Box<dyn Any + Send>,
        nrows: u64,
    },
    /// Encoded records, each part for the output of that number.
    Encoded {
        parts: Vec<(u64, Encoded)>,
        nrows: u64,
    },
}

impl Work {
    fn chunk(chunk: Chunk) -> Work {
        Work { load: Load::Chunk(chunk), ..Work::default() }
    }

    pub fn failed(error: Error) -> Work {
        Work { error: Some(error), ..Work::default() }
    }

    /// Takes the load out; what travels beside it stays.
    fn take_load(&mut self) -> Load {
        std::mem::take(&mut self.load)
    }

    /// Adds what another piece counts; its load, faults and error stay behind.
    fn count(&mut self, other: &Work) {
        self.records_in += other.records_in;
        self.nbytes_in += other.nbytes_in;
    }

    /// Whether there is nothing in it.
    fn is_empty(&self) -> bool {
        matches!(self.load, Load::Nothing) && self.faults.is_empty() && self.error.is_none() && self.records_in == 0 && self.nbytes_in == 0
    }
}

/// Decodes a block, if the work is one, and applies fused map steps. A stateless node.
pub fn decode_and_map(mut work: Work, maps: &[(Arc<dyn Map>, Arc<Schema>)], input_schema: &Schema, skip: bool) -> Work {
    let chunk = match work.take_load() {
        Load::Block(task) => match task() {
            Ok(decoded) => {
                work.records_in += (decoded.chunk.nrows + decoded.faults.len()) as u64;
                work.nbytes_in += decoded.nbytes;
                work.faults = decoded.faults;
                if !skip && !work.faults.is_empty() {
                    work.error = Some(work.faults.remove(0).error);
                    work.faults.clear();
                }
                if let Err(error) = decoded.chunk.check(input_schema) {
                    return Work::failed(error);
                }
                decoded.chunk
            }
            Err(error) => return Work { error: Some(error), ..work },
        },
        Load::Chunk(chunk) => chunk,
        Load::Group { target, chunks } if !maps.is_empty() => return map_group(work, target, chunks, maps, skip),
        other => return Work { load: other, ..work },
    };
    let faults_before = work.faults.len();
    match map_chunk(chunk, maps, skip, &mut work) {
        Ok(chunk) => work.load = Load::Chunk(chunk),
        Err(error) => work.error = Some(error),
    }
    if work.faults.len() > faults_before {
        work.faults.sort_by_key(|fault| fault.error.location().records);
    }
    work
}

/// Applies the steps to records that have their places in the output already. On an error the records in front of it still pass.
fn map_group(mut work: Work, target: u64, chunks: Vec<Chunk>, maps: &[(Arc<dyn Map>, Arc<Schema>)], skip: bool) -> Work {
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

/// Applies the steps one after the other. On an error the records in front of it still pass.
fn map_chunk(mut chunk: Chunk, maps: &[(Arc<dyn Map>, Arc<Schema>)], skip: bool, work: &mut Work) -> Result<Chunk> {
    for (map, schema) in maps {
        let given = chunk.clone();
        chunk = match apply(map.as_ref(), chunk, skip, &mut work.faults) {
            Ok(chunk) => chunk,
            Err(error) => {
                let (before, error) = first_bad(map.as_ref(), &given, error);
                work.error = Some(error);
                map.apply(given.slice(0, before))?
            }
        };
        chunk.check(schema)?;
    }
    Ok(chunk)
}

/// How many records stand in front of the first that a step refuses, and why it does. A step looks at a chunk field
/// by field; which record is named must not depend on where the chunk was cut.
fn first_bad(map: &dyn Map, chunk: &Chunk, mut error: Error) -> (usize, Error) {
    let (mut start, mut end) = (0, chunk.nrows);
    while error.kind() == Kind::Data && end - start > 1 {
        let middle = start + (end - start) / 2;
        if let Err(earlier) = map.apply(chunk.slice(start, middle - start)) {
            (end, error) = (middle, earlier);
        } else if let Err(later) = map.apply(chunk.slice(middle, end - middle)) {
            (start, error) = (middle, later);
        } else {
            break;
        }
    }
    (start, chunk.slice(start, end - start).origin.resolve(error, end - start))
}

/// Applies one step. Where bad records may be left out, they are found by halving the chunk: few are bad.
fn apply(map: &dyn Map, chunk: Chunk, skip: bool, faults: &mut Vec<Fault>) -> Result<Chunk> {
    if !(skip && map.keeps_rows() && matches!(chunk.origin.rows, Rows::From(_) | Rows::Listed(_))) {
        return map.apply(chunk);
    }
    let error = match map.apply(chunk.clone()) {
        Err(error) if error.kind() == Kind::Data => error,
        other => return other,
    };
    if chunk.nrows <= 1 {
        faults.push(Fault { error: chunk.origin.resolve(error, chunk.nrows), length: 0, raw: None });
        return map.apply(chunk.slice(0, 0));
    }
    let middle = chunk.nrows / 2;
    let first = apply(map, chunk.slice(0, middle), skip, faults)?;
    let second = apply(map, chunk.slice(middle, chunk.nrows - middle), skip, faults)?;
    Chunk::concat(&[first, second])
}

/// A fold verb as a node.
pub struct FoldNode {
    fold: Box<dyn Fold>,
    schema: Arc<Schema>,
    failed: bool,
}

impl FoldNode {
    pub fn new(fold: Box<dyn Fold>, schema: Arc<Schema>) -> FoldNode {
        FoldNode { fold, schema, failed: false }
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

impl Serial<Work> for FoldNode {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        let load = work.take_load();
        let error = work.error.take();
        let mut more = true;
        let mut given = Vec::new();
        if let Load::Chunk(chunk) = load
            && chunk.nrows > 0
        {
            let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
            let mut chunks = Vec::new();
            let result = self.fold.push(chunk, &mut chunks).map_err(|e| origin.resolve(e, nrows));
            more = self.checked(result, chunks, &mut given);
        }
        // The engine bounds what is in flight by pieces: one without records would take the place of one with.
        match given.first_mut() {
            Some(first) if work.faults.is_empty() => first.count(&work),
            _ => out.push(work),
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
        match self.fold.finish() {
            Ok(Some(chunk)) => self.checked(Ok(Flow::More), vec![chunk], out),
            Ok(None) => false,
            Err(error) => self.checked(Err(error), Vec::new(), out),
        }
    }
}

/// Sends records to the output they belong to, in groups of rows where the format wants them.
pub struct Router {
    layout: Layout,
    grouping: Option<Grouping>,
    /// Records seen so far.
    seen: u64,
    /// One for each output; one alone where outputs are one record each.
    groups: Vec<Group>,
    /// Counts that travel with the next group. The engine bounds what is in flight by pieces: if each chunk of a
    /// group to come gave an empty one, no chunk would be read while an earlier group is encoded.
    held: Work,
}

/// Bytes of the records that one task writes into files of their own.
const PER_RECORD_NBYTES: usize = 64 << 10;

/// The rows of a group that is not full yet.
#[derive(Default)]
struct Group {
    chunks: VecDeque<Chunk>,
    nrows: usize,
    nbytes: usize,
}

impl Router {
    /// `None` if chunks may go to the encoder as they come.
    pub fn new(layout: Layout, grouping: Option<Grouping>) -> Option<Router> {
        let outputs = match layout {
            Layout::Single if grouping.is_none() => return None,
            Layout::Shards(n) => n,
            Layout::Single | Layout::PerRecord => 1,
        };
        Some(Router { layout, grouping, seen: 0, groups: (0..outputs).map(|_| Group::default()).collect(), held: Work::default() })
    }

    fn route(&mut self, chunk: Chunk, out: &mut Vec<Work>) -> Result<()> {
        let first = self.seen;
        self.seen += chunk.nrows as u64;
        match self.layout {
            Layout::PerRecord => {
                // Few at a time: what padding makes of them is written while it is still near.
                let mut rest = chunk;
                while rest.nrows > 0 {
                    let taken = rows_that_fit(&rest, PER_RECORD_NBYTES, rest.nrows).max(1);
                    let target = self.seen - rest.nrows as u64;
                    self.give(target, vec![rest.slice(0, taken)], out);
                    rest = rest.slice(taken, rest.nrows - taken);
                }
                Ok(())
            }
            Layout::Single => self.fill(0, chunk, out),
            Layout::Shards(n) => {
                for shard in 0..n {
                    let start = (shard as u64 + n as u64 - first % n as u64) % n as u64;
                    let rows: Vec<usize> = (start as usize..chunk.nrows).step_by(n).collect();
                    if !rows.is_empty() {
                        self.fill(shard, chunk.gather(&rows)?, out)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Adds rows to the group of an output; gives every group that is full.
    fn fill(&mut self, target: usize, mut chunk: Chunk, out: &mut Vec<Work>) -> Result<()> {
        let Some(limit) = self.grouping else {
            self.give(target as u64, vec![chunk], out);
            return Ok(());
        };
        while chunk.nrows > 0 {
            let state = &mut self.groups[target];
            let room = limit.rows.max(1) - state.nrows;
            let fits = rows_that_fit(&chunk, limit.nbytes.saturating_sub(state.nbytes), room);
            let take = if state.nrows == 0 { fits.max(1) } else { fits };
            let part = chunk.slice(0, take);
            chunk = chunk.slice(take, chunk.nrows - take);
            if take > 0 {
                state.nrows += take;
                state.nbytes += part.nbytes();
                state.chunks.push_back(part);
            }
            if chunk.nrows > 0 || state.nrows >= limit.rows {
                let full = std::mem::take(state);
                self.give(target as u64, full.chunks.into(), out);
            }
        }
        Ok(())
    }
}

/// How many first rows have at most so many bytes. Sizes add up over rows, so halving finds it.
fn rows_that_fit(chunk: &Chunk, nbytes: usize, rows: usize) -> usize {
    let most = rows.min(chunk.nrows);
    if chunk.slice(0, most).nbytes() <= nbytes {
        return most;
    }
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if chunk.slice(0, middle).nbytes() <= nbytes { low = middle } else { high = middle }
    }
    low
}

impl Serial<Work> for Router {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        let load = work.take_load();
        let error = work.error.take();
        if work.faults.is_empty() {
            self.held.count(&work);
        } else {
            out.push(work);
        }
        let routed = match load {
            Load::Chunk(chunk) if chunk.nrows > 0 => self.route(chunk, out),
            _ => Ok(()),
        };
        match routed.err().or(error) {
            Some(error) => {
                self.flush(out);
                out.push(Work::failed(error));
                false
            }
            None => true,
        }
    }

    fn finish(&mut self, out: &mut Vec<Work>) -> bool {
        self.flush(out);
        false
    }
}

impl Router {
    fn give(&mut self, target: u64, chunks: Vec<Chunk>, out: &mut Vec<Work>) {
        let held = std::mem::take(&mut self.held);
        out.push(Work { load: Load::Group { target, chunks }, ..held });
    }

    /// Gives the groups that are not full, too.
    fn flush(&mut self, out: &mut Vec<Work>) {
        for target in 0..self.groups.len() {
            let rest = std::mem::take(&mut self.groups[target]);
            if rest.nrows > 0 {
                self.give(target as u64, rest.chunks.into(), out);
            }
        }
        if !self.held.is_empty() {
            out.push(std::mem::take(&mut self.held));
        }
    }
}

/// What is done to chunks last, on any thread.
pub enum Last {
    Encode(Encoder),
    Digest(Arc<dyn Digest>),
}

impl Last {
    pub fn apply(&self, mut work: Work) -> Work {
        let digest = match self {
            Last::Encode(encoder) => return encoder.encode(work),
            Last::Digest(digest) => digest,
        };
        let chunk = match work.take_load() {
            Load::Chunk(chunk) => chunk,
            other => return Work { load: other, ..work },
        };
        match digest.digest(&chunk) {
            Ok(digest) => work.load = Load::Digest { digest, nrows: chunk.nrows as u64 },
            Err(error) => work.error = Some(chunk.origin.resolve(error, chunk.nrows)),
        }
        work
    }
}

/// Encodes chunks and groups. A stateless node, fused with the map steps in front of it.
pub struct Encoder {
    pub encode: Arc<dyn Encode>,
    /// For outputs of one record each, which are written where they are encoded.
    pub per_record: Option<PerRecord>,
}

/// What it takes to write a whole output.
pub struct PerRecord {
    pub format: &'static dyn Format,
    pub schema: Arc<Schema>,
    pub options: Arc<Options>,
    pub outputs: Arc<Outputs>,
}

impl Encoder {
    pub fn encode(&self, mut work: Work) -> Work {
        let (target, chunks) = match work.take_load() {
            Load::Chunk(chunk) => (0, vec![chunk]),
            Load::Group { target, chunks } => (target, chunks),
            other => return Work { load: other, ..work },
        };
        let nrows = chunks.iter().map(|c| c.nrows as u64).sum();
        match self.encode_group(target, chunks) {
            Ok(parts) => work.load = Load::Encoded { parts, nrows },
            Err(error) => work.error = Some(error),
        }
        work
    }

    fn encode_group(&self, target: u64, chunks: Vec<Chunk>) -> Result<Vec<(u64, Encoded)>> {
        let Some(whole) = &self.per_record else {
            return Ok(vec![(target, self.encode.encode_group(chunks)?)]);
        };
        let chunk = Chunk::concat(&chunks)?;
        let (origin, nrows) = (chunk.origin.clone(), chunk.nrows);
        for row in 0..nrows {
            let mut writer = new_writer(whole.format, &whole.schema, &whole.options, Layout::PerRecord)?;
            writer.begin(whole.outputs.create(target + row as u64)?)?;
            let encoded = writer.encoder().encode(chunk.slice(row, 1)).map_err(|e| origin.slice(row, 1).resolve(e, 1))?;
            writer.write(encoded)?;
            writer.finish()?;
        }
        Ok(Vec::new())
    }
}

/// A writer of that format, or an error that the format is only read.
///
/// # Errors
/// The format is not written, or cannot hold the schema.
pub fn new_writer(format: &'static dyn Format, schema: &Arc<Schema>, options: &Options, layout: Layout) -> Result<Box<dyn Writer>> {
    if !format.is_text()
        && let Some(leaf) = leaves(schema).into_iter().find(|leaf| leaf.field.ty.is_sparse() && leaf.field.ty.dims.is_empty())
    {
        let error = Error::usage(format!("a sparse tensor without axes has no form in {}", format.name())).in_field(leaf.path);
        return Err(error.help("sparse.to_dense in map gives its single value; JSON lines hold it as it is"));
    }
    let writer = if layout == Layout::PerRecord { format.record_writer(schema, options) } else { format.writer(schema, options) };
    writer.unwrap_or_else(|| {
        Err(Error::usage(format!("{} is only read, not written", format.name())).help("choose another format with --to"))
    })
}
