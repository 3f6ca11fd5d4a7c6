//! Writes rows as CSR: `indptr`, `indices` and `data` grow side by side and are written at the end.

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::formats::appending::{Append, appending};
use crate::formats::arrays::archive::SUFFIX;
use crate::formats::arrays::element::{Element, ElementKind};
use crate::formats::arrays::npy_header::Header;
use crate::formats::arrays::numbers::bytes_of;
use crate::formats::arrays::spool::Spool;
use crate::formats::arrays::zip::Archive;
use crate::formats::dense_shape;
use crate::formats::format::{Encode, Encoded, Writer};
use crate::formats::matrix::write::the_sparse_field;
use crate::options::Options;
use crate::schema::filling::null_refused;
use crate::schema::{DType, Field, Schema, Size};
use crate::tensor::Tensor;
use arrow_buffer::Buffer;
use std::io::Write;
use std::sync::Arc;

/// The growing arrays, by their index in the spool.
const INDICES: usize = 0;
const INDPTR: usize = 1;
const DATA: usize = 2;

struct CsrEncoder {
    field: Field,
}

/// Encoded rows: lengths, indices and values.
struct EncodedRows {
    lengths: Vec<i64>,
    ncolumns: i64,
    indices: Buffer,
    values: Buffer,
}

/// Spools the arrays until their lengths are known.
struct CsrSpool {
    dtype: DType,
    spool: Spool,
    /// The number of columns, if the type gives it.
    known: Option<i64>,
    ncolumns: i64,
    nrows: u64,
    nentries: i64,
}

/// # Errors
/// The records are not a single sparse field.
pub fn writer(schema: &Arc<Schema>, options: &Options) -> Result<Box<dyn Writer>> {
    let field = the_sparse_field(schema, "scipy")?;
    dense_shape::note(field, "scipy", options)?;
    let dtype = field.ty.dtype().cloned().unwrap_or(DType::Null);
    let known = match field.ty.dims.first().map(|dim| dim.size) {
        Some(Size::Known(n)) => i64::try_from(n).ok(),
        _ => None,
    };
    let spool = CsrSpool { dtype, spool: Spool::new(3, options), known, ncolumns: known.unwrap_or(0), nrows: 0, nentries: 0 };
    Ok(appending(Arc::new(CsrEncoder { field: field.clone() }), spool))
}

impl Encode for CsrEncoder {
    fn encode(&self, chunk: Chunk) -> Result<Encoded> {
        let Some(Tensor::Sparse(sparse)) = chunk.columns.first() else {
            return Err(Error::internal("a column that is not sparse"));
        };
        if let Some(row) = chunk.columns.first().and_then(Tensor::first_null_row) {
            return Err(null_refused("a matrix", &self.field, row));
        }
        let values = bytes_of(sparse.values())?;
        let indices = Buffer::from_vec(sparse.indices().to_vec());
        let lengths = sparse.entries().row_lengths().map(|n| n as i64).collect();
        let ncolumns = sparse.dense_shape().iter().copied().max().unwrap_or(0);
        Ok(Box::new(EncodedRows { lengths, ncolumns, indices, values }))
    }
}

impl CsrSpool {
    /// Whether all indices fit in 32 bits, which must be known in advance.
    fn is_narrow(&self) -> bool {
        self.known.is_some_and(|n| i32::try_from(n).is_ok())
    }
}

impl Append for CsrSpool {
    type Piece = EncodedRows;

    fn begin(&mut self, _: &mut dyn Write) -> Result<()> {
        self.spool.push(INDPTR, Buffer::from_vec(vec![0i64]))
    }

    fn append(&mut self, rows: EncodedRows, _: &mut dyn Write) -> Result<()> {
        let mut ends = rows.lengths;
        for end in &mut ends {
            self.nentries += *end;
            *end = self.nentries;
        }
        self.nrows += ends.len() as u64;
        self.ncolumns = self.ncolumns.max(rows.ncolumns);
        self.spool.push(INDPTR, Buffer::from_vec(ends))?;
        let indices = match self.is_narrow() {
            true => Buffer::from_vec(rows.indices.typed_data::<i64>().iter().map(|i| *i as i32).collect::<Vec<i32>>()),
            false => rows.indices,
        };
        self.spool.push(INDICES, indices)?;
        self.spool.push(DATA, rows.values)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        let mut archive = Archive::new(out);
        let number = |dtype: DType| Element::number(dtype);
        let indices = number(if self.is_narrow() { DType::Int32 } else { DType::Int64 });
        let nentries = self.nentries as u64;
        let shape: Vec<u8> = [self.nrows as i64, self.ncolumns].iter().flat_map(|n| n.to_le_bytes()).collect();
        let csr = Element { kind: ElementKind::ByteString(3), big_endian: false };
        let grown = [("indices", INDICES, indices, nentries), ("indptr", INDPTR, number(DType::Int64), self.nrows + 1)];
        for (name, array, element, length) in grown.into_iter().chain([("data", DATA, number(self.dtype.clone()), nentries)]) {
            member(&mut archive, name, element, vec![length], Body::Spooled(&mut self.spool, array))?;
        }
        member(&mut archive, "format", csr, Vec::new(), Body::Bytes(b"csr"))?;
        member(&mut archive, "shape", number(DType::Int64), vec![2], Body::Bytes(&shape))?;
        archive.finish("")
    }
}

enum Body<'a> {
    Bytes(&'a [u8]),
    Spooled(&'a mut Spool, usize),
}

/// Returns the sum of the bytes and discards them.
struct Sum(crc32fast::Hasher);

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn member(archive: &mut Archive, name: &str, element: Element, shape: Vec<u64>, mut body: Body) -> Result<()> {
    let header = Header { element, fortran: false, shape }.bytes();
    let mut sum = Sum(crc32fast::Hasher::new());
    sum.0.update(&header);
    let nbytes = match &mut body {
        Body::Bytes(bytes) => {
            sum.0.update(bytes);
            bytes.len() as u64
        }
        Body::Spooled(spool, array) => {
            spool.copy(*array, &mut sum)?;
            spool.nbytes(*array)
        }
    };
    archive.member(&format!("{name}{SUFFIX}"), header.len() as u64 + nbytes, sum.0.finalize(), |out| {
        out.write_all(&header).map_err(Error::output)?;
        match body {
            Body::Bytes(bytes) => out.write_all(bytes).map_err(Error::output),
            Body::Spooled(spool, array) => spool.copy(array, out),
        }
    })
}
