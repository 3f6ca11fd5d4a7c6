//! Decodes a block of records into columns.
//!
//! First the structure of all records is parsed to locate each required feature. Then each column is decoded
//! separately. Records that turn out to be bad are dropped, and the columns are decoded again.

use super::assemble::assemble;
use super::features::{Features, RowError, Span};
use super::lists;
use super::mapping::Mapping;
use super::raw;
use super::wire::{self, DecodeError, EXAMPLE_AMONG_SEQUENCES, Message};
use crate::chunk::{Chunk, Decoded, Fault, Origin};
use crate::demand::Wanted;
use crate::error::{Error, Kind, Result, nearest};
use crate::formats::columnar::adapt::{Columns, DecodedRows};
use crate::formats::format::Request;
use crate::formats::records::block::Block;
use crate::hint::Hint;
use crate::path::quoted;
use crate::schema::{MAX_FIELDS, Schema};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Shared by all blocks of an input.
pub struct Decoder {
    pub mapping: Arc<Mapping>,
    pub wanted: Wanted,
    /// The fields of the record.
    names: HashSet<String>,
    input: Arc<str>,
    verify: bool,
    /// Whether the records are tf.SequenceExamples.
    sequences: bool,
    /// Whether that was inferred, because `--from` was not given.
    recognised: bool,
    /// Whether records with a RowError are skipped instead of ending the run.
    resume: bool,
    /// See [`Request::is_settled`].
    is_settled: bool,
    /// Whether unreadable fields become null.
    nulls: bool,
    max_rows: usize,
    /// For raw records: the columns made from their single field of bytes.
    raw: Option<Columns>,
}

/// A record that cannot be used.
struct BadRecord {
    row: usize,
    error: Error,
}

impl Decoder {
    /// # Errors
    /// See [`Mapping::new`].
    pub fn new(schema: &Schema, request: &Request, input: Arc<str>, sequences: bool) -> Result<Decoder> {
        Ok(Decoder {
            mapping: Arc::new(Mapping::new(schema, request, sequences)?),
            sequences,
            recognised: request.options.from.is_none(),
            wanted: request.wanted.clone(),
            names: schema.fields.iter().chain(&request.declared.fields).map(|f| f.name.clone()).collect(),
            input,
            verify: !request.options.no_verify,
            resume: request.options.on_error.skips(),
            is_settled: request.is_settled,
            nulls: request.nulls(),
            max_rows: usize::try_from(request.options.max_record_bytes / 8).unwrap_or(usize::MAX),
            raw: None,
        })
    }

    /// For raw records.
    pub fn raw(columns: Columns, request: &Request, input: Arc<str>) -> Decoder {
        Decoder { raw: Some(columns), ..Decoder::of(Arc::default(), request, input) }
    }

    /// For tf.Examples with known features; others are ignored.
    pub fn of(mapping: Arc<Mapping>, request: &Request, input: Arc<str>) -> Decoder {
        let options = &request.options;
        Decoder {
            mapping,
            sequences: false,
            recognised: false,
            wanted: Wanted::none(),
            names: HashSet::new(),
            input,
            verify: !options.no_verify,
            resume: options.on_error.skips(),
            is_settled: request.is_settled,
            nulls: request.nulls(),
            max_rows: usize::try_from(options.max_record_bytes / 8).unwrap_or(usize::MAX),
            raw: None,
        }
    }

    /// The numbers of the bad records.
    pub fn misfits(&self, block: &Block) -> HashSet<u64> {
        // Any other error is found when the records are read.
        let faults = self.decode(block).map_or_else(|_| Vec::new(), |decoded| decoded.faults);
        faults.iter().filter_map(|fault| Some(fault.error.location().records?.0)).collect()
    }

    /// The chunk of a block.
    ///
    /// # Errors
    /// A record needs a wider inferred schema.
    pub fn decode(&self, block: &Block) -> Result<Decoded> {
        let mut bad = Vec::new();
        let mut rows = Vec::with_capacity(block.payloads.len());
        let mut features = self.structure(block, &mut rows, &mut bad);
        let mut columns = Vec::new();
        let nulled = loop {
            self.check_widening(&bad)?;
            if !self.resume && !bad.is_empty() {
                bad.sort_by_key(|b: &BadRecord| b.row);
                bad.truncate(1);
                let end = rows.partition_point(|r| *r < bad[0].row);
                keep(&mut features, &mut rows, |row| row < end);
            }
            columns.clear();
            let (mut misfits, mut buffer) = (Vec::new(), lists::Steps::default());
            for node in &self.mapping.fields {
                let before = misfits.len();
                let mut leaves = Vec::new();
                for leaf in node.leaves() {
                    leaves.push(lists::decode(leaf, &features, &mut buffer, &mut misfits)?);
                }
                if misfits[before..].iter().all(|m| m.null) {
                    columns.extend(assemble(node, leaves, &mut misfits)?);
                }
            }
            let (nulled, mut misfits): (Vec<RowError>, Vec<RowError>) = misfits.into_iter().partition(|m| m.null);
            if misfits.is_empty() {
                break nulled;
            }
            let unfit: HashSet<usize> = misfits.iter().map(|m| m.row).collect();
            misfits.sort_by_key(|m| m.row);
            misfits.dedup_by_key(|m| m.row);
            bad.extend(misfits.into_iter().map(|m| self.unusable(block, rows[m.row], m)));
            keep(&mut features, &mut rows, |row| !unfit.contains(&row));
        };
        bad.sort_by_key(|b| b.row);
        let origin = self.origin(block, &rows);
        let offsets: Vec<u64> = rows.iter().map(|row| block.frame_offset(*row)).collect();
        let mut faults: Vec<(usize, Fault)> = bad.into_iter().map(|b| (b.row, self.fault(block, b))).collect();
        for error in nulled {
            let bad = self.unusable(block, rows[error.row], error);
            faults.push((bad.row, Fault { kept: true, ..self.fault(block, bad) }));
        }
        faults.sort_by_key(|(row, _)| *row);
        let faults = faults.into_iter().map(|(_, fault)| fault).collect();
        let (nrows, nbytes) = (rows.len(), block.nbytes());
        match &self.raw {
            Some(fields) => fields.decoded(DecodedRows { nrows, origin, nbytes, offsets, faults }, |_| raw::column(block, &rows)),
            None => Ok(Decoded { chunk: Chunk::try_new(nrows, columns, origin)?, faults, nbytes, offsets }),
        }
    }

    /// A chunk without records, for bytes that are not records.
    ///
    /// # Errors
    /// Only internal errors.
    pub fn lost(&self, fault: Fault) -> Result<Decoded> {
        let record = fault.error.location().records.map_or(1, |(first, _)| first);
        let mut decoded = self.decode(&Block { first_record: record, ..Block::default() })?;
        decoded.nbytes = fault.length;
        decoded.faults.push(fault);
        Ok(decoded)
    }

    /// The ranges of the required features of all good records.
    fn structure<'a>(&self, block: &'a Block, rows: &mut Vec<usize>, bad: &mut Vec<BadRecord>) -> Features<'a> {
        let known = self.mapping.features.len();
        let mut spans: Vec<Vec<Span>> = vec![Vec::new(); known];
        for span in &mut spans {
            span.reserve(block.payloads.len());
        }
        let mut lists: Option<Vec<Vec<Option<Span>>>> = self.sequences.then(|| vec![Vec::new(); known]);
        let (mut names, mut list_names) = (Names::new(self), Names::new(self));
        for (row, payload) in block.payloads.iter().enumerate() {
            if let Some(error) = block.lost(row) {
                bad.push(BadRecord { row, error: error.clone() });
                continue;
            }
            if self.verify && !block.holds(row) {
                bad.push(BadRecord { row, error: self.wrong_payload(block, row) });
                continue;
            }
            // If all fields are required and none is known, inference could not read any record.
            if self.mapping.fields.is_empty() && self.wanted != Wanted::All {
                rows.push(row);
                continue;
            }
            let at = rows.len();
            spans.iter_mut().for_each(|s| s.push(0..0));
            names.position = 0;
            let mut feature = |key, feature: Span| {
                let id = names.find(key, feature.start)?;
                if let Some(span) = spans.get_mut(id).and_then(|s| s.get_mut(at)) {
                    *span = feature;
                }
                Ok(())
            };
            let outcome = match &mut lists {
                None => wire::features(&block.bytes, payload.clone(), &mut feature),
                Some(_) if self.recognised && wire::message(&block.bytes, payload.clone()) == Message::Example => {
                    wire::fail(payload.start, EXAMPLE_AMONG_SEQUENCES)
                }
                Some(lists) => {
                    lists.iter_mut().for_each(|s| s.push(None));
                    list_names.position = 0;
                    wire::sequence_features(&block.bytes, payload.clone(), &mut |is_list, key, span| {
                        if !is_list {
                            return feature(key, span);
                        }
                        let id = list_names.find(key, span.start)?;
                        if let Some(list) = lists.get_mut(id).and_then(|s| s.get_mut(at)) {
                            *list = Some(span);
                        }
                        Ok(())
                    })
                }
            };
            match outcome {
                Ok(()) => rows.push(row),
                Err(error) => {
                    spans.iter_mut().for_each(|s| s.truncate(at));
                    lists.iter_mut().flatten().for_each(|s| s.truncate(at));
                    // Damaged records say nothing about new features.
                    let error = if error.widens { damage(block, payload, self.sequences).unwrap_or(error) } else { error };
                    bad.push(self.unusable(block, row, RowError { row, field: String::new(), error, null: false }));
                }
            }
        }
        Features { bytes: &block.bytes, nrows: rows.len(), spans, lists, nulls: self.nulls, max_rows: self.max_rows }
    }

    /// A record that a wider type would hold is not a fault, but earlier faults take precedence.
    fn check_widening(&self, bad: &[BadRecord]) -> Result<()> {
        if self.resume && self.is_settled {
            // Inference left the record out, because it clashes with an earlier one.
            return Ok(());
        }
        let widened = bad.iter().filter(|b| b.error.kind() == Kind::Widened).min_by_key(|b| b.row);
        match widened {
            Some(w) if self.resume || bad.iter().all(|b| b.row >= w.row) => Err(w.error.clone()),
            _ => Ok(()),
        }
    }

    fn origin(&self, block: &Block, rows: &[usize]) -> Origin {
        let record = |row: &usize| block.record(*row);
        let mut origin = Origin::consecutive(self.input.clone(), rows.first().map_or(block.first_record, record));
        if rows.windows(2).any(|w| record(&w[1]) != record(&w[0]) + 1) {
            origin.rows = crate::chunk::Rows::Listed(rows.iter().map(record).collect());
        }
        origin
    }

    fn at(&self, block: &Block, row: usize, byte: u64, error: Error) -> Error {
        let record = block.record(row);
        error.in_input(self.input.clone()).locate(|at| {
            at.records = Some((record, record));
            at.byte = Some(byte);
        })
    }

    fn wrong_payload(&self, block: &Block, row: usize) -> Error {
        let error = Error::data("the checksum of the record's payload does not match");
        self.at(
            block,
            row,
            block.frame_offset(row),
            error.help(Hint::to_skip_or(
                "skip such records with --on-error skip, or turn off the check with --no-verify",
                "turn off the check with --no-verify",
            )),
        )
    }

    fn unusable(&self, block: &Block, row: usize, bad: RowError) -> BadRecord {
        let DecodeError { at, what, widens } = bad.error;
        let kind = if widens { Kind::Widened } else { Kind::Data };
        let error = match block.byte_of_payload(row, at).filter(|_| bad.field.is_empty()) {
            Some(byte) => Error::new(kind, format!("{what}, at byte {byte} of its payload")),
            None => Error::new(kind, what),
        };
        let error = if bad.field.is_empty() { error } else { error.in_field(&bad.field) };
        let near = if block.record(row) == 1 && !widens { near(block, row, &bad.field) } else { None };
        let error = near.into_iter().fold(error, |error, near| error.help(format!("did you mean {near}?")));
        BadRecord { row, error: self.at(block, row, block.frame_offset(row), error) }
    }

    fn fault(&self, block: &Block, bad: BadRecord) -> Fault {
        let raw = block.payloads.get(bad.row).and_then(|payload| block.bytes.get(payload.clone())).map(<[u8]>::to_vec);
        Fault { error: bad.error.with_kind(Kind::Data), length: block.record_nbytes(bad.row), raw, kept: false }
    }
}

/// Drops the rows that are not kept.
fn keep(features: &mut Features, rows: &mut Vec<usize>, mut kept: impl FnMut(usize) -> bool) {
    let flags: Vec<bool> = (0..rows.len()).map(&mut kept).collect();
    let mut filter = flags.iter();
    rows.retain(|_| filter.next().copied().unwrap_or(false));
    for span in &mut features.spans {
        let mut filter = flags.iter();
        span.retain(|_| filter.next().copied().unwrap_or(false));
    }
    for list in features.lists.iter_mut().flatten() {
        let mut filter = flags.iter();
        list.retain(|_| filter.next().copied().unwrap_or(false));
    }
    features.nrows = rows.len();
}

/// A feature of the record with a name similar to that of a field, which the record does not have.
fn near(block: &Block, row: usize, field: &str) -> Option<String> {
    let payload = block.payloads.get(row)?;
    let mut names = Vec::new();
    let add = &mut |name: &[u8], _| {
        names.extend(std::str::from_utf8(name).map(str::to_owned));
        Ok(())
    };
    wire::features(&block.bytes, payload.clone(), add).ok()?;
    let is_there = names.iter().any(|name| name == field);
    nearest(field, names.iter().map(String::as_str).filter(|_| !is_there)).map(quoted)
}

/// Errors in a record that do not depend on its features.
fn damage(block: &Block, payload: &Span, sequences: bool) -> Option<DecodeError> {
    let outcome = match sequences {
        true => wire::sequence_features(&block.bytes, payload.clone(), &mut |_, _, _| Ok(())),
        false => wire::features(&block.bytes, payload.clone(), &mut |_, _| Ok(())),
    };
    outcome.err()
}

/// The feature names found in a block. Records mostly have the same order of names, so each name is first compared with
/// the expected one before being looked up.
struct Names<'a> {
    decoder: &'a Decoder,
    names: Vec<&'a [u8]>,
    index: HashMap<&'a [u8], usize>,
    /// The feature at each position of an earlier record.
    expected: Vec<usize>,
    position: usize,
}

impl<'a> Names<'a> {
    fn new(decoder: &'a Decoder) -> Names<'a> {
        let names: Vec<&[u8]> = decoder.mapping.features.iter().map(String::as_bytes).collect();
        let index = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        Names { decoder, names, index, expected: Vec::new(), position: 0 }
    }

    /// The index of the feature; beyond those of the mapping if it is not required.
    #[inline]
    fn find(&mut self, key: &'a [u8], at: usize) -> wire::Parse<usize> {
        let position = self.position;
        self.position += 1;
        if let Some(id) = self.expected.get(position)
            && self.names.get(*id).is_some_and(|n| *n == key)
        {
            return Ok(*id);
        }
        let id = match self.index.get(key) {
            Some(id) => *id,
            None => self.unknown(key, at)?,
        };
        if position < self.expected.len() {
            self.expected[position] = id;
        } else if position == self.expected.len() && position < MAX_FIELDS {
            self.expected.push(id);
        }
        Ok(id)
    }

    #[cold]
    fn unknown(&mut self, key: &'a [u8], at: usize) -> wire::Parse<usize> {
        let decoder = self.decoder;
        match std::str::from_utf8(key) {
            Ok(name) if decoder.wanted.includes(name) && !decoder.names.contains(name) => {
                let sparse = name.strip_suffix("/values").filter(|field| decoder.names.contains(*field));
                let what = match sparse {
                    Some(field) => format!(
                        "the values of the sparse field {field} are in other features: declare {field}: sparse<T>[?] from {name} at {field}/indices_0"
                    ),
                    None => format!("no earlier record has the feature `{name}`"),
                };
                return Err(DecodeError { at, what: what.into(), widens: sparse.is_none() });
            }
            Err(_) if decoder.wanted == Wanted::All => return wire::fail(at, "the name of a feature is not valid UTF-8"),
            _ => {}
        }
        if self.names.len() >= MAX_FIELDS + decoder.mapping.features.len() {
            return Ok(usize::MAX);
        }
        let id = self.names.len();
        self.names.push(key);
        self.index.insert(key, id);
        Ok(id)
    }
}
