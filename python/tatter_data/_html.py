"""Records as an HTML table."""

from __future__ import annotations

import html
from typing import Any

import pyarrow as pa

#: Maximum number of characters shown of a value.
_WIDTH = 80


def table(schema: pa.Schema, head: pa.Table) -> str:
    """The names and types of the fields above the first records.

    >>> print(table(pa.schema({"x": pa.list_(pa.int64())}), pa.table({"x": [[1, 2]]})))
    <table><thead><tr><th>x<br><small>list&lt;item: int64&gt;</small></th></tr></thead><tbody><tr><td>[1, 2]</td></tr></tbody></table>
    """
    heads = "".join(f"<th>{html.escape(field.name)}<br><small>{html.escape(str(field.type))}</small></th>" for field in schema)
    rows = "".join("<tr>" + "".join(f"<td>{_cell(column[row])}</td>" for column in head.columns) + "</tr>" for row in range(head.num_rows))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(scalar: pa.Scalar) -> str:
    try:
        value: Any = scalar.as_py()
    except (OverflowError, ValueError):  # A time that Python's types do not hold.
        value = str(scalar.value) if hasattr(scalar, "value") else str(scalar.type)
    text = value if isinstance(value, str) else repr(value)
    return html.escape(text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…")
