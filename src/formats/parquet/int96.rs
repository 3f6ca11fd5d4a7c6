//! Twelve-byte timestamps: the nanoseconds of the day, and the day. Their range exceeds that of 64-bit nanoseconds and
//! their columns have no statistics, so the values determine which unit can hold them. Nothing says whether they are
//! instants or local times, except in files written by Spark, where they are instants, usually in microseconds.

use super::facts::int96_leaves;
use super::failure::lifted;
use super::headers::check_dictionary;
use crate::error::Result;
use crate::formats::columnar::source::Source;
use crate::schema::facts::SPARK_ROW;
use arrow_schema::{DataType, TimeUnit};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::data_type::Int96;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Number of values examined at a time.
const BLOCK_VALUES: usize = 1 << 14;
const EPOCH: i64 = 2_440_588;
const DAY_NANOS: i128 = 86_400_000_000_000;

/// The INT96 columns of a file, by leaf.
#[derive(Default)]
pub struct Int96Columns {
    /// The Arrow type of each.
    pub types: HashMap<usize, DataType>,
    /// Those with timestamps between two units of their type, and the unit.
    pub cut: Vec<(usize, &'static str)>,
}

/// The Arrow type of each INT96 column: with the finest unit that can hold every timestamp, for which all pages of
/// these columns are read. In files written by Spark they are in UTC, and in microseconds if every value is a whole
/// number of them.
///
/// # Errors
/// The pages are damaged.
pub fn columns(source: &Source, metadata: &ParquetMetaData, encrypted: &BTreeSet<usize>) -> Result<Int96Columns> {
    let pairs = metadata.file_metadata().key_value_metadata();
    let is_spark = pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == SPARK_ROW));
    let mut found = Int96Columns::default();
    let reader = Arc::new(source.clone());
    for leaf in int96_leaves(metadata).into_iter().filter(|leaf| !encrypted.contains(leaf)) {
        let descriptor = metadata.file_metadata().schema_descr().column(leaf);
        let (mut unit, mut exact) = (TimeUnit::Nanosecond, TimeUnit::Millisecond);
        for group in metadata.row_groups() {
            let nrows = usize::try_from(group.num_rows()).unwrap_or(0);
            check_dictionary(source, group.column(leaf))?;
            let pages = SerializedPageReader::new(reader.clone(), group.column(leaf), nrows, None).map_err(lifted)?;
            let ColumnReader::Int96ColumnReader(mut column) = get_column_reader(descriptor.clone(), Box::new(pages)) else { continue };
            let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
            loop {
                values.clear();
                definitions.clear();
                repetitions.clear();
                let read = column.read_records(BLOCK_VALUES, Some(&mut definitions), Some(&mut repetitions), &mut values);
                if read.map_err(lifted)?.0 == 0 {
                    break;
                }
                unit = values.iter().map(holding).fold(unit, coarser);
                exact = values.iter().map(expressing).fold(exact, |a, b| if order(a) <= order(b) { a } else { b });
            }
        }
        if is_spark && exact != TimeUnit::Nanosecond {
            unit = coarser(unit, TimeUnit::Microsecond);
        }
        if order(exact) < order(unit) {
            found.cut.push((leaf, if unit == TimeUnit::Millisecond { "milliseconds" } else { "microseconds" }));
        }
        found.types.insert(leaf, DataType::Timestamp(unit, is_spark.then(|| "UTC".into())));
    }
    Ok(found)
}

fn order(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Nanosecond => 0,
        TimeUnit::Microsecond => 1,
        TimeUnit::Millisecond => 2,
        TimeUnit::Second => 3,
    }
}

fn coarser(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    if order(a) >= order(b) { a } else { b }
}

/// The coarsest unit, up to milliseconds, of which the timestamp is a multiple.
fn expressing(value: &Int96) -> TimeUnit {
    match nanos_of_day(value) {
        nanos if nanos.is_multiple_of(1_000_000) => TimeUnit::Millisecond,
        nanos if nanos.is_multiple_of(1_000) => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// The finest unit in which the timestamp fits in 64 bits.
fn holding(value: &Int96) -> TimeUnit {
    let day = value.data().last().copied().unwrap_or_default();
    let all = i128::from(i64::from(day as i32) - EPOCH) * DAY_NANOS + i128::from(nanos_of_day(value));
    let fits = |per: i128| i64::try_from(all / per).is_ok();
    if fits(1) {
        TimeUnit::Nanosecond
    } else if fits(1_000) {
        TimeUnit::Microsecond
    } else {
        TimeUnit::Millisecond
    }
}

fn nanos_of_day(value: &Int96) -> u64 {
    let [low, high, _] = <[u32; 3]>::try_from(value.data()).unwrap_or_default();
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_unit_that_holds_a_timestamp() {
        let at = |day: i64| {
            let mut value = Int96::new();
            value.set_data(1, 0, day as u32);
            value
        };
        assert_eq!(holding(&at(EPOCH)), TimeUnit::Nanosecond);
        // 9999-12-31
        assert_eq!(holding(&at(EPOCH + 2_932_896)), TimeUnit::Microsecond);
        assert_eq!(holding(&at(EPOCH - 106_753)), TimeUnit::Microsecond);
        assert_eq!(holding(&at(i64::from(i32::MAX))), TimeUnit::Millisecond);
    }
}
