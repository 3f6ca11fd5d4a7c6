"""Ragged and sparse tensors as their components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ragged:
    """A ragged tensor: flat values and one array of row splits for each ragged axis, outermost first.

    Row `i` of the outermost axis spans ``row_splits[0][i]`` to ``row_splits[0][i + 1]``. ``values`` is a
    NumPy array or a PyTorch tensor (a list for strings); its axes after the first are uniform.

    >>> import numpy as np
    >>> x = Ragged(np.array([1, 2, 3]), (np.array([0, 2, 2, 3]),))
    >>> len(x), x[0].tolist(), x.tolist()
    (3, [1, 2], [[1, 2], [], [3]])
    """

    values: Any
    row_splits: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.row_splits[0]) - 1

    def __getitem__(self, row: int) -> Any:
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        row %= len(self)
        splits = self.row_splits[0]
        start, end = int(splits[row]), int(splits[row + 1])
        inner = []
        for splits in self.row_splits[1:]:
            part = splits[start : end + 1]
            start, end = int(part[0]), int(part[-1])
            inner.append(part - start)
        values = self.values[start:end]
        return Ragged(values, tuple(inner)) if inner else values

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def tolist(self) -> list[Any]:
        """The rows as nested lists."""
        return [row if isinstance(row, list) else row.tolist() for row in self]


@dataclass(frozen=True)
class Sparse:
    """A sparse tensor of all records: ``indices`` of shape [count, rank] (record first), ``values``, ``dense_shape``.

    ``dense_shapes`` has the shape of each record, which can be smaller than in ``dense_shape``.
    """

    indices: Any
    values: Any
    dense_shape: Any
    dense_shapes: Any
