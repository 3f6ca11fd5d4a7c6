//! `partition F --row-lengths G`: partitions axis 0 into rows.

use super::shared::axes::owned_by_structure;
use super::shared::edit::{Edits, Kernel, Scope, outer_rank, remove};
use super::verb::{Bound, Example, Verb};
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::printable::{counted, shell_word};
use crate::schema::{DType, Field, PartitionEncoding, Schema, Size};
use crate::tensor::encoding::Extent;
use crate::tensor::merge::{partition, partitioned_dims};
use crate::tensor::{RowPartition, Tensor, ints};
use std::sync::Arc;

/// Partitions axis 0 of a field into rows.
#[derive(clap::Args, Clone, Debug)]
pub struct Partition {
    /// Field to partition
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    #[command(flatten)]
    by: By,
    /// Field that contains the number of rows; needed with --value-rowids if the last rows are empty
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse, conflicts_with = "uniform")]
    nrows: Option<FieldPath>,
    /// Keep the partition field
    #[arg(long)]
    keep: bool,
}

/// One of the encodings.
#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false)]
struct By {
    /// Field that contains the length of each row
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    row_lengths: Option<FieldPath>,
    /// Field that contains the start of each row and the end of the last
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    row_splits: Option<FieldPath>,
    /// Field that contains the start of each row
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    row_starts: Option<FieldPath>,
    /// Field that contains the end of each row
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    row_limits: Option<FieldPath>,
    /// Field that contains the row of each value, sorted
    #[arg(long, value_name = "FIELD", value_parser = FieldPath::parse)]
    value_rowids: Option<FieldPath>,
    /// Rows of K values
    #[arg(long, value_name = "K", value_parser = super::shared::args::positive)]
    uniform: Option<usize>,
}

impl By {
    fn field(&self) -> Option<(PartitionEncoding, &FieldPath)> {
        let all = [
            (PartitionEncoding::RowLengths, &self.row_lengths),
            (PartitionEncoding::RowSplits, &self.row_splits),
            (PartitionEncoding::RowStarts, &self.row_starts),
            (PartitionEncoding::RowLimits, &self.row_limits),
            (PartitionEncoding::ValueRowids, &self.value_rowids),
        ];
        all.into_iter().find_map(|(encoding, path)| path.as_ref().map(|path| (encoding, path)))
    }
}

impl Verb for Partition {
    const NAME: &'static str = "partition";
    const SUMMARY: &'static str = "Partition axis 0 of a field into rows";
    const ABOUT: &'static str = "\
Groups the items along axis 0 into rows: `[?]` becomes `[?, (?)]`. The partition is read from another field of the \
record, in any of TensorFlow's encodings, and must cover all items; that field is dropped unless --keep is given. \
--uniform K makes rows of K items. The field may be a structure. The inverse is `merge-dims FIELD 0 1`.";
    const MEANING: &'static str = "tf.RaggedTensor.from_row_lengths and similar functions, StructuredTensor.partition_outer_dimension";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "words into sentences, by row lengths",
            args: "partition words --row-lengths lengths",
            input: "{\"words\": [\"John\", \"sleeps\", \"the\", \"big\", \"dog\", \"barks\"], \"lengths\": [2, 0, 4]}\n",
            output: "{\"words\":[[\"John\",\"sleeps\"],[],[\"the\",\"big\",\"dog\",\"barks\"]]}\n",
        },
        Example {
            about: "a vector into rows of three",
            args: "partition x --uniform 3",
            input: "{\"x\": [1, 2, 3, 4, 5, 6]}\n{\"x\": []}\n",
            output: "{\"x\":[[1,2,3],[4,5,6]]}\n{\"x\":[]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, _: &Options) -> Result<Bound> {
        let (_, field) = schema.find(&self.field)?;
        if outer_rank(schema, &self.field) > 0 {
            return Err(owned_by_structure(schema, &self.field, 0));
        }
        if field.ty.rank() == 0 || field.ty.is_sparse() {
            let error = Error::usage(format!("is {} and has no axis 0 to partition", field.ty)).in_field(&self.field);
            let is_key = field.ty.rank() == 0 && self.field.names().len() == 1;
            let split = || format!("to write a file for each value: split --by {} -o '{{}}.jsonl'", shell_word(&self.field.to_string()));
            return Err(if is_key { error.help(split()) } else { error });
        }
        let mut edits = Edits::new(schema);
        let by = self.by.field();
        for path in by.iter().map(|(_, path)| *path).chain(&self.nrows) {
            let (_, partition) = schema.find(path)?;
            let rank = usize::from(Some(path) != self.nrows.as_ref());
            let is_integer = partition.ty.dtype().is_some_and(|d| d.is_integer() || *d == DType::Null);
            if !is_integer || partition.ty.is_sparse() || partition.ty.rank() != rank {
                let wanted = if rank == 0 { "a number, such as int64" } else { "a vector of integers, such as int64[?]" };
                return Err(Error::usage(format!("is {}; expected {wanted}", partition.ty)).in_field(path));
            }
            if path.parent() != self.field.parent() {
                return Err(
                    Error::usage(format!("the partition of {} must be in the same structure as the field", self.field)).in_field(path)
                );
            }
        }
        match by {
            Some((encoding, path)) => self.bind_field(&mut edits, encoding, path)?,
            None => match self.by.uniform {
                Some(size) => self.bind_uniform(&mut edits, size)?,
                None => {
                    let error = Error::usage("no partition given").in_field(&self.field);
                    return Err(error.help("specify the field that contains it, for example --row-lengths FIELD, or use --uniform K"));
                }
            },
        }
        Ok(edits.bound())
    }

    fn demand(&self, after: Demand) -> Demand {
        let paths = [Some(&self.field), self.by.field().map(|(_, path)| path), self.nrows.as_ref()];
        after.and_fields(paths.into_iter().flatten().filter_map(|path| path.names().first().cloned()))
    }
}

impl Partition {
    fn bind_uniform(&self, edits: &mut Edits, size: usize) -> Result<()> {
        let path = self.field.clone();
        edits.change(&self.field, |ty| {
            if let Some(Size::Known(n)) = ty.dims.first().map(|d| d.size)
                && n % size as u64 != 0
            {
                return Err(not_a_multiple(n as usize, size));
            }
            let mut cut = ty.clone();
            cut.dims = partitioned_dims(&ty.dims, Size::Known(size as u64));
            let known = if let Size::Known(n) = cut.dims[0].size { usize::try_from(n).ok() } else { None };
            Ok((cut, move |tensor: &Tensor, scope: &Scope| {
                scope.refuse_nulls(tensor, &path)?;
                let items = tensor.as_list()?.partition();
                if let Some(row) = (0..tensor.nrows()).find(|row| items.row_length(*row) % size != 0) {
                    return Err(not_a_multiple(items.row_length(row), size).with_kind(crate::error::Kind::Data).at_row(row));
                }
                let records = match known {
                    Some(n) => RowPartition::uniform(n, tensor.nrows())?,
                    None => RowPartition::from_row_lengths(items.row_lengths().map(|n| (n / size) as i64))?,
                };
                let groups = RowPartition::uniform(size, records.nvals())?;
                partition(tensor, &records, &groups)
            }))
        })
    }

    fn bind_field(&self, edits: &mut Edits, encoding: PartitionEncoding, by: &FieldPath) -> Result<()> {
        let (path, by, nrows, keep) = (self.field.clone(), by.clone(), self.nrows.clone(), self.keep);
        edits.beside(&self.field, move |fields: &mut Vec<Field>, position| {
            let find = |path: &FieldPath| fields.iter().position(|f| f.name == path.last());
            let other = find(&by).unwrap_or(position);
            let count = nrows.as_ref().and_then(find);
            fields[position].ty.dims = partitioned_dims(&fields[position].ty.dims, Size::Ragged);
            let gone: Vec<usize> =
                if keep { Vec::new() } else { [Some(other), count].into_iter().flatten().filter(|i| *i != position).collect() };
            remove(fields, &gone);
            Ok(Box::new(move |mut tensors: Vec<Tensor>, scope: &Scope| {
                scope.refuse_nulls(&tensors[position], &path)?;
                scope.refuse_nulls(&tensors[other], &by)?;
                let count = count.map(|i| ints::numbers(&tensors[i])).transpose()?;
                let (rows, numbers) = ints::vectors(&tensors[other]).map_err(|e| e.in_field(&by))?;
                let items = tensors[position].as_list()?.partition();
                let extent = |record, _: &[i64]| {
                    let nrows = count.as_ref().map(|n| n[record]);
                    Ok(Extent::of_values(items.row_length(record)).with_nrows(nrows))
                };
                let (records, groups) = RowPartition::decode_records(encoding, &rows, &numbers, extent).map_err(|e| e.in_field(&by))?;
                tensors[position] = partition(&tensors[position], &records, &groups)?;
                remove(&mut tensors, &gone);
                Ok(tensors)
            }) as Kernel)
        })
    }
}

fn not_a_multiple(items: usize, size: usize) -> Error {
    Error::usage(format!("axis 0 has {}, which is not a multiple of {size}", counted(items as u64, "item")))
}
