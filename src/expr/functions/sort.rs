//! Sorting, searching, ranking and counting the values of rows.
//!
//! Semantics: `tf.sort`, `tf.argsort`, `tf.searchsorted`, `tf.math.top_k`, `tf.math.argmax`,
//! `tf.math.bincount`. Equal values keep their order.

use super::apply::with_dtype;
use super::axes::transposed;
use super::lines::axis_of;
use super::sparse::count::values_of_sparse;
use super::time_order::{Returned, by_order};
use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function, INDEX_DTYPES, Integer, as_node, cast_node, index_node, kept_node};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::eval::Args;
use crate::expr::kernels::cast::{cast, dtype_of, i64s, native};
use crate::expr::kernels::compare::{comparator, exact_order};
use crate::expr::kernels::level::{check_same, from_lengths, merged, partition_of, record_of};
use crate::expr::kernels::lines::{Line, lines};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::operand::OperandKind;
use crate::expr::types::{last_ragged, outermost_uniform};
use crate::printable::counted_axes;
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::sortable::numbered;
use crate::tensor::text_order::Texts;
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["sort"],
        "values|x, axis=-1, direction=\"ASCENDING\"",
        "Sort the values of each row.",
        [("sort([[3, 1], [2]])", "[[1, 3], [2]]")],
        |c| by_order(c, &[0], Returned::Values, |c, _| ordered(c, false))
    ),
    function!(
        ["argsort"],
        "values|x, axis=-1, direction=\"ASCENDING\", stable=False",
        "The indices that sort each row.",
        [("argsort([3, 1, 2])", "[1, 2, 0]")],
        |c| by_order(c, &[0], Returned::Numbers, |c, _| ordered(c, true))
    ),
    function!(
        ["searchsorted"],
        "sorted_sequence, values, side=\"left\", out_type=int32",
        "The index at which to insert each value into a sorted row: before equal values or, with side=\"right\", after them.",
        [
            ("searchsorted([10, 20, 30], [5, 20, 35])", "[0, 1, 3]"),
            ("searchsorted([10, 20, 30], [5, 20, 35], side=\"right\")", "[0, 2, 3]")
        ],
        |c| by_order(c, &[0, 1], Returned::Numbers, |c, _| searchsorted(c))
    ),
    formula!(
        ["raw_ops.Bucketize"],
        "input|x, boundaries",
        "The number of boundaries (int32) that are not greater than each value; they are float32 and sorted.",
        [("raw_ops.Bucketize(input=[-5, 0, 9, 10, 150], boundaries=[0, 10, 100])", "[0, 1, 1, 2, 3]")],
        bucketize
    ),
    function!(
        ["math.top_k", "top_k", "nn.top_k"],
        "input|x, k=1, sorted=True, index_type=int32 -> values, indices",
        "The k largest values of each row, and their indices.",
        [("math.top_k([3, 1, 2], k=2)[0]", "[3, 2]")],
        |c| by_order(c, &[0], Returned::Values, |c, _| top_k(c))
    ),
    function!(
        ["math.bincount", "bincount"],
        "arr|x, weights=None, minlength=None, maxlength=None, dtype=int32, name, axis=None, binary_output=False",
        "Count the occurrences of each integer, starting from 0, or sum their weights.",
        [("math.bincount([1, 1, 3])", "[0, 2, 0, 1]"), ("math.bincount([[0, 1], [1, 1]], axis=-1)", "[[1, 1], [0, 2]]")],
        bincount
    ),
    function!(
        ["argmax", "math.argmax"],
        "input|x, axis|dimension=0, output_type=int64",
        "The index of the largest value along an axis.",
        [("argmax([3, 7, 7])", "1"), ("argmax([[1, 5], [4, 2]])", "[1, 0]")],
        |c| by_order(c, &[0], Returned::Numbers, |c, _| arg_extreme(c, Ordering::Greater))
    ),
    function!(
        ["argmin", "math.argmin"],
        "input|x, axis|dimension=0, output_type=int64",
        "The index of the smallest value along an axis.",
        [("argmin([3, 1, 2])", "1")],
        |c| by_order(c, &[0], Returned::Numbers, |c, _| arg_extreme(c, Ordering::Less))
    ),
    formula!(
        ["math.is_non_decreasing", "is_non_decreasing"],
        "x",
        "Whether no value is less than the one before it.",
        [("math.is_non_decreasing([1, 2, 2])", "true")],
        |call| monotonic(call, ">=")
    ),
    formula!(
        ["math.is_strictly_increasing", "is_strictly_increasing"],
        "x",
        "Whether each value is greater than the one before it.",
        [("math.is_strictly_increasing([1, 2, 2])", "false")],
        |call| monotonic(call, ">")
    ),
];

/// Rows of at least this many strings are sorted by numbers made of them, which takes more memory than comparing them.
const LONG: usize = 64;

fn ordered(call: &mut Call, indices: bool) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers and strings", |d| *d != DType::Bool)?;
    let axis = axis_of(call, 1, -1, &x)?;
    let descending = match call.string(2)?.as_deref() {
        None | Some("ASCENDING") => false,
        Some("DESCENDING") => true,
        Some(other) => return Err(call.error(format!("direction must be \"ASCENDING\" or \"DESCENDING\", not {other:?}"))),
    };
    let ty = if indices { with_dtype(&x.ty, DType::Int32) } else { x.ty.clone() };
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let lines = lines(&tensor, axis, x.rank())?;
        tensor.map_below(x.rank(), &mut |t| {
            let array = t.as_leaf()?;
            let mut places: Vec<usize> = (0..array.len()).collect();
            let mut numbers = vec![0i32; if indices { array.len() } else { 0 }];
            let mut put = |own: &Line, i: usize, from: usize| match indices {
                true => numbers[own.at(i)] = i32::try_from(from).unwrap_or(i32::MAX),
                false => places[own.at(i)] = own.at(from),
            };
            // NaN is the greatest value.
            let mut keys: Vec<u64> = Vec::with_capacity(array.len());
            if numbered(array, |_, number| keys.push(number.unwrap_or(u64::MAX))) {
                let mut line: Vec<(u64, usize)> = Vec::new();
                for own in &lines {
                    line.clear();
                    line.extend((0..own.length).map(|i| (if descending { !keys[own.at(i)] } else { keys[own.at(i)] }, i)));
                    line.sort_unstable();
                    line.iter().enumerate().for_each(|(i, (_, from))| put(own, i, *from));
                }
            } else {
                let (order, texts) = (comparator(array)?, Texts::of(array));
                let mut line: Vec<usize> = Vec::new();
                for own in &lines {
                    line.clear();
                    if let Some(texts) = texts.as_ref().filter(|_| own.length >= LONG) {
                        line.extend((0..own.length).map(|i| own.at(i)));
                        texts.sort(&mut line, descending, |a, b| a.cmp(&b));
                        line.iter().enumerate().for_each(|(i, place)| put(own, i, own.index(*place)));
                        continue;
                    }
                    line.extend(0..own.length);
                    let at = |i: usize| own.at(i);
                    line.sort_by(|a, b| if descending { order(at(*b), at(*a)) } else { order(at(*a), at(*b)) });
                    line.iter().enumerate().for_each(|(i, from)| put(own, i, *from));
                }
            }
            if indices { Ok(Tensor::Leaf(Arc::new(Int32Array::from(std::mem::take(&mut numbers))))) } else { t.gather(&places) }
        })
    })
}

fn bucketize(call: &Call) -> ExprResult<String> {
    let item = call.operand(1)?;
    let number = |boundary: Literal| match boundary {
        Literal::Int(n) => Some(n as f64),
        Literal::Float(x) => Some(x),
        _ => None,
    };
    if let Some(Literal::List(boundaries)) = item.literal()
        && !boundaries.into_iter().filter_map(number).is_sorted()
    {
        return Err(ExprError::at(item.span.clone(), "raw_ops.Bucketize: the boundaries must be sorted"));
    }
    Ok("searchsorted(cast(boundaries, float32), input, side=\"right\")".to_owned())
}

/// Either all values of a record are searched in its one row, or each row of values is searched in the row at the same
/// position.
fn searchsorted(call: &mut Call) -> ExprResult<OperandKind> {
    let right = match call.string(2)?.as_deref() {
        None | Some("left") => false,
        Some("right") => true,
        Some(_) => return Err(call.error("searchsorted: side must be \"left\" or \"right\"")),
    };
    let (sequence, values) = match call.exact_pair(0, 1)? {
        Some([sequence, values]) => (sequence, values),
        None => {
            let args = call.promoted(&[0, 1])?;
            (args[0].clone(), args[1].clone())
        }
    };
    call.check_dtype(&sequence, "numbers", DType::is_number)?;
    let out = call.index_dtype(3, DType::Int32, INDEX_DTYPES)?;
    let rank = values.rank();
    let one_row = sequence.rank() == 1;
    if !one_row && (sequence.rank() == 0 || sequence.rank() != rank) {
        let message = format!(
            "searchsorted: sorted_sequence must have one axis, or as many axes as values; these are {} and {}",
            sequence.ty, values.ty
        );
        return Err(call.error(message));
    }
    call.one(with_dtype(&values.ty, out.clone()), move |args| {
        let (searched, rows) = (args.value(sequence.index)?, values.of(args)?);
        let (searched, same) = if one_row { (Cow::Borrowed(&searched.tensor), searched.constant) } else { (sequence.of(args)?, false) };
        let outer = sequence.rank() - 1;
        if !one_row {
            check_same(&searched, &rows, outer, "sorted_sequence and values")?;
        }
        let (starts, wanted) = (merged(&searched, outer, outer + 1)?, merged(&rows, outer, rank)?);
        let sorted = searched.levels(outer + 1)?.1.as_leaf()?;
        rows.map_below(rank, &mut |t| {
            let found = positions(sorted, &starts, same, t.as_leaf()?, &wanted, right)?;
            Ok(Tensor::Leaf(cast(&found, &out)?))
        })
    })
}

/// The position of each value in its row of `sorted`, or in the first row if all search the same one.
fn positions(
    sorted: &ArrayRef,
    starts: &RowPartition,
    same: bool,
    values: &ArrayRef,
    wanted: &RowPartition,
    right: bool,
) -> Result<ArrayRef> {
    fn search(
        [starts, wanted]: [&RowPartition; 2],
        [same, right]: [bool; 2],
        order: impl Fn(usize, usize) -> Option<Ordering>,
    ) -> ArrayRef {
        let mut found = Vec::with_capacity(wanted.nvals());
        for row in 0..wanted.nrows() {
            let own = starts.range(if same { 0 } else { row });
            found.extend(wanted.range(row).map(|value| {
                let (mut low, mut high) = (own.start, own.end);
                while low < high {
                    let middle = low + (high - low) / 2;
                    let order = order(middle, value);
                    // NaN sorts after all other values.
                    let is_before = if right { order != Some(Ordering::Greater) } else { order == Some(Ordering::Less) };
                    (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
                }
                (low - own.start) as i64
            }));
        }
        Arc::new(Int64Array::from(found))
    }
    let (rows, how) = ([starts, wanted], [same, right]);
    let dtype = dtype_of(sorted)?;
    if dtype != dtype_of(values)? {
        return Ok(search(rows, how, exact_order(sorted, values)?));
    }
    numbers!(&dtype, T => {
        let (sorted, values) = (native::<T>(sorted)?, native::<T>(values)?);
        Ok(search(rows, how, |at, value| sorted[at].partial_cmp(&values[value])))
    }, Err(Error::internal("a search in other values")))
}

fn top_k(call: &mut Call) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers", DType::is_number)?;
    if x.rank() == 0 {
        return Err(call.error("top_k works along the last axis; a scalar has none"));
    }
    let k = if call.given(1).is_some() { call.integer(1)? } else { Integer::Known(1) };
    if let Some(k) = k.known().filter(|k| *k < 0) {
        return Err(call.error(format!("k is {k}; it must not be negative")));
    }
    call.flag(2, true)?;
    let axis = x.rank() - 1;
    let mut ty = x.ty.clone();
    if let (Size::Known(n), Some(k)) = (ty.dims[axis].size, k.known())
        && n < k as u64
    {
        return Err(call.error(format!("the rows have {n} values, fewer than k={k}")));
    }
    ty.dims[axis] = k.dim();
    let last = k.dim();
    let to = call.index_dtype(3, DType::Int32, &[DType::Int16, DType::Int32, DType::Int64])?;
    let types = vec![ty.clone(), with_dtype(&ty, to.clone())];
    call.several(types, move |args| {
        let tensor = x.of(args)?;
        let (_, below) = tensor.levels(axis)?;
        let list = below.as_list()?;
        let array = list.values().as_leaf()?;
        // NaN is the greatest value, and comes first.
        let mut keys: Vec<u64> = Vec::with_capacity(array.len());
        let are_numbers = numbered(array, |_, number| keys.push(!number.unwrap_or(u64::MAX)));
        let order = comparator(array)?;
        let (mut line, mut texts): (Vec<(u64, usize)>, Vec<usize>) = (Vec::new(), Vec::new());
        let (mut places, mut numbers) = (Vec::new(), Vec::new());
        let partition = list.partition();
        let (owners, k) = (merged(&tensor, 0, axis)?, k.of(args)?);
        let mut lengths = Vec::with_capacity(partition.nrows());
        for record in 0..owners.nrows() {
            let k = k.size(record, "k")?;
            for row in owners.range(record) {
                let range = partition.range(row);
                if range.len() < k {
                    let values = if range.len() == 1 { "value" } else { "values" };
                    let error = Error::data(format!("k is {k}, but a row has only {} {values}", range.len())).at_row(record);
                    return Err(error.help(format!("for at most {k} of each row: sort(x, direction=\"DESCENDING\")[..., :{k}]")));
                }
                let before = places.len();
                if are_numbers {
                    line.clear();
                    line.extend(range.clone().map(|i| (keys[i], i)));
                    places.extend(first_by(&mut line, k, Ord::cmp).iter().map(|(_, i)| *i));
                } else {
                    texts.clear();
                    texts.extend(range.clone());
                    places.extend_from_slice(first_by(&mut texts, k, |a, b| order(*b, *a).then(a.cmp(b))));
                }
                numbers.extend(places[before..].iter().map(|i| i32::try_from(i - range.start).unwrap_or(i32::MAX)));
                lengths.push(k);
            }
        }
        let rows = partition_of(&last, lengths)?;
        let values = list.values().gather(&places)?;
        let indices: ArrayRef = Arc::new(Int32Array::from(numbers));
        [values, Tensor::Leaf(cast(&indices, &to)?)]
            .into_iter()
            .map(|t| {
                let inner = Tensor::list(rows.clone(), t, None)?;
                tensor.map_below(axis, &mut |_| Ok(inner.clone()))
            })
            .collect()
    })
}

/// The first `k` items in order. O(items + k log k).
fn first_by<T>(items: &mut [T], k: usize, compare: impl Fn(&T, &T) -> Ordering) -> &[T] {
    if 0 < k && k < items.len() {
        items.select_nth_unstable_by(k - 1, &compare);
    }
    items[..k].sort_unstable_by(&compare);
    &items[..k]
}

/// The values to count: `widths` gives the number of bins per row, for each record.
struct Bins<'a> {
    values: &'a [i64],
    /// The partition of rows by record.
    outer: &'a RowPartition,
    inner: &'a RowPartition,
    widths: &'a [usize],
}

impl Bins<'_> {
    /// The bins of all rows. `add` adds value `i` to the content of its bin. Values beyond the last bin are omitted.
    fn filled<N: Copy + Default>(&self, add: impl Fn(N, usize) -> N) -> Result<Vec<N>> {
        let mut out: Vec<N> = Vec::new();
        for (record, width) in self.widths.iter().enumerate() {
            for row in self.outer.range(record) {
                let start = out.len();
                check_count(start.checked_add(*width), record)?;
                out.resize(start + width, N::default());
                for i in self.inner.range(row) {
                    if let Some(bin) = out.get_mut(start.saturating_add(self.values[i] as usize)) {
                        *bin = add(*bin, i);
                    }
                }
            }
        }
        Ok(out)
    }
}

fn bincount(call: &mut Call) -> ExprResult<OperandKind> {
    let of_sparse = call.operand(0)?.node().is_some_and(|node| node.ty.is_sparse());
    let axis = call.optional_int(5)?;
    let (x, weights) = match of_sparse {
        true => values_of_sparse(call, axis == Some(-1))?,
        false => (binned(call)?, call.optional_tensor(1)?),
    };
    // As in TensorFlow, a negative minimum is none.
    let least = match call.given(2).is_some().then(|| call.integer(2)).transpose()? {
        Some(Integer::Known(n)) => Integer::Known(n.max(0)),
        given => given.unwrap_or(Integer::Known(0)),
    };
    let most = if call.given(3).is_some() { Some(call.integer(3)?) } else { None };
    if let Some(n) = most.as_ref().and_then(Integer::known).filter(|n| *n < 0) {
        return Err(call.error(format!("the length {n} is negative")));
    }
    let binary = call.flag(6, false)?;
    let per_row = match axis {
        None | Some(0) => false,
        Some(-1) => true,
        Some(other) => return Err(call.error(format!("axis must be 0 (all values) or -1 (each row), not {other}"))),
    };
    if per_row && x.rank() > 2 {
        let found = x.rank();
        return Err(ExprError::at(
            x.span.clone(),
            format!("bincount with axis=-1 expects a vector or a matrix; this has {}", counted_axes(found)),
        ));
    }
    let per_row = per_row && x.rank() == 2;
    let dtype = match (&weights, call.dtype(4)?) {
        (Some(w), _) if !w.dtype()?.is_number() => {
            return Err(ExprError::at(w.span.clone(), format!("weights must be numbers; these are {}", w.ty)));
        }
        (Some(w), _) => w.dtype()?.clone(),
        (None, dtype) => dtype.unwrap_or(DType::Int32),
    };
    if binary && weights.is_some() {
        return Err(call.error("binary_output does not use weights"));
    }
    let width = match (most.as_ref().and_then(Integer::known), least.known()) {
        (Some(most), Some(least)) if most <= least => Dim::known(most as u64),
        _ => Dim::UNIFORM,
    };
    let dims = if per_row { vec![x.ty.dims[0].clone(), width] } else { vec![width] };
    let count = Bincount { x, weights, least, most, dtype, per_row, binary };
    call.one(Type::tensor(count.dtype.clone(), dims), move |args| count.of(args))
}

/// The values that bincount counts. As in TensorFlow, fractions are cut off, and True is 1.
fn binned(call: &mut Call) -> ExprResult<Arg> {
    let node = as_node(call.operand(0)?, None)?;
    match node.ty.dtype() {
        Some(dtype) if dtype.is_float() || *dtype == DType::Bool => {
            let text = call.text().clone();
            let integers = index_node(cast_node(node, &DType::Int32, &text)?, &text)?;
            Ok(call.push(integers))
        }
        _ => call.integers(0),
    }
}

/// A call of bincount.
struct Bincount {
    x: Arg,
    weights: Option<Arg>,
    /// The least number of bins.
    least: Integer,
    /// The largest number of bins.
    most: Option<Integer>,
    dtype: DType,
    per_row: bool,
    /// Whether to note only which values occur.
    binary: bool,
}

impl Bincount {
    /// The bins of each record, or of each of its rows.
    fn of(&self, args: &Args) -> Result<Tensor> {
        let dtype = &self.dtype;
        let tensor = self.x.of(args)?;
        let rank = self.x.rank();
        let whole = merged(&tensor, 0, rank)?;
        let weights = match &self.weights {
            None => None,
            Some(w) => {
                let w = w.of(args)?;
                check_same(&tensor, &w, rank, "values and weights")?;
                // Wrapping in 64 bits gives the same result as wrapping in the integers' own width.
                let wide = if dtype.is_integer() { DType::Int64 } else { DType::Float64 };
                Some(cast(w.levels(rank)?.1.as_leaf()?, &wide)?)
            }
        };
        let (_, below) = tensor.levels(rank)?;
        let values = i64s(below.as_leaf()?)?;
        let (outer, inner) = if self.per_row {
            let (p, _) = tensor.levels(2)?;
            (p[0].clone(), p[1].clone())
        } else {
            (RowPartition::uniform(1, whole.nrows())?, whole.clone())
        };
        let widths = self.widths(args, values, &whole, &outer)?;
        let bins = Bins { values, outer: &outer, inner: &inner, widths: &widths };
        let flat: ArrayRef = match &weights {
            Some(w) if dtype.is_integer() => {
                let w = i64s(w)?;
                Arc::new(Int64Array::from(bins.filled(|sum: i64, i| sum.wrapping_add(w[i]))?))
            }
            Some(w) => {
                let w = native::<arrow_array::types::Float64Type>(w)?;
                Arc::new(Float64Array::from(bins.filled(|sum: f64, i| sum + w[i])?))
            }
            None => Arc::new(Int64Array::from(bins.filled(|count: i64, _| if self.binary { 1 } else { count + 1 })?)),
        };
        let flat = Tensor::Leaf(cast(&flat, dtype)?);
        if !self.per_row {
            return Tensor::list(from_lengths(widths)?, flat, None);
        }
        let rows = (0..outer.nrows()).flat_map(|r| std::iter::repeat_n(widths[r], outer.row_length(r)));
        Tensor::list(outer.clone(), Tensor::list(from_lengths(rows)?, flat, None)?, None)
    }

    /// The number of bins of each record, or of each of its rows. `whole`: its values.
    fn widths(&self, args: &Args, values: &[i64], whole: &RowPartition, outer: &RowPartition) -> Result<Vec<usize>> {
        let (least, most) = (self.least.of(args)?, self.most.as_ref().map(|most| most.of(args)).transpose()?);
        let mut widths = Vec::with_capacity(whole.nrows());
        for record in 0..whole.nrows() {
            let own = &values[whole.range(record)];
            if let Some(negative) = own.iter().find(|v| **v < 0) {
                return Err(Error::data(format!("{negative} is negative; only nonnegative integers can be counted")).at_row(record));
            }
            let greatest = own.iter().max().map_or(0, |v| (*v as usize).saturating_add(1));
            let mut width = greatest.max(least.size(record, "the length")?);
            if let Some(most) = &most {
                width = width.min(most.size(record, "the length")?);
            }
            check_count(width.checked_mul(outer.row_length(record)), record)?;
            widths.push(width);
        }
        Ok(widths)
    }
}

/// The first index of the extreme value of each line along an axis; NaN is never the extreme value.
fn arg_extreme(call: &mut Call, wanted: Ordering) -> ExprResult<OperandKind> {
    let x = call.tensor(0)?;
    call.check_dtype(&x, "numbers and bools", |d| d.is_number() || *d == DType::Bool)?;
    let axis = axis_of(call, 1, 0, &x)?;
    let dtype = call.index_dtype(2, DType::Int64, &[DType::Int16, DType::UInt16, DType::Int32, DType::Int64])?;
    // The axis is moved to the end, so that its lines are rows.
    let rank = x.rank();
    let perm: Vec<usize> = (0..rank).filter(|a| *a != axis).chain([axis]).collect();
    let dims: Vec<Dim> = perm.iter().map(|a| x.ty.dims[*a].clone()).collect();
    let ty = Type::tensor(dtype.clone(), outermost_uniform(dims[..rank - 1].to_vec()));
    call.one(ty, move |args| {
        let tensor = x.of(args)?;
        let tensor = if axis + 1 == rank { tensor } else { Cow::Owned(transposed(&tensor, &perm, &dims)?) };
        tensor.map_below(rank - 1, &mut |t| {
            let list = t.as_list()?;
            let array = list.values().as_leaf()?;
            let from = if *array.data_type() == DType::Bool.arrow() { cast(array, &DType::UInt8)? } else { array.clone() };
            let own = dtype_of(&from)?;
            let found = numbers!(&own, T => extremes::<T>(&from, list.partition(), wanted)?, return Err(Error::internal("other values")));
            let out =
                found.map_err(|row| Error::data("an empty row has no maximum or minimum").at_row(record_of(&tensor, rank - 1, row)))?;
            Ok(Tensor::Leaf(cast(&(Arc::new(Int64Array::from(out)) as ArrayRef), &dtype)?))
        })
    })
}

/// The index of the extreme value of each row, or else the first row without values.
fn extremes<T: Number>(array: &ArrayRef, partition: &RowPartition, wanted: Ordering) -> Result<Result<Vec<i64>, usize>> {
    let values = native::<T>(array)?;
    let row = |row: usize| {
        let own = &values[partition.range(row)];
        if own.is_empty() {
            return Err(row);
        }
        let start = if wanted == Ordering::Greater { T::BOTTOM } else { T::TOP };
        let better = |v: T::Native, best: T::Native| if wanted == Ordering::Greater { v > best } else { v < best };
        let (best, _) = own.iter().enumerate().fold((0, start), |(at, best), (i, v)| if better(*v, best) { (i, *v) } else { (at, best) });
        Ok(best as i64)
    };
    Ok((0..partition.nrows()).map(row).collect())
}

/// Whether `relation` holds between each value and the one before it.
fn monotonic(call: &Call, relation: &str) -> ExprResult<String> {
    // tf.math.is_non_decreasing of a ragged tensor looks at its flat values.
    let node = kept_node(call.operand(0)?)?;
    let (ty, x) = match last_ragged(&node.ty.dims) {
        Some(_) if !node.ty.is_sparse() => (node.ty, "flat_values(x)"),
        _ => (call.dense(call.operand(0)?, "flat_values(x) is dense")?, "x"),
    };
    if !ty.dtype().is_some_and(|dtype| dtype.is_number() || dtype.time().is_some()) {
        return Err(call.error(format!("{} expects numbers, found {ty}", call.name)));
    }
    Ok(format!("reduce_all(reshape({x}, [-1])[1:] {relation} reshape({x}, [-1])[:-1])"))
}
