"""Shared by the tests: files to read, and the processes that a test has started."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

INPUTS = Path(__file__).resolve().parents[2] / "fixtures" / "inputs"


@pytest.fixture
def docs():
    """Nested documents as JSON lines."""
    return str(INPUTS / "docs.jsonl")


@pytest.fixture
def lines(tmp_path):
    """Writes records as a file of JSON lines and returns its name."""

    def write(name, records):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return str(path)

    return write


def children():
    """The `tatter` processes among the descendants of this process."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()]
    mine, grown = {os.getpid()}, True
    while grown:
        new = {int(pid) for pid, parent, _ in rows if int(parent) in mine} - mine
        mine |= new
        grown = bool(new)
    return [int(pid) for pid, _, name in rows if int(pid) in mine and name.strip() == "tatter"]


@pytest.fixture
def no_process_left():
    """Fails a test that leaves a process running."""
    assert not children()
    yield
    deadline = time.monotonic() + 10
    while children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not children()
