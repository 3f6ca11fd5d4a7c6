"""Calls of calls: the result of one function is the argument of the next."""
import math
import re

import numpy as np
import oracle
import tensorflow as tf

from draw import ALL, COMMON, FLOATS, INTEGERS, NUMBERS, written
from registry import call

NAMES = {"tf": tf, "math": math}
# Beyond these, TensorFlow's results depend on how its loops are vectorized.
MOST_VALUES = 300


class Step:
    """The value of an expression, in TensorFlow, for the first record."""

    def __init__(self, d, text):
        tensors = {n: oracle.to_tensorflow(v[0]) for n, v in d.inputs.items()}
        self.text, self.value = f"({text})" if re.search(r" [^a-z(\[]* ", text) else text, eval(text, dict(NAMES), tensors)
        value = self.value
        self.kind = {tf.RaggedTensor: "ragged", tf.SparseTensor: "sparse"}.get(type(value), "dense")
        if not isinstance(value, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
            raise TypeError("no tensor")
        self.dtype, self.rank = value.dtype.name, value.shape.rank
        self.n = int(tf.size(value.values if self.kind == "sparse" else value))
        self.outer = int(value.nrows() if self.kind == "ragged" else value.shape[0]) if self.rank else 1

    @property
    def dims(self):
        return list(self.value.shape)

    @property
    def ragged_rank(self):
        return self.value.ragged_rank if self.kind == "ragged" else 0


def quoted(text):
    return '"' + text + '"'


def literal(d, dtype, low=0, high=5):
    return d.literal(dtype, low=low, high=high) if dtype not in ("bool", "string") else d.literal(dtype)


def like(d, s):
    """Another operand for a tensor: itself, its own functions, or a scalar."""
    x = s.text
    return d.one(x, x, f"tf.zeros_like({x})", f"tf.ones_like({x})" if s.dtype != "string" else x, f"tf.constant({literal(d, s.dtype)}, tf.{s.dtype})")


def elementwise(d, s):
    x = s.text
    number, real, whole = s.dtype in NUMBERS, s.dtype.startswith("float"), s.dtype in INTEGERS
    if s.dtype == "string":
        return d.one(f"tf.strings.upper({x})", f"tf.strings.length({x})", f"tf.strings.length({x}, unit='UTF8_CHAR')", f"tf.strings.substr({x}, 0, {d.int(0, 3)})", f"tf.strings.strip({x})",
                     f'tf.strings.regex_replace({x}, "[aeiou]", "_")', f'tf.strings.join([{x}, "-", {x}])', f"tf.strings.to_hash_bucket_fast({x}, 97)", f"tf.strings.split({x})",
                     f"tf.strings.bytes_split({x})", f'tf.strings.unicode_decode({x}, "UTF-8")', f'{x} == "a"', f'{x} + "!"', f"tf.strings.reduce_join({x}, axis=-1, separator=',')",
                     f'tf.strings.unicode_split({x}, "UTF-8")', f'tf.strings.regex_full_match({x}, "a.*")', f'tf.strings.split({x}, sep=",")', f"tf.strings.ngrams({x}, 2)")
    if s.dtype == "bool":
        return d.one(f"~{x}", f"tf.cast({x}, tf.{d.some(NUMBERS)})", f"tf.reduce_any({x}, axis={d.axes(s.rank)})", f"tf.where({x}, 1, 0)", f"{x} & {like(d, s)}", f"tf.where({x})",
                     f"tf.reduce_all({x}, axis={d.axes(s.rank)})", f"tf.math.logical_xor({x}, {like(d, s)})", f"tf.strings.as_string({x})")
    options = [f"{x} + {like(d, s)}", f"{x} * {like(d, s)}", f"{x} - {like(d, s)}", f"tf.maximum({x}, {like(d, s)})", f"{x} > {like(d, s)}", f"tf.cast({x}, tf.{d.one('bool', 'int32', 'float32', 'int64', 'float64')})",
               f"tf.abs({x})", f"tf.square({x})", f"tf.sign({x})", f"tf.where({x} > {literal(d, s.dtype)}, {x}, {like(d, s)})", f"tf.strings.as_string({x})", f"tf.clip_by_value({x}, {literal(d, s.dtype)}, {literal(d, s.dtype, 5, 9)})",
               f"{x} / {like(d, s)}", f"tf.equal({x}, {like(d, s)})", f"tf.nn.relu({x})", f"{x} // 2", f"{x} % 3", f"2 * {x}", f"1 - {x}", f"{x} ** 2", f"{literal(d, s.dtype)} < {x}"]
    if real:
        options += [f"tf.exp({x})", f"tf.sqrt({x})", f"tf.nn.softmax({x})", f"tf.floor({x})", f"tf.math.is_nan({x})", f"tf.math.log1p(tf.abs({x}))", f"tf.sigmoid({x})", f"tf.round({x})", f"tf.nn.log_softmax({x})",
                    f"tf.math.divide_no_nan({x}, {like(d, s)})", f"tf.math.l2_normalize({x}, axis=-1)", f"tf.reduce_logsumexp({x}, axis={d.axes(s.rank)})"]
    if whole:
        options += [f"tf.one_hot({x}, {d.int(1, 4)})", f"tf.strings.as_string({x})", f"tf.bitwise.bitwise_and({x}, {like(d, s)})", f"tf.math.bincount({x})", f"tf.math.bincount({x}, axis=-1)" if 0 < s.rank < 3 else x, f"tf.gather(tf.constant([10, 20, 30, 40]), {x} % 4)"]
    assert number
    return d.one(*options)


def reduction(d, s):
    keep = d.one("", "", ", keepdims=True")
    if s.dtype not in NUMBERS:
        return elementwise(d, s)
    return f"tf.{d.one('reduce_sum', 'reduce_max', 'reduce_min', 'reduce_mean', 'reduce_prod', 'math.reduce_std', 'math.count_nonzero')}({s.text}, axis={d.axes(s.rank)}{keep})"


def shaped(d, s):
    x, rank = s.text, s.rank
    options = [f"tf.expand_dims({x}, {d.int(-rank - 1, rank)})", f"tf.size({x})", f"tf.rank({x})", f"tf.zeros_like({x})", f"tf.stack([{x}, {x}], axis={d.int(-rank - 1, rank)})"]
    if rank:
        a = d.int(-rank, rank - 1)
        key = d.one("1:", ":-1", "::-1", "::2", ":2", "tf.newaxis", "..., :1", "..., tf.newaxis", ":, 1:", ":, :2", "0:0", "-1:", "0", "-1", "::-2", "..., ::-1", "..., 0")
        options += [f"({x})[{key}]", f"({x})[{key}]", f"tf.reverse({x}, [{a}])", f"tf.concat([{x}, {x}], axis={a})", f"tf.tile({x}, {[d.int(0, 2) for _ in range(rank)]})", f"tf.repeat({x}, {d.int(0, 2)}, axis={a})",
                    f"tf.gather({x}, {[d.int(0, max(s.outer - 1, 0)) for _ in range(d.int(0, 3)) if s.outer] or 'tf.constant([], tf.int32)'})", f"tf.squeeze({x}, axis={a})", f"tf.concat([{x}, tf.zeros_like({x})], {a})",
                    f"tf.split({x}, {[s.outer]}, axis=0)[0]"]
        if s.dtype in NUMBERS:
            options += [f"tf.math.cumsum({x}, axis={a})", f"tf.math.segment_sum({x}, {sorted(d.int(0, 2) for _ in range(s.outer))})", f"tf.math.unsorted_segment_sum({x}, {[d.int(0, 2) for _ in range(s.outer)]}, 3)"]
        options += [f"tf.dynamic_partition({x}, {[d.int(0, 1) for _ in range(s.outer)]}, 2)[{d.int(0, 1)}]"] if s.outer else []
        mask = [d.chance(0.6) for _ in range(s.outer)]
        options += [f"tf.ragged.boolean_mask({x}, {mask})"] if mask else []
    if s.kind == "dense":
        options += [f"tf.transpose({x})", f"tf.reshape({x}, [-1])", f"tf.shape({x})", f"tf.reshape({x}, [{d.one(1, 1, -1)}, {d.one(-1, s.n)}])"]
        if rank:
            options += [f"tf.sparse.from_dense({x})"]
        if rank > 1:
            options += [f"tf.RaggedTensor.from_tensor({x}).to_tensor()"]
            if s.dtype != "bool":
                options += [f"tf.RaggedTensor.from_tensor({x}, padding=tf.zeros_like({x})[{', '.join(['0'] * rank)}])"] if s.n else []
        if rank == 1 and s.dtype in NUMBERS:
            options += [f"tf.sort({x})", f"tf.argsort({x}, stable=True)", f"tf.unique({x}).y", f"tf.unique_with_counts({x}).count"]
        if rank and s.dtype in NUMBERS:
            options += [f"tf.argmax({x}, axis=-1)", f"tf.math.top_k({x}, k={d.int(0, 2)}).values", f"tf.roll({x}, 1, 0)", f"tf.pad({x}, {[[d.int(0, 1), d.int(0, 2)] for _ in range(rank)]})", f"tf.sort({x}, direction='DESCENDING')"]
    if s.kind == "ragged":
        options += [f"({x}).to_tensor()", f"({x}).to_tensor()", f"({x}).values", f"({x}).flat_values", f"({x}).row_lengths()", f"({x}).row_splits", f"({x}).value_rowids()", f"({x}).merge_dims({d.int(0, rank - 1)}, {d.int(0, rank - 1)})",
                    f"({x}).row_lengths(axis={d.int(1, s.ragged_rank)})", f"({x}).bounding_shape()", f"({x}).merge_dims(0, 1)", f"({x}).nested_row_splits[0]", f"({x}).row_starts()", f"({x}).nrows()"]
        options += [f"({x}).to_sparse()", f"({x}).with_values(tf.reverse(({x}).values, [0]))", f"tf.RaggedTensor.from_row_splits(({x}).values, ({x}).row_splits)", f"tf.ragged.stack([{x}, {x}])"]
    return d.one(*options)


def of_sparse(d, s):
    x, rank = s.text, s.rank
    options = [f"tf.sparse.to_dense({x})", f"tf.sparse.to_dense({x})", f"({x}).values", f"({x}).indices", f"({x}).dense_shape", f"tf.sparse.reorder({x})", f"tf.sparse.transpose({x})", f"tf.sparse.expand_dims({x}, {d.int(-rank - 1, rank)})",
               f"tf.sparse.concat({d.int(-rank, rank - 1)}, [{x}, {x}])", f"tf.sparse.reshape({x}, [-1])", f"tf.sparse.reset_shape({x})", f"tf.sparse.slice({x}, {[d.int(0, 1) for _ in range(rank)]}, {[d.int(0, 3) for _ in range(rank)]})",
               f"tf.sparse.retain({x}, ({x}).values == ({x}).values)", f"tf.sparse.split({x}, 2, axis={d.int(0, rank - 1)})[{d.int(0, 1)}]"]
    if rank == 2:
        options += [f"tf.RaggedTensor.from_sparse({x})", f"tf.sparse.fill_empty_rows({x}, {literal(d, s.dtype)})[{d.int(0, 1)}]"]
    if s.dtype in COMMON:
        options += [f"tf.sparse.reduce_sum({x}, axis={d.axes(rank)})", f"tf.sparse.reduce_max({x}, axis={d.axes(rank)}, keepdims=True)", f"tf.sparse.add({x}, {x})", f"{x} * 2", f"tf.sparse.maximum({x}, {x})", f"tf.sparse.softmax({x})", f"tf.abs({x})", f"-{x}",
                    f"tf.sparse.map_values(tf.square, {x})", f"tf.sparse.sparse_dense_matmul({x}, tf.sparse.to_dense({x}), adjoint_b=True)", f"tf.sparse.to_indicator({x}, 9)"]
    return d.one(*options)


def chained(d, length):
    x = d.sparse(COMMON + ["string"]) if d.chance(0.12) else d.tensor(ALL, 0, 3)
    s = Step(d, x)
    for _ in range(length):
        for _ in range(20):
            known = dict(d.inputs), dict(d.types)
            make = of_sparse if s.kind == "sparse" else d.one(elementwise, elementwise, reduction, shaped, shaped, shaped)
            try:
                following = Step(d, make(d, s))
            except Exception:  # any exception of TensorFlow: try another function
                d.inputs, d.types = known
                continue
            if following.n <= MOST_VALUES and len(following.text) < 700:
                s = following
                break
    return s.text


@call("chain", 12)
def _(d):
    return chained(d, d.int(2, 4))


@call("chain, last call of any kind", 3)
def _(d):
    # The last call may fail.
    text = chained(d, d.int(1, 2))
    s = Step(d, text)
    return (of_sparse if s.kind == "sparse" else d.one(elementwise, reduction, shaped))(d, s)
