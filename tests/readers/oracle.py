"""Converts values to TensorFlow tensors and results to JSON, and compares them with tatter's output."""
import base64
import math

import numpy as np
import tensorflow as tf

# Registers TensorFlow's array functions for structures.
from tensorflow.python.ops.structured import structured_array_ops  # noqa: F401

from draw import Sparse, Structured, Tensor

TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


def to_tensorflow(t):
    """A drawn value as a TensorFlow tensor."""
    if isinstance(t, Sparse):
        rank = len(t.shape)
        return tf.SparseTensor(np.array(t.indices, np.int64).reshape(-1, rank), constant(t.values, t.dtype, [len(t.values)]), t.shape)
    if isinstance(t, Structured):
        return structures(t.fields, t.dims, t.value)
    if None not in t.dims:
        shape, value = [], t.value
        for dim in t.dims:
            shape.append(len(value) if isinstance(value, list) else dim if isinstance(dim, int) else 0)
            value = value[0] if isinstance(value, list) and value else None
        return constant(t.value, t.dtype, shape)
    ragged = max(i for i, d in enumerate(t.dims) if d is None)
    flat, levels = t.value, []
    for axis in range(1, ragged + 1):
        levels.append((t.dims[axis], [len(row) for row in flat]))
        flat = [v for row in flat for v in row]
    values = constant(flat, t.dtype, [len(flat)] + list(t.dims[ragged + 1:]))
    for size, lengths in reversed(levels):
        uniform = isinstance(size, int)
        values = (tf.RaggedTensor.from_uniform_row_length(values, np.int64(size), nrows=np.int64(len(lengths))) if uniform
                  else tf.RaggedTensor.from_row_lengths(values, np.array(lengths, np.int64)))
    return values


def structures(fields, dims, value):
    """Structures with these fields inside axes of these sizes."""
    def column(v, name, depth):
        return [column(i, name, depth - 1) for i in v] if depth else v[name]
    made = {}
    for name, (kind, own) in fields.items():
        values, axes = column(value, name, len(dims)), dims + own
        made[name] = structures(kind, axes, values) if isinstance(kind, dict) else to_tensorflow(Tensor(kind, axes, values))
    return tf.experimental.StructuredTensor.from_fields(made, shape=[None] * len(dims))


def constant(value, dtype, shape):
    if dtype == "string":
        return tf.reshape(tf.constant(flattened(value) or [""], tf.string)[: int(np.prod(shape))], shape)
    return tf.constant(np.array(value, dtype=dtype).reshape(shape), dtype)


def flattened(v):
    return [x for i in v for x in flattened(i)] if isinstance(v, list) else [v]


def as_json(v):
    if isinstance(v, dict):
        return {k: as_json(i) for k, i in v.items()}
    if isinstance(v, list):
        return [as_json(i) for i in v]
    if isinstance(v, bytes):
        try:
            return v.decode()
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(v).decode()}
    if isinstance(v, float) and not math.isfinite(v):
        return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return v


def input_json(t):
    if isinstance(t, Sparse):
        return {"indices": t.indices, "values": as_json(t.values), "dense_shape": t.shape}
    return as_json(t.value)


def outputs(result):
    """The results of a call, each tensor in the format of the vectors; None if a result is not a tensor."""
    if isinstance(result, (list, tuple)) and any(isinstance(r, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor, tf.experimental.StructuredTensor, tuple, list)) for r in result):
        parts = [outputs(r) for r in result]
        return None if any(p is None or len(p) != 1 for p in parts) else [p[0] for p in parts]
    if isinstance(result, tf.SparseTensor):
        return [{"kind": "sparse", "dtype": result.dtype.name, "indices": result.indices.numpy().tolist(),
                 "values": as_json(result.values.numpy().tolist()), "dense_shape": result.dense_shape.numpy().tolist()}]
    if isinstance(result, tf.experimental.StructuredTensor):
        return [{"kind": "struct", "value": as_json(plain(result.to_pyval()))}]
    if isinstance(result, tf.RaggedTensor):
        return [{"kind": "ragged", "dtype": result.dtype.name, "shape": result.shape.as_list(), "ragged_rank": result.ragged_rank,
                 "nested_row_splits": [s.numpy().tolist() for s in result.nested_row_splits],
                 "flat_values": as_json(result.flat_values.numpy().tolist()), "value": as_json(result.to_list())}]
    if isinstance(result, tf.Tensor):
        value = result.numpy()
        value = value.tolist() if hasattr(value, "tolist") else value
        return [{"kind": "dense", "dtype": result.dtype.name, "shape": result.shape.as_list(), "value": as_json(value)}]
    if isinstance(result, (bool, int, float)) and not isinstance(result, tf.DType):
        return [{"kind": "pyval", "value": as_json(result)}]
    return None


def plain(v):
    """A nested value with Python's own types as leaves."""
    if isinstance(v, dict):
        return {k: plain(i) for k, i in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(i) for i in v]
    return plain(v.tolist()) if hasattr(v, "tolist") else v


def float_of(v):
    if isinstance(v, str):
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(v)
    return float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else None


def values_differ(want, got, dtype, at="", scale=0.0, absolute=0.0):
    """A description of the first difference between two nested values; None if there is none."""
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return f"{at or 'it'} has {len(got) if isinstance(got, list) else 'no'} items instead of {len(want)}"
        if dtype in TOLERANCE and want and not isinstance(want[0], list):
            finite = [abs(f) for f in map(float_of, want) if f is not None and math.isfinite(f)]
            scale = max(finite, default=0.0)
        return next(filter(None, (values_differ(w, g, dtype, f"{at}[{i}]", scale, absolute) for i, (w, g) in enumerate(zip(want, got)))), None)
    if dtype in TOLERANCE:
        a, b = float_of(want), float_of(got)
        if a is None or b is None:
            return None if want == got else f"{at or 'it'} is {got!r} instead of {want!r}"
        bound = TOLERANCE[dtype] * max(abs(a), 1e-3 * scale) + absolute * TOLERANCE[dtype] / 2e-6 + (1e-44 if dtype == "float32" else 0)
        if a == b or (math.isnan(a) and math.isnan(b)) or (math.isfinite(a) and abs(a - b) <= bound):
            return None
        return f"{at or 'it'} is {got!r} instead of {want!r}"
    if isinstance(want, dict) and isinstance(got, dict) and dtype == "struct":
        if set(want) != set(got):
            return f"{at or 'it'} has the fields {sorted(got)} instead of {sorted(want)}"
        return next(filter(None, (values_differ(want[k], got[k], dtype, f"{at}.{k}") for k in want)), None)
    if dtype == "struct" and float_of(want) is not None and float_of(got) is not None and isinstance(want, float):
        return values_differ(want, got, "float32", at)
    same = type(want) is type(got) and want == got
    if isinstance(got, dict) or isinstance(want, dict):
        same = want == got
    return None if same else f"{at or 'it'} is {got!r} instead of {want!r}"


def output_differs(t, got, absolute=0.0):
    if t["kind"] == "sparse":
        if not isinstance(got, dict) or set(got) != {"indices", "values", "dense_shape"}:
            return "it is not a sparse tensor"
        return (values_differ(t["dense_shape"], got["dense_shape"], "int64", "dense_shape")
                or values_differ(t["indices"], got["indices"], "int64", "indices")
                or values_differ(t["values"], got["values"], t["dtype"], "values"))
    if t["kind"] == "pyval":
        return values_differ(t["value"], got, "float64" if isinstance(t["value"], float) else "")
    if t["kind"] == "struct":
        return values_differ(t["value"], got, "struct")
    return values_differ(t["value"], got, t["dtype"], absolute=absolute)


def sizes(value, axis):
    return {len(value)} if axis == 0 else set().union(*(sizes(v, axis - 1) for v in value))


def type_differs(t, got):
    """Compares the entry of a field in `schema --as json` with a result."""
    if t["kind"] == "pyval":
        return None
    kind = t["kind"] if t["kind"] in ("sparse", "struct") else "tensor"
    if got.get("kind") != kind:
        return f"kind is {got.get('kind')} instead of {kind}"
    if kind == "struct":
        return None
    shape = t["dense_shape"] if kind == "sparse" else t["shape"]
    if len(got["shape"]) != len(shape):
        return f"shape is {got['shape']} instead of {shape}"
    if got.get("dtype") != t["dtype"] and (t["dtype"], got.get("dtype")) != ("string", "bytes"):
        return f"dtype is {got.get('dtype')} instead of {t['dtype']}"
    ragged = got.get("ragged", [False] * len(shape))
    for i, (w, g, r) in enumerate(zip(shape, got["shape"], ragged)):
        if r and w is not None and (t["kind"] == "dense" or i == 0 or i > t["ragged_rank"]):
            return f"axis {i} is ragged instead of uniform"
        if g is not None and w is not None and g != w:
            return f"axis {i} has size {g} instead of {w}"
        if kind == "tensor" and w is None and not r and i > 0:
            found = sizes(t["value"], i)
            if len(found) > 1 or (g is not None and found - {g}):
                return f"axis {i} is uniform; its sizes are {sorted(found)}"
    return None
