"""Random tensors for calls: a type, and a value of that type for each record.

Sizes are numbers (known), names (unknown: the same wherever the same name is used, drawn again for each record)
or None (ragged)."""
import math

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMMON = ["int32", "int64", "float32", "float64"]
FLOATS = ["float32", "float64", "float32", "float64", "float16"]
NUMBERS = COMMON * 3 + INTEGERS + FLOATS
ALL = NUMBERS + ["string", "bool", "string"]
WORDS = ["", "a", "b", "ab", "Hello", "x y", " lead", "tail ", "a,b,,c", "日本", "naïve", "😀x", "1", "-3.5", "1e3", "nan", "a_b_c", "UPPER",
         "\n", "aaa", "the quick brown fox", "x1y22"]
EDGES = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


def integer_range(dtype):
    bits = int(dtype.lstrip("uint"))
    return (0, 2 ** bits - 1) if dtype.startswith("u") else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)


class Tensor:
    """One value: nested lists with a type."""

    def __init__(self, dtype, dims, value):
        self.dtype, self.dims, self.value = dtype, dims, value


class Sparse:
    def __init__(self, dtype, shape, indices, values):
        self.dtype, self.shape, self.indices, self.values = dtype, shape, indices, values


class Structured:
    """Structures: nested lists of dictionaries. Each field has a dtype (or fields) and its own axes."""

    def __init__(self, fields, dims, value):
        self.fields, self.dims, self.value = fields, dims, value


class Draw:
    """The inputs of one call: each has a name, a type, and a value for each record."""

    def __init__(self, rng, prefix, records=1):
        self.rng, self.prefix, self.nrecords = rng, prefix, records
        self.inputs, self.types = {}, {}
        self.sizes = [{} for _ in range(records)]
        self.profile = rng.choice(["plain", "plain", "edges", "nan"])
        self.most = rng.choice([1, 2, 3, 3, 4, 5] * 4 + [19])

    # ---- plain choices
    def one(self, *options):
        return self.rng.choice(options)

    def some(self, options):
        return self.rng.choice(options)

    def chance(self, p):
        return self.rng.random() < p

    def int(self, low, high):
        return self.rng.randint(low, high)

    def axis(self, rank):
        """An axis of a tensor of the given rank, sometimes out of range."""
        if rank == 0 or self.chance(0.06):
            return self.one(rank, -rank - 1, rank + 1)
        return self.int(-rank, rank - 1)

    def axes(self, rank):
        """The axes of a reduction: None, one, or several."""
        if self.chance(0.2):
            return None
        if self.chance(0.7):
            return self.axis(rank)
        return [self.axis(rank) for _ in range(self.int(0, rank + (1 if self.chance(0.2) else 0)))]

    # ---- values
    def size(self, record, dim):
        if isinstance(dim, int):
            return dim
        if dim is None:
            return self.int(0, self.most)
        return self.sizes[record].setdefault(dim, self.int(0, self.most))

    def value(self, dtype, low=None, high=None):
        rng = self.rng
        if dtype == "bool":
            return rng.random() < 0.5
        if dtype == "string":
            return rng.choice(WORDS)
        if dtype in INTEGERS:
            least, most = integer_range(dtype)
            if low is not None:
                return rng.randint(min(max(low, least), most), max(min(high, most), least))
            if self.profile == "edges" and rng.random() < 0.3:
                return rng.choice([least, most, most - 1, least + 1, most // 2 + 1])
            return rng.randint(max(least, -4), 9)
        if low is not None:
            return max(-EDGES[dtype], min(EDGES[dtype], rng.randint(low * 4, high * 4) / 4))
        if self.profile == "nan" and rng.random() < 0.45:
            return rng.choice([math.nan, math.nan, math.inf, -math.inf, -0.0])
        if self.profile == "edges" and rng.random() < 0.35:
            top = EDGES[dtype]
            return rng.choice([top, -top, 0.0, -0.0, 1e4, -1e4, 0.5, 1.5, 2.5, -0.5, 300.7, 100.0, -100.0, 20.25])
        return rng.randint(-20, 40) / 4

    def nested(self, record, dtype, dims, **kw):
        if not dims:
            return self.value(dtype, **kw)
        return [self.nested(record, dtype, dims[1:], **kw) for _ in range(self.size(record, dims[0]))]

    # ---- inputs
    def add(self, type_text, values):
        name = f"{self.prefix}{'xyzuvwpqrst'[len(self.inputs)]}"
        self.inputs[name], self.types[name] = values, type_text
        return name

    def of(self, dtype, dims, **kw):
        """A tensor of the given type."""
        return self.put(dtype, dims, [self.nested(r, dtype, dims, **kw) for r in range(self.nrecords)])

    def put(self, dtype, dims, values):
        sizes = ["(?)" if d is None else str(d) if isinstance(d, int) else "?" for d in dims]
        text = dtype + (f"[{', '.join(sizes)}]" if dims else "")
        return self.add(text, [Tensor(dtype, dims, v) for v in values])

    def like(self, name, dtype=None, **kw):
        """A tensor with the row lengths of another."""
        old = self.inputs[name]
        dtype = dtype or old[0].dtype

        def walk(v, depth):
            return [walk(i, depth - 1) for i in v] if depth else self.value(dtype, **kw)
        return self.put(dtype, old[0].dims, [walk(t.value, len(t.dims)) for t in old])

    def dims(self, least=0, most=3, ragged=None):
        """The axes of a tensor; a ragged tensor has at least two."""
        rank = self.int(least, most)
        ragged = self.chance(0.5) if ragged is None else ragged
        outer = [self.one(self.int(0, 4), "a", "a")]
        if not ragged or rank < 2:
            letters = iter("abcdefg")
            open_sizes = self.chance(0.3)
            return [next(letters) if open_sizes else self.int(0 if self.chance(0.2) else 1, self.most) for _ in range(rank)]
        inner = self.int(0, rank - 2) if self.chance(0.4) else 0
        middle = [None] * (rank - 1 - inner)
        # A uniform axis between ragged ones, or before them.
        if len(middle) > 1 and self.chance(0.2):
            middle[self.int(0, len(middle) - 2)] = self.int(0 if self.chance(0.1) else 1, 3)
        return outer + middle + [self.int(0 if self.chance(0.1) else 1, 3) for _ in range(inner)]

    def tensor(self, dtypes, least=0, most=3, ragged=None, **kw):
        """A tensor with `least` to `most` axes; `low` and `high` bound its values."""
        return self.of(self.some(dtypes), self.dims(least, most, ragged), **kw)

    def rank(self, name):
        return len(self.inputs[name][0].dims)

    def known(self, name, axis):
        """The size of an axis in the first record."""
        value = self.inputs[name][0].value
        for _ in range(axis):
            value = value[0] if value else []
        return len(value)

    def sparse(self, dtypes, rank=None, shape=None):
        dtype = self.some(dtypes)
        rank = rank or self.one(1, 2, 2, 2, 3)
        shape = shape or [self.int(0 if self.chance(0.1) else 1, 4) for _ in range(rank)]
        values = []
        for _ in range(self.nrecords):
            cells = [[]]
            for n in shape:
                cells = [c + [i] for c in cells for i in range(n)]
            held = [c for c in cells if self.chance(0.45)]
            values.append(Sparse(dtype, shape, held, [self.value(dtype) for _ in held]))
        return self.add(f"sparse<{dtype}>[{', '.join(map(str, shape))}]", values)

    def structured(self, dims, fields):
        """Structures of fields, each `(dtype or fields, own axes)`."""
        def one(record, kinds):
            return {k: rows(record, kind, own) for k, (kind, own) in kinds.items()}

        def rows(record, kind, own):
            if own:
                return [rows(record, kind, own[1:]) for _ in range(self.size(record, own[0]))]
            return one(record, kind) if isinstance(kind, dict) else self.value(kind)

        def text(kinds):
            return "{" + ", ".join(f"{k}: {text(kind) if isinstance(kind, dict) else kind}" + (f"[{', '.join('?' if n is None or n in 'nm' else str(n) for n in own)}]" if own else "")
                                   for k, (kind, own) in kinds.items()) + "}"
        sizes = ", ".join("(?)" if n is None else str(n) if isinstance(n, int) else "?" for n in dims)
        values = [Structured(fields, dims, rows(r, fields, dims)) for r in range(self.nrecords)]
        return self.add(f"{text(fields)}" + (f"[{sizes}]" if dims else ""), values)

    # ---- literals
    def literal(self, dtype, dims=(), **kw):
        return written(self.nested(0, dtype, list(dims), **kw))


def written(v):
    """A value in the syntax of Python and of expressions."""
    if isinstance(v, list):
        return "[" + ", ".join(map(written, v)) + "]"
    if isinstance(v, float) and not math.isfinite(v):
        return "math.nan" if math.isnan(v) else "math.inf" if v > 0 else "-math.inf"
    if isinstance(v, str):
        return '"' + v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return repr(v)
