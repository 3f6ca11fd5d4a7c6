//! `pack -f tokens --length 2048`: packs sequences into rows of a fixed length.

mod build;

use crate::demand::Demand;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::path::{FieldPath, quoted};
use crate::printable::shell_word;
use crate::schema::{DType, Dim, Field, Schema, Size, Type, filling};
use crate::tensor::batch::batched_type;
use crate::verbs::shared::args::positive;
use crate::verbs::shared::batches::names;
use crate::verbs::shared::fields::FieldArgs;
use crate::verbs::shared::packing::{OpenRows, Strategy, WINDOW};
use crate::verbs::shared::padding::{FieldValue, PaddingArgs, parse_default};
use crate::verbs::shared::pool::Pool;
use crate::verbs::verb::{Bound, Example, Operator, Verb};
use build::{Empty, Overflow, PackedField, Packing, Positions, RowLayout};
use std::collections::HashSet;
use std::sync::Arc;

/// The names of the fields that are added.
const SEGMENT_IDS: &str = "segment_ids";
const POSITIONS: &str = "positions";

/// Packs sequences into rows of a fixed length.
#[derive(clap::Args, Clone, Debug)]
pub struct Pack {
    #[command(flatten)]
    fields: FieldArgs,
    /// Items per row
    #[arg(long, value_name = "N", value_parser = positive)]
    length: usize,
    /// How to place sequences in rows
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    strategy: Strategy,
    /// Maximum number of open rows, or of sequences sorted at a time: larger values reduce padding and use more memory
    /// [default: 1000]
    #[arg(long, value_name = "N", value_parser = positive)]
    window: Option<usize>,
    /// Value appended to each sequence, such as tokens=2, or 2 for all fields
    #[arg(long = "separator", value_name = "FIELD=VALUE", allow_hyphen_values = true, value_parser = parse_default)]
    separators: Vec<FieldValue>,
    /// Padding value, such as labels=-100, or -1 for all fields [default: 0, "", False]
    #[arg(long = "default", value_name = "FIELD=VALUE", allow_hyphen_values = true, value_parser = parse_default)]
    defaults: Vec<FieldValue>,
    /// What to do with a sequence longer than a row [default: error]
    #[arg(long, value_name = "HOW", value_enum)]
    overflow: Option<Overflow>,
    /// Positions of the pieces of a split sequence
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    positions: Positions,
    /// What to do with a record whose sequence is empty
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    empty: Empty,
}

impl Verb for Pack {
    const NAME: &'static str = "pack";
    const SUMMARY: &'static str = "Pack sequences into rows of a fixed length";
    const ABOUT: &'static str = "\
Packs the sequences of several records into rows of --length items, to minimize padding. Each row becomes a record \
with the packed fields, `segment_ids` (the sequences of the row, numbered from 1; 0 for padding) and `positions` (the \
position of each item in its sequence, from 0).

Fields packed together, such as tokens and their labels (-f tokens,labels), stay aligned; in each record they must have the same \
length. Without -f, all vectors are packed. Every other field gains axis 0, with one item per sequence in the row; drop unneeded fields \
first with `select`. Records with an empty sequence are dropped and counted; --empty keep keeps them: each becomes a segment that is empty or contains only the separator.

A sequence goes into the first open row with enough room (first-fit, the default) or into the one it fits best (best-fit). At most \
--window rows are open; when another one is needed, the oldest is written. best-fit-decreasing places --window sequences at a time, longest first, and then writes all rows: it packs the most densely, but changes the order.

A sequence longer than a row is an error unless --overflow says otherwise. With --strategy concat, sequences are concatenated and split \
where a row ends; only the last row is padded. Each piece of a sequence is a separate segment, with positions that start at 0 or, with \
--positions continue, at the position of its first item in the sequence.

--separator is appended to each sequence and counts as part of it. Nulls are an error.";
    const MEANING: &'static str = "sequence packing for language models; the fields are named as in T5X and seqio";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "three sequences in two rows of 6",
            args: "pack -f tokens --length 6",
            input: "{\"tokens\": [11, 12, 13, 14]}\n{\"tokens\": [21, 22, 23]}\n{\"tokens\": [31, 32]}\n",
            output: "{\"tokens\":[11,12,13,14,31,32],\"segment_ids\":[1,1,1,1,2,2],\"positions\":[0,1,2,3,0,1]}\n\
                     {\"tokens\":[21,22,23,0,0,0],\"segment_ids\":[1,1,1,0,0,0],\"positions\":[0,1,2,0,0,0]}\n",
        },
        Example {
            about: "concatenated, with an end-of-text token, and labels",
            args: "pack -f tokens,labels --length 4 --strategy concat --separator tokens=2 --separator labels=-100 --default labels=-100 then drop positions",
            input: "{\"tokens\": [11, 12], \"labels\": [1, 1]}\n{\"tokens\": [21, 22, 23], \"labels\": [1, 0, 1]}\n",
            output: "{\"tokens\":[11,12,2,21],\"labels\":[1,1,-100,1],\"segment_ids\":[1,1,1,2]}\n\
                     {\"tokens\":[22,23,2,0],\"labels\":[0,1,-100,-100],\"segment_ids\":[1,1,1,0]}\n",
        },
        Example {
            about: "a long sequence in pieces whose positions continue",
            args: "pack -f tokens --length 4 --overflow split --positions continue",
            input: "{\"tokens\": [11, 12, 13, 14, 15, 16]}\n{\"tokens\": [21, 22]}\n",
            output: "{\"tokens\":[11,12,13,14],\"segment_ids\":[1,1,1,1],\"positions\":[0,1,2,3]}\n\
                     {\"tokens\":[15,16,21,22],\"segment_ids\":[1,1,2,2],\"positions\":[4,5,0,1]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let overflow = match (self.strategy, self.overflow) {
            (Strategy::Concat, None | Some(Overflow::Split)) => Overflow::Split,
            (Strategy::Concat, Some(_)) => {
                return Err(Error::usage(
                    "--strategy concat splits every sequence where a row ends; --overflow applies only to the other strategies",
                ));
            }
            (_, overflow) => overflow.unwrap_or(Overflow::Error),
        };
        if self.window.is_some() && matches!(self.strategy, Strategy::Concat) {
            return Err(Error::usage("--strategy concat fills one row at a time; --window applies only to the other strategies"));
        }
        let packed = self.packed(schema)?;
        // The packed fields, segment_ids and positions.
        let row_nbytes = (packed.len() as u64 + 2).saturating_mul(8).saturating_mul(self.length as u64);
        if row_nbytes > options.max_memory {
            let error = Error::usage(format!("--length {}: a row of that length needs more memory than is allowed", self.length));
            return Err(error.help("choose a smaller --length, or raise the limit with --max-memory"));
        }
        for name in [SEGMENT_IDS, POSITIONS] {
            if schema.index_of(name).is_some() {
                let error = Error::usage(format!("the records already have a field named {name}, which pack would add"));
                return Err(error.help(format!("rename or drop it first: drop {}", shell_word(name))));
            }
        }
        let row = Dim::known(self.length as u64);
        let mut fields = Vec::new();
        let is_packed: HashSet<usize> = packed.iter().map(|p| p.position).collect();
        for (position, field) in schema.fields.iter().enumerate() {
            let ty = if is_packed.contains(&position) {
                let inner = field.ty.dims[1..].iter().cloned();
                let dims = std::iter::once(Dim { label: field.ty.dims[0].label.clone(), ..row.clone() }).chain(inner).collect();
                Type { dims, optional: false, with_nulls: false, ..field.ty.clone() }
            } else {
                batched_type(&field.ty, Size::Uniform)
            };
            fields.push(Field::new(field.name.clone(), ty));
        }
        let numbers = || Type::tensor(DType::Int64, vec![row.clone()]);
        fields.extend([Field::new(SEGMENT_IDS, numbers()), Field::new(POSITIONS, numbers())]);
        let filling = filling::filling(schema, packed.iter().map(|field| &field.path));
        let layout = RowLayout { packed, names: names(schema), length: self.length, positions: self.positions, filling };
        let rows = OpenRows::new(self.strategy, self.length, self.window.unwrap_or(WINDOW));
        let pool = Pool::new("pack", "use a smaller --window, or drop fields first (select)", options);
        let fold = Packing::new(layout, rows, pool, (overflow, self.empty), options);
        Ok(Bound { schema: Arc::new(Schema::new(fields)), operator: Operator::Fold(Box::new(fold)) })
    }

    fn demand(&self, after: Demand) -> Demand {
        let after = Demand { records: None, ..after }.and_fields([SEGMENT_IDS, POSITIONS].map(str::to_owned));
        self.fields.demand(after, &[])
    }
}

impl Pack {
    /// The fields to pack, in schema order.
    fn packed(&self, schema: &Schema) -> Result<Vec<PackedField>> {
        let named = self.fields.resolve(schema)?;
        let paths = match named {
            Some(named) => named,
            None => schema.fields.iter().filter(|f| misfit(&f.ty).is_none()).map(|f| FieldPath::name(&f.name)).collect(),
        };
        if paths.is_empty() {
            return Err(Error::usage("no field is a sequence, such as int64[?]")
                .help("`schema` lists the fields; `promote` moves fields out of structures"));
        }
        let (separators, fillings) = (PaddingArgs::of_defaults(&self.separators), PaddingArgs::of_defaults(&self.defaults));
        for path in &paths {
            let (positions, field) = schema.find(path)?;
            if positions.len() > 1 {
                let error = Error::usage("is inside a structure; only fields of the record are packed").in_field(path);
                return Err(error.help(format!(
                    "move it out first: promote {} --as {}",
                    shell_word(&path.to_string()),
                    shell_word(&quoted(path.last()))
                )));
            }
            if let Some(misfit) = misfit(&field.ty) {
                let error = Error::usage(misfit).in_field(path);
                return Err(if field.ty.is_ragged() {
                    error.help(format!("flatten it first: merge-dims {} 0 -1", shell_word(&path.to_string())))
                } else {
                    error
                });
            }
        }
        separators.check_values(("--separator", "packed"), schema, &paths)?;
        fillings.check_values(("--default", "packed"), schema, &paths)?;
        let mut packed = Vec::new();
        for path in &paths {
            let Some(position) = schema.index_of(path.last()) else { continue };
            let field = &schema.fields[position];
            let dtype = field.ty.dtype().cloned().unwrap_or(DType::Null);
            let block = field.ty.dims[1..].iter().map(|d| if let Size::Known(n) = d.size { n as usize } else { 1 }).product();
            let separator = match separators.given(path, &dtype).map_err(|e| e.help("given by --separator"))? {
                Some(one) => Some(crate::tensor::gather::take(&one, &vec![0; block])?),
                None if self.separators.is_empty() => None,
                None => {
                    let error = Error::usage("has no separator, but other packed fields have one").in_field(path);
                    return Err(error.help(format!("add --separator '{path}=VALUE'")));
                }
            };
            packed.push(PackedField { path: path.clone(), position, block, separator, filling: fillings.filling(path, &dtype)? });
        }
        Ok(packed)
    }
}

/// Explains why a field of that type is not a sequence.
fn misfit(ty: &Type) -> Option<String> {
    let is_tensor = ty.dtype().is_some_and(DType::is_tensor) && !ty.is_sparse();
    let is_sequence = is_tensor && ty.rank() > 0 && ty.dims[1..].iter().all(|d| matches!(d.size, Size::Known(_)));
    (!is_sequence).then(|| format!("is {ty}; only sequences of single values or of rows of known size are packed"))
}
