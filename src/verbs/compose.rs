//! `compose F --encoding E`: builds a ragged field from flat values and row partitions.

use super::shared::args::parse_encoding;
use super::shared::edit::{Edits, Kernel, Scope, outer_rank, remove};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::schema::{DType, Dim, Field, PartitionEncoding, Schema};
use crate::tensor::encoding::Extent;
use crate::tensor::{RowPartition, Tensor, ints};
use arrow_buffer::ScalarBuffer;
use std::sync::Arc;

/// Builds a ragged field from flat values and row partitions.
#[derive(clap::Args, Clone, Debug)]
pub struct Compose {
    /// Field to build from FIELD/values and FIELD/E_1 ...
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    /// Encoding of the partitions: row_lengths, row_splits, row_starts, row_limits, value_rowids, lod, lod_offsets
    #[arg(long, value_name = "E", value_parser = parse_encoding)]
    encoding: PartitionEncoding,
}

impl Verb for Compose {
    const NAME: &'static str = "compose";
    const SUMMARY: &'static str = "Build a ragged field from flat values and row partitions";
    const ABOUT: &'static str = "\
The inverse of `decompose`: FIELD/values is partitioned by FIELD/E_1, FIELD/E_2 ..., outermost first; each partition \
must cover exactly the rows of the next. With value_rowids, FIELD/nrows_1 ... may contain the number of rows of each partition; otherwise its last row id determines the number. These fields are replaced by FIELD, whose axes after the first are ragged.";
    const MEANING: &'static str = "tf.RaggedTensor.from_nested_row_splits and similar functions; Paddle's create_lod_tensor";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "two articles of 2 and 1 sentences, which have 3, 1 and 2 words",
            args: "compose words --encoding lod",
            input: "{\"words/values\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"], \"words/lod_1\": [2, 1], \"words/lod_2\": [3, 1, 2]}\n",
            output: "{\"words\":[[[\"a\",\"b\",\"c\"],[\"d\"]],[[\"e\",\"f\"]]]}\n",
        },
        Example {
            about: "from row splits",
            args: "compose x --encoding row_splits",
            input: "{\"x/values\": [3, 1, 4], \"x/row_splits_1\": [0, 2, 2, 3]}\n",
            output: "{\"x\":[[3,1],[],[4]]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let beside = |suffix: &str| {
            let name = format!("{}/{suffix}", self.field.last());
            self.field.parent().map_or_else(|| FieldPath::name(&name), |p| p.join(&name))
        };
        let values = beside("values");
        let (_, flat) = schema.find(&values).map_err(|e| {
            e.help(format!("compose {} requires the fields {values} and {}", self.field, beside(&format!("{}_1", self.encoding.name()))))
        })?;
        if flat.ty.rank() == 0 || flat.ty.is_sparse() {
            return Err(Error::usage(format!("is {}; expected flat values (a vector)", flat.ty)).in_field(&values));
        }
        if outer_rank(schema, &self.field) > 0 && schema.find(&self.field).is_ok() {
            return Err(Error::usage("already exists").in_field(&self.field));
        }
        let mut levels = Vec::new();
        loop {
            let path = beside(&format!("{}_{}", self.encoding.name(), levels.len() + 1));
            let Ok((_, field)) = schema.find(&path) else {
                if levels.is_empty() {
                    schema.find(&path)?;
                }
                break;
            };
            let is_vector = field.ty.rank() == 1 && !field.ty.is_sparse();
            if !is_vector || !field.ty.dtype().is_some_and(|d| d.is_integer() || *d == DType::Null) {
                return Err(Error::usage(format!("is {}; expected a vector of integers", field.ty)).in_field(&path));
            }
            levels.push(path);
        }
        let counts: Vec<FieldPath> = if self.encoding == PartitionEncoding::ValueRowids {
            (1..=levels.len()).map(|level| beside(&format!("nrows_{level}"))).filter(|path| schema.find(path).is_ok()).collect()
        } else {
            Vec::new()
        };
        if !counts.is_empty() && counts.len() != levels.len() {
            return Err(Error::usage(format!("found {} nrows fields for {} levels", counts.len(), levels.len())).in_field(&self.field));
        }
        let mut edits = Edits::new(schema);
        let (encoding, path) = (self.encoding, self.field.clone());
        edits.beside(&values, move |fields: &mut Vec<Field>, position| {
            let place = |path: &FieldPath| {
                fields
                    .iter()
                    .position(|f| f.name == path.last())
                    .ok_or_else(|| Error::usage(format!("no field named {}", quoted(path.last()))))
            };
            let parts = levels.iter().map(|path| Ok((place(path)?, path.clone()))).collect::<Result<Vec<_>>>()?;
            let counts = counts.iter().map(place).collect::<Result<Vec<_>>>()?;
            let gone: Vec<usize> = parts.iter().map(|(i, _)| *i).chain(counts.iter().copied()).collect();
            let inner = fields[position].ty.dims[1..].to_vec();
            let ragged = std::iter::repeat_n(Dim::RAGGED, parts.len());
            fields[position].ty.dims = std::iter::once(Dim::UNIFORM).chain(ragged).chain(inner).collect();
            fields[position].name = path.last().to_owned();
            remove(fields, &gone);
            Ok(Box::new(move |mut tensors: Vec<Tensor>, scope: &Scope| {
                scope.refuse_nulls(&tensors[position], &path)?;
                let counts = counts.iter().map(|i| ints::numbers(&tensors[*i])).collect::<Result<Vec<_>>>()?;
                let mut levels = Vec::new();
                for (i, path) in &parts {
                    scope.refuse_nulls(&tensors[*i], path)?;
                    let (rows, numbers) = ints::vectors(&tensors[*i]).map_err(|e| e.in_field(path))?;
                    levels.push(Level { path, rows, numbers });
                }
                tensors[position] = composed(&tensors[position], &levels, &counts, encoding)?;
                remove(&mut tensors, &gone);
                Ok(tensors)
            }) as Kernel)
        })?;
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        let nested = self.field.names().len() > 1;
        let names = self
            .field
            .names()
            .first()
            .into_iter()
            .flat_map(|name| if nested { vec![name.clone()] } else { vec![name.clone(), format!("{name}/*")] });
        after.and_fields(names)
    }
}

/// The partitions of one level, one per record.
struct Level<'a> {
    path: &'a FieldPath,
    rows: RowPartition,
    numbers: ScalarBuffer<i64>,
}

/// Decodes the levels from the innermost outwards: each level must have as many values as the level below has rows.
fn composed(values: &Tensor, levels: &[Level], counts: &[ScalarBuffer<i64>], encoding: PartitionEncoding) -> Result<Tensor> {
    let list = values.as_list()?;
    let mut covered = list.partition().clone();
    let mut tensor = list.values().clone();
    for (number, level) in levels.iter().enumerate().rev() {
        let extent = |record, _: &[i64]| {
            let nrows = counts.get(number).map(|n| n[record]);
            Ok(Extent::of_values(covered.row_length(record)).with_nrows(nrows))
        };
        let (ends, rows) =
            RowPartition::decode_records(encoding, &level.rows, &level.numbers, extent).map_err(|e| e.in_field(level.path))?;
        tensor = Tensor::list(rows, tensor, None)?;
        covered = ends;
    }
    Tensor::list(covered, tensor, list.validity().cloned())
}
