//! Writing values at indices of dense tensors: formulas over segments, whose ids are flat positions.
//!
//! Semantics: `tf.scatter_nd`, `tf.tensor_scatter_nd_update`, `_add`, `_sub`, `_max`, `_min`.

use super::select::ignores_bad_indices;
use crate::error::mismatch;
use crate::expr::call::{Call, Function, as_node, static_int};
use crate::expr::error::ExprResult;
use crate::schema::{DType, Dim, Size};

pub static FUNCTIONS: &[Function] = &[
    formula!(
        ["scatter_nd", "manip.scatter_nd"],
        "indices, updates, shape, bad_indices_policy=\"\"",
        "A tensor of the given shape with the updates at the indices and zeros elsewhere. Updates at the same index are summed; strings are concatenated. An index out of range is an error; with bad_indices_policy=\"IGNORE\", its update is ignored.",
        [
            ("scatter_nd([[3], [7]], [9, 10], [5], bad_indices_policy=\"IGNORE\")", "[0, 0, 0, 9, 0]"),
            ("scatter_nd([[3], [1], [3]], [9, 10, 11], [5])", "[0, 10, 0, 20, 0]"),
            ("scatter_nd([[1]], [[5, 6]], [2, 2])", "[[0, 0], [5, 6]]")
        ],
        |call| {
            let Some(sizes) = call.operand(2)?.elements() else {
                return Err(call.error("scatter_nd: shape must be a list of sizes, such as [8] or [4, 3]"));
            };
            let known: Vec<Size> = sizes.iter().map(|size| static_int(size).and_then(|n| u64::try_from(n).ok())).map(known).collect();
            let sizes: Vec<String> = (0..sizes.len()).map(|axis| format!("shape[{axis}]")).collect();
            let mut scatter = Scatter::new(call, 0, 1, &sizes, &known)?;
            if ignores_bad_indices(call, 3)? {
                scatter.ignore_bad_indices();
            }
            let (rows, ids, nrows) = (scatter.rows("updates"), &scatter.ids, &scatter.nrows);
            let summed = match as_node(call.operand(1)?, None)?.ty.dtype() {
                Some(DType::Bool) => format!("math.unsorted_segment_sum(cast({rows}, int64), {ids}, {nrows}) > 0"),
                Some(DType::String | DType::Bytes) => format!("strings.unsorted_segment_join({rows}, {ids}, {nrows})"),
                _ => format!("math.unsorted_segment_sum({rows}, {ids}, {nrows})"),
            };
            Ok(scatter.shaped(&summed))
        }
    ),
    formula!(
        ["tensor_scatter_nd_update", "tensor_scatter_update"],
        "tensor|x, indices, updates, bad_indices_policy=\"\"",
        "The tensor with the updates at the indices. If several updates have the same index, the last one wins.",
        [("tensor_scatter_nd_update([1, 2, 3, 4], [[0], [2]], [9, 8])", "[9, 2, 8, 4]")],
        alike: [0, 2],
        |call| {
            let scatter = Scatter::over(call)?;
            let last = format!(
                "math.unsorted_segment_max(range({} + cast(size({}), int64)), {}, {})",
                scatter.nrows,
                scatter.ids,
                scatter.all_ids(),
                scatter.nrows
            );
            Ok(scatter.shaped(&format!("gather({}, {last})", scatter.all("updates"))))
        }
    ),
    formula!(
        ["tensor_scatter_nd_add", "tensor_scatter_add"],
        "tensor|x, indices, updates, bad_indices_policy=\"\"",
        "The tensor with the updates added at the indices. An index out of range is an error; with bad_indices_policy=\"IGNORE\", its update is ignored.",
        [
            ("tensor_scatter_nd_add([1, 2, 3, 4], [[0], [2], [0]], [9, 8, 10])", "[20, 2, 11, 4]"),
            ("tensor_scatter_nd_add([1, 2], [[0], [7]], [9, 8], bad_indices_policy=\"IGNORE\")", "[10, 2]")
        ],
        alike: [0, 2],
        |call| added(call, str::to_owned)
    ),
    formula!(
        ["tensor_scatter_nd_sub", "tensor_scatter_sub"],
        "tensor|x, indices, updates, bad_indices_policy=\"\"",
        "The tensor with the updates subtracted at the indices.",
        [("tensor_scatter_nd_sub([1, 2, 3, 4], [[0], [2]], [9, 8])", "[-8, 2, -5, 4]")],
        alike: [0, 2],
        |call| added(call, |updates| format!("(zeros_like({updates}) - {updates})"))
    ),
    formula!(
        ["tensor_scatter_nd_max"],
        "tensor|x, indices, updates, bad_indices_policy=\"\"",
        "The tensor in which each value at the indices is replaced by the larger of the value and the update.",
        [("tensor_scatter_nd_max([1, 2, 3, 4], [[0], [3]], [9, 2])", "[9, 2, 3, 4]")],
        alike: [0, 2],
        |call| chosen(call, "max", '>')
    ),
    formula!(
        ["tensor_scatter_nd_min"],
        "tensor|x, indices, updates, bad_indices_policy=\"\"",
        "The tensor in which each value at the indices is replaced by the smaller of the value and the update.",
        [("tensor_scatter_nd_min([1, 2, 3, 4], [[0], [3]], [9, 2])", "[1, 2, 3, 2]")],
        alike: [0, 2],
        |call| chosen(call, "min", '<')
    ),
    formula!(
        ["dynamic_stitch"],
        "indices, data",
        "Merge the slices of several tensors into one, each at its index. If an index occurs twice, the last slice wins; positions without a slice are 0.",
        [("dynamic_stitch([[0, 2], [1]], [[10, 30], [20]])", "[10, 20, 30]")],
        alike: [1],
        stitch
    ),
];

/// The formulas common to all scatter functions. A "row" is what one index selects: a value or a slice.
struct Scatter {
    /// The number of rows, and the row index of each update.
    nrows: String,
    ids: String,
    /// Whether each index is in range.
    fits: String,
    /// The row index of each update, whether in range or not.
    positions: String,
    /// The sizes of a row, and of the result.
    inner: String,
    shape: String,
}

impl Scatter {
    /// For indices and updates into a tensor of these sizes.
    fn new(call: &Call, indices: usize, updates: usize, sizes: &[String], known: &[Size]) -> ExprResult<Scatter> {
        let ty = as_node(call.operand(indices)?, None)?.ty;
        let updates = as_node(call.operand(updates)?, None)?.ty;
        if ty.is_ragged() || ty.is_sparse() || updates.is_ragged() || updates.is_sparse() {
            return Err(call
                .error(format!("{} expects dense tensors", call.name))
                .help("to pad the rows of a ragged tensor: to_tensor(x)"));
        }
        let depth = match ty.dims.last().map(|dim| dim.size) {
            Some(Size::Known(depth @ 1..)) => depth as usize,
            // The ranks say how many numbers an index has.
            Some(Size::Uniform) if (ty.rank()..ty.rank() + sizes.len()).contains(&(updates.rank() + 1)) => {
                ty.rank() - 1 + sizes.len() - updates.rank()
            }
            _ => {
                let error =
                    call.error(format!("{}: the last axis of the indices must have a known size of at least 1; this is {ty}", call.name));
                return Err(error.help("the index of each update must be a vector: expand_dims(indices, -1)"));
            }
        };
        if ty.rank() == 1 {
            let error = call.error(format!("{}: the indices must be a matrix or have more axes; this is {ty}", call.name));
            return Err(error.help("a single index: [[1]] or expand_dims(index, 0)"));
        }
        let Some(inner) = sizes.get(depth..) else {
            return Err(call.error(format!("{}: each index has {depth} numbers, but the tensor has rank {}", call.name, sizes.len())));
        };
        if updates.rank() == 0 {
            return Err(call.error(mismatch("a vector of updates and a matrix of indices", "a single update").prefixed(&call.name)));
        }
        if updates.rank() != ty.rank() - 1 + inner.len() {
            let axes = ty.rank() - 1 + inner.len();
            return Err(call.error(format!("{}: the updates have rank {}; expected {axes}", call.name, updates.rank())));
        }
        let expected = ty.dims[..ty.rank() - 1].iter().map(|dim| dim.size).chain(known[depth..].iter().copied());
        for (axis, (found, expected)) in updates.dims.iter().zip(expected).enumerate() {
            if let (Size::Known(found), Size::Known(expected)) = (found.size, expected)
                && found != expected
            {
                return Err(call.error(format!("{}: axis {axis} of the updates has {found} items; expected {expected}", call.name)));
            }
        }
        let outer = &sizes[..depth];
        // A list of fields becomes a tensor.
        let list = call.operand(indices)?.elements().is_some();
        let vectors = if list { "stack(indices)" } else { "identity(indices)" };
        let position = |axis: usize| {
            let steps: String = outer[axis + 1..].iter().map(|size| format!(" * {size}")).collect();
            format!("cast({vectors}[..., {axis}], int64){steps}")
        };
        let positions: Vec<String> = (0..depth).map(position).collect();
        // Adds zeros, but rejects indices that are out of range.
        let check = format!("gather_nd(zeros([{}], int64), indices)", outer.join(", "));
        let positions = positions.join(" + ");
        let ids = format!("reshape({check} + {positions}, [-1])");
        let positions = format!("reshape({positions}, [-1])");
        let fits = |axis: usize| format!("(({vectors}[..., {axis}] >= 0) & (cast({vectors}[..., {axis}], int64) < {}))", outer[axis]);
        let fits = format!("reshape({}, [-1])", (0..depth).map(fits).collect::<Vec<_>>().join(" & "));
        let inner: String = inner.iter().map(|size| format!(", {size}")).collect();
        Ok(Scatter { nrows: format!("cast({}, int64)", outer.join(" * ")), ids, fits, positions, inner, shape: sizes.join(", ") })
    }

    /// Leaves out updates whose index is out of range. Only for segments, which ignore negative ids.
    fn ignore_bad_indices(&mut self) {
        self.ids = format!("where({}, {}, -1)", self.fits, self.positions);
    }

    /// For `tensor`, `indices` and `updates`, into a copy of the tensor.
    fn over(call: &Call) -> ExprResult<Scatter> {
        let ty = as_node(call.operand(0)?, None)?.ty;
        if ty.is_ragged() || ty.is_sparse() {
            return Err(call.error(format!("{} expects a dense tensor, found {ty}", call.name)));
        }
        let size = |(axis, dim): (usize, &Dim)| match dim.size {
            Size::Known(n) => n.to_string(),
            _ => format!("shape(identity(tensor))[{axis}]"),
        };
        let sizes: Vec<String> = ty.dims.iter().enumerate().map(size).collect();
        let known: Vec<Size> = ty.dims.iter().map(|dim| dim.size).collect();
        let mut scatter = Scatter::new(call, 1, 2, &sizes, &known)?;
        if ignores_bad_indices(call, 3)? {
            scatter.ignore_bad_indices();
        }
        Ok(scatter)
    }

    /// The updates, or values derived from them, as rows.
    fn rows(&self, updates: &str) -> String {
        format!("reshape({updates}, [size({}){}])", self.ids, self.inner)
    }

    /// The tensor as rows.
    fn own(&self) -> String {
        format!("reshape(tensor, [{}{}])", self.nrows, self.inner)
    }

    /// The rows of the tensor followed by those of the updates.
    fn all(&self, updates: &str) -> String {
        format!("concat([{}, {}], 0)", self.own(), self.rows(updates))
    }

    /// The tensor, with these rows where it has an update. The start of a reduction is no value: not even -0.0 may change.
    fn updated(&self, rows: &str) -> String {
        let ones = ", 1".repeat(self.inner.matches(", ").count());
        let count = format!("math.unsorted_segment_sum(ones_like({0}), {0}, {1})", self.ids, self.nrows);
        self.shaped(&format!("where(reshape({count} > 0, [{}{ones}]), {rows}, {})", self.nrows, self.own()))
    }

    /// The row index of each item of [`Scatter::all`].
    fn all_ids(&self) -> String {
        format!("concat([range({}), {}], 0)", self.nrows, self.ids)
    }

    /// Reshapes rows to the result.
    fn shaped(&self, rows: &str) -> String {
        format!("reshape({rows}, [{}])", self.shape)
    }
}

/// A size that may be known before the first record.
fn known(size: Option<u64>) -> Size {
    size.map_or(Size::Uniform, Size::Known)
}

fn added(call: &Call, derived: impl Fn(&str) -> String) -> ExprResult<String> {
    let scatter = Scatter::over(call)?;
    let (all, ids) = (scatter.all(&derived("updates")), scatter.all_ids());
    Ok(scatter.updated(&format!("math.unsorted_segment_sum({all}, {ids}, {})", scatter.nrows)))
}

/// Takes updates that are larger or smaller than the values; NaN is neither.
fn chosen(call: &Call, reduction: &str, better: char) -> ExprResult<String> {
    let scatter = Scatter::over(call)?;
    let updates = format!("math.unsorted_segment_{reduction}({}, {}, {})", scatter.rows("updates"), scatter.ids, scatter.nrows);
    let own = scatter.own();
    Ok(scatter.updated(&format!("where({updates} {better} {own}, {updates}, {own})")))
}

fn stitch(call: &Call) -> ExprResult<String> {
    let (indices, data) = (call.list(0)?, call.list(1)?);
    if indices.len() != data.len() || data.is_empty() {
        return Err(call.error(format!("dynamic_stitch expects as many tensors as indices, found {} and {}", data.len(), indices.len())));
    }
    let (mut all, mut slices, mut inner) = (Vec::new(), Vec::new(), String::new());
    for (i, (own, tensor)) in indices.iter().zip(&data).enumerate() {
        let [own, tensor] = [own, tensor].map(|item| call.dense(item, "to pad its rows: to_tensor(x)"));
        let (own, tensor) = (own?, tensor?);
        let fits = own.rank() <= tensor.rank()
            && own.dims.iter().zip(&tensor.dims).all(|(m, n)| !matches!((m.size, n.size), (Size::Known(m), Size::Known(n)) if m != n));
        if !fits {
            return Err(call.error(format!("dynamic_stitch: the axes of the indices {own} do not match the leading axes of {tensor}")));
        }
        if i == 0 {
            inner = (own.rank()..tensor.rank()).map(|axis| format!(", shape(identity(data[0]))[{axis}]")).collect();
        }
        all.push(format!("reshape(indices[{i}], [-1])"));
        slices.push(format!("reshape(data[{i}], [size(indices[{i}]){inner}])"));
    }
    let (all, slices) = (format!("concat([{}], 0)", all.join(", ")), format!("concat([{}], 0)", slices.join(", ")));
    let count = format!("maximum(reduce_max({all}) + 1, 0)");
    let empty = format!("zeros([{count}{inner}], {slices}.dtype)");
    Ok(format!("tensor_scatter_nd_update({empty}, expand_dims({all}, -1), {slices})"))
}
