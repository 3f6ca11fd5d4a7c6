"""Ragged and sparse tensors as their components."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: The metadata key for properties of a field that its Arrow type cannot express, such as that it is sparse.
NOTE = b"tatter:type"


@dataclass(frozen=True, eq=False)
class Ragged:
    """A ragged tensor: flat values and one array of row splits for each ragged axis, outermost first.

    Row `i` of the outermost axis spans ``row_splits[0][i]`` to ``row_splits[0][i + 1]``. ``values`` is a
    NumPy array or a PyTorch tensor (a list for strings); its axes after the first are uniform.

    >>> import numpy as np
    >>> x = Ragged(np.array([1, 2, 3]), (np.array([0, 2, 2, 3]),))
    >>> len(x), x[0].tolist(), x.tolist(), x[1:].tolist()
    (3, [1, 2], [[1, 2], [], [3]], [[], [3]])
    """

    values: Any
    row_splits: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.row_splits[0]) - 1

    def __getitem__(self, row: Any) -> Any:
        """A row, or the rows of a slice of step 1."""
        if isinstance(row, slice):
            start, end, step = row.indices(len(self))
            if step != 1:
                raise ValueError(f"a slice of rows must have step 1, found {step}")
            return self._rows(start, max(start, end))
        try:
            row = operator.index(row)
        except TypeError:
            raise TypeError(f"a row must be an integer or a slice, found {type(row).__name__}; to select several rows: [x[row] for row in rows]") from None
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a tensor of {len(self)} rows")
        row %= len(self)
        rows = self._rows(row, row + 1)
        return Ragged(rows.values, rows.row_splits[1:]) if rows.row_splits[1:] else rows.values

    def _rows(self, start: int, end: int) -> Ragged:
        parts = []
        for splits in self.row_splits:
            part = splits[start : end + 1]
            start, end = int(part[0]), int(part[-1])
            parts.append(part - start)
        return Ragged(self.values[start:end], tuple(parts))

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def tolist(self) -> list[Any]:
        """The rows as nested lists."""
        return [row if isinstance(row, list) else row.tolist() for row in self]


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse tensor of all records: ``indices`` of shape [count, rank] (record first), ``values``, ``dense_shape``.

    ``dense_shapes`` has the shape of each record, which can be smaller than in ``dense_shape``.
    """

    indices: Any
    values: Any
    dense_shape: Any
    dense_shapes: Any
