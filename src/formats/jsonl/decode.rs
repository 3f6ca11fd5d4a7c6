//! Decodes a block into a chunk, or observes its types.

use super::block::{Block, Framing, Piece};
use super::clash::clash;
use super::observe::{Observation, Part, Unreadable, observe_some, unreadable_of};
use super::records::{BlockRecords, Place};
use crate::chunk::{Chunk, Decoded, Fault, Origin, Rows};
use crate::error::{Kind, Result};
use crate::formats::first_wins::{self, Clash};
use crate::formats::format::Request;
use crate::hint::SKIP;
use crate::json::builder::{BuildOptions, LateError, LateErrors};
use crate::json::column::Column;
use crate::json::cursor::Cursor;
use crate::json::error::{Cause, Fix, Parse, ParseError};
use crate::json::object::Object;
use crate::json::seen::{FirstSeen, SeenMembers};
use crate::schema::Schema;
use std::collections::BTreeMap;

/// Decodes a piece cut from the input.
///
/// # Errors
/// A wider schema is needed, or a record of an array is bad.
pub fn decode(piece: Piece, schema: &Schema, request: &Request) -> Result<Decoded> {
    let skip = request.options.on_error.skips();
    let block = match piece {
        Piece::Block(block) => block,
        Piece::TooLong { error, nbytes } => {
            let columns =
                Object::<Column>::record(&schema.fields, &request.wanted, build_options(request))?.finish_fields(&mut Vec::new())?;
            let chunk = Chunk::try_new(0, columns, Origin::default())?;
            return Ok(Decoded {
                chunk,
                faults: vec![Fault { error: if skip { error } else { error.help(SKIP) }, length: nbytes, raw: None, kept: false }],
                nbytes,
                offsets: Vec::new(),
            });
        }
    };
    decode_block(&block, schema, request, false)
}

/// `declared_alone`: only for [`misfits`].
fn decode_block(block: &Block, schema: &Schema, request: &Request, declared_alone: bool) -> Result<Decoded> {
    let skip = request.options.on_error.skips();
    let nbytes = block.bytes.len() as u64;
    // If any field can be required, records are parsed even under an empty schema, because a field can be new.
    if request.wanted.is_none() {
        let chunk = Chunk::try_new(block.nrecords, Vec::new(), Origin::consecutive(block.input.clone(), block.first_record))?;
        return Ok(Decoded { chunk, faults: Vec::new(), nbytes, offsets: Vec::new() });
    }
    let mut known: LateErrors = Vec::new();
    loop {
        let Once { chunk, faults, late, offsets } = decode_once(block, schema, request, declared_alone, &known)?;
        if late.is_empty() || (!skip && !known.is_empty()) {
            return Ok(Decoded { chunk, faults, nbytes, offsets });
        }
        // Values that could only be checked as a whole array: the block is decoded again, with the bad records known.
        known.extend(late);
        known.sort_unstable();
    }
}

/// The records of a block that a declared type makes bad, by index, if bad records are skipped.
fn misfits(block: &Block, request: &Request) -> BTreeMap<usize, Fault> {
    let decoded = request.declared_alone(|schema, request| decode_block(block, &schema, &request, true));
    let faults = decoded.map_or_else(Vec::new, |decoded| decoded.faults);
    let index = |fault: &Fault| usize::try_from(fault.error.location().records?.0.checked_sub(block.first_record)?).ok();
    faults.into_iter().filter_map(|fault| Some((index(&fault)?, fault))).collect()
}

fn build_options(request: &Request) -> BuildOptions<'_> {
    BuildOptions {
        declared: &request.declared.fields,
        first_wins: request.options.on_error.skips(),
        nulls: request.nulls(),
        is_final: false,
    }
}

/// The fraction of a block's records after which room is reserved for the rest, because growing vectors copy their
/// contents.
const SAMPLE_PART: usize = 16;

struct Once {
    chunk: Chunk,
    faults: Vec<Fault>,
    late: LateErrors,
    /// The start of each record, if requested.
    offsets: Vec<u64>,
}

/// `known`: errors that are already known, by record in the block.
fn decode_once(block: &Block, schema: &Schema, request: &Request, declared_alone: bool, known: &[LateError]) -> Result<Once> {
    let skip = request.options.on_error.skips();
    // Those of records that no other error makes bad.
    let mut misfit = declared_alone.then(BTreeMap::new);
    let mut record = Object::<Column>::record(&schema.fields, &request.wanted, build_options(request))?;
    record.reserve(block.nrecords);
    let nulls = request.nulls();
    let wants_offsets = request.options.source_columns.wants_byte();
    let mut offsets = Vec::new();
    let mut faults: Vec<Fault> = Vec::new();
    let mut known = known;
    // The record of each row, once a record has been skipped.
    let mut rows: Option<Vec<usize>> = None;
    let mut records = BlockRecords::new(block);
    let sample = block.nrecords / SAMPLE_PART;
    while let Some((index, start)) = records.next_start() {
        if index == sample && index > 0 {
            // Also limited by bytes: if the first records are the long ones, the rest cannot have as many values.
            let by_bytes = index.saturating_mul(block.bytes.len() - start) / start.max(1);
            record.reserve_as_before(index, by_bytes.min(block.nrecords - index));
        }
        let before = record.nrows();
        let (here, later) = known.split_at(known.partition_point(|error| error.row <= index));
        known = later;
        let read = match here.first() {
            Some(error) if !nulls => Err(late_error(block, start, error)),
            _ => {
                record.force_nulls(here.iter().map(|error| error.column).collect());
                read_record(&mut record, &records, start, index, request)
            }
        };
        match read {
            Ok((end, mut errors)) => {
                errors.extend(here.iter().map(|error| *late_error(block, start, error)));
                let kept = errors.iter().map(|error| Fault { kept: true, ..block.fault(error, start, index, Some(schema), skip) });
                faults.extend(kept);
                records.advance(end);
                if let Some(rows) = &mut rows {
                    rows.push(index);
                }
                if wants_offsets {
                    offsets.push(block.offset + start as u64);
                }
            }
            Err(error) => {
                record.truncate(before);
                let ignored = if error.cause == Cause::Invalid { None } else { Some(ignored_for(&records, start, index, request)) };
                let is_array = matches!(block.framing, Framing::Values { array: true, .. });
                let fault = |error: &ParseError| block.fault(error, start, index, Some(schema), skip && !is_array);
                let fault = match ignored {
                    None => fault(&error),
                    Some(Some(bad)) if skip => fault(&bad),
                    Some(_) => match misfit.get_or_insert_with(|| misfits(block, request)).remove(&index) {
                        Some(fault) => fault,
                        // It clashes with earlier records, whose types may have been widened since.
                        None if skip && request.is_settled => {
                            let Fault { error, length, raw, kept } = fault(&error);
                            Fault { error: error.with_kind(Kind::Data), length, raw, kept }
                        }
                        None => return Err(block.error(&error, start, index, Some(schema))),
                    },
                };
                if is_array {
                    return Err(fault.error);
                }
                faults.push(fault);
                rows.get_or_insert_with(|| (0..before).collect());
                if !skip {
                    break;
                }
                records.advance(block.record_end(start, index));
            }
        }
    }
    finish(record, block, rows, faults, offsets)
}

/// Reads a record of the block. Returns its end, and the errors of the fields that became null.
#[inline]
fn read_record(
    record: &mut Object<Column>,
    records: &BlockRecords,
    start: usize,
    index: usize,
    request: &Request,
) -> Parse<(usize, Vec<ParseError>)> {
    let before = record.nrows();
    let read = records.read(start, index, |cursor| record.read(cursor));
    let errors = record.take_field_errors();
    match read {
        Err(error) if request.nulls() && error.cause != Cause::Invalid => {
            // The value does not fit the inferred type, but no type would fit it.
            match unreadable_of(records, start, index, request) {
                Unreadable::Fields(found)
                    if !found.is_empty() && record.force_nulls_by_name(found.iter().filter_map(|e| e.path().next())) =>
                {
                    record.truncate(before);
                    let read = records.read(start, index, |cursor| record.read(cursor));
                    let mut errors = record.take_field_errors();
                    errors.extend(found);
                    Ok((read?, errors))
                }
                _ => Err(error),
            }
        }
        read => Ok((read?, errors)),
    }
}

/// The error of a value in the record at `start` that could only be checked as a part of a whole array.
#[cold]
fn late_error(block: &Block, start: usize, error: &LateError) -> Box<ParseError> {
    let found = ParseError::new(place(block, start, &error.names), Cause::Invalid, error.message.clone(), Fix::None);
    error.names.iter().fold(found, |found, name| found.in_field(name))
}

/// The error because of which inference ignored a record that does not fit the schema.
#[cold]
fn ignored_for(records: &BlockRecords, start: usize, index: usize, request: &Request) -> Option<Box<ParseError>> {
    let mut seen = Observation::new(records.block.input.clone());
    match records.read(start, index, |cursor| seen.see(cursor, request, FirstSeen::new(0, 0))) {
        Ok(_) if request.leaves_out() && clash(&SeenMembers::default(), &seen.record) > Clash::InOrder => {
            let message = "the record has a list of mixed types, or an integer beyond 64 bits";
            Some(ParseError::new(start, Cause::Invalid, message, Fix::None))
        }
        read => read.err(),
    }
}

/// Makes the chunk. `rows`: the record in the block of each row, if some have been skipped.
fn finish(record: Object<Column>, block: &Block, rows: Option<Vec<usize>>, faults: Vec<Fault>, offsets: Vec<u64>) -> Result<Once> {
    let nrows = record.nrows();
    let records = match &rows {
        None => Rows::From(block.first_record),
        Some(rows) => Rows::Listed(rows.iter().map(|index| block.first_record + *index as u64).collect()),
    };
    let origin = Origin::new(block.input.clone(), records);
    let mut late = Vec::new();
    let columns = record.finish_fields(&mut late)?;
    if let Some(rows) = &rows {
        late.iter_mut().for_each(|error| error.row = rows.get(error.row).copied().unwrap_or(error.row));
    }
    late.sort_unstable();
    late.dedup_by_key(|error| (error.row, error.column));
    Ok(Once { chunk: Chunk::try_new(nrows, columns, origin)?, faults, late, offsets })
}

/// The offset of the value of a field in the record at `start`, or of the outermost list that contains it. `names`: those of
/// the field and the structures around it, innermost first.
#[cold]
fn place(block: &Block, start: usize, names: &[String]) -> usize {
    let mut cursor = Cursor::new(&block.bytes, start, block.is_lines());
    for name in names.iter().rev() {
        let outer = cursor.pos();
        if seek(&mut cursor, name).is_none() {
            return outer;
        }
    }
    cursor.pos()
}

/// Moves the cursor from an object to the value of a key in it.
fn seek(cursor: &mut Cursor, name: &str) -> Option<()> {
    if !cursor.take(b'{') {
        return None;
    }
    cursor.space();
    loop {
        let mut key = Vec::new();
        cursor.string(&mut key).ok()?;
        cursor.colon().ok()?;
        if key == name.as_bytes() {
            return Some(());
        }
        cursor.skip_value().ok()?;
        if !cursor.more(b'}').ok()? {
            return None;
        }
    }
}

/// Observes a piece cut from the input.
///
/// # Errors
/// A bad record, unless bad records are skipped.
pub fn observe(piece: Piece, request: &Request) -> Result<Observation> {
    let block = match piece {
        Piece::Block(block) => block,
        Piece::TooLong { error, .. } if !request.options.on_error.skips() => return Err(error.help(SKIP)),
        Piece::TooLong { .. } => return Ok(Observation::default()),
    };
    let misfits: Vec<usize> = misfits(&block, request).into_keys().collect();
    if request.leaves_out() && !request.options.mixed {
        return first_wins::observe(Part { block, misfits, request: request.clone() });
    }
    Ok(observe_some(&mut Place::start(&block), usize::MAX, &misfits, request)?.0)
}
