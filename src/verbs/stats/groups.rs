//! The summaries of all records, or of each group of records formed by `--by`.

use super::collect::{Shares, add};
use super::report::Group;
use super::summary::Summary;
use crate::chunk::Chunk;
use crate::error::{Error, Reason, Result, mismatch};
use crate::options::Options;
use crate::path::{self, quoted};
use crate::printable::shell_word;
use crate::schema::{DType, Schema};
use crate::tensor::Tensor;
use crate::verbs::shared::key_table::KeyTable;
use crate::verbs::shared::keys::{KeyField, Keys, key_columns};
use crate::verbs::shared::shares::text_of;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde_json::{Value, json};

/// Maximum number of groups, if the memory suffices.
const MOST: usize = 1000;
/// Memory of the summary of a field with many values, in bytes.
const SUMMARY_NBYTES: u64 = 32 << 10;

/// The maximum number of groups, given the number of fields.
fn most_groups(fields: &[Summary], options: &Options) -> usize {
    let nfields = fields.iter().map(Summary::len).sum::<usize>().max(1) as u64;
    usize::try_from(options.max_memory / (SUMMARY_NBYTES * nfields)).unwrap_or(MOST).clamp(1, MOST)
}
/// A group with fewer bytes per field in a chunk is not summarized separately: empty summaries of its fields would cost
/// more than the values.
const LEAST_NBYTES: usize = 8 << 10;

/// Some of the records of one group.
pub struct GroupPart {
    nrows: usize,
    values: PartValues,
}

enum PartValues {
    Summarized(Vec<Summary>),
    /// Unsummarized values, if there are few per field.
    Columns(Vec<Tensor>),
    /// The values have been collected into the shares.
    Collected,
}

/// The parts of a chunk, with the key of each if there are keys.
pub struct GroupParts {
    keys: Option<Chunk>,
    parts: Vec<GroupPart>,
}

/// Summarizes chunks, on any thread.
pub struct Partition {
    /// Empty summaries of all fields.
    empty: Vec<Summary>,
    /// The fields of `--by`.
    by: Option<Vec<KeyField>>,
    /// Whether the values go to the shares.
    is_shared: bool,
    /// The maximum number of groups.
    most: usize,
    options: Options,
}

impl Partition {
    /// `by` has the keys. `is_shared`: the values go to the shares.
    pub fn new(fields: &[Summary], by: Option<Vec<KeyField>>, is_shared: bool, options: &Options) -> Partition {
        let most = most_groups(fields, options);
        Partition { empty: fields.iter().map(Summary::part).collect(), by, is_shared, most, options: options.clone() }
    }

    /// Summarizes a chunk. O(values).
    ///
    /// # Errors
    /// Invalid data.
    pub fn parts(&self, chunk: &Chunk) -> Result<GroupParts> {
        let Some(by) = &self.by else {
            let values = if self.is_shared { PartValues::Collected } else { self.summarized(&chunk.columns)? };
            return Ok(GroupParts { keys: None, parts: vec![GroupPart { nrows: chunk.nrows, values }] });
        };
        let keys = key_columns(by, chunk)?;
        let found = KeyTable::unlimited(&self.options).insert(&keys)?;
        // One group too many ends the run, regardless of the other groups.
        let first = &found.fresh[..found.fresh.len().min(self.most + 1)];
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); first.len()];
        for (row, number) in found.numbers.iter().enumerate() {
            if let Some(rows) = rows.get_mut(*number as usize) {
                rows.push(row);
            }
        }
        let part = |rows: &Vec<usize>| {
            let part = chunk.gather(rows)?;
            let is_small = part.nbytes() / self.empty.iter().map(Summary::len).sum::<usize>().max(1) < LEAST_NBYTES;
            let values = if is_small { PartValues::Columns(part.columns) } else { self.summarized(&part.columns)? };
            Ok(GroupPart { nrows: part.nrows, values })
        };
        Ok(GroupParts { keys: Some(keys.gather(first)?), parts: rows.iter().map(part).collect::<Result<_>>()? })
    }

    fn summarized(&self, columns: &[Tensor]) -> Result<PartValues> {
        let mut fields: Vec<Summary> = self.empty.iter().map(Summary::part).collect();
        add(&mut fields, &[columns])?;
        Ok(PartValues::Summarized(fields))
    }
}

/// The summaries of all groups.
pub struct Groups {
    /// Empty summaries of all fields.
    empty: Vec<Summary>,
    /// The keys and their names, if there are any.
    keys: Option<(KeyTable, Vec<String>)>,
    /// Indexed by key number.
    groups: Vec<(u64, Vec<Summary>)>,
    /// The maximum number of groups.
    most: usize,
    /// For a single group with many fields: the shares that hold the values, until [`Groups::end`].
    shares: Option<Shares>,
}

impl Groups {
    /// One group with all records or, given the names of keys, one group for each key. `shares` holds the values of a
    /// single group with many fields.
    pub fn new(fields: Vec<Summary>, keys: Option<Vec<String>>, shares: Option<Shares>, options: &Options) -> Groups {
        let keys = keys.map(|names| (KeyTable::unlimited(options), names));
        let groups = match keys {
            None => vec![(0, if shares.is_none() { fields.clone() } else { Vec::new() })],
            Some(_) => Vec::new(),
        };
        let most = most_groups(&fields, options);
        Groups { empty: fields, keys, groups, most, shares }
    }

    /// Adds the parts of the next chunk.
    ///
    /// # Errors
    /// There are too many groups.
    pub fn push(&mut self, parts: GroupParts) -> Result<()> {
        let numbers = match (&mut self.keys, &parts.keys) {
            (Some((table, names)), Some(keys)) => {
                let numbers = table.insert(keys)?.numbers;
                if table.len() > self.most {
                    let error = Error::data(format!("--by has more than {} groups", self.most)).in_field(names.join(","));
                    if self.most < MOST {
                        let nfields = self.empty.iter().map(Summary::len).sum::<usize>();
                        let error = error.help(format!("the summaries of {nfields} fields for more groups exceed --max-memory"));
                        return Err(error.help("summarize fewer fields, with -f, or raise --max-memory"));
                    }
                    return Err(error.help(format!("to count the records of each: count --by {}", names.join(","))));
                }
                numbers
            }
            _ => vec![0; parts.parts.len()],
        };
        for (number, part) in numbers.into_iter().zip(parts.parts) {
            if number as usize == self.groups.len() {
                self.groups.push((0, self.empty.clone()));
            }
            let (records, fields) = &mut self.groups[number as usize];
            *records += part.nrows as u64;
            match part.values {
                PartValues::Summarized(theirs) => fields.iter_mut().zip(theirs).for_each(|(own, their)| own.merge(their)),
                PartValues::Columns(columns) => add(fields, &[&columns])?,
                PartValues::Collected => {}
            }
        }
        Ok(())
    }

    /// Moves the summaries out of the shares. Called after the last part.
    ///
    /// # Errors
    /// The values of a field cannot be summarized.
    pub fn end(&mut self) -> Result<()> {
        if let (Some((_, fields)), Some(shares)) = (self.groups.first_mut(), self.shares.take()) {
            *fields = shares.take()?;
        }
        Ok(())
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.groups.iter().map(|(records, _)| records).sum()
    }

    /// The names of the keys.
    pub fn by(&self) -> Option<String> {
        self.keys.as_ref().map(|(_, names)| names.join(","))
    }

    /// The summaries of the only group.
    pub fn into_fields(self) -> Vec<Summary> {
        self.groups.into_iter().next().map_or_else(Vec::new, |(_, fields)| fields)
    }

    /// The groups, largest first.
    ///
    /// # Errors
    /// A key that cannot be printed, which is a bug.
    pub fn shown(&mut self) -> Result<Vec<Group<'_>>> {
        let mut keys = vec![None; self.groups.len()];
        if let Some((table, names)) = &mut self.keys
            && let parts @ [_, ..] = &table.take_parts()[..]
        {
            let rows = Chunk::concat(parts)?;
            for (row, key) in keys.iter_mut().enumerate() {
                *key = Some(shown_key(&rows, names, row)?);
            }
        }
        let mut groups = Vec::new();
        for ((records, all), key) in self.groups.iter().zip(keys) {
            let mut fields = Vec::new();
            all.iter().for_each(|field| field.wanted(&mut fields));
            groups.push(Group { key, records: *records, fields });
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.records));
        Ok(groups)
    }
}

/// The key values of a row: as text, and for programs.
fn shown_key(rows: &Chunk, names: &[String], row: usize) -> Result<(String, Value)> {
    let mut values = Vec::new();
    for column in &rows.columns {
        values.push(value(column.as_leaf()?, row)?);
    }
    let text = values.iter().map(Value::to_string).collect::<Vec<_>>().join(",");
    let object = names.iter().cloned().zip(values).collect();
    Ok((text, Value::Object(object)))
}

fn value(array: &ArrayRef, row: usize) -> Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::LargeUtf8 => json!(array.as_string::<i64>().value(row)),
        DataType::LargeBinary => json!(array.as_binary::<i64>().value(row).escape_ascii().to_string()),
        _ => {
            let number = arrow_cast::cast(&array.slice(row, 1), &DataType::LargeUtf8);
            let text = number.map_err(|_| Error::internal("a key that is not a scalar"))?;
            serde_json::from_str(text.as_string::<i64>().value(0)).map_err(|_| Error::internal("an integer that is no number"))?
        }
    })
}

/// The keys and their names.
///
/// # Errors
/// A field that does not exist, or that is not a scalar string, integer or bool.
pub fn keys(by: &Keys, schema: &Schema, verb: &str) -> Result<(Vec<KeyField>, Vec<String>)> {
    let keys = by.fields(schema, verb)?;
    for KeyField { path, field, .. } in &keys {
        let dtype = field.ty.dtype().filter(|_| field.ty.dims.is_empty() && !field.ty.is_sparse());
        if !dtype.is_some_and(|d| d.is_integer() || matches!(d, DType::String | DType::Bytes | DType::Bool)) {
            let error = Error::usage(mismatch("a string, an integer or a bool", &field.ty).prefixed("--by"));
            let name = path.to_string();
            let written = path.in_expression();
            if dtype == Some(&DType::Null) {
                let schema = shell_word(&format!("{name}: optional string"));
                return Err(error.in_field(&name).help(format!("it is always null; declare its type: --schema {schema}")));
            }
            let values = match (field.ty.fields(), field.ty.rank()) {
                (Some(fields), 0) => fields.iter().map(|inner| format!("{written}.{}", path::in_expression(&inner.name))).collect(),
                (None, 0) if matches!(dtype, Some(DType::Arrow(_))) && dtype.is_none_or(|d| d.time().is_none()) => Vec::new(),
                (None, 0) => vec![text_of(&written, dtype)],
                _ => vec![format!("len({written})")],
            };
            let map = values.first().map(|value| shell_word(&format!("key = {value}")));
            return Err(match map {
                Some(map) => error
                    .because(Reason::NotScalar(path.names().to_vec()))
                    .help(format!("compute a key from it: map {map} then {verb} --by key")),
                None => error,
            }
            .in_field(&name));
        }
    }
    let names = keys.iter().map(|key| quoted(&key.field.name).to_string()).collect();
    Ok((keys, names))
}
