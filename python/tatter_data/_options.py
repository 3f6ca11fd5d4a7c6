"""Builds a command line from a chain, keyword options and input files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class Options(TypedDict, total=False):
        """The program's global options by name: ``max_errors=3`` is ``--max-errors 3``, and True sets a flag.

        A repeatable option takes a list; ``arg`` and ``with_`` take a dictionary. Names that are Python keywords
        end with an underscore. ``tatter --help`` describes each option.
        """

        from_: str
        schema: str
        threads: int
        chunk_rows: int
        seed: int
        arg: Mapping[str, Any]
        with_: Mapping[str, str | os.PathLike[str]]
        on_error: str
        max_errors: int
        max_record_bytes: int | str
        max_memory: int | str
        strict: bool
        quiet: bool
        scalar: str
        tensor_types: bool
        no_verify: bool
        mixed: str
        infer_bytes: int | str
        input_name: str
        row_group_rows: int

    class WriteOptions(Options, total=False):
        """The additional options for outputs."""

        to: str
        shards: int
        force: bool
        compression: str
        omit_null: bool


#: A chain of verbs: a line in shell syntax, or a list of words.
Chain: TypeAlias = "str | Sequence[str]"
#: One or more input files: names, quoted globs, shards (``name@8.ext``).
Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"


def chain_words(chain: Chain | None) -> list[str]:
    """The words of a chain; ``convert`` for None.

    >>> chain_words("map 'n = len(x)' then head 2")
    ['map', 'n = len(x)', 'then', 'head', '2']
    >>> chain_words(None)
    ['convert']
    """
    words = shlex.split(chain) if isinstance(chain, str) else [str(word) for word in chain or ()]
    return words or ["convert"]


def path_words(paths: Paths) -> list[str]:
    """The names of input files.

    >>> path_words("a.jsonl"), path_words(["a", "b"])
    (['a.jsonl'], ['a', 'b'])
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    names = [os.fspath(path) for path in paths]
    if not names:
        raise ValueError("no input file is given")
    return names


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line.

    >>> option_words({"max_errors": 3, "strict": True, "quiet": False, "arg": {"k": 5}, "from_": "jsonl"})
    ['--max-errors=3', '--strict', '--arg=k=5', '--from=jsonl']
    """
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            words += [f"{option}={key}={_text(each)}" for key, each in value.items()]
        elif isinstance(value, (list, tuple)):
            words += [f"{option}={_text(each)}" for each in value]
        else:
            words.append(f"{option}={_text(value)}")
    return words


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
