//! Structured tensors from fields and shapes.
//!
//! Semantics: `tf.experimental.StructuredTensor.from_fields`, `from_shape`.

use crate::error::{Result, mismatch};
use crate::expr::call::{Arg, Call, Function, Integer, as_node, field_of_value, key_name, key_text, static_ints};
use crate::expr::error::{ExprError, ExprResult};
use crate::expr::kernels::level::{dense_partitions, from_lengths, wrap};
use crate::expr::kernels::structure::with_fields;
use crate::expr::operand::{Operand, OperandKind, describe};
use crate::expr::types::{below_axes, outermost_uniform};
use crate::printable::counted_axes;
use crate::schema::{Dim, Field, Size, Type};
use crate::tensor::limits::check_count;
use crate::tensor::{RowPartition, Tensor};

pub static FUNCTIONS: &[Function] = &[
    function!(
        ["StructuredTensor.from_fields"],
        "fields, shape=(), nrows=None, row_partitions=None, validate=False",
        "A structured tensor from its fields, which share the axes of the shape.",
        [],
        |c| {
            let rank = c.shape(1)?.map_or(0, |shape| shape.len());
            from_fields(c, rank)
        }
    ),
    function!(
        ["StructuredTensor.from_fields_and_rank"],
        "fields, rank, validate=False, dtype=None",
        "A structured tensor from its fields, which share the first rank axes.",
        [],
        |c| {
            let rank = c.int(1)?;
            let rank = usize::try_from(rank).map_err(|_| c.error(format!("the rank {rank} is negative")))?;
            if matches!(&c.operand(0)?.kind, OperandKind::Dict(fields, _) if fields.is_empty()) {
                let error = c.error(format!("{} needs at least one field", c.name));
                return Err(error.help("for structures without fields: StructuredTensor.from_fields({}, shape=[2])"));
            }
            // As in TensorFlow, only scalars make a scalar of rank 1.
            let scalars = match &c.operand(0)?.kind {
                OperandKind::Dict(fields, _) if !fields.is_empty() => fields
                    .iter()
                    .map(|(_, value)| Ok(as_node(value, None)?.ty.rank() == 0))
                    .collect::<ExprResult<Vec<_>>>()?
                    .iter()
                    .all(|s| *s),
                _ => false,
            };
            from_fields(c, if scalars { rank.saturating_sub(1) } else { rank })
        }
    ),
    function!(
        ["StructuredTensor.from_shape"],
        "ragged_shape",
        "A structured tensor with no fields and the given shape.",
        [("len(StructuredTensor.from_shape([2, (3, 1)]))", "2")],
        from_shape
    ),
    function!(
        ["DynamicRaggedShape.from_lengths"],
        "lengths, num_row_partitions=None, dtype=int64",
        "A shape from the size or the row lengths of each axis.",
        [("StructuredTensor.from_shape(DynamicRaggedShape.from_lengths([2, (3, 1)])).nrows()", "2")],
        shape_from_lengths
    ),
];

/// The lengths themselves. The number of row partitions only chooses how TensorFlow stores uniform axes.
fn shape_from_lengths(call: &mut Call) -> ExprResult<OperandKind> {
    let lengths = call.list(0)?;
    let ragged = lengths.iter().rposition(|axis| axis.elements().is_some()).unwrap_or(0);
    if let Some(partitions) = call.optional_int(1)? {
        if partitions > 0 && partitions >= lengths.len() as i64 {
            return Err(call.error(format!("{partitions} row partitions are too many for {}", counted_axes(lengths.len()))));
        }
        if partitions < ragged as i64 {
            return Err(call.error(format!("axis {ragged} is ragged, so num_row_partitions must be at least {ragged}")));
        }
    }
    Ok(call.operand(0)?.kind.clone())
}

fn from_fields(call: &mut Call, rank: usize) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let OperandKind::Dict(entries, _) = &item.kind else {
        return Err(ExprError::at(item.span.clone(), format!("the fields must be a dict of names and values, not {}", item.describe())));
    };
    let own_shape = call.param(1) == "shape";
    if let (true, 0, Some(nrows)) = (own_shape, rank, call.given(2)) {
        let error = ExprError::at(nrows.span.clone(), "a single structure has no rows, so nrows cannot be given");
        return Err(error.help("for a vector of structures: shape=[None]"));
    }
    let shape = if own_shape { call.shape(1)? } else { None };
    let nrows = if own_shape && call.given(2).is_some() { Some(call.integer(2)?) } else { None };
    let mut fields: Vec<Field> = Vec::with_capacity(entries.len());
    let mut args: Vec<Arg> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        // Only from_fields checks names in TensorFlow.
        let name = if own_shape { key_name(key)? } else { key_text(key)?.to_owned() };
        let node = as_node(value, None)?;
        let storage = field_of_value(&node).storage_below(rank);
        let arg = call.push(node);
        if arg.rank() < rank || (rank > 0 && arg.ty.is_sparse()) {
            return Err(ExprError::at(
                value.span.clone(),
                format!("the leading axes of a field must match those of its structures (rank {rank}); this is {}", describe(&arg.ty)),
            ));
        }
        let own = below_axes(&arg.ty, rank);
        fields.push(Field { storage, ..Field::new(name, own) });
        args.push(arg);
    }
    let mut dims: Vec<Dim> = match args.first() {
        Some(first) => first.ty.dims[..rank].to_vec(),
        None if rank == 0 => Vec::new(),
        None => return empty_structures(call, shape.as_deref(), nrows),
    };
    for (axis, dim) in dims.iter_mut().enumerate() {
        for arg in &args {
            if let Size::Known(n) = arg.ty.dims[axis].size {
                if let Size::Known(m) = dim.size
                    && m != n
                {
                    return Err(ExprError::at(arg.span.clone(), format!("this field has {n} items on axis {axis}, but others have {m}")));
                }
                *dim = Dim::known(n);
            }
        }
        let wanted = shape.as_ref().and_then(|s| s.get(axis).copied().flatten());
        if let (Some(wanted), Size::Known(n)) = (wanted, dim.size)
            && u64::try_from(wanted) != Ok(n)
        {
            return Err(call.error(format!("the shape says {wanted} items on axis {axis}; the fields have {n}")));
        }
        let wanted = wanted.or_else(|| nrows.as_ref().filter(|_| axis == 0).and_then(Integer::known));
        if let Some(wanted) = wanted.and_then(|n| u64::try_from(n).ok()) {
            if let Size::Known(n) = dim.size
                && n != wanted
            {
                return Err(call.error(format!("nrows is {wanted}; the fields have {n} rows")));
            }
            // The rows are checked against the shape, which makes the axis uniform.
            *dim = Dim::known(wanted);
        }
    }
    let sizes = dims.clone();
    call.one(Type::structure(fields, dims), move |a| {
        let tensors = args.iter().map(|arg| arg.of(a)).collect::<Result<Vec<_>>>()?;
        with_fields(&tensors.iter().map(AsRef::as_ref).collect::<Vec<_>>(), &sizes, a.nrows)
    })
}

/// Structures without fields, of a shape whose first size can be given as `nrows`.
fn empty_structures(call: &mut Call, shape: Option<&[Option<i64>]>, nrows: Option<Integer>) -> ExprResult<OperandKind> {
    let mut sizes: Vec<Option<Integer>> = shape.unwrap_or_default().iter().map(|n| n.map(Integer::Known)).collect();
    if let (Some(first), Some(nrows)) = (sizes.first_mut(), nrows) {
        if let (Some(Integer::Known(a)), Some(b)) = (&first, nrows.known())
            && *a != b
        {
            return Err(call.error(format!("the shape says {a} rows; nrows is {b}")));
        }
        first.get_or_insert(nrows);
    }
    let sizes: Option<Vec<Integer>> = sizes.into_iter().collect();
    let sizes = sizes.ok_or_else(|| {
        call.error("structures without fields need a shape with known sizes").help("use nrows= to specify the size of axis 0")
    })?;
    let dims: Vec<Dim> = sizes.iter().map(Integer::dim).collect();
    let frame = dims.clone();
    call.one(Type::structure(Vec::new(), dims), move |args| {
        let numbers = sizes.iter().map(|n| n.of(args)).collect::<Result<Vec<_>>>()?;
        let (partitions, records) = dense_partitions(&frame, args.nrows, |axis, record| numbers[axis].size(record, "the size"))?;
        wrap(partitions.into_iter(), Tensor::structure(records.len(), Vec::new(), None)?)
    })
}

/// Structures without fields, given a size or row lengths for each axis.
fn from_shape(call: &mut Call) -> ExprResult<OperandKind> {
    let item = call.operand(0)?.clone();
    let wrong = |e: &Operand| ExprError::at(e.span.clone(), mismatch("a size or a list of row lengths", e.describe()));
    let lengths = item.elements().ok_or_else(|| wrong(&item))?;
    let (mut dims, mut partitions, mut rows) = (Vec::with_capacity(lengths.len()), Vec::with_capacity(lengths.len()), 1usize);
    for axis in &lengths {
        let sizes = static_ints(axis).ok_or_else(|| wrong(axis))?;
        let sizes = sizes.into_iter().map(|n| usize::try_from(n).map_err(|_| wrong(axis))).collect::<ExprResult<Vec<_>>>()?;
        let uniform = axis.elements().is_none() && axis.node().is_none_or(|node| node.ty.rank() == 0);
        let partition = match sizes.as_slice() {
            [n] if uniform => RowPartition::uniform(*n, rows)?,
            sizes if sizes.len() == rows => from_lengths(sizes.iter().copied())?,
            sizes => return Err(ExprError::at(axis.span.clone(), format!("found {} row lengths for {rows} rows", sizes.len()))),
        };
        check_count(Some(partition.nvals()), 0)?;
        rows = partition.nvals();
        dims.push(if uniform { Dim::known(sizes[0] as u64) } else { Dim::RAGGED });
        partitions.push(partition);
    }
    let tensor = wrap(partitions.into_iter(), Tensor::structure(rows, Vec::new(), None)?)?;
    let ty = Type::structure(Vec::new(), outermost_uniform(dims));
    Ok(OperandKind::Tensor(crate::expr::operand::constant(tensor, ty, call.span.clone())))
}
