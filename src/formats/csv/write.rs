//! Encodes columns as records. Values that would not read back unchanged are rejected.

use super::dialect::Dialect;
use crate::chunk::Chunk;
use crate::error::{Error, Reason, Result};
use crate::formats::decimal::{put_float16, put_float32, put_integer};
use crate::formats::dense_shape;
use crate::formats::format::{Encode, Encoded, Writer};
use crate::formats::lines::LineWriter;
use crate::notice::Tally;
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use crate::schema::{DType, Field, Schema};
use crate::tensor::Tensor;
use crate::tensor::text::{reads_text, to_text, uuids};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
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
    Ok(Box::new(LineWriter::new(Arc::new(encoder), header)))
}

/// Maximum number of fields of a structure for which the verbs that move them out are spelled out.
const PROMOTED: usize = 5;

fn check(field: &Field, schema: &Schema, dialect: &Dialect, format: &str) -> Result<()> {
    let ty = &field.ty;
    let name = quoted(&field.name);
    let refused = |what: &str| Error::usage(format!("{format} cannot store {what}, but this is {ty}"));
    let Some(dtype) = ty.dtype() else {
        let error = refused("structures").help("use --to jsonl");
        let inner = ty.fields().filter(|inner| inner.len() <= PROMOTED);
        return Err(match inner.and_then(|_| schema.moved_out(&FieldPath::name(&field.name), |_| true)) {
            Some(verbs) => error.help(format!("or move its fields out: {verbs}")),
            None => error.help("or move its fields out with promote"),
        });
    };
    if ty.rank() > 1 {
        return Err(refused("lists of lists").help(format!(
            "merge its axes: merge-dims {} 0 {}, or use --to jsonl",
            shell_word(&name),
            ty.rank() - 1
        )));
    }
    if let DType::Arrow(arrow) = dtype
        && !reads_text(arrow)
    {
        return Err(refused("values without a text form").help(format!("leave it out: drop {}", shell_word(&name))));
    }
    if ty.is_sparse() && !dtype.is_number() {
        let help = format!("write its values as lists: to-dense -f {}, or use --to jsonl", shell_word(&name));
        return Err(refused("sparse fields without numbers").help(help));
    }
    if ty.rank() == 1 && dialect.separator.is_none() {
        return Err(refused("lists without a separator").help("join them: --list-separator '|'"));
    }
    Ok(())
}

/// How the value of a row is formatted.
type Put<'a> = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<()> + 'a>;

fn texts(array: &ArrayRef, is_uuid: bool) -> Result<Put<'_>> {
    macro_rules! numbers {
        ($t:ty) => {{
            let values = array.as_primitive::<$t>().values();
            Box::new(move |at, out| {
                put_integer(values[at], out);
                Ok(())
            })
        }};
    }
    macro_rules! floats {
        ($t:ty, $put:expr) => {{
            let values = array.as_primitive::<$t>().values();
            Box::new(move |at, out| {
                let value = values[at];
                if value.is_finite() {
                    $put(value, out);
                } else if value.is_nan() {
                    out.extend_from_slice(b"NaN");
                } else {
                    out.extend_from_slice(if value.is_sign_positive() { b"Infinity" } else { b"-Infinity" });
                }
                Ok(())
            })
        }};
    }
    Ok(match array.data_type() {
        DataType::Null => Box::new(|_, _| Ok(())),
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(|at, out| {
                out.extend_from_slice(if values.value(at) { b"true" } else { b"false" });
                Ok(())
            })
        }
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float16 => floats!(Float16Type, put_float16),
        DataType::Float32 => floats!(Float32Type, put_float32),
        DataType::Float64 => {
            floats!(Float64Type, |v, out: &mut Vec<u8>| out.extend_from_slice(zmij::Buffer::new().format_finite(v).as_bytes()))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(|at, out| {
                out.extend_from_slice(values.value(at).as_bytes());
                Ok(())
            })
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            Box::new(|at, out| match std::str::from_utf8(values.value(at)) {
                Ok(text) => {
                    out.extend_from_slice(text.as_bytes());
                    Ok(())
                }
                Err(_) => Err(Error::data("these bytes are not valid UTF-8").help("use --to jsonl, or drop the field")),
            })
        }
        _ => {
            let texts = if is_uuid { uuids(array)? } else { to_text(array)? };
            Box::new(move |at, out| {
                out.extend_from_slice(texts.value(at).as_bytes());
                Ok(())
            })
        }
    })
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

    /// How the field of each row is formatted, before quoting.
    fn column<'a>(&'a self, tensor: &'a Tensor, is_uuid: bool) -> Result<Put<'a>> {
        let dialect = &self.dialect;
        let null = dialect.nulls.first().map_or("", String::as_str);
        let validity = tensor.validity();
        let is_null = move |row: usize| validity.as_ref().is_some_and(|v| v.is_null(row));
        // Without one, there are no lists: they were refused.
        let separator = dialect.separator.unwrap_or_default();
        let null_list = move |out: &mut Vec<u8>| {
            if null.is_empty() {
                return Err(Error::data("a null list would read back as an empty one").help("choose a string for null: --nulls NA"));
            }
            out.extend_from_slice(null.as_bytes());
            Ok(())
        };
        Ok(match tensor {
            Tensor::Leaf(array) => {
                let (put, is_null_type) = (texts(array, is_uuid)?, array.data_type() == &DataType::Null);
                Box::new(move |row, out| {
                    if is_null_type || is_null(row) {
                        out.extend_from_slice(null.as_bytes());
                        return Ok(());
                    }
                    let start = out.len();
                    put(row, out)?;
                    self.check_word(&out[start..])
                })
            }
            Tensor::List(list) => {
                let items = list.values().as_leaf()?;
                let (put, nulls) = (texts(items, is_uuid)?, list.values().validity());
                Box::new(move |row, out| {
                    if is_null(row) {
                        return null_list(out);
                    }
                    let start = out.len();
                    let own = list.partition().range(row);
                    for (number, at) in own.clone().enumerate() {
                        if number > 0 {
                            out.push(separator);
                        }
                        let item = out.len();
                        if items.data_type() == &DataType::Null || nulls.as_ref().is_some_and(|v| v.is_null(at)) {
                            out.extend_from_slice(null.as_bytes());
                            continue;
                        }
                        put(at, out)?;
                        self.check_word(&out[item..])?;
                        if memchr::memchr(separator, &out[item..]).is_some() {
                            return Err(Error::data("an item contains the character that separates items")
                                .help("choose another: --list-separator ';'"));
                        }
                    }
                    if own.len() == 1 && (out.len() == start || dialect.is_null(&out[start..])) {
                        return Err(Error::data("a list of one item that is empty or null would read back as an empty list or null")
                            .help("use --to jsonl"));
                    }
                    Ok(())
                })
            }
            Tensor::Sparse(sparse) => {
                let put = texts(sparse.values(), false)?;
                Box::new(move |row, out| {
                    if is_null(row) {
                        return null_list(out);
                    }
                    for (number, entry) in sparse.entries().range(row).enumerate() {
                        if number > 0 {
                            out.push(separator);
                        }
                        put_integer(sparse.indices()[entry], out);
                        out.push(b':');
                        put(entry, out)?;
                    }
                    Ok(())
                })
            }
            Tensor::Struct(_) => return Err(Error::internal("a column of structures")),
        })
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
        let fields = chunk.columns.iter().zip(&self.schema.fields);
        let columns = fields.map(|(column, field)| self.column(column, field.is_uuid())).collect::<Result<Vec<_>>>()?;
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
        let (mut out, mut cell) = (Vec::with_capacity(chunk.nbytes()), Vec::new());
        for row in 0..chunk.nrows {
            for (number, put) in columns.iter().enumerate() {
                if number > 0 {
                    out.push(self.dialect.delimiter);
                }
                cell.clear();
                put(row, &mut cell).map_err(|e| e.at_row(row).in_field(quoted(&self.schema.fields[number].name)))?;
                self.dialect.quote(&cell, columns.len() == 1, &mut out);
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
                    "{name}: no list has more than one item, so nothing in the file shows that it has lists: read it with --schema {schema}"
                );
                self.options.notices.add(text, self.options.strict)?;
            }
        }
        Ok(())
    }
}
