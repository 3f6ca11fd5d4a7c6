"""Finds the program `tatter`."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

#: The environment variable with the path of the program, which takes precedence.
VARIABLE = "TATTER_BIN"


def find_tatter() -> str:
    """Returns the path of the program.

    The first of these that exists: the file named by the environment variable ``TATTER_BIN``; the
    program in the scripts folder of this environment or of the base interpreter, or next to the package if it
    was installed with ``pip install --prefix`` or ``--target``; the scripts folder of the user scheme; the
    search path.

    Raises:
        FileNotFoundError: The program is in none of these places.

    >>> os.access(find_tatter(), os.X_OK)
    True
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isfile(named):
            raise FileNotFoundError(f"{VARIABLE} names {named}, which is not a file")
        return named
    name = "tatter" + (sysconfig.get_config_var("EXE") or "")
    seen = []
    for folder in _folders():
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
        seen.append(folder)
    found = shutil.which("tatter")
    if found:
        return found
    raise FileNotFoundError(
        "the program `tatter` was not found: `pip install tatter-data` installs it, or name it with "
        f"the environment variable {VARIABLE}; looked in {', '.join(seen)} and the search path"
    )


def _folders() -> Iterator[str]:
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    package = Path(__file__).resolve().parent
    # --target TARGET: TARGET/tatter_data and TARGET/bin.
    yield str(package.parent / "bin")
    # --prefix PREFIX: PREFIX/lib/python3.X/site-packages/tatter_data and PREFIX/bin; on Windows
    # PREFIX/Lib/site-packages and PREFIX/Scripts.
    if package.parent.name == "site-packages":
        levels = 2 if os.name == "nt" else 3
        yield str(package.parents[levels] / ("Scripts" if os.name == "nt" else "bin"))
    yield sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))
