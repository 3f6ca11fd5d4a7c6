//! Encodes columns as records. Values that would not read back unchanged are rejected.

use super::dialect::Dialect;
use crate::chunk::Chunk;
use crate::decimal::{Numbers, put_integer};
use crate::error::{Error, Reason, Result};
use crate::formats::dense_shape;
use crate::formats::format::{Encode, Encoded, Writer};
use crate::formats::lines;
use crate::hint::Hint;
use crate::notice::Tally;
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use crate::schema::filling::null_refused;
use crate::schema::{DType, Field, Schema};
use crate::tensor::text::{reads_text, to_text, uuids};
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, LargeBinaryArray, LargeStringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use std::ops::Range;
use std::sync::Arc;

struct RecordEncoder {
    schema: Arc<Schema>,
    dialect: Dialect,
    options: Options,
    /// The lists written in each column.
    lists: Vec<Lists>,
}

/// What readers can find out about a column of lists.
#[derive(Default)]
struct Lists {
    /// The number of lists.
    all: Tally,
    /// The number of those that have several items, and so a separator.
    shown: Tally,
    /// For a column of text, the number of chunks with a separator in it.
    texts: Tally,
}

/// # Errors
/// A field is neither a scalar nor a list of scalars.
pub fn writer(schema: &Arc<Schema>, dialect: Dialect, format: &str, options: &Options) -> Result<Box<dyn Writer>> {
    for field in &schema.fields {
        check(field, schema, &dialect, format).map_err(|e| e.in_field(quoted(&field.name)))?;
        dense_shape::note(field, format, options)?;
    }
    if schema.fields.is_empty() {
        return Err(Error::usage(format!("{format} needs a column, but the records have no fields")).because(Reason::NoFields));
    }
    if dialect.columns.is_some() {
        return Err(Error::usage("--columns names the columns of an input; the output always has a header")
            .help("rename the fields, or remove the header: tatter ... | tail -n +2"));
    }
    let lists = schema.fields.iter().map(|_| Lists::default()).collect();
    let encoder = RecordEncoder { schema: schema.clone(), dialect, options: options.clone(), lists };
    let header = encoder.header();
    Ok(lines::writer(Arc::new(encoder), header))
}

/// Maximum number of fields of a structure for which the verbs that move them out are spelled out.
const PROMOTED: usize = 5;

fn check(field: &Field, schema: &Schema, dialect: &Dialect, format: &str) -> Result<()> {
    let ty = &field.ty;
    let name = quoted(&field.name);
    let refused = |what: &str| Error::usage(format!("{format} cannot store {what}, but this is {ty}"));
    let Some(dtype) = ty.dtype() else {
        let error = refused("structures").help(Hint::to_write_jsonl(""));
        let inner = ty.fields().filter(|inner| inner.len() <= PROMOTED);
        return Err(match inner.and_then(|_| schema.moved_out(&FieldPath::name(&field.name), |_| true)) {
            Some(verbs) => error.help(format!("or move its fields out: {verbs}")),
            None => error.help("or move its fields out with promote"),
        });
    };
    if ty.rank() > 1 {
        return Err(refused("lists of lists").help(Hint::to_write_jsonl(format!(
            "merge its axes: merge-dims {} 0 {}, or ",
            shell_word(&name),
            ty.rank() - 1
        ))));
    }
    if let DType::Arrow(arrow) = dtype
        && !reads_text(arrow)
    {
        return Err(refused("values without a text form").help(format!("leave it out: drop {}", shell_word(&name))));
    }
    if ty.is_sparse() && !dtype.is_number() {
        let help = Hint::to_write_jsonl(format!("write its values as lists: to-dense -f {}, or ", shell_word(&name)));
        return Err(refused("sparse fields without numbers").help(help));
    }
    if ty.rank() == 1 && dialect.separator.is_none() {
        return Err(refused("lists without a separator").help("join them: --list-separator '|'"));
    }
    Ok(())
}

/// The values of a column or of its lists, as text.
enum Texts<'a> {
    Null,
    Bools(&'a BooleanArray),
    Numbers(Numbers<'a>),
    Strings(&'a LargeStringArray),
    Bytes(&'a LargeBinaryArray),
    /// Values of other types, formatted.
    Formatted(LargeStringArray),
}

impl<'a> Texts<'a> {
    fn of(array: &'a ArrayRef, is_uuid: bool) -> Result<Texts<'a>> {
        Ok(match array.data_type() {
            DataType::Null => Texts::Null,
            DataType::Boolean => Texts::Bools(array.as_boolean()),
            DataType::LargeUtf8 => Texts::Strings(array.as_string()),
            DataType::LargeBinary => Texts::Bytes(array.as_binary()),
            _ => match Numbers::of(array) {
                Some(numbers) => Texts::Numbers(numbers),
                None => Texts::Formatted(if is_uuid { uuids(array)? } else { to_text(array)? }),
            },
        })
    }

    /// Whether the text consists of the characters of numbers and words.
    fn is_plain(&self) -> bool {
        !matches!(self, Texts::Strings(_) | Texts::Bytes(_) | Texts::Formatted(_))
    }

    /// Appends a value.
    ///
    /// # Errors
    /// Bytes that are not text.
    #[inline]
    fn put(&self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Texts::Null => {}
            Texts::Bools(values) => out.extend_from_slice(if values.value(at) { b"true" } else { b"false" }),
            Texts::Numbers(numbers) => numbers.put(at, special, out),
            Texts::Strings(values) => out.extend_from_slice(values.value(at).as_bytes()),
            Texts::Formatted(values) => out.extend_from_slice(values.value(at).as_bytes()),
            Texts::Bytes(values) => match std::str::from_utf8(values.value(at)) {
                Ok(text) => out.extend_from_slice(text.as_bytes()),
                Err(_) => return Err(Error::data("these bytes are not valid UTF-8").help(Hint::to_write_jsonl("drop the field, or "))),
            },
        }
        Ok(())
    }
}

/// The text of a NaN or an infinity.
fn special(value: f64) -> &'static [u8] {
    match value {
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ => b"NaN",
    }
}

/// A column to be written.
struct Column<'a> {
    field: &'a Field,
    shape: Shape<'a>,
    /// The values of all rows.
    texts: Texts<'a>,
    validity: Option<NullBuffer>,
    /// Whether no field needs quotes.
    is_plain: bool,
    /// Whether an empty field is quoted unless it is null: text, and what would be an empty line.
    quotes_empty: bool,
}

/// What a row of a column is.
enum Shape<'a> {
    Value,
    /// A list, with the validity of the items.
    List(&'a RowPartition, Option<NullBuffer>),
    /// A sparse tensor, with the validity of the values.
    Sparse(&'a Sparse, Option<NullBuffer>),
}

impl RecordEncoder {
    /// The names of the columns.
    fn header(&self) -> Vec<u8> {
        let mut header = Vec::new();
        for (number, field) in self.schema.fields.iter().enumerate() {
            if number > 0 {
                header.push(self.dialect.delimiter);
            }
            self.dialect.quote(field.name.as_bytes(), true, &mut header);
        }
        header.push(b'\n');
        header
    }

    fn column<'a>(&self, tensor: &'a Tensor, field: &'a Field, is_alone: bool) -> Result<Column<'a>> {
        let is_uuid = field.is_uuid();
        let (shape, texts) = match tensor {
            Tensor::Leaf(array) => (Shape::Value, Texts::of(array, is_uuid)?),
            Tensor::List(list) => (Shape::List(list.partition(), list.values().validity()), Texts::of(list.values().as_leaf()?, is_uuid)?),
            Tensor::Sparse(sparse) => (Shape::Sparse(sparse, sparse.values().logical_nulls()), Texts::of(sparse.values(), false)?),
            Tensor::Struct(_) => return Err(Error::internal("a column of structures")),
        };
        // Lists contain the separator, which can be special, and a lone field can be empty.
        let quotes_empty = is_alone || matches!((&shape, &texts), (Shape::Value, Texts::Strings(_) | Texts::Bytes(_)));
        let is_plain = matches!(shape, Shape::Value) && texts.is_plain() && !is_alone && self.dialect.is_outside_numbers();
        let validity = tensor.validity().filter(|validity| validity.null_count() > 0);
        Ok(Column { field, shape, texts, validity, is_plain, quotes_empty })
    }

    /// Appends the field of a row.
    fn put(&self, column: &Column, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let is_null = matches!((&column.shape, &column.texts), (Shape::Value, Texts::Null))
            || column.validity.as_ref().is_some_and(|validity| validity.is_null(row));
        self.put_text(column, row, is_null, out)?;
        if !column.is_plain {
            self.dialect.quote_from(start, column.quotes_empty && !is_null, out);
        }
        Ok(())
    }

    /// Appends the field of a row, without quotes.
    fn put_text(&self, column: &Column, row: usize, is_null: bool, out: &mut Vec<u8>) -> Result<()> {
        let null = self.dialect.nulls.first().map_or("", String::as_str);
        match &column.shape {
            Shape::Value if is_null => out.extend_from_slice(null.as_bytes()),
            Shape::Value => {
                let start = out.len();
                column.texts.put(row, out)?;
                // Text without characters is written as `""`.
                if out.len() > start {
                    self.check_word(&out[start..])?
                }
            }
            _ if is_null && null.is_empty() => {
                return Err(Error::data("a null list would read back as an empty one").help("choose a string for null: --nulls NA"));
            }
            _ if is_null => out.extend_from_slice(null.as_bytes()),
            Shape::List(partition, validity) => return self.put_list(&column.texts, partition.range(row), validity.as_ref(), out),
            Shape::Sparse(sparse, validity) => return self.put_entries(column, sparse, validity.as_ref(), row, out),
        }
        Ok(())
    }

    /// Appends `index:value` for each entry of a row.
    fn put_entries(&self, column: &Column, sparse: &Sparse, validity: Option<&NullBuffer>, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for (number, entry) in sparse.entries().range(row).enumerate() {
            if validity.is_some_and(|validity| validity.is_null(entry)) {
                return Err(null_refused("a sparse field of csv", column.field, row));
            }
            if number > 0 {
                out.push(self.separator());
            }
            let start = out.len();
            put_integer(sparse.indices()[entry], out);
            out.push(b':');
            column.texts.put(entry, out)?;
            self.check_item(&out[start..])?;
        }
        Ok(())
    }

    fn put_list(&self, items: &Texts, own: Range<usize>, validity: Option<&NullBuffer>, out: &mut Vec<u8>) -> Result<()> {
        let null = self.dialect.nulls.first().map_or("", String::as_str);
        let (start, nitems) = (out.len(), own.len());
        for (number, at) in own.enumerate() {
            if number > 0 {
                out.push(self.separator());
            }
            if matches!(items, Texts::Null) || validity.is_some_and(|validity| validity.is_null(at)) {
                out.extend_from_slice(null.as_bytes());
                continue;
            }
            let item = out.len();
            items.put(at, out)?;
            self.check_word(&out[item..])?;
            self.check_item(&out[item..])?;
        }
        if nitems == 1 && (out.len() == start || self.dialect.is_null(&out[start..])) {
            let error = Error::data("a list of one item that is empty or null would read back as an empty list or null");
            return Err(error.help(Hint::to_write_jsonl("")));
        }
        Ok(())
    }

    /// The separator of items. Without one, there are no lists: they were refused.
    fn separator(&self) -> u8 {
        self.dialect.separator.unwrap_or_default()
    }

    /// Text with a separator cannot be written as an item.
    fn check_item(&self, text: &[u8]) -> Result<()> {
        if memchr::memchr(self.separator(), text).is_none() {
            return Ok(());
        }
        let error = Error::data("an item contains the character that separates items");
        Err(error.help(format!("choose another: --list-separator '{}'", if self.separator() == b';' { '|' } else { ';' })))
    }

    /// Text that means null cannot be written as text.
    fn check_word(&self, text: &[u8]) -> Result<()> {
        if !self.dialect.is_null(text) {
            return Ok(());
        }
        let word = String::from_utf8_lossy(text);
        Err(Error::data(format!("the text \"{word}\" would read back as null"))
            .help(format!("choose another string for null: --nulls {}", if word == "NULL" { "NA" } else { "NULL" })))
    }
}

impl Encode for RecordEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let is_alone = chunk.columns.len() == 1;
        let fields = chunk.columns.iter().zip(&self.schema.fields);
        let columns = fields.map(|(column, field)| self.column(column, field, is_alone)).collect::<Result<Vec<_>>>()?;
        for (column, lists) in chunk.columns.iter().zip(&self.lists) {
            if let Tensor::List(list) = column {
                let shown = (0..chunk.nrows).filter(|row| list.partition().range(*row).len() > 1).count();
                lists.all.add(chunk.nrows as u64);
                lists.shown.add(shown as u64);
            }
            if let (Tensor::Leaf(array), Some(separator)) = (column, self.dialect.separator)
                && let Some(text) = array.as_string_opt::<i64>()
                && let (Some(start), Some(end)) = (text.value_offsets().first(), text.value_offsets().last())
                && memchr::memchr(separator, &text.value_data()[*start as usize..*end as usize]).is_some()
            {
                lists.texts.add(1);
            }
        }
        let mut out = Vec::with_capacity(chunk.nbytes());
        for row in 0..chunk.nrows {
            for (number, column) in columns.iter().enumerate() {
                if number > 0 {
                    out.push(self.dialect.delimiter);
                }
                self.put(column, row, &mut out).map_err(|e| e.at_row(row).in_field(quoted(&column.field.name)))?;
            }
            out.push(b'\n');
        }
        Ok(Box::new(out))
    }

    fn finish(&self) -> Result<()> {
        for (field, lists) in self.schema.fields.iter().zip(&self.lists) {
            if lists.texts.take() > 0 {
                let name = quoted(&field.name);
                let schema = shell_word(&format!("{name}: {}", field.ty));
                let text =
                    format!("{name}: some text contains the list separator, so it would be read as a list: read it with --schema {schema}");
                self.options.notices.add(text, self.options.strict)?;
            }
            if lists.all.take() > 0 && lists.shown.take() == 0 {
                let (name, ty) = (quoted(&field.name), &field.ty);
                let schema = shell_word(&format!("{name}: {ty}"));
                let text = format!(
                    "{name}: no list has more than one item, so the file does not show that these are lists: read it with --schema {schema}"
                );
                self.options.notices.add(text, self.options.strict)?;
            }
        }
        Ok(())
    }
}
