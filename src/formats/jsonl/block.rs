//! Undecoded bytes of some whole records, and where they stand in the input.

use super::trouble::{Class, Fix, Trouble};
use crate::chunk::Fault;
use crate::error::{Error, Kind};
use crate::schema::{Element, Field, Schema, Size, Type};
use std::sync::Arc;

/// The way out of every bad record.
pub const LEAVE_OUT: &str = "leave such records out with --on-error skip";

/// Whole records of one input.
#[derive(Debug)]
pub struct Block {
    pub input: Arc<str>,
    pub bytes: Vec<u8>,
    pub layout: Layout,
    pub nrecords: usize,
    /// Number of the first record, and of the line in which `bytes` starts; from 1.
    pub first_record: u64,
    pub first_line: u64,
    /// Bytes of that line in front of `bytes`.
    pub first_column: u64,
    /// Offset of `bytes` in the input.
    pub offset: u64,
}

/// How records lie in the bytes.
#[derive(Debug)]
pub enum Layout {
    /// One in each line that is not blank. `longest`: some line is longer than that, which is too long.
    Lines { longest: Option<u64> },
    /// At these places, anyhow; in an array a bad one spoils the input.
    Values { places: Vec<(usize, usize)>, array: bool },
}

/// What a cutter cuts off.
#[derive(Debug)]
pub enum Piece {
    Block(Block),
    /// A record that is left out unread.
    TooLong {
        error: Error,
        nbytes: u64,
    },
}

impl Block {
    pub fn is_lines(&self) -> bool {
        matches!(self.layout, Layout::Lines { .. })
    }

    /// The place of the first record at or behind `pos`; `index` counts records.
    #[inline]
    pub fn next_record(&self, pos: usize, index: usize) -> Option<usize> {
        match &self.layout {
            Layout::Lines { .. } => {
                let rest = self.bytes.get(pos..)?;
                rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n')).map(|n| pos + n)
            }
            Layout::Values { places, .. } => places.get(index).map(|p| p.0),
        }
    }

    /// Where the record that starts at `start` ends, when its text cannot be trusted.
    pub fn record_end(&self, start: usize, index: usize) -> usize {
        match &self.layout {
            Layout::Lines { .. } => memchr::memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |n| start + n),
            Layout::Values { places, .. } => places.get(index).map_or(self.bytes.len(), |p| p.1),
        }
    }

    /// Where a record's line starts: what stands in front of it is blank.
    fn line_start(&self, pos: usize) -> usize {
        memchr::memrchr(b'\n', &self.bytes[..pos.min(self.bytes.len())]).map_or(0, |n| n + 1)
    }

    /// The line at a place.
    pub fn line_at(&self, pos: usize) -> u64 {
        self.first_line + memchr::memchr_iter(b'\n', &self.bytes[..pos.min(self.bytes.len())]).count() as u64
    }

    /// The error of a trouble in the record that starts at `start`.
    pub fn error(&self, trouble: &Trouble, start: usize, index: usize, schema: Option<&Schema>) -> Error {
        let record = self.first_record + index as u64;
        let line_start = self.line_start(trouble.pos);
        let before = if line_start == 0 { self.first_column } else { 0 };
        let kind = if trouble.class == Class::Bad { Kind::Data } else { Kind::Widened };
        let mut error = Error::new(kind, trouble.message.clone()).in_input(self.input.clone()).locate(|at| {
            at.records = Some((record, record));
            at.line = Some(self.line_at(trouble.pos));
            at.column = Some(before + (trouble.pos - line_start.min(trouble.pos)) as u64 + 1);
            at.byte = Some(self.offset + start as u64);
        });
        if let Some(field) = trouble.field() {
            error = error.in_field(field);
        }
        for line in &trouble.help {
            error = error.help(line.clone());
        }
        if let Some(fixed) = schema.and_then(|schema| fixed(schema, trouble)) {
            let how = match (trouble.class, &trouble.fix) {
                (_, Fix::Nullable) => "a field that may be null is declared with",
                (_, Fix::Json) => "a field has one type in all records; keep its text with",
                _ => "what is read is decided before this record; declare it with",
            };
            error = error.help(format!("{how} {}", super::settle::schema_option(&fixed)));
        }
        error
    }

    /// The fault of a bad record. `skip`: such records are left out already.
    pub fn fault(&self, trouble: &Trouble, start: usize, index: usize, schema: Option<&Schema>, skip: bool) -> Fault {
        let end = self.record_end(start, index);
        let raw = self.bytes[start..end].trim_ascii_end();
        let length = end - start + usize::from(self.is_lines());
        let error = self.error(trouble, start, index, schema);
        let error = match (skip, &self.layout) {
            (true, _) => error,
            (_, Layout::Values { array: true, .. }) => error.help("in an array, one bad record spoils the whole input"),
            _ => error.help(LEAVE_OUT),
        };
        Fault { error, length: length as u64, raw: Some(raw.to_vec()) }
    }
}

/// The part of the schema that would have to be declared to read the record.
fn fixed(schema: &Schema, trouble: &Trouble) -> Option<Schema> {
    if trouble.fix == Fix::None {
        return None;
    }
    let names: Vec<&str> = trouble.path().collect();
    Some(Schema::new(vec![fixed_field(&schema.fields, &names, trouble)?]))
}

fn fixed_field(fields: &[Field], names: &[&str], trouble: &Trouble) -> Option<Field> {
    let (name, below) = names.split_first()?;
    let Some(field) = fields.iter().find(|f| f.source.values.as_deref().unwrap_or(&f.name) == *name) else {
        return match &trouble.fix {
            Fix::New(ty) if below.is_empty() => Some(Field::new(*name, ty.clone())),
            _ => None,
        };
    };
    let mut field = field.clone();
    if !below.is_empty() {
        if let Element::Struct(inner) = &mut field.ty.element {
            *inner = vec![fixed_field(inner, below, trouble)?];
        }
        return Some(field);
    }
    let ty = &mut field.ty;
    match &trouble.fix {
        Fix::None | Fix::New(_) => return None,
        Fix::Dtype(dtype) => {
            ty.element = if ty.is_sparse() { Element::Sparse(dtype.clone()) } else { Element::Value(dtype.clone()) };
        }
        Fix::Nullable if trouble.depth == 0 => ty.optional = true,
        Fix::Nullable => ty.with_nulls = true,
        Fix::Json => {
            let depth = if ty.is_sparse() { 0 } else { trouble.depth };
            ty.element = Element::Value(crate::schema::DType::Json);
            ty.dims.truncate(depth);
        }
        Fix::Seen(seen) => *ty = at_depth(ty, trouble.depth, seen),
    }
    Some(field)
}

fn at_depth(outer: &Type, depth: usize, inner: &Type) -> Type {
    let mut dims = outer.dims[..depth.min(outer.dims.len())].to_vec();
    dims.extend(inner.dims.iter().cloned());
    for dim in dims.iter_mut().skip(1).filter(|d| d.size == Size::Uniform) {
        dim.size = Size::Ragged;
    }
    Type { element: inner.element.clone(), dims, optional: outer.optional, with_nulls: outer.with_nulls || inner.with_nulls }
}
