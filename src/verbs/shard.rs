//! `shard I/N`: keeps every Nth record.

use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::Schema;
use std::sync::Arc;

/// Keeps every Nth record, starting at record I, counted from 0.
#[derive(clap::Args, Clone, Debug)]
pub struct Shard {
    /// Shard index and number of shards, such as 0/2 or 1/2
    #[arg(value_name = "I/N", value_parser = parse)]
    part: ShardIndex,
}

#[derive(Clone, Copy, Debug)]
struct ShardIndex {
    index: u64,
    of: u64,
}

fn parse(text: &str) -> Result<ShardIndex, Error> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match text.split_once('/').map(|(index, of)| (number(index), number(of))) {
        Some((Some(_), Some(0))) => Err(Error::usage("the number of shards must be at least 1, as in 0/1")),
        Some((Some(index), Some(of))) if index < of => Ok(ShardIndex { index, of }),
        Some((Some(_), Some(of))) => Err(Error::usage(match of {
            1 => "expected 0/1, the only shard of 1".to_owned(),
            of => format!("expected 0/{of} to {}/{of}, the shards of {of}", of - 1),
        })),
        _ => Err(Error::usage("expected I/N, such as 0/2 or 1/2 for two shards")),
    }
}

impl Verb for Shard {
    const NAME: &'static str = "shard";
    const SUMMARY: &'static str = "Keep every Nth record, starting with record I (counted from 0)";
    const ABOUT: &'static str = "\
`shard I/N` keeps records I, I+N, I+2N ..., counted from 0. The shards 0/N to (N-1)/N together contain every record \
exactly once.";
    const MEANING: &'static str = "tf.data.Dataset.shard";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the first of two shards: every second record",
            args: "shard 0/2",
            input: "{\"id\": 0}\n{\"id\": 1}\n{\"id\": 2}\n",
            output: "{\"id\":0}\n{\"id\":2}\n",
        },
        Example {
            about: "every second batch, for the second of two workers",
            args: "batch 2 then shard 1/2",
            input: "{\"id\": 0}\n{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n{\"id\": 4}\n",
            output: "{\"id\":[2,3]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(Every { part: self.part, seen: 0 })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let last = |n: u64| n.checked_sub(1).map_or(Some(0), |n| n.checked_mul(self.part.of)?.checked_add(self.part.index + 1));
        Demand { records: after.records.and_then(last), ..after }
    }
}

struct Every {
    part: ShardIndex,
    /// The index of the next record.
    seen: u64,
}

impl Fold for Every {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let rows: Vec<usize> = (0..chunk.nrows).filter(|row| (self.seen + *row as u64) % self.part.of == self.part.index).collect();
        self.seen += chunk.nrows as u64;
        if !rows.is_empty() {
            out.push(chunk.gather(&rows)?);
        }
        Ok(Flow::More)
    }
}
