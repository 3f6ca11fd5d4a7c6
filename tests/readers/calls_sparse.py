"""Calls of functions on sparse tensors."""
from draw import ALL, COMMON, FLOATS, NUMBERS, Sparse
from registry import CALLS, call, each, options

CALLS["sparse.from_dense"] = (lambda d: f"tf.sparse.from_dense({d.tensor(ALL, 1, 3, False)})", 1)
CALLS["sparse.to_dense"] = (lambda d: f"tf.sparse.to_dense({d.sparse(ALL)})", 1)
CALLS["sparse.eye"] = (lambda d: f"tf.sparse.eye({d.int(0, 3)}{options(d, num_columns=lambda: d.int(0, 3), dtype=lambda: 'tf.' + d.some(NUMBERS))})", 1)
CALLS["sparse.reorder"] = (lambda d: f"tf.sparse.reorder({d.sparse(ALL)})", 1)
CALLS["sparse.transpose"] = (lambda d: f"tf.sparse.transpose({d.sparse(ALL)})", 1)
CALLS["sparse.expand_dims"] = (lambda d: f"tf.sparse.expand_dims({d.sparse(ALL, 2)}, {d.axis(3)})", 1)
CALLS["sparse.reshape"] = (lambda d: f"tf.sparse.reshape({d.sparse(ALL, shape=[2, 3])}, {d.one([6], [3, 2], [-1], [1, -1], [2, 2], [-1, 2])})", 1)
CALLS["sparse.slice"] = (lambda d: f"tf.sparse.slice({d.sparse(ALL, 2)}, {[d.int(0, 2), d.int(0, 2)]}, {[d.int(0, 3), d.int(0, 3)]})", 1)
CALLS["sparse.softmax"] = (lambda d: f"tf.sparse.softmax({d.sparse(FLOATS, d.one(2, 3))})", 1)
CALLS["sparse.fill_empty_rows"] = (lambda d: f"tf.sparse.fill_empty_rows({(x := d.sparse(ALL, 2))}, {d.of(d.inputs[x][0].dtype, [])})", 1)
CALLS["sparse.retain"] = (lambda d: f"tf.sparse.retain({(x := d.sparse(ALL))}, {d.put('bool', ['k'], [[d.chance(0.5) for _ in s.values] for s in d.inputs[x]])})", 1)
CALLS["sparse.reset_shape"] = (lambda d: f"tf.sparse.reset_shape({d.sparse(ALL, 2)}{options(d, new_shape=lambda: [d.int(2, 5), d.int(2, 5)])})", 1)
each("sparse.reduce_sum sparse.reduce_max", lambda name: lambda d: f"tf.{name}({(x := d.sparse(COMMON))}{options(d, axis=lambda: d.axis(len(d.inputs[x][0].shape)), keepdims=True)})", 2)
each("sparse.maximum sparse.minimum sparse.add", lambda name: lambda d: f"tf.{name}({(x := d.sparse(COMMON))}, {d.sparse([d.inputs[x][0].dtype], shape=d.inputs[x][0].shape)})", 1)
CALLS["sparse.concat"] = (lambda d: f"tf.sparse.concat({d.axis(2)}, [{(x := d.sparse(ALL, shape=[2, 3]))}, {d.sparse([d.inputs[x][0].dtype], shape=d.one([2, 3], [2, 1], [3, 3]))}])", 1)
CALLS["sparse.split"] = (lambda d: f"tf.sparse.split({d.sparse(ALL, 2)}, {d.int(1, 3)}, axis={d.axis(2)})", 1)
CALLS["sparse.sparse_dense_matmul"] = (lambda d: f"tf.sparse.sparse_dense_matmul({(x := d.sparse(['float32', 'float64', 'int32'], shape=[2, d.int(1, 3)]))}, {d.of(d.inputs[x][0].dtype, [d.inputs[x][0].shape[1] if d.chance(0.9) else 2, d.int(0, 3)])})", 1)
CALLS["sparse.bincount"] = (lambda d: f"tf.sparse.bincount({d.tensor(['int32', 'int64'], 1, 2, low=0, high=5)}{options(d, axis=lambda: d.one(0, -1), minlength=lambda: d.int(0, 6), maxlength=lambda: d.int(1, 6), binary_output=True)})", 2)


@call("sparse.segment")
def _(d):
    x = d.of(d.one("float32", "float64"), [d.int(1, 4)] + d.one([], [2]))
    n = d.int(0, 5)
    rows_ = d.of("int32", [n], low=0, high=d.known(x, 0) - 1)
    ids = d.put("int32", [n], [sorted(d.int(0, 4) for _ in range(n)) for _ in range(d.nrecords)])
    return f"tf.sparse.{d.one('segment_sum', 'segment_mean', 'segment_sqrt_n')}({x}, {rows_}, {ids}{options(d, num_segments=lambda: d.int(3, 6))})"


def entries(d, dtypes, rank=None, shape=None):
    """A sparse tensor constructed by a call: indices in any order, some repeated or out of range."""
    dtype = d.some(dtypes)
    shape = shape or [d.int(1, 4) for _ in range(rank or d.one(1, 2, 2, 3))]
    n = d.int(0, 4)
    cells = [[d.int(0, size - 1) for size in shape] for _ in range(n)]
    cells = sorted([c for i, c in enumerate(cells) if c not in cells[:i]]) if d.chance(0.8) else cells
    if cells and d.chance(0.05):
        cells[0] = list(shape)
    indices = d.put("int64", [len(cells), len(shape)], [cells] * d.nrecords)
    return f"tf.SparseTensor({indices}, {d.of(dtype, [len(cells)])}, {shape})", shape


@call("sparse, made", 4)
def _(d):
    x, shape = entries(d, ALL)
    axis = d.axis(len(shape))
    return d.one(f"tf.sparse.reorder({x})", f"tf.sparse.to_dense({x}{options(d, validate_indices=False)})", f"tf.sparse.transpose({x})", f"{x}.indices",
                 f"{x}.values", f"{x}.dense_shape", f"tf.sparse.expand_dims({x}, {axis})", f"tf.sparse.reset_shape({x})", f"tf.sparse.slice({x}, {[0] * len(shape)}, {shape})",
                 f"tf.size({x})", f"tf.rank({x})", f"tf.shape({x})")


@call("sparse, made, numbers", 4)
def _(d):
    x, shape = entries(d, COMMON)
    dtype = d.inputs[list(d.inputs)[-1]][0].dtype
    axis = d.axis(len(shape))
    return d.one(f"tf.sparse.reduce_sum({x}, axis={axis})", f"tf.sparse.reduce_max({x}, axis={axis}{options(d, keepdims=True)})", f"{x} * {d.of(dtype, [])}",
                 f"tf.sparse.add({x}, {d.of(dtype, shape)})", f"{x} + {d.sparse([dtype], shape=shape)}", f"tf.sparse.maximum({x}, {d.sparse([dtype], shape=shape)})",
                 f"{x} * {d.of(dtype, d.one(shape, shape[-1:], [1]))}", f"{x} / {d.of(dtype, d.one(shape, shape[-1:], []), low=1, high=5)}", f"tf.abs({x})", f"-{x}")


@call("sparse.to_dense(default)")
def _(d):
    x = d.sparse(ALL)
    return f"tf.sparse.to_dense({x}, default_value={d.of(d.inputs[x][0].dtype, [])})"


@call("sparse.to_indicator")
def _(d):
    return f"tf.sparse.to_indicator({d.sparse(['int64', 'int32'], d.one(2, 2, 3))}, {d.int(1, 12)})"


@call("compat.v1.sparse_to_dense")
def _(d):
    n = d.int(0, 3)
    indices = d.put("int64", [n, 2], [sorted([d.int(0, 2), d.int(0, 2)] for _ in range(n))] * d.nrecords)
    x = d.of(d.some(ALL), d.one([n], []))
    return f"tf.compat.v1.sparse_to_dense({indices}, [3, 3], {x}{options(d, default_value=lambda: d.of(d.inputs[x][0].dtype, []), validate_indices=False)})"


each("sparse.reduce_sum_sparse sparse.reduce_max_sparse", lambda name: lambda d: f"tf.compat.v1.{name.replace('sparse.', 'sparse_', 1) if d.chance(0.5) else name}({(x := d.sparse(COMMON))}{options(d, axis=lambda: d.axis(len(d.inputs[x][0].shape)))})")


@call("sparse.map_values")
def _(d):
    x = d.sparse(COMMON)
    dtype = d.inputs[x][0].dtype
    return d.one(f"tf.sparse.map_values(tf.add, {x}, {d.of(dtype, [])})", f"tf.sparse.map_values(lambda v: v * v, {x})", f"tf.sparse.map_values(tf.multiply, {x}, {x})",
                 f"tf.sparse.map_values(tf.add, {x}, {d.sparse([dtype], shape=d.inputs[x][0].shape)})")


@call("sparse.cross")
def _(d):
    xs = [d.sparse(["string", "int64"], shape=[2, d.int(1, 3)]) for _ in range(d.int(1, 2))]
    return d.one(f"tf.sparse.cross([{', '.join(xs)}])", f"tf.sparse.cross_hashed([{', '.join(xs)}], num_buckets={d.int(0, 9)})")


@call("sparse.concat(expand)")
def _(d):
    rank = d.one(2, 3)
    x = d.sparse(ALL, rank)
    y = d.sparse([d.inputs[x][0].dtype], rank)
    return f"tf.sparse.concat({d.axis(rank)}, [{x}, {y}], expand_nonconcat_dims=True)"


@call("sparse.transpose(perm)")
def _(d):
    x = d.sparse(ALL)
    perm = list(range(len(d.inputs[x][0].shape)))
    d.rng.shuffle(perm)
    return f"tf.sparse.transpose({x}, {perm})"


@call("sparse.with_values")
def _(d):
    x = d.sparse(ALL)
    n = len(d.inputs[x][0].values)
    return f"{x}.with_values({d.of(d.some(ALL), [n if d.chance(0.9) else n + 1])})" if d.nrecords == 1 else f"{x}.with_values({x}.values)"


@call("math.bincount sparse", 2)
def _(d):
    x = d.sparse(["int32", "int64"])
    for t in d.inputs[x]:
        t.values = [abs(v) % 7 for v in t.values]
    weights = ""
    if d.chance(0.3):
        kind = d.one("float32", "float64", "int32", "int64")
        held = [Sparse(kind, t.shape, t.indices, [d.value(kind, low=-5, high=5) for _ in t.values]) for t in d.inputs[x]]
        weights = f", weights={d.add(d.types[x].replace(d.inputs[x][0].dtype, kind), held)}"
    axis = d.one("", ", axis=0", ", axis=-1")
    return f"tf.math.bincount({x}{weights}{axis}{options(d, minlength=lambda: d.int(0, 6), maxlength=lambda: d.int(1, 6))}{options(d, binary_output=True) if not weights else ''})"


@call("sets", 3)
def _(d):
    rank = d.one(2, 2, 3)
    kind = d.one("int32", "int64", "string", "uint8")
    outer = [d.int(0 if d.chance(0.1) else 1, 3) for _ in range(rank - 1)]
    a, b = [d.sparse([kind], shape=outer + [d.int(1, 4)]) if d.chance(0.4) else d.of(kind, outer + [d.int(1, 4)], low=0, high=4) for _ in range(2)]
    op = d.one("intersection", "union", "difference", "difference")
    return f"tf.sets.{op}({a}, {b}{options(d, aminusb=True) if op == 'difference' else ''})"


@call("sets.size")
def _(d):
    return f"tf.sets.size({d.sparse(['int32', 'int64', 'string'], rank=d.one(2, 3))})"


@call("edit_distance", 2)
def _(d):
    kind, rank = d.one("int32", "int64", "string", "float32"), d.one(2, 2, 3)
    return f"tf.edit_distance({d.sparse([kind], rank=rank)}, {d.sparse([kind], rank=rank)}{options(d, normalize=True)})"
