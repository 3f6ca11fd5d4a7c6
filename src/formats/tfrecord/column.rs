//! One column of a block: the features of one leaf in all records, to a tensor.

use super::plan::{Absent, Cut, Encoding, Leaf, Shape};
use super::steps;
use super::values::{Append, Doubles, Floats, Ints, Nothing, Texts};
use super::wire::{self, Flaw, Kind, Parse, flaw};
use crate::error::{Error, Result};
use crate::schema::{DType, Dim, Size};
use crate::tensor::gather::take;
use crate::tensor::{RowPartition, Sparse, Tensor};
use arrow_array::Array;
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
trait Arrange {
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
    for row in 0..features.nrows {
        let span = features.span(leaf.values, row);
        let start = values.len();
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
                values.truncate(start);
                let n = shape.empty(leaf);
                values.fill(n);
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
            values.fill(n);
            Ok(false)
        }
        Absent::Empty => {
            let n = shape.empty(leaf);
            values.fill(n);
            Ok(true)
        }
        Absent::Default(default) => {
            let start = values.len();
            values.default(default);
            shape.accept(leaf, features, row, values.len() - start)?;
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
    let (start, at) = (values.len(), span.start);
    if let Some((kind, list)) = wire::list(features.bytes, span)? {
        values.append(kind, list)?;
    }
    let n = values.len() - start;
    // --scalar: an empty list is no value.
    if n == 0 && leaf.inferred && matches!(leaf.shape, Shape::Scalar) {
        if !matches!(leaf.absent, Absent::Null) {
            return Err(Flaw { at, what: "an empty list, where all earlier records hold one value".into(), widens: true });
        }
        shape.empty(leaf);
        values.fill(1);
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
                    partition(encoding, &self.numbers, items, features.max_rows, splits).map_err(|what| Flaw {
                        at,
                        what: what.into(),
                        widens: false,
                    })?;
                    if leaf.dims.get(i + 1).is_some_and(|d| d.size == Size::Uniform)
                        && splits[first - 1..].windows(3).any(|w| w[1] - w[0] != w[2] - w[1])
                    {
                        return flaw(at, format!("axis {} has rows of different lengths inside the record", i + 1));
                    }
                    splits.len() - first
                }
                (Cut::Every(size), Level::Rows(rows)) => {
                    if (size == 0 && items > 0) || (size > 0 && items % size > 0) {
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
                (Cut::Stored(..), Level::Rows(_)) => return Err(Error::data("internal: a stored partition without splits")),
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

/// Appends the rows that a partition cuts `nvals` values into; leaves `splits` alone if it is none.
fn partition(encoding: Encoding, numbers: &[i64], nvals: usize, max_rows: usize, splits: &mut Vec<i64>) -> Result<(), String> {
    let base = splits.last().copied().unwrap_or(0);
    let nvals = nvals as i64;
    let from_limits = |limits: &mut dyn Iterator<Item = i64>, what: &str, splits: &mut Vec<i64>| {
        let start = splits.len();
        let mut last = 0;
        for limit in limits {
            if limit < last || limit > nvals {
                splits.truncate(start);
                return Err(match limit < last {
                    true => format!("{what} decrease from {last} to {limit}"),
                    false => format!("{what} go up to {limit}, but there are {nvals} values"),
                });
            }
            splits.push(base + limit);
            last = limit;
        }
        if last != nvals {
            splits.truncate(start);
            return Err(format!("{what} end at {last}, but there are {nvals} values"));
        }
        Ok(())
    };
    match encoding {
        Encoding::RowLengths => {
            let start = splits.len();
            let mut end = 0i64;
            for length in numbers {
                end = match end.checked_add(*length).filter(|_| *length >= 0) {
                    Some(end) => end,
                    None => {
                        splits.truncate(start);
                        return Err(format!("a row length of {length}"));
                    }
                };
                splits.push(base.wrapping_add(end));
            }
            if end != nvals {
                splits.truncate(start);
                return Err(format!("the row_lengths add up to {end}, but there are {nvals} values"));
            }
            Ok(())
        }
        Encoding::RowSplits => match numbers.split_first() {
            None => from_limits(&mut std::iter::empty(), "row_splits", splits),
            Some((0, limits)) => from_limits(&mut limits.iter().copied(), "row_splits", splits),
            Some((first, _)) => Err(format!("row_splits start at {first} instead of 0")),
        },
        Encoding::RowLimits => from_limits(&mut numbers.iter().copied(), "row_limits", splits),
        Encoding::RowStarts => match numbers.split_first() {
            None => from_limits(&mut std::iter::empty(), "row_starts", splits),
            Some((0, limits)) => from_limits(&mut limits.iter().copied().chain([nvals]), "row_starts", splits),
            Some((first, _)) => Err(format!("row_starts start at {first} instead of 0")),
        },
        Encoding::ValueRowids => {
            if numbers.len() as i64 != nvals {
                return Err(format!("{} value_rowids for {nvals} values", numbers.len()));
            }
            let mut last = 0;
            for id in numbers {
                if *id < last {
                    return Err(format!("value_rowids decrease from {last} to {id}"));
                }
                last = *id;
            }
            if usize::try_from(last).map_or(true, |last| last > max_rows) {
                return Err(format!("the value_rowid {last} makes more rows than --max-record-bytes has room for"));
            }
            let mut row = 0;
            for (i, id) in numbers.iter().enumerate() {
                while row < *id {
                    splits.push(base + i as i64);
                    row += 1;
                }
            }
            if !numbers.is_empty() {
                splits.push(base + nvals);
            }
            Ok(())
        }
    }
}

/// Sparse tensors.
struct Entries {
    features: Vec<usize>,
    sorted: bool,
    ndims: usize,
    ends: Vec<i64>,
    indices: Vec<i64>,
    shapes: Vec<i64>,
    /// Entry i of the result is entry `order[i]` of the input; empty: they are in order.
    order: Vec<usize>,
    numbers: Vec<Vec<i64>>,
}

impl Entries {
    fn new(features: &[usize], sorted: bool, ndims: usize) -> Entries {
        let numbers = vec![Vec::new(); ndims];
        Entries {
            features: features.to_vec(),
            sorted,
            ndims,
            ends: vec![0],
            indices: Vec::new(),
            shapes: Vec::new(),
            order: Vec::new(),
            numbers,
        }
    }

    fn read(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<Vec<i64>> {
        for (axis, numbers) in self.numbers.iter_mut().enumerate() {
            numbers.clear();
            let Some(feature) = self.features.get(axis) else {
                numbers.extend(0..n as i64);
                continue;
            };
            let span = features.span(*feature, row);
            let at = span.start;
            match wire::list(features.bytes, span)? {
                None => {}
                Some((Kind::Int64, list)) => wire::int64s(list, numbers)?,
                Some((found, _)) => return flaw(at, format!("expected indices in an int64_list, found a {}", found.name())),
            }
            if numbers.len() != n {
                return flaw(at, format!("{} indices along axis {axis} for {n} values", numbers.len()));
            }
        }
        let mut shape = Vec::with_capacity(self.ndims);
        for (axis, (numbers, dim)) in self.numbers.iter().zip(&leaf.dims).enumerate() {
            let size = match dim.size {
                Size::Known(size) => i64::try_from(size).unwrap_or(i64::MAX),
                _ => numbers.iter().max().map_or(0, |m| m.saturating_add(1)),
            };
            if let Some(index) = numbers.iter().find(|i| **i < 0 || **i >= size) {
                return flaw(0, format!("the index {index} along axis {axis} is outside the size {size}"));
            }
            shape.push(size);
        }
        Ok(shape)
    }
}

impl Arrange for Entries {
    fn beside(&self) -> Vec<usize> {
        self.features.clone()
    }
    fn accept(&mut self, leaf: &Leaf, features: &Features, row: usize, n: usize) -> Parse<()> {
        let shape = self.read(leaf, features, row, n)?;
        self.shapes.extend(shape);
        let first = self.ends.last().copied().unwrap_or(0) as usize;
        let index = |entry: usize| self.numbers.iter().map(move |axis| axis[entry]);
        let mut order: Vec<usize> = (0..n).collect();
        if self.sorted {
            order.sort_by(|a, b| index(*a).cmp(index(*b)));
        }
        for entry in &order {
            self.indices.extend(index(*entry));
        }
        if !self.order.is_empty() || order.windows(2).any(|w| w[1] < w[0]) {
            let known = self.order.len();
            self.order.extend(known..first);
            self.order.extend(order.iter().map(|i| first + i));
        }
        self.ends.push((first + n) as i64);
        Ok(())
    }
    fn empty(&mut self, leaf: &Leaf) -> usize {
        self.ends.push(self.ends.last().copied().unwrap_or(0));
        self.shapes.extend(leaf.dims.iter().map(|d| if let Size::Known(n) = d.size { i64::try_from(n).unwrap_or(i64::MAX) } else { 0 }));
        0
    }
    fn finish(self, _: usize, values: impl Append, nulls: Option<NullBuffer>, _: &Leaf) -> Result<Tensor> {
        let mut values = values.finish(None)?;
        if !self.order.is_empty() {
            let known = self.order.len();
            let order: Vec<usize> = self.order.into_iter().chain(known..values.len()).collect();
            values = take(&values, &order)?;
        }
        let entries = RowPartition::from_row_splits(self.ends)?;
        Ok(Tensor::Sparse(Sparse::try_new(self.ndims, entries, self.indices.into(), values, self.shapes.into(), nulls)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_of_a_record() {
        use Encoding::*;
        type Case = (Encoding, &'static [i64], usize, Option<&'static [i64]>);
        let cases: &[Case] = &[
            (RowLengths, &[2, 0, 1], 3, Some(&[12, 12, 13])),
            (RowLengths, &[], 0, Some(&[])),
            (RowLengths, &[], 3, None),
            (RowLengths, &[-1, 4], 3, None),
            (RowLengths, &[i64::MAX, i64::MAX, 5], 3, None),
            (RowSplits, &[0, 2, 2, 3], 3, Some(&[12, 12, 13])),
            (RowSplits, &[], 0, Some(&[])),
            (RowSplits, &[0], 0, Some(&[])),
            (RowSplits, &[1, 3], 3, None),
            (RowSplits, &[0, 2, 1, 3], 3, None),
            (RowSplits, &[0, 5], 3, None),
            (RowStarts, &[0, 2, 2], 3, Some(&[12, 12, 13])),
            (RowStarts, &[], 3, None),
            (RowLimits, &[2, 2, 3], 3, Some(&[12, 12, 13])),
            (RowLimits, &[1, 2], 3, None),
            (ValueRowids, &[0, 0, 2], 3, Some(&[12, 12, 13])),
            (ValueRowids, &[1, 1, 2], 3, Some(&[10, 12, 13])),
            (ValueRowids, &[0, 2], 3, None),
            (ValueRowids, &[0, 0, i64::MAX], 3, None),
        ];
        for (encoding, numbers, nvals, expected) in cases {
            let mut splits = vec![0, 10];
            let found = partition(*encoding, numbers, *nvals, 100, &mut splits);
            match expected {
                Some(rows) => {
                    assert!(found.is_ok(), "{encoding:?} {numbers:?}: {found:?}");
                    assert_eq!(splits[2..], **rows, "{encoding:?} {numbers:?}");
                }
                None => assert!(found.is_err() && splits.len() == 2, "{encoding:?} {numbers:?}"),
            }
        }
    }
}
