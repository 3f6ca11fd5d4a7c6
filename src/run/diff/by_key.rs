//! `diff --by`: pairs the records of two datasets by key.
//!
//! Both are sorted by the hash of the key and the record number, beyond `--max-memory` in temporary files, and then read side by
//! side.

use super::side::Side;
use super::values::{ValueDifference, described, text};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::io::in_command;
use crate::json::value_text;
use crate::options::Options;
use crate::printable::{counted, in_json, shell_word};
use crate::schema::Schema;
use crate::tensor::equal::Tolerance;
use crate::tensor::hash::row_hashes;
use crate::verbs::{KeyField, Keys, Sorter, key_columns, numbered, numbers};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// The report: how many records only one of the two has, how many differ, and the first of each; `None` without differences.
///
/// # Errors
/// One of the two cannot be read, or two of its records have the same key.
pub fn difference(sides: [&mut Side; 2], schema: &Arc<Schema>, by: &Keys, tolerance: Option<Tolerance>) -> Result<Option<String>> {
    let keys = by.paths().iter().map(|path| {
        let several = || Error::usage("is inside a list, so it has several values in a record").in_field(path);
        KeyField::outside_lists(path, schema)?.ok_or_else(several)
    });
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let [left, right] = sides;
    let names = [left.shown().into_owned(), right.shown().into_owned()].map(Cow::Owned);
    let mut streams = [Sorted::of(left, &keys, schema)?, Sorted::of(right, &keys, schema)?];
    let mut report =
        Report { keys: &keys, schema, tolerance, only: [Only::default(), Only::default()], differing: Only::default(), pairs: None };
    while let Some(hash) = streams.iter().filter_map(Sorted::hash).min() {
        let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
        for (stream, records) in streams.iter_mut().zip([&mut ours, &mut theirs]) {
            stream.take(hash, records, &keys)?;
        }
        for record in ours {
            match theirs.iter().position(|other| record.has_key_of(other)) {
                Some(at) => report.pair(record, theirs.swap_remove(at))?,
                None => report.only[0].add(record.number(), || record.clone()),
            }
        }
        theirs.into_iter().for_each(|record| report.only[1].add(record.number(), || record.clone()));
    }
    report.compare()?;
    Ok(report.text(&names))
}

/// Records in sorted order, with their keys.
struct Part {
    records: Chunk,
    keys: Chunk,
    hashes: Vec<u64>,
    /// Record numbers, from 1.
    numbers: Vec<u64>,
}

/// A record of a part.
#[derive(Clone)]
struct Record {
    part: Rc<Part>,
    row: usize,
}

impl Record {
    fn number(&self) -> u64 {
        self.part.numbers[self.row]
    }

    fn has_key_of(&self, other: &Record) -> bool {
        let (own, their) = (&self.part.keys.columns, &other.part.keys.columns);
        own.iter().zip(their).all(|(a, b)| a.keys_equal(self.row, b, other.row))
    }

    /// The key, as in `id: 7`.
    fn key(&self, keys: &[KeyField]) -> String {
        let one = |(key, column): (&KeyField, _)| {
            let value = value_text(column, &key.field.ty, self.row);
            format!("{}: {}", key.path, text((column, self.row), &in_json(&value), 0))
        };
        keys.iter().zip(&self.part.keys.columns).map(one).collect::<Vec<_>>().join(", ")
    }
}

/// One of the two datasets, sorted.
struct Sorted {
    name: String,
    sorter: Sorter,
    keys: Vec<KeyField>,
    part: Option<Record>,
}

impl Sorted {
    /// Reads all records.
    fn of(side: &mut Side, keys: &[KeyField], schema: &Arc<Schema>) -> Result<Sorted> {
        // Both are sorted at the same time.
        let options = Options { max_memory: side.options.max_memory / 2, ..side.options.clone() };
        let mut sorter = Sorter::new("diff", &numbered(schema), &[], &options);
        let mut nrows = 0;
        while let Some(mut chunk) = side.next_chunk()? {
            let first = nrows + 1;
            nrows += chunk.nrows as u64;
            let positions = numbers(first..=nrows);
            let hashes = numbers(row_hashes(&key_columns(keys, &chunk)?.columns, chunk.nrows));
            chunk.columns.push(positions.clone());
            sorter.push(chunk, vec![hashes, positions])?;
        }
        let mut sorted = Sorted { name: side.shown().into_owned(), sorter, keys: keys.to_vec(), part: None };
        sorted.advance()?;
        Ok(sorted)
    }

    /// The hash of the next key.
    fn hash(&self) -> Option<u64> {
        self.part.as_ref().map(|record| record.part.hashes[record.row])
    }

    /// Moves to the next record.
    fn advance(&mut self) -> Result<()> {
        if let Some(record) = &mut self.part
            && record.row + 1 < record.part.records.nrows
        {
            record.row += 1;
            return Ok(());
        }
        self.part = None;
        while let Some(chunk) = self.sorter.next_deferred()? {
            let mut records = chunk()?;
            if records.nrows == 0 {
                continue;
            }
            let number = records.columns.pop().ok_or_else(|| Error::internal("records without numbers"))?;
            let numbers = number.as_leaf()?.as_primitive::<UInt64Type>().values().to_vec();
            let keys = key_columns(&self.keys, &records)?;
            let hashes = row_hashes(&keys.columns, keys.nrows);
            self.part = Some(Record { part: Rc::new(Part { records, keys, hashes, numbers }), row: 0 });
            break;
        }
        Ok(())
    }

    /// Takes the records whose keys have this hash, which hardly ever differ.
    fn take(&mut self, hash: u64, records: &mut Vec<Record>, keys: &[KeyField]) -> Result<()> {
        while self.hash() == Some(hash)
            && let Some(record) = self.part.clone()
        {
            if let Some(first) = records.iter().find(|other| record.has_key_of(other)) {
                let found = format!("records {} and {} have the same key, {}", first.number(), record.number(), record.key(keys));
                let names: Vec<String> = keys.iter().map(|key| key.path.to_string()).collect();
                let unique = format!("tatter unique --by {} {}", shell_word(&names.join(",")), in_command(&self.name));
                let error = Error::data(found).in_input(self.name.as_str());
                return Err(error.help("add fields to --by that tell them apart").help(format!("or keep the first of each: {unique}")));
            }
            records.push(record);
            self.advance()?;
        }
        Ok(())
    }
}

/// Some records, of which the first is shown.
struct Only<T> {
    count: u64,
    first: Option<(u64, T)>,
}

impl<T> Default for Only<T> {
    fn default() -> Only<T> {
        Only { count: 0, first: None }
    }
}

impl<T> Only<T> {
    /// Adds the record of this number.
    fn add(&mut self, number: u64, shown: impl FnOnce() -> T) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|(first, _)| number < *first) {
            self.first = Some((number, shown()));
        }
    }
}

struct Report<'a> {
    keys: &'a [KeyField],
    schema: &'a Schema,
    tolerance: Option<Tolerance>,
    /// The records that only one of the two has.
    only: [Only<Record>; 2],
    /// The records that differ, by their number in the first dataset.
    differing: Only<(Record, Record, ValueDifference)>,
    /// Rows with equal keys that are yet to be compared.
    pairs: Option<Pairs>,
}

/// Rows of two parts.
struct Pairs {
    parts: [Rc<Part>; 2],
    rows: [Vec<usize>; 2],
}

impl Report<'_> {
    /// Takes two records with equal keys. Those of the same parts are compared together.
    fn pair(&mut self, a: Record, b: Record) -> Result<()> {
        let fits = |pairs: &&mut Pairs| Rc::ptr_eq(&pairs.parts[0], &a.part) && Rc::ptr_eq(&pairs.parts[1], &b.part);
        if let Some(pairs) = self.pairs.as_mut().filter(fits) {
            pairs.rows[0].push(a.row);
            pairs.rows[1].push(b.row);
            return Ok(());
        }
        self.compare()?;
        self.pairs = Some(Pairs { parts: [a.part, b.part], rows: [vec![a.row], vec![b.row]] });
        Ok(())
    }

    /// Compares the pairs.
    fn compare(&mut self) -> Result<()> {
        let Some(Pairs { parts, rows }) = self.pairs.take() else { return Ok(()) };
        let first = parts[0].records.gather(&rows[0])?;
        let second = parts[1].records.gather(&rows[1])?;
        // The first field in which each pair differs.
        let mut fields: Vec<Option<usize>> = vec![None; first.nrows];
        for (field, (a, b)) in first.columns.iter().zip(&second.columns).enumerate() {
            let mut start = 0;
            while start < first.nrows {
                let left = first.nrows - start;
                let found = a.slice(start, left).first_difference_beyond(&b.slice(start, left), self.tolerance);
                let Some(row) = found.map(|row| start + row) else { break };
                fields[row].get_or_insert(field);
                start = row + 1;
            }
        }
        for (row, field) in fields.into_iter().enumerate() {
            let Some(field) = field else { continue };
            let record = |side: usize| Record { part: parts[side].clone(), row: rows[side][row] };
            self.differing.add(record(0).number(), || {
                let (a, b) = ((&first.columns[field], row), (&second.columns[field], row));
                (record(0), record(1), described(&self.schema.fields[field], a, b, self.tolerance))
            });
        }
        Ok(())
    }

    fn text(&self, names: &[Cow<str>; 2]) -> Option<String> {
        let mut lines = Vec::new();
        for (only, name) in self.only.iter().zip(names) {
            let Some((number, record)) = &only.first else { continue };
            let (colon, records) = (colon(only.count), counted(only.count, "record"));
            lines.push(format!("{records} only in {name}{colon} record {number}, {}\n", record.key(self.keys)));
        }
        if let Some((number, (record, other, found))) = &self.differing.first {
            let (colon, records) = (colon(self.differing.count), counted(self.differing.count, "record"));
            let verb = if self.differing.count == 1 { "differs" } else { "differ" };
            let key = record.key(self.keys);
            let at =
                if *number == other.number() { format!("record {number}") } else { format!("records {number} and {}", other.number()) };
            lines.push(format!("{records} {verb}{colon} {at}, {key}: {}\n", found.text(names)));
        }
        (!lines.is_empty()).then(|| lines.concat())
    }
}

fn colon(count: u64) -> &'static str {
    if count == 1 { ":" } else { "; the first:" }
}
