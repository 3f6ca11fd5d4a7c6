//! One column of a block: the features of one leaf in all records, to a tensor.

use super::entries::Entries;
use super::plan::{Absent, Cut, Leaf, Shape};
use super::steps;
use super::values::{Append, Doubles, Floats, Ints, Nothing, Store, Texts};
use super::wire::{self, Flaw, Kind, Parse, flaw};
use crate::error::{Error, Result};
use crate::schema::{DType, Dim, Size};
use crate::tensor::encoding::{Extent, InvalidPartition};
use crate::tensor::{RowPartition, Tensor};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use std::ops::Range;

/// Where a feature stands in the block; empty: the record has none, or one without a kind.
pub type Span = Range<usize>;

/// The features of a block: where each stands in each record.
pub struct Features<'a> {
    pub bytes: &'a [u8],
    pub nrows: usize,
    /// By feature of the plan, then by record.
    pub spans: Vec<Vec<Span>>,
    /// The same of the feature lists of tf.SequenceExample, an empty one being something else than none.
    pub lists: Option<Vec<Vec<Option<Span>>>>,
    /// More rows than this in one record are more than its bytes could hold.
    pub max_rows: usize,
}

impl Features<'_> {
    pub fn span(&self, feature: usize, row: usize) -> Span {
        self.spans.get(feature).and_then(|s| s.get(row)).cloned().unwrap_or(0..0)
    }

    /// The feature list of that name.
    pub fn list(&self, feature: usize, row: usize) -> Option<Span> {
        self.lists.as_ref()?.get(feature)?.get(row)?.clone()
    }
}

/// A record that does not fit the column.
pub struct Bad {
    pub row: usize,
    pub field: String,
    pub flaw: Flaw,
}

/// The tensor of a leaf. Records that do not fit go to `bad`; what the tensor holds for them is
/// without meaning.
///
/// # Errors
/// None but errors of ours.
pub fn decode(leaf: &Leaf, features: &Features, bad: &mut Vec<Bad>) -> Result<Tensor> {
    match &leaf.step {
        Some(step) => steps::decode(leaf, step, features, bad),
        None => decode_context(leaf, features, bad),
    }
}

/// As [`decode`], of features that are no feature lists.
pub fn decode_context(leaf: &Leaf, features: &Features, bad: &mut Vec<Bad>) -> Result<Tensor> {
    let inferred = leaf.inferred;
    match &leaf.dtype {
        DType::Null | DType::Arrow(_) => with_values(Nothing::new(inferred), leaf, features, bad),
        DType::Float64 => with_values(Doubles::new(inferred), leaf, features, bad),
        DType::Float16 | DType::Float32 => with_values(Floats::new(&leaf.dtype, inferred), leaf, features, bad),
        DType::String | DType::Bytes | DType::Json => with_values(Texts::new(&leaf.dtype, inferred), leaf, features, bad),
        integer => with_values(Ints::new(integer, inferred), leaf, features, bad),
    }
}

fn with_values<V: Append>(values: V, leaf: &Leaf, features: &Features, bad: &mut Vec<Bad>) -> Result<Tensor> {
    match &leaf.shape {
        Shape::Scalar => run(Fixed::new(1, &[]), values, leaf, features, bad),
        Shape::Dense(_) if known_count(&leaf.dims).is_some() => {
            run(Fixed::new(known_count(&leaf.dims).unwrap_or(0), &leaf.dims), values, leaf, features, bad)
        }
        Shape::Dense(cuts) if cuts.is_empty() => run(Vectors { splits: vec![0] }, values, leaf, features, bad),
        Shape::Dense(cuts) => run(Nested::new(cuts), values, leaf, features, bad),
        Shape::Sparse { indices, sorted } => run(Entries::new(indices, *sorted, leaf.dims.len()), values, leaf, features, bad),
    }
}

/// How many values a record holds, if all axes have known sizes.
fn known_count(dims: &[Dim]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, d| match d.size {
        Size::Known(size) => n.checked_mul(usize::try_from(size).ok()?),
        _ => None,
    })
}

/// What the values of the records are arranged as.
pub trait Arrange {
    /// The features beside that of the values.
    fn beside(&self) -> Vec<usize>;
    /// Arranges the `n` values that record `row` has appended.
    fn accept(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<()>;
    /// A record without values: how many to fill in.
    fn empty(&mut self, leaf: &Leaf) -> usize;
    fn finish(self, nrows: usize, values: impl Append, nulls: Option<NullBuffer>, leaf: &Leaf) -> Result<Tensor>;
}

fn run<A: Arrange, V: Append>(mut shape: A, mut values: V, leaf: &Leaf, features: &Features, bad: &mut Vec<Bad>) -> Result<Tensor> {
    let beside = shape.beside();
    let mut valid = BooleanBufferBuilder::new(features.nrows);
    let mut nulls = false;
    values.reserve(features.bytes, features.spans.get(leaf.values).map_or(&[], Vec::as_slice));
    for row in 0..features.nrows {
        let span = features.span(leaf.values, row);
        let start = values.store().len();
        let missing = span.is_empty() && beside.iter().all(|f| features.span(*f, row).is_empty());
        let outcome = if missing {
            absent(&mut shape, &mut values, leaf, features, row)
        } else {
            present(&mut shape, &mut values, leaf, features, row, span)
        };
        match outcome {
            Ok(present) => {
                nulls |= !present;
                valid.append(present);
            }
            Err(flaw) => {
                bad.push(Bad { row, field: leaf.path.clone(), flaw });
                values.store().truncate(start);
                let n = shape.empty(leaf);
                values.store().fill(n);
                valid.append(true);
            }
        }
    }
    let nulls = nulls.then(|| NullBuffer::new(valid.finish()));
    shape.finish(features.nrows, values, nulls, leaf)
}

/// A record without the feature. Whether it is something else than null.
fn absent(shape: &mut impl Arrange, values: &mut impl Append, leaf: &Leaf, features: &Features, row: usize) -> Parse<bool> {
    match &leaf.absent {
        Absent::Null => {
            let n = shape.empty(leaf);
            values.store().fill(n);
            Ok(false)
        }
        Absent::Empty => {
            let n = shape.empty(leaf);
            values.store().fill(n);
            Ok(true)
        }
        Absent::Default(default) => {
            let start = values.store().len();
            values.default(default);
            shape.accept(leaf, features, row, values.store().len() - start)?;
            Ok(true)
        }
        Absent::Error => {
            let name = &leaf.path;
            let what = if leaf.inferred {
                format!("the record has no feature `{name}`, and all earlier ones have").into()
            } else {
                format!("the record has no feature `{name}`, and there is no default").into()
            };
            Err(Flaw { at: 0, what, widens: leaf.inferred })
        }
    }
}

fn present(shape: &mut impl Arrange, values: &mut impl Append, leaf: &Leaf, features: &Features, row: usize, span: Span) -> Parse<bool> {
    let (start, at) = (values.store().len(), span.start);
    if let Some((kind, list)) = wire::list(features.bytes, span)? {
        values.append(kind, list)?;
    }
    let n = values.store().len() - start;
    // --scalar: an empty list is no value.
    if n == 0 && leaf.inferred && matches!(leaf.shape, Shape::Scalar) {
        if !matches!(leaf.absent, Absent::Null) {
            return Err(Flaw { at, what: "an empty list, where all earlier records hold one value".into(), widens: true });
        }
        shape.empty(leaf);
        values.store().fill(1);
        return Ok(false);
    }
    shape.accept(leaf, features, row, n).map_err(|flaw| Flaw { at: if flaw.at == 0 { at } else { flaw.at }, ..flaw })?;
    Ok(true)
}

/// Scalars and tensors whose sizes are all known.
struct Fixed {
    count: usize,
    sizes: Vec<usize>,
}

impl Fixed {
    fn new(count: usize, dims: &[Dim]) -> Fixed {
        let size = |d: &Dim| if let Size::Known(n) = d.size { usize::try_from(n).unwrap_or(0) } else { 0 };
        Fixed { count, sizes: dims.iter().map(size).collect() }
    }
}

impl Arrange for Fixed {
    fn beside(&self) -> Vec<usize> {
        Vec::new()
    }
    fn accept(&mut self, leaf: &Leaf, _: &Features, _: usize, n: usize) -> Parse<()> {
        if n == self.count {
            return Ok(());
        }
        let what = if leaf.dims.is_empty() {
            format!("expected a single value, found {n}")
        } else {
            format!("expected {} values for the shape {:?}, found {n}", self.count, self.sizes)
        };
        Err(Flaw { at: 0, what: what.into(), widens: leaf.inferred })
    }
    fn empty(&mut self, _: &Leaf) -> usize {
        self.count
    }
    fn finish(self, nrows: usize, values: impl Append, nulls: Option<NullBuffer>, _: &Leaf) -> Result<Tensor> {
        if self.sizes.is_empty() {
            return Ok(Tensor::Leaf(values.finish(nulls)?));
        }
        let mut tensor = Tensor::Leaf(values.finish(None)?);
        for axis in (0..self.sizes.len()).rev() {
            let rows = self.sizes[..axis].iter().product::<usize>() * nrows;
            let validity = if axis == 0 { nulls.clone() } else { None };
            tensor = Tensor::list(RowPartition::uniform(self.sizes[axis], rows)?, tensor, validity)?;
        }
        Ok(tensor)
    }
}

/// `[?]`.
struct Vectors {
    splits: Vec<i64>,
}

impl Arrange for Vectors {
    fn beside(&self) -> Vec<usize> {
        Vec::new()
    }
    fn accept(&mut self, _: &Leaf, _: &Features, _: usize, n: usize) -> Parse<()> {
        self.splits.push(self.splits.last().copied().unwrap_or(0) + n as i64);
        Ok(())
    }
    fn empty(&mut self, _: &Leaf) -> usize {
        self.splits.push(self.splits.last().copied().unwrap_or(0));
        0
    }
    fn finish(self, _: usize, values: impl Append, nulls: Option<NullBuffer>, _: &Leaf) -> Result<Tensor> {
        Tensor::list(RowPartition::from_row_splits(self.splits)?, Tensor::Leaf(values.finish(None)?), nulls)
    }
}

/// The features that hold partitions.
pub fn stored(cuts: &[Cut]) -> Vec<usize> {
    cuts.iter().filter_map(|c| if let Cut::Stored(_, feature) = c { Some(*feature) } else { None }).collect()
}

/// Several axes, cut by sizes or by partitions that are stored in other features.
struct Nested {
    cuts: Vec<Cut>,
    /// For each cut its row splits, or the number of its rows.
    levels: Vec<Level>,
    outer: Vec<i64>,
    numbers: Vec<i64>,
}

#[derive(Clone)]
enum Level {
    Splits(Vec<i64>),
    Rows(usize),
}

impl Level {
    fn nrows(&self) -> usize {
        match self {
            Level::Splits(splits) => splits.len() - 1,
            Level::Rows(n) => *n,
        }
    }
    fn truncate(&mut self, nrows: usize) {
        match self {
            Level::Splits(splits) => splits.truncate(nrows + 1),
            Level::Rows(n) => *n = nrows,
        }
    }
}

impl Nested {
    fn new(cuts: &[Cut]) -> Nested {
        let levels = cuts.iter().map(|c| if let Cut::Stored(..) = c { Level::Splits(vec![0]) } else { Level::Rows(0) }).collect();
        Nested { cuts: cuts.to_vec(), levels, outer: vec![0], numbers: Vec::new() }
    }

    fn cut(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<usize> {
        let mut items = n;
        for i in (0..self.cuts.len()).rev() {
            items = match (self.cuts[i], &mut self.levels[i]) {
                (Cut::Stored(encoding, feature), Level::Splits(splits)) => {
                    let span = features.span(feature, row);
                    let at = span.start;
                    self.numbers.clear();
                    match wire::list(features.bytes, span)? {
                        None => {}
                        Some((Kind::Int64, list)) => wire::int64s(list, &mut self.numbers)?,
                        Some((found, _)) => return flaw(at, format!("expected a partition in an int64_list, found a {}", found.name())),
                    }
                    let first = splits.len();
                    // No feature, or an empty one, is a record without rows in every encoding.
                    if items > 0 || !self.numbers.is_empty() {
                        let extent = Extent { nvals: items, nrows: None, max_rows: features.max_rows };
                        encoding.decode(&self.numbers, extent, splits).map_err(|invalid| {
                            let more = if let InvalidPartition::TooManyRows { .. } = invalid { " (--max-record-bytes)" } else { "" };
                            Flaw { at, what: format!("{invalid}{more}").into(), widens: false }
                        })?;
                    }
                    if leaf.dims.get(i + 1).is_some_and(|d| d.size == Size::Uniform)
                        && splits[first - 1..].windows(3).any(|w| w[1] - w[0] != w[2] - w[1])
                    {
                        return flaw(at, format!("axis {} has rows of different lengths inside the record", i + 1));
                    }
                    splits.len() - first
                }
                (Cut::Every(size), Level::Rows(rows)) => {
                    if (size == 0 && items > 0) || (size > 0 && !items.is_multiple_of(size)) {
                        return flaw(0, format!("{items} values are not rows of {size}"));
                    }
                    let found = items.checked_div(size).unwrap_or(0);
                    *rows += found;
                    found
                }
                _ => items,
            };
        }
        match leaf.dims.first().map(|d| d.size) {
            Some(Size::Known(size)) if size != items as u64 => flaw(0, format!("expected {size} rows, found {items}")),
            _ => Ok(items),
        }
    }
}

impl Arrange for Nested {
    fn beside(&self) -> Vec<usize> {
        stored(&self.cuts)
    }
    fn accept(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<()> {
        let before: Vec<usize> = self.levels.iter().map(Level::nrows).collect();
        match self.cut(leaf, features, row, n) {
            Ok(items) => {
                self.outer.push(self.outer.last().copied().unwrap_or(0) + items as i64);
                Ok(())
            }
            Err(flaw) => {
                for (level, nrows) in self.levels.iter_mut().zip(before) {
                    level.truncate(nrows);
                }
                Err(flaw)
            }
        }
    }
    fn empty(&mut self, leaf: &Leaf) -> usize {
        // A known size has its rows even where the record is null; the innermost hold what is filled in.
        let mut items = match leaf.dims.first().map(|d| d.size) {
            Some(Size::Known(n)) => usize::try_from(n).unwrap_or(0),
            _ => 0,
        };
        self.outer.push(self.outer.last().copied().unwrap_or(0) + items as i64);
        for (cut, level) in self.cuts.iter().zip(&mut self.levels) {
            match (cut, level) {
                (Cut::Every(size), Level::Rows(rows)) => {
                    *rows += items;
                    items *= size;
                }
                (_, Level::Splits(splits)) => {
                    let end = splits.last().copied().unwrap_or(0);
                    splits.resize(splits.len() + items, end);
                    items = 0;
                }
                _ => {}
            }
        }
        items
    }
    fn finish(self, nrows: usize, values: impl Append, nulls: Option<NullBuffer>, leaf: &Leaf) -> Result<Tensor> {
        let mut tensor = Tensor::Leaf(values.finish(None)?);
        for (cut, level) in self.cuts.iter().zip(self.levels).rev() {
            let partition = match (cut, level) {
                (_, Level::Splits(splits)) => RowPartition::from_row_splits(splits)?,
                (Cut::Every(size), Level::Rows(rows)) => RowPartition::uniform(*size, rows)?,
                (Cut::Stored(..), Level::Rows(_)) => return Err(Error::internal("a stored partition without splits")),
            };
            tensor = Tensor::list(partition, tensor, None)?;
        }
        let outer = match leaf.dims.first().map(|d| d.size) {
            Some(Size::Known(n)) => RowPartition::uniform(usize::try_from(n).unwrap_or(0), nrows)?,
            _ => RowPartition::from_row_splits(self.outer)?,
        };
        Tensor::list(outer, tensor, nulls)
    }
}
