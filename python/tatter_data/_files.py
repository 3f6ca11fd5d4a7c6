"""Local and remote files, by name, glob or folder."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

from pyarrow import fs

from . import _splits
from ._child import Feed

#: Bytes copied from a file to the program at a time.
_BLOCK = 1 << 20
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class File:
    """An existing file: its name for messages, its path in its file system, and its size."""

    name: str
    path: str
    size: int

    @property
    def is_local(self) -> bool:
        """Whether the program can open it by its name."""
        return "://" not in self.name


def open_system(name: str) -> tuple[Any, str]:
    """The file system of a name and the path in it: a local path, or a URL that PyArrow or fsspec knows."""
    scheme, mark, _ = name.partition("://")
    if not mark:
        return fs.LocalFileSystem(), os.path.abspath(name)
    if scheme == "file":
        return fs.LocalFileSystem(), name[len("file://") :]
    try:
        return fs.FileSystem.from_uri(name)
    except (ValueError, NotImplementedError):
        import fsspec

        system, path = fsspec.core.url_to_fs(name)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def find(names: Iterable[str]) -> list[File]:
    """The files for names, globs and folders, sorted within each; hidden files (``_x``, ``.x``) are skipped.

    Raises:
        FileNotFoundError: No file matches a name.
    """
    files: list[File] = []
    for name in names:
        found = sorted(_one(name), key=lambda file: file.path)
        if not found:
            raise FileNotFoundError(f"{name}: no such file, or no file in it")
        files += found
    return files


def _one(name: str) -> list[File]:
    system, path = open_system(name)
    scheme = name.partition("://")[0] + "://" if "://" in name and not name.startswith("file://") else ""
    if _GLOB.search(path):
        parts = path.split("/")
        fixed = next(i for i, part in enumerate(parts) if _GLOB.search(part))
        base = "/".join(parts[:fixed]) or "/"
        selector = fs.FileSelector(base, recursive=len(parts) - fixed > 1, allow_not_found=True)
        infos = [info for info in system.get_file_info(selector) if _matches(info.path.split("/"), parts)]
    else:
        info = system.get_file_info(path)
        if info.type == fs.FileType.Directory:
            infos = [i for i in system.get_file_info(fs.FileSelector(path, recursive=True)) if not _hidden(i.path[len(path) :])]
        else:
            infos = [info]
    return [File(scheme + info.path, info.path, info.size) for info in infos if info.type == fs.FileType.File]


def _matches(path: list[str], pattern: list[str]) -> bool:
    pairs = zip(path, pattern)
    return len(path) == len(pattern) and all(fnmatch.fnmatchcase(a, b) for a, b in pairs) and not _hidden("/" + path[-1])


def _hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/") if part)


def with_records(files: list[File]) -> list[File]:
    """The nonempty files, or all files if all are empty, so that the program reports the error."""
    return [file for file in files if file.size] or files


def input_words(file: File, range: tuple[int, int] | None = None) -> tuple[list[str], Feed | None]:
    """The arguments that name a file to the program, and a feed if it cannot open the file by name.

    `range` is a byte range of a TFRecord file and selects the records that start in it.
    """
    if file.is_local and range is None:
        return ["--", file.name], None

    def feed(pipe: IO[bytes]) -> None:
        system, path = open_system(file.name)
        with system.open_input_file(path) as source:
            start, end = (_splits.next_record(source, offset, file.size) for offset in range) if range else (0, file.size)
            source.seek(start)
            while start < end:
                block = source.read(min(_BLOCK, end - start))
                if not block:
                    raise EOFError(f"{file.name}: ends at byte {start}, but had {file.size} bytes")
                pipe.write(block)
                start += len(block)

    return ["-"], feed
