"""Calls with keywords that seldom occur, of functions that other modules call without them."""
from draw import ALL, COMMON, FLOATS
from registry import CALLS, call, options


def index(d):
    return d.one("tf.int32", "tf.int64")


def one(name, text, weight=1):
    """A call drawn by an expression of the draw."""
    CALLS[f"{name} (keywords)"] = (text, weight)


def dense(d, dtypes, least=0, most=3):
    return d.tensor(dtypes, least, most, False)


one("nn.gelu", lambda d: f"tf.nn.gelu({d.tensor(FLOATS)}, approximate={d.chance(0.5)})")
one("nn.silu", lambda d: f"tf.nn.silu({(x := d.tensor(['float32', 'float64']))}, beta={d.one('0.5', '2.0', d.of(d.inputs[x][0].dtype, []))})")
one("nn.leaky_relu", lambda d: f"tf.nn.leaky_relu({d.tensor(FLOATS + ['int32'])}, alpha={d.one('0.0', '0.1', '1.5', '-0.5')})")
one("nn.moments", lambda d: f"tf.nn.moments({dense(d, ['float32', 'float64'], 1)}, [0], shift=None{options(d, keepdims=True)})[{d.int(0, 1)}]")
one("ragged.constant", lambda d: f"tf.ragged.constant({d.literal(d.one('int32', 'float32', 'string'), ['a', None, d.int(1, 2)])}, inner_shape={d.one('(1,)', '(2,)', '()')})", 2)
one("convert_to_tensor", lambda d: f"tf.convert_to_tensor({d.literal(d.one('int32', 'float32', 'bool'), d.dims(0, 2, False))}{options(d, dtype_hint=lambda: 'tf.' + d.some(COMMON))})")
one("size", lambda d: f"tf.size({d.tensor(ALL)}, out_type={index(d)})")
one("shape", lambda d: f"tf.shape({dense(d, ALL)}, out_type={index(d)})")
one("x.nrows", lambda d: f"{d.tensor(ALL, 2, 4, True)}.nrows(out_type={index(d)})")
one("x.bounding_shape", lambda d: f"{(x := d.tensor(ALL, 2, 4, True))}.bounding_shape({options(d, axis=lambda: d.one(d.int(0, d.rank(x) - 1), [0, 1], [1]), out_type=lambda: index(d))[2:]})", 2)
one("split", lambda d: f"tf.split({(x := d.of(d.some(ALL), [4, d.int(0, 4)]))}, {d.one('2', '[1, 3]', '[2, -1]', '4')}, 0{options(d, num=lambda: d.int(1, 4))})")
one("unstack", lambda d: f"tf.unstack({d.of(d.some(ALL), [d.int(1, 3), d.int(0, 3)])}, num={d.int(1, 3)})")
one("transpose", lambda d: f"tf.transpose({dense(d, ALL)}, conjugate={d.chance(0.5)})")


@call("linspace (keywords)")
def _(d):
    dtype, dims = d.one("float32", "float64"), [d.int(0, 2) for _ in range(d.int(0, 2))]
    start = d.of(dtype, dims, low=-9, high=9)
    return f"tf.linspace({start}, {d.like(start, low=-9, high=9)}, {d.int(1, 6)}, axis={d.axis(len(dims) + 1)})"


@call("strided_slice (keywords)", 2)
def _(d):
    x = dense(d, ALL, 1, 3)
    n = d.int(1, d.rank(x) + 1)
    begin, end, strides = [d.int(-3, 3) for _ in range(n)], [d.int(-3, 4) for _ in range(n)], [d.one(1, 1, 2, -1) for _ in range(n)]
    masks = options(d, begin_mask=lambda: d.int(0, 7), end_mask=lambda: d.int(0, 7), new_axis_mask=lambda: d.int(0, 7), shrink_axis_mask=lambda: d.int(0, 7))
    return f"tf.strided_slice({x}, {begin}, {end}, strides={strides}{masks}, ellipsis_mask={d.one(0, 1, 1, 2, 4, 3)})"


@call("scatter_nd (keywords)")
def _(d):
    n = d.int(0, 4)
    indices = d.of("int32", [n, 1], low=-1, high=4)
    return f"tf.scatter_nd({indices}, {d.of(d.some(COMMON), [n], low=-9, high=9)}, [4], bad_indices_policy={d.one('', 'ERROR', 'IGNORE', 'DEFAULT')!r})"


@call("gather_nd (keywords)", 2)
def _(d):
    outer = [d.int(1, 2) for _ in range(d.int(1, 2))]
    x = d.of(d.some(ALL), outer + [d.int(1, 3) for _ in range(d.int(1, 2))])
    depth = d.int(0, d.rank(x) - len(outer))
    i = d.of(d.one("int32", "int64"), outer + d.one([], [d.int(0, 3)]) + [depth], low=0, high=d.one(0, 1, 2))
    policy = f", bad_indices_policy={d.one('ERROR', 'IGNORE')!r}" if d.chance(0.2) else ""
    return f"tf.gather_nd({x}, {i}, batch_dims={d.int(0, len(outer))}{policy})"


@call("matmul (keywords)")
def _(d):
    dtype = d.some(COMMON)
    x = d.of(dtype, [2, 3], low=-9, high=9)
    return f"tf.matmul({x}, {d.of(dtype, [3, 2], low=-9, high=9)}{options(d, a_is_sparse=lambda: d.chance(0.5), b_is_sparse=lambda: d.chance(0.5))})"


one("gather", lambda d: f"tf.gather({d.of(d.some(ALL), [3, 2])}, {d.of('int32', ['n'], low=0, high=2)}, validate_indices={d.chance(0.5)})")
one("math.top_k", lambda d: f"tf.math.top_k({dense(d, COMMON, 1)}, k={d.int(0, 2)}{options(d, sorted=lambda: True)}, index_type={d.one('tf.int32', 'tf.int64', 'tf.int16')})[{d.int(0, 1)}]")
one("ragged.row_splits_to_segment_ids", lambda d: f"tf.ragged.row_splits_to_segment_ids([0, {d.int(0, 2)}, 3], out_type={index(d)})")
one("ragged.segment_ids_to_row_splits", lambda d: f"tf.ragged.segment_ids_to_row_splits([0, {d.int(0, 2)}, 3], out_type={index(d)}{options(d, num_segments=lambda: d.int(3, 6))})")
one("strings.as_string", lambda d: f"tf.strings.as_string({d.tensor(FLOATS)}, shortest=True{options(d, width=lambda: d.int(0, 9), fill=lambda: d.one('0', ' '))})", 2)


def text(d):
    """Strings, some with bytes that are not UTF-8."""
    x = d.tensor(["string"], 0, 2)
    return x if d.chance(0.5) else f'tf.io.decode_base64({d.put("string", [2], [[d.one("_2E", "YcMoYg", "4pyT4pw", "", "AGEB", "7aCA") for _ in range(2)] for _ in range(d.nrecords)])})'


def unicode(name):
    controls = {"replace_control_characters": True} if "decode" in name else {}
    one(f"strings.{name}", lambda d: f'tf.strings.{name}({text(d)}, "UTF-8"'
                                     f'{options(d, errors=lambda: d.one("replace", "ignore"), replacement_char=lambda: d.one(63, 0x1F600, 65533), **controls)})')


for name in "unicode_decode unicode_split unicode_decode_with_offsets unicode_split_with_offsets".split():
    unicode(name)
CODES = [(-2, 126), (55290, 57345), (1114109, 1114115), (32, 70000)]  # around the limits of code points and surrogates
one("strings.unicode_encode", lambda d: f'tf.strings.unicode_encode({(codes := d.some(CODES)) and d.of("int32", [d.int(0, 3)], low=codes[0], high=codes[1])}, "{d.one("UTF-8", "UTF-16-BE")}"'
                                        f'{options(d, errors=lambda: d.one("replace", "ignore", "strict"), replacement_char=lambda: d.one(63, 65533))})', 2)
one("strings.unicode_transcode", lambda d: f'tf.strings.unicode_transcode({text(d)}, "{d.one("UTF-8", "UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16-BE")}", "{d.one("UTF-8", "UTF-16-BE", "UTF-32-BE")}"'
                                           f'{options(d, errors=lambda: d.one("replace", "ignore", "strict"), replacement_char=lambda: d.one(63, 65533), replace_control_characters=True)})', 2)
one("strings.format", lambda d: f'tf.strings.format("a % b", {dense(d, ALL)}, placeholder="%"{options(d, summarize=lambda: d.one(-1, 1, 3))})')


@call("io.decode_raw (keywords)")
def _(d):
    dtype, size = d.one(("uint8", 1), ("int16", 2), ("int32", 4), ("float32", 4))
    x = d.put("string", [2], [["".join(d.one(*"ab ~") for _ in range(d.int(0, 9))) for _ in range(2)] for _ in range(d.nrecords)])
    return f"tf.io.decode_raw({x}, tf.{dtype}, fixed_length={size * d.int(1, 3) + d.chance(0.1)}{options(d, little_endian=lambda: d.one(True, False))})"


# ---- sparse tensors

def reduced(name):
    one(f"sparse.{name}", lambda d: f"tf.sparse.{name}({(x := d.sparse(COMMON))}, output_is_sparse=True{options(d, axis=lambda: d.axis(len(d.inputs[x][0].shape)), keepdims=True)})")


reduced("reduce_sum")
reduced("reduce_max")


@call("sparse.sparse_dense_matmul (keywords)")
def _(d):
    x = d.sparse(["float32", "float64", "int32"], shape=[2, 3])
    y = d.of(d.inputs[x][0].dtype, d.one([2, 2], [3, 2], [2, 3]), low=-9, high=9)
    return f"tf.sparse.sparse_dense_matmul({x}, {y}{options(d, adjoint_a=True, adjoint_b=True)})"


one("sparse.add", lambda d: f"tf.sparse.add({(x := d.sparse(['float32', 'int32', 'float64']))}, {d.sparse([d.inputs[x][0].dtype], shape=d.inputs[x][0].shape)}, threshold={d.one('0', '1', '3')})")
one("sets", lambda d: f"tf.sparse.to_dense(tf.sets.{d.one('intersection', 'union', 'difference')}({(x := dense(d, ['int64', 'int32', 'string'], 2, 2))}, {d.like(x)}, validate_indices={d.chance(0.5)}))")
