"""Arrow columns as PyTorch tensors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import torch
from torch.utils.data import IterableDataset, get_worker_info

from ._ragged import Ragged
from ._tensors import Column, SparseColumn, columns, remedy

if TYPE_CHECKING:
    from ._records import Records


def to_torch(data: pa.Table | pa.RecordBatch) -> dict[str, Any]:
    """The fields as tensors, with records along axis 0.

    A field with one ragged axis becomes a nested tensor in the jagged layout, a field with several a `Ragged` of
    tensors, and a sparse field a sparse COO tensor. Strings are lists of str (`bytes` for binary), flat in a `Ragged`.
    """
    return {column.path: _tensor(column) for column in columns(data)}


def _tensor(column: Column | SparseColumn) -> Any:
    if isinstance(column, SparseColumn):
        sparse = column.sparse()
        return _coo(sparse.indices, _values(column, sparse.values), sparse.dense_shape)
    values = _values(column, column.numpy())
    if not column.ragged_axes:
        return values
    return _ragged(values, tuple(torch.from_numpy(splits) for splits in column.row_splits()))


def _ragged(values: Any, splits: tuple[Any, ...]) -> Any:
    if len(splits) == 1 and isinstance(values, torch.Tensor):
        return torch.nested.nested_tensor_from_jagged(values, offsets=splits[0])
    return Ragged(values, splits)


def _values(column: Column | SparseColumn, array: np.ndarray) -> Any:
    if array.dtype == object:
        return array.tolist()
    if not array.flags.writeable:
        array = np.asarray(_Unlocked(array))
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        what = f"PyTorch has no dtype for the field {column.path}: {column.type}"
        raise TypeError(f"{what}; {remedy(column.names, column.type)}") from error


class _Unlocked:
    """An array shared with Arrow, marked writable because PyTorch has no read-only tensors."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _coo(indices: np.ndarray, values: Any, shape: np.ndarray) -> Any:
    if isinstance(values, list):
        raise TypeError("PyTorch has no sparse tensors of strings; convert them in the chain: from-sparse")
    return torch.sparse_coo_tensor(torch.from_numpy(indices.T.copy()), values, tuple(int(size) for size in shape), check_invariants=False)


def records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The records of a batch one by one, as views of the batch's tensors."""
    getters = [(column.path, _getter(column)) for column in columns(batch)]
    for row in range(batch.num_rows):
        yield {path: get(row) for path, get in getters}


def _getter(column: Column | SparseColumn) -> Any:
    if isinstance(column, SparseColumn):
        sparse = column.sparse()
        values = _values(column, sparse.values)
        splits = column.row_splits

        def cut(row: int) -> Any:
            a, b = splits[row], splits[row + 1]
            return _coo(column.indices[a:b], values[a:b], column.dense_shapes[row])

        return cut
    values = _values(column, column.numpy())
    if not column.ragged_axes:
        return values.__getitem__
    first, *inner = column.row_splits()
    if not inner:
        return lambda row: values[first[row] : first[row + 1]]
    whole = Ragged(values, (first, *inner))

    def row_of(row: int) -> Any:
        part = whole[row]
        if column.is_dense and isinstance(values, torch.Tensor):
            return part.values.reshape(_sizes(part.row_splits) + part.values.shape[1:])
        return _ragged(part.values, tuple(torch.from_numpy(splits) for splits in part.row_splits))

    return row_of


def _sizes(row_splits: tuple[np.ndarray, ...]) -> tuple[int, ...]:
    """The sizes of axes whose rows have one length each; an axis without rows has size 0."""
    lengths = (int(splits[1] - splits[0]) if len(splits) > 1 else 0 for splits in row_splits)
    return (len(row_splits[0]) - 1, *lengths)


class TatterDataset(IterableDataset):  # type: ignore[type-arg]
    """The records as an iterable dataset, with one dictionary of tensors per record.

    A vector is a tensor, and so is a matrix, unless its rows are ragged: then it is a nested tensor; strings are str and lists of str. Records are
    divided among the ranks of a distributed job and the workers of a DataLoader: with ``shard="record"`` each takes
    every Nth record of the input, before the chain (of the combined inputs, if it begins with a verb such as ``mix``); with
    ``shard="file"`` every Nth file; with None everything.

    Each iteration starts over, except for the first one after ``load_state_dict``, which resumes after the records that had
    been delivered at the time of ``state_dict``. Both apply to the process that iterates: with workers, let torchdata's
    StatefulDataLoader call them.
    """

    def __init__(
        self,
        records: Records,
        shard: Literal["record", "file"] | None = "record",
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        super().__init__()
        self._records = records
        self._shard = shard
        # DataLoader workers do not know the distributed job, so it is queried here.
        self._rank, self._world_size = _ranks() if rank is None or world_size is None else (rank, world_size)
        self._epoch: int | None = None
        #: The records delivered by the iteration that was started, or delivered a record, last.
        self._delivered = 0
        self._resumes = False

    def set_epoch(self, epoch: int) -> None:
        """Changes the order in each epoch, if the chain shuffles without a ``--seed`` of its own: the seed becomes seed + epoch."""
        self._epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """The progress of this process."""
        return {"records": self._delivered, "epoch": self._epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iteration resume after the records already delivered."""
        self._delivered = int(state["records"])
        self._epoch = state["epoch"]
        self._resumes = True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # Not a generator: state_dict before the first record is that of this iteration.
        if not self._resumes:
            self._delivered = 0
        self._resumes = False
        return self._after(self._delivered)

    def _after(self, delivered: int) -> Iterator[dict[str, Any]]:
        worker = get_worker_info()
        workers, number = (worker.num_workers, worker.id) if worker else (1, 0)
        part = self._records.shard(self._rank * workers + number, self._world_size * workers, self._shard)
        if self._epoch is not None:
            part = part.with_seed(self._epoch)
        if delivered:
            part = part.then(["skip", str(delivered)])
        for batch in part:
            for record in records(batch):
                delivered += 1
                self._delivered = delivered
                yield record
        self._delivered = 0


def _ranks() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
