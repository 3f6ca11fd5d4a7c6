//! Undecoded bytes of whole records, with their position in the input.

use crate::chunk::Fault;
use crate::error::{Error, Kind};
use crate::hint::SKIP;
use crate::io::buffers::Buffer;
use crate::json::error::{Cause, Fix, ParseError};
use crate::json::suggest::{conversion, fixed, near, schema_option, type_at};
use crate::schema::{Element, Schema};
use std::sync::{Arc, OnceLock};

/// Whole records of one input.
#[derive(Debug)]
pub struct Block {
    /// Name of the input.
    pub input: Arc<str>,
    /// The text of the records.
    pub bytes: Buffer,
    /// The locations of the records.
    pub framing: Framing,
    /// Number of records.
    pub nrecords: usize,
    /// Number of the first record, from 1.
    pub first_record: u64,
    /// Number of the line that contains the start of `bytes`, from 1; 0 if lines have no meaning.
    pub first_line: u64,
    /// Bytes of that line that precede `bytes`.
    pub first_column: u64,
    /// Offset of `bytes` in the input.
    pub offset: u64,
    /// The positions of the line ends, once an error needs them.
    pub ends: OnceLock<Vec<usize>>,
}

/// The locations of the records in a block.
#[derive(Debug)]
pub enum Framing {
    /// One in each nonblank line. `longest`: whether some line exceeds this limit.
    Lines { longest: Option<u64> },
    /// In these byte ranges. `array`: they are elements of an array, which becomes unusable if one is bad.
    Values { ranges: Vec<(usize, usize)>, array: bool },
}

/// A piece cut from an input.
#[derive(Debug)]
pub enum Piece {
    /// Whole records.
    Block(Block),
    /// A record that is skipped without being read.
    TooLong {
        /// The fault that describes it.
        error: Error,
        /// Its length.
        nbytes: u64,
    },
}

impl Block {
    /// Whether each line is a record.
    pub fn is_lines(&self) -> bool {
        matches!(self.framing, Framing::Lines { .. })
    }

    /// The offset of the first record at or after `pos`; `index` counts records.
    #[inline]
    pub fn next_record(&self, pos: usize, index: usize) -> Option<usize> {
        match &self.framing {
            Framing::Lines { .. } => {
                let rest = self.bytes.get(pos..)?;
                rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n')).map(|n| pos + n)
            }
            Framing::Values { ranges, .. } => ranges.get(index).map(|p| p.0),
        }
    }

    /// The end of the record that starts at `start`, if its text is unreliable.
    pub fn record_end(&self, start: usize, index: usize) -> usize {
        match &self.framing {
            Framing::Lines { .. } => memchr::memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |n| start + n),
            Framing::Values { ranges, .. } => ranges.get(index).map_or(self.bytes.len(), |p| p.1),
        }
    }

    /// The start of the line that contains `pos`.
    fn line_start(&self, pos: usize) -> usize {
        memchr::memrchr(b'\n', &self.bytes[..pos.min(self.bytes.len())]).map_or(0, |n| n + 1)
    }

    /// The number of the line that contains `pos`.
    fn line_at(&self, pos: usize) -> u64 {
        let ends = self.ends.get_or_init(|| memchr::memchr_iter(b'\n', &self.bytes).collect());
        self.first_line + ends.partition_point(|end| *end < pos) as u64
    }

    /// Locates a parse error in the record that starts at `start`.
    pub fn error(&self, found: &ParseError, start: usize, index: usize, schema: Option<&Schema>) -> Error {
        let record = self.first_record + index as u64;
        let line_start = self.line_start(found.pos);
        let before = if line_start == 0 { self.first_column } else { 0 };
        let kind = if found.cause == Cause::Invalid { Kind::Data } else { Kind::Widened };
        let mut error = Error::new(kind, found.message.clone()).in_input(self.input.clone()).locate(|at| {
            at.records = Some((record, record));
            at.line = Some(self.line_at(found.pos));
            at.column = Some(before + (found.pos - line_start.min(found.pos)) as u64 + 1);
            at.byte = Some(self.offset + start as u64);
        });
        if let Some(field) = found.field() {
            error = error.in_field(field);
        }
        for line in &found.help {
            error = error.help(line.clone());
        }
        let found = match found.fix {
            Fix::Instead(_) if record > 1 => &found.clone().with_fix(Fix::Json),
            _ => found,
        };
        // A misspelt name is absent from every record.
        let is_absent = record == 1 && kind == Kind::Data && found.fix == Fix::Absent;
        if let Some(near) = schema.filter(|_| is_absent).and_then(|schema| near(schema, found)) {
            error = error.help(format!("did you mean {near}?"));
        }
        if let Some(fixed) = schema.and_then(|schema| fixed(schema, found)) {
            let how = match (&found.fix, schema.and_then(|schema| type_at(schema, found))) {
                (Fix::Nullable | Fix::Absent, _) => "a field that may be null is declared with".to_owned(),
                (Fix::Json, _) => "a field must have the same type in all records; to keep it as JSON, use".to_owned(),
                (Fix::New(_), _) if kind == Kind::Data => "to read this key too, as a separate field, extend the schema, as in".to_owned(),
                // Only a declared type makes such a record invalid.
                (_, Some(ty)) if kind == Kind::Data => {
                    let declared = match &ty.element {
                        // The fields that are not declared have been inferred.
                        Element::Struct(_) if ty.dims.is_empty() => "a structure".to_owned(),
                        Element::Struct(_) => "a list of structures".to_owned(),
                        _ => ty.to_string(),
                    };
                    format!("--schema declares {} as {declared}; if that is wrong, use", found.field().unwrap_or_default())
                }
                _ => "the type was fixed before this record; declare it with".to_owned(),
            };
            let option = schema_option(&fixed);
            error = error.help(format!("{how} {option}"));
            if let (Kind::Data, Some(verb)) = (kind, schema.and_then(|schema| conversion(schema, found, &fixed))) {
                error = error.help(format!("to convert the values: {verb} {option}"));
            }
        }
        error
    }

    /// The fault for a bad record. `skip`: the run already skips such records.
    pub fn fault(&self, wrong: &ParseError, start: usize, index: usize, schema: Option<&Schema>, skip: bool) -> Fault {
        let end = self.record_end(start, index);
        let raw = self.bytes[start..end].trim_ascii_end();
        let length = end - start + usize::from(self.is_lines());
        let error = self.error(wrong, start, index, schema);
        let error = match (skip, &self.framing) {
            (true, _) => error,
            (_, Framing::Values { array: true, .. }) => error.help("a bad record in a JSON array makes the whole input invalid"),
            _ if wrong.fix == Fix::Framing => error.help("to read several JSON values per line: --from json"),
            _ => error.help(SKIP),
        };
        Fault { error, length: length as u64, raw: Some(raw.to_vec()), kept: false }
    }
}
