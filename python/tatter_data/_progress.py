"""The progress of a long read: a line in a notebook or a terminal, shown after the first second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import pyarrow as pa

_AFTER = 1.0
_EVERY = 0.3


class Progress:
    """Counts records and bytes and shows them. `wanted`: None shows it only in notebooks."""

    def __init__(self, wanted: bool | None) -> None:
        self._notebook = _in_notebook()
        self._on = self._notebook if wanted is None else wanted
        self._started = self._shown = time.monotonic()
        self._display: Any = None
        self._printed = False
        self._records = 0
        self._bytes = 0

    def __enter__(self) -> Progress:
        return self

    def add(self, batch: pa.RecordBatch) -> None:
        """Counts a batch."""
        if not self._on:
            return
        self._records += batch.num_rows
        self._bytes += batch.nbytes
        now = time.monotonic()
        if now - self._started >= _AFTER and now - self._shown >= _EVERY:
            self._shown = now
            self._show(now)

    def _show(self, now: float) -> None:
        seconds = now - self._started
        text = f"{self._records:,} records, {self._bytes / 2**20:,.0f} MiB, {self._bytes / 2**20 / seconds:,.0f} MiB/s"
        if not self._notebook:
            self._printed = True
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            return
        from IPython.display import Pretty, display

        if self._display is None:
            self._display = display(Pretty(text), display_id=True)
        else:
            self._display.update(Pretty(text))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._printed:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        elif self._display is not None:
            self._show(time.monotonic())


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
