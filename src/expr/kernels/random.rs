//! Record keys for random numbers. Each record and call has its own stream, so results do not depend on threads or
//! chunks.
//!
//! The key of a record is derived from `--seed`, the name of its input, and its number there. Rows that come from the
//! same record are distinguished by their order.

use crate::chunk::Origin;
use crate::error::{Error, Result};
use crate::random::mixed;

/// The record keys of the rows of a chunk.
///
/// # Errors
/// The origin of the rows is not known.
pub fn keys(origin: &Origin, nrows: usize, seed: u64) -> Result<Vec<u64>> {
    let input = origin.input.as_deref().unwrap_or("").bytes().fold(seed, |all, byte| mixed(all ^ u64::from(byte)));
    let mut before = None;
    let mut order = 0u64;
    (0..nrows)
        .map(|row| {
            let (record, _) = origin.records(row..row + 1).ok_or_else(|| {
                Error::data("random numbers depend on the record number, which is unknown here")
                    .at_row(row)
                    .help("draw them with `map` before verbs that combine or split records")
            })?;
            order = if before == Some(record) { order + 1 } else { 0 };
            before = Some(record);
            Ok(mixed(mixed(input ^ record) ^ order))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_depend_on_seed_input_and_record_alone() {
        let origin = Origin::consecutive("a".into(), 1);
        let all = keys(&origin, 10, 3).unwrap_or_default();
        assert_eq!(all[4..], keys(&origin.slice(4, 6), 6, 3).unwrap_or_default());
        assert!(all[0] != all[1] && all != keys(&origin, 10, 4).unwrap_or_default());
        assert!(all != keys(&Origin::consecutive("b".into(), 1), 10, 3).unwrap_or_default());
        assert!(keys(&Origin::default(), 1, 3).is_err());
    }
}
