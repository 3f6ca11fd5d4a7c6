"""Calls of functions on structured tensors."""
from draw import ALL, COMMON
from registry import call, options


def structured(d, ranks=(1, 1, 2)):
    """Structures with the fields `a` (a number), `s` (a string) and `t` (rows), some without `s` or `t`."""
    outer = [[d.one("n", 2, 3)], ["n", None]][d.some(ranks) - 1]
    fields = {"a": (d.some(COMMON), []), "s": ("string", []), "t": (d.some([t for t in ALL if t != "float16"]), [None])}
    return d.structured(outer, {k: fields[k] for k in fields if k == "a" or d.chance(0.8)})


@call("StructuredTensor.field_value", 2)
def _(d):
    x = structured(d)
    return f"{x}.field_value({d.one('a', 'a', 't', ('a',), 'nothing')!r})"


@call("st[...]", 4)
def _(d):
    x = structured(d)
    rank = len(d.inputs[x][0].dims)
    keys = [d.one(":", ":", str(d.int(-2, 2)), f"{d.int(0, 1)}:", f":{d.int(0, 2)}", "::2") for _ in range(d.int(1, rank))]
    if len(keys) == rank and d.chance(0.6):
        keys.append(d.one("'a'", "'a'", "'t'", "'s'"))
        if d.chance(0.3):
            keys.append(d.one(":1", "1:", "0"))
    return f"{x}[{', '.join(keys)}]"


@call("StructuredTensor.with_updates", 2)
def _(d):
    x = structured(d)
    update = d.one("{'a': lambda a: a * 2}", "{'a': None}", "{'b': 1}", "{'a': lambda a: -a, 's': None}", "{'nothing': None}")
    if update == "{'b': 1}":
        update = f"{{'b': {x}.field_value('a')}}"
    return f"{x}.with_updates({update})"


@call("StructuredTensor.merge_dims")
def _(d):
    x = structured(d, (2, 2, 1))
    rank = len(d.inputs[x][0].dims)
    return f"{x}.merge_dims({d.axis(rank)}, {d.axis(rank)})"


@call("StructuredTensor.partition_outer_dimension")
def _(d):
    x = structured(d)
    n = len(d.inputs[x][0].value)
    cut = d.int(0, n)
    lengths = d.one([cut, n - cut], [n], [cut, 0, n - cut], [1, n])
    return f"{x}.partition_outer_dimension(tf.experimental.RowPartition.from_row_lengths({lengths}))"


@call("StructuredTensor.promote")
def _(d):
    inner = {"v": (d.some(COMMON), d.one([], [None]))}
    x = d.structured(d.one(["n"], [2]), {"a": ("int64", []), "docs": (inner, [None])})
    return f"{x}.promote({d.one(('docs', 'v'), ('docs', 'v'), ('docs', 'w'), ('a',))!r}, 'up')"


@call("StructuredTensor.parts", 2)
def _(d):
    x = structured(d)
    return d.one(f"{x}.nrows()", f"{x}.rank", f"tf.rank({x})", f"tf.size({x})", f"{x}.field_value('a') + {x}.field_value('a')", f"tf.zeros_like({x})",
                 f"tf.ones_like({x})", f"tf.expand_dims({x}, {d.axis(3)})", f"tf.concat([{x}, {x}], {d.axis(2)})", f"tf.gather({x}, {[d.int(0, 2) for _ in range(d.int(0, 3))]})",
                 f"tf.shape({x})", f"tf.random.shuffle({x}).nrows()")


@call("StructuredTensor.from_fields", 2)
def _(d):
    n = d.one("n", 2)
    a = d.of(d.some(ALL), [n])
    b = d.of(d.some(ALL), [n if d.chance(0.9) else "m", d.one(None, 2)])
    return f"tf.experimental.StructuredTensor.from_fields({{'a': {a}, 'b': {b}}}{d.one('', ', shape=[None]', ', shape=[2]', ', shape=[]')})"


@call("StructuredTensor.from_fields_and_rank")
def _(d):
    x = d.of(d.some(ALL), ["n", None] + d.one([], [None], [2]))
    return f"tf.experimental.StructuredTensor.from_fields_and_rank({{'a': {x}, 'b': {d.like(x)}}}, rank={d.int(0, 2)})"


@call("StructuredTensor.from_pyval", 2)
def _(d):
    def record(kinds):
        return "{" + ", ".join(f"'{k}': {value(kind)}" for k, kind in kinds.items()) + "}"

    def value(kind):
        if isinstance(kind, dict):
            return record(kind)
        if isinstance(kind, list):
            return "[" + ", ".join(value(kind[0]) for _ in range(d.int(0, 3))) + "]"
        return d.literal(kind)
    inner = d.one("int32", "string", ["int32"], ["string"], {"x": "int32"}, [{"x": "int32"}])
    kinds = {"a": d.one("int32", "string", "bool"), "b": inner}
    return f"tf.experimental.StructuredTensor.from_pyval({value(d.one(kinds, [kinds], [kinds], [[kinds]]))})"


@call("RowPartition")
def _(d):
    lengths = [d.int(0, 3) for _ in range(d.int(0, 4))]
    splits = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    made = d.one(f"from_row_lengths({d.put('int64', ['n'], [lengths] * d.nrecords)})", f"from_row_splits({d.put('int64', ['s'], [splits] * d.nrecords)})",
                 f"from_uniform_row_length({d.int(0, 3)}, nvals={d.int(0, 6)}{options(d, nrows=lambda: d.int(0, 3))})")
    part = d.one("row_splits()", "row_lengths()", "row_starts()", "row_limits()", "value_rowids()", "nrows()", "nvals()", "offsets_in_rows()",
                 "uniform_row_length()", "is_uniform()", "static_nrows")
    return f"tf.experimental.RowPartition.{made}.{part}"


