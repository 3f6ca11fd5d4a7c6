//! Decodes a block into a chunk: keys, text and bytes column by column, JSON values all at once.

use super::cut::{Block, Record};
use super::names::{KEY, Kinds, MemberKind, is_integer, json_text};
use super::observe::json_request;
use crate::chunk::{Chunk, Decoded, Fault, Origin, Rows};
use crate::demand::Wanted;
use crate::error::{Error, Kind, Result};
use crate::formats::format::Request;
use crate::formats::json_members::{Members, is_value};
use crate::hint::SKIP;
use crate::options::{OnError, Options};
use crate::path::quoted;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Element, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::{LargeBinaryArray, LargeStringArray};
use std::sync::Arc;

/// Decodes blocks.
pub struct Decoder {
    name: Arc<str>,
    kinds: Arc<Kinds>,
    /// The required fields.
    fields: Vec<Field>,
    /// The JSON fields among them, and the request for these.
    json: Schema,
    json_request: Request,
    declared: Arc<Schema>,
    skips: bool,
}

impl Decoder {
    pub fn new(name: Arc<str>, kinds: Arc<Kinds>, schema: &Schema, request: &Request) -> Decoder {
        let fields: Vec<Field> = schema.fields.iter().filter(|field| request.wanted.includes(&field.name)).cloned().collect();
        let is_json = |field: &&Field| field.source_name() != KEY && kinds.of_member(field.source_name()) == Some(MemberKind::Json);
        let json = Schema::new(fields.iter().filter(is_json).cloned().collect());
        let json_request = Request { wanted: Wanted::All, ..json_request(&kinds, request) };
        let (declared, skips) = (request.declared.clone(), request.options.on_error.skips());
        Decoder { name, kinds, fields, json, json_request, declared, skips }
    }

    pub fn decode(&self, block: &Block) -> Result<Decoded> {
        let mut faults = Vec::new();
        let mut rows: Vec<usize> = Vec::with_capacity(block.records.len());
        for (row, record) in block.records.iter().enumerate() {
            match self.check(block, record) {
                Ok(()) => rows.push(row),
                Err(error) => {
                    let error = self.locate(error, block, row);
                    if error.kind() == Kind::Widened {
                        return Err(error);
                    }
                    faults.push(self.fault(error, record));
                    if !self.skips {
                        break;
                    }
                }
            }
        }
        let mut json_columns = Vec::new();
        if !self.json.fields.is_empty() {
            let decoded = self.members(block, &rows).decode(&self.name, 1, &self.json, &self.json_request);
            let number = |n: u64| usize::try_from(n).ok().and_then(|n| rows.get(n.checked_sub(1)?).copied());
            let located = |error: Error| match error.location().records.and_then(|(first, _)| number(first)) {
                Some(row) => self.locate(error.locate(|at| at.records = None), block, row),
                None => error,
            };
            let decoded = decoded.map_err(located)?;
            for fault in decoded.faults {
                let row = fault.error.location().records.and_then(|(first, _)| number(first));
                let length = row.and_then(|row| block.records.get(row)).map_or(0, |record| record.nbytes);
                faults.push(Fault { error: located(fault.error), length, ..fault });
            }
            let chunk = decoded.chunk;
            rows = (0..chunk.nrows).filter_map(|at| number(chunk.origin.records(at..at + 1)?.0)).collect();
            json_columns = chunk.columns;
        }
        faults.sort_by_key(|fault| fault.error.location().records);
        if !self.skips {
            faults.truncate(1 + faults.iter().take_while(|fault| fault.kept).count());
        }
        let mut json_columns = json_columns.into_iter();
        let columns = self.fields.iter().map(|field| match self.json.index_of(&field.name) {
            Some(_) => json_columns.next().ok_or_else(|| Error::internal("a column of JSON is missing")),
            None => self.column(field, block, &rows).map_err(|(row, error)| self.locate(error, block, row)),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let is_whole = rows.len() == block.records.len();
        let records = || rows.iter().map(|row| block.first_record + *row as u64).collect();
        let numbers = if is_whole { Rows::From(block.first_record) } else { Rows::Listed(records()) };
        let origin = Origin::new(self.name.clone(), numbers);
        let offsets = rows.iter().filter_map(|row| block.records.get(*row)).map(|record| record.offset).collect();
        Ok(Decoded { chunk: Chunk::try_new(rows.len(), columns, origin)?, faults, nbytes: block.nbytes, offsets })
    }

    /// Errors in a record other than those in JSON values.
    fn check(&self, block: &Block, record: &Record) -> Result<()> {
        if let Some(error) = &record.error {
            return Err(error.clone().help(SKIP));
        }
        for member in &record.members {
            let Some((kind, range)) = &member.contents else { continue };
            self.check_contents(*kind, &member.extension, block.bytes.get(range.clone()).unwrap_or_default())?;
            if !self.kinds.is_known(&member.extension) {
                let ty = match kind {
                    MemberKind::Bytes => "bytes",
                    MemberKind::Text => "string",
                    MemberKind::Json => "json",
                };
                let error = Error::new(
                    Kind::Widened,
                    format!("this is the first member .{}, and the schema has no field for it", member.extension),
                );
                let declared = schema_option(&format!("{}: optional {ty}", name_text(&member.extension)));
                return Err(error.help(format!("the schema was fixed before this record; declare it: {declared}")));
            }
        }
        let missing = self.fields.iter().find(|field| {
            !field.ty.optional
                && field.default.is_none()
                && self.json.index_of(&field.name).is_none()
                && contents(block, record, field).is_none()
        });
        match missing {
            None => Ok(()),
            Some(field) => {
                let is_declared = self.declared.index_of(&field.name).is_some();
                let kind = if is_declared { Kind::Data } else { Kind::Widened };
                let error = Error::new(kind, format!("the record has no member .{}", field.source_name())).in_field(quoted(&field.name));
                Err(error.help(format!(
                    "a field that may be null is declared with {}",
                    schema_option(&format!("{}: optional {}", name_text(&field.name), field.ty))
                )))
            }
        }
    }

    /// Errors in a member, other than those of JSON that does not fit the schema.
    fn check_contents(&self, kind: MemberKind, extension: &str, contents: &[u8]) -> Result<()> {
        let error = match kind {
            MemberKind::Text if simdutf8::basic::from_utf8(contents).is_err() => "these bytes are not valid UTF-8",
            MemberKind::Json if !is_value(&json_text(extension, contents)) => match is_integer(extension) {
                true => "expected an integer, as in other members with this extension",
                false => "expected a single JSON value",
            },
            // The schema may lack a field because inference has left out the bad records that have it.
            MemberKind::Json if !self.kinds.is_known(extension) => {
                let mut member = Members::default();
                member.begin();
                member.push(extension, &json_text(extension, contents));
                member.end();
                let options = Options { on_error: OnError::Fail, ..self.json_request.options.as_ref().clone() };
                let strict = Request { options: Arc::new(options), ..self.json_request.clone() };
                return member.observe(&self.name, 1, &strict).map(|_| ());
            }
            _ => return Ok(()),
        };
        let name = quoted(extension);
        let is_optional = self.fields.iter().any(|field| *field.source_name() == *extension && field.ty.optional);
        let optional = if is_optional { "optional " } else { "" };
        let help = format!("to read them unchanged: {}", schema_option(&format!("{}: {optional}bytes", name_text(extension))));
        Err(Error::data(error).in_field(&name).help(help).help(SKIP))
    }

    /// The JSON values of these records.
    fn members(&self, block: &Block, rows: &[usize]) -> Members {
        let mut members = Members::default();
        for record in rows.iter().filter_map(|row| block.records.get(*row)) {
            members.begin();
            for member in &record.members {
                if let Some((MemberKind::Json, range)) = &member.contents {
                    let contents = block.bytes.get(range.clone()).unwrap_or_default();
                    members.push(&member.extension, &json_text(&member.extension, contents));
                }
            }
            members.end();
        }
        members
    }

    /// A column of keys, text or bytes.
    fn column(&self, field: &Field, block: &Block, rows: &[usize]) -> Result<Tensor, (usize, Error)> {
        let values = || rows.iter().map(|row| block.records.get(*row).and_then(|record| contents(block, record, field)));
        let array: arrow_array::ArrayRef = match &field.ty.element {
            Element::Value(DType::Bytes) => Arc::new(values().collect::<LargeBinaryArray>()),
            _ => Arc::new(
                values().map(|value| value.map(|value| std::str::from_utf8(value).unwrap_or_default())).collect::<LargeStringArray>(),
            ),
        };
        let tensor = Tensor::Leaf(array);
        let filled = match &field.default {
            Some(default) => tensor.fill_null_rows(&field.ty, default),
            None => tensor.widen(
                &Type::tensor(field.ty.dtype().cloned().unwrap_or(DType::Bytes), Vec::new()).with_optional(field.ty.optional),
                &field.ty,
            ),
        };
        filled.map_err(|error| (0, error))
    }

    fn locate(&self, error: Error, block: &Block, row: usize) -> Error {
        let number = block.first_record + row as u64;
        let offset = block.records.get(row).map(|record| record.offset);
        error.in_input(self.name.clone()).locate(|at| {
            at.records = Some((number, number));
            at.byte = offset;
        })
    }

    fn fault(&self, error: Error, record: &Record) -> Fault {
        Fault { error, length: record.nbytes, raw: Some(record.key.as_bytes().to_vec()), kept: false }
    }
}

/// The content of a field in a record; `None` for null.
fn contents<'a>(block: &'a Block, record: &'a Record, field: &Field) -> Option<&'a [u8]> {
    if field.source_name() == KEY {
        return Some(record.key.as_bytes());
    }
    let member = record.members.iter().find(|member| *member.extension == *field.source_name())?;
    block.bytes.get(member.contents.as_ref()?.1.clone())
}
