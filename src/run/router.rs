//! Routes records to outputs, in row groups if the format needs them.

use super::engine::Serial;
use super::work::{Load, Work};
use crate::chunk::{Chunk, Rest, RowGroup};
use crate::error::{Error, Result};
use crate::formats::Grouping;
use crate::io::Distribution;
use crate::printable::shell_word;
use crate::tensor::Tensor;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How records are assigned to parts of a split.
pub enum Parting {
    /// The last column has the part number and is not written.
    LastColumn,
    /// By record number, from 0.
    Numbered(Arc<dyn Fn(u64) -> usize + Send + Sync>),
    /// By the values of this key. The last column has the name of the record's output and is not written.
    Values(String),
}

/// A part of a split.
struct SplitPart {
    /// The number of its first file.
    first: usize,
    nfiles: usize,
    /// Number of its records so far.
    seen: u64,
}

/// The destination of records.
enum Spread {
    Single,
    /// Record i to file i mod N.
    Shards(usize),
    PerRecord,
    /// To the files of a part: record i of the part to file i mod N of the part.
    Parts(Parting, Vec<SplitPart>),
    /// To the file for a value.
    Values(OutputNumbers),
}

/// The numbers of per-value outputs, in order of their first records.
struct OutputNumbers {
    /// The key as given on the command line.
    key: String,
    by_name: HashMap<String, usize>,
    /// The names, in lower case.
    folded: HashMap<String, String>,
}

/// Maximum number of per-value outputs. Each has two open files, and many systems allow a process 1024.
const MAX_VALUES: usize = 400;

/// Routes records to outputs, in row groups if the format needs them.
pub struct Router {
    spread: Spread,
    grouping: Option<Grouping>,
    /// Number of records so far.
    seen: u64,
    /// One group for each output; a single group if outputs have one record each.
    groups: Vec<OpenGroup>,
    /// Counts that travel with the next group. The engine limits pieces in flight by number: if each chunk of the next
    /// group emitted an empty piece, no chunk would be read while an earlier group is encoded.
    held: Work,
}

/// Bytes of records that one task writes to separate files.
const PER_RECORD_NBYTES: usize = 64 << 10;

/// The rows of an incomplete group: in chunks or, if its columns are encoded separately, in columns.
#[derive(Default)]
struct OpenGroup {
    chunks: VecDeque<Chunk>,
    columns: RowGroup,
    nrows: usize,
    nbytes: usize,
}

impl Router {
    /// `None` if chunks can go to the encoder as they are.
    pub fn new(distribution: Distribution, grouping: Option<Grouping>) -> Option<Router> {
        Some(match distribution {
            Distribution::Single if grouping.is_none() => return None,
            Distribution::Single => Router::with(Spread::Single, 1, grouping),
            Distribution::Shards(n) => Router::with(Spread::Shards(n), n, grouping),
            Distribution::PerRecord => Router::with(Spread::PerRecord, 1, grouping),
        })
    }

    /// Routes to the parts of a split, each with that many files.
    pub fn of_parts(parting: Parting, nfiles: Vec<u64>, grouping: Option<Grouping>) -> Router {
        let mut all = 0;
        let mut parts = Vec::new();
        for nfiles in nfiles {
            parts.push(SplitPart { first: all, nfiles: nfiles as usize, seen: 0 });
            all += nfiles as usize;
        }
        Router::with(Spread::Parts(parting, parts), all, grouping)
    }

    /// Routes to one file for each value of a key.
    pub fn of_values(key: String, grouping: Option<Grouping>) -> Router {
        let numbers = OutputNumbers { key, by_name: HashMap::new(), folded: HashMap::new() };
        Router::with(Spread::Values(numbers), 0, grouping)
    }

    fn with(spread: Spread, nfiles: usize, grouping: Option<Grouping>) -> Router {
        Router { spread, grouping, seen: 0, groups: (0..nfiles).map(|_| OpenGroup::default()).collect(), held: Work::default() }
    }

    fn route(&mut self, chunk: Chunk, out: &mut Vec<Work>) -> Result<()> {
        let first = self.seen;
        self.seen += chunk.nrows as u64;
        match &mut self.spread {
            Spread::PerRecord => {
                // In small slices, so that padded output is written while it is in the cache.
                const MOST_ROWS: usize = 64;
                let (mut rest, mut number) = (Rest::of(chunk), first);
                while rest.nrows() > 0 {
                    let taken = rows_that_fit(&rest, Chunk::nbytes, PER_RECORD_NBYTES, MOST_ROWS).max(1);
                    self.give(number, vec![rest.take(taken)], out);
                    number += taken as u64;
                }
                Ok(())
            }
            Spread::Single => self.fill(0, chunk, out),
            Spread::Shards(n) => {
                let n = *n;
                let mut rows = vec![Vec::new(); n];
                (0..chunk.nrows).for_each(|row| rows[((first + row as u64) % n as u64) as usize].push(row));
                self.fill_each(&chunk, &rows, out)
            }
            Spread::Parts(parting, parts) => {
                let (chunk, numbers) = parting.parts(chunk, first)?;
                let mut rows = vec![Vec::new(); self.groups.len()];
                for (row, number) in numbers.into_iter().enumerate() {
                    let Some(part) = parts.get_mut(number) else {
                        return Err(Error::internal(format!("part {number} of {}", parts.len())));
                    };
                    rows[part.first + (part.seen % part.nfiles as u64) as usize].push(row);
                    part.seen += 1;
                }
                self.fill_each(&chunk, &rows, out)
            }
            Spread::Values(numbers) => {
                let (chunk, names) = without_last(chunk)?;
                let names =
                    names.as_leaf()?.as_string_opt::<i64>().ok_or_else(|| Error::internal("the name of an output is not a string"))?;
                let mut rows = vec![Vec::new(); self.groups.len()];
                for row in 0..chunk.nrows {
                    let name = names.value(row);
                    let known = numbers.by_name.get(name).copied();
                    let number = match known {
                        Some(number) => number,
                        None => {
                            let added = numbers.add(name).map_err(|e| chunk.origin.resolve(e.at_row(row), chunk.nrows))?;
                            out.push(Work { load: Load::Output(name.to_owned()), ..Work::default() });
                            self.groups.push(OpenGroup::default());
                            rows.push(Vec::new());
                            added
                        }
                    };
                    rows[number].push(row);
                }
                self.fill_each(&chunk, &rows, out)
            }
        }
    }

    /// Adds rows to the groups of all files.
    fn fill_each(&mut self, chunk: &Chunk, rows: &[Vec<usize>], out: &mut Vec<Work>) -> Result<()> {
        for (target, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let part = if rows.len() == chunk.nrows { chunk.clone() } else { chunk.gather(rows)? };
            self.fill(target, part, out)?;
        }
        Ok(())
    }

    /// Adds rows to the group of an output and emits full groups.
    fn fill(&mut self, target: usize, chunk: Chunk, out: &mut Vec<Work>) -> Result<()> {
        let Some(limit) = self.grouping else {
            self.give(target as u64, vec![chunk], out);
            return Ok(());
        };
        // The groups of all outputs are held at once; with these sizes they take a few times the memory of one.
        let nbytes = if matches!(self.spread, Spread::Values(_)) { limit.nbytes / (target + 1) } else { limit.nbytes };
        let mut rest = Rest::of(chunk);
        while rest.nrows() > 0 {
            let state = &mut self.groups[target];
            let room = limit.rows.max(1) - state.nrows;
            let fits = rows_that_fit(&rest, |rows| limit.nbytes_of(rows), nbytes.saturating_sub(state.nbytes), room);
            let take = if state.nrows == 0 { fits.max(1) } else { fits };
            if take > 0 {
                let part = rest.take(take);
                state.nrows += take;
                state.nbytes += limit.nbytes_of(&part);
                if limit.divides_columns() { state.columns.push(part)? } else { part.hold(&mut state.chunks)? }
            }
            if rest.nrows() > 0 || state.nrows >= limit.rows {
                let full = std::mem::take(state);
                self.give_group(target as u64, full, out);
            }
        }
        Ok(())
    }
}

impl Serial<Work> for Router {
    fn push(&mut self, mut work: Work, out: &mut Vec<Work>) -> bool {
        let (load, error) = match work.take_ready() {
            Ok(load) => (load, work.error.take()),
            Err(error) => (Load::Nothing, Some(error)),
        };
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

    fn give_group(&mut self, target: u64, group: OpenGroup, out: &mut Vec<Work>) {
        let Some(grouping) = self.grouping.filter(Grouping::divides_columns) else {
            return self.give(target, group.chunks.into(), out);
        };
        let shares = group.columns.split_columns(grouping.shares);
        let (count, first_of_group) = (shares.len(), out.len());
        for (i, (first, columns)) in shares.into_iter().enumerate() {
            let nrows = if i + 1 == count { group.nrows as u64 } else { 0 };
            let nbytes = columns.held_nbytes();
            out.push(Work { load: Load::Columns { target, columns, first, nrows, nbytes }, ..Work::default() });
        }
        if let Some(work) = out.get_mut(first_of_group) {
            work.count(&std::mem::take(&mut self.held));
        }
    }

    /// Also emits incomplete groups.
    fn flush(&mut self, out: &mut Vec<Work>) {
        for target in 0..self.groups.len() {
            let rest = std::mem::take(&mut self.groups[target]);
            if rest.nrows > 0 {
                self.give_group(target as u64, rest, out);
            }
        }
        if !self.held.is_empty() {
            out.push(std::mem::take(&mut self.held));
        }
    }
}

impl OutputNumbers {
    /// The number of the output for a new value.
    fn add(&mut self, name: &str) -> Result<usize> {
        let number = self.by_name.len();
        if number == MAX_VALUES {
            let error = Error::data(format!("--by {} has more than {MAX_VALUES} different values", self.key));
            let by = shell_word(&self.key);
            return Err(error
                .help("the files of all values are open until the end: choose a key with fewer values")
                .help(format!("or group the values first: split --into 0=0.5,1=0.5 --by {by}, then each part: split --by {by}")));
        }
        if let Some(other) = self.folded.insert(name.to_lowercase(), name.to_owned()) {
            let error = Error::data(format!("the files of the values `{other}` and `{name}` would have names that differ only in case"));
            return Err(error.help(format!(
                "to write both to one file: --by {}",
                shell_word(&format!("strings.lower({}, encoding=\"utf-8\")", self.key))
            )));
        }
        self.by_name.insert(name.to_owned(), number);
        Ok(number)
    }
}

/// The chunk without its last column, and that column.
fn without_last(mut chunk: Chunk) -> Result<(Chunk, Tensor)> {
    let column = chunk.columns.pop().ok_or_else(|| Error::internal("a split without its column"))?;
    Ok((chunk, column))
}

impl Parting {
    /// The part number of each record, and the records as written.
    fn parts(&self, chunk: Chunk, first: u64) -> Result<(Chunk, Vec<usize>)> {
        match self {
            Parting::Numbered(part) => {
                let numbers = (first..first + chunk.nrows as u64).map(|number| part(number)).collect();
                Ok((chunk, numbers))
            }
            Parting::LastColumn => {
                let (chunk, column) = without_last(chunk)?;
                let numbers = column.as_leaf()?.as_primitive_opt::<Int64Type>();
                let numbers = numbers.ok_or_else(|| Error::internal("the number of a part is not an int64"))?;
                let numbers = numbers.values().iter().map(|number| *number as usize).collect();
                Ok((chunk, numbers))
            }
            Parting::Values(_) => Err(Error::internal("values have no parts")),
        }
    }
}

/// The number of leading rows of a size of at most `limit`, and at most `rows`. Sizes are additive over rows, so bisection
/// works.
fn rows_that_fit(rest: &Rest, size: impl Fn(&Chunk) -> usize, limit: usize, rows: usize) -> usize {
    let most = rows.min(rest.nrows());
    let fits = |n: usize| size(&rest.first(n)) <= limit;
    if fits(most) {
        return most;
    }
    let (mut low, mut high) = (0, most);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}
