"""Local and remote files, by name, glob, shards or directory, found as the program finds them."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from pyarrow import fs

from ._child import Feed, Input
from ._errors import TatterError, warn

#: Bytes copied from a file to the program at a time.
_BLOCK = 1 << 20
_GLOB = re.compile(r"[*?\[]")
#: A part of a glob other than `**`, whose brackets are closed.
_PART = re.compile(r"(?:\[(?:!.|[^!])[^\]]*\]|\*(?!\*)|[^*\[])*", re.DOTALL)
_SHARDS = re.compile(r"(?P<front>[^/]+?)@(?P<count>[0-9]+)(?P<back>(\..*)?)")
_MAX_SHARDS = 99_999
#: What shows that a file is a shard, which may be empty.
_SHARD = re.compile(r"-[0-9]{5}-of-[0-9]{5}[^/]*$")
#: The files of a folder that is a single dataset of the format tfds.
_DATASET = ("features.json", "dataset_info.json")
#: The folders with the logs of tables of Delta Lake and Hudi.
_LOGS = ("_delta_log", ".hoodie")
#: The start of a manifest, as written by `--manifest`, and the number of bytes that hold it.
_MANIFEST = re.compile(rb'\{\n  "records": [0-9]+,\n  "bytes": [0-9]+,\n  "files": \[\n')
_MANIFEST_BYTES = 96
#: The extensions of files that the program reads together with the file of the same name without them.
_INDICES = (".idx", ".offsets")


@dataclass(frozen=True)
class File:
    """An existing file, or a folder that is a single dataset: its name for messages, its path in its file system, and its size.

    `given` is the name by which it was found, which also names the file system.
    """

    name: str
    path: str
    size: int
    given: str
    is_dataset: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the program can open it by its name."""
        return "://" not in self.name

    @contextlib.contextmanager
    def open(self) -> Iterator[Any]:
        """The content, from which any range of bytes can be read."""
        system, _ = open_system(self.given)  # Kept, because that of an archive closes its files.
        with system.open_input_file(self.path) as source:
            yield source


def local_path(name: str) -> str:
    """The path in a file URL, such as that of `pathlib.Path.as_uri`; any other name as it is.

    >>> local_path("file:///tmp/a%20b.jsonl"), local_path("a%20b.jsonl")
    ('/tmp/a b.jsonl', 'a%20b.jsonl')
    """
    host, mark, path = name.removeprefix("file://").partition("/")
    is_local = name.startswith("file://") and mark and host in ("", "localhost")
    return os.fsdecode(unquote_to_bytes(f"/{path}")) if is_local else name


def open_system(name: str) -> tuple[Any, str]:
    """The file system of a name and the path in it: a local path, or a URL that PyArrow or fsspec knows.

    Raises:
        ValueError: This is the file URL of another host.
    """
    name = local_path(name)
    if "://" not in name:
        # Not `abspath`, because `..` after a link is the folder around the link's target.
        return fs.LocalFileSystem(), os.path.join(os.getcwd(), name)
    if name.startswith("file://"):
        raise ValueError(f"{name}: a file URL begins with file:/// and an absolute path")
    try:
        return fs.FileSystem.from_uri(name)
    except (ValueError, NotImplementedError):
        import fsspec

        system, path = fsspec.core.url_to_fs(name)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def find(names: Iterable[str], strict: bool = False, quiet: bool = False) -> list[File]:
    """The files for names, globs, shards (``x@8.tfrecord``) and folders, in the order of the program.

    A glob, in which ``**`` stands for any folders, matches names that begin with ``.`` only where it has that dot. In a
    folder, names that begin with ``.`` or ``_`` are skipped. Issues the program's notices about folders whose names have
    values (``date=2024-01-01``) and about table logs, unless `quiet`.

    Raises:
        FileNotFoundError: No file matches a name, a shard is missing, or a folder has no files.
        TatterError: There is a notice, and `strict`.
    """
    files: list[File] = []
    for name in names:
        system, path = open_system(name)
        is_local = isinstance(system, fs.LocalFileSystem)
        tree: _Local | _Remote = _Local() if is_local else _Remote(system)
        # What comes before the path in a URL, such as its host, without what may come after it.
        start = "" if is_local else name.removesuffix(path) if name.endswith(path) else name.partition("://")[0] + "://"
        found = _found(tree, path, strict, quiet, start) if name else []
        if not found:
            raise FileNotFoundError(f"{name}: no such file")
        files += [File(start + path, path, tree.size(path), name, tree.is_folder(path)) for path in found]
    wanted = set(_without_indices([file.name for file in files]))
    return [file for file in files if file.name in wanted]


def expand(names: Iterable[str], strict: bool = False, quiet: bool = False) -> list[str]:
    """The local files for names, globs, shards and folders, like `find`, except that a name that matches no files is kept.

    Raises:
        TatterError: There is a notice, and `strict`.
    """
    files: list[str] = []
    for name in names:
        try:
            files += _found(_Local(), name, strict, quiet) or [name]
        except FileNotFoundError:
            files.append(name)
    return _without_indices(files)


def _found(tree: _Local | _Remote, path: str, strict: bool, quiet: bool, start: str = "") -> list[str]:
    search = _Search(tree)
    found = search.files(path)
    _tell((start + notice for notice in search.notices), strict, quiet)
    return found


def _tell(notices: Iterable[str], strict: bool, quiet: bool) -> None:
    for notice in notices if not quiet else ():
        if strict:
            raise TatterError(f"{notice}\n  without strict=True, this is only a notice")
        warn(notice)


@dataclass
class _Contents:
    """What is in a folder, at any depth: files, datasets, logs of tables, and the names of other folders."""

    files: list[str] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


@dataclass
class _Search:
    """Finds the files that a path stands for."""

    tree: _Local | _Remote
    #: What the program says about the folders.
    notices: list[str] = field(default_factory=list)

    def files(self, path: str) -> list[str]:
        """The files for a name, glob, shards or folder; empty if there are none.

        Raises:
            FileNotFoundError: A shard is missing, a folder has no files, or this is neither a file nor a valid glob.
        """
        if self.tree.exists(path):
            return self._contents(path)
        shards = _SHARDS.fullmatch(path.rpartition("/")[2])
        if shards:
            return self._shards(path, shards)
        if _GLOB.search(path):
            matches = sorted(self._matches(path), key=_order)
            spelled = set(path.split("/"))
            folders = {match if self.tree.is_folder(match) else match.rpartition("/")[0] for match in matches}
            self._tell_values(path, (name for folder in folders for name in folder.split("/") if name not in spelled))
            return [file for match in matches for file in self._contents(match)]
        return [f"{path}.idx"] if self.tree.is_file(f"{path}.bin") and self.tree.is_file(f"{path}.idx") else []

    def _shards(self, path: str, match: re.Match[str]) -> list[str]:
        folder, mark, _ = path.rpartition("/")
        count = int(match["count"])
        if not 1 <= count <= _MAX_SHARDS:
            raise ValueError(f"{path}: {count} shards: expected 1 to {_MAX_SHARDS}")
        names = [f"{folder}{mark}{match['front']}-{i:05}-of-{count:05}{match['back']}" for i in range(count)]
        missing = [name for name in names if not self.tree.exists(name)]
        if missing:
            raise FileNotFoundError(f"{path}: {len(missing)} of {count} shards are missing, starting with {missing[0]}")
        return [file for name in names for file in self._contents(name)]

    def _contents(self, path: str) -> list[str]:
        """The path of a file or dataset itself, or the files of a folder."""
        if not self.tree.is_folder(path):
            return [path]
        path = path.rstrip("/") or path
        found = _Contents()
        self._descend(path, found)
        if found.datasets and (found.files or len(found.datasets) > 1):
            example = min(found.datasets)
            raise ValueError(f"{path}: the directory contains a dataset and other files or datasets; name one, such as {example}")
        if found.datasets:
            return found.datasets
        if not found.files:
            raise FileNotFoundError(f"{path}: the directory has no files to read")
        self._tell_values(path, found.folders)
        if found.logs:
            self.notices.append(f"{found.logs[0]}: the table log is not read, so files that it marks as removed are read too")
        return sorted(found.files, key=_order)

    def _tell_values(self, path: str, folders: Iterable[str]) -> None:
        """Adds a notice if the name of a folder contains the value of a field."""
        name = min((name for name in folders if "=" in name), default=None)
        if name is not None:
            text = f"fields are read from the files only, not from directory names such as {name}; to read those: --source hive"
            self.notices.append(f"{path}: {text}")

    def _descend(self, folder: str, found: _Contents) -> None:
        entries = dict(self.tree.entries(folder))
        if all(name in entries for name in _DATASET):
            found.datasets.append(folder)
            return
        for name, is_folder in entries.items():
            path = f"{folder.rstrip('/')}/{name}"
            if name.startswith(".") or (name.startswith("_") and "=" not in name):
                if is_folder and name in _LOGS:
                    found.logs.append(path)
            elif is_folder:
                found.folders.append(name)
                self._descend(path, found)
            elif self._is_manifest(path):
                continue  # It lists the other files.
            elif self.tree.is_file(path) or not self.tree.exists(path):
                # Not a pipe, or a link to a folder. A broken link is an error, as in the program.
                found.files.append(path)

    def _is_manifest(self, path: str) -> bool:
        """Whether this is a manifest: a JSON file, or one without an extension."""
        name = path.rpartition("/")[2]
        if "." in name and not name.lower().endswith(".json"):
            return False
        return self.tree.is_file(path) and _MANIFEST.match(self.tree.head(path, _MANIFEST_BYTES)) is not None

    def _matches(self, pattern: str) -> Iterator[str]:
        """The files that match a glob; if it ends in `/`, or no file matches, the folders."""
        parts = pattern.split("/")
        for part in parts:
            if part != "**" and not _PART.fullmatch(part):
                raise FileNotFoundError(f"{pattern}: no such file, and it is not a valid glob: {part}")
        if parts[-1] == "**":
            parts.append("*")
        found = ["/" if pattern.startswith("/") else ""]
        for part in parts:
            if part:
                found = [path for base in found for path in self._step(base, part)]
        # Two `**` can reach a file in several ways.
        paths = [path for path in dict.fromkeys(found) if path]
        files = [path for path in paths if not self.tree.is_folder(path)]
        if pattern.endswith("/") or not files:
            return iter([path for path in paths if self.tree.is_folder(path)])
        return iter(files)

    def _step(self, base: str, part: str) -> Iterator[str]:
        """The matches of one part of a glob in a folder."""
        start = base if base in ("", "/") else base + "/"
        if part == "**":
            yield base
            for name, is_folder in self.tree.entries(base):
                if is_folder and not name.startswith("."):
                    yield from self._step(start + name, part)
        elif _GLOB.search(part):
            matches = re.compile(fnmatch.translate(part)).match
            for name, _ in self.tree.entries(base):
                if matches(name) and (part.startswith(".") or not name.startswith(".")):
                    yield start + name
        elif self.tree.has_entry(start + part):
            yield start + part


def _order(path: str) -> list[bytes]:
    """Paths are sorted by their parts, as bytes."""
    return [os.fsencode(part) for part in path.split("/")]


def _without_indices(paths: Sequence[str]) -> list[str]:
    """Without files that the program reads together with another: `x.bin` of `x.idx`, and `x.tfrecord.idx` of `x.tfrecord`."""
    known = set(paths)

    def is_second(path: str) -> bool:
        stem, extension = os.path.splitext(path)
        return (extension in _INDICES and stem in known) or (extension == ".bin" and f"{stem}.idx" in known)

    return [path for path in paths if not is_second(path)]


class _Local:
    """The local file system. Paths may be relative."""

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def has_entry(self, path: str) -> bool:
        """Whether there is an entry of this name, such as a broken link."""
        return os.path.lexists(path)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file; none if it cannot be read."""
        try:
            with open(path, "rb") as file:
                return file.read(size)
        except OSError:
            return b""

    def size(self, path: str) -> int:
        """The size of a file; of a dataset, that of its files."""
        if not os.path.isdir(path):
            return os.path.getsize(path)
        return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """The names in a folder, and whether each is a folder itself, not a link to one; empty if there is no such folder."""
        try:
            with os.scandir(folder or ".") as found:
                return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
        except (FileNotFoundError, NotADirectoryError):
            return []


class _Remote:
    """A PyArrow file system. Its answers are cached, because each may take a request."""

    def __init__(self, system: Any) -> None:
        self._system = system
        self._infos: dict[str, Any] = {}

    def _info(self, path: str) -> Any:
        if path not in self._infos:
            self._infos[path] = self._system.get_file_info(path)
        return self._infos[path]

    def exists(self, path: str) -> bool:
        return bool(self._info(path).type != fs.FileType.NotFound)

    def has_entry(self, path: str) -> bool:
        """Whether there is an entry of this name."""
        return self.exists(path)

    def is_file(self, path: str) -> bool:
        return bool(self._info(path).type == fs.FileType.File)

    def is_folder(self, path: str) -> bool:
        return bool(self._info(path).type == fs.FileType.Directory)

    def head(self, path: str, size: int) -> bytes:
        """The first bytes of a file; none if it cannot be read."""
        try:
            with self._system.open_input_stream(path, compression=None) as file:
                return bytes(file.read(size))
        except OSError:
            return b""

    def size(self, path: str) -> int:
        """The size of a file."""
        return int(self._info(path).size or 0)

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """The names in a folder, and whether each is a folder itself; empty if there is no such folder."""
        infos = self._system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        start = folder if folder in ("", "/") else folder.rstrip("/") + "/"
        self._infos.update((start + info.base_name, info) for info in infos)
        return [(info.base_name, info.type == fs.FileType.Directory) for info in infos]


def with_records(files: list[File], strict: bool = False, quiet: bool = True) -> list[File]:
    """The nonempty files, or all files if all are empty, so that the program tells.

    Issues the program's notice about the empty ones, unless `quiet`.

    Raises:
        TatterError: There is a notice, and `strict`.
    """
    found = [file for file in files if file.size]
    if not found:
        return files
    empty = [file.name for file in files if not file.size and not _SHARD.search(file.name)]
    words = f"and {len(empty) - 1} more are empty and are" if len(empty) > 1 else "is empty and is"
    _tell([f"{name} {words} treated as having no records" for name in empty[:1]], strict, quiet)
    return found


def input_words(file: File, range: tuple[int, int] | None = None) -> tuple[list[str], Feed | None]:
    """The arguments that name a file to the program, and a feed if it cannot open the file by name.

    `range` is a byte range of a TFRecord file and selects the records that start in it.
    """
    if file.is_local and range is None:
        return ["--", file.name], None

    def feed(pipe: Input) -> None:
        from . import _splits  # NumPy is needed only here.

        with file.open() as source:
            start, end = (_splits.next_record(source, offset, file.size) for offset in range) if range else (0, file.size)
            source.seek(start)
            while start < end:
                block = source.read(min(_BLOCK, end - start))
                if not block:
                    raise EOFError(f"{file.name}: ends at byte {start}, but had {file.size} bytes")
                pipe.write(block)
                start += len(block)

    return ["-"], feed
