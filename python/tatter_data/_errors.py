"""What went wrong in the program, as an exception with parts."""

from __future__ import annotations

import re


class TatterError(RuntimeError):
    """The program `tatter` failed.

    Attributes:
        message: The full message as the program printed it, without the leading ``error:``.
        file: The input concerned, as it was named, if the message names one.
        record: The record concerned, counted from 1 within its input; the first where it is a range.
        field: The path of the field concerned.
        code: The exit code: 1 the data was wrong, 2 the options, field names or types, 3 reading or
            writing failed, 70 a bug in tatter.
        output: What the program printed on standard output before it failed (`run` only).

    >>> error = TatterError.of("error: a.jsonl: record 2 (line 2, column 4): x.y: expected a number", 1)
    >>> error.file, error.record, error.field, error.code
    ('a.jsonl', 2, 'x.y', 1)
    >>> str(error)
    'a.jsonl: record 2 (line 2, column 4): x.y: expected a number'
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        record: int | None = None,
        field: str | None = None,
        code: int = 1,
        output: str = "",
    ) -> None:
        # All parts are arguments of the exception, so that it can be pickled.
        super().__init__(message, file, record, field, code, output)
        self.message = message
        self.file = file
        self.record = record
        self.field = field
        self.code = code
        self.output = output

    def __str__(self) -> str:
        return self.message

    @classmethod
    def of(cls, stderr: str, code: int, files: tuple[str, ...] = (), output: str = "") -> TatterError:
        """Makes the exception of what the program printed on standard error and its exit code.

        `files` are the names of the inputs: a name with a colon in it is found by them.
        """
        message = _message(stderr) or f"tatter ended with code {code}"
        file, record, field = _location(message.split("\n", 1)[0], files)
        return cls(message, file, record, field, code, output)


class TatterNotice(UserWarning):
    """A notice of the program: something was done that is not an error, but should be known.

    ``warnings.simplefilter("error", TatterNotice)`` or the option ``strict=True`` make errors of them,
    ``quiet=True`` suppresses them.
    """


def _message(stderr: str) -> str:
    lines = stderr.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("error: ")]
    if not starts:
        return stderr.strip()
    first = starts[-1]
    message = [lines[first].removeprefix("error: ")]
    for line in lines[first + 1 :]:
        if not line.startswith("  "):
            break
        message.append(line)
    return "\n".join(message)


_RECORD = re.compile(r"(?:(?P<file>.+?): )?records? (?P<record>\d+)(?: to \d+)?(?: \([^)]*\))?: (?P<rest>.*)")
_FIELD = re.compile(r"(?P<field>(?:`[^`]+`|[^\s:`]+)+)(?:, axis \d+)?: ")


def _location(line: str, files: tuple[str, ...]) -> tuple[str | None, int | None, str | None]:
    file = record = None
    rest = line
    found = _RECORD.match(line)
    if found:
        file, record, rest = found["file"], int(found["record"]), found["rest"]
    else:
        for name in (*files, "standard input"):
            if line.startswith(name + ": "):
                file, rest = name, line[len(name) + 2 :]
                break
    field = _FIELD.match(rest) if file or record else None
    return file, record, field["field"] if field else None
