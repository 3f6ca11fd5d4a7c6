"""Calls of Paddle's sequence functions. Each level of sequences is a ragged axis."""
from draw import written
from registry import options

LOD_CALLS = {}
FLOATS = ["float32", "float64"]
NUMBERS = ["float32", "float64", "int32", "int64"]


def call(name, weight=1):
    def register(draw):
        LOD_CALLS[name] = (draw, weight)
        return draw
    return register


def sequences(d, dtypes, levels=1, steps=None, n=None, least=0, **kw):
    """Sequences of at least `least` steps each."""
    dims = [n or d.int(1, 4)] + [None] * levels + (steps if steps is not None else [d.one(1, 1, 2, 3)])
    dtype = d.some(dtypes)

    def rows(axes):
        if not axes:
            return d.value(dtype, **kw)
        size = axes[0] if axes[0] is not None else d.int(0 if d.chance(0.3) and not least else max(least, 1), 4)
        return [rows(axes[1:]) for _ in range(size)]
    return d.put(dtype, dims, [rows(dims) for _ in range(d.nrecords)])


def lengths(d, name):
    return [[len(row) for row in t.value] for t in d.inputs[name]]


@call("sequence_pool", 3)
def _(d):
    x = sequences(d, FLOATS, d.one(1, 1, 1, 2))
    return f"sequence_pool({x}, '{d.one('sum', 'average', 'sqrt', 'max', 'first', 'last', 'MAX', 'median')}'{options(d, pad_value=lambda: d.one(0.0, -1.5))})"


for name in ["sequence_first_step", "sequence_last_step", "sequence_reverse"]:
    LOD_CALLS[name] = ((lambda name: lambda d: f"{name}({sequences(d, FLOATS, d.one(1, 1, 1, 2))})")(name), 1)


@call("sequence_softmax")
def _(d):
    return f"sequence_softmax({sequences(d, FLOATS, d.one(1, 1, 1, 2), [1], low=-9, high=9)})"


@call("sequence_expand", 4)
def _(d):
    n = d.int(1, 4)
    y = sequences(d, FLOATS, d.one(1, 1, 2), n=n)
    x = sequences(d, FLOATS, d.one(0, 1), n=n if d.chance(0.9) else n + 1)
    return f"sequence_expand({x}, {y}{options(d, ref_level=lambda: d.one(-1, 0, 0, 1))})"


@call("sequence_expand_as", 2)
def _(d):
    n = d.int(1, 4)
    y = sequences(d, FLOATS, n=n)
    return f"sequence_expand_as({sequences(d, FLOATS, 0, n=n if d.chance(0.9) else n + 1)}, {y})"


@call("sequence_pad", 3)
def _(d):
    x = sequences(d, NUMBERS, d.one(1, 1, 1, 2))
    t = d.inputs[x][0]
    pad = d.of(t.dtype, d.one([1], [1], t.dims[-1:]))
    return f"sequence_pad({x}, {pad}{options(d, maxlen=lambda: d.int(1, 6))})"


@call("sequence_unpad", 2)
def _(d):
    n, width = d.int(1, 4), d.int(1, 4)
    x = d.of(d.some(NUMBERS), [n, width] + d.one([], [], [2]))
    return f"sequence_unpad({x}, {d.put('int64', [n], [[d.int(1, width) for _ in range(n)] for _ in range(d.nrecords)])})"


@call("sequence_concat", 2)
def _(d):
    x = sequences(d, FLOATS)
    t = d.inputs[x][0]
    more = [sequences(d, [t.dtype], 1, [t.dims[-1]], t.dims[0] if d.chance(0.9) else t.dims[0] + 1) for _ in range(d.int(1, 2))]
    return f"sequence_concat([{', '.join([x, *more])}])"


@call("sequence_slice", 2)
def _(d):
    x = sequences(d, NUMBERS)
    counts = lengths(d, x)
    offset = [[[d.int(0, max(n - 1, 0))] for n in row] for row in counts]
    length = [[[d.int(0 if d.chance(0.2) else 1, max(n - o[0], 1) + (1 if d.chance(0.1) else 0))] for n, o in zip(row, starts)] for row, starts in zip(counts, offset)]
    n = len(counts[0])
    return f"sequence_slice({x}, {d.put('int64', [n, 1], offset)}, {d.put('int64', [n, 1], length)})"


@call("sequence_reshape", 2)
def _(d):
    return f"sequence_reshape({sequences(d, NUMBERS, 1, [d.one(1, 2, 4, 6)])}, {d.int(1, 4)})"


@call("sequence_enumerate", 2)
def _(d):
    return f"sequence_enumerate({sequences(d, ['int32', 'int64'], 1, [1])}, {d.int(1, 4)}{options(d, pad_value=lambda: d.int(-1, 2))})"


@call("sequence_scatter", 2)
def _(d):
    n, width = d.int(1, 3), d.int(1, 4)
    dtype = d.some(NUMBERS)
    x = d.of(dtype, [n, width])
    counts = [[d.int(1, 3) for _ in range(n)] for _ in range(d.nrecords)]
    index = d.put("int64", [n, None, 1], [[[[d.int(0, width - 1)] for _ in range(k)] for k in row] for row in counts])
    updates = d.put(dtype, [n, None, 1], [[[[d.value(dtype)] for _ in range(k)] for k in row] for row in counts])
    return f"sequence_scatter({x}, {index}, {updates})"


@call("sequence_mask of Paddle", 2)
def _(d):
    x = d.of(d.one("int64", "int32"), d.one([d.int(1, 4)], [d.int(1, 3), 2]), low=0, high=5)
    return f"sequence_mask({x}{options(d, maxlen=lambda: d.int(1, 6), dtype=lambda: written(d.one('int64', 'float32', 'int32')))})"
