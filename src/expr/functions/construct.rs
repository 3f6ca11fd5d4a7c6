//! Tensors from values and partitions, and from nothing.
//!
//! Source of the meaning: `tf.ragged.constant`, `tf.RaggedTensor.from_*`, `tf.ragged.range`. Partitions
//! are always checked, `validate=False` or not.

use crate::error::{Error, Result};
use crate::expr::call::{Arg, Call, Function};
use crate::expr::constant;
use crate::expr::eval::Args;
use crate::expr::item::{Item, ItemKind};
use crate::expr::kernels::cast::{cast, i64s, native};
use crate::expr::kernels::level::{check_count, from_lengths};
use crate::expr::kernels::number::{Number, numbers};
use crate::expr::problem::{Bind, Problem};
use crate::schema::{DType, Dim, Literal, Size, Type};
use crate::tensor::{RowPartition, Tensor};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["ragged.constant"],
        "pylist|pyval, dtype=None, ragged_rank=None, inner_shape=None",
        "A nested list as a ragged tensor.",
        [("ragged.constant([[3, 1], [], [2]])", "[[3, 1], [], [2]]")],
        ragged_constant
    ),
    function!(
        ["constant", "convert_to_tensor"],
        "value, dtype=None",
        "A value or nested list as a tensor.",
        [("constant([1, 2], dtype=float64)", "[1.0, 2.0]")],
        |c| {
            let literal = literal_of(c)?;
            let (ty, tensor) = constant::plain(&literal, c.dtype(1)?.as_ref())?;
            Ok(ItemKind::Tensor(crate::expr::item::constant(tensor, ty, c.span.clone())))
        }
    ),
    function!(
        ["RaggedTensor.from_row_splits"],
        "values, row_splits, validate=True",
        "Rows that start and end at these offsets.",
        [("RaggedTensor.from_row_splits([3, 1, 4, 1], [0, 2, 2, 4])", "[[3, 1], [], [4, 1]]")],
        |c| compose(c, Encoding::RowSplits)
    ),
    function!(
        ["RaggedTensor.from_row_lengths"],
        "values, row_lengths, validate=True",
        "Rows of these lengths.",
        [("RaggedTensor.from_row_lengths([3, 1, 4], [2, 0, 1])", "[[3, 1], [], [4]]")],
        |c| compose(c, Encoding::RowLengths)
    ),
    function!(
        ["RaggedTensor.from_row_starts"],
        "values, row_starts, validate=True",
        "Rows that start at these offsets.",
        [("RaggedTensor.from_row_starts([3, 1, 4], [0, 2, 2])", "[[3, 1], [], [4]]")],
        |c| compose(c, Encoding::RowStarts)
    ),
    function!(
        ["RaggedTensor.from_row_limits"],
        "values, row_limits, validate=True",
        "Rows that end at these offsets.",
        [("RaggedTensor.from_row_limits([3, 1, 4], [2, 2, 3])", "[[3, 1], [], [4]]")],
        |c| compose(c, Encoding::RowLimits)
    ),
    function!(
        ["RaggedTensor.from_value_rowids"],
        "values, value_rowids, nrows=None, validate=True",
        "Rows by the number of the row of each value.",
        [("RaggedTensor.from_value_rowids([3, 1, 4], [0, 0, 2])", "[[3, 1], [], [4]]")],
        |c| compose(c, Encoding::ValueRowids)
    ),
    function!(
        ["RaggedTensor.from_uniform_row_length"],
        "values, uniform_row_length, nrows=None, validate=True",
        "Rows of one length.",
        [("RaggedTensor.from_uniform_row_length([3, 1, 4, 1], 2)", "[[3, 1], [4, 1]]")],
        |c| compose(c, Encoding::Uniform)
    ),
    function!(
        ["RaggedTensor.from_nested_row_splits"],
        "flat_values, nested_row_splits, validate=True",
        "Several partitions, the outermost first.",
        [("RaggedTensor.from_nested_row_splits([3, 1, 4], [[0, 2], [0, 1, 3]])", "[[[3], [1, 4]]]")],
        |c| nested(c, Encoding::RowSplits)
    ),
    function!(
        ["RaggedTensor.from_nested_row_lengths"],
        "flat_values, nested_row_lengths, validate=True",
        "Several partitions, the outermost first.",
        [("RaggedTensor.from_nested_row_lengths([3, 1, 4], [[2], [1, 2]])", "[[[3], [1, 4]]]")],
        |c| nested(c, Encoding::RowLengths)
    ),
    function!(
        ["RaggedTensor.from_nested_value_rowids"],
        "flat_values, nested_value_rowids, nested_nrows=None, validate=True",
        "Several partitions, the outermost first.",
        [("RaggedTensor.from_nested_value_rowids([3, 1, 4], [[0, 0], [0, 1, 1]])", "[[[3], [1, 4]]]")],
        |c| nested(c, Encoding::ValueRowids)
    ),
    function!(
        ["ragged.range"],
        "starts, limits=None, deltas=1",
        "A row of numbers for each start and limit; one argument is the limits.",
        [("ragged.range([2, 0, 3])", "[[0, 1], [], [0, 1, 2]]"), ("ragged.range([0, 5], [3, 3], [1, -1])", "[[0, 1, 2], [5, 4]]")],
        |c| ranges(c, true)
    ),
    function!(
        ["range"],
        "start, limit=None, delta=1",
        "Numbers from a start to before a limit.",
        [("range(3)", "[0, 1, 2]"), ("range(1, 6, 2)", "[1, 3, 5]")],
        |c| { ranges(c, false) }
    ),
    function!(["fill"], "dims, value", "A tensor of one value.", [("fill([2, 2], 7)", "[[7, 7], [7, 7]]")], |c| {
        let value = c.item(1)?.clone();
        let node = crate::expr::call::strict(crate::expr::call::as_node(&value, None)?)?;
        filled(c, node)
    }),
    function!(["zeros"], "shape, dtype=float32", "Zeros.", [("zeros([2], int32)", "[0, 0]")], |c| constant_filled(c, 0)),
    function!(["ones"], "shape, dtype=float32", "Ones.", [("ones([2], int32)", "[1, 1]")], |c| constant_filled(c, 1)),
];

fn literal_of(call: &Call) -> Bind<Literal> {
    let item = call.item(0)?;
    if let ItemKind::Tensor(_) = item.kind {
        return Err(Problem::at(item.span.clone(), format!("{} takes literals; this is a tensor already", call.name)));
    }
    item.literal().ok_or_else(|| {
        Problem::at(item.span.clone(), format!("{} takes literals, not {}", call.name, item.describe()))
            .help("stack([...]) and ragged.stack([...]) put tensors together")
    })
}

fn ragged_constant(call: &mut Call) -> Bind<ItemKind> {
    let literal = literal_of(call)?;
    let inner = match call.ints(3)? {
        None => None,
        Some(sizes) => Some(
            sizes
                .into_iter()
                .map(|n| u64::try_from(n).map_err(|_| call.problem(format!("inner_shape has the negative size {n}"))))
                .collect::<Bind<Vec<_>>>()?,
        ),
    };
    let dtype = call.dtype(1)?;
    let (ty, tensor) = constant::ragged(&literal, dtype.as_ref(), call.optional_int(2)?, inner.as_deref())?;
    Ok(ItemKind::Tensor(crate::expr::item::constant(tensor, ty, call.span.clone())))
}

/// How a partition is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    RowSplits,
    RowLengths,
    RowStarts,
    RowLimits,
    ValueRowids,
    Uniform,
}

impl Encoding {
    /// The partition of `nvals` values that the numbers of one record say.
    ///
    /// # Errors
    /// They are no partition of so many values.
    pub fn partition(self, numbers: &[i64], nvals: usize, nrows: Option<i64>) -> Result<RowPartition> {
        let nrows = nrows.map(|n| usize::try_from(n).map_err(|_| Error::data(format!("nrows is {n}")))).transpose()?;
        let partition = match self {
            Encoding::RowSplits => RowPartition::from_row_splits(numbers.to_vec())?,
            Encoding::RowLengths => RowPartition::from_row_lengths(numbers.iter().copied())?,
            Encoding::RowStarts => RowPartition::from_row_starts(numbers, nvals)?,
            Encoding::RowLimits => RowPartition::from_row_limits(numbers, nvals)?,
            Encoding::ValueRowids => RowPartition::from_value_rowids(numbers, nrows)?,
            Encoding::Uniform => {
                let length = numbers.first().copied().unwrap_or(0);
                let length =
                    usize::try_from(length).map_err(|_| Error::data(format!("uniform_row_length is {length}; it can't be negative")))?;
                let rows = nrows.unwrap_or(nvals.checked_div(length).unwrap_or(0));
                RowPartition::uniform(length, rows)?
            }
        };
        if partition.nvals() != nvals {
            return Err(Error::data(format!("the partition ends at {}, but there are {nvals} values", partition.nvals())));
        }
        Ok(partition)
    }
}

/// One more axis in front: the rows that the encoding cuts axis 0 into.
fn compose(call: &mut Call, encoding: Encoding) -> Bind<ItemKind> {
    compose_from(call, encoding, 1, 2)
}

/// `partition_outer_dimension`: by the one encoding that is given.
pub fn partition_outer_dimension(call: &mut Call) -> Bind<ItemKind> {
    const ENCODINGS: [(usize, Encoding); 6] = [
        (1, Encoding::RowSplits),
        (2, Encoding::RowLengths),
        (3, Encoding::RowStarts),
        (4, Encoding::RowLimits),
        (5, Encoding::ValueRowids),
        (7, Encoding::Uniform),
    ];
    let mut given = ENCODINGS.iter().filter(|(i, _)| call.given(*i).is_some());
    match (given.next(), given.next()) {
        (Some((i, encoding)), None) => {
            let (i, encoding) = (*i, *encoding);
            compose_from(call, encoding, i, 6)
        }
        (None, _) => Err(call.problem("give the rows: row_lengths=, row_splits=, ...")),
        _ => Err(call.problem("give the rows in one encoding")),
    }
}

fn compose_from(call: &mut Call, encoding: Encoding, at: usize, nrows_at: usize) -> Bind<ItemKind> {
    let values = call.any(0)?;
    let numbers = if encoding == Encoding::Uniform { call.scalar_integer(at)? } else { call.integers(at)? };
    check_vector(&numbers, encoding)?;
    let with_nrows = matches!(encoding, Encoding::ValueRowids | Encoding::Uniform) && call.given(nrows_at).is_some();
    let static_nrows = if with_nrows { crate::expr::call::static_int(call.item(nrows_at)?) } else { None };
    let static_length = if encoding == Encoding::Uniform { crate::expr::call::static_int(call.item(at)?) } else { None };
    let nrows = if with_nrows { Some(call.scalar_integer(nrows_at)?) } else { None };
    let mut ty = composed(&values, &numbers, encoding, call)?;
    if let Some(n) = static_nrows.and_then(|n| u64::try_from(n).ok()) {
        ty.dims[0] = Dim::known(n);
    }
    if let Some(length) = static_length {
        let length = u64::try_from(length).map_err(|_| call.problem(format!("uniform_row_length is {length}; it can't be negative")))?;
        ty.dims[1] = Dim::known(length);
        if let (Size::Known(n), None) = (values.ty.dims[0].size, static_nrows)
            && length > 0
        {
            ty.dims[0] = Dim::known(n / length);
        }
    } else if encoding == Encoding::Uniform {
        ty.dims[1] = Dim::UNIFORM;
    }
    call.one(ty, move |args| cut(&*values.of(args)?, args, &numbers, nrows.as_ref(), encoding))
}

fn check_vector(numbers: &Arg, encoding: Encoding) -> Bind<()> {
    if encoding != Encoding::Uniform && numbers.rank() != 1 {
        return Err(Problem::at(numbers.span.clone(), format!("a partition is a vector of integers; this is {}", numbers.ty)));
    }
    Ok(())
}

fn composed(values: &Arg, numbers: &Arg, encoding: Encoding, call: &Call) -> Bind<Type> {
    if values.rank() == 0 {
        return Err(Problem::at(values.span.clone(), format!("{} needs values with an axis; this is a scalar", call.name)));
    }
    let rows = match (encoding, numbers.ty.dims.first().map(|d| d.size)) {
        (Encoding::RowSplits, Some(Size::Known(n))) => Dim::known(n.saturating_sub(1)),
        (Encoding::RowLengths | Encoding::RowStarts | Encoding::RowLimits, Some(Size::Known(n))) => Dim::known(n),
        _ => Dim::UNIFORM,
    };
    let mut ty = values.ty.clone();
    ty.dims.splice(0..1, [rows, Dim::RAGGED]);
    Ok(ty)
}

fn cut(values: &Tensor, args: &Args, numbers: &Arg, nrows: Option<&Arg>, encoding: Encoding) -> Result<Tensor> {
    let list = values.as_list()?;
    let (outer, below) = (list.partition(), list.values());
    let numbers = numbers.of(args)?;
    let (owners, numbers) = match &*numbers {
        Tensor::List(n) => (n.partition().clone(), n.values().as_leaf()?.clone()),
        other => (RowPartition::uniform(1, other.nrows())?, other.as_leaf()?.clone()),
    };
    let numbers = i64s(&numbers)?;
    let nrows_tensor = nrows.map(|a| a.of(args)).transpose()?;
    let nrows = nrows_tensor.as_ref().map(|t| t.as_leaf().and_then(i64s)).transpose()?;
    let mut lengths = Vec::with_capacity(numbers.len());
    let mut rows = Vec::with_capacity(outer.nrows());
    for record in 0..outer.nrows() {
        let own = &numbers[owners.range(record)];
        let partition = encoding.partition(own, outer.row_length(record), nrows.map(|n| n[record])).map_err(|e| e.at_row(record))?;
        rows.push(partition.nrows());
        lengths.extend(partition.row_lengths());
    }
    let inner = match (encoding, lengths.first()) {
        (Encoding::Uniform, Some(first)) if lengths.iter().all(|l| l == first) => RowPartition::uniform(*first, lengths.len())?,
        _ => from_lengths(lengths)?,
    };
    Tensor::list(from_lengths(rows)?, Tensor::list(inner, below.clone(), None)?, None)
}

fn nested(call: &mut Call, encoding: Encoding) -> Bind<ItemKind> {
    let mut values = call.any(0)?;
    let first = values.clone();
    let partitions: Vec<Item> = call.list(1)?;
    let nrows: Option<Vec<Item>> = if encoding == Encoding::ValueRowids && call.given(2).is_some() { Some(call.list(2)?) } else { None };
    if nrows.as_ref().is_some_and(|n| n.len() != partitions.len()) {
        return Err(call.problem(format!("{} partitions need as many nrows", partitions.len())));
    }
    let mut steps = Vec::new();
    for (i, item) in partitions.iter().enumerate().rev() {
        let numbers = call.integers_of(item)?;
        check_vector(&numbers, encoding)?;
        let rows = match &nrows {
            Some(all) => Some(call.integers_of(&all[i])?),
            None => None,
        };
        values.ty = composed(&values, &numbers, encoding, call)?;
        if let Some(n) = nrows.as_ref().and_then(|all| crate::expr::call::static_int(&all[i])).and_then(|n| u64::try_from(n).ok()) {
            values.ty.dims[0] = Dim::known(n);
        }
        steps.push((numbers, rows));
    }
    call.one(values.ty, move |args| {
        steps
            .iter()
            .try_fold(first.of(args)?.into_owned(), |tensor, (numbers, nrows)| cut(&tensor, args, numbers, nrows.as_ref(), encoding))
    })
}

/// `ragged.range`, and `range` of scalars.
fn ranges(call: &mut Call, ragged: bool) -> Bind<ItemKind> {
    let one = Item { kind: ItemKind::Literal(Literal::Int(1)), span: call.span.clone() };
    let zero = Item { kind: ItemKind::Literal(Literal::Int(0)), span: call.span.clone() };
    let (start, limit) = match call.given(1) {
        Some(limit) => (call.item(0)?.clone(), limit.clone()),
        None => (zero, call.item(0)?.clone()),
    };
    let delta = call.given(2).cloned().unwrap_or(one);
    let args = call.promoted_items(&[start, limit, delta])?;
    let dtype = args[0].dtype()?.clone();
    if !dtype.is_number() {
        return Err(call.problem(format!("{} works on numbers; these are {dtype}", call.name)));
    }
    let most = usize::from(ragged);
    if let Some(arg) = args.iter().find(|a| a.rank() > most) {
        let expected = if ragged { "scalars and vectors" } else { "scalars" };
        return Err(Problem::at(arg.span.clone(), format!("{} works on {expected}; this is {}", call.name, arg.ty)));
    }
    let known = args.iter().filter(|a| a.rank() == 1).find_map(|a| if let Size::Known(n) = a.ty.dims[0].size { Some(n) } else { None });
    let vectors = args.iter().any(|a| a.rank() == 1);
    let rows = match (vectors, known) {
        (false, _) => Dim::known(1),
        (true, Some(n)) => Dim::known(n),
        (true, None) => Dim::UNIFORM,
    };
    let dims = if ragged { vec![rows, Dim::RAGGED] } else { vec![Dim::UNIFORM] };
    call.one(Type::tensor(dtype.clone(), dims), move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        let columns = tensors
            .iter()
            .map(|t| match &**t {
                Tensor::List(list) => Ok((Some(list.partition()), list.values().as_leaf()?)),
                other => Ok((None, other.as_leaf()?)),
            })
            .collect::<Result<Vec<_>>>()?;
        numbers!(&dtype, T => rows_of_numbers::<T>(&columns, a.nrows, ragged, dtype.is_integer()), Err(Error::data("internal: a range of other values")))
    })
}

fn rows_of_numbers<T: Number>(
    columns: &[(Option<&RowPartition>, &ArrayRef)],
    nrecords: usize,
    ragged: bool,
    integer: bool,
) -> Result<Tensor> {
    let values = columns.iter().map(|(_, a)| native::<T>(a)).collect::<Result<Vec<_>>>()?;
    let mut out: Vec<T::Native> = Vec::new();
    let (mut lengths, mut rows) = (Vec::new(), Vec::with_capacity(nrecords));
    for record in 0..nrecords {
        let counts: Vec<usize> = columns.iter().filter_map(|(p, _)| p.map(|p| p.row_length(record))).collect();
        let n = counts.first().copied().unwrap_or(1);
        if let Some(other) = counts.iter().find(|c| **c != n) {
            return Err(Error::data(format!("starts, limits and deltas have {n} and {other} items")).at_row(record));
        }
        rows.push(n);
        for i in 0..n {
            let at = |k: usize| values[k][columns[k].0.map_or(record, |p| p.start(record) + i)];
            let (start, limit, delta) = (at(0), at(1), at(2));
            if delta == T::ZERO {
                return Err(Error::data("the delta of a range is 0").at_row(record));
            }
            let up = delta > T::ZERO;
            // NaN is on no side of anything: an empty row.
            let runs = if up { start < limit } else { start > limit };
            let count = if !runs {
                0.0
            } else if integer {
                let (s, l, d) = (exact::<T>(start), exact::<T>(limit), exact::<T>(delta));
                ((l - s + d - d.signum()) / d) as f64
            } else {
                ((T::to_f64(limit) - T::to_f64(start)) / T::to_f64(delta)).abs().ceil()
            };
            let count = check_count((count < 1e18).then_some(count as usize).and_then(|c| c.checked_add(out.len())), record)? - out.len();
            let mut value = start;
            for _ in 0..count {
                out.push(value);
                value = T::add(value, delta);
            }
            lengths.push(count);
        }
    }
    let flat = Tensor::Leaf(Arc::new(PrimitiveArray::<T>::new(out.into(), None)));
    let inner = Tensor::list(from_lengths(lengths)?, flat, None)?;
    if ragged { Tensor::list(from_lengths(rows)?, inner, None) } else { Ok(inner) }
}

fn exact<T: Number>(v: T::Native) -> i128 {
    // Through text of the number: every integer dtype fits.
    format!("{v:?}").parse().unwrap_or(0)
}

fn constant_filled(call: &mut Call, value: i128) -> Bind<ItemKind> {
    let dtype = call.dtype(1)?.unwrap_or(DType::Float32);
    let literal = match dtype {
        DType::Bool => Literal::Bool(value != 0),
        DType::String | DType::Bytes if value == 0 => constant::zero(&dtype)?,
        _ => Literal::Int(value),
    };
    let (ty, tensor) = constant::plain(&literal, Some(&dtype))?;
    filled(call, crate::expr::item::constant(tensor, ty, call.span.clone()))
}

/// A tensor of one value: sizes may differ from record to record.
fn filled(call: &mut Call, value: crate::expr::eval::Node) -> Bind<ItemKind> {
    let item = call.item(0)?.clone();
    let sizes: Vec<Item> = match item.elements() {
        Some(sizes) => sizes,
        None => match crate::expr::call::static_ints(&item) {
            Some(sizes) => {
                sizes.into_iter().map(|n| Item { kind: ItemKind::Literal(Literal::Int(n.into())), span: item.span.clone() }).collect()
            }
            None => vec![item.clone()],
        },
    };
    let value = call.push(value);
    if value.rank() != 0 {
        return Err(Problem::at(value.span.clone(), format!("{} takes a single value; this is {}", call.name, value.ty)));
    }
    let (mut dims, mut args) = (Vec::new(), Vec::new());
    for size in &sizes {
        let known = crate::expr::call::static_int(size);
        if known.is_some_and(|n| n < 0) {
            return Err(Problem::at(size.span.clone(), "a size can't be negative"));
        }
        let arg = call.integers_of(size)?;
        if arg.rank() != 0 {
            return Err(Problem::at(size.span.clone(), format!("expected a single size, found {}", arg.ty)));
        }
        dims.push(known.and_then(|n| u64::try_from(n).ok()).map_or(Dim::UNIFORM, Dim::known));
        args.push(arg);
    }
    let known: Vec<Option<usize>> = dims.iter().map(|d| if let Size::Known(n) = d.size { usize::try_from(n).ok() } else { None }).collect();
    if known.iter().try_fold(1usize, |all, n| all.checked_mul(n.unwrap_or(1))).is_none_or(|n| n > 1 << 28) {
        return Err(call.problem("the result would have more than 2^28 values"));
    }
    let ty = Type { dims, ..value.ty.clone() };
    call.one(ty, move |a| {
        let sizes = args.iter().map(|arg| arg.of(a).and_then(|t| cast(t.as_leaf()?, &DType::Int64))).collect::<Result<Vec<_>>>()?;
        let sizes = sizes.iter().map(i64s).collect::<Result<Vec<_>>>()?;
        let mut partitions = Vec::with_capacity(sizes.len());
        let mut owners: Vec<usize> = (0..a.nrows).collect();
        for (axis, size) in sizes.iter().enumerate() {
            let mut lengths = Vec::with_capacity(owners.len());
            let mut next = Vec::new();
            for owner in &owners {
                let n = usize::try_from(size[*owner])
                    .map_err(|_| Error::data(format!("the size {} is negative", size[*owner])).at_row(*owner))?;
                check_count(next.len().checked_add(n), *owner)?;
                next.extend(std::iter::repeat_n(*owner, n));
                lengths.push(n);
            }
            partitions.push(match known[axis] {
                Some(n) => RowPartition::uniform(n, lengths.len())?,
                None => from_lengths(lengths)?,
            });
            owners = next;
        }
        let below = value.of(a)?.gather(&owners)?;
        crate::expr::kernels::level::wrap(partitions.into_iter(), below)
    })
}
