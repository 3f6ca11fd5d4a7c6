"""TensorFlow's side of a call: values as its tensors, its results as JSON, and the comparison with what tatter prints."""
import base64
import math

import numpy as np
import tensorflow as tf

from draw import Sparse

TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}


def to_tensorflow(t):
    """A drawn value as a tensor of TensorFlow."""
    if isinstance(t, Sparse):
        rank = len(t.shape)
        return tf.SparseTensor(np.array(t.indices, np.int64).reshape(-1, rank), constant(t.values, t.dtype, [len(t.values)]), t.shape)
    if None not in t.dims:
        shape, value = [], t.value
        for dim in t.dims:
            shape.append(len(value) if isinstance(value, list) else dim if isinstance(dim, int) else 0)
            value = value[0] if isinstance(value, list) and value else None
        return constant(t.value, t.dtype, shape)
    ragged = max(i for i, d in enumerate(t.dims) if d is None)
    flat, splits = t.value, []
    for _ in range(ragged):
        splits.append(np.concatenate([[0], np.cumsum([len(row) for row in flat])]).astype(np.int64))
        flat = [v for row in flat for v in row]
    values = constant(flat, t.dtype, [len(flat)] + list(t.dims[ragged + 1:]))
    return tf.RaggedTensor.from_nested_row_splits(values, splits)


def constant(value, dtype, shape):
    if dtype == "string":
        return tf.reshape(tf.constant(flattened(value) or [""], tf.string)[: int(np.prod(shape))], shape)
    return tf.constant(np.array(value, dtype=dtype).reshape(shape), dtype)


def flattened(v):
    return [x for i in v for x in flattened(i)] if isinstance(v, list) else [v]


def as_json(v):
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
    """What a call gave, each tensor in the form of the vectors; None: something that is no tensor."""
    if isinstance(result, (list, tuple)) and any(isinstance(r, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor, tuple, list)) for r in result):
        parts = [outputs(r) for r in result]
        return None if any(p is None or len(p) != 1 for p in parts) else [p[0] for p in parts]
    if isinstance(result, tf.SparseTensor):
        return [{"kind": "sparse", "dtype": result.dtype.name, "indices": result.indices.numpy().tolist(),
                 "values": as_json(result.values.numpy().tolist()), "dense_shape": result.dense_shape.numpy().tolist()}]
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


def float_of(v):
    if isinstance(v, str):
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(v)
    return float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else None


def values_differ(want, got, dtype, at="", scale=0.0, absolute=0.0):
    """What differs between two nested values, in words; None if nothing does."""
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
    return values_differ(t["value"], got, t["dtype"], absolute=absolute)


def sizes(value, axis):
    return {len(value)} if axis == 0 else set().union(*(sizes(v, axis - 1) for v in value))


def type_differs(t, got):
    """The entry of a field in `schema --as json` against a result."""
    if t["kind"] == "pyval":
        return None
    kind = "sparse" if t["kind"] == "sparse" else "tensor"
    if got.get("kind") != kind:
        return f"kind is {got.get('kind')} instead of {kind}"
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
