//! Writes rows as entries, in row order. The line of sizes comes first but is known only at the end, so the entries are
//! spooled.

use crate::chunk::Chunk;
use crate::decimal::put_integer;
use crate::error::{Error, Result};
use crate::formats::appending::{Append, appending};
use crate::formats::arrays::spool::Spool;
use crate::formats::dense_shape;
use crate::formats::format::{Encode, Encoded, Writer};
use crate::formats::matrix::value::NumberTexts;
use crate::formats::matrix::write::the_sparse_field;
use crate::options::Options;
use crate::path::quoted;
use crate::printable::shell_word;
use crate::schema::filling::null_refused;
use crate::schema::{DType, Element, Field, Schema, Size};
use crate::tensor::{Sparse, Tensor};
use arrow_array::cast::AsArray;
use arrow_buffer::Buffer;
use std::io::Write;
use std::sync::Arc;

struct EntryEncoder {
    field: Field,
    is_pattern: bool,
    is_complex: bool,
}

/// The entries of some rows, with `column value` on each line. The row is known from the order.
struct Entries {
    lengths: Vec<usize>,
    ncolumns: i64,
    text: Vec<u8>,
}

/// Spools entries until their number is known.
struct EntrySpool {
    spool: Spool,
    field: &'static str,
    ncolumns: i64,
    nrows: u64,
    nentries: u64,
}

/// The parts of a complex matrix, if the field is one.
fn complex_part(schema: &Schema) -> Option<&Field> {
    let [field] = schema.fields.as_slice() else { return None };
    match field.ty.fields()? {
        [real, imag] if field.ty.dims.is_empty() && real.name == "real" && imag.name == "imag" && real.ty == imag.ty => {
            (real.ty.dtype() == Some(&DType::Float64) && real.ty.is_sparse() && real.ty.rank() == 1).then_some(real)
        }
        _ => None,
    }
}

/// # Errors
/// The records are not a single sparse field.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    let complex = complex_part(schema);
    let part = match complex {
        Some(real) => real,
        None => the_sparse_field(schema, "matrix-market")?,
    };
    dense_shape::note(part, "matrix-market", options)?;
    let Element::Sparse(dtype) = &part.ty.element else { return Err(Error::internal("a sparse field that is not sparse")) };
    let ncolumns = match part.ty.dims.first().map(|dim| dim.size) {
        Some(Size::Known(n)) => i64::try_from(n).unwrap_or(0),
        _ => 0,
    };
    let says = match dtype {
        _ if complex.is_some() => "complex",
        DType::Bool => "pattern",
        DType::UInt64 => "unsigned-integer",
        dtype if dtype.is_integer() => "integer",
        _ => "real",
    };
    let field = schema.fields.first().cloned().ok_or_else(|| Error::internal("a sparse field that is not there"))?;
    let encoder = Arc::new(EntryEncoder { field, is_pattern: *dtype == DType::Bool, is_complex: complex.is_some() });
    Ok(appending(encoder, EntrySpool { spool: Spool::new(1, options), field: says, ncolumns, nrows: 0, nentries: 0 }))
}

impl EntryEncoder {
    fn parts<'a>(&self, column: &'a Tensor) -> Result<(&'a Sparse, Option<&'a Sparse>)> {
        match column {
            Tensor::Sparse(sparse) if !self.is_complex => Ok((sparse, None)),
            Tensor::Struct(parts) => match parts.fields() {
                [Tensor::Sparse(real), Tensor::Sparse(imag)] => Ok((real, Some(imag))),
                _ => Err(Error::internal("a complex matrix without its parts")),
            },
            _ => Err(Error::internal("a column that is not sparse")),
        }
    }

    fn check(&self, column: &Tensor, real: &Sparse, imag: Option<&Sparse>) -> Result<()> {
        if let Some(row) = column.first_null_row() {
            return Err(null_refused("a matrix", &self.field, row));
        }
        if let Some(imag) = imag
            && let Some(row) = (0..real.nrows()).find(|row| {
                let (a, b) = (real.entries().range(*row), imag.entries().range(*row));
                real.indices()[a] != imag.indices()[b]
            })
        {
            return Err(Error::data("the real and the imaginary parts have different indices").at_row(row));
        }
        if self.is_pattern
            && let Some(at) = real.values().as_boolean().values().iter().position(|value| !value)
        {
            let row = crate::tensor::row_of(real.entries(), at);
            return Err(Error::data("a pattern matrix can contain only True values, but one is False")
                .at_row(row)
                .help(format!("write numbers: cast {}", shell_word(&format!("{}=int8", quoted(&self.field.name))))));
        }
        Ok(())
    }
}

impl Encode for EntryEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let column = chunk.columns.first().ok_or_else(|| Error::internal("a column is missing"))?;
        let (real, imag) = self.parts(column)?;
        self.check(column, real, imag).map_err(|e| e.in_field(quoted(&self.field.name)))?;
        let values = NumberTexts::of(real.values())?;
        let imaginary = imag.map(|imag| NumberTexts::of(imag.values())).transpose()?;
        let mut text = Vec::with_capacity(16 * real.indices().len());
        for row in 0..chunk.nrows {
            for entry in real.entries().range(row) {
                let index = real.indices()[entry].checked_add(1);
                put_integer(index.ok_or_else(|| Error::data("an index does not fit in 63 bits").at_row(row))?, &mut text);
                if !self.is_pattern {
                    text.push(b' ');
                    values.put(entry, &mut text);
                }
                if let Some(imaginary) = &imaginary {
                    text.push(b' ');
                    imaginary.put(entry, &mut text);
                }
                text.push(b'\n');
            }
        }
        let lengths = real.entries().row_lengths().collect();
        Ok(Box::new(Entries { lengths, ncolumns: real.dense_shape().iter().copied().max().unwrap_or(0), text }))
    }
}

impl Append for EntrySpool {
    type Piece = Entries;

    fn append(&mut self, entries: Entries, _: &mut dyn Write) -> Result<()> {
        let mut lines = entries.text.split_inclusive(|b| *b == b'\n');
        let mut text = Vec::with_capacity(entries.text.len() * 3 / 2);
        for length in entries.lengths {
            self.nrows += 1;
            self.nentries += length as u64;
            for line in lines.by_ref().take(length) {
                put_integer(self.nrows, &mut text);
                text.push(b' ');
                text.extend_from_slice(line);
            }
        }
        self.ncolumns = self.ncolumns.max(entries.ncolumns);
        self.spool.push(0, Buffer::from_vec(text))
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        let head = format!("%%MatrixMarket matrix coordinate {} general\n{} {} {}\n", self.field, self.nrows, self.ncolumns, self.nentries);
        out.write_all(head.as_bytes()).map_err(Error::output)?;
        self.spool.copy(0, out)
    }
}
