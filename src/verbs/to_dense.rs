//! `to-dense`: pads ragged fields and converts sparse fields to dense.

use super::shared::args::positive;
use super::shared::edit::{Edits, outer_rank, visit};
use super::shared::fields::FieldArgs;
use super::shared::memory::Budget;
use super::shared::pad_plan::{PaddedField, PaddingPlan};
use super::shared::padding::{AxisSize, PaddingArgs, not_padded};
use super::shared::queue::Queue;
use super::verb::{Bound, ChunkParts, Deferred, Example, Flow, Fold, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::{DType, Field, Schema, Size, Type, every_field};
use crate::tensor::Tensor;
use crate::tensor::pad::Side;
use std::collections::HashSet;
use std::sync::Arc;

/// Pads ragged fields and converts sparse fields to dense.
#[derive(clap::Args, Clone, Debug)]
pub struct ToDense {
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    padding: PaddingArgs,
    /// Side of a row on which to pad and truncate
    #[arg(long, value_name = "SIDE", default_value = "right", value_parser = ["left", "right"])]
    side: String,
    /// Round padded sizes up to a multiple of N, except sizes given as numbers
    #[arg(long, value_name = "N", value_parser = positive)]
    multiple_of: Option<usize>,
    /// Add FIELD/lengths, the length of each row without padding
    #[arg(long)]
    lengths: bool,
    /// Add FIELD/mask, which is false for padding
    #[arg(long)]
    mask: bool,
}

impl Verb for ToDense {
    const NAME: &'static str = "to-dense";
    const SUMMARY: &'static str = "Pad ragged fields and convert sparse fields to dense";
    const ABOUT: &'static str = "\
Pads rows within each record; to pad records to a common length, use `padded-batch`, or `batch` first. \
Every ragged axis becomes uniform in each record: its size is the length of its longest row, or the size given by --shape. Shorter rows are \
padded with --default at the end, longer rows are truncated. A vector is already dense and stays unchanged unless --shape or --multiple-of \
is given.

In a shape, `?` is the length of the longest row in the record, `<=512` the same but at most 512, `512` exactly 512, \
and `max` the longest row of the whole input, which is then kept in memory or, beyond --max-memory, in temporary files (see --temp-dir).

--side left pads and truncates at the start of rows and keeps their ends, which suits language-model prompts; truncated values are lost. \
The values of a sparse tensor are placed by their indices, regardless of the side. --multiple-of rounds up the padded sizes that are not given \
as numbers, but never beyond the limit of an axis such as `<=512`; it does not change the number of rows.

--lengths adds the number of values kept in each row as FIELD/lengths (FIELD/lengths_AXIS if several axes are padded), which `from-dense \
--lengths` reads; --mask adds a bool field FIELD/mask. Neither adds anything for a sparse field.

A field inside structures is padded to its longest row in the record. Structures with ragged axes cannot be padded: they are skipped, or \
rejected if named with -f; promote their fields first. Nulls are an error in every selected field, even where nothing is padded; limit the fields \
with -f.";
    const MEANING: &'static str = "tf.RaggedTensor.to_tensor, tf.sparse.to_dense, sequence_pad";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "a batch of sentences, padded to the longest",
            args: "batch 2 then to-dense --default '<pad>' --lengths",
            input: "{\"words\": [\"John\", \"likes\", \"the\", \"big\", \"dog\"]}\n{\"words\": [\"Mary\", \"sleeps\"]}\n",
            output: "{\"words\":[[\"John\",\"likes\",\"the\",\"big\",\"dog\"],[\"Mary\",\"sleeps\",\"<pad>\",\"<pad>\",\"<pad>\"]],\"words/lengths\":[5,2]}\n",
        },
        Example {
            about: "exactly 4 tokens per record, with a mask",
            args: "to-dense --shape 'tokens=[4]' --default tokens=-1 --mask",
            input: "{\"tokens\": [5, 2]}\n{\"tokens\": [1, 2, 3, 4, 5]}\n",
            output: "{\"tokens\":[5,2,-1,-1],\"tokens/mask\":[true,true,false,false]}\n\
                     {\"tokens\":[1,2,3,4],\"tokens/mask\":[true,true,true,true]}\n",
        },
        Example {
            about: "the end of each prompt, padded on the left",
            args: "to-dense --shape 'prompt=[3]' --side left",
            input: "{\"prompt\": [1, 2, 3, 4, 5]}\n{\"prompt\": [6, 7]}\n",
            output: "{\"prompt\":[3,4,5]}\n{\"prompt\":[0,6,7]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let plan = self.plan(schema, options)?;
        self.note_sparse(&plan, schema, options)?;
        let edits = plan.edits(schema, None)?;
        let dense = Arc::new(edits.schema().clone());
        if !plan.needs_maxima() {
            return Ok(edits.growing(options).bound());
        }
        let positions = plan.fields.iter().map(|f| Ok(schema.find(&f.path)?.0)).collect::<Result<Vec<_>>>()?;
        let maxima = plan.fields.iter().map(|f| vec![0; f.sizes.len()]).collect();
        let queue = Queue::new(Self::NAME, schema, options);
        let fold = Maxima { schema: schema.clone(), options: options.clone(), plan, positions, maxima, queue, edits: None, parts: None };
        Ok(Bound { schema: dense, operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let records = if self.padding.has_max() { None } else { after.records };
        self.fields.demand(Demand { records, ..after }, &["/lengths*", "/mask"])
    }
}

impl ToDense {
    /// Notes that sparse fields get no lengths and no masks.
    fn note_sparse(&self, plan: &PaddingPlan, schema: &Schema, options: &Options) -> Result<()> {
        let option = match (self.lengths, self.mask) {
            (false, false) => return Ok(()),
            (true, false) => "--lengths has",
            (false, true) => "--mask has",
            (true, true) => "--lengths and --mask have",
        };
        for field in &plan.fields {
            if schema.find(&field.path)?.1.ty.is_sparse() {
                options.notices.add(format!("{}: to-dense {option} no effect on a sparse field", field.path), options.strict)?;
            }
        }
        Ok(())
    }

    fn plan(&self, schema: &Schema, options: &Options) -> Result<PaddingPlan> {
        let named = self.fields.resolve(schema)?;
        let mut paths = Vec::new();
        match &named {
            None => inner_fields(&schema.fields, None, &mut paths),
            Some(named) => {
                for path in named {
                    let (_, field) = schema.find(path)?;
                    check_named(schema, path, &field.ty)?;
                    match field.ty.fields() {
                        Some(inner) => inner_fields(inner, Some(path), &mut paths),
                        None => paths.push(path.clone()),
                    }
                }
            }
        }
        let (mut fields, mut checked): (Vec<PaddedField>, Vec<FieldPath>) = (Vec::new(), Vec::new());
        // A field in a structure may be named twice: by its own name and by that of the structure.
        let mut seen = HashSet::new();
        for path in paths.into_iter().filter(|path| seen.insert(path.clone())) {
            let (_, field) = schema.find(&path)?;
            let may_be_null = field.ty.optional || field.ty.with_nulls;
            let Some(dtype) = field.ty.dtype().filter(|d| d.is_tensor() && field.ty.rank() > 0) else {
                let is_scalar = field.ty.rank() == 0 && field.ty.dtype().is_some_and(|d| d.is_tensor() || *d == DType::Null);
                if may_be_null && is_scalar {
                    checked.push(path);
                }
                continue;
            };
            let sizes = self.padding.shape(&path, field.ty.rank())?;
            let is_named = named.is_some() || self.padding.names(&path);
            if sizes.is_none() && self.multiple_of.is_none() && !is_named && !needs_padding(schema, &path, &field.ty) {
                if may_be_null {
                    checked.push(path);
                }
                continue;
            }
            let sizes = sizes.map_or_else(|| vec![AxisSize::Longest; field.ty.rank()], <[_]>::to_vec);
            fields.push(PaddedField { filling: self.padding.wide_filling(&path, dtype)?, sizes, path });
        }
        self.padding.check(schema, &fields.iter().map(|f| f.path.clone()).collect::<Vec<_>>())?;
        Ok(PaddingPlan {
            fields,
            checked,
            side: if self.side == "left" { Side::Left } else { Side::Right },
            multiple_of: self.multiple_of,
            lengths: self.lengths,
            mask: self.mask,
            max_nbytes: Budget::limit(options),
        })
    }
}

/// Fields that are neither structures nor inside structures with ragged axes.
fn inner_fields(fields: &[Field], parent: Option<&FieldPath>, paths: &mut Vec<FieldPath>) {
    // A structure comes before its fields.
    let mut ragged: Option<FieldPath> = None;
    every_field(fields, parent, &mut |path, field| {
        if ragged.as_ref().is_some_and(|outer| path.names().starts_with(outer.names())) {
            return;
        }
        match field.ty.fields() {
            Some(_) if field.ty.is_ragged() => ragged = Some(path),
            Some(_) => {}
            None => paths.push(path),
        }
    });
}

fn check_named(schema: &Schema, path: &FieldPath, ty: &Type) -> Result<()> {
    let mut outer = Some(path.clone());
    while let Some(at) = outer {
        let (_, field) = schema.find(&at)?;
        if let (Some(inner), Some(axis)) = (field.ty.fields(), field.ty.dims.iter().position(|d| d.size == Size::Ragged)) {
            let name = if at == *path { inner.first().map(|f| at.join(&f.name)) } else { Some(path.clone()) };
            let error = Error::usage("is a ragged list of structures, and structures cannot be padded");
            let name = name.unwrap_or(at.clone());
            return Err(error.in_field(&at).on_axis(axis).help(format!("move its fields out first: promote {name} --as {}", name.last())));
        }
        outer = at.parent();
    }
    match ty.dtype() {
        Some(dtype) if !dtype.is_tensor() => Err(not_padded(path, dtype, &ty.dims)),
        _ => Ok(()),
    }
}

/// Whether the field has axes whose sizes can differ within a record.
fn needs_padding(schema: &Schema, path: &FieldPath, ty: &Type) -> bool {
    let several = outer_rank(schema, path) > 0;
    ty.is_sparse() || ty.dims.iter().any(|d| d.size == Size::Ragged || (several && d.size == Size::Uniform))
}

/// Holds all records until the longest rows are known.
struct Maxima {
    schema: Arc<Schema>,
    options: Options,
    plan: PaddingPlan,
    positions: Vec<Vec<usize>>,
    maxima: Vec<Vec<usize>>,
    queue: Queue,
    /// The padding to the maxima, which are known at the end.
    edits: Option<Arc<Edits>>,
    /// What is left of the chunk that is being padded: padding can multiply its size.
    parts: Option<ChunkParts>,
}

impl Fold for Maxima {
    fn push(&mut self, chunk: Chunk, _: &mut Vec<Chunk>) -> Result<Flow> {
        for (positions, maxima) in self.positions.iter().zip(&mut self.maxima) {
            visit(&chunk, positions, &mut |tensor, _| longest_rows(tensor, maxima))?;
        }
        self.queue.push_back(chunk)?;
        Ok(Flow::More)
    }

    fn finish_deferred(&mut self) -> Result<Option<Deferred>> {
        let edits = match &self.edits {
            Some(edits) => edits.clone(),
            None => self.edits.insert(Arc::new(self.plan.edits(&self.schema, Some(&self.maxima))?.growing(&self.options))).clone(),
        };
        loop {
            if let Some(part) = self.parts.as_mut().and_then(Iterator::next) {
                let part = part?;
                let (origin, nrows) = (part.origin.clone(), part.nrows);
                return Ok(Some(Box::new(move || edits.apply(part).map_err(|e| origin.resolve(e, nrows)))));
            }
            let Some(chunk) = self.queue.pop_front()? else { return Ok(None) };
            self.parts = Some(edits.divided(chunk)?);
        }
    }
}

fn longest_rows(tensor: &Tensor, maxima: &mut [usize]) -> Result<()> {
    if let Tensor::Sparse(sparse) = tensor {
        for row in 0..sparse.nrows() {
            for (longest, size) in maxima.iter_mut().zip(sparse.shape_of(row)) {
                *longest =
                    (*longest).max(usize::try_from(*size).map_err(|_| Error::data("the size is too large for this machine").at_row(row))?);
            }
        }
        return Ok(());
    }
    let mut at = tensor;
    for longest in maxima {
        let list = at.as_list()?;
        *longest = (*longest).max(list.partition().max_row_length());
        at = list.values();
    }
    Ok(())
}
