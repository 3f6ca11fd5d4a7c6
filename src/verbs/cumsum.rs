//! `cumsum FIELD`: running totals across records.

use super::shared::key_table::KeyTable;
use super::shared::keys::{KeyField, Keys, key_columns};
use super::shared::number::NumberField;
use super::verb::{Bound, Example, Flow, Fold, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::expr;
use crate::options::Options;
use crate::path::{FieldPath, new_name, quoted};
use crate::printable::shell_word;
use crate::schema::{DType, Field, Schema, Type};
use crate::tensor::{Tensor, ints};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use std::sync::Arc;

/// Running totals across records.
#[derive(clap::Args, Clone, Debug)]
pub struct Cumsum {
    /// Field to sum, a number in each record; also inside structures, such as a.b
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    /// Keep a separate total for each combination of values of these fields
    #[arg(long, value_name = "FIELDS", value_parser = Keys::parse)]
    by: Option<Keys>,
    /// Name of the new field [default: FIELD_cumsum]
    #[arg(long = "as", value_name = "NAME", value_parser = new_name)]
    name: Option<String>,
    /// Exclude the record itself from its total
    #[arg(long)]
    exclusive: bool,
}

impl Verb for Cumsum {
    const NAME: &'static str = "cumsum";
    const COMPUTES: bool = true;
    const SUMMARY: &'static str = "Add running totals of a field across records";
    const ABOUT: &'static str = "\
Appends a field with the sum of FIELD over this record and all records before it (with --by, only those with the same key). Integers are \
summed in int64, and an overflow is an error; floats are summed in float64, in the order of the records. Nulls are an error: replace them \
first with `fill-null`. The totals of all keys are kept in memory (see --max-memory). To sum along a list inside each record, use the \
function cumsum: map 'y = cumsum(x)'.";
    const MEANING: &'static str = "tf.data.Dataset.scan, tf.math.cumsum";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "bytes so far",
            args: "cumsum nbytes --as total",
            input: "{\"nbytes\": 5}\n{\"nbytes\": 7}\n{\"nbytes\": 1}\n",
            output: "{\"nbytes\":5,\"total\":5}\n{\"nbytes\":7,\"total\":12}\n{\"nbytes\":1,\"total\":13}\n",
        },
        Example {
            about: "what each user had spent before each record",
            args: "cumsum price --by user --exclusive --as before",
            input: "{\"user\": \"a\", \"price\": 1.5}\n{\"user\": \"b\", \"price\": 2.0}\n{\"user\": \"a\", \"price\": 4.0}\n",
            output: "{\"user\":\"a\",\"price\":1.5,\"before\":0.0}\n{\"user\":\"b\",\"price\":2.0,\"before\":0.0}\n\
                     {\"user\":\"a\",\"price\":4.0,\"before\":1.5}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let field = NumberField::find(&self.field, schema, Self::NAME)?;
        let name = self.name();
        if schema.index_of(&name).is_some() {
            let error = Error::usage(format!("the records already have a field named {}", quoted(&name)));
            return Err(error.help("choose another name for the new field: --as NAME"));
        }
        let keys =
            self.by.as_ref().map_or(Ok(Vec::new()), |by| by.fields(schema, &format!("cumsum {}", shell_word(&self.field.to_string()))))?;
        let mut fields = schema.fields.clone();
        let dtype = if field.is_float { DType::Float64 } else { DType::Int64 };
        fields.push(Field::new(name, Type::tensor(dtype, Vec::new())));
        let way_out = "use fewer --by fields, or a coarser key computed with map";
        let totals = Totals {
            keys,
            is_exclusive: self.exclusive,
            table: KeyTable::new(Self::NAME, way_out, options),
            sums: if field.is_float { Sums::Floats(Vec::new()) } else { Sums::Integers(Vec::new()) },
            field,
        };
        Ok(Bound { schema: Arc::new(Schema::new(fields)), operator: Operator::Fold(Box::new(totals)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let keys = self.by.iter().flat_map(Keys::names);
        // Read an existing field with the new name too, so that the clash is reported.
        after.and_fields(self.field.names().first().cloned().into_iter().chain([self.name()]).chain(keys))
    }
}

impl Cumsum {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{}_cumsum", self.field.last()))
    }
}

struct Totals {
    field: NumberField,
    keys: Vec<KeyField>,
    is_exclusive: bool,
    table: KeyTable,
    sums: Sums,
}

/// The running total of each key, indexed by key number. With --exclusive, a total may exceed int64 if it is not written.
enum Sums {
    Integers(Vec<i128>),
    Floats(Vec<f64>),
}

impl Fold for Totals {
    fn push(&mut self, chunk: Chunk, out: &mut Vec<Chunk>) -> Result<Flow> {
        let keys = match self.keys.is_empty() {
            true => vec![0; chunk.nrows],
            false => self.table.insert(&key_columns(&self.keys, &chunk)?)?.numbers,
        };
        let nkeys = self.table.len().max(1);
        let values = self.field.of(&chunk)?;
        let values = values.as_leaf()?;
        let null = (0..chunk.nrows).find(|row| values.is_null(*row));
        let mut bad = null.map(|row| self.field.null_at(row));
        // The rows before a bad one are passed on.
        let before = null.unwrap_or(chunk.nrows);
        let totals: ArrayRef = match &mut self.sums {
            Sums::Integers(sums) => {
                sums.resize(nkeys, 0);
                let values = ints::int128(values)?;
                let mut totals = Vec::with_capacity(chunk.nrows);
                for (row, key) in keys.iter().enumerate().take(before) {
                    let sum = &mut sums[*key as usize];
                    let after = *sum + values[row];
                    let written = if self.is_exclusive { *sum } else { after };
                    let Ok(total) = i64::try_from(written) else {
                        bad = Some(self.field.error_at(row, "the total exceeds the range of int64"));
                        break;
                    };
                    totals.push(total);
                    *sum = after;
                }
                Arc::new(Int64Array::from(totals))
            }
            Sums::Floats(sums) => {
                sums.resize(nkeys, 0.0);
                let wide = expr::cast(values, &DType::Float64)?;
                let values = wide.as_primitive::<Float64Type>().values();
                let total = |(value, key): (&f64, &u32)| {
                    let sum = &mut sums[*key as usize];
                    let before = *sum;
                    *sum += value;
                    if self.is_exclusive { before } else { *sum }
                };
                Arc::new(Float64Array::from_iter_values(values.iter().zip(&keys).take(before).map(total)))
            }
        };
        let before = chunk.slice(0, totals.len());
        if before.nrows > 0 {
            let mut columns = before.columns.clone();
            columns.push(Tensor::Leaf(totals));
            out.push(before.with_columns(columns)?);
        }
        bad.map_or(Ok(Flow::More), Err)
    }
}
