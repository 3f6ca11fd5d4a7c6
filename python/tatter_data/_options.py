"""Builds a command line from a chain, keyword options and input files."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from ._child import notation
from ._files import local_path

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    class Options(TypedDict, total=False):
        """The program's global options by name: ``max_errors=3`` is ``--max-errors 3``, and True sets a flag.

        Names that are Python keywords end with an underscore. ``arg`` and ``with_`` take a dictionary; the values of
        ``arg`` are str, bytes, bool, int, float, None, or lists of these, and are read like literals in an
        expression: where nothing else sets the dtype, integers are int32 and floats float32, as in TensorFlow. The
        arrays of ``with_`` keep their dtype. An option with several names or words, such as ``scalar``, also takes a
        list, and ``schema`` a pyarrow.Schema. ``tatter --help`` describes each option.
        """

        # Input.
        from_: str
        files_from: str | os.PathLike[str]
        null: bool
        input_name: str
        schema: str | pa.Schema
        source: str | Sequence[str]
        infer_bytes: int | str
        mixed: str
        scalar: str | Sequence[str]
        no_verify: bool
        split: str
        class_names: bool
        index_base: int
        sum_duplicates: bool
        delimiter: str
        quote: str
        list_separator: str
        nulls: str | Sequence[str]
        columns: str | Sequence[str]
        raw_records: bool
        raw_members: bool
        documents: bool
        # Running.
        threads: int
        chunk_rows: int
        row_group_rows: int
        seed: int
        arg: Mapping[str, Any] | Sequence[str]
        with_: Mapping[str, str | os.PathLike[str]]
        temp_dir: str | os.PathLike[str]
        max_memory: int | str
        unbuffered: bool
        tensor_types: bool | str
        # Bad input and messages.
        on_error: str
        max_errors: int
        max_record_bytes: int | str
        strict: bool
        quiet: bool
        verbose: bool
        explain_time: bool
        summary: str | os.PathLike[str]

    class WriteOptions(Options, total=False):
        """The additional options for outputs."""

        to: str
        shards: int
        force: bool
        no_clobber: bool
        in_place: bool
        durable: bool
        manifest: str | os.PathLike[str]
        compression: str
        omit_null: bool
        name: str
        vocab_size: int
        smallest_dtype: bool
        append_eod: int

    class RunOptions(WriteOptions, total=False):
        """The additional options of whole command lines."""

        output: str | os.PathLike[str]
        output_dir: str | os.PathLike[str]
        dry_run: bool


#: A chain of verbs: a line in shell syntax, or a list of words.
Chain: TypeAlias = "str | Sequence[str | bytes | os.PathLike[str]]"
#: The name of a file.
Name: TypeAlias = "str | bytes | os.PathLike[str]"
#: One or more input files: names, quoted globs, shards (``name@8.ext``).
Paths: TypeAlias = "Name | Iterable[Name]"


def chain_words(chain: Chain | None) -> list[str]:
    """The words of a chain; ``convert`` for None.

    >>> chain_words("map 'n = len(x)' then head 2")
    ['map', 'n = len(x)', 'then', 'head', '2']
    >>> chain_words(None)
    ['convert']

    Raises:
        ValueError: A quote is not closed.
    """
    return split_words(chain) or ["convert"]


#: The verbs that combine several inputs. Nothing may come before them in a chain.
COMBINING = ("choose", "concatenate", "interleave", "mix", "zip")


def split_chain(chain: Sequence[str]) -> tuple[list[str], list[str]]:
    """The first verb of a chain with its words, and the remaining verbs.

    >>> split_chain(["mix", "[", "head", "2", "then", "skip", "1", "a", "]", "then", "batch", "2"])
    (['mix', '[', 'head', '2', 'then', 'skip', '1', 'a', ']'], ['batch', '2'])
    """
    depth = 0
    for at, word in enumerate(chain):
        depth += (word == "[") - (word == "]" or word.startswith("]="))
        if word == "then" and depth == 0:
            return list(chain[:at]), list(chain[at + 1 :])
    return list(chain), []


def begin_chain(verb: Sequence[str], chain: Sequence[str]) -> list[str]:
    """The chain with a verb inserted at its input: after a first verb that combines inputs, and after any `shard` that comes
    first.

    >>> begin_chain(["skip", "1"], ["map", "y = x", "then", "head"])
    ['skip', '1', 'then', 'map', 'y = x', 'then', 'head']
    >>> begin_chain(["skip", "1"], ["zip", "--shortest", "then", "shard", "0/2", "then", "head"])
    ['zip', '--shortest', 'then', 'shard', '0/2', 'then', 'skip', '1', 'then', 'head']
    """
    parts: list[list[str]] = []
    rest = list(chain)
    while rest and (rest[0] == "shard" or (not parts and rest[0] in COMBINING)):
        first, rest = split_chain(rest)
        parts.append(first)
    return [word for part in [*parts, list(verb), rest] if part for word in ["then", *part]][1:]


def split_words(line: Chain | None) -> list[str]:
    """The words of a line, as a shell splits it.

    Raises:
        TypeError: This is not a line or a list of words.
        ValueError: A quote is not closed.
    """
    if isinstance(line, (bytes, os.PathLike, Mapping)) or not isinstance(line, (Iterable, type(None))):
        raise TypeError(f"expected verbs, as one line or as a list of words, found {type(line).__name__}")
    try:
        return shlex.split(line) if isinstance(line, str) else [_text(word) for word in line or ()]
    except ValueError:
        raise ValueError(f"a quote is not closed: {line}") from None


def path_words(paths: Paths, more: bool = False) -> list[str]:
    """The names of input files; there may be none if an option names `more`.

    >>> path_words("a.jsonl"), path_words(["a", "b"])
    (['a.jsonl'], ['a', 'b'])

    Raises:
        TypeError: The paths are not names, or are a set, which has no order.
        ValueError: There is no name, or one is ``-``: the program's standard input is not that of Python.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    if isinstance(paths, (set, frozenset)):
        raise TypeError("a set of names has no order; pass a list, such as sorted(paths)")
    # The items of an open file are its lines, and those of a data frame the names of its columns.
    is_data = isinstance(paths, Mapping) or hasattr(paths, "read") or hasattr(paths, "columns")
    if is_data or not isinstance(paths, Iterable):
        raise _not_names(paths)
    names = [_name(path) for path in paths]
    if not names and not more:
        raise ValueError("no input file is given")
    if "-" in names:
        raise ValueError("standard input cannot be read: pass its records to pipe, or its text to run; for a file of this name, write ./-")
    return names


def _name(path: Any) -> str:
    try:
        return local_path(os.fsdecode(path))
    except TypeError:
        raise _not_names(path) from None


def _not_names(found: Any) -> TypeError:
    return TypeError(f"expected the names of files, found {type(found).__name__}; pipe(data, chain) takes data in memory")


def output_word(path: Name) -> str:
    """The option that names the output.

    Raises:
        ValueError: The name is ``-``: the program's standard output is not that of Python.
    """
    name = local_path(os.fsdecode(path))
    if name == "-":
        raise ValueError("standard output cannot be written: run returns what the program prints; for a file of this name, write ./-")
    return f"--output={name}"


#: The options of a run whose records are read into Python. The program accepts one output, so it refuses that of a chain.
TO_PYTHON = {"to": "arrow", "output": "-"}


#: Options of the program that the functions of this package set themselves, and what to use instead.
_SET = {
    "output": "tatter_data.write(records, PATH) writes a file",
    "output_dir": "tatter_data.run runs a whole command line",
    "dry_run": "tatter_data.run([..., '--dry-run']) returns the plan",
    "messages": "notices are warnings, and failures are exceptions",
}
_SET_BY_READING = {**_SET, "to": "tatter_data.write(records, PATH, to=...) writes a format"}
#: Options that can be given more than once; others take words separated by commas.
_REPEATABLE = ("arg", "with")
#: Options that say how to read the input, which also apply to the output if the format is the same.
_OF_INPUT = (
    "from files-from null input-name schema source infer-bytes mixed scalar split class-names index-base sum-duplicates delimiter "
    "quote list-separator nulls columns raw-records raw-members documents"
).split()


def check_options(options: Mapping[str, Any], writing: bool = False) -> None:
    """Checks the options of records that are read into Python, or written to a file.

    Raises:
        TypeError: The package sets an option itself.
    """
    for name, instead in (_SET if writing else _SET_BY_READING).items():
        if options.get(name) not in (None, False):
            raise TypeError(f"{name} is not an option here: {instead}")


def refuse_files_from(options: Mapping[str, Any], instead: str) -> None:
    """Refuses a list of files where each file is read by itself.

    Raises:
        ValueError: The options name one.
    """
    if any(_option(name) == "files-from" and value not in (None, False) for name, value in options.items()):
        raise ValueError(f"the files that files_from names cannot be divided: {instead}")


def merged(first: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """The options of records and those of writing them, for one run. A later option replaces the same earlier option, False
    unsets it, and constants are merged.

    >>> merged({"threads": 1, "strict": True, "arg": {"k": 1}}, {"threads": 2, "strict": False, "arg": {"n": 2}})
    {'threads': 2, 'strict': False, 'arg': {'k': 1, 'n': 2}}

    Raises:
        ValueError: A later option would change how the input is read.
    """
    options = {_option(name): value for name, value in first.items()}
    for name, value in later.items():
        option = _option(name)
        earlier = options.get(option)
        if value is None:
            continue
        if option in _REPEATABLE and earlier:
            both = isinstance(earlier, Mapping) and isinstance(value, Mapping)
            value = {**earlier, **value} if both else [*_texts(option, earlier), *_texts(option, value)]
        elif option in _OF_INPUT and earlier is not None and not _is_false(earlier) and earlier != value:
            raise ValueError(
                f"{name} is already set for reading the records, and one run cannot use another value for writing; "
                f"tatter_data.write(tatter_data.pipe(records), path, {name}=...) starts a second one"
            )
        options[option] = value
    return options


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Options as words of a command line.

    >>> option_words({"max_errors": 3, "strict": True, "quiet": False, "arg": {"k": 5, "s": "5"}, "from_": "jsonl"})
    ['--max-errors=3', '--strict', '--arg=k=5', '--arg=s="5"', '--from=jsonl']
    >>> option_words({"scalar": ["a", "b"]})
    ['--scalar=a,b']

    Raises:
        TypeError: An option takes no dictionary, or a value of ``arg`` is of a type that expressions do not have.
        ValueError: A value of ``arg`` has no literal in expressions, a key is not a name, or a word of a list contains a comma.
    """
    words: list[str] = []
    for name, value in options.items():
        option = _option(name)
        if value is None or _is_false(value):
            continue
        if _is_true(value):
            words.append(f"--{option}")
        else:
            words += [f"--{option}={text}" for text in _texts(option, value)]
    return words


def _option(name: str) -> str:
    """The name of an option as the program spells it."""
    return name.rstrip("_").replace("_", "-")


def _texts(option: str, value: Any) -> list[str]:
    """The values of an option, one for each time that it is given."""
    if isinstance(value, Mapping):
        if option not in _REPEATABLE:
            expected = "text or a pyarrow.Schema" if option == "schema" else "no dictionary"
            raise TypeError(f"{option}: expected {expected}, found {type(value).__name__}")
        text = literal if option == "arg" else _file_name
        for key in value:
            if not isinstance(key, str) or "=" in key:
                raise ValueError(f"{option}: expected a name, found {key!r}")
        return [f"{key}={_named(option, key, each, text)}" for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        texts = [_text(each) for each in value]
        return texts if option in _REPEATABLE else [_joined(option, texts)]
    return [_text(value)]


def _is_true(value: Any) -> bool:
    return _plain(value) is True


def _is_false(value: Any) -> bool:
    return _plain(value) is False


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python one; NumPy may not be installed."""
    return value.item() if type(value).__module__ == "numpy" and value.shape == () else value


def _joined(name: str, texts: list[str]) -> str:
    for text in texts:
        if "," in text and not text.startswith("`"):
            raise ValueError(f"{name}: a comma separates the words of this option, and `{text}` contains one")
    return ",".join(texts)


def _named(option: str, key: str, value: Any, text: Callable[[Any], str]) -> str:
    try:
        return text(value)
    except TypeError as error:
        raise TypeError(f"{option}: {key}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{option}: {key}: {error}") from None


def literal(value: Any) -> str:
    """A value in the syntax of expressions, with its type.

    >>> literal("007"), literal(7), literal([1, [2.5]]), literal(b"x")
    ('"007"', '7', '[1, [2.5]]', "b'x'")

    Raises:
        TypeError: Expressions have no such type.
        ValueError: The number is not finite or does not fit in 64 bits.
    """
    value = _plain(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if value is None or isinstance(value, (bool, bytes)):
        return repr(value)
    if isinstance(value, str):
        value.encode()  # Text that is not valid Unicode has no literal.
        return json.dumps(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{value} does not fit in 64 bits")
        return str(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} has no literal; write math.nan, math.inf or -math.inf in the expression")
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(each) for each in value) + "]"
    hint = "; pass the list of its values: tolist()" if hasattr(value, "tolist") else ""
    raise TypeError(f"expressions do not support {type(value).__name__}, only str, bytes, bool, int, float, None and lists of these{hint}")


def _file_name(value: Any) -> str:
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"expected the name of a file, found {type(value).__name__}")
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, pa.Schema):
        return notation(value)
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
