"""The calls of the differential runner: how a random call of each function is drawn. A call is one expression that both
TensorFlow and tatter evaluate."""
from draw import ALL, COMMON, FLOATS, INTEGERS, NUMBERS, written
from registry import CALLS, call, each, options, unary

# ---- elementwise

def operands(d, dtypes):
    """Two operands: of the same shape, or one of them broadcast or a literal."""
    x = d.tensor(dtypes)
    dtype, dims = d.inputs[x][0].dtype, d.inputs[x][0].dims
    kind = d.int(0, 9)
    if kind < 4:
        y = d.like(x)
    elif kind < 6:
        cut = [1 if i and d.chance(0.5) and None not in dims[i + 1:] else k for i, k in enumerate(dims)][d.int(0, len(dims)):]
        y = d.of(dtype, cut if cut[:1] != [None] else [])
    elif kind < 8:
        y = d.of(dtype, [])
    elif kind < 9:
        y = d.literal(dtype if dtype not in INTEGERS else "uint8", low=0, high=9) if dtype not in ("string", "bool") else d.literal(dtype)
        if dtype not in INTEGERS + ["string", "bool"] and "." not in y:
            y += ".0"
    else:
        y = d.tensor([dtype])
    return (x, y) if d.chance(0.7) else (y, x)


def binary(dtypes):
    return lambda name: lambda d: "tf.{}({}, {})".format(name, *operands(d, dtypes))


def operator(symbol, dtypes):
    CALLS[f"x {symbol} y"] = (lambda d: f" {symbol} ".join(typed(d, operands(d, dtypes))), 1)


def typed(d, names):
    """The operands, at least one of them a TensorFlow tensor, so that Python does not evaluate the expression itself."""
    return [f"tf.convert_to_tensor({n})" if n not in d.inputs and not any(m in d.inputs for m in names) else n for n in names]


each("math.abs math.square math.sign math.round math.negative nn.relu nn.relu6 identity", unary(NUMBERS))
each("math.exp math.expm1 math.log math.log1p math.sqrt math.rsqrt math.reciprocal math.sin math.cos math.tan math.asin math.acos math.atan "
     "math.sinh math.cosh math.tanh math.asinh math.acosh math.atanh math.sigmoid math.log_sigmoid math.softplus nn.softsign nn.elu math.erf "
     "math.erfc math.lgamma math.floor math.ceil math.rint math.is_finite math.is_inf math.is_nan math.digamma math.reciprocal_no_nan "
     "math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.angle nn.selu nn.silu nn.gelu nn.leaky_relu "
     "math.special.bessel_j0 math.special.bessel_j1 math.special.bessel_y0 math.special.bessel_y1 math.special.bessel_k0 "
     "math.special.bessel_k0e math.special.bessel_k1 math.special.bessel_k1e math.special.dawsn math.special.expint "
     "math.special.fresnel_cos math.special.fresnel_sin math.special.spence", unary(FLOATS))
each("math.erfinv math.ndtri math.erfcinv", lambda name: lambda d: f"tf.{name}({d.tensor(FLOATS, low=d.one(-1, 0, 0), high=d.one(1, 1, 2))})")
each("math.real math.imag math.conj", unary(NUMBERS))
each("debugging.check_numerics", lambda name: lambda d: f"tf.{name}({d.tensor(FLOATS)}, 'bad')")
each("math.xlogy math.xlog1py math.xdivy math.multiply_no_nan math.nextafter",
     lambda name: lambda d: "tf.{}({}, {})".format(name, x := d.tensor(FLOATS), d.like(x) if d.chance(0.7) else d.of(d.inputs[x][0].dtype, [])))
each("math.zeta math.polygamma",
     lambda name: lambda d: "tf.{}({}, {})".format(name, x := d.tensor(["float32", "float64"], low=1, high=5), d.like(x, low=0, high=9)))
CALLS["nn.sigmoid_cross_entropy_with_logits"] = (lambda d: "tf.nn.sigmoid_cross_entropy_with_logits(labels={}, logits={})".format(
    x := d.tensor(FLOATS, low=0, high=1), d.like(x)), 1)
CALLS["saturate_cast"] = (lambda d: f"tf.saturate_cast({d.tensor(NUMBERS, low=-300, high=70000)}, tf.{d.some(NUMBERS)})", 1)
@call("literals", 2)
def _(d):
    # Numbers that every dtype represents exactly, combined with a tensor of the same kind.
    dtype = d.some(COMMON)
    number = (lambda: str(d.int(1, 30))) if dtype in INTEGERS else (lambda: str(d.int(1, 60) / 4))
    inner = d.one(f"{number()} + {number()}", f"{number()} - {number()}", f"{number()} * {number()}", f"{d.int(-90, 90)} // {d.int(1, 9)}",
                  f"{d.int(-90, 90)} % {d.int(1, 9)}", f"{d.int(-3, 9)} ** {d.int(0, 4)}", f"{d.int(0, 99)} << {d.int(0, 5)}", f"~{d.int(0, 9)}",
                  f"{d.int(0, 99)} & {d.int(0, 99)} | {d.int(0, 9)}", *([] if dtype in INTEGERS else [f"{d.int(1, 9)} / {d.int(1, 9)}", "2 ** -2"]))
    return f"{d.of(dtype, d.dims())} {d.one('+', '-', '*')} ({inner})"


CALLS["saturate_cast far"] = (lambda d: f"tf.saturate_cast({d.tensor(FLOATS)}, tf.{d.some(INTEGERS + FLOATS)})", 1)
CALLS["bitcast"] = (lambda d: f"tf.bitcast({d.tensor(COMMON)}, tf.{d.some(COMMON)})", 1)
CALLS["math.add_n"] = (lambda d: "tf.math.add_n([{}])".format(", ".join([x := d.tensor(COMMON)] + [d.like(x) for _ in range(d.int(0, 2))])), 1)
CALLS["constant(shape)"] = (lambda d: f"tf.constant({d.literal(d.one('int32', 'float32', 'string', 'bool'), d.one([], [1], [4], [2, 2]))}{options(d, dtype=lambda: 'tf.' + d.some(COMMON))}, shape={d.one([2, 2], [4], [4, 1], [], [0], [2, 3])})", 1)
CALLS["math.scalar_mul"] = (lambda d: "tf.math.scalar_mul({1}, {0})".format(x := d.tensor(COMMON), d.of(d.inputs[x][0].dtype, [])), 1)
each("bitwise.invert", unary(INTEGERS))
each("math.logical_not", unary(["bool"]))
each("math.add math.subtract math.multiply math.floordiv math.floormod math.truediv truncatediv truncatemod math.minimum math.maximum "
     "math.squared_difference math.pow math.less math.less_equal math.greater math.greater_equal realdiv", binary(NUMBERS))
each("math.equal math.not_equal", binary(ALL))
each("math.divide_no_nan math.atan2", binary(FLOATS))
each("bitwise.left_shift bitwise.right_shift", lambda name: lambda d: "tf.{}({}, {})".format(name, x := d.tensor(INTEGERS), d.like(x, low=0, high=7)))
each("bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor", binary(INTEGERS))
each("math.logical_and math.logical_or math.logical_xor", binary(["bool"]))
for symbol in "+ - * / // % ** < <= > >=".split():
    operator(symbol, COMMON)
for symbol in "== !=".split():
    operator(symbol, ALL)
for symbol in "& | ^".split():
    operator(symbol, ["bool", "bool", "int32", "int64", "uint8"])


@call("-x")
def _(d):
    return f"-{d.tensor(NUMBERS)}"


@call("~x")
def _(d):
    return f"~{d.tensor(['bool', 'int32', 'uint8'])}"


@call("cast", 4)
def _(d):
    # Within the range of the result: beyond it, TensorFlow's vectorized loops differ from its scalar loops.
    to = d.some(NUMBERS + ["bool"] * 2)
    least = 0 if to.startswith("u") else -100
    return f"tf.cast({d.tensor(NUMBERS + ['bool'] * 3, low=least, high=100)}, tf.{to})"


@call("cast far", 3)
def _(d):
    n = d.int(1, 3)
    powers = [d.one(1, -1) * d.one(1.0, 1.5, 1.99) * 2.0 ** d.int(0, 70) for _ in range(n)]
    dtype = d.one("float32", "float64")
    return f"tf.cast({d.put(dtype, [n], [powers] * d.nrecords)}, tf.{d.some(INTEGERS)})"


@call("clip_by_value")
def _(d):
    x = d.tensor(NUMBERS)
    dtype = d.inputs[x][0].dtype
    low, high = (d.of(dtype, []), d.of(dtype, [])) if d.chance(0.7) else (d.like(x), d.like(x))
    return f"tf.clip_by_value({x}, {low}, {high})"


# ---- reductions

def reduction(dtypes):
    def make(name):
        def draw(d):
            x = d.tensor(dtypes, 0, 4)
            axis = d.axes(d.rank(x))
            keep = d.one("", "", ", keepdims=True")
            return f"tf.{name}({x}{'' if axis is None and d.chance(0.5) else f', axis={axis}'}{keep})"
        return draw
    return make


each("reduce_sum reduce_prod reduce_max reduce_min reduce_mean", reduction(NUMBERS), 3)
each("math.reduce_variance math.reduce_std", reduction(COMMON + FLOATS), 2)
each("reduce_any reduce_all", reduction(["bool"]), 2)
each("argmax argmin", lambda name: lambda d: "tf.{}({}{})".format(name, x := d.tensor(NUMBERS, 0, 3, d.chance(0.1)), options(
    d, axis=lambda: d.axis(d.rank(x)), output_type=lambda: d.one("tf.int32", "tf.int64"))), 2)


# ---- construction

@call("ragged.constant")
def _(d):
    x = d.literal(d.one("int32", "float32", "string", "bool"), d.dims(0, 3, True))
    return f"tf.ragged.constant({x}{options(d, ragged_rank=lambda: d.int(0, 2), dtype=lambda: 'tf.' + d.some(COMMON))})"


@call("ragged.range")
def _(d):
    dtype = d.one("int32", "int64", "float32")
    n = d.one("a", 2, 3)
    args = [d.of(dtype, d.one([n], []), low=-4, high=9) for _ in range(d.int(1, 3))]
    return f"tf.ragged.range({', '.join(args)})"


@call("range")
def _(d):
    dtype = d.one("int32", "int64", "float32", "float64")
    args = [d.of(dtype, [], low=-4, high=9) for _ in range(d.int(1, 3))]
    return f"tf.range({', '.join(args)})"


@call("fill")
def _(d):
    return f"tf.fill({[d.int(0, 3) for _ in range(d.int(0, 3))]}, {d.of(d.some(ALL), [])})"


each("zeros ones", lambda name: lambda d: f"tf.{name}({[d.int(0, 3) for _ in range(d.int(0, 3))]}{options(d, dtype=lambda: 'tf.' + d.some(NUMBERS))})")
each("zeros_like ones_like", lambda name: lambda d: f"tf.{name}({d.tensor(ALL)}{options(d, dtype=lambda: 'tf.' + d.some(NUMBERS))})")


@call("one_hot")
def _(d):
    x = d.tensor(["int32", "int64", "uint8"], 0, 2, low=-1, high=4)
    if d.chance(0.2):
        kind = d.some(ALL)
        return f"tf.one_hot({x}, {d.int(0, 4)}, {d.of(kind, [])}, {d.of(kind, [])})"
    return f"tf.one_hot({x}, {d.int(0, 4)}{options(d, axis=lambda: d.axis(d.rank(x) + 1), dtype=lambda: 'tf.' + d.some(NUMBERS))})"


def rows(d):
    """Values and row lengths that usually match."""
    dtype = d.some(ALL)
    values, lengths = [], []
    inner = d.one([], [], [2], [None])
    for r in range(d.nrecords):
        lens = [d.int(0, 3) for _ in range(d.int(0, 4))]
        lengths.append(lens)
        values.append([d.nested(r, dtype, inner) for _ in range(sum(lens) + (d.one(1, -1) if d.chance(0.08) else 0))])
    return d.put(dtype, ["n"] + inner, values), lengths


def splits(lens):
    out = [0]
    for n in lens:
        out.append(out[-1] + n)
    return out


def partition(kind, numbers):
    @call(f"RaggedTensor.from_{kind}")
    def _(d):
        values, lengths = rows(d)
        p = d.put(d.one("int64", "int32"), ["m"], [numbers(lens) for lens in lengths])
        if d.chance(0.1):
            p = d.of("int64", ["m"], low=-1, high=4)
        return f"tf.RaggedTensor.from_{kind}({values}, {p})"


partition("row_splits", splits)
partition("row_lengths", list)
partition("row_starts", lambda lens: splits(lens)[:-1])
partition("row_limits", lambda lens: splits(lens)[1:])
partition("value_rowids", lambda lens: [i for i, n in enumerate(lens) for _ in range(n)])


@call("RaggedTensor.from_uniform_row_length")
def _(d):
    n, k = d.int(0, 4), d.int(0, 3)
    x = d.of(d.some(ALL), [n * k + (1 if d.chance(0.1) else 0)] + d.one([], [None], [2]))
    return f"tf.RaggedTensor.from_uniform_row_length({x}, {k}{options(d, nrows=n)})"


# ---- parts

def part(name, ragged=True):
    return lambda d: f"{d.tensor(ALL, 2, 4, True)}{name}"


for name in [".row_splits", ".values", ".flat_values", ".row_lengths()", ".row_starts()", ".row_limits()", ".value_rowids()", ".nrows()",
             ".ragged_rank", ".bounding_shape()", ".nested_row_splits", ".nested_row_lengths()", ".nested_value_rowids()"]:
    CALLS["x" + name] = (part(name), 1)
CALLS["x.row_lengths(axis)"] = (lambda d: f"{(x := d.tensor(ALL, 2, 4, True))}.row_lengths(axis={d.axis(d.rank(x))})", 2)
CALLS["x.bounding_shape(axis)"] = (lambda d: f"{(x := d.tensor(ALL, 2, 4, True))}.bounding_shape(axis={d.int(-1, d.rank(x))})", 1)
each("size rank", lambda name: lambda d: f"tf.{name}({d.tensor(ALL)})")
CALLS["shape"] = (lambda d: f"tf.shape({d.tensor(ALL, 0, 3, False)})", 1)


@call("x.to_tensor", 3)
def _(d):
    x = d.tensor(ALL, 2, 4, True)
    dtype, rank = d.inputs[x][0].dtype, d.rank(x)
    return f"{x}.to_tensor({options(d, default_value=lambda: d.of(dtype, []), shape=lambda: [d.one(None, None, d.int(0, 4)) for _ in range(rank)])[2:]})"


@call("RaggedTensor.from_tensor", 2)
def _(d):
    x = d.tensor(ALL, 2, 3, False)
    dtype = d.inputs[x][0].dtype
    kind = d.int(0, 3)
    if kind == 0:
        more = f", padding={d.of(dtype, [])}"
    elif kind == 1:
        more = f", lengths={d.put('int64', ['l'], [[d.int(0, 3) for _ in t.value] for t in d.inputs[x]])}"
    else:
        more = options(d, ragged_rank=lambda: d.int(0, 3))
    return f"tf.RaggedTensor.from_tensor({x}{more})"


@call("x.to_tensor(vector)")
def _(d):
    x = d.of(d.some(ALL), ["n", None, d.int(1, 3)])
    return f"{x}.to_tensor(default_value={d.of(d.inputs[x][0].dtype, [d.inputs[x][0].dims[2] if d.chance(0.9) else 1])})"


@call("RaggedTensor.from_tensor(nested)")
def _(d):
    x = d.of(d.some(ALL), [2, 2, d.int(0, 3)])
    dtype = d.inputs[x][0].dtype
    if d.chance(0.4):
        return f"tf.RaggedTensor.from_tensor({x}, padding={d.of(dtype, d.one([], [d.known(x, 2)]))}, ragged_rank={d.one(1, 2)})"
    lengths = [[d.int(0, 2), d.int(0, 2)] for _ in range(d.nrecords)]
    inner = d.of("int64", [sum(lengths[0]) if d.nrecords == 1 and d.chance(0.9) else "i"], low=0, high=3)
    return f"tf.RaggedTensor.from_tensor({x}, lengths=({d.put('int64', [2], lengths)}, {inner}))"


def nested(kind, numbers):
    @call(f"RaggedTensor.from_nested_{kind}")
    def _(d):
        outer = [[d.int(0, 3) for _ in range(d.int(0, 3))] for _ in range(d.nrecords)]
        inner = [[d.int(0, 3) for _ in range(sum(lens))] for lens in outer]
        dtype = d.some(ALL)
        x = d.put(dtype, ["v"], [[d.value(dtype) for _ in range(sum(lens))] for lens in inner])
        p, q = (d.put("int64", [name], [numbers(lens) for lens in levels]) for name, levels in (("p", outer), ("q", inner)))
        return f"tf.RaggedTensor.from_nested_{kind}({x}, [{p}, {q}])"


nested("row_splits", splits)
nested("row_lengths", list)
nested("value_rowids", lambda lens: [i for i, n in enumerate(lens) for _ in range(n)])


@call("x.with_values")
def _(d):
    x = d.tensor(ALL, 2, 3, True)
    part = d.one("values", "flat_values")
    return d.one(f"{x}.with_{part}({x}.{part})", f"{x}.with_{part}(tf.range(tf.shape({x}.flat_values)[0]))", f"{x}.with_{part}({d.of(d.some(ALL), [d.int(0, 4)])})")


CALLS["x.uniform_row_length"] = (part(".uniform_row_length"), 1)


@call("broadcast_shapes")
def _(d):
    x, y = ([d.one(1, 1, 2, 3, d.int(0, 4)) for _ in range(d.int(0, 3))] for _ in range(2))
    if d.chance(0.6):
        y = [k if d.chance(0.5) else 1 for k in x][d.int(0, len(x)):]
    if d.chance(0.5):
        return f"tf.broadcast_dynamic_shape({x}, {y})"
    return f"tf.broadcast_dynamic_shape({d.put('int32', [len(x)], [x] * d.nrecords)}, {d.put('int32', [len(y)], [y] * d.nrecords)})"


@call("ragged.map_flat_values", 2)
def _(d):
    x = d.tensor(COMMON, 1, 3)
    dtype = d.inputs[x][0].dtype
    return d.one(f"tf.ragged.map_flat_values(tf.add, {x}, {d.of(dtype, [])})", f"tf.ragged.map_flat_values(lambda v: v * v + v, {x})",
                 f"tf.ragged.map_flat_values(tf.multiply, {x}, {d.like(x)})", f"tf.ragged.map_flat_values(tf.maximum, x={x}, y={d.like(x)})",
                 f"tf.ragged.map_flat_values(tf.reduce_sum, {x})", f"tf.ragged.map_flat_values(tf.expand_dims, {x}, axis=-1)")


@call("map_fn", 2)
def _(d):
    x = d.tensor(COMMON, 1, 3)
    dtype, rank = d.inputs[x][0].dtype, d.rank(x)
    made = d.one(("lambda row: row * 2", None), ("lambda row: tf.reduce_sum(row)", f"tf.{dtype}"), ("lambda row: tf.size(row)", "tf.int32"),
                 ("tf.math.abs", None), ("lambda row: tf.shape(row)[0]", "tf.int32"))
    dims = d.inputs[x][0].dims
    inner = max((i - 1 for i, k in enumerate(dims) if k is None), default=0)
    same = f"tf.RaggedTensorSpec({[None] * (rank - 1)}, tf.{dtype}, ragged_rank={inner})" if None in dims else f"tf.{dtype}"
    signature = made[1] or same
    return f"tf.map_fn({made[0]}, {x}, fn_output_signature={signature})"


CALLS["x.to_sparse"] = (lambda d: f"{d.tensor(ALL, 2, 4, True)}.to_sparse()", 1)
CALLS["RaggedTensor.from_sparse"] = (lambda d: f"tf.RaggedTensor.from_sparse({d.sparse(ALL, 2)})", 1)


# ---- subscripts

@call("x[...]", 8)
def _(d):
    x = d.tensor(ALL, 1, 4)
    rank = d.rank(x)

    def key():
        kind = d.int(0, 9)
        if kind < 3:
            return str(d.int(-3, 3))
        if kind < 4:
            return "tf.newaxis"
        if kind < 5:
            return "..."
        part = [d.one("", str(d.int(-4, 4))) for _ in range(2)]
        return ":".join(part + ([str(d.one(1, 2, -1, -2, 3, 0))] if d.chance(0.4) else []))
    return f"{x}[{', '.join(key() for _ in range(d.int(1, rank + (1 if d.chance(0.1) else 0))))}]"


# ---- joining, splitting, axes

def alike(d, dims, n, dtype):
    """Tensors with these axes; unknown sizes and ragged rows are drawn for each, or shared."""
    first = d.of(dtype, dims)
    return [first] + [d.like(first) if d.chance(0.6) else d.of(dtype, dims) for _ in range(n - 1)]


@call("concat", 3)
def _(d):
    dims = d.dims(1, 4)
    xs = alike(d, dims, d.int(1, 3), d.some(ALL))
    return f"tf.concat([{', '.join(xs)}], axis={d.axis(len(dims))})"


@call("stack", 3)
def _(d):
    dims = d.dims(0, 3)
    xs = alike(d, dims, d.int(1, 3), d.some(ALL))
    return f"tf.{d.one('stack', 'ragged.stack')}([{', '.join(xs)}], axis={d.axis(len(dims) + 1)})"


@call("unstack")
def _(d):
    return f"tf.unstack({(x := d.of(d.some(ALL), [d.int(1, 3) for _ in range(d.int(1, 3))]))}, axis={d.axis(d.rank(x))})"


@call("split", 2)
def _(d):
    x = d.of(d.some(ALL), [d.int(0, 4) for _ in range(d.int(1, 3))]) if d.chance(0.6) else d.tensor(ALL, 1, 3)
    sizes = d.int(1, 3) if d.chance(0.5) else [d.one(-1, 0, 1, 2) for _ in range(d.int(1, 3))]
    return f"tf.split({x}, {sizes}, axis={d.axis(d.rank(x)) if d.chance(0.6) else 0})"


each("expand_dims", lambda name: lambda d: f"tf.expand_dims({(x := d.tensor(ALL))}, {d.axis(d.rank(x) + 1)})", 2)


@call("squeeze", 2)
def _(d):
    dims = d.dims(0, 4)
    dims = [1 if k is not None and d.chance(0.5) else k for k in dims]
    x = d.of(d.some(ALL), dims)
    axes = d.one(None, d.axis(len(dims)), [d.axis(len(dims)) for _ in range(d.int(1, 2))])
    return f"tf.squeeze({x}{'' if axes is None else f', axis={axes}'})"


CALLS["x.merge_dims"] = (lambda d: f"{(x := d.tensor(ALL, 2, 4, True))}.merge_dims({d.axis(d.rank(x))}, {d.axis(d.rank(x))})", 2)


@call("reshape", 2)
def _(d):
    x = d.tensor(ALL, 0, 3, False)
    n = 1
    for k in range(d.rank(x)):
        n *= d.known(x, k) if n else 0
    shapes = [[-1], [n], [1, -1], [-1, 1], [n, 1], [2, -1], [-1, 2], [0, -1], [d.int(0, 4), d.int(0, 4)], [-1, -1], []]
    return f"tf.reshape({x}, {d.some(shapes)})"


@call("transpose", 2)
def _(d):
    x = d.tensor(ALL, 0, 3, False)
    perm = list(range(d.rank(x)))
    d.rng.shuffle(perm)
    if d.chance(0.1):
        perm = [d.axis(3) for _ in perm]
    return f"tf.transpose({x}{'' if d.chance(0.4) else f', {perm}'})"


@call("tile", 2)
def _(d):
    x = d.tensor(ALL, 1, 3)
    rank = d.rank(x)
    n = rank + (d.one(1, -1) if d.chance(0.05) else 0)
    times = [d.int(0 if d.chance(0.9) else -1, 3) for _ in range(n)]
    return f"tf.tile({x}, {times if d.chance(0.6) else d.put('int64', [n], [times] * d.nrecords)})"


@call("repeat", 2)
def _(d):
    x = d.tensor(ALL, 1, 3)
    rank = d.rank(x)
    repeats = d.int(0, 3) if d.chance(0.6) else [d.int(0, 3) for _ in range(d.known(x, 0))] or 1
    return f"tf.repeat({x}, {repeats}{'' if d.chance(0.2) else f', axis={d.axis(rank)}'})"


@call("broadcast_to")
def _(d):
    x = d.of(d.some(ALL), [d.one(1, 1, 2, 3) for _ in range(d.int(0, 2))])
    shape = [d.int(0, 3) if k == 1 else k if d.chance(0.9) else 2 for k in d.inputs[x][0].dims]
    shape = [d.int(0, 3) for _ in range(d.int(0, 1))] + shape
    return f"tf.broadcast_to({x}, {shape if d.chance(0.5) else d.put(d.one('int32', 'int64'), [len(shape)], [shape] * d.nrecords)})"


@call("reverse", 2)
def _(d):
    x = d.tensor(ALL, 1, 4)
    return f"tf.reverse({x}, {[d.axis(d.rank(x)) for _ in range(d.int(0, 2))]})"


@call("linalg.matmul", 2)
def _(d):
    dtype = d.some(COMMON)
    ragged = d.chance(0.4)
    lead = d.one([], [2], [d.int(0, 2)]) if not ragged else ["g"]
    m, k, n = (d.int(0, 3) for _ in range(3))
    a, b = ([k, m], [m, n]) if not ragged else d.one(([None, m], [m, n]), ([k, None], [None, n]), ([None, m], [None, n]), ([None, m], [m, None]))
    ta, tb = d.chance(0.3), d.chance(0.3)
    x = d.of(dtype, lead + (a[::-1] if ta else a))
    y = d.of(dtype, lead + (b[::-1] if tb else b))
    return f"tf.matmul({x}, {y}{', transpose_a=True' if ta else ''}{', transpose_b=True' if tb else ''})"


# ---- selection

@call("gather", 5)
def _(d):
    x = d.tensor(ALL, 1, 3)
    rank = d.rank(x)
    if d.chance(0.3):
        # A row of indices for each row.
        n = d.one("a", 2)
        x = d.of(d.some(ALL), [n] + d.one([None], [3], ["b"], [3, 2]))
        i = d.of(d.one("int32", "int64"), [n] + d.one([None], [2], []), low=0, high=2)
        return f"tf.gather({x}, {i}, batch_dims={d.one(1, 1, -1)}{options(d, axis=lambda: d.axis(d.rank(x)))})"
    i = d.tensor(["int32", "int64"], 0, 3, low=0 if d.chance(0.9) else -1, high=d.one(0, 1, 2, 3))
    return f"tf.gather({x}, {i}{options(d, axis=lambda: d.axis(rank))})"


@call("gather_nd", 2)
def _(d):
    x = d.tensor(ALL, 1, 3)
    i = d.of(d.one("int32", "int64"), d.one([], ["i"], ["i", None]) + [d.int(0, d.rank(x) + (1 if d.chance(0.1) else 0))], low=0, high=d.one(0, 1, 2))
    return f"tf.gather_nd({x}, {i})"


@call("nn.embedding_lookup")
def _(d):
    x = d.of(d.some(FLOATS), [d.int(1, 4), 2])
    if d.chance(0.3):
        tables = [d.of(d.inputs[x][0].dtype, [d.int(1, 3), 2]) for _ in range(d.int(0, 2))]
        x = f"[{', '.join([x] + tables)}]"
    ids = d.tensor(["int32", "int64"], 0, 3, low=0, high=2)
    norm = ", max_norm=1.5" if d.chance(0.2) and None not in d.inputs[ids][0].dims else ""
    return f"tf.nn.embedding_lookup({x}, {ids}{norm})"


@call("boolean_mask", 2)
def _(d):
    x = d.tensor(ALL, 1, 3)
    dims = d.inputs[x][0].dims
    cut = d.int(1, len(dims))

    def masks(v, depth):
        return [masks(i, depth - 1) for i in v] if depth else d.chance(0.5)
    if d.chance(0.85):
        m = d.put("bool", dims[:cut], [masks(t.value, cut) for t in d.inputs[x]])
    else:
        m = d.tensor(["bool"], 1, 3)
    ragged = None in dims or d.chance(0.3)
    return f"tf.{'ragged.' if ragged else ''}boolean_mask({x}, {m})"


@call("boolean_mask(axis)")
def _(d):
    x = d.of(d.some(ALL), [d.int(0, 3) for _ in range(d.int(1, 3))])
    dims = d.inputs[x][0].dims
    axis = d.int(0, len(dims) - 1)
    sizes = [n if d.chance(0.95) else n + 1 for n in dims[axis:axis + d.int(1, len(dims) - axis)]]
    return f"tf.boolean_mask({x}, {d.of('bool', sizes)}, axis={axis})"


@call("where", 3)
def _(d):
    c = d.tensor(["bool"])
    if d.chance(0.3):
        return f"tf.where({c})"
    dtype = d.some(ALL)
    pick = [lambda: d.like(c, dtype), lambda: d.of(dtype, []), lambda: d.like(c, dtype), lambda: d.tensor([dtype])]
    return f"tf.where({c}, {d.some(pick)()}, {d.some(pick)()})"


@call("dynamic_partition", 2)
def _(d):
    x = d.tensor(ALL, 1, 3)
    dims = d.inputs[x][0].dims
    p = d.put("int32", dims[:1], [[d.int(0, 2) for _ in t.value] for t in d.inputs[x]])
    return f"tf.{d.one('dynamic_partition', 'ragged.stack_dynamic_partitions')}({x}, {p}, {d.int(2, 4)})"


# ---- order and counts

CALLS["sort"] = (lambda d: f"tf.sort({(x := d.tensor(NUMBERS, 1, 3, d.chance(0.1)))}{options(d, axis=lambda: d.axis(d.rank(x)), direction=lambda: d.one('ASCENDING', 'DESCENDING'))})", 1)
CALLS["argsort"] = (lambda d: f"tf.argsort({(x := d.tensor(NUMBERS, 1, 3, d.chance(0.1)))}{options(d, axis=lambda: d.axis(d.rank(x)), direction=lambda: d.one('ASCENDING', 'DESCENDING'))}, stable=True)", 1)
CALLS["math.top_k"] = (lambda d: f"tf.math.top_k({d.tensor(COMMON, 1, 3, False)}, k={d.int(0, 3)})", 2)


@call("math.bincount", 2)
def _(d):
    x = d.tensor(["int32", "int64"], 1, 2, low=0 if d.chance(0.9) else -1, high=5)
    weights = d.chance(0.3)
    more = f", weights={d.like(x, d.some(COMMON))}" if weights else ""
    more += options(d, minlength=lambda: d.int(0, 6), maxlength=lambda: d.int(0, 6), axis=lambda: d.one(0, -1))
    return f"tf.math.bincount({x}{more}{options(d, binary_output=True) if not weights else ''})"


# ---- along an axis

each("nn.softmax nn.log_softmax", lambda name: lambda d: f"tf.{name}({(x := d.tensor(FLOATS, 1, 3))}{options(d, axis=lambda: d.axis(d.rank(x)))})", 2)
each("math.cumsum math.cumprod", lambda name: lambda d: f"tf.{name}({(x := d.tensor(NUMBERS, 1, 3))}{options(d, axis=lambda: d.axis(d.rank(x)), exclusive=True, reverse=True)})", 2)


# ---- segments

def unsorted(name):
    def draw(d):
        x = d.tensor(COMMON + (FLOATS if "mean" in name or "sqrt" in name else NUMBERS), 1, 3)
        dims = d.inputs[x][0].dims
        cut = d.int(1, len(dims)) if None not in dims or d.chance(0.3) else max(i for i, k in enumerate(dims) if k is None) + 1
        cut = 1 if None in dims and d.chance(0.3) else cut

        def ids(v, depth):
            return [ids(i, depth - 1) for i in v] if depth else d.int(-1 if d.chance(0.1) else 0, 3 if d.chance(0.97) else 7)
        s = d.put(d.one("int32", "int64"), dims[:cut], [ids(t.value, cut) for t in d.inputs[x]])
        return f"tf.math.{name}({x}, {s}, {d.int(3, 5)})"
    return draw


def sorted_segments(name):
    def draw(d):
        x = d.tensor(COMMON + (FLOATS if "mean" in name else NUMBERS), 1, 3, False)
        ids = [sorted(d.int(0, 4) for _ in t.value) for t in d.inputs[x]]
        if d.chance(0.05):
            ids = [list(reversed(i)) for i in ids]
        return f"tf.math.{name}({x}, {d.put(d.one('int32', 'int64'), d.inputs[x][0].dims[:1], ids)})"
    return draw


for name in "unsorted_segment_sum unsorted_segment_prod unsorted_segment_max unsorted_segment_min unsorted_segment_mean unsorted_segment_sqrt_n".split():
    CALLS["math." + name] = (unsorted(name), 2)
for name in "segment_sum segment_prod segment_max segment_min segment_mean".split():
    CALLS["math." + name] = (sorted_segments(name), 2)


@call("ragged.row_splits_to_segment_ids")
def _(d):
    s = d.put("int64", ["s"], [splits([d.int(0, 3) for _ in range(d.int(0, 4))]) for _ in range(d.nrecords)])
    return f"tf.ragged.row_splits_to_segment_ids({s})"


@call("ragged.segment_ids_to_row_splits")
def _(d):
    s = d.put(d.one("int32", "int64"), ["s"], [sorted(d.int(0, 4) for _ in range(d.int(0, 4))) for _ in range(d.nrecords)])
    return f"tf.ragged.segment_ids_to_row_splits({s}{options(d, num_segments=lambda: d.int(0, 6))})"


@call("ragged.cross", 2)
def _(d):
    n = d.one("a", 2)
    xs = [d.of(d.one("int64", "string"), [n] + d.one([None], [None], [2])) for _ in range(d.int(1, 3))]
    return f"tf.ragged.{d.one('cross', 'cross_hashed')}([{', '.join(xs)}])"


@call("ragged.cross_hashed(num_buckets)")
def _(d):
    xs = [d.of(d.one("int64", "string"), [2, None]) for _ in range(d.int(1, 2))]
    return f"tf.ragged.cross_hashed([{', '.join(xs)}]{options(d, num_buckets=lambda: d.int(0, 20), hash_key=lambda: d.int(0, 99))})"


@call("nn.crelu")
def _(d):
    x = d.tensor(FLOATS, 1, 3, d.chance(0.2))
    return f"tf.nn.crelu({x}{options(d, axis=lambda: d.axis(d.rank(x)))})"


@call("sequence_mask")
def _(d):
    x = d.tensor(["int32", "int64"], 0, 2, False, low=0, high=4)
    return f"tf.sequence_mask({x}{options(d, maxlen=lambda: d.int(0, 5), dtype=lambda: 'tf.' + d.some(NUMBERS + ['bool']))})"


# ---- strings

STRING = ["string"]
CALLS["io.encode_base64"] = (lambda d: f"tf.io.encode_base64({d.tensor(STRING)}{options(d, pad=True)})", 1)
CALLS["io.decode_base64"] = (lambda d: f"tf.io.decode_base64({d.put('string', ['n'], [[d.one('aGVsbG8', 'YT8-fg==', '', 'YQ', 'YWI=', 'a', '!', 'YQ=') if d.chance(0.3) else 'aGVsbG8' for _ in range(d.int(0, 3))] for _ in range(d.nrecords)])})", 1)
each("strings.lower strings.upper", lambda name: lambda d: f"tf.{name}({d.tensor(STRING)}{options(d, encoding=lambda: d.one('utf-8', ''))})")
each("strings.strip strings.bytes_split strings.unicode_script", unary(STRING))
CALLS["strings.unicode_script"] = (lambda d: f"tf.strings.unicode_script({d.tensor(['int32'], 0, 3, low=0, high=70000)})", 1)
@call("strings.format", 2)
def _(d):
    xs = [d.tensor(ALL, 0, 3, d.chance(0.2)) for _ in range(d.int(1, 2))]
    template = " and ".join(["a {}"] * (len(xs) if d.chance(0.95) else 3))
    given = xs[0] if len(xs) == 1 and d.chance(0.5) else f"({', '.join(xs)},)"
    return f'tf.strings.format("{template}", {given}{options(d, summarize=lambda: d.one(-1, 1, 2, 3))})'


CALLS["strings.length"] = (lambda d: f"tf.strings.length({d.tensor(STRING)}{options(d, unit=lambda: d.one('BYTE', 'UTF8_CHAR'))})", 1)


@call("strings.substr", 2)
def _(d):
    x = d.tensor(STRING)
    pos, n = (d.like(x, "int32", low=-1, high=1), d.like(x, "int32", low=0, high=3)) if d.chance(0.4) else (str(d.int(-2, 2)), str(d.int(-1, 3)))
    return f"tf.strings.substr({x}, {pos}, {n}{options(d, unit=lambda: d.one('BYTE', 'UTF8_CHAR'))})"


@call("strings.join")
def _(d):
    x = d.tensor(STRING)
    xs = [x] + [d.like(x) if d.chance(0.6) else d.of("string", []) for _ in range(d.int(0, 2))]
    return f"tf.strings.join([{', '.join(xs)}]{options(d, separator=lambda: d.one('', '-', 'ab'))})"


@call("strings.reduce_join", 2)
def _(d):
    x = d.tensor(STRING)
    return f"tf.strings.reduce_join({x}{options(d, axis=lambda: d.axes(d.rank(x)), keepdims=True, separator=lambda: d.one('', '-'))})"


CALLS["strings.split"] = (lambda d: f"tf.strings.split({d.tensor(STRING, 0, 3)}{options(d, sep=lambda: d.one(' ', ',', 'ab', ''), maxsplit=lambda: d.int(-1, 2))})", 2)


@call("strings.ngrams", 2)
def _(d):
    x = d.tensor(STRING, 1, 3)
    return (f"tf.strings.ngrams({x}, {d.one(1, 2, 3, [1, 2])}{options(d, separator='|', padding_width=lambda: d.int(0, 2), preserve_short_sequences=True)}"
            f"{d.one('', ', pad_values=(' + chr(34) + 'S' + chr(34) + ', ' + chr(34) + 'E' + chr(34) + ')')})")


PATTERNS = ["a", "[a-z]+", "^.", "(\\\\w)(\\\\w)", "", "x|y", "\\\\d", "(a)(b)?", "[", "a*", "(?i)hello"]
CALLS["strings.regex_replace"] = (lambda d: f'tf.strings.regex_replace({d.tensor(STRING)}, "{d.some(PATTERNS)}", "{d.one("", "-", "<>", chr(92) * 2 + "0!", chr(92) * 2 + "1", chr(92) * 2 + "3")}"{options(d, replace_global=lambda: d.chance(0.5))})', 2)
CALLS["strings.regex_full_match"] = (lambda d: f'tf.strings.regex_full_match({d.tensor(STRING)}, "{d.some(PATTERNS)}")', 1)
CALLS["strings.as_string"] = (lambda d: f"tf.strings.as_string({d.tensor(NUMBERS + ['bool'])}{options(d, precision=lambda: d.int(-1, 4), width=lambda: d.int(-1, 8), scientific=True, fill=lambda: d.one('', '0', ' '))})", 2)


@call("strings.to_number", 2)
def _(d):
    n = d.int(1, 6)
    texts = ["1", "-3", "2.5", "1e3", "nan", "inf", " 7", "7 ", "+4", "0x10", ".5", "5.", "1e400", "-0", "9999999999", "x", ""]
    ok = texts[:4] + ["+4", "-0", ".5", "5."]
    x = d.put("string", [n], [[d.some(ok if d.chance(0.8) else texts) for _ in range(n)] for _ in range(d.nrecords)])
    return f"tf.strings.to_number({x}{options(d, out_type=lambda: 'tf.' + d.some(COMMON))})"


each("strings.unicode_decode strings.unicode_split strings.unicode_decode_with_offsets strings.unicode_split_with_offsets", lambda name: lambda d: f'tf.{name}({d.tensor(STRING)}, "UTF-8"{options(d, errors=lambda: d.one("replace", "ignore", "strict"))})')
CALLS["strings.unicode_encode"] = (lambda d: f'tf.strings.unicode_encode({d.tensor(["int32"], 1, 3, low=32, high=d.one(126, 70000))}, "{d.one("UTF-8", "UTF-16-BE", "UTF-32-BE")}")', 1)
CALLS["strings.unicode_transcode"] = (lambda d: f'tf.strings.unicode_transcode({d.tensor(STRING)}, "UTF-8", "{d.one("UTF-8", "UTF-16-BE", "UTF-32-BE")}"{options(d, errors=lambda: d.one("replace", "ignore"))})', 1)
each("strings.to_hash_bucket_fast strings.to_hash_bucket", lambda name: lambda d: f"tf.{name}({d.tensor(STRING)}, {d.int(1, 1000)})")
CALLS["strings.to_hash_bucket_strong"] = (lambda d: f"tf.strings.to_hash_bucket_strong({d.tensor(STRING)}, {d.int(1, 1000)}, [{d.int(0, 99)}, {d.int(0, 99)}])", 1)
