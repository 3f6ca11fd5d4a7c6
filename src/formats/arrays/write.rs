//! Joins pieces of arrays and writes them as one file at the end.

use super::container::Container;
use super::embedded::EmbeddedSchema;
use super::encode::{ArrayPiece, ArraysEncoder, Pieces};
use super::finished::Finished;
use super::numbers::little_endian;
use super::spool::Spool;
use super::stored::StoredSchema;
use crate::error::{Error, Result};
use crate::formats::appending::{Append, appending};
use crate::formats::format::Writer;
use crate::options::Options;
use crate::schema::Schema;
use crate::schema::arrays::Stacking;
use arrow_buffer::Buffer;
use std::io::Write;
use std::sync::Arc;

/// Spools the arrays of one file until their shapes are known.
struct ArraySpool<C> {
    container: C,
    layout: Arc<StoredSchema>,
    embedded: EmbeddedSchema,
    /// The state of each array so far.
    grown: Vec<Grown>,
    spool: Spool,
    nrecords: u64,
}

#[derive(Clone)]
struct Grown {
    shape: Option<Vec<u64>>,
    crc: crc32fast::Hasher,
    /// The end of the last row, and the accumulated shape.
    numbers: Vec<i64>,
}

/// A writer of one file of arrays.
///
/// # Errors
/// Usage errors: a field that arrays or the container cannot represent.
pub fn writer<C: Container>(container: C, schema: &Arc<Schema>, stacking: Stacking, options: &Options) -> Result<Box<dyn Writer>> {
    let layout = Arc::new(StoredSchema::of(schema, stacking)?);
    container.check(&layout)?;
    if let Some(key) = C::SCHEMA_KEY {
        let taken = schema.facts.metadata.contains_key(key).then_some((key, "uses the key under which the schema is stored"));
        let dropped = schema.facts.dropped.iter().map(|(key, why)| (key.as_str(), *why));
        for (key, why) in dropped.chain(taken) {
            options.notices.add(format!("the metadata `{key}` was dropped: it {why}"), options.strict)?;
        }
    }
    let grown = layout.arrays.iter().map(|spec| Grown { shape: None, crc: crc32fast::Hasher::new(), numbers: spec.initial.clone() });
    let arrays = ArraySpool {
        container,
        embedded: EmbeddedSchema { stacking, schema: schema.as_ref().clone() },
        grown: grown.collect(),
        spool: Spool::new(layout.arrays.len(), options),
        layout: layout.clone(),
        nrecords: 0,
    };
    Ok(appending(Arc::new(ArraysEncoder { schema: schema.clone(), layout, checksums: C::CHECKSUMS }), arrays))
}

impl<C: Container> ArraySpool<C> {
    fn push(&mut self, array: usize, piece: ArrayPiece) -> Result<()> {
        let Some(grown) = self.grown.get_mut(array) else {
            return Err(Error::internal("more pieces than arrays"));
        };
        let numbers = match piece {
            ArrayPiece::Values { bytes, shape, crc } => {
                grown.grow(&shape)?;
                if let Some(crc) = crc {
                    grown.crc.combine(&crc);
                }
                return self.spool.push(array, bytes);
            }
            ArrayPiece::Ends(mut ends) => {
                let first = grown.shape.is_none();
                let base = grown.numbers.first().copied().unwrap_or(0);
                ends.iter_mut().for_each(|end| *end += base);
                if let Some(last) = ends.last() {
                    grown.numbers = vec![*last];
                }
                if first {
                    ends.insert(0, 0);
                }
                grown.grow(&[ends.len() as u64])?;
                ends
            }
            ArrayPiece::Indices { mut values, width } => {
                let base = i64::try_from(self.nrecords).map_err(|_| Error::data("the number of records does not fit in 63 bits"))?;
                values.chunks_exact_mut(width).for_each(|index| index[0] += base);
                grown.grow(&[(values.len() / width) as u64, width as u64])?;
                values
            }
            ArrayPiece::Shape(shape) => {
                for (axis, (all, own)) in grown.numbers.iter_mut().zip(shape).enumerate() {
                    *all = if axis == 0 && self.embedded.stacking == Stacking::Records { *all + own } else { own.max(*all) };
                }
                return Ok(());
            }
        };
        let bytes = little_endian(Buffer::from_vec(numbers), 8);
        if C::CHECKSUMS {
            grown.crc.update(&bytes);
        }
        self.spool.push(array, bytes)
    }

    /// Arrays that no piece has provided: accumulated shapes, and the contents of arrays for zero records.
    fn complete(&mut self) -> Result<Vec<Finished>> {
        let layout = self.layout.clone();
        let mut finished = Vec::with_capacity(layout.arrays.len());
        for (array, spec) in layout.arrays.iter().enumerate() {
            let Some(grown) = self.grown.get_mut(array) else { continue };
            let shape = match grown.shape.take() {
                Some(shape) => shape,
                None => {
                    let bytes = little_endian(Buffer::from_vec(grown.numbers.clone()), 8);
                    if C::CHECKSUMS {
                        grown.crc.update(&bytes);
                    }
                    self.spool.push(array, bytes)?;
                    spec.empty.clone()
                }
            };
            let nbytes = self.spool.nbytes(array);
            let crc = grown.crc.clone();
            finished.push(Finished { name: spec.name.clone(), element: spec.element.clone(), shape, nbytes, crc });
        }
        Ok(finished)
    }
}

impl Grown {
    fn grow(&mut self, by: &[u64]) -> Result<()> {
        match &mut self.shape {
            None => self.shape = Some(by.to_vec()),
            Some(shape) => match (shape.split_first_mut(), by.split_first()) {
                (Some((rows, tail)), Some((more, own))) if tail == own => *rows += more,
                _ => return Err(Error::internal("pieces of different shapes")),
            },
        }
        Ok(())
    }
}

impl<C: Container> Append for ArraySpool<C> {
    type Piece = Pieces;

    fn append(&mut self, pieces: Pieces, _: &mut dyn Write) -> Result<()> {
        let nrecords = pieces.nrecords;
        for (array, piece) in pieces.pieces.into_iter().enumerate() {
            self.push(array, piece)?;
        }
        self.nrecords += nrecords;
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        let finished = self.complete()?;
        self.container.write(&finished, &self.embedded, &mut self.spool, out)
    }
}
