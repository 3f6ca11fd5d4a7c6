"""docs/python.md is correct: its ```python blocks run, and print what the page shows.

The blocks run in sequence in a copy of `fixtures/inputs`. A following ```text block shows what a block prints, its
notices and, as in a notebook, the value of its last line. Blocks that need a library that is not installed are skipped.
TATTER_BLESS=1 rewrites the outputs.
"""

import ast
import contextlib
import io
import os
import re
import shutil
import warnings

import pytest
import tatter_data as td
from conftest import INPUTS

pytestmark = pytest.mark.usefixtures("no_process_left")

PAGE = INPUTS.parents[1] / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)
#: What may be missing: TensorFlow has no wheels for some platforms, and PyTorch is large.
OPTIONAL = ("tensorflow", "torch")


def test_the_page_is_true(tmp_path, monkeypatch):
    shutil.copytree(INPUTS, tmp_path / "inputs")
    monkeypatch.chdir(tmp_path / "inputs")
    names = {}
    page = PAGE.read_text()
    found = BLOCK.sub(lambda block: replay(block, names), page)
    if os.environ.get("TATTER_BLESS"):
        PAGE.write_text(found)
    else:
        assert found.splitlines() == page.splitlines()


def replay(block, names):
    """The block with what it prints now."""
    code = block["code"]
    try:
        printed = run(code, names)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        return block[0]
    return f"```python\n{code}```\n" + (f"\n```text\n{printed}```\n" if printed else "")


def run(code, names):
    """What a notebook would show below a cell."""
    lines = ast.parse(code).body
    last = ast.Expression(lines.pop().value) if isinstance(lines[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("always", td.TatterNotice)
        warnings.showwarning = lambda message, kind, *_: print(f"{kind.__name__}: {message}") if kind is td.TatterNotice else None
        exec(compile(ast.Module(lines, []), "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last else None
        if value is not None:
            print(repr(value))
    return out.getvalue()
