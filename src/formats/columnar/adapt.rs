//! Adapts the columns of a file to the schema of the run: selects, renames, casts and fills them.
//!
//! Parquet, Arrow and files of arrays declare their types, but several files are read under one schema, and `--schema`
//! can request other types.

use crate::chunk::{Chunk, Decoded, Fault, Origin};
use crate::demand::RecordNumbers;
use crate::error::{Error, Kind, Result, nearest};
use crate::formats::format::{Inference, Request};
use crate::hint::SKIP;
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{Field, Schema, Type, unify};
use crate::tensor::Tensor;
use crate::tensor::arrow::{LEAST, from_arrow};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef};
use std::collections::{HashMap, HashSet};

/// The schema of a file, overridden by `--schema`. A column that another field is read `from` is not a separate field,
/// unless it is named too.
pub fn declared_over(declared: &Schema, mut found: Schema) -> Schema {
    let sources: HashSet<&String> = declared.fields.iter().filter_map(|f| f.source.values.as_ref()).collect();
    found.fields.retain(|f| !sources.contains(&f.name) || declared.index_of(&f.name).is_some());
    unify::overlay(declared, &found)
}

/// [`declared_over`] for the records of a request, with a notice for a name that may be misspelt.
///
/// # Errors
/// Only internal errors.
pub fn inferred(request: &Request, found: Schema) -> Result<Inference> {
    request.note_misspelt(found.fields.iter().map(|field| field.name.as_str()), |_| Vec::new())?;
    Ok(Inference::Known(declared_over(&request.declared, found)))
}

/// How the chunks of one file are built.
pub struct Columns {
    columns: Vec<AdaptedColumn>,
    roots: Vec<usize>,
    /// Whether records with values that do not fit are skipped.
    skips: bool,
    /// Whether such values become null, in a column that may be null.
    nulls: bool,
    /// The most bytes of a record in a column.
    record_bytes: u64,
}

/// Rows decoded from a file, without their columns.
pub struct DecodedRows {
    /// Number of records.
    pub nrows: usize,
    pub origin: Origin,
    /// See [`Decoded`].
    pub nbytes: u64,
    /// See [`Decoded`].
    pub offsets: Vec<u64>,
    /// See [`Decoded`].
    pub faults: Vec<Fault>,
}

impl DecodedRows {
    /// Rows without bad records.
    pub fn new(nrows: usize, origin: Origin, nbytes: u64) -> DecodedRows {
        DecodedRows { nrows, origin, nbytes, offsets: Vec::new(), faults: Vec::new() }
    }
}

/// The error for a record whose values in a column take too many bytes.
pub fn too_large(nbytes: u64, limit: u64) -> Error {
    beyond("the values of the record take", nbytes, limit)
}

/// The error for a record whose values in a column are known to take too many bytes before they are read.
pub fn too_large_at_least(nbytes: u64, limit: u64) -> Error {
    beyond("the values of a record take at least", nbytes, limit)
}

fn beyond(what: &str, nbytes: u64, limit: u64) -> Error {
    let message = format!("{what} {nbytes} bytes, more than the --max-record-bytes limit of {limit}");
    Error::data(message).help("drop the column, or raise the limit with --max-record-bytes")
}

/// Bytes of values; lists, strings and nulls take at least those of an offset.
fn values_nbytes(tensor: &Tensor) -> u64 {
    let least = |n: usize| (n as u64).saturating_mul(LEAST);
    match tensor {
        Tensor::Leaf(array) => match array.data_type() {
            DataType::Null => least(array.len()),
            DataType::LargeUtf8 => text_nbytes(array.as_string::<i64>().value_offsets()).max(least(array.len())),
            DataType::LargeBinary => text_nbytes(array.as_binary::<i64>().value_offsets()).max(least(array.len())),
            _ => tensor.nbytes() as u64,
        },
        Tensor::List(list) => values_nbytes(list.values()).max(least(list.partition().nrows())),
        Tensor::Struct(fields) => fields.fields().iter().map(values_nbytes).sum(),
        Tensor::Sparse(_) => tensor.nbytes() as u64,
    }
}

fn text_nbytes(offsets: &[i64]) -> u64 {
    offsets.first().zip(offsets.last()).map_or(0, |(start, end)| end.abs_diff(*start))
}

struct AdaptedColumn {
    /// The position among the columns read, and its type; `None` if the file does not have the column.
    source: Option<(usize, Type)>,
    target: Field,
}

impl Columns {
    /// Selects the required fields of `schema` from the fields of a file.
    ///
    /// # Errors
    /// A source that only TFRecord features have (`split by`, `at`), a missing field that must not be null, or a type to
    /// which no values of the file's type can be converted.
    pub fn plan(found: &[Field], schema: &Schema, request: &Request) -> Result<Columns> {
        let (mut columns, mut roots, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let (mut positions, mut places) = (HashMap::new(), HashMap::new());
        for (position, field) in found.iter().enumerate() {
            positions.entry(field.name.as_str()).or_insert(position);
        }
        for target in schema.fields.iter().filter(|f| request.wanted.includes(&f.name)) {
            if !target.source.split_by.is_empty() || !target.source.at.is_empty() {
                return Err(Error::usage("`split by` and `at` combine TFRecord features; here each column is already a complete value")
                    .in_field(quoted(&target.name))
                    .help("declare only the type, and combine the columns with the verb partition or compose"));
            }
            let name = target.source_name();
            let source = positions.get(name).map(|position| {
                let place = *places.entry(*position).or_insert_with(|| {
                    roots.push(*position);
                    roots.len() - 1
                });
                (place, found[*position].ty.clone())
            });
            if let Some((_, from)) = &source {
                let impossible = |e: Error| e.with_kind(Kind::Usage).within(quoted(&target.name));
                Tensor::empty(from)?.widen(from, &target.ty).map_err(impossible)?;
            }
            if source.is_none() && !target.ty.optional && target.default.is_none() {
                missing.push(target);
            }
            columns.push(AdaptedColumn { source, target: target.clone() });
        }
        if let Some(first) = missing.first() {
            let name = first.source_name();
            let declared = |target: &&Field| match &target.source.values {
                Some(source) => format!("{}: optional {} from {}", name_text(&target.name), target.ty, name_text(source)),
                None => format!("{}: optional {}", name_text(&target.name), target.ty),
            };
            let all: Vec<String> = missing.iter().map(declared).collect();
            let it = if missing.len() == 1 { "it" } else { "them" };
            let error = Error::data(format!("the file has no column named {}", quoted(name))).in_field(quoted(&first.name));
            let near = nearest(name, positions.keys().copied()).map(|near| format!("did you mean {}?", quoted(near)));
            return Err(near
                .into_iter()
                .fold(error, Error::help)
                .help(format!("to read {it} as null: {}", schema_option(&all.join("; ")))));
        }
        for target in &columns {
            let (name, source) = (&target.target.name, &target.target.source.values);
            if let (Some(source), Some(position)) = (source, positions.get(name.as_str()))
                && source != name
                && !places.contains_key(position)
            {
                let text = format!("the column {} is not read: the schema reads the field {0} from {}", quoted(name), quoted(source));
                request.options.notices.add(text, request.options.strict)?;
            }
        }
        // Columns are read in file order.
        let mut order: Vec<usize> = (0..roots.len()).collect();
        order.sort_by_key(|place| roots[*place]);
        let mut rank = vec![0; roots.len()];
        for (at, place) in order.into_iter().enumerate() {
            rank[place] = at;
        }
        for column in &mut columns {
            if let Some((place, _)) = &mut column.source {
                *place = rank[*place];
            }
        }
        roots.sort_unstable();
        let options = &request.options;
        Ok(Columns { columns, roots, skips: options.on_error.skips(), nulls: request.nulls(), record_bytes: options.max_record_bytes })
    }

    /// The columns read from the file, in file order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The records of a block, whose columns `read` returns, given their index in [`Columns::roots`]. A record with a value
    /// that does not fit the schema is a bad record if those may be skipped.
    ///
    /// # Errors
    /// The data does not match its own schema or, unless bad records may be skipped, the schema of the run.
    pub fn decoded(&self, rows: DecodedRows, read: impl Fn(usize) -> Result<Tensor>) -> Result<Decoded> {
        let DecodedRows { nrows, origin, nbytes, mut offsets, mut faults } = rows;
        let named = |place: usize| self.columns.iter().find(|column| column.source.as_ref().is_some_and(|(own, _)| *own == place));
        let named = |place: usize| named(place).map_or(String::new(), |column| quoted(&column.target.name));
        let read = |place: usize| read(place).map_err(|e| origin.resolve(e.in_field(named(place)), nrows));
        let found = (0..self.roots.len()).map(read).collect::<Result<Vec<_>>>()?;
        let (known, mut lost) = (faults.len(), HashSet::new());
        let chunk = self.adapted(Chunk::try_new(nrows, found, origin)?, 0, &mut lost, &mut faults)?;
        if faults.len() > known {
            faults.sort_by_key(|fault| fault.error.location().records);
            let mut row = 0..;
            offsets.retain(|_| row.next().is_none_or(|row| !lost.contains(&row)));
        }
        Ok(Decoded { chunk, faults, nbytes, offsets })
    }

    /// The records of a block of `arrays`, which correspond to [`Columns::roots`]; `fields` are all fields of the file.
    ///
    /// # Errors
    /// See [`Columns::decoded`].
    pub fn decoded_arrays(&self, rows: DecodedRows, arrays: &[ArrayRef], fields: &[FieldRef]) -> Result<Decoded> {
        self.decoded(rows, |place| match (arrays.get(place), self.roots.get(place).and_then(|root| fields.get(*root))) {
            (Some(array), Some(field)) => from_arrow(array, field),
            _ => Err(Error::data("a column is missing")),
        })
    }

    /// Adapts columns of the file, of which `first` is the row of the first record in the block. `lost` are the rows that
    /// are left out. Bad records are found by bisection, because they are few.
    fn adapted(&self, chunk: Chunk, first: usize, lost: &mut HashSet<usize>, faults: &mut Vec<Fault>) -> Result<Chunk> {
        let cast = |column: &AdaptedColumn| {
            column.cast(&chunk).map_err(|e| chunk.origin.resolve(e.within(quoted(&column.target.name)), chunk.nrows))
        };
        let error = match self.columns.iter().map(cast).collect::<Result<_>>() {
            Err(error) if error.kind() == Kind::Data && self.skips => error,
            Err(error) if error.kind() == Kind::Data => return Err(error.help(SKIP)),
            columns => return Chunk::try_new(chunk.nrows, columns?, chunk.origin),
        };
        if chunk.nrows > 1 {
            let half = chunk.nrows / 2;
            let before = self.adapted(chunk.slice(0, half), first, lost, faults)?;
            let after = self.adapted(chunk.slice(half, chunk.nrows - half), first + half, lost, faults)?;
            return Chunk::concat(&[before, after]);
        }
        let found: Vec<Result<Tensor>> = self.columns.iter().map(cast).collect();
        let may_be_null = |column: &AdaptedColumn| column.target.ty.optional || column.target.default.is_some();
        let is_kept = self.nulls && found.iter().zip(&self.columns).all(|(found, column)| found.is_ok() || may_be_null(column));
        if !is_kept {
            faults.push(Fault { error, length: 0, raw: None, kept: false });
            lost.insert(first);
            return self.empty(chunk.origin.slice(0, 0));
        }
        let or_null = |(found, column): (Result<Tensor>, &AdaptedColumn)| {
            found.or_else(|error| {
                faults.push(Fault { error, length: 0, raw: None, kept: true });
                Tensor::nulls(&column.target.ty.clone().with_optional(true), 1)
            })
        };
        let columns = found.into_iter().zip(&self.columns).map(or_null).collect::<Result<_>>()?;
        Chunk::try_new(1, columns, chunk.origin)
    }

    /// Drops records that are bad for a reason other than their types; the errors have the numbers of the records.
    ///
    /// # Errors
    /// The first, unless bad records may be skipped.
    pub fn without(&self, decoded: Decoded, mut bad: Vec<Error>) -> Result<Decoded> {
        let number = |error: &Error| error.location().records.map(|(number, _)| number);
        bad.sort_by_key(number);
        bad.dedup_by_key(|error| number(error));
        let Some(first) = bad.first() else { return Ok(decoded) };
        if !self.skips {
            return Err(first.clone());
        }
        let Decoded { chunk, mut faults, nbytes, offsets } = decoded;
        let numbers: HashSet<Option<u64>> = bad.iter().map(number).collect();
        let rows: Vec<usize> = (0..chunk.nrows).filter(|row| !numbers.contains(&chunk.origin.number(*row))).collect();
        faults.retain(|fault| !numbers.contains(&number(&fault.error)));
        faults.extend(bad.into_iter().map(|error| Fault { error, length: 0, raw: None, kept: false }));
        faults.sort_by_key(|fault| number(&fault.error));
        Ok(Decoded { chunk: chunk.gather(&rows)?, faults, nbytes, offsets })
    }

    /// No records, instead of one that is bad for a reason other than its types.
    ///
    /// # Errors
    /// The reason, unless bad records may be skipped.
    pub fn rejected(&self, row: DecodedRows, error: Error) -> Result<Decoded> {
        let DecodedRows { origin, nbytes, offsets, mut faults, .. } = row;
        if !self.skips {
            return Err(error);
        }
        faults.push(Fault { error, length: 0, raw: None, kept: false });
        Ok(Decoded { chunk: self.empty(origin.slice(0, 0))?, faults, nbytes, offsets })
    }

    /// Leaves out records with more bytes in a column than `--max-record-bytes`.
    ///
    /// # Errors
    /// The first, unless bad records may be skipped.
    pub fn limited(&self, decoded: Decoded) -> Result<Decoded> {
        let (chunk, limit) = (&decoded.chunk, self.record_bytes);
        if chunk.columns.iter().map(values_nbytes).fold(0, u64::saturating_add) <= limit {
            return Ok(decoded);
        }
        let mut bad = Vec::new();
        for (tensor, column) in chunk.columns.iter().zip(&self.columns) {
            let sizes = (0..chunk.nrows).map(|row| (row, values_nbytes(&tensor.slice(row, 1))));
            let name = quoted(&column.target.name);
            let error = |(row, nbytes)| chunk.origin.resolve(too_large(nbytes, limit).at_row(row).in_field(&name), chunk.nrows);
            bad.extend(sizes.filter(|(_, nbytes)| *nbytes > limit).map(error));
        }
        self.without(decoded, bad)
    }

    /// An empty chunk.
    ///
    /// # Errors
    /// None for in-memory tensor types.
    pub fn empty(&self, origin: Origin) -> Result<Chunk> {
        let columns = self.columns.iter().map(|column| Tensor::empty(&column.target.ty)).collect::<Result<_>>()?;
        Chunk::try_new(0, columns, origin)
    }
}

impl AdaptedColumn {
    /// The column, made from those of the file.
    fn cast(&self, file: &Chunk) -> Result<Tensor> {
        let ty = &self.target.ty;
        let Some((place, from)) = &self.source else { return self.null(file.nrows) };
        let found = file.columns.get(*place).ok_or_else(|| Error::internal("a column is missing"))?;
        let to_round = |error: Error| match (from.dtype(), ty.dtype()) {
            (Some(own), Some(dtype)) if own.is_integer() && dtype.is_float() && error.kind() == Kind::Data => {
                let name = self.target.source.values.as_ref().unwrap_or(&self.target.name);
                let cast = shell_word(&format!("{}={dtype}", quoted(name)));
                error.help(format!("to round such numbers, change the type in this file first: cast {cast}"))
            }
            _ => error,
        };
        if self.target.default.is_some() {
            return self.filled(found.widen(from, &ty.clone().with_optional(true)).map_err(to_round)?);
        }
        found.widen(from, ty).map_err(to_round)
    }

    /// Rows without a value: null, or the default.
    fn null(&self, nrows: usize) -> Result<Tensor> {
        self.filled(Tensor::nulls(&self.target.ty.clone().with_optional(true), nrows)?)
    }

    /// Replaces null rows with the default of the field.
    fn filled(&self, tensor: Tensor) -> Result<Tensor> {
        match &self.target.default {
            None => Ok(tensor),
            Some(default) => tensor.fill_null_rows(&self.target.ty, default),
        }
    }
}

/// Only the records with these numbers.
///
/// # Errors
/// None for in-memory tensor types.
pub fn chosen(decoded: Decoded, wanted: &RecordNumbers) -> Result<Decoded> {
    if wanted.count() >= (decoded.chunk.nrows + decoded.faults.len()) as u64 {
        return Ok(decoded);
    }
    let Decoded { chunk, mut faults, nbytes, offsets } = decoded;
    let rows: Vec<usize> = (0..chunk.nrows).filter(|row| chunk.origin.number(*row).is_some_and(|number| wanted.contains(number))).collect();
    faults.retain(|fault| fault.error.location().records.is_some_and(|(number, _)| wanted.contains(number)));
    Ok(Decoded { chunk: chunk.gather(&rows)?, faults, nbytes, offsets })
}
