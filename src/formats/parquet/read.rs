//! Reads row groups, or ranges of their rows, as tasks.

use super::failure::damaged;
use super::measure::Measures;
use super::opened::Opened;
use super::ranges::{RowRange, RowRanges};
use super::row_groups;
use super::sizes::Limits;
use crate::chunk::{Chunk, Decoded, Origin, Rows};
use crate::demand::RecordNumbers;
use crate::error::{Error, Result};
use crate::formats::columnar::adapt::{Columns, DecodedRows, chosen, inferred};
use crate::formats::columnar::contain::contain;
use crate::formats::columnar::names;
use crate::formats::columnar::source::Source;
use crate::formats::format::{Inference, Numbered, Reader, Request, Task, Tasks};
use crate::io::Input;
use crate::schema::Schema;
use arrow_array::{Array, ArrayRef};
use parquet::arrow::{FieldLevels, ProjectionMask};
use std::sync::Arc;

/// If at least 1 in this many rows is required, all rows are decoded.
const DENSE: u64 = 16;

/// Reads one Parquet file.
pub struct ParquetReader {
    input: Arc<Input>,
    opened: Option<Arc<Opened>>,
}

impl ParquetReader {
    pub fn new(input: Arc<Input>) -> ParquetReader {
        ParquetReader { input, opened: None }
    }

    fn opened(&mut self) -> Result<Arc<Opened>> {
        if let Some(opened) = &self.opened {
            return Ok(opened.clone());
        }
        let name = self.input.name().clone();
        let source = self.input.file().and_then(|file| Source::new(file).map_err(|e| Error::io(&name, "cannot read", &e)))?;
        let opened = contain("the Parquet footer", || Opened::new(name.clone(), source)).map_err(|e| e.in_input(name.clone()))?;
        Ok(self.opened.insert(Arc::new(opened)).clone())
    }
}

impl Reader for ParquetReader {
    fn infer(&mut self, request: &Request) -> Result<Inference> {
        let opened = self.opened()?;
        names::announce(&opened.name, &opened.renamed, &request.options)?;
        if let Some(why) = &opened.unusable_schema {
            // The library prints where in the message it is.
            let why = if why.contains("Utf8Error") { "its metadata is not valid UTF-8" } else { why };
            let text = format!("the stored Arrow schema is ignored, and the Parquet types are used: {why}");
            request.options.notices.add_about(&opened.name, text, request.options.strict)?;
        }
        let found = Schema::with_facts(opened.fields.clone(), opened.facts.clone());
        inferred(request, found)
    }

    fn numbered(&mut self, _: &Request) -> Result<Option<Numbered>> {
        if !self.input.is_regular() {
            return Ok(None);
        }
        let opened = self.opened()?;
        let nrecords = opened.rows.iter().sum();
        let nread = u64::div_ceil(nrecords, (opened.rows.len() as u64).max(1)).max(1);
        let by = format!("the footer of {}", opened.name).into();
        Ok(Some(Numbered { nrecords, nread, nbytes: opened.source.nbytes(), by }))
    }

    fn read(&mut self, schema: &Arc<Schema>, request: &Request) -> Result<Tasks<Decoded>> {
        let opened = self.opened()?;
        let columns = Columns::plan(&opened.decoded, schema, request).map_err(|e| e.in_input(opened.name.clone()))?;
        opened.check_readable(columns.roots())?;
        opened.remarks(columns.roots()).try_for_each(|text| request.options.notices.add(text, request.options.strict))?;
        let mask = ProjectionMask::roots(opened.metadata.parquet_schema(), columns.roots().iter().copied());
        let levels = row_groups::levels(&opened.metadata, mask.clone())?;
        let ranges = RowRanges::new(opened.clone(), mask, columns.roots(), request);
        let limits = Limits::new(&request.options);
        let decode = Arc::new(Decode { opened, columns, levels, limits });
        Ok(Box::new(ranges.map(move |rows| {
            let (rows, decode) = (rows?, decode.clone());
            Ok(Box::new(move || decode.rows(rows)) as Task<Decoded>)
        })))
    }
}

struct Decode {
    opened: Arc<Opened>,
    columns: Columns,
    levels: FieldLevels,
    limits: Limits,
}

impl Decode {
    fn rows(&self, rows: RowRange) -> Result<Decoded> {
        let nbytes = rows.nbytes;
        let size = |n: u64| usize::try_from(n).map_err(|_| Error::data("a row group has too many rows"));
        let all = (size(rows.nrows)?, Origin::consecutive(self.opened.name.clone(), rows.first + 1));
        let Some(only) = &rows.only else { return self.block(rows, DecodedRows::new(all.0, all.1, nbytes), None) };
        let wanted = RecordNumbers::ascending(only.iter().map(|number| rows.first + number));
        if rows.shared.is_some() || only.count() >= rows.nrows / DENSE {
            let block = DecodedRows::new(all.0, all.1, nbytes);
            return chosen(self.block(RowRange { only: None, ..rows }, block, Some(&wanted))?, &wanted);
        }
        let records: Arc<[u64]> = wanted.iter().collect();
        let (n, origin) = (records.len(), Origin::new(self.opened.name.clone(), Rows::Listed(records)));
        self.block(rows, DecodedRows::new(n, origin, nbytes), Some(&wanted))
    }

    fn block(&self, rows: RowRange, block: DecodedRows, wanted: Option<&RecordNumbers>) -> Result<Decoded> {
        if self.columns.roots().is_empty() {
            return self.columns.decoded_arrays(block, &[], &[]);
        }
        let (origin, nrows) = (block.origin.clone(), block.nrows);
        let resolve = |e| origin.resolve(e, nrows);
        let (decoded, large) = contain("the Parquet data", || self.decode(rows, block)).map_err(resolve)?;
        let is_wanted = |number: u64| wanted.is_none_or(|wanted| wanted.contains(number));
        let large = large.into_iter().map(resolve).filter(|e| e.location().records.is_none_or(|(number, _)| is_wanted(number)));
        self.columns.without(decoded, large.collect())
    }

    /// The measures of the groups of a range, each with the number of its rows in the range.
    fn measures(&self, rows: &RowRange) -> Result<Vec<(Measures, usize)>> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let (mut measures, mut before) = (Vec::new(), 0);
        for group in rows.groups.clone() {
            let nrows = (self.opened.rows[group] - rows.skip).min(rows.nrows - before);
            if let Some((_, suspects)) = rows.suspects.iter().find(|(at, _)| *at == group) {
                let first = rows.first + before - rows.skip;
                let new = Measures::new(self.opened.clone(), (group, first), size(rows.skip), suspects.to_vec(), self.limits)?;
                measures.push((new, size(nrows)));
            }
            before += nrows;
        }
        Ok(measures)
    }

    /// The rows of a range, or those required, and an error for each of its records that exceeds the limit.
    fn decode(&self, rows: RowRange, block: DecodedRows) -> Result<(Decoded, Vec<Error>)> {
        let nrows = block.nrows;
        if let Some((lanes, range)) = &rows.shared {
            let (arrays, large) = lanes.take(*range)?;
            if arrays.iter().any(|array| array.len() < nrows) {
                return Err(Error::data(format!("the file has fewer rows than the {nrows} in its footer")));
            }
            let arrays: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(0, nrows)).collect();
            return Ok((self.columns.decoded_arrays(block, &arrays, &self.opened.arrow)?, large));
        }
        let mut measures = self.measures(&rows)?;
        measures.iter_mut().try_for_each(|(measures, nrows)| measures.before(*nrows))?;
        let all = rows.groups.clone().map(|group| self.opened.rows[group]).fold(0, u64::saturating_add);
        let selection = (rows.only.is_some() || rows.skip > 0 || rows.nrows < all).then(|| rows.selection()).transpose()?;
        let reader = row_groups::reader(&self.opened, rows.groups.clone().collect(), &self.levels, nrows, selection)?;
        let (mut parts, mut faults) = (Vec::new(), Vec::new());
        let (mut seen, mut nbytes) = (0usize, 0usize);
        for batch in reader {
            let batch = batch.map_err(|e| damaged(&e.to_string()))?;
            let arrays = self.opened.arrays(&batch)?;
            let start = seen;
            nbytes += batch.get_array_memory_size();
            seen += batch.num_rows();
            if seen > nrows {
                break;
            }
            let part = DecodedRows::new(batch.num_rows(), block.origin.slice(start, batch.num_rows()), 0);
            let decoded = self.columns.decoded_arrays(part, &arrays, &self.opened.arrow)?;
            parts.push(decoded.chunk);
            faults.extend(decoded.faults);
        }
        let large = measures.iter_mut().map(|(measures, nrows)| measures.after(*nrows, nbytes)).collect::<Result<Vec<_>>>()?.concat();
        if seen != nrows {
            return Err(Error::data(format!("the file has {seen} rows, but its footer claims {nrows}")));
        }
        let chunk = if parts.is_empty() { self.columns.empty(block.origin)? } else { Chunk::concat(&parts)? };
        Ok((Decoded { chunk, faults, nbytes: block.nbytes, offsets: block.offsets }, large))
    }
}
