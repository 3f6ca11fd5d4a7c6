"""Failures of the program as exceptions with attributes."""

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

#: Lines of the program's output in the message of an exception.
_SHOWN = 10


class TatterError(RuntimeError):
    """A failure of the program `tatter`.

    Attributes:
        message: The full message printed by the program, without the leading ``error:``. Where records are read or written,
            the options in its advice are named as arguments: ``on_error="skip"``.
        file: The input, as named by the user, if the message names one.
        record: The record, counted from 1 within its input; for a range, the first record.
        field: The path of the field.
        code: The exit code: 1 for invalid data, 2 for invalid options, field names or types, 3 if reading or
            writing failed, 70 for a bug in tatter.
        output: The standard output before the failure (`run` only).

    >>> error = TatterError.of('{"kind": "error", "file": "a.jsonl", "record": 2, "field": "x.y", "text": "a.jsonl: ..."}', 1)
    >>> error.file, error.record, error.field, error.code
    ('a.jsonl', 2, 'x.y', 1)
    >>> str(error)
    'a.jsonl: ...'
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
        # All attributes are arguments of the exception, so that it can be pickled.
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
    def of(cls, stderr: str, code: int, output: str = "") -> TatterError:
        """Creates the exception from the program's ``--messages json`` output and its exit code."""
        objects, rest = parsed(stderr)
        errors = [object for object in objects if object["kind"] == "error"]
        if not errors:
            # Bad records were skipped, or the program was killed.
            texts = [object["message"] for object in objects if object["kind"] == "skipped"]
            accepted = ["  max_errors=N accepts up to N bad records"] if texts else []
            return cls("\n".join(texts + accepted + rest) or _verdict(code, output), code=code, output=output)
        error = errors[-1]
        return cls(error["text"], error.get("file"), error.get("record"), error.get("field"), code, output)


def _verdict(code: int, output: str) -> str:
    """The findings that the program printed instead of an error message, as ``validate`` and ``diff`` do."""
    lines = _text(output).splitlines() if code == 1 else []
    more = [f"... {len(lines) - _SHOWN} more lines in TatterError.output"] if len(lines) > _SHOWN + 1 else lines[_SHOWN:]
    return "\n".join(lines[:_SHOWN] + more) or f"tatter ended with code {code}"


def _text(output: str) -> str:
    """What the program printed, as text: ``validate`` prints its report as JSON, which includes it."""
    try:
        report = json.loads(output)
    except ValueError:
        return output
    return report["text"] if isinstance(report, dict) and "findings" in report and "text" in report else output


class TatterNotice(UserWarning):
    """A notice from the program: not an error, but something the user should know about.

    ``warnings.simplefilter("error", TatterNotice)`` or the option ``strict=True`` turns notices into errors, except the
    count of records that ``on_error`` skipped, which ``max_errors`` limits;
    ``quiet=True`` suppresses them.
    """


def warn(notice: str) -> None:
    """Issues a notice as a warning of the innermost line of code outside this package."""
    package = os.path.dirname(__file__) + os.sep
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(notice, TatterNotice, stacklevel=level)


def parsed(stderr: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The JSON objects that the program printed on standard error, and the other lines."""
    objects, rest = [], []
    for line in stderr.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict) and "kind" in value:
            objects.append(value)
        elif line.strip():
            rest.append(line)
    return objects, rest
