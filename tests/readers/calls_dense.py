"""Calls of functions on dense tensors: padding, shifting, searching, norms, histograms."""
import struct

from draw import ALL, COMMON, INTEGERS, NUMBERS
from registry import call, options

REAL = ["float32", "float64"]


def dense(d, dtypes, least=0, most=3, **kw):
    return d.tensor(dtypes, least, most, False, **kw)


def reduced(d, name, x, **more):
    """A reduction of `x`, along axes or not."""
    axis = d.axes(d.rank(x))
    return f"tf.{name}({x}{'' if axis is None else f', axis={axis}'}{options(d, keepdims=True, **more)})"


@call("pad", 2)
def _(d):
    x = dense(d, ALL, 1, 3)
    pads = [[d.int(0, 3), d.int(0, 3)] for _ in range(d.rank(x))]
    if d.chance(0.05):
        pads = pads[1:] or [[0, -1]]
    if d.chance(0.3):
        fields = ", ".join(f"[{d.of('int32', [], low=0, high=3)}, {after}]" for _, after in pads)
        pads = d.one(f"tf.constant({pads})", f"[{fields}]")
    if d.chance(0.5):
        return f"tf.pad({x}, {pads}, mode={d.one('REFLECT', 'SYMMETRIC', 'reflect', 'CONSTANT')!r})"
    return f"tf.pad({x}, {pads}{options(d, constant_values=lambda: d.literal(d.inputs[x][0].dtype))})"


@call("roll", 2)
def _(d):
    x = dense(d, ALL, 1, 3)
    if d.chance(0.6):
        return f"tf.roll({x}, {d.int(-6, 6)}, {d.axis(d.rank(x))})"
    axes = [d.axis(d.rank(x)) for _ in range(d.int(1, 3))]
    return f"tf.roll({x}, {[d.int(-6, 6) for _ in axes]}, {axes})"


@call("eye")
def _(d):
    return f"tf.eye({d.int(0, 4)}{options(d, num_columns=lambda: d.int(0, 4), batch_shape=lambda: d.one([2], [1, 2], [], [0]), dtype=lambda: 'tf.' + d.some(NUMBERS + ['bool']))})"


@call("linspace", 2)
def _(d):
    dtype = d.some(REAL)
    ends = d.dims(0, 1, False) if d.chance(0.3) else []
    start = d.of(dtype, ends, low=-9, high=9)
    return f"tf.linspace({start}, {d.like(start, low=-9, high=9)}, {d.int(0 if d.chance(0.1) else 1, 12)})"


@call("searchsorted", 2)
def _(d):
    dtype = d.some(COMMON)
    rows = d.one([], [], [d.int(1, 3)])
    steps, n = d.int(0, 6), d.int(0, 5)

    def ordered(dims):
        if dims:
            return [ordered(dims[1:]) for _ in range(dims[0])]
        return sorted(d.value(dtype, low=-3, high=9) for _ in range(steps))
    x = d.put(dtype, rows + [steps], [ordered(rows) for _ in range(d.nrecords)])
    values = d.of(dtype, rows + [n], low=-4, high=10)
    return f"tf.searchsorted({x}, {values}{options(d, side=lambda: repr(d.one('left', 'right')).strip(), out_type=lambda: d.one('tf.int32', 'tf.int64'))})"


@call("unique", 2)
def _(d):
    x = dense(d, ["int32", "int64", "string", "float32", "bool", "uint8"], 0 if d.chance(0.1) else 1, 1)
    dtype = options(d, out_idx=lambda: d.one("tf.int32", "tf.int64"))
    return d.one(f"tf.unique({x}{dtype}).y", f"tf.unique({x}{dtype}).idx", f"tf.unique_with_counts({x}{dtype}).count", f"tf.unique_with_counts({x}{dtype}).y",
                 f"tf.unique_with_counts({x}{dtype}).idx")


@call("norm", 3)
def _(d):
    x = dense(d, REAL, 0, 3)
    axis = d.axis(d.rank(x)) if d.chance(0.7) else None
    if d.rank(x) > 1 and d.chance(0.3):
        order = d.one("'euclidean'", "'fro'", "1", "math.inf")
        return f"tf.norm({x}, ord={order}, axis={[d.axis(d.rank(x)), d.axis(d.rank(x))]}{options(d, keepdims=lambda: d.one(True, False))})"
    order = d.one("'euclidean'", "1", "2", "math.inf", "2.0", "3", "0.5", "'fro'")
    return f"tf.norm({x}, ord={order}{'' if axis is None else f', axis={axis}'}{options(d, keepdims=lambda: d.one(True, False))})"


@call("reduce_euclidean_norm")
def _(d):
    return reduced(d, "math.reduce_euclidean_norm", dense(d, REAL, 0, 3))


@call("l2_normalize", 2)
def _(d):
    x = dense(d, REAL, 0, 3)
    return f"tf.math.l2_normalize({x}, axis={d.axes(d.rank(x))}{options(d, epsilon=lambda: d.one(1e-12, 0.1))})"


@call("reduce_logsumexp", 2)
def _(d):
    return reduced(d, "reduce_logsumexp", dense(d, REAL, 0, 3))


@call("count_nonzero", 2)
def _(d):
    return reduced(d, "math.count_nonzero", dense(d, ALL + ["bool"], 0, 3), dtype=lambda: 'tf.' + d.one('int32', 'int64', 'bool'))


@call("nn.moments", 2)
def _(d):
    x = dense(d, REAL, 1, 3)
    axes = d.axes(d.rank(x))
    axes = axes if isinstance(axes, list) else [axes or 0]
    return f"tf.nn.moments({x}, {axes}{options(d, keepdims=True)})[{d.int(0, 1)}]"


@call("nn.l2_loss")
def _(d):
    return f"tf.nn.l2_loss({dense(d, REAL, 0, 3)})"


@call("histogram_fixed_width", 2)
def _(d):
    x = dense(d, ["int32", "int64", "float32", "float64"], 0, 2, low=-9, high=12)
    low = d.int(-6, 3)
    ends = [low, low + (d.int(1, 9) if d.chance(0.95) else 0)]
    if d.inputs[x][0].dtype.startswith("float"):
        ends = [float(end) for end in ends]
    name = d.one("histogram_fixed_width", "histogram_fixed_width_bins")
    return f"tf.{name}({x}, {ends}{options(d, nbins=lambda: d.int(1, 9), dtype=lambda: d.one('tf.int32', 'tf.int64'))})"


@call("clip_by_norm", 2)
def _(d):
    x = dense(d, REAL, 0, 3)
    axes = d.axes(d.rank(x))
    return f"tf.clip_by_norm({x}, {d.int(0, 9)}.5{'' if axes is None else f', axes={axes if isinstance(axes, list) else [axes]}'})"


@call("io.decode_raw", 2)
def _(d):
    # Only ASCII, so that the bytes are the same text in both.
    dtype = d.some(INTEGERS + ["float32", "float64", "float16", "bool"])
    size = struct.calcsize({"int8": "b", "uint8": "B", "bool": "B", "int16": "h", "uint16": "H", "float16": "h", "int32": "i", "uint32": "I",
                            "float32": "f"}.get(dtype, "q"))
    n = size * d.int(0, 3) + (1 if d.chance(0.05) else 0)
    text = lambda: "".join(d.one(*"\x01 aZ9~") for _ in range(n))
    dims = d.one([], [2], [2, 1], [0])

    def rows(dims):
        return [rows(dims[1:]) for _ in range(dims[0])] if dims else text()
    x = d.put("string", dims, [rows(dims) for _ in range(d.nrecords)])
    return f"tf.io.decode_raw({x}, tf.{dtype}{options(d, little_endian=lambda: d.one(True, False))})"


@call("io.serialize_tensor", 2)
def _(d):
    return f"tf.io.encode_base64(tf.io.serialize_tensor({d.tensor(ALL, 0, 3)}))"


@call("io.parse_tensor", 2)
def _(d):
    x = dense(d, ALL, 0, 3)
    dtype = d.some(ALL) if d.chance(0.1) else d.inputs[x][0].dtype
    return f"tf.reshape(tf.io.parse_tensor(tf.io.serialize_tensor({x}), tf.{dtype}), [-1])"


def scattered(d, shape, low=0):
    """Indices into a tensor of the given shape, as a field, and the axes of the updates."""
    depth = d.int(1, len(shape))
    n = [] if d.chance(0.05) else d.one([d.int(0, 5)], [d.int(1, 4)], [2, d.int(1, 2)])
    def rows(dims):
        if dims:
            return [rows(dims[1:]) for _ in range(dims[0])]
        return [d.int(low, size - 1) for size in shape[:depth]]
    indices = d.put(d.one("int32", "int64"), n + [depth], [rows(n) for _ in range(d.nrecords)])
    wrong = d.chance(0.05)
    return indices, n + [size + wrong for size in shape[depth:]] + ([2] if d.chance(0.03) else [])


@call("scatter_nd", 2)
def _(d):
    shape = [d.int(1, 5) for _ in range(d.int(1, 3))]
    indices, dims = scattered(d, shape, -1 if d.chance(0.05) else 0)
    return f"tf.scatter_nd({indices}, {d.of(d.some(ALL), dims, low=-9, high=9)}, {[size - d.chance(0.03) for size in shape]})"


@call("tensor_scatter_nd", 5)
def _(d):
    op = d.one("update", "add", "sub", "max", "min")
    dtype = d.some(ALL if op == "update" else NUMBERS)
    shape = [d.int(1, 5) for _ in range(d.int(1, 3))]
    indices, dims = scattered(d, shape, -1 if d.chance(0.05) else 0)
    return f"tf.tensor_scatter_nd_{op}({d.of(dtype, shape, low=-9, high=9)}, {indices}, {d.of(dtype, dims, low=-9, high=9)})"


@call("meshgrid", 2)
def _(d):
    dtype = d.some(COMMON)
    vectors = [d.of(dtype, d.one([d.int(0, 4)], [])) for _ in range(d.int(1, 3))]
    return f"tf.meshgrid({', '.join(vectors)}{options(d, indexing=lambda: repr(d.one('xy', 'ij')))})[{d.int(0, len(vectors) - 1)}]"


# ---- blocks, diagonals, classes, sums of products

@call("slice", 3)
def _(d):
    x = dense(d, ALL, 1, 3)
    begin, size = [], []
    for axis in range(d.rank(x)):
        n = d.known(x, axis)
        begin.append(d.int(0, n) if d.chance(0.95) else d.int(-1, n + 1))
        size.append(d.one(-1, d.int(0, max(n - begin[-1], 0))) if d.chance(0.95) else n + 1)
    return f"tf.slice({x}, {begin}, {size})" if d.chance(0.6) else f"tf.slice({x}, tf.constant({begin}), tf.constant({size}))"


@call("strided_slice", 2)
def _(d):
    x = dense(d, ALL, 1, 3)
    n = d.int(1, d.rank(x))
    numbers = [[d.int(-4, 4) for _ in range(n)] for _ in range(2)] + [[d.one(1, 1, 2, -1, -2) for _ in range(n)]]
    masks = options(d, begin_mask=lambda: d.int(0, 7), end_mask=lambda: d.int(0, 7))
    masks += options(d, shrink_axis_mask=lambda: d.int(0, 3)) if d.chance(0.3) else options(d, new_axis_mask=lambda: d.int(0, 3))
    return f"tf.strided_slice({x}, {numbers[0]}, {numbers[1]}{d.one('', f', {numbers[2]}')}{masks})"


@call("reverse_sequence", 2)
def _(d):
    x = dense(d, ALL, 2, 3)
    batch, steps = d.int(0, d.rank(x) - 1), d.int(0, d.rank(x) - 1)
    n, most = d.inputs[x][0].dims[batch], d.known(x, steps)
    lengths = d.of(d.one("int32", "int64"), [n], low=0, high=most + d.chance(0.05))
    return f"tf.reverse_sequence({x}, {lengths}, seq_axis={steps}, batch_axis={batch})"


@call("ensure_shape")
def _(d):
    x = dense(d, ALL, 0, 3)
    return f"tf.ensure_shape({x}, {[d.one(None, d.known(x, axis) + d.chance(0.1)) for axis in range(d.rank(x))]})"


ALIGN = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]


def band(d, rows, columns):
    """The lower and the upper of several diagonals of a matrix, rarely outside it, and the options that name them."""
    if d.chance(0.05):
        rows, columns = rows + 1, columns + 1
    lower = d.int(-max(rows - 1, 0), max(columns - 1, 0))
    upper = d.int(lower, max(columns - 1, 0))
    return lower, upper, f", k=({lower}, {upper})" + options(d, align=lambda: repr(d.some(ALIGN)))


def diagonals(d, dtype, outer, rows, columns, lower, upper):
    """Values for these diagonals."""
    longest = max(min(rows + min(upper, 0), columns - max(lower, 0)), 0) + d.chance(0.03)
    return d.of(dtype, outer + ([] if lower == upper else [upper - lower + 1]) + [longest])


@call("linalg.diag", 4)
def _(d):
    if d.chance(0.5):
        x = dense(d, NUMBERS, 1, 3)
        return f"tf.linalg.diag({x}{options(d, k=lambda: d.int(-2, 2))})"
    dtype, rows, columns = d.some(ALL), d.int(1, 4), d.int(1, 4)
    lower, upper, k = band(d, rows, columns)
    x = diagonals(d, dtype, [d.int(0, 2)] * d.int(0, 1), rows, columns, lower, upper)
    return f"tf.linalg.diag({x}{k}{options(d, num_rows=lambda: rows, num_cols=lambda: columns)})"


@call("linalg.diag_part", 3)
def _(d):
    x = dense(d, NUMBERS, 2, 3)
    if d.chance(0.4):
        return f"tf.linalg.{d.one('diag_part', 'diag_part', 'trace')}({x})"
    k = band(d, d.known(x, d.rank(x) - 2), d.known(x, d.rank(x) - 1))[2]
    return f"tf.linalg.diag_part({x}{k}{options(d, padding_value=lambda: d.literal(d.inputs[x][0].dtype))})"


@call("linalg.set_diag", 3)
def _(d):
    dtype, outer, rows, columns = d.some(ALL), [d.int(0, 2)] * d.int(0, 1), d.int(1, 4), d.int(1, 4)
    x = d.of(dtype, outer + [rows, columns])
    lower, upper, k = band(d, rows, columns)
    return f"tf.linalg.set_diag({x}, {diagonals(d, dtype, outer, rows, columns, lower, upper)}{k})"


@call("linalg.band_part")
def _(d):
    return f"tf.linalg.band_part({dense(d, COMMON, 2, 3)}, {d.int(-1, 3)}, {d.int(-1, 3)})"


@call("math.confusion_matrix", 2)
def _(d):
    n = d.int(1, 5)
    labels = d.of(d.one("int32", "int64"), [n], low=0, high=4)
    more = options(d, num_classes=lambda: d.int(4, 6), dtype=lambda: 'tf.' + d.some(COMMON))
    weights = f", weights={d.of('float32', [n], low=0, high=3)}" if d.chance(0.3) else ""
    return f"tf.math.confusion_matrix({labels}, {d.like(labels, low=0, high=4)}{more}{weights})"


@call("math.in_top_k", 2)
def _(d):
    rows, classes = d.int(1, 4), d.int(1, 5)
    targets = d.of(d.one("int32", "int64"), [rows], low=-1, high=classes)
    return f"tf.math.in_top_k({targets}, {d.of('float32', [rows, classes])}, {d.int(0, 3)})"


@call("math.zero_fraction")
def _(d):
    return f"tf.math.zero_fraction({dense(d, COMMON, 0, 3)})"


@call("math.invert_permutation")
def _(d):
    n = d.int(0, 5)
    values = [d.rng.sample(range(n), n) if d.chance(0.9) else [d.int(-1, n) for _ in range(n)] for _ in range(d.nrecords)]
    return f"tf.math.invert_permutation({d.put(d.one('int32', 'int64'), [n], values)})"


@call("nn.bias_add")
def _(d):
    x = dense(d, ["float32", "float64", "int32"], 2, 3)
    channel_first = d.chance(0.3) and d.rank(x) == 3
    bias = d.of(d.inputs[x][0].dtype, [d.inputs[x][0].dims[1 if channel_first else -1]])
    return f"tf.nn.bias_add({x}, {bias}{', data_format=' + repr('NCW') if channel_first else ''})"


@call("math.polyval")
def _(d):
    x = dense(d, REAL, 0, 2, low=-3, high=3)
    return f"tf.math.polyval([{', '.join(d.like(x, low=-3, high=3) for _ in range(d.int(1, 3)))}], {x})"


@call("math.cumulative_logsumexp", 2)
def _(d):
    x = dense(d, REAL, 1, 3, low=-9, high=9)
    return f"tf.math.cumulative_logsumexp({x}, axis={d.axis(d.rank(x))}{options(d, exclusive=True, reverse=True)})"


@call("tensordot", 2)
def _(d):
    dtype = d.one("float32", "float64", "int32")
    sizes = [d.int(1, 3) for _ in range(3)]
    n = d.int(0, 2)
    a, b = sizes[:d.int(0, 1)] + sizes[1:1 + n], sizes[1:1 + n] + sizes[:d.int(0, 1)]
    x, y = d.of(dtype, a, low=-3, high=3), d.of(dtype, b, low=-3, high=3)
    if d.chance(0.5):
        return f"tf.tensordot({x}, {y}, {n + d.chance(0.05)})"
    return f"tf.tensordot({x}, {y}, {[list(range(len(a) - n, len(a)))[::-1], list(range(n))[::-1]]})"


@call("einsum", 3)
def _(d):
    dtype = d.one("float32", "float64", "int32")
    sizes = {label: d.int(1, 3) for label in "abcde"}
    parts = ["".join(d.rng.sample("abcde", d.int(0, 3))) for _ in range(d.int(1, 3))]
    inputs = [d.of(dtype, [sizes[label] for label in part], low=-3, high=3) for part in parts]
    labels = sorted(set("".join(parts)))
    output = "->" + "".join(d.rng.sample(labels, d.int(0, len(labels)))) if d.chance(0.8) else ""
    return f"tf.einsum({','.join(parts) + output!r}, {', '.join(inputs)})"


@call("masked", 2)
def _(d):
    x = dense(d, ALL, 1, 3)
    dims = d.inputs[x][0].dims
    return f"{x}[{d.of('bool', dims[:d.int(1, len(dims))])}]"
