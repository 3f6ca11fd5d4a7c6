//! Record keys for random numbers. Each record and call has its own stream, so results do not depend on threads or
//! chunks.
//!
//! The key of a row is derived from `--seed`, the name of its input, its record there, and, among the rows made from the
//! same record, the number of the item or the round.

use crate::chunk::Origin;
use crate::error::{Error, Result};
use crate::random::mixed;
use std::sync::Arc;

/// The record keys of the rows of a chunk: `[nrows]`. O(rows).
///
/// # Errors
/// The origin of the rows is not known.
pub fn keys(origin: &Origin, nrows: usize, seed: u64) -> Result<Vec<u64>> {
    let of_input = |name: Option<Arc<str>>| name.as_deref().unwrap_or("").bytes().fold(seed, |all, byte| mixed(all ^ u64::from(byte)));
    let inputs: Vec<u64> = origin.files().into_iter().map(|(name, _)| of_input(name)).collect();
    (0..nrows)
        .map(|row| match origin.source(row) {
            (_, 0, _) => Err(Error::data("random numbers depend on the record number, which is unknown here")
                .at_row(row)
                .help("draw them with `map` before verbs that combine records")),
            (file, record, _) => Ok(mixed(mixed(inputs.get(file as usize).unwrap_or(&seed) ^ record) ^ origin.item(row))),
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
