//! Observations of the records of a run, part by part, and the schema inferred from them.

use super::block::{Block, Framing};
use super::clash::clash;
use super::records::{BlockRecords, Place};
use crate::error::Result;
use crate::formats::first_wins::{self, Clash, Kept, Observations, Records};
use crate::formats::format::{Observed, Request};
use crate::json::cursor::Cursor;
use crate::json::error::{Parse, ParseError};
use crate::json::seen::{FirstSeen, Interest, SeenMembers};
use crate::json::settle;
use crate::schema::{Field, Schema, Type};
use std::any::Any;
use std::sync::Arc;

/// Observations of some records.
#[derive(Default)]
pub struct Observation {
    /// The inputs, in the order in which they were observed; [`FirstSeen::input`] is the index of one.
    pub inputs: Vec<Arc<str>>,
    pub record: SeenMembers,
    pub too_many_fields: Option<FirstSeen>,
    kept: Option<Kept<Part>>,
}

/// The records of a block.
pub struct Part {
    pub block: Block,
    /// Those that the declared types make bad, by index in the block, in ascending order.
    pub misfits: Vec<usize>,
    pub request: Request,
}

impl Records for Part {
    type Seen = Observation;
    type Place<'a> = Place<'a>;

    fn start(&self) -> Place<'_> {
        Place::start(&self.block)
    }

    fn observe<'a>(&'a self, place: &mut Place<'a>, most: usize) -> Result<(Observation, usize)> {
        observe_some(place, most, &self.misfits, &self.request)
    }
}

impl Observation {
    pub fn new(input: Arc<str>) -> Observation {
        Observation { inputs: vec![input], ..Observation::default() }
    }

    /// Observes a record.
    ///
    /// # Errors
    /// Invalid text, or not an object. Part of the record may have been observed.
    pub fn see(&mut self, cursor: &mut Cursor, request: &Request, here: FirstSeen) -> Parse<()> {
        if cursor.peek() != b'{' {
            cursor.clone().skip_value()?;
            return Err(cursor.unexpected("an object").help("a record is a structure of named fields"));
        }
        let mut interest = |key: &str, number: usize| match Interest::at(&request.declared.fields, key, number) {
            Interest::All if !request.wanted.includes(key) => Interest::None,
            Interest::All if request.dropped.includes(key) => Interest::Declared(Arc::new(Field::new(key, Type::NULL))),
            interest => interest,
        };
        let (_, full) = self.record.see(cursor, &mut interest, 1, here)?;
        if full {
            self.too_many_fields.get_or_insert(here);
        }
        Ok(())
    }
}

impl Observation {
    /// The number of an input, which is that of the last records or comes after it.
    pub fn number(&mut self, input: &Arc<str>) -> u32 {
        // Inputs are observed one after another, and there can be very many.
        if self.inputs.last() != Some(input) {
            self.inputs.push(input.clone());
        }
        // More cannot be opened.
        u32::try_from(self.inputs.len() - 1).unwrap_or(u32::MAX - 1)
    }
}

impl Observations for Observation {
    type Records = Part;

    fn clash(&self, later: &Observation) -> Clash {
        clash(&self.record, &later.record)
    }

    fn add(&mut self, other: Observation) {
        let renumber: Vec<u32> = other.inputs.iter().map(|input| self.number(input)).collect();
        let is_full = self.too_many_fields.is_some();
        if let Some(theirs) = other.too_many_fields {
            self.too_many_fields.get_or_insert(FirstSeen::NEVER).merge(theirs, &renumber);
        }
        self.record.merge(other.record, &renumber);
        // The first key beyond the limit stays the first, because `other` follows.
        if !is_full && let Some(first) = self.record.first_beyond_limit() {
            self.too_many_fields = Some(self.too_many_fields.map_or(first, |earlier| earlier.min(first)));
        }
    }

    fn kept(&mut self) -> &mut Option<Kept<Part>> {
        &mut self.kept
    }
}

/// Observes at most `most` records from `place`, which moves to their end, and returns how many. `misfits`: see [`Part`].
///
/// # Errors
/// A bad record, unless bad records are skipped.
pub fn observe_some(place: &mut Place, most: usize, misfits: &[usize], request: &Request) -> Result<(Observation, usize)> {
    let fail = !request.options.on_error.skips();
    let (start, block) = (*place, place.records.block);
    let mut left_out: Vec<(usize, Unreadable)> = Vec::new();
    loop {
        *place = start;
        let Place { records, line } = place;
        let mut seen = Observation::new(block.input.clone());
        let (mut bad, mut found) = (Vec::new(), 0);
        while found < most
            && let Some((index, start)) = records.next_start()
        {
            found += 1;
            let unreadable = left_out.binary_search_by_key(&index, |(bad, _)| *bad).ok().map(|at| &left_out[at].1);
            if matches!(unreadable, Some(Unreadable::Record)) || misfits.binary_search(&index).is_ok() {
                records.advance(block.record_end(start, index));
                continue;
            }
            seen.record.unreadable = match unreadable {
                Some(Unreadable::Fields(errors)) => errors.iter().filter_map(|e| e.path().next()).map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            let here = line.first_seen(0, index, start);
            match records.read(start, index, |cursor| seen.see(cursor, request, here)) {
                Ok(end) => records.advance(end),
                Err(_) if request.nulls() && unreadable.is_none() => {
                    bad.push((index, unreadable_of(records, start, index, request)));
                    records.advance(block.record_end(start, index));
                }
                Err(error) if fail || matches!(block.framing, Framing::Values { array: true, .. }) => {
                    return Err(block.fault(&error, start, index, None, false).error);
                }
                Err(_) => {
                    bad.push((index, Unreadable::Record));
                    records.advance(block.record_end(start, index));
                }
            }
        }
        if bad.is_empty() {
            return Ok((seen, found));
        }
        // Part of a bad record has been observed, so start again without it.
        left_out.retain(|(index, _)| bad.binary_search_by_key(index, |(bad, _)| *bad).is_err());
        left_out.extend(bad);
        left_out.sort_unstable_by_key(|(index, _)| *index);
    }
}

/// The parts of a bad record that are not observed.
pub enum Unreadable {
    /// All of it.
    Record,
    /// The values with these errors, whose outermost fields become null.
    Fields(Vec<ParseError>),
}

/// The fields of a bad record that make it bad.
#[cold]
pub fn unreadable_of(records: &BlockRecords, start: usize, index: usize, request: &Request) -> Unreadable {
    let (mut seen, mut errors) = (Observation::new(Arc::from("")), Vec::new());
    loop {
        match records.read(start, index, |cursor| seen.see(cursor, request, FirstSeen::new(0, 0))) {
            Ok(_) => return Unreadable::Fields(errors),
            Err(error) => {
                let name = error.path().next().map(str::to_owned);
                let Some(name) = name.filter(|name| !seen.record.unreadable.contains(name)) else { return Unreadable::Record };
                seen.record.unreadable.push(name);
                errors.push(*error);
            }
        }
    }
}

impl Observed for Observation {
    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(other) = other.into_any().downcast::<Observation>() else { return };
        first_wins::join(self, *other);
        // No longer needed: these records are before those that follow.
        self.kept = None;
    }

    fn nrecords(&self) -> Option<u64> {
        Some(self.record.objects)
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        request.note_misspelt(self.record.list.iter().map(|member| member.name.as_str()), |_| Vec::new())?;
        settle::schema(&self.record, &self.inputs, self.too_many_fields, &request.declared.fields, &request.options)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
