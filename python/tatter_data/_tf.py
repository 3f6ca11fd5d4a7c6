"""Arrow columns as TensorFlow tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow as tf

from ._tensors import Column, SparseColumn, columns, dropping, is_text, remedy


def to_tf(data: pa.Table | pa.RecordBatch) -> dict[str, Any]:
    """The fields as tf.Tensor, tf.RaggedTensor and tf.SparseTensor, with records along axis 0.

    Raises:
        TypeError: TensorFlow has no dtype for a field, such as a date.
        ValueError: A field has nulls, or two fields have the same path.
    """
    return {column.path: _tensor(column) for column in columns(data)}


def _tensor(column: Column | SparseColumn) -> Any:
    if isinstance(column, SparseColumn):
        sparse = column.sparse()
        return tf.SparseTensor(sparse.indices, _dense(column.names, sparse.values, column.type), sparse.dense_shape)
    tensor = _dense(column.names, column.numpy(), column.type)
    # The number of rows of each axis, which cannot be inferred from a uniform axis without values.
    rows = [column.nrows]
    for axis in column.ragged_axes:
        rows.append(rows[-1] * axis if isinstance(axis, int) else int(axis[-1]))
    for axis, nrows in zip(reversed(column.ragged_axes), reversed(rows[:-1])):
        if isinstance(axis, int):
            tensor = tf.RaggedTensor.from_uniform_row_length(tensor, axis, nrows=nrows, validate=False)
        else:
            tensor = tf.RaggedTensor.from_row_splits(tensor, axis, validate=False)
    return tensor


def _dense(names: tuple[str, ...], values: np.ndarray, kind: pa.DataType) -> Any:
    if is_text(kind):
        # The type of strings cannot be inferred from an empty array.
        return tf.constant(values, dtype=tf.string, shape=values.shape)
    if pa.types.is_null(kind):
        return tf.zeros(values.shape, tf.string)
    if values.dtype.kind in "OmM":
        raise TypeError(f"TensorFlow has no dtype for the field {'.'.join(names)}: {kind}; {remedy(names, kind)}")
    return tf.convert_to_tensor(values)


def dataset(schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> Any:
    """A tf.data.Dataset with one element per record, read again in each epoch. The tensor of a record is dense if its type has no
    ragged axis, as after ``padded-batch``.

    Raises:
        TypeError, ValueError: As `to_tf`; ValueError also for an axis of size 0 in all records.
    """

    def generate() -> Iterator[dict[str, Any]]:
        for batch in batches():
            yield {column.path: _element(column) for column in columns(batch)}

    # Not `schema.empty_table()`, which cannot make every extension type.
    leaves = list(columns(pa.Table.from_batches([], schema)))
    for column in leaves:
        if isinstance(column, Column) and not column.ragged_axes and 0 in column.inner_shape:
            # unbatch() ends the process if it slices such a tensor.
            what = f"tf.data cannot split batches of the field {column.path}, whose rows have no values"
            raise ValueError(f"{what}; drop it in the chain: {dropping(column.names)}")
    signature = {column.path: _relaxed(tf.nest.map_structure(_spec, _element(column))) for column in leaves}
    dense = frozenset(column.path for column in leaves if isinstance(column, Column) and column.is_dense)
    # TensorFlow slices the elements from the batches, not Python.
    return tf.data.Dataset.from_generator(generate, output_signature=signature).unbatch().map(lambda record: _of_record(record, dense))


def _element(column: Column | SparseColumn) -> Any:
    tensor = _tensor(column)
    if isinstance(column, SparseColumn):
        return {"sparse": tensor, "dense_shape": tf.convert_to_tensor(column.dense_shapes)}
    return tensor


def _of_record(element: dict[str, Any], dense: frozenset[str]) -> dict[str, Any]:
    """Sparse tensors with the dense shape of the record instead of that of the batch, and dense tensors for those fields."""

    def own(path: str, value: Any) -> Any:
        if isinstance(value, dict):
            return tf.SparseTensor(value["sparse"].indices, value["sparse"].values, value["dense_shape"])
        return value.to_tensor() if path in dense and isinstance(value, tf.RaggedTensor) else value

    return {path: own(path, value) for path, value in element.items()}


def _spec(tensor: Any) -> Any:
    return tf.type_spec_from_value(tensor)


def _relaxed(spec: Any) -> Any:
    """The spec with any number of records, and any dense shape."""
    if isinstance(spec, dict):
        return {name: _relaxed(part) for name, part in spec.items()}
    if isinstance(spec, tf.SparseTensorSpec):
        return tf.SparseTensorSpec([None] * spec.shape.rank, spec.dtype)
    shape = [None, *spec.shape.as_list()[1:]]
    if isinstance(spec, tf.RaggedTensorSpec):
        return tf.RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    return tf.TensorSpec(shape, spec.dtype)
