//! `get LIST`: the records with these numbers in their input.

use super::verb::{Bound, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::{Demand, RecordNumbers};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The records with these numbers.
#[derive(clap::Args, Clone, Debug)]
pub struct Get {
    /// Record numbers, from 1: 5,17,100-120, or 100- for 100 and up
    #[arg(value_name = "NUMBERS")]
    numbers: String,
}

impl Verb for Get {
    const NAME: &'static str = "get";
    const SUMMARY: &'static str = "Keep records by number";
    const ABOUT: &'static str = "\
Records are numbered from 1 in each input, as in messages and in the output of `--source record`, so `get 1 a b` returns two records. They are written \
in input order, each once; numbers beyond the last record are ignored. In a TFDS directory, the records of --split are numbered across \
all shards; messages and --source name the shard and number within it.

If `get` is the first verb of a chain, it stops reading after the last selected record. Only the selected records are read from an \
ArrayRecord, and from a TFRecord file with an index next to it (`tatter index x.tfrecord` creates x.tfrecord.idx). From a TFDS directory, \
only the shards that contain selected records are read, and from a Parquet or Arrow file, only the row groups or record batches that do. \
Types are inferred from these records only, with or without an index, unless a verb names a field that does not occur in them. An index \
that does not match its file is ignored, with a notice; -v reports which index was used.";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "two records",
            args: "get 3,1",
            input: "{\"id\": 11}\n{\"id\": 12}\n{\"id\": 13}\n{\"id\": 14}\n",
            output: "{\"id\":11}\n{\"id\":13}\n",
        },
        Example {
            about: "a range, after a filter: records keep their input numbers",
            args: "filter 'id != 13' then get 2-",
            input: "{\"id\": 11}\n{\"id\": 12}\n{\"id\": 13}\n{\"id\": 14}\n",
            output: "{\"id\":12}\n{\"id\":14}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let operator = Operator::Map(Arc::new(Chosen { numbers: RecordNumbers::parse(&self.numbers)? }));
        Ok(Bound { schema: schema.clone(), operator })
    }

    fn numbers(&self) -> Result<Option<RecordNumbers>> {
        RecordNumbers::parse(&self.numbers).map(Some)
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }
    }
}

struct Chosen {
    numbers: RecordNumbers,
}

impl Map for Chosen {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        let mut rows = Vec::new();
        for row in 0..chunk.nrows {
            let number = chunk.origin.number(row).ok_or_else(|| {
                Error::data("a record that is not made from a single input record has no number")
                    .at_row(row)
                    .help("put `get` before the verb that combines records")
            })?;
            if self.numbers.contains(number) {
                rows.push(row);
            }
        }
        if rows.len() == chunk.nrows { Ok(chunk) } else { chunk.gather(&rows) }
    }

    fn keeps_count(&self) -> bool {
        false
    }
}
