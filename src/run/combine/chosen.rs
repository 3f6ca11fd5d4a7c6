//! Merges inputs one record at a time, each from the chosen input.

use super::feed::Feed;
use super::member::Member;
use crate::chunk::Chunk;
use crate::chunk::weave::Weave;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::run::engine::{Lines, Merge};
use crate::run::work::{Load, Work};
use crate::tensor::ints::saturated;
use crate::verbs::combine::{Chooser, Sources};
use arrow_array::Array;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of rows, and approximate number of bytes, of a chunk.
const ROWS: usize = 1 << 16;
const NBYTES: usize = 4 << 20;
/// Maximum number of blocks from which a chunk is built.
const PARTS: usize = 256;

/// Merges inputs one record at a time, each from the chosen input.
pub struct Chosen {
    chooser: Box<dyn Chooser>,
    list: Option<List>,
    reading: Reading,
    rows_per_chunk: usize,
    over: bool,
}

/// The state of reading the inputs.
struct Reading {
    feeds: Vec<Feed>,
    /// The line number of the first input.
    first_line: usize,
    /// The inputs to be read again; empty if inputs are read only once.
    again: Vec<Member>,
    /// For each input, the remaining rows of its chunk.
    rows: Vec<Range<usize>>,
    /// Whether each input is being read again, so that its records are repeats.
    is_again: Vec<bool>,
    repeated: u64,
    weave: Weave,
    /// Faults and counts from reading.
    work: Work,
    options: Arc<Options>,
}

impl Chosen {
    /// `list`: the input with the list of choices, and its field by position and name. Its line comes before those of
    /// the other inputs. `again`: the inputs, if they can be read again.
    pub fn new(
        feeds: Vec<Feed>,
        list: Option<(Feed, usize, String)>,
        chooser: Box<dyn Chooser>,
        again: Vec<Member>,
        options: Arc<Options>,
    ) -> Chosen {
        let n = feeds.len();
        let reading = Reading {
            feeds,
            first_line: usize::from(list.is_some()),
            again,
            rows: vec![0..0; n],
            is_again: vec![false; n],
            repeated: 0,
            weave: Weave::new(n),
            work: Work::default(),
            options: options.clone(),
        };
        let list = list.map(|(feed, position, field)| List { feed, position, field, numbers: None, row: 0 });
        Chosen { chooser, list, reading, rows_per_chunk: options.chunk_rows.unwrap_or(ROWS).clamp(1, ROWS), over: false }
    }

    /// Chooses records until there are enough for a chunk.
    fn choose(&mut self, lines: &mut Lines<'_, '_, Work>) -> Result<()> {
        let weave = |reading: &Reading| (reading.weave.nrows(), reading.weave.nbytes(), reading.weave.nparts());
        while let (nrows, nbytes, nparts) = weave(&self.reading)
            && nrows < self.rows_per_chunk
            && nbytes < NBYTES
            && nparts < PARTS
        {
            if !self.next_record(lines)? {
                self.over = true;
                break;
            }
        }
        Ok(())
    }

    fn next_record(&mut self, lines: &mut Lines<'_, '_, Work>) -> Result<bool> {
        let mut sources = Listed { reading: &mut self.reading, list: self.list.as_mut(), lines, is_choice: false };
        let chosen = self.chooser.next(&mut sources);
        let is_choice = sources.is_choice;
        let source = match (chosen, &self.list) {
            (Ok(source), _) => source,
            (Err(error), Some(list)) if is_choice && error.location().input.is_none() => return Err(list.locate(error)),
            (Err(error), _) => return Err(error),
        };
        let Some(source) = source else { return Ok(false) };
        let reading = &mut self.reading;
        let row = reading.rows.get_mut(source).and_then(Iterator::next);
        let row = row.ok_or_else(|| Error::internal("an input without records was chosen"))?;
        reading.repeated += u64::from(reading.is_again[source]);
        reading.weave.record(source, row)?;
        Ok(true)
    }
}

impl<'a> Merge<'a, Work> for Chosen {
    fn next(&mut self, lines: &mut Lines<'_, 'a, Work>) -> Option<Work> {
        if self.over {
            return None;
        }
        if let Err(error) = self.choose(lines) {
            self.over = true;
            self.reading.work.error = Some(error);
        }
        let mut work = std::mem::take(&mut self.reading.work);
        if self.over {
            self.reading.options.repeated.add(self.reading.repeated);
        }
        if let Some(chunk) = self.reading.weave.take() {
            work.load = Load::Deferred(Box::new(chunk));
        }
        (!work.is_empty()).then_some(work)
    }
}

/// The inputs and the list, as seen by a chooser.
struct Listed<'b, 's, 'a> {
    reading: &'b mut Reading,
    list: Option<&'b mut List>,
    lines: &'b mut Lines<'s, 'a, Work>,
    is_choice: bool,
}

impl Sources for Listed<'_, '_, '_> {
    fn count(&self) -> usize {
        self.reading.feeds.len()
    }

    fn has_more(&mut self, source: usize) -> Result<bool> {
        let reading = &mut *self.reading;
        if reading.rows.get(source).is_some_and(|rows| !rows.is_empty()) {
            return Ok(true);
        }
        let feed = reading.feeds.get_mut(source).ok_or_else(|| Error::internal("no input of that number"))?;
        let known = reading.work.faults.len();
        let chunk = feed.next_chunk(self.lines, reading.first_line + source, &mut reading.work)?;
        if reading.is_again[source] {
            // The bad records of an input that is read again have been counted.
            reading.work.faults.truncate(known);
        }
        reading.rows[source] = 0..chunk.as_ref().map_or(0, |chunk| chunk.nrows);
        reading.weave.set(source, chunk);
        Ok(!reading.rows[source].is_empty())
    }

    fn restart(&mut self, source: usize) -> Result<()> {
        self.reading.is_again[source] = true;
        let member = self.reading.again.get_mut(source).ok_or_else(|| Error::internal("an input that cannot be read again"))?;
        member.inputs.reopen()?;
        self.lines.replace(self.reading.first_line + source, member.line()?);
        Ok(())
    }

    fn listed(&mut self) -> Result<Option<i64>> {
        self.is_choice = true;
        let list = self.list.as_mut().ok_or_else(|| Error::internal("no list of inputs"))?;
        list.next(self.lines, &mut self.reading.work)
    }
}

/// The numbers in a field of an input.
struct List {
    feed: Feed,
    position: usize,
    field: String,
    numbers: Option<(Chunk, arrow_array::Int64Array)>,
    row: usize,
}

impl List {
    fn next(&mut self, lines: &Lines<'_, '_, Work>, work: &mut Work) -> Result<Option<i64>> {
        loop {
            if let Some((chunk, numbers)) = &self.numbers
                && self.row < numbers.len()
            {
                self.row += 1;
                if numbers.is_null(self.row - 1) {
                    let error = Error::data("null is not an input number").in_field(self.field.clone()).at_row(self.row - 1);
                    return Err(chunk.origin.resolve(error, chunk.nrows));
                }
                return Ok(Some(numbers.value(self.row - 1)));
            }
            let mut read = Work::default();
            let Some(chunk) = self.feed.next_chunk(lines, 0, &mut read)? else { return Ok(None) };
            work.faults.append(&mut read.faults);
            let column = chunk.columns.get(self.position).ok_or_else(|| Error::internal("a list without its field"))?;
            let column = column.as_leaf()?;
            let numbers = saturated(column)?;
            let nulls = column.logical_nulls();
            self.numbers = Some((chunk, arrow_array::Int64Array::new(numbers, nulls)));
            self.row = 0;
        }
    }

    /// Adds the record of the latest number to an error.
    fn locate(&self, error: Error) -> Error {
        match &self.numbers {
            Some((chunk, _)) => chunk.origin.resolve(error.at_row(self.row.saturating_sub(1)), chunk.nrows),
            None => error,
        }
    }
}
