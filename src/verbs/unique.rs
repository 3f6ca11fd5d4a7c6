//! `unique`: the first record of each key.

use super::shared::distinct::FirstInChunk;
use super::shared::key_table::KeyTable;
use super::shared::keys::{KeyField, Keys, key_columns};
use super::shared::memory::{Budget, owned};
use super::shared::sorter::Sorter;
use super::verb::{Bound, Deferred, Example, Flow, Fold, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::Tensor;
use crate::tensor::hash::row_hashes;
use arrow_array::UInt64Array;
use std::sync::Arc;

/// The first record of each key.
#[derive(clap::Args, Clone, Debug)]
pub struct Unique {
    /// Fields to compare [default: all]
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
}

impl Verb for Unique {
    const NAME: &'static str = "unique";
    const SUMMARY: &'static str = "Drop duplicate records";
    const ABOUT: &'static str = "\
Keeps the first of the records that are equal in all fields (with --by, in those fields), in input order. Values are compared exactly, lists and structures included; nulls equal \
each other, NaNs equal each other, and 0.0 equals -0.0. The distinct keys are kept in memory (with --by, only the fields named). Beyond \
--max-memory, records with new keys are set aside in a temporary file (see --temp-dir) until all input is read.";
    const MEANING: &'static str = "tf.data.Dataset.unique";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "drop records that are equal in all fields",
            args: "unique",
            input: "{\"x\": [1, 2]}\n{\"x\": [1]}\n{\"x\": [1, 2]}\n",
            output: "{\"x\":[1,2]}\n{\"x\":[1]}\n",
        },
        Example {
            about: "keep the first event of each user",
            args: "unique --by user",
            input: "{\"user\": \"a\", \"t\": 1}\n{\"user\": \"b\", \"t\": 2}\n{\"user\": \"a\", \"t\": 3}\n",
            output: "{\"user\":\"a\",\"t\":1}\n{\"user\":\"b\",\"t\":2}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let keys = self.by.as_ref().map(|by| by.fields(schema, Self::NAME)).transpose()?;
        let fold = DistinctKeys {
            verb: Self::NAME,
            schema: schema.clone(),
            options: options.clone(),
            keys,
            table: KeyTable::unlimited(options),
            nrows: 0,
            others: None,
            firsts: None,
        };
        Ok(Bound { schema: schema.clone(), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after };
        match &self.by {
            Some(by) => after.and_fields(by.names()),
            None => Demand::everything(),
        }
    }
}

/// Keeps the keys in memory and, if they become too many, also the records whose keys are not among them.
struct DistinctKeys {
    verb: &'static str,
    schema: Arc<Schema>,
    options: Options,
    /// The fields of the key; `None` for all.
    keys: Option<Vec<KeyField>>,
    table: KeyTable,
    /// Number of records so far.
    nrows: u64,
    /// Records with other keys and their numbers, sorted by the hash of the key.
    others: Option<Sorter>,
    /// The first of those records for each key, sorted by number.
    firsts: Option<Sorter>,
}

impl Fold for DistinctKeys {
    fn before(&self) -> Option<(Arc<dyn Map>, Arc<Schema>)> {
        let map = FirstInChunk { keys: self.keys.clone(), options: self.options.clone() };
        Some((Arc::new(map), self.schema.clone()))
    }

    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let keys = self.keys_of(&chunk)?;
        let first = self.nrows;
        self.nrows += chunk.nrows as u64;
        if self.others.is_none() && self.table.nbytes() < Budget::room(&self.options) {
            let fresh = self.table.insert(&keys)?.fresh;
            if fresh.len() == chunk.nrows {
                out.push(chunk);
            } else if !fresh.is_empty() {
                out.push(chunk.gather(&fresh)?);
            }
            return Ok(Flow::More);
        }
        let rows: Vec<usize> = self.table.find(&keys).iter().enumerate().filter(|(_, key)| key.is_none()).map(|(row, _)| row).collect();
        if rows.is_empty() {
            return Ok(Flow::More);
        }
        let others = self.others.get_or_insert_with(|| Sorter::new(self.verb, &numbered(&self.schema), &[], &self.options));
        let mut chunk = chunk.gather(&rows)?;
        let positions = numbers(rows.iter().map(|row| first + *row as u64));
        let hashes = numbers(row_hashes(&keys.gather(&rows)?.columns, rows.len()));
        chunk.columns.push(positions.clone());
        others.push(chunk, vec![hashes, positions])?;
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let Some(mut others) = self.others.take() else {
            return self.firsts.as_mut().map_or(Ok(None), Sorter::next_deferred);
        };
        let mut firsts = Sorter::new(self.verb, &self.schema, &[], &self.options);
        // The distinct keys with this hash, each from its first record. There is hardly ever more than one.
        let (mut hash, mut known): (u64, Vec<Chunk>) = (0, Vec::new());
        while let Some(chunk) = others.next_deferred()? {
            let mut chunk = chunk()?;
            let number = chunk.columns.pop().ok_or_else(|| Error::internal("records without numbers"))?;
            let keys = self.keys_of(&chunk)?;
            let mut rows = Vec::new();
            for (row, of_row) in row_hashes(&keys.columns, keys.nrows).into_iter().enumerate() {
                if of_row != hash {
                    (hash, known) = (of_row, Vec::new());
                }
                let is_equal = |key: &Chunk| key.columns.iter().zip(&keys.columns).all(|(a, b)| a.keys_equal(0, b, row));
                if !known.iter().any(is_equal) {
                    known.push(keys.slice(row, 1));
                    rows.push(row);
                }
            }
            known = known.iter().map(owned).collect::<Result<_>>()?;
            firsts.push(chunk.gather(&rows)?, vec![number.gather(&rows)?])?;
        }
        self.firsts.insert(firsts).next_deferred()
    }
}

impl DistinctKeys {
    fn keys_of(&self, chunk: &Chunk) -> Result<Chunk> {
        match &self.keys {
            Some(keys) => key_columns(keys, chunk),
            None => Ok(chunk.clone()),
        }
    }
}

/// The records, with their numbers as a column.
fn numbered(schema: &Schema) -> Arc<Schema> {
    let mut fields = schema.fields.clone();
    fields.push(Field::new(String::new(), Type::tensor(DType::UInt64, Vec::new())));
    Arc::new(Schema::new(fields))
}

fn numbers(values: impl IntoIterator<Item = u64>) -> Tensor {
    Tensor::Leaf(Arc::new(UInt64Array::from_iter_values(values)))
}
