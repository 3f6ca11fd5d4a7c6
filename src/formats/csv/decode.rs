//! Decodes a block of records into columns.

use super::cut::ORDINARY_QUOTES;
use super::dialect::Dialect;
use super::fields::{Fields, MISQUOTED};
use super::record::Block;
use super::values::{Exact, Values};
use crate::chunk::{Chunk, Decoded, Fault, Origin, Rows};
use crate::decimal::integer;
use crate::error::{Error, Kind, Message, Result, mismatch};
use crate::formats::columnar::adapt::{Columns, DecodedRows};
use crate::formats::format::Request;
use crate::formats::json_members::is_value;
use crate::hint::SKIP;
use crate::path::quoted;
use crate::printable::{counted, is_or_are};
use crate::schema::notation::{name_text, schema_option};
use crate::schema::{DType, Dim, Element, Field, Schema, Size, Type};
use crate::tensor::text::{Refuse, from_text, reads_text};
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How records are decoded into the columns of a schema.
pub struct Decoder {
    dialect: Arc<Dialect>,
    columns: Columns,
    /// The source of each column that is read.
    read: Vec<ColumnReader>,
    nfields: usize,
    /// A character in the column names that may be the delimiter.
    delimiter: Option<&'static str>,
    skips: bool,
    nulls: bool,
}

struct ColumnReader {
    /// The index of the column in the file.
    number: usize,
    name: String,
    ty: Type,
    /// The type of the field.
    wanted: Type,
    may_be_null: bool,
    /// For a field with a default: its position in the chunk, and its type.
    default: Option<(usize, Type)>,
    is_declared: bool,
    floats: Exact,
}

/// An invalid field of a record.
struct CellError {
    row: usize,
    column: usize,
    message: Message,
}

impl Decoder {
    /// # Errors
    /// `--schema` requests types that fields cannot hold.
    pub fn try_new(names: &[String], schema: &Schema, dialect: &Arc<Dialect>, request: &Request) -> Result<Decoder> {
        let mut of_column: HashMap<&str, &Field> = HashMap::new();
        for field in &schema.fields {
            of_column.entry(field.source_name()).or_insert(field);
        }
        let natural = names.iter().map(|name| match of_column.get(name.as_str()) {
            Some(field) => natural(field, dialect).map(|ty| Field::new(name.clone(), ty)),
            None => Ok(Field::new(name.clone(), Type::tensor(DType::Null, Vec::new()).with_optional(true))),
        });
        let natural = natural.collect::<Result<Vec<_>>>()?;
        let columns = Columns::plan(&natural, schema, request)?;
        let declared: HashSet<&str> = request.declared.fields.iter().map(|field| field.name.as_str()).collect();
        let read = columns.roots().iter().filter_map(|root| {
            let field = of_column.get(natural[*root].name.as_str())?;
            Some(ColumnReader {
                number: *root,
                name: field.name.clone(),
                ty: natural[*root].ty.clone(),
                wanted: field.ty.clone(),
                may_be_null: field.ty.optional || field.default.is_some() || field.ty.dtype() == Some(&DType::Null),
                default: field.default.as_ref().and_then(|_| {
                    let mut wanted = schema.fields.iter().filter(|field| request.wanted.includes(&field.name));
                    Some((wanted.position(|own| own.name == field.name)?, field.ty.clone().with_optional(true)))
                }),
                is_declared: declared.contains(field.name.as_str()),
                floats: Exact::of(&field.ty, declared.contains(field.name.as_str())),
            })
        });
        Ok(Decoder {
            read: read.collect(),
            columns,
            dialect: dialect.clone(),
            nfields: names.len(),
            delimiter: ["|", ";", "\t"].into_iter().find(|other| names.iter().any(|name| name.contains(*other))),
            skips: request.options.on_error.skips(),
            nulls: request.nulls(),
        })
    }

    /// # Errors
    /// A field does not match the inferred type.
    pub fn decode(&self, block: Block) -> Result<Decoded> {
        self.decode_fields(&Fields::split(block, &self.dialect)?)
    }

    /// The records, by index, in which a value is invalid.
    pub fn misfits(&self, fields: &Fields) -> HashSet<usize> {
        let (rows, _) = self.whole_records(fields);
        let mut errors = Vec::new();
        // Any other error is found when the records are read.
        let _ = self.tensors(fields, &rows, &HashSet::new(), &mut errors);
        errors.into_iter().map(|error| error.row).collect()
    }

    fn decode_fields(&self, fields: &Fields) -> Result<Decoded> {
        let (mut rows, mut faults) = self.whole_records(fields);
        let mut errors: Vec<CellError> = Vec::new();
        let mut tensors = self.tensors(fields, &rows, &HashSet::new(), &mut errors)?;
        let mut nulled: HashSet<(usize, usize)> = HashSet::new();
        if !errors.is_empty() {
            let lost = self.lost(fields, &errors, &mut faults)?;
            rows.retain(|row| !lost.contains(row));
            nulled = errors.iter().filter(|error| self.is_kept(error)).map(|error| (error.row, error.column)).collect();
            tensors = self.tensors(fields, &rows, &nulled, &mut Vec::new())?;
        }
        faults.sort_by_key(|(row, _)| *row);
        if !self.skips
            && let Some((bad, _)) = faults.first()
        {
            // The preceding records are passed on.
            let bad = *bad;
            let before = rows.partition_point(|row| *row < bad);
            rows.truncate(before);
            tensors = tensors.into_iter().map(|tensor| tensor.slice(0, before)).collect();
            faults.truncate(1);
        }
        let nrows = rows.len();
        let listed = rows.len() < fields.nrecords();
        let record = |row: &usize| fields.first_record() + *row as u64;
        let rows = if listed { Rows::Listed(rows.iter().map(record).collect()) } else { Rows::From(fields.first_record()) };
        let origin = Origin::new(fields.input().clone(), rows);
        let read = |place: usize| tensors.get(place).cloned().ok_or_else(|| Error::internal("a column is missing"));
        let faults = faults.into_iter().map(|(_, fault)| fault).collect();
        let rows = DecodedRows { faults, ..DecodedRows::new(nrows, origin, fields.nbytes()) };
        let row = |error: &Error| Some((error.location().records?.0.checked_sub(fields.first_record())?) as usize);
        let mut decoded = self.columns.decoded(rows, read).map_err(|error| match row(&error) {
            Some(row) if error.kind() == Kind::Data => self.fault(fields, row, error, false).error,
            _ => error,
        })?;
        for fault in decoded.faults.iter_mut().filter(|fault| fault.raw.is_none()) {
            if let Some(row) = row(&fault.error) {
                *fault = self.fault(fields, row, fault.error.clone(), fault.kept);
            }
        }
        self.undo_defaults(&mut decoded.chunk, fields, &nulled)?;
        Ok(decoded)
    }

    /// The records with as many fields as there are columns, and the errors of the others, with their rows.
    fn whole_records(&self, fields: &Fields) -> (Vec<usize>, Vec<(usize, Fault)>) {
        let mut faults = Vec::new();
        let mut rows: Vec<usize> = (0..fields.nrecords()).collect();
        rows.retain(|row| {
            let nfields = fields.of_record(*row).1;
            let error = if fields.misquoted(*row).is_some() {
                Error::data(format!("found {MISQUOTED}")).help(ORDINARY_QUOTES)
            } else if nfields != self.nfields {
                self.uneven(nfields)
            } else {
                return true;
            };
            faults.push((*row, self.fault(fields, *row, error, false)));
            false
        });
        (rows, faults)
    }

    /// The error of a record with that number of fields.
    fn uneven(&self, nfields: usize) -> Error {
        let (found, columns) = (counted(nfields as u64, "field"), counted(self.nfields as u64, "column"));
        let mut error = Error::data(format!("found {found}, but there {} {columns}", is_or_are(self.nfields)));
        if self.dialect.columns.is_some() && nfields > self.nfields {
            error = error.help("--columns names all columns of a file without a header; to choose fields, use the verb select");
        }
        match self.delimiter {
            Some(other) => {
                let shown = if other == "\t" { "\\t" } else { other };
                error.help(format!("if '{shown}' separates columns, use --delimiter '{shown}'"))
            }
            None => error,
        }
    }

    /// Whether the record is kept, with null for the invalid field.
    fn is_kept(&self, error: &CellError) -> bool {
        self.nulls && self.read[error.column].may_be_null
    }

    /// The rows that are lost because of invalid fields. Adds the errors to be reported.
    ///
    /// # Errors
    /// A field that a type other than the inferred one would hold.
    fn lost(&self, fields: &Fields, errors: &[CellError], faults: &mut Vec<(usize, Fault)>) -> Result<HashSet<usize>> {
        let of_declared = errors.iter().filter(|error| self.read[error.column].is_declared && !self.is_kept(error));
        let left_out: HashSet<usize> = of_declared.filter(|_| self.skips).map(|error| error.row).collect();
        for error in errors.iter().filter(|error| !left_out.contains(&error.row)) {
            // A type other than text would hold it.
            if !self.read[error.column].is_declared && self.read[error.column].ty.dtype() != Some(&DType::String) {
                let fault = self.fault(fields, error.row, self.cell_error(fields, error), false);
                return Err(fault.error.with_kind(Kind::Widened));
            }
        }
        let lost: HashSet<usize> = errors.iter().filter(|error| !self.is_kept(error)).map(|error| error.row).collect();
        let mut named = HashSet::new();
        for error in errors {
            let is_kept = self.is_kept(error);
            // A skipped record is reported once.
            if is_kept != lost.contains(&error.row) && (is_kept || named.insert(error.row)) {
                faults.push((error.row, self.fault(fields, error.row, self.cell_error(fields, error), is_kept)));
            }
        }
        Ok(lost)
    }

    /// Makes the rows of invalid fields null again, after they have been set to the default of their field.
    fn undo_defaults(&self, chunk: &mut Chunk, fields: &Fields, nulled: &HashSet<(usize, usize)>) -> Result<()> {
        for (column, reader) in self.read.iter().enumerate() {
            let (Some((position, ty)), true) = (&reader.default, nulled.iter().any(|(_, own)| *own == column)) else { continue };
            let Some(own) = chunk.columns.get_mut(*position) else { continue };
            let row_of = |row: usize| chunk.origin.number(row).and_then(|number| number.checked_sub(fields.first_record()));
            let is_nulled = |row: usize| row_of(row).is_some_and(|row| nulled.contains(&(row as usize, column)));
            let end = own.nrows();
            let rows: Vec<usize> = (0..end).map(|row| if is_nulled(row) { end } else { row }).collect();
            *own = Tensor::concat(&[own, &Tensor::nulls(ty, 1)?])?.gather(&rows)?;
        }
        Ok(())
    }

    fn cell_error(&self, fields: &Fields, error: &CellError) -> Error {
        let reader = &self.read[error.column];
        let found = Error::data(error.message.clone()).in_field(quoted(&reader.name));
        let cell = fields.cell(fields.of_record(error.row).0 + reader.number);
        match std::str::from_utf8(cell) {
            Ok(_) => found,
            Err(_) => found.help(self.dialect.other_encoding(fields.input())),
        }
    }

    /// An invalid record. The error may be located already.
    fn fault(&self, fields: &Fields, row: usize, error: Error, kept: bool) -> Fault {
        let record = fields.first_record() + row as u64;
        let error = error.in_input(fields.input().clone()).locate(|at| {
            at.records = Some((record, record));
            at.line = Some(fields.line(row));
        });
        let error = if self.skips { error } else { error.help(SKIP) };
        let (first, nfields) = fields.of_record(row);
        let mut raw = fields.misquoted(row).unwrap_or_default().to_vec();
        if raw.is_empty() {
            for number in first..first + nfields {
                if number > first {
                    raw.push(self.dialect.delimiter);
                }
                self.dialect.quote(fields.cell(number), fields.is_quoted_empty(number), &mut raw);
            }
        }
        Fault { error, length: raw.len() as u64 + 1, raw: Some(raw), kept }
    }

    /// The columns of these records. Invalid fields become null or empty, and are recorded. The fields `nulled`, a row and a
    /// column each, are null.
    fn tensors(
        &self,
        fields: &Fields,
        rows: &[usize],
        nulled: &HashSet<(usize, usize)>,
        errors: &mut Vec<CellError>,
    ) -> Result<Vec<Tensor>> {
        let read = |(column, reader): (usize, &ColumnReader)| {
            let nulled = nulled.iter().filter(|(_, own)| *own == column).map(|(row, _)| *row).collect();
            let cells = Cells { fields, rows, number: reader.number, nulled };
            reader.tensor(&cells, &self.dialect, &mut |row, message| errors.push(CellError { row, column, message }))
        };
        self.read.iter().enumerate().map(read).collect()
    }
}

/// The type in which a column is read, before it is cast to that of the schema.
fn natural(field: &Field, dialect: &Dialect) -> Result<Type> {
    let ty = &field.ty;
    let refused = |what: &str| Error::usage(format!("a CSV field cannot store {what}")).in_field(quoted(&field.name));
    let dtype = match ty.dtype() {
        None => return Err(refused("a structure").help("read its text as string, or use JSON Lines for structures")),
        Some(dtype) => match dtype {
            DType::UInt64 => DType::UInt64,
            dtype if dtype.is_integer() => DType::Int64,
            dtype if dtype.is_float() => DType::Float64,
            DType::Null | DType::Bool | DType::String | DType::Bytes => dtype.clone(),
            DType::Json if ty.dims.is_empty() && !ty.is_sparse() => dtype.clone(),
            DType::Arrow(arrow) if reads_text(arrow) && !ty.is_sparse() => dtype.clone(),
            other => return Err(refused(&other.to_string()).help("read its text as string")),
        },
    };
    if ty.rank() > 1 {
        return Err(refused(&format!("{ty}")).help("a field contains one value or one list; use JSON Lines for nested data"));
    }
    if ty.rank() == 1 && dialect.separator.is_none() {
        return Err(refused("a list without a separator").help("choose one: --list-separator '|'"));
    }
    if ty.is_sparse() {
        if !matches!(dtype, DType::Float64 | DType::Int64 | DType::UInt64) {
            return Err(refused(&format!("{ty}")).help("sparse fields contain numbers: write items as id:weight"));
        }
        return Ok(Type { element: Element::Sparse(dtype), dims: ty.dims.clone(), optional: true, with_nulls: false });
    }
    let dims = if ty.dims.is_empty() { Vec::new() } else { vec![Dim::UNIFORM] };
    let with_nulls = ty.with_nulls && !dims.is_empty();
    Ok(Type { element: Element::Value(dtype), dims, optional: true, with_nulls })
}

/// The fields of a column in some records.
struct Cells<'a> {
    fields: &'a Fields,
    rows: &'a [usize],
    /// The index of the column in the file.
    number: usize,
    /// The rows whose field is null because it was invalid.
    nulled: HashSet<usize>,
}

impl Cells<'_> {
    /// The index in the block of the field of a row.
    #[inline]
    fn index(&self, row: usize) -> usize {
        self.fields.of_record(row).0 + self.number
    }

    /// Whether a field is the text `""`.
    fn is_quoted_empty(&self, row: usize) -> bool {
        self.fields.is_quoted_empty(self.index(row))
    }

    /// The row and the text of each field; `None` for one that is null because it was invalid.
    #[inline]
    fn iter(&self) -> impl Iterator<Item = (usize, Option<&[u8]>)> + Clone {
        let has_nulled = !self.nulled.is_empty();
        self.rows.iter().map(move |row| {
            let cell = || self.fields.cell(self.index(*row));
            (*row, if has_nulled && self.nulled.contains(row) { None } else { Some(cell()) })
        })
    }
}

/// An empty field is an empty list.
fn is_null_list(cell: Option<&[u8]>, dialect: &Dialect) -> bool {
    cell.is_some_and(|cell| !cell.is_empty() && dialect.is_null(cell))
}

type Note<'a> = &'a mut dyn FnMut(usize, Message);

fn expected(what: &str, text: &[u8]) -> Message {
    let text: String = String::from_utf8_lossy(text).chars().take(60).collect();
    if text.is_empty() { mismatch(what, "an empty field") } else { mismatch(what, format_args!("\"{text}\"")) }
}

/// Parses texts of times, decimals and other Arrow types, and checks JSON; values of other dtypes stay as they are. Texts that are
/// rejected become null.
fn parsed(dtype: &DType, values: ArrayRef, refuse: Refuse) -> Result<ArrayRef> {
    let mut valid = vec![true; values.len()];
    let mut refuse = |at: usize, message: Message| {
        valid[at] = false;
        refuse(at, message);
    };
    let array = match dtype {
        DType::Arrow(arrow) => from_text(values.as_string(), arrow, &mut refuse)?,
        DType::Json => {
            let texts = values.as_string::<i64>().iter().enumerate();
            let wrong = texts.filter_map(|(at, text)| Some((at, text?))).filter(|(_, text)| !is_value(text.as_bytes()));
            wrong.for_each(|(at, text)| refuse(at, expected("JSON", text.as_bytes())));
            values.clone()
        }
        _ => return Ok(values),
    };
    match validity(valid) {
        None => Ok(array),
        refused => {
            let nulls = NullBuffer::union(array.nulls(), refused.as_ref());
            let data = array.to_data().into_builder().nulls(nulls).build();
            Ok(make_array(data.map_err(|e| Error::internal(e.to_string()))?))
        }
    }
}

fn validity(valid: Vec<bool>) -> Option<NullBuffer> {
    valid.contains(&false).then(|| NullBuffer::from(valid))
}

impl ColumnReader {
    fn tensor(&self, cells: &Cells, dialect: &Dialect, note: Note) -> Result<Tensor> {
        match (&self.ty.element, self.ty.dims.is_empty()) {
            (Element::Sparse(dtype), _) => self.sparse(dtype, cells, dialect, note),
            (Element::Value(dtype), true) => self.scalars(dtype, cells, dialect, note),
            (Element::Value(dtype), false) => self.lists(dtype, cells, dialect, note),
            _ => Err(Error::internal("a column of structures")),
        }
    }

    /// The text of a field unless it is null. Records a null that the type does not allow.
    fn not_null<'a>(&self, row: usize, cell: Option<&'a [u8]>, is_null: bool, note: Note) -> Option<&'a [u8]> {
        let cell = cell?;
        if is_null && !self.may_be_null {
            let what = match cell {
                [] => "an empty field".to_owned(),
                cell => format!("\"{}\"", String::from_utf8_lossy(cell)),
            };
            let nullable = schema_option(&format!("{}: optional {}", name_text(&self.name), self.wanted));
            note(row, format!("{what} is null, but the type is {}; to allow nulls: {nullable}", self.wanted).into());
        }
        Some(cell).filter(|_| !is_null)
    }

    fn scalars(&self, dtype: &DType, cells: &Cells, dialect: &Dialect, note: Note) -> Result<Tensor> {
        let nrows = cells.rows.len();
        let (mut values, mut valid) = (Values::new(dtype, self.floats, nrows), Vec::with_capacity(nrows));
        let is_utf8 = cells.fields.is_utf8();
        // A column that has been null so far is one of text if this is in it.
        let is_text = matches!(dtype, DType::String | DType::Bytes | DType::Null);
        // No word that means null is written as most values are.
        let mut probe = Values::new(dtype, self.floats, 0);
        let is_quick = dialect.nulls.iter().all(|word| !probe.is_quick(word.as_bytes()));
        let mut rest = cells.iter();
        loop {
            if is_quick {
                valid.resize(valid.len() + values.extend_quick(&mut rest, is_utf8), true);
            }
            let Some((row, cell)) = rest.next() else { break };
            let is_null = dialect.is_null(cell.unwrap_or_default()) && !(is_text && cells.is_quoted_empty(row));
            let pushed = match self.not_null(row, cell, is_null, note) {
                Some(cell) => match values.push(cell) {
                    Ok(()) => true,
                    Err(_) if dialect.is_missing(cell) => self.not_null(row, Some(cell), true, note).is_some(),
                    Err(what) => {
                        note(row, expected(what, cell));
                        false
                    }
                },
                None => false,
            };
            if !pushed {
                values.push_nothing();
            }
            valid.push(pushed);
        }
        let values = parsed(dtype, values.finish(validity(valid))?, &mut |at, message| note(cells.rows[at], message))?;
        Ok(Tensor::Leaf(values))
    }

    fn lists(&self, dtype: &DType, cells: &Cells, dialect: &Dialect, note: Note) -> Result<Tensor> {
        let (mut values, mut valid, mut lengths, mut valid_items) =
            (Values::new(dtype, self.floats, 0), Vec::new(), Vec::new(), Vec::new());
        for (row, cell) in cells.iter() {
            let before = valid_items.len();
            let cell = self.not_null(row, cell, is_null_list(cell, dialect), note);
            for item in cell.into_iter().flat_map(|cell| dialect.items(cell)) {
                let is_item = !dialect.is_null(item);
                let pushed = is_item && values.push(item).map_err(|what| note(row, expected(what, item))).is_ok();
                if !is_item && !self.ty.with_nulls && *dtype != DType::Null {
                    note(row, expected(wanted(dtype), item).prefixed("an item is null, but the type has no nulls"));
                }
                if !pushed {
                    values.push_nothing();
                }
                valid_items.push(pushed);
            }
            valid.push(cell.is_some());
            lengths.push((valid_items.len() - before) as i64);
        }
        let partition = RowPartition::from_row_lengths(lengths)?;
        let items = parsed(dtype, values.finish(validity(valid_items))?, &mut |at, message| {
            let row = partition.row_splits().partition_point(|split| *split <= at as i64) - 1;
            note(cells.rows[row], message);
        })?;
        Tensor::list(partition, Tensor::Leaf(items), validity(valid))
    }

    fn sparse(&self, dtype: &DType, cells: &Cells, dialect: &Dialect, note: Note) -> Result<Tensor> {
        let size = match self.ty.dims.first().map(|dim| dim.size) {
            Some(Size::Known(n)) => i64::try_from(n).ok(),
            _ => None,
        };
        let (mut values, mut indices, mut valid, mut lengths, mut shapes) =
            (Values::new(dtype, self.floats, 0), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, cell) in cells.iter() {
            let before = indices.len();
            let cell = self.not_null(row, cell, is_null_list(cell, dialect), note);
            let mut longest = 0;
            for item in cell.into_iter().flat_map(|cell| dialect.items(cell)) {
                let pair = integer(item).filter(|(index, length)| *index >= 0 && item.get(*length) == Some(&b':'));
                match pair {
                    Some((index, _)) if size.is_some_and(|size| index >= size) => {
                        note(row, format!("the id {index} is outside the size {}", size.unwrap_or(0)).into());
                    }
                    Some((i64::MAX, _)) | None => note(row, expected("id:weight", item)),
                    Some((index, length)) => match values.push(&item[length + 1..]) {
                        Ok(()) => {
                            indices.push(index);
                            longest = longest.max(index + 1);
                        }
                        Err(what) => note(row, expected(&format!("id:weight with {what}"), item)),
                    },
                }
            }
            valid.push(cell.is_some());
            lengths.push((indices.len() - before) as i64);
            shapes.push(size.unwrap_or(longest));
        }
        let entries = RowPartition::from_row_lengths(lengths)?;
        Ok(Tensor::Sparse(Sparse::try_new(1, entries, indices.into(), values.finish(None)?, shapes.into(), validity(valid))?))
    }
}

fn wanted(dtype: &DType) -> &'static str {
    match dtype {
        DType::Bool => "true or false",
        DType::Int64 => "an integer",
        DType::UInt64 => "a non-negative integer",
        DType::Float64 => "a number",
        _ => "text",
    }
}
