//! Decodes a record batch, or a range of its rows.

use super::below_nulls;
use super::divided::Divided;
use super::known::{Dictionaries, Known, unexpected};
use super::message::Framed;
use crate::chunk::{Decoded, Origin};
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::{self, Columns, DecodedRows};
use crate::formats::columnar::contain::contain;
use crate::path::quoted;
use crate::tensor::arrow::expanded_nbytes;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_schema::{DECIMAL128_MAX_PRECISION, SchemaRef};
use std::sync::Arc;

/// A record batch to be decoded, or a range of its rows.
#[derive(Clone)]
pub struct Batch {
    pub known: Arc<Known>,
    pub columns: Arc<Columns>,
    pub framed: Framed,
    pub dictionaries: Arc<Dictionaries>,
    /// The number of rows in the whole batch.
    pub nrows: u64,
    /// The number of parts into which it is divided.
    pub nparts: u64,
    /// What the parts share, if there are several.
    pub divided: Option<Arc<Divided>>,
    /// The most bytes of a part once each row has its own values.
    pub most: u64,
    /// `--max-record-bytes`.
    pub record_bytes: u64,
}

impl Batch {
    /// Rows `start .. start + nrows` of the batch, which are the records from `first` (counted from 0).
    pub fn decode(&self, start: u64, nrows: u64, first: u64, nbytes: u64) -> Result<Decoded> {
        let origin = Origin::consecutive(self.known.name.clone(), first + 1);
        let count = usize::try_from(nrows).map_err(|_| Error::data("a record batch has too many rows"))?;
        let roots = self.columns.roots();
        if roots.is_empty() {
            // Without columns to decode, nothing else confirms the number of rows.
            let message = self.framed.message()?;
            let nodes = message.header_as_record_batch().and_then(|header| header.nodes());
            if let Some(node) = nodes.and_then(|nodes| nodes.iter().next())
                && u64::try_from(node.length()).ok() != Some(self.nrows)
            {
                return Err(origin.resolve(Error::data(format!("a record batch of {} rows claims {}", node.length(), self.nrows)), count));
            }
            return self.columns.decoded_arrays(DecodedRows::new(count, origin, nbytes), &[], &[]);
        }
        let named = origin.clone();
        let decoded = contain("a record batch", || {
            let start = usize::try_from(start).map_err(|_| Error::data("a record batch has too many rows"))?;
            // A row of the whole batch.
            let record = |row: usize| first + 1 + (row as u64) - (start as u64);
            let located = |e: Error| e.locate(|at| at.records = at.row.take().map(|row| (record(row), record(row))).or(at.records));
            let arrays = self.shared(start / count.max(1)).map_err(located)?;
            let arrays: Vec<ArrayRef> = arrays.iter().map(|c| c.slice(start, count)).collect();
            if let Some(error) = self.too_large(&arrays) {
                return match count {
                    1 => self.columns.rejected(DecodedRows::new(1, origin.clone(), nbytes), origin.resolve(error, 1)),
                    _ => Err(error),
                };
            }
            let decoded = self.columns.decoded_arrays(DecodedRows::new(count, origin, nbytes), &arrays, &self.known.arrow)?;
            self.columns.limited(decoded)
        });
        decoded.map_err(|e| named.resolve(e, count))
    }

    /// All columns, whole; for one of the parts that share them.
    pub fn shared(&self, part: usize) -> Result<Vec<ArrayRef>> {
        match &self.divided {
            Some(divided) => divided.arrays(part, |roots| contain("a record batch", || self.arrays(roots))),
            None => self.arrays(self.columns.roots()),
        }
    }

    /// The columns `roots`, whole.
    fn arrays(&self, roots: &[usize]) -> Result<Vec<ArrayRef>> {
        let message = self.framed.message()?;
        let version: MetadataVersion = message.version();
        let header = message.header_as_record_batch().ok_or_else(|| Error::data("a record batch has no header"))?;
        let body = self.framed.load()?;
        let read = |schema: SchemaRef| {
            RecordBatchDecoder::try_new(&body, header, schema, &self.dictionaries.by_id, &version)
                .and_then(|decoder| decoder.with_projection(Some(roots)).read_record_batch())
                .map_err(unexpected)
        };
        let batch = match read(self.known.schema.clone()) {
            Ok(batch) => batch,
            Err(error) => {
                let Ok(unchecked) = read(below_nulls::unchecked(&self.known.schema)) else { return Err(error) };
                self.visible(roots, &unchecked)?
            }
        };
        if batch.num_rows() as u64 != self.nrows {
            return Err(Error::data(format!("a record batch of {} rows claims {}", batch.num_rows(), self.nrows)));
        }
        for (root, array) in roots.iter().zip(batch.columns()).filter(|(root, _)| self.known.decimals.contains(root)) {
            let numbers = array.as_primitive::<Decimal128Type>();
            numbers.validate_decimal_precision(DECIMAL128_MAX_PRECISION).map_err(|_| {
                let error = Error::data("an int128 has more than the 38 digits of a decimal128");
                error.in_field(quoted(&self.known.fields[*root].name))
            })?;
        }
        Ok(batch.columns().to_vec())
    }

    /// A batch of the columns `roots` that was decoded unchecked, with the values that nulls leave visible.
    fn visible(&self, roots: &[usize], unchecked: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.known.schema.project(roots).map_err(unexpected)?;
        let checked = below_nulls::Checked { dictionaries: &self.dictionaries.by_id };
        let column = |(root, array): (&usize, &ArrayRef)| {
            let (field, name) = (self.known.schema.field(*root), &self.known.fields[*root].name);
            checked.array(array, field, None).map_err(|e| e.within(quoted(name)))
        };
        let columns = roots.iter().zip(unchecked.columns()).map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(unchecked.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(unexpected)
    }

    /// The error if the rows of the columns take too much memory once each has its own values.
    fn too_large(&self, arrays: &[ArrayRef]) -> Option<Error> {
        let nrows = arrays.first().map_or(0, |array| array.len());
        let limit = if nrows == 1 { self.record_bytes } else { self.most };
        // A list that is null may have items, which are not read.
        let nbytes = |array: &ArrayRef| if nrows == 1 && array.is_null(0) { 0 } else { expanded_nbytes(array) };
        let column = arrays.iter().map(nbytes).enumerate().find(|(_, nbytes)| *nbytes > limit);
        let (place, nbytes) = column?;
        let name = self.columns.roots().get(place).map_or(String::new(), |root| quoted(&self.known.fields[*root].name));
        let error = match nrows {
            1 => adapt::too_large(nbytes, limit).at_row(0),
            _ => Error::data(format!(
                "the values of {nrows} records take {nbytes} bytes, more than the limit of {limit} for a part of a record batch"
            ))
            .help("drop the column, raise the limit with --max-memory, or write the data in smaller record batches"),
        };
        Some(error.in_field(name))
    }
}
