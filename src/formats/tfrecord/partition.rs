//! The rows that a partition of one record cuts its values into, in every encoding of tf.io.RaggedFeature.
//!
//! TensorFlow passes partitions on that do not fit their values; here they are errors.

use super::plan::Encoding;

/// Appends the rows that a partition cuts `nvals` values into; leaves `splits` alone if it is none.
pub fn partition(encoding: Encoding, numbers: &[i64], nvals: usize, max_rows: usize, splits: &mut Vec<i64>) -> Result<(), String> {
    let base = splits.last().copied().unwrap_or(0);
    let nvals = nvals as i64;
    let from_limits = |limits: &mut dyn Iterator<Item = i64>, what: &str, splits: &mut Vec<i64>| {
        let start = splits.len();
        let mut last = 0;
        for limit in limits {
            if limit < last || limit > nvals {
                splits.truncate(start);
                return Err(match limit < last {
                    true => format!("{what} decrease from {last} to {limit}"),
                    false => format!("{what} go up to {limit}, but there are {nvals} values"),
                });
            }
            splits.push(base + limit);
            last = limit;
        }
        if last != nvals {
            splits.truncate(start);
            return Err(format!("{what} end at {last}, but there are {nvals} values"));
        }
        Ok(())
    };
    match encoding {
        Encoding::RowLengths => {
            let start = splits.len();
            let mut end = 0i64;
            for length in numbers {
                end = match end.checked_add(*length).filter(|_| *length >= 0) {
                    Some(end) => end,
                    None => {
                        splits.truncate(start);
                        return Err(format!("a row length of {length}"));
                    }
                };
                splits.push(base.wrapping_add(end));
            }
            if end != nvals {
                splits.truncate(start);
                return Err(format!("the row_lengths add up to {end}, but there are {nvals} values"));
            }
            Ok(())
        }
        Encoding::RowSplits => match numbers.split_first() {
            None => from_limits(&mut std::iter::empty(), "row_splits", splits),
            Some((0, limits)) => from_limits(&mut limits.iter().copied(), "row_splits", splits),
            Some((first, _)) => Err(format!("row_splits start at {first} instead of 0")),
        },
        Encoding::RowLimits => from_limits(&mut numbers.iter().copied(), "row_limits", splits),
        Encoding::RowStarts => match numbers.split_first() {
            None => from_limits(&mut std::iter::empty(), "row_starts", splits),
            Some((0, limits)) => from_limits(&mut limits.iter().copied().chain([nvals]), "row_starts", splits),
            Some((first, _)) => Err(format!("row_starts start at {first} instead of 0")),
        },
        Encoding::ValueRowids => {
            if numbers.len() as i64 != nvals {
                return Err(format!("{} value_rowids for {nvals} values", numbers.len()));
            }
            let mut last = 0;
            for id in numbers {
                if *id < last {
                    return Err(format!("value_rowids decrease from {last} to {id}"));
                }
                last = *id;
            }
            if usize::try_from(last).map_or(true, |last| last > max_rows) {
                return Err(format!("the value_rowid {last} makes more rows than --max-record-bytes has room for"));
            }
            let mut row = 0;
            for (i, id) in numbers.iter().enumerate() {
                while row < *id {
                    splits.push(base + i as i64);
                    row += 1;
                }
            }
            if !numbers.is_empty() {
                splits.push(base + nvals);
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_of_a_record() {
        use Encoding::*;
        type Case = (Encoding, &'static [i64], usize, Option<&'static [i64]>);
        let cases: &[Case] = &[
            (RowLengths, &[2, 0, 1], 3, Some(&[12, 12, 13])),
            (RowLengths, &[], 0, Some(&[])),
            (RowLengths, &[], 3, None),
            (RowLengths, &[-1, 4], 3, None),
            (RowLengths, &[i64::MAX, i64::MAX, 5], 3, None),
            (RowSplits, &[0, 2, 2, 3], 3, Some(&[12, 12, 13])),
            (RowSplits, &[], 0, Some(&[])),
            (RowSplits, &[0], 0, Some(&[])),
            (RowSplits, &[1, 3], 3, None),
            (RowSplits, &[0, 2, 1, 3], 3, None),
            (RowSplits, &[0, 5], 3, None),
            (RowStarts, &[0, 2, 2], 3, Some(&[12, 12, 13])),
            (RowStarts, &[], 3, None),
            (RowLimits, &[2, 2, 3], 3, Some(&[12, 12, 13])),
            (RowLimits, &[1, 2], 3, None),
            (ValueRowids, &[0, 0, 2], 3, Some(&[12, 12, 13])),
            (ValueRowids, &[1, 1, 2], 3, Some(&[10, 12, 13])),
            (ValueRowids, &[0, 2], 3, None),
            (ValueRowids, &[0, 0, i64::MAX], 3, None),
        ];
        for (encoding, numbers, nvals, expected) in cases {
            let mut splits = vec![0, 10];
            let found = partition(*encoding, numbers, *nvals, 100, &mut splits);
            match expected {
                Some(rows) => {
                    assert!(found.is_ok(), "{encoding:?} {numbers:?}: {found:?}");
                    assert_eq!(splits[2..], **rows, "{encoding:?} {numbers:?}");
                }
                None => assert!(found.is_err() && splits.len() == 2, "{encoding:?} {numbers:?}"),
            }
        }
    }
}
