//! `implode --by KEY`: groups consecutive records with equal keys.

use super::shared::batches::batched_field;
use super::shared::keys::Keys;
use super::shared::memory::Held;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::Result;
use crate::options::Options;
use crate::path::quoted;
use crate::schema::{Field, Schema, Size};
use crate::tensor::batch::batched_type;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_primitive_array};
use std::sync::Arc;

/// Groups consecutive records with equal keys.
#[derive(clap::Args, Clone, Debug)]
pub struct Implode {
    /// Key fields, such as a,b
    #[arg(long, value_name = "KEY", value_parser = Keys::parse)]
    by: Keys,
}

impl Verb for Implode {
    const NAME: &'static str = "implode";
    const SUMMARY: &'static str = "Group consecutive records with equal keys";
    const ABOUT: &'static str = "\
The key fields stay; every other field gains axis 0, the records of the group, as with `batch`. Only adjacent records are grouped: sort \
the records first with `sort --by KEY`. In keys, nulls equal each other, and so do NaNs; nulls in other fields are kept. `explode` is the \
inverse; `count --by` counts the records of each key. The records of the current group are kept in memory (see --max-memory).";
    const MEANING: &'static str = "the inverse of SQL's UNNEST";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "the events of each user",
            args: "implode --by user",
            input: "{\"user\": \"a\", \"t\": 1}\n{\"user\": \"a\", \"t\": 5}\n{\"user\": \"b\", \"t\": 2}\n{\"user\": \"a\", \"t\": 9}\n",
            output: "{\"user\":\"a\",\"t\":[1,5]}\n{\"user\":\"b\",\"t\":[2]}\n{\"user\":\"a\",\"t\":[9]}\n",
        },
        Example {
            about: "undo explode",
            args: "explode words then implode --by id",
            input: "{\"id\": 1, \"words\": [\"big\", \"dog\"]}\n{\"id\": 2, \"words\": [\"John\"]}\n",
            output: "{\"id\":1,\"words\":[\"big\",\"dog\"]}\n{\"id\":2,\"words\":[\"John\"]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let keys = self.by.positions(schema, "implode")?;
        let field = |(i, f): (usize, &Field)| match keys.contains(&i) {
            true => f.clone(),
            false => f.with_outer_axes(batched_type(&f.ty, Size::Uniform)),
        };
        let fields = schema.fields.iter().enumerate().map(field).collect();
        let groups = Groups {
            names: schema.fields.iter().map(|f| f.name.clone()).collect(),
            keys,
            last: None,
            held: Held::new("implode", "the records of one group are kept in memory; choose a key that fewer records share", options),
        };
        Ok(Bound { schema: Arc::new(Schema::new(fields)), operator: Operator::Fold(Box::new(groups)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        Demand { records: None, ..after }.and_fields(self.by.names())
    }
}

struct Groups {
    names: Vec<String>,
    keys: Vec<usize>,
    /// The last record. The next record belongs to the same group if the keys are equal.
    last: Option<Chunk>,
    /// The records of the open group.
    held: Held,
}

impl Fold for Groups {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        if chunk.nrows == 0 {
            return Ok(Flow::More);
        }
        let mut starts: Vec<usize> = Vec::new();
        if let Some(last) = &self.last
            && !self.keys.iter().all(|k| last.columns[*k].keys_equal(0, &chunk.columns[*k], 0))
        {
            starts.push(0);
        }
        let mut changes = vec![false; chunk.nrows];
        for key in &self.keys {
            mark_changes(&chunk.columns[*key], &mut changes);
        }
        starts.extend((1..chunk.nrows).filter(|row| changes[*row]));
        self.last = Some(chunk.slice(chunk.nrows - 1, 1));
        let Some((first, last)) = starts.first().copied().zip(starts.last().copied()) else {
            self.held.push_back(chunk)?;
            return Ok(Flow::More);
        };
        if first > 0 {
            self.held.push_back(chunk.slice(0, first))?;
        }
        out.extend(self.close()?);
        if starts.len() > 1 {
            let partition = RowPartition::from_row_lengths(starts.windows(2).map(|w| (w[1] - w[0]) as i64))?;
            out.push(self.grouped(&chunk.slice(first, last - first), &partition)?);
        }
        self.held.push_back(chunk.slice(last, chunk.nrows - last))?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<Option<Chunk>> {
        self.close()
    }
}

impl Groups {
    /// The open group as a chunk of one record.
    fn close(&mut self) -> Result<Option<Chunk>> {
        let Some(chunk) = self.held.take_all()? else { return Ok(None) };
        let partition = RowPartition::uniform(chunk.nrows, 1)?;
        self.grouped(&chunk, &partition).map(Some)
    }

    fn grouped(&self, chunk: &Chunk, groups: &RowPartition) -> Result<Chunk> {
        let firsts: Vec<usize> = (0..groups.nrows()).map(|group| groups.start(group)).collect();
        let column = |(i, column): (usize, &Tensor)| {
            let grouped = if self.keys.contains(&i) { column.gather(&firsts) } else { batched_field(column, groups, &self.names[i]) };
            grouped.map_err(|e| chunk.origin.resolve(e.in_field(quoted(&self.names[i])), chunk.nrows))
        };
        let columns = chunk.columns.iter().enumerate().map(column).collect::<Result<_>>()?;
        Chunk::try_new(groups.nrows(), columns, chunk.origin.merged((0..groups.nrows()).map(|group| groups.range(group))))
    }
}

/// Marks the rows that differ from the previous row.
fn mark_changes(tensor: &Tensor, changes: &mut [bool]) {
    if let Tensor::Leaf(array) = tensor
        && array.null_count() == 0
        && mark_plain(array, changes)
    {
        return;
    }
    for (row, change) in changes.iter_mut().enumerate().skip(1) {
        *change = *change || !tensor.keys_equal(row - 1, tensor, row);
    }
}

/// Does the same for scalars without nulls. Returns whether their type is supported.
fn mark_plain(array: &ArrayRef, changes: &mut [bool]) -> bool {
    use arrow_schema::DataType::*;
    let array = array.as_ref();
    let mut mark = |differs: &dyn Fn(usize, usize) -> bool| {
        for (row, change) in changes.iter_mut().enumerate().skip(1) {
            *change = *change || differs(row - 1, row);
        }
        true
    };
    match array.data_type() {
        // NaN equals NaN: floats take the slow path.
        Float16 | Float32 | Float64 => return false,
        LargeUtf8 => {
            let strings = array.as_string::<i64>();
            return mark(&|a, b| strings.value(a) != strings.value(b));
        }
        LargeBinary => {
            let bytes = array.as_binary::<i64>();
            return mark(&|a, b| bytes.value(a) != bytes.value(b));
        }
        Boolean => {
            let bits = array.as_boolean();
            return mark(&|a, b| bits.value(a) != bits.value(b));
        }
        _ => {}
    }
    downcast_primitive_array!(
        array => {
            let values = array.values();
            mark(&|a, b| values[a] != values[b])
        }
        _ => false,
    )
}
