//! Observations of the records of a run, part by part, and the schema inferred from them.

use super::block::Block;
use super::first_wins::{clashes, is_mixed};
use super::records::{BlockRecords, LineCount};
use crate::error::{Result, nearest};
use crate::formats::format::{Observed, Request};
use crate::json::cursor::Cursor;
use crate::json::error::Parse;
use crate::json::seen::{FirstSeen, Interest, SeenMembers};
use crate::json::settle;
use crate::path::quoted;
use crate::schema::{Field, Schema, Type};
use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

/// Observations of some records.
#[derive(Default)]
pub struct Observation {
    /// The inputs, in the order in which they were observed; [`FirstSeen::input`] is the index of one.
    pub inputs: Vec<Arc<str>>,
    pub record: SeenMembers,
    pub too_many_fields: Option<FirstSeen>,
    /// The observed records, if those that clash with earlier ones are left out.
    parts: Option<Parts>,
}

/// Observed records, kept until the records before them have been observed.
pub struct Parts {
    pub list: Vec<Part>,
    pub request: Request,
    /// Whether a record clashes with another one, in these parts or before them.
    pub has_clashes: bool,
}

impl Parts {
    /// Adds the parts that follow.
    pub fn append(&mut self, mut more: Parts) {
        self.list.append(&mut more.list);
        self.has_clashes |= more.has_clashes;
    }
}

/// The records of a block.
pub struct Part {
    pub block: Block,
    /// Those that cannot be read, by index in the block, in ascending order.
    pub unreadable: Vec<usize>,
}

impl Part {
    /// Observes each record that does not clash with those observed before.
    pub fn add_to(&self, seen: &mut Observation, request: &Request) {
        let input = seen.number(&self.block.input);
        // Cleared instead of made anew for each record, because most records have the same fields.
        let mut alone = Observation::default();
        let mut records = BlockRecords::new(&self.block);
        let mut line = LineCount::new(&self.block);
        while let Some((index, start)) = records.next_start() {
            if self.unreadable.binary_search(&index).is_ok() {
                records.advance(self.block.record_end(start, index));
                continue;
            }
            let here = line.first_seen(input, index, start);
            alone.record.clear();
            let see = |seen: &mut Observation| records.read(start, index, |cursor: &mut Cursor| seen.see(cursor, request, here));
            let end = match see(&mut alone) {
                Ok(end) if clashes(&seen.record, &alone.record) => end,
                // It has been read before.
                _ => see(seen).unwrap_or_else(|_| self.block.record_end(start, index)),
            };
            records.advance(end);
        }
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
    /// Leaves out the records that clash with earlier ones of the part, which is all that has been observed.
    pub fn keep_first(&mut self, part: Part, request: &Request) {
        let has_clashes = is_mixed(&self.record);
        if has_clashes {
            (self.record, self.too_many_fields) = (SeenMembers::default(), None);
            part.add_to(self, request);
        }
        self.parts = Some(Parts { list: vec![part], request: request.clone(), has_clashes });
    }

    /// Adds the observations of the records that follow in the same part of the input.
    pub fn join(&mut self, other: Observation) {
        let more = self.add(other);
        match (&mut self.parts, more) {
            (Some(parts), Some(more)) => parts.append(more),
            (parts, more) => *parts = parts.take().or(more),
        }
    }

    /// Adds the observations of later records, and returns these records.
    fn add(&mut self, mut other: Observation) -> Option<Parts> {
        let mut parts = other.parts.take();
        if let Some(parts) = &mut parts
            && (parts.has_clashes || clashes(&self.record, &other.record))
        {
            parts.has_clashes = true;
            for part in &parts.list {
                part.add_to(self, &parts.request);
            }
        } else {
            self.add_all(other);
        }
        parts
    }

    /// The number of an input, which is that of the last records or comes after it.
    pub fn number(&mut self, input: &Arc<str>) -> u32 {
        // Inputs are observed one after another, and there can be very many.
        if self.inputs.last() != Some(input) {
            self.inputs.push(input.clone());
        }
        // More cannot be opened.
        u32::try_from(self.inputs.len() - 1).unwrap_or(u32::MAX - 1)
    }

    fn add_all(&mut self, other: Observation) {
        let renumber: Vec<u32> = other.inputs.iter().map(|input| self.number(input)).collect();
        if let Some(theirs) = other.too_many_fields {
            self.too_many_fields.get_or_insert(FirstSeen::NEVER).merge(theirs, &renumber);
        }
        self.record.merge(other.record, &renumber);
        if let Some(first) = self.record.first_beyond_limit() {
            self.too_many_fields = Some(self.too_many_fields.map_or(first, |earlier| earlier.min(first)));
        }
    }
}

/// Notes a declared field that no record has if there is another with a similar name, unless it becomes an error.
fn note_misspelt(record: &SeenMembers, request: &Request) -> Result<()> {
    let declared = &request.declared.fields;
    let seen: HashSet<&str> = record.list.iter().map(|member| member.name.as_str()).collect();
    let names: HashSet<&str> = declared.iter().flat_map(|field| [field.name.as_str(), field.source_name()]).collect();
    let is_seen = |field: &&Field| seen.contains(field.name.as_str()) || seen.contains(field.source_name());
    for field in declared.iter().filter(|field| !is_seen(field)) {
        let others = record.list.iter().map(|member| member.name.as_str()).filter(|name| !names.contains(name));
        let Some(near) = nearest(field.source_name(), others) else { continue };
        let text = format!("--schema names {}, but the records have {}", quoted(field.source_name()), quoted(near));
        let is_required = !field.ty.optional && field.default.is_none() && request.wanted.includes(&field.name);
        // Verbs other than `schema` read the records, and the first without a required field is an error.
        let list = if is_required { &request.options.hints } else { &request.options.notices };
        list.add(text, false)?;
    }
    Ok(())
}

impl Observed for Observation {
    fn merge(&mut self, other: Box<dyn Observed>) {
        let Ok(other) = other.into_any().downcast::<Observation>() else { return };
        self.add(*other);
        // No longer needed: these records are before those that follow.
        self.parts = None;
    }

    fn nrecords(&self) -> Option<u64> {
        Some(self.record.objects)
    }

    fn schema(&self, request: &Request) -> Result<Schema> {
        note_misspelt(&self.record, request)?;
        settle::schema(&self.record, &self.inputs, self.too_many_fields, &request.declared.fields, &request.options)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
