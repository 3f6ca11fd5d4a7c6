//! `count`: the number of records, or of those of each key.

use super::shared::distinct::CountInChunk;
use super::shared::fields::copied_first;
use super::shared::key_table::KeyTable;
use super::shared::keys::{KeyField, Keys};
use super::shared::memory::Slices;
use super::verb::{Bound, Example, Flow, Fold, Map, Operator, Report, Verb, Verdict};
use crate::chunk::{Chunk, Origin};
use crate::demand::{Demand, Wanted};
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{new_name, quoted};
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use arrow_array::Int64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::io::Write;
use std::sync::Arc;

/// Prints the number of records that reach it.
#[derive(clap::Args, Clone, Debug)]
pub struct Count {
    /// Count the records for each distinct value of these fields
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
    /// With --by, name of the field with the count [default: count]
    #[arg(long = "as", value_name = "NAME", value_parser = new_name, requires = "by")]
    name: Option<String>,
}

impl Count {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("count")
    }
}

impl Verb for Count {
    const NAME: &'static str = "count";
    const REPORTS: bool = true;
    const SUMMARY: &'static str = "Print the number of records";
    const ABOUT: &'static str = "\
Prints the number of records that reach this verb. Without --by, it must be the last verb of a chain. Only fields that an earlier verb \
needs are parsed; if the file's footer or record framing contains the number, nothing else is read. With --on-error skip, all fields are \
parsed, and bad records are not counted.

With --by, writes one record per key: the most frequent first, with ties in order of first occurrence. The chain may continue, and -o writes \
these records in any format. To summarize the fields of each group, use `stats --by`; to collect its records, use `sort` then `implode \
--by`; for sums and means as records, use DuckDB. Values are compared exactly, lists and structures included; nulls equal each other, \
NaNs equal each other, and 0.0 equals -0.0. The distinct keys are kept in memory (see --max-memory).";
    const EXAMPLES: &'static [Example] = &[
        Example { about: "the records of a file", args: "count", input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n", output: "3\n" },
        Example { about: "batches", args: "batch 2 then count", input: "{\"id\": 1}\n{\"id\": 2}\n{\"id\": 3}\n", output: "2\n" },
        Example {
            about: "how often each label occurs",
            args: "count --by label",
            input: "{\"label\": \"cat\"}\n{\"label\": \"dog\"}\n{\"label\": \"dog\"}\n",
            output: "{\"label\":\"dog\",\"count\":2}\n{\"label\":\"cat\",\"count\":1}\n",
        },
        Example {
            about: "the most frequent token across all lists",
            args: "explode tokens then count --by tokens then head 1",
            input: "{\"tokens\": [\"a\", \"b\"]}\n{\"tokens\": [\"b\"]}\n",
            output: "{\"tokens\":\"b\",\"count\":2}\n",
        },
    ];

    fn reports(&self) -> bool {
        self.by.is_none()
    }

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let Some(by) = &self.by else {
            return Ok(Bound { schema: Arc::new(Schema::default()), operator: Operator::Report(Box::new(Counter { records: 0 })) });
        };
        let keys = by.fields(schema, Self::NAME)?;
        let mut fields: Vec<Field> = keys.iter().map(|key| key.field.clone()).collect();
        if let Some((_, field)) = fields.iter().enumerate().find(|(i, field)| fields[..*i].iter().any(|other| other.name == field.name)) {
            let error = Error::usage(format!("two keys would be named {}", quoted(&field.name)));
            let inner = keys.iter().rev().find(|key| key.path.parent().is_some() && key.field.name == field.name);
            return Err(inner.map(|key| copied_first(&key.path, "count --by", schema)).into_iter().fold(error, Error::help));
        }
        if fields.iter().any(|f| f.name == self.name()) {
            let error = Error::usage(format!("the key and its count would both be named {}", quoted(self.name())));
            return Err(error.help("choose a name for the count: --as NAME"));
        }
        fields.push(Field::new(self.name(), Type::tensor(DType::Int64, Vec::new())));
        let way_out = "count by fewer fields, or by a coarser key computed with map";
        let table = KeyTable::new(Self::NAME, way_out, options);
        let schema = Arc::new(Schema::new(fields));
        let fold = KeyCounter { keys, schema: schema.clone(), table, counts: Vec::new(), slices: None, options: options.clone() };
        Ok(Bound { schema, operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, _: Demand) -> Demand {
        let names = self.by.iter().flat_map(Keys::names).collect();
        Demand { fields: Wanted::Matching(names), records: None }
    }
}

/// Counts the records of each key.
struct KeyCounter {
    /// The fields of the key.
    keys: Vec<KeyField>,
    /// That of the keys and their counts.
    schema: Arc<Schema>,
    table: KeyTable,
    /// Indexed by key number.
    counts: Vec<i64>,
    /// The result, emitted at the end.
    slices: Option<Slices>,
    options: Options,
}

impl Fold for KeyCounter {
    fn before(&self) -> Option<(Arc<dyn Map>, Arc<Schema>)> {
        let map = CountInChunk { keys: self.keys.clone(), options: self.options.clone() };
        Some((Arc::new(map), self.schema.clone()))
    }

    fn push(&mut self, mut keys: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        let counts = keys.columns.pop().ok_or_else(|| Error::internal("keys without counts"))?;
        let found = self.table.insert(&keys)?;
        self.counts.resize(self.table.len(), 0);
        for (number, count) in found.numbers.into_iter().zip(counts.as_leaf()?.as_primitive::<Int64Type>().values()) {
            self.counts[number as usize] += count;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        if !self.counts.is_empty() {
            let counts = std::mem::take(&mut self.counts);
            let mut order: Vec<usize> = (0..counts.len()).collect();
            order.sort_by_key(|key| std::cmp::Reverse(counts[*key]));
            let mut counts = counts.into_iter();
            let with_counts = |part: Chunk| {
                let mut columns = part.columns;
                columns.push(Tensor::Leaf(Arc::new(Int64Array::from_iter_values(counts.by_ref().take(part.nrows)))));
                Chunk::try_new(part.nrows, columns, Origin::default())
            };
            let parts = self.table.take_parts().into_iter().map(with_counts).collect::<Result<_>>()?;
            self.slices = Some(Slices::new(parts, order, &self.options));
        }
        self.slices.as_mut().map_or(Ok(None), Slices::next_chunk)
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
        writeln!(out, "{}", self.records).map_err(Error::output)?;
        Ok(Verdict::Good)
    }
}
