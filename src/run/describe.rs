//! Writes the metadata files of outputs that are directories, after the shards are complete.

use crate::error::Result;
use crate::formats::{Format, Shard};
use crate::io::Outputs;
use crate::options::Options;
use crate::schema::Schema;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds the metadata files to each output. `records` has the record counts of the files of all outputs, numbered
/// consecutively.
///
/// # Errors
/// A file cannot be written.
pub fn describe(
    format: &'static dyn Format,
    schema: &Schema,
    outputs: &[Arc<Outputs>],
    records: &BTreeMap<u64, u64>,
    options: &Options,
) -> Result<()> {
    let Some(describer) = format.directory() else { return Ok(()) };
    let mut first = 0;
    for output in outputs {
        let Some(directory) = output.as_directory() else { continue };
        let shards = output.written()?;
        let shards: Vec<Shard> = shards
            .iter()
            .map(|shard| Shard { nrecords: records.get(&(first + shard.number)).copied().unwrap_or(0), nbytes: shard.nbytes })
            .collect();
        // A file that cannot be completed becomes an error when the outputs are renamed.
        if shards.len() as u64 == output.nfiles() {
            for (name, bytes) in describer.describe(schema, directory, &shards, options)? {
                output.add(&name, &bytes)?;
            }
        }
        first += output.nfiles();
    }
    Ok(())
}
