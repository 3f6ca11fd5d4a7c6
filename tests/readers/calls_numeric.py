"""Calls of functions on matrices, of losses, moments, embeddings and counts."""
from draw import ALL, COMMON, FLOATS, NUMBERS
from registry import CALLS, call, each, options

REAL = ["float32", "float64"]


def tensor_of(d, dims, make):
    """A nested list of the given sizes."""
    return [tensor_of(d, dims[1:], make) for _ in range(dims[0])] if dims else make()


# ---- matrices

def invertible(d, n, kind):
    """A matrix whose inverse has small entries: diagonally dominant, symmetric or triangular."""
    rows = [[float(d.int(-3, 3)) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i):
            if kind == "symmetric":
                rows[i][j] = rows[j][i]
        rows[i][i] = float(4 * n + d.int(0, 4)) * (d.one(1, -1) if kind == "any" else 1)
    return rows


def matrices(d, kind, outer=None, n=None):
    """Square matrices as a field, and their sizes."""
    outer = d.one([], [], [2], [0], [2, 1]) if outer is None else outer
    n = d.int(0 if d.chance(0.1) else 1, 4) if n is None else n
    x = d.put(d.one("float64", "float64", "float32"), outer + [n, n], [tensor_of(d, outer, lambda: invertible(d, n, kind)) for _ in range(d.nrecords)])
    return x, outer, n


def right_sides(d, x, outer, n):
    return d.of(d.inputs[x][0].dtype, outer + [n + d.chance(0.03), d.int(0, 3)], low=-9, high=9)


each("linalg.det linalg.inv linalg.slogdet", lambda name: lambda d: f"tf.{name}({matrices(d, 'any')[0]}{options(d, adjoint=True) if name == 'linalg.inv' else ''})", 2)
each("linalg.cholesky linalg.logdet", lambda name: lambda d: f"tf.{name}({matrices(d, 'symmetric')[0]})", 2)
CALLS["linalg.det(singular)"] = (lambda d: f"tf.linalg.det({d.of('float64', [2, 2], low=-1, high=1)})", 1)
CALLS["linalg.inv(any)"] = (lambda d: f"tf.linalg.inv({d.of('float64', d.one([2, 2], [2, 3], [1, 1], [3]), low=-1, high=1)})", 1)


@call("linalg.solve", 2)
def _(d):
    name = d.one("solve", "triangular_solve", "cholesky_solve")
    x, outer, n = matrices(d, "any")
    more = "" if name == "cholesky_solve" else options(d, adjoint=True)
    more += options(d, lower=lambda: d.chance(0.5)) if name == "triangular_solve" else ""
    return f"tf.linalg.{name}({x}, {right_sides(d, x, outer, n)}{more})"


@call("linalg.matvec", 2)
def _(d):
    dtype, outer, m, k = d.some(COMMON), d.one([], [2], [0]), d.int(0, 3), d.int(0, 3)
    flag = d.one("", "", ", transpose_a=True", ", adjoint_a=True")
    x = d.of(dtype, outer + ([k, m] if flag else [m, k]), low=-9, high=9)
    return f"tf.linalg.matvec({x}, {d.of(dtype, (outer if d.chance(0.8) else []) + [k + d.chance(0.05)], low=-9, high=9)}{flag})"


@call("linalg.matmul(adjoint)")
def _(d):
    dtype, k = d.some(COMMON), d.int(1, 3)
    x, y = d.of(dtype, [2, k], low=-9, high=9), d.of(dtype, [2, k], low=-9, high=9)
    return d.one(f"tf.matmul({x}, {y}, adjoint_b=True)", f"tf.matmul({x}, {y}, adjoint_a=True)", f"tf.matmul({x}, {y}, transpose_a=True, adjoint_b=True)",
                 f"tf.matmul({x}, {y}, transpose_a=True, adjoint_a=True)")


CALLS["linalg.tensor_diag"] = (lambda d: f"tf.linalg.tensor_diag({d.tensor(NUMBERS, 0, 2, False)})", 1)
CALLS["linalg.matrix_transpose"] = (lambda d: f"tf.linalg.matrix_transpose({d.tensor(ALL, 1, 4, False)}{options(d, conjugate=True)})", 1)


@call("linalg.tensor_diag_part")
def _(d):
    sizes = [d.int(1, 3) for _ in range(d.int(1, 2))]
    return f"tf.linalg.tensor_diag_part({d.of(d.some(NUMBERS), sizes + sizes[:len(sizes) - d.chance(0.05)])})"


@call("linalg.global_norm", 2)
def _(d):
    x = d.tensor(REAL, 0, 3, False)
    xs = [x] + [d.of(d.inputs[x][0].dtype, d.dims(0, 2, False)) for _ in range(d.int(0, 2))]
    text = f"[{', '.join(xs)}]"
    norm = options(d, use_norm=lambda: d.of(d.inputs[x][0].dtype, [], low=1, high=30))
    return d.one(f"tf.linalg.global_norm({text})", f"tf.clip_by_global_norm({text}, {d.int(0, 9)}.5{norm})[0][{d.int(0, len(xs) - 1)}]",
                 f"tf.clip_by_global_norm({text}, {d.int(0, 9)}.5{norm})[1]")


@call("linalg.normalize", 2)
def _(d):
    x = d.tensor(REAL, 0, 3, False)
    return f"tf.linalg.normalize({x}{options(d, ord=lambda: d.one(chr(39) + 'euclidean' + chr(39), '1', '2', 'math.inf'), axis=lambda: d.axis(d.rank(x)))})[{d.int(0, 1)}]"


# ---- losses

def loss(text):
    """A function of labels from 0 to 1 and logits of the same shape."""
    def draw(d):
        x = d.tensor(FLOATS, 0, 3, d.chance(0.2), low=0, high=1)
        return text(d, x, d.like(x) if d.chance(0.9) else d.tensor([d.inputs[x][0].dtype]))
    return draw


CALLS["nn.weighted_cross_entropy_with_logits"] = (loss(lambda d, x, y: f"tf.nn.weighted_cross_entropy_with_logits(labels={x}, logits={y}, pos_weight={d.int(0, 4)}.5)"), 1)
CALLS["nn.log_poisson_loss"] = (loss(lambda d, x, y: f"tf.nn.log_poisson_loss({x}, {y}{options(d, compute_full_loss=True)})"), 1)


@call("nn.softmax_cross_entropy_with_logits", 2)
def _(d):
    x = d.tensor(FLOATS, 1, 3, d.chance(0.2), low=0, high=1)
    return f"tf.nn.softmax_cross_entropy_with_logits(labels={x}, logits={d.like(x)}{options(d, axis=lambda: d.axis(d.rank(x)))})"


@call("nn.sparse_softmax_cross_entropy_with_logits", 2)
def _(d):
    outer, n = d.one([], ["n"], [2], [2, 2], [2, None]), d.int(1, 4)
    labels = d.of(d.one("int32", "int64"), outer, low=-1 if d.chance(0.05) else 0, high=n - 1 + d.chance(0.05))
    if outer == [2, None] or outer == ["n"]:
        size = [len(t.value) if outer == ["n"] else [len(row) for row in t.value] for t in d.inputs[labels]]
        logits = [tensor_of(d, [rows, n], lambda: d.value("float32")) if outer == ["n"] else [tensor_of(d, [m, n], lambda: d.value("float32")) for m in rows] for rows in size]
        return f"tf.nn.sparse_softmax_cross_entropy_with_logits(labels={labels}, logits={d.put('float32', outer + [n], logits)})"
    return f"tf.nn.sparse_softmax_cross_entropy_with_logits(labels={labels}, logits={d.of(d.some(FLOATS), outer + [n])})"


# ---- moments

@call("nn.weighted_moments", 2)
def _(d):
    x = d.tensor(REAL, 1, 3, False, low=-9, high=9)
    axes = [d.int(-d.rank(x), d.rank(x) - 1)] if d.chance(0.7) else list(range(d.rank(x)))
    weights = d.like(x, low=0, high=3) if d.chance(0.7) else d.of(d.inputs[x][0].dtype, d.inputs[x][0].dims[-1:], low=1, high=3)
    return f"tf.nn.weighted_moments({x}, {axes}, {weights}{options(d, keepdims=True)})[{d.int(0, 1)}]"


@call("nn.sufficient_statistics", 2)
def _(d):
    x = d.tensor(REAL, 1, 3, False, low=-9, high=9)
    axes = sorted(d.rng.sample(range(d.rank(x)), d.int(1, d.rank(x))))
    statistics = f"tf.nn.sufficient_statistics({x}, {axes}{options(d, shift=lambda: d.of(d.inputs[x][0].dtype, [], low=-3, high=3), keepdims=True)})"
    return f"{statistics}[{d.int(0, 2)}]" if d.chance(0.6) else f"tf.nn.normalize_moments({statistics}[0], {statistics}[1], {statistics}[2], None)[{d.int(0, 1)}]"


@call("nn.batch_normalization", 2)
def _(d):
    x = d.tensor(REAL, 1, 3, d.chance(0.2), low=-9, high=9)
    dtype, dims = d.inputs[x][0].dtype, d.inputs[x][0].dims
    some = lambda low: d.of(dtype, d.one([], [], dims[-1:] if isinstance(dims[-1], int) else []), low=low, high=4)
    return f"tf.nn.batch_normalization({x}, {some(-4)}, {some(1)}, {d.one('None', some(-4))}, {d.one('None', some(1))}, {d.one('0.0', '1e-3', '0.5')})"


# ---- tables, indices, segments

@call("nn.embedding_lookup_sparse", 3)
def _(d):
    rows_, columns = d.int(1, 4), d.int(1, 2)
    table = d.of(d.some(REAL), [rows_, columns], low=-9, high=9)
    n = d.int(0, 3)
    safe = d.chance(0.5)
    lengths = [[d.int(0 if safe else 1, 3) for _ in range(n)] for _ in range(d.nrecords)]
    low = -1 if safe and d.chance(0.3) else 0
    ids = d.put("int64", [n, None], [[[d.int(low, rows_ - 1) for _ in range(k)] for k in row] for row in lengths])
    weights = d.put(d.inputs[table][0].dtype, [n, None], [[[d.int(1, 8) / 4 for _ in range(k)] for k in row] for row in lengths]) if d.chance(0.5) else "None"
    sparse = d.chance(0.5)
    if sparse:
        ids, weights = f"{ids}.to_sparse()", weights if weights == "None" else f"{weights}.to_sparse()"
    more = options(d, combiner=lambda: repr(d.one("sum", "mean", "sqrtn")))
    more += options(d, max_norm=lambda: "2.5") if d.chance(0.3) else ""
    if not safe:
        return f"tf.nn.embedding_lookup_sparse({table}, {ids}, {weights}{more})"
    return f"tf.nn.safe_embedding_lookup_sparse({table}, {ids}, sparse_weights={weights}{more}{options(d, default_id=lambda: d.int(0, rows_ - 1))})"


@call("dynamic_stitch", 2)
def _(d):
    dtype, inner = d.some(ALL), d.one([], [], [2])
    dims = [d.one([d.int(0, 3)], [], [2, d.int(0, 2)]) for _ in range(d.int(1, 3))]
    indices = [d.of("int32", sizes, low=0, high=5) for sizes in dims]
    data = [d.of(dtype, sizes + inner) for sizes in dims]
    if d.chance(0.5):
        # All indices occur once.
        n = d.int(1, 4)
        order = d.rng.sample(range(n), n)
        cut = d.int(0, n)
        indices = [d.put("int32", [len(part)], [part] * d.nrecords) for part in (order[:cut], order[cut:])]
        data = [d.of(dtype, [len(part)] + inner) for part in (order[:cut], order[cut:])]
    return f"tf.dynamic_stitch([{', '.join(indices)}], [{', '.join(data)}])"


@call("unravel_index")
def _(d):
    dims = [d.int(1, 4) for _ in range(d.int(1, 3))]
    most = 1
    for n in dims:
        most *= n
    dtype = d.one("int32", "int64")
    indices = d.of(dtype, d.one([], [d.int(0, 4)]), low=0, high=most - 1 + d.chance(0.1))
    return f"tf.unravel_index({indices}, {d.put(dtype, [len(dims)], [dims] * d.nrecords)})"


@call("signal.frame", 2)
def _(d):
    x = d.of(d.some(COMMON), d.one([d.int(0, 9)], [2, d.int(0, 7)], [2, d.int(1, 6), 2]))
    return (f"tf.signal.frame({x}, {d.int(1, 4)}, {d.int(1, 4)}"
            f"{options(d, pad_end=True, pad_value=lambda: d.literal(d.inputs[x][0].dtype, low=0, high=9), axis=lambda: d.axis(d.rank(x)))})")


@call("strings.unsorted_segment_join")
def _(d):
    x = d.tensor(["string"], 1, 3, False)
    cut = d.int(1, d.rank(x))

    def ids(v, depth):
        return [ids(i, depth - 1) for i in v] if depth else d.int(-1 if d.chance(0.1) else 0, 3)
    s = d.put(d.one("int32", "int64"), d.inputs[x][0].dims[:cut], [ids(t.value, cut) for t in d.inputs[x]])
    return f"tf.strings.unsorted_segment_join({x}, {s}, {d.int(3, 5)}{options(d, separator=lambda: d.one('', '-'))})"


each("math.igamma math.igammac", lambda name: lambda d: "tf.{}({}, {})".format(
    name, x := d.tensor(REAL, low=0, high=9), d.like(x, low=0, high=d.one(2, 30)) if d.chance(0.7) else d.of(d.inputs[x][0].dtype, [], low=0, high=5)), 2)
CALLS["math.lbeta"] = (lambda d: f"tf.math.lbeta({d.tensor(REAL, 1, 3, low=1, high=9)})", 1)
each("math.is_non_decreasing math.is_strictly_increasing", lambda name: lambda d: f"tf.{name}({d.tensor(NUMBERS, 0, 2, False, low=0, high=2)})")
each("shape_n identity_n", lambda name: lambda d: f"tf.{name}([{d.tensor(ALL, 0, 3, False)}, {d.tensor(ALL, 0, 2, False)}])")


@call("io.decode_csv", 3)
def _(d):
    kinds = [d.one("int32", "int64", "float32", "float64", "string") for _ in range(d.int(1, 3))]
    delim = d.one(",", ",", ";", "\t")

    def cell(kind):
        if d.chance(0.15):
            return d.one("", "NA", "", " 1", "x")
        if kind == "string":
            return d.one("a", "b c", '"q"', '"x' + delim + 'y"', '"he said ""hi"""', "日本", " s ", 'a"b')
        return str(d.int(-20, 20)) if kind.startswith("int") else d.one("1.5", "-2", "3e2", "nan", "inf", ".5")
    n = d.one([], [], [d.int(0, 3)])
    lines = [tensor_of(d, n, lambda: delim.join(cell(k) for k in kinds)) for _ in range(d.nrecords)]
    defaults = ", ".join(d.one(f"tf.constant([], tf.{k})", f"tf.constant([{d.literal(k, low=0, high=9)}], tf.{k})") for k in kinds)
    select = options(d, select_cols=lambda: sorted(d.rng.sample(range(len(kinds)), len(kinds)))) if d.chance(0.3) else ""
    return (f"tf.io.decode_csv({d.put('string', n, lines)}, [{defaults}]{'' if delim == ',' else f', field_delim={chr(34)}{delim.replace(chr(9), chr(92) + chr(116))}{chr(34)}'}"
            f"{options(d, use_quote_delim=lambda: d.chance(0.5), na_value=lambda: repr('NA'))}{select})[{d.int(0, len(kinds) - 1)}]")


@call("sparse.sampled_addmm")
def _(d):
    m, k, n = d.int(1, 3), d.int(1, 3), d.int(1, 3)
    cells = sorted([i, j] for i in range(m) for j in range(n) if d.chance(0.5))
    indices = d.put("int64", [len(cells), 2], [cells] * d.nrecords)
    values, a, b = d.of("float32", [len(cells)], low=-9, high=9), d.of("float32", [m, k], low=-9, high=9), d.of("float32", [k, n], low=-9, high=9)
    return f"tf.sparse.sampled_addmm({indices}, {values}, {[m, n]}, {a}, {b}{options(d, beta=lambda: d.int(0, 3) / 2, alpha=lambda: d.int(0, 3) / 2)})[{d.int(0, 1)}]"
