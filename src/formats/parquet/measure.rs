//! Measures the records of columns in which one may exceed the limit.
//!
//! How many of a column's values belong to one record is known only from its repetition levels. A column is measured
//! by a second reader, which reads values as references into their pages: before rows are decoded if one of them might
//! not fit in memory, otherwise only if they turn out to be large. A record that exceeds the limit is a bad record.

use super::failure::lifted;
use super::opened::Opened;
use super::sizes::{Limits, Suspect};
use crate::error::{Error, Result};
use crate::path::quoted;
use crate::tensor::arrow::LEAST;
use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// About as many values are read at a time, unless a record has more.
const BLOCK_VALUES: u64 = 1 << 14;

/// The suspects among the columns that are decoded together.
pub struct Measures {
    opened: Arc<Opened>,
    group: usize,
    /// The number of the group's first record, from 0.
    first: u64,
    limits: Limits,
    suspects: Vec<Suspect>,
    /// One for each dangerous suspect.
    before: Vec<Measure>,
    /// The errors for the next rows.
    large: Vec<Error>,
    /// The next row of the group.
    at: usize,
}

impl Measures {
    /// Starts at row `at` of a row group whose first record is number `first` from 0.
    ///
    /// # Errors
    /// A page is damaged.
    pub fn new(opened: Arc<Opened>, (group, first): (usize, u64), at: usize, suspects: Vec<Suspect>, limits: Limits) -> Result<Measures> {
        let dangerous = suspects.iter().filter(|suspect| suspect.is_dangerous);
        let before = dangerous.map(|suspect| Measure::new(&opened, group, suspect.leaf, at, limits)).collect::<Result<_>>()?;
        Ok(Measures { opened, group, first, limits, suspects, before, large: Vec::new(), at })
    }

    /// Checks the next rows, which are decoded then.
    ///
    /// # Errors
    /// A record exceeds the limit and might not fit in memory. A page is damaged.
    pub fn before(&mut self, nrows: usize) -> Result<()> {
        let first = self.first + self.at as u64;
        for measure in &mut self.before {
            let found = measure.check(nrows)?;
            if let Some(large) = found.iter().find(|large| self.limits.is_dangerous(large.nbytes)) {
                return Err(measure.error(large, first));
            }
            self.large.extend(found.iter().map(|large| measure.error(large, first)));
        }
        Ok(())
    }

    /// Checks the same rows, decoded to arrays of `nbytes` bytes, and passes over them. Returns an error for each record
    /// and column that exceeds the limit.
    ///
    /// # Errors
    /// A page is damaged.
    pub fn after(&mut self, nrows: usize, nbytes: usize) -> Result<Vec<Error>> {
        let first = self.first + self.at as u64;
        if nbytes as u64 > self.limits.record_bytes {
            for suspect in self.suspects.iter().filter(|suspect| !suspect.is_dangerous) {
                let mut after = Measure::new(&self.opened, self.group, suspect.leaf, self.at, self.limits)?;
                let found = after.check(nrows)?;
                self.large.extend(found.iter().map(|large| after.error(large, first)));
            }
        }
        self.at += nrows;
        Ok(std::mem::take(&mut self.large))
    }
}

/// A record that exceeds the limit.
struct Large {
    /// Its row among those measured.
    row: usize,
    nbytes: u64,
}

/// Evaluates an expression with the reader of a column, whatever its physical type.
macro_rules! of_any_type {
    ($reader:expr, $column:ident => $value:expr) => {
        match $reader {
            ColumnReader::BoolColumnReader($column) => $value,
            ColumnReader::Int32ColumnReader($column) => $value,
            ColumnReader::Int64ColumnReader($column) => $value,
            ColumnReader::Int96ColumnReader($column) => $value,
            ColumnReader::FloatColumnReader($column) => $value,
            ColumnReader::DoubleColumnReader($column) => $value,
            ColumnReader::ByteArrayColumnReader($column) => $value,
            ColumnReader::FixedLenByteArrayColumnReader($column) => $value,
        }
    };
}

/// Reads a leaf column of a row group.
struct Measure {
    column: ColumnReader,
    /// The name of the field.
    field: String,
    limits: Limits,
    /// Number of records to read at a time.
    block: usize,
    max_definition: i16,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

impl Measure {
    /// Starts at row `at` of the group.
    fn new(opened: &Opened, group: usize, leaf: usize, at: usize, limits: Limits) -> Result<Measure> {
        let metadata = opened.metadata.metadata();
        let column = metadata.row_group(group).column(leaf);
        let nrows = opened.rows.get(group).copied().unwrap_or(0);
        let pages = SerializedPageReader::new(Arc::new(opened.source.clone()), column, usize::try_from(nrows).unwrap_or(0), None);
        let descriptor = metadata.file_metadata().schema_descr().column(leaf);
        let nvalues = u64::try_from(column.num_values()).unwrap_or(0).max(1);
        let mut measure = Measure {
            max_definition: descriptor.max_def_level(),
            column: get_column_reader(descriptor, Box::new(pages.map_err(lifted)?)),
            field: quoted(column.column_path().parts().first().map_or("", String::as_str)),
            limits,
            block: usize::try_from(u128::from(BLOCK_VALUES) * u128::from(nrows) / u128::from(nvalues)).unwrap_or(0).max(1),
            definitions: Vec::new(),
            repetitions: Vec::new(),
        };
        measure.skip(at)?;
        Ok(measure)
    }

    fn skip(&mut self, nrows: usize) -> Result<()> {
        of_any_type!(&mut self.column, column => column.skip_records(nrows)).map(|_| ()).map_err(lifted)
    }

    /// The error for a record; row 0 is number `first` from 0.
    fn error(&self, large: &Large, first: u64) -> Error {
        let number = first + large.row as u64 + 1;
        self.limits.too_large(large.nbytes).in_field(self.field.as_str()).locate(|at| at.records = Some((number, number)))
    }

    /// Measures the next records, and returns those that exceed the limit.
    fn check(&mut self, nrows: usize) -> Result<Vec<Large>> {
        let Measure { column, field, limits, block, max_definition, definitions, repetitions } = self;
        let mut levels = Levels { limits, block: *block, max_definition: *max_definition, definitions, repetitions };
        let checked = of_any_type!(column, column => levels.check(column, nrows));
        checked.map_err(|e| e.in_field(field.as_str()))
    }
}

struct Levels<'a> {
    limits: &'a Limits,
    block: usize,
    /// The definition level of a value.
    max_definition: i16,
    definitions: &'a mut Vec<i16>,
    repetitions: &'a mut Vec<i16>,
}

impl Levels<'_> {
    fn check<T: DataType>(&mut self, column: &mut ColumnReaderImpl<T>, nrows: usize) -> Result<Vec<Large>> {
        let (mut row, mut values, mut large) = (0, Vec::new(), Vec::new());
        while row < nrows {
            values.clear();
            self.definitions.clear();
            self.repetitions.clear();
            let read = column.read_records(self.block.min(nrows - row), Some(self.definitions), Some(self.repetitions), &mut values);
            let (nread, _, nlevels) = read.map_err(lifted)?;
            if nread == 0 {
                // The decoder reports that rows are missing.
                break;
            }
            let least = if T::get_physical_type() == PhysicalType::BYTE_ARRAY { LEAST } else { 1 };
            self.check_block(&values, least, nlevels, row, &mut large);
            row += nread;
        }
        Ok(large)
    }

    /// Adds the records that exceed the limit; `row` is that of the first, `least` the least bytes of a value.
    fn check_block<V: AsBytes>(&self, values: &[V], least: u64, nlevels: usize, mut row: usize, large: &mut Vec<Large>) {
        let (mut values, mut nbytes) = (values.iter(), 0);
        let limit = self.limits.record_bytes;
        let mut measured = |row: usize, nbytes: u64| {
            if nbytes > limit {
                large.push(Large { row, nbytes });
            }
        };
        for level in 0..nlevels {
            if level > 0 && self.repetitions.get(level).is_none_or(|depth| *depth == 0) {
                measured(row, nbytes);
                (row, nbytes) = (row + 1, 0);
            }
            let is_value = self.definitions.get(level).is_none_or(|depth| *depth == self.max_definition);
            let value = if is_value { values.next() } else { None };
            // Nulls and empty lists take room, too.
            nbytes += value.map_or(LEAST, |value| (value.as_bytes().len() as u64).max(least));
        }
        measured(row, nbytes);
    }
}
