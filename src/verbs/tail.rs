//! `tail N`: the last records.

use super::shared::count::RecordCount;
use super::shared::keys::Keys;
use super::shared::least_of_each::{LeastOfEach, Share};
use super::shared::queue::Queue;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// The last N records, or those of each key.
#[derive(clap::Args, Clone, Debug)]
pub struct Tail {
    #[command(flatten)]
    count: RecordCount,
    /// Keep the last N records of each combination of values of these fields
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
}

impl Verb for Tail {
    const NAME: &'static str = "tail";
    const SUMMARY: &'static str = "Keep the last N records";
    const ABOUT: &'static str = "\
Reads all input and keeps the last N records in memory or, beyond --max-memory, in temporary files (see --temp-dir).

If `tail` is the first verb and the types are known without reading records (the input stores them, or every needed field has a type in \
--schema), only these records are read from formats that store the position of each record: Parquet, Arrow files, ArrayRecord, and \
TFRecord with an index next to it (see `index`). The result is the same, but earlier records are not checked.

With --by, the last N records of each key are held in memory (see --max-memory) and passed on at the end of the input, in input order. Keys \
are compared as in `unique`.";
    const OPTIONAL_ARGUMENT: bool = true;
    const EXAMPLES: &'static [Example] = &[
        Example { about: "the last record", args: "tail 1", input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n", output: "{\"id\":3}\n" },
        Example {
            about: "the second-to-last record",
            args: "tail 2 then head 1",
            input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n",
            output: "{\"id\":2}\n",
        },
        Example {
            about: "the latest event of each user",
            args: "tail 1 --by user",
            input: "{\"user\": \"a\", \"t\": 1}\n{\"user\": \"b\", \"t\": 2}\n{\"user\": \"a\", \"t\": 3}\n",
            output: "{\"user\":\"b\",\"t\":2}\n{\"user\":\"a\",\"t\":3}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let records = self.count.check()?;
        let count = usize::try_from(records).unwrap_or(usize::MAX);
        let keys = self.by.as_ref().map(|by| by.fields(schema, &format!("tail {records}"))).transpose()?;
        if let Some(keys) = keys.filter(|_| count > 0) {
            let way_out = "keep fewer records of each, or use a coarser key computed with map";
            let last = LeastOfEach::new(format!("tail {records} --by"), way_out, Share::Most(count), keys, options);
            return Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(LastOfEach { last, nrows: 0 })) });
        }
        let queue = Queue::new(Self::NAME, schema, options);
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(Last { count, queue })) })
    }

    fn draw(&self, nrecords: u64, _: &Options) -> Option<Vec<u32>> {
        if self.by.is_some() {
            return None;
        }
        let first = nrecords.saturating_sub(self.count.records());
        Some((u32::try_from(first).ok()?..u32::try_from(nrecords).ok()?).collect())
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }.and_fields(self.by.iter().flat_map(Keys::names))
    }
}

struct Last {
    count: usize,
    queue: Queue,
}

impl Fold for Last {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        let nrows = chunk.nrows.min(self.count);
        if nrows > 0 {
            self.queue.push_back(chunk.slice(chunk.nrows - nrows, nrows))?;
        }
        self.queue.keep_last(self.count);
        Ok(if self.count == 0 { Flow::Done } else { Flow::More })
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        let surplus = self.queue.nrows().saturating_sub(self.count);
        let Some(chunk) = self.queue.pop_front()? else { return Ok(None) };
        Ok(Some(chunk.slice(surplus, chunk.nrows - surplus)))
    }
}

struct LastOfEach {
    last: LeastOfEach,
    /// Number of records so far.
    nrows: u64,
}

impl Fold for LastOfEach {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        let first = self.nrows;
        self.nrows += chunk.nrows as u64;
        // The later, the less.
        self.last.push(chunk, (first..self.nrows).map(|number| Some(u64::MAX - number)))?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        self.last.next_chunk()
    }
}
