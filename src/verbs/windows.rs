//! `windows FIELD`: groups the values of a list into sliding windows.

use super::shared::divided::by_rows;
use super::shared::edit::{Edits, Scope};
use super::shared::windowing::Windowing;
use super::verb::{Bound, ChunkParts, Example, Map, Operator, Verb};
use crate::chunk::Chunk;
use crate::demand::Demand;
use crate::error::{Error, Reason, Result};
use crate::options::Options;
use crate::path::FieldPath;
use crate::schema::literal::parse_literal_for;
use crate::schema::{Dim, Literal, Schema, Size};
use crate::tensor::literal::literal_array;
use crate::tensor::{RowPartition, Tensor};
use std::ops::Range;
use std::sync::Arc;

/// Groups the values of a list into overlapping windows.
#[derive(clap::Args, Clone, Debug)]
pub struct Windows {
    /// Field to divide, along its axis 0
    #[arg(value_name = "FIELD", value_parser = FieldPath::parse)]
    field: FieldPath,
    #[command(flatten)]
    windowing: Windowing,
    /// Pad windows of fewer than W values with VALUE
    #[arg(long, value_name = "VALUE", conflicts_with = "drop_remainder", allow_hyphen_values = true)]
    pad: Option<String>,
}

impl Verb for Windows {
    const NAME: &'static str = "windows";
    const SUMMARY: &'static str = "Group the values of a list into sliding windows";
    const ABOUT: &'static str = "\
In each record, a window starts at every S-th value of FIELD and contains W values, K apart: `[?]` becomes `[?, (?)]` or, with \
--drop-remainder or --pad, `[?, W]`. An empty list has no windows. Windows at the end of a list may contain fewer values; --drop-remainder \
drops them, --pad fills them. Without --pad, the field may also be a list of structures or have further axes. A null list stays null. For \
windows of consecutive records, use `window`. To write each window as a record: windows FIELD ... then explode FIELD.";
    const MEANING: &'static str = "tf.signal.frame, tf.data.Dataset.window";
    const EXAMPLES: &'static [Example] = &[
        Example {
            about: "blocks of 4 tokens that overlap by 2; the rest is padded",
            args: "windows tokens --size 4 --shift 2 --pad 0",
            input: "{\"tokens\": [1, 2, 3, 4, 5]}\n{\"tokens\": []}\n",
            output: "{\"tokens\":[[1,2,3,4],[3,4,5,0],[5,0,0,0]]}\n{\"tokens\":[]}\n",
        },
        Example {
            about: "one record for each pair of consecutive words",
            args: "windows words --size 2 --shift 1 --drop-remainder then explode words",
            input: "{\"words\": [\"the\", \"big\", \"dog\"]}\n{\"words\": [\"hush\"]}\n",
            output: "{\"words\":[\"the\",\"big\"]}\n{\"words\":[\"big\",\"dog\"]}\n",
        },
    ];

    fn bind(&self, schema: &Arc<Schema>, options: &Options) -> Result<Bound> {
        let mut edits = Edits::new(schema);
        let windowing = self.windowing;
        let max_items = usize::try_from(options.max_memory / ITEM_NBYTES).unwrap_or(usize::MAX);
        edits.change(&self.field, |ty| {
            if ty.rank() == 0 || ty.is_sparse() {
                let error = Error::usage(format!("is {ty} and has no axis 0 to divide"));
                return Err(error.help("for windows of consecutive records, use `window`"));
            }
            let padding = match &self.pad {
                None => None,
                Some(text) => Some(self.padding(text, ty)?),
            };
            let mut windowed = ty.clone();
            let inner = if windowing.drop_remainder || padding.is_some() { Size::Known(windowing.size as u64) } else { Size::Ragged };
            let outer = match ty.dims[0].size {
                Size::Known(n) => usize::try_from(n).map_or(Size::Uniform, |n| Size::Known(windowing.starts(n).count() as u64)),
                _ => Size::Uniform,
            };
            windowed.dims.splice(0..1, [Dim::of(outer), Dim::of(inner)]);
            Ok((windowed, move |tensor: &Tensor, _: &Scope| apply(windowing, tensor, padding.as_ref(), max_items)))
        })?;
        let Bound { schema, operator } = edits.bound();
        let Operator::Map(windows) = operator else { return Err(Error::internal("a change of fields that is not a map")) };
        // A short list can be padded to a full window.
        let growth = if self.pad.is_some() { windowing.size } else { windowing.size.div_ceil(windowing.shift()) };
        Ok(Bound { schema, operator: Operator::Map(Arc::new(Multiplying { windows, growth })) })
    }

    fn demand(&self, after: Demand) -> Demand {
        after.and_fields(self.field.names().first().cloned())
    }
}

impl Windows {
    /// One row of the value that fills short windows.
    fn padding(&self, text: &str, ty: &crate::schema::Type) -> Result<Tensor> {
        let Some(dtype) = ty.dtype().filter(|_| ty.rank() == 1) else {
            let error = Error::usage(format!("is {ty}, but --pad applies only to vectors"));
            return Err(error.help("drop short windows: --drop-remainder").help("or pad afterwards: to-dense"));
        };
        let literal = parse_literal_for(text, Some(dtype)).unwrap_or_else(|_| Literal::String(text.to_owned()));
        Ok(Tensor::Leaf(literal_array(&literal, dtype).map_err(|e| Error::usage(format!("--pad {text}: {}", e.message())))?))
    }
}

/// Chunks are not divided for windows that take at most this many times the memory of the list.
const SMALL_GROWTH: usize = 4;

/// Overlapping windows take more memory than the list.
struct Multiplying {
    windows: Arc<dyn Map>,
    growth: usize,
}

impl Map for Multiplying {
    fn apply(&self, chunk: Chunk) -> Result<Chunk> {
        self.windows.apply(chunk)
    }
    fn keeps_rows(&self) -> bool {
        self.windows.keeps_rows()
    }
    fn keeps_count(&self) -> bool {
        self.windows.keeps_count()
    }
    fn grows(&self) -> bool {
        self.growth > SMALL_GROWTH
    }
    fn divided(&self, chunk: Chunk) -> Result<ChunkParts> {
        Ok(Box::new(by_rows(chunk, self.growth).map(Ok)))
    }
}

/// The index of an item, and the item.
const ITEM_NBYTES: u64 = 16;

fn too_large() -> Error {
    Error::data("its windows need more memory than is allowed").help("make them smaller or fewer")
}

/// `[n, (a), ...]` becomes `[n, (w), (s), ...]`; null rows stay null. Copies the values: O(windows * size).
///
/// # Errors
/// The windows have more than `max_items` items.
fn apply(windowing: Windowing, tensor: &Tensor, padding: Option<&Tensor>, max_items: usize) -> Result<Tensor> {
    let list = tensor.as_list()?;
    let (partition, values) = (list.partition(), list.values());
    let padded = padding.map(|padding| Tensor::concat(&[values, padding])).transpose()?;
    let (mut rows, mut counts, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..partition.nrows() {
        let Range { start, end } = partition.range(row);
        let before = lengths.len();
        for first in windowing.starts(end - start) {
            let len = windowing.len(first, end - start);
            let filled = if padded.is_some() { windowing.size } else { len };
            if rows.len().saturating_add(filled) > max_items {
                return Err(too_large().at_row(row).help("or raise the limit with --max-memory"));
            }
            rows.extend((0..len).map(|number| start + first + number * windowing.stride));
            rows.resize(rows.len() + filled - len, values.nrows());
            lengths.push(filled as i64);
        }
        counts.push((lengths.len() - before) as i64);
    }
    let is_known = windowing.drop_remainder || padded.is_some();
    let windows = if is_known { RowPartition::uniform(windowing.size, lengths.len())? } else { RowPartition::from_row_lengths(lengths)? };
    // Its items may be long lists.
    let items =
        padded.as_ref().unwrap_or(values).gather(&rows).map_err(|e| if e.reason() == Some(&Reason::TooLarge) { too_large() } else { e })?;
    let outer = match partition.uniform_row_length() {
        Some(n) => RowPartition::uniform(windowing.starts(n).count(), partition.nrows())?,
        None => RowPartition::from_row_lengths(counts)?,
    };
    Tensor::list(outer, Tensor::list(windows, items, None)?, list.validity().cloned())
}
