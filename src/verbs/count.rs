//! `count`: the number of records.

use super::verb::{Bound, Example, Flow, Operator, Report, Verb, Verdict};
use crate::chunk::Chunk;
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::Schema;
use std::io::Write;
use std::sync::Arc;

/// Prints the number of records that reach it.
#[derive(clap::Args, Clone, Debug)]
pub struct Count {}

impl Verb for Count {
    const NAME: &'static str = "count";
    const REPORTS: bool = true;
    const SUMMARY: &'static str = "Print the number of records";
    const ABOUT: &'static str = "\
Ends a chain and counts the records that reach it. Only fields that an earlier verb needs are parsed; where the footer \
or the framing of the file is enough, nothing else is read.";
    const EXAMPLES: &'static [Example] = &[
        Example { about: "records of a file", args: "count", input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n", output: "3\n" },
        Example { about: "batches", args: "batch 2 then count", input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n", output: "2\n" },
    ];

    fn bind(&self, _: &Arc<Schema>, _: &Options) -> Result<Bound> {
        Ok(Bound { schema: Arc::new(Schema::default()), operator: Operator::Report(Box::new(Counter { records: 0 })) })
    }

    fn demand(&self, _: Demand) -> Demand {
        Demand { fields: Wanted::Matching(Vec::new()), records: None }
    }
}

struct Counter {
    records: u64,
}

impl Report for Counter {
    fn push(&mut self, chunk: &Chunk, _: &mut dyn Write) -> Result<Flow> {
        self.records += chunk.nrows as u64;
        Ok(Flow::More)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<Verdict> {
        writeln!(out, "{}", self.records).map_err(|e| Error::io("output", "cannot write", &e))?;
        Ok(Verdict::Good)
    }
}
