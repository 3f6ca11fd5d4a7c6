"""A run of the program, with Arrow record batches on standard input and output."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TypeAlias

import pyarrow as pa

from ._errors import TatterError, parsed, warn
from ._find import find_tatter

#: Pipe capacity in bytes: with the default, every 64 KiB costs a context switch.
_PIPE_BYTES = 1 << 20
#: The bytes before each message of an Arrow stream.
_MARK = b"\xff\xff\xff\xff"
#: The options that the program advises.
_ADVISED = re.compile(r"--(?:(on-error|mixed) ([a-z]+)|(in-place|force|no-verify)|(max-memory|max-record-bytes))\b")
#: What to do about text where records are expected.
_PRINTING = "tatter_data.run returns what the program prints"
#: Seconds for a stopped program to remove its temporary files.
_GRACE = 5.0
#: Seconds for the feed to notice that the program has ended.
_PATIENCE = 0.5

#: Writes the program's standard input.
Feed: TypeAlias = "Callable[[Input], None]"

#: The running programs. A forked process keeps its copies forever, because closing a pipe there could wait for a lock
#: held by a thread of its parent. But it must not hold the standard input of a program open, which would not see its end.
_alive: weakref.WeakSet[Child] = weakref.WeakSet()
_inherited: list[Child] = []
if hasattr(os, "register_at_fork"):


    def _after_fork() -> None:
        _inherited.extend(_alive)
        null = os.open(os.devnull, os.O_RDWR)
        for child in _inherited:
            child.release_input(null)
        os.close(null)

    os.register_at_fork(after_in_child=_after_fork)


class Input:
    """The program's standard input.

    The source of a feed can raise the same exceptions as a pipe without a reader, so the exceptions of the pipe become an
    `_EndedError`.
    """

    closed = False  # PyArrow asks.

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe

    def write(self, data: Any) -> int:
        """Writes bytes, or any buffer."""
        with _ending():
            return self._pipe.write(data)

    def flush(self) -> None:
        """Passes on what has been written."""
        with _ending():
            self._pipe.flush()


class _EndedError(Exception):
    """The program no longer reads its standard input."""


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    try:
        yield
    except (BrokenPipeError, ConnectionResetError):
        raise _EndedError from None


class Child:
    """A running program whose standard output has not been read yet.

    `feed` writes to its standard input, in a thread. The process ends on `close`, when the object is collected,
    or when the interpreter exits, whichever comes first.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        feed: Feed | None = None,
        program: str | None = None,
    ) -> None:
        self._stderr: list[bytes] = []
        self._faults: list[BaseException] = []
        stdin = subprocess.DEVNULL if feed is None else subprocess.PIPE
        self._process = start([program or find_tatter(), "--messages=json", *words], stdin)
        self._end = weakref.finalize(self, stop, self._process, os.getpid())
        self._owner = os.getpid()
        _alive.add(self)
        for pipe in (self._process.stdin, self._process.stdout):
            _widen(pipe)
        # The threads do not reference the object, so that it can be collected.
        self._drainer = _thread(_drain, self._process.stderr, self._stderr)
        self._feeder = None if feed is None else _thread(_feed, self._process, feed, self._faults)

    @property
    def stdout(self) -> Any:
        """The program's standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The schema and the record batches of the Arrow stream on standard output.

        Raises:
            TatterError: The program failed or printed text. The iterator can also raise it, at its end.
        """
        try:
            # Text could be taken for the length of the metadata.
            is_arrow = _MARK.startswith(self.stdout.peek(len(_MARK))[: len(_MARK)])
            reader = pa.ipc.open_stream(self.stdout) if is_arrow else None
        except BaseException as error:
            self._failed(error)
        if reader is None:
            self.finish()
            raise printed()
        return reader.schema, self._rest(reader)

    def _rest(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            while True:
                self._check_owner()
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
                except Exception as error:
                    self._failed(error)
                yield batch
            self.finish()
        finally:
            self.close()

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise RuntimeError("an iterator of records cannot be read in a forked process; start it there: iter(records)")

    def finish(self) -> bytes:
        """Waits for the program to end, and returns the rest of its output.

        Raises:
            TatterError: The program failed.
            RuntimeError: This process is a fork of the one that started the program.
        """
        self._check_owner()
        try:
            rest: bytes = self.stdout.read()
            code = self._process.wait()
            # A fault of the feed ends the program. One after the program's end concerns records that were not needed.
            faults = list(self._faults)
            self._join()
        except BaseException:
            self.close()
            raise
        stderr = b"".join(self._stderr).decode(errors="replace")
        if faults:
            raise faults[0]
        if code:
            raise _of_records(TatterError.of(stderr, code if code > 0 else 128 - code))
        tell(stderr)
        return rest

    def _failed(self, error: BaseException) -> None:
        """Raises the error of the program or the feed that ended the stream, or else `error` itself."""
        if isinstance(error, Exception):
            try:
                self.finish()
            except Exception as failure:
                # The stream ended because of it.
                failure.__suppress_context__ = True
                raise
        self.close()
        raise error

    def release_input(self, null: int) -> None:
        """Replaces this process's copy of the program's standard input, without waiting for a lock."""
        pipe = self._process.stdin
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):  # It may be closed.
                os.dup2(null, pipe.fileno())

    def close(self) -> None:
        """Ends the program if it is still running, and closes the pipes. Can be called more than once."""
        if os.getpid() != self._owner:
            return  # A forked process has a copy of the object, not the child.
        self._end()
        self._join()

    def _join(self) -> None:
        """Waits for the threads after the program's end, and closes the pipes.

        A feed may wait indefinitely for its source, such as a generator that yields nothing. It is then left alone: it ends,
        and closes its pipe, the next time it writes.
        """
        for thread, seconds in ((self._drainer, None), (self._feeder, _PATIENCE)):
            if thread is not None and thread is not threading.current_thread():
                thread.join(seconds)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()


def start(words: Sequence[str], stdin: int) -> subprocess.Popen[bytes]:
    """Starts the program.

    Raises:
        ValueError: The command line is longer than the system allows.
    """
    try:
        return subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        total, longest = sum(len(os.fsencode(word)) for word in words), max(words, key=len)
        raise ValueError(
            f"the command line is too long: {len(words)} words of {total} bytes, the longest starting with {longest[:40]!r}; "
            "name files by a pattern or in a file (paths [] and files_from=LIST), write a schema to a file (schema='@FILE'), and pass arrays with with_"
        ) from None


def _thread(target: Any, *args: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True, name="tatter")
    thread.start()
    return thread


def printed() -> TatterError:
    """The error for a command that succeeded but printed text, such as its help."""
    return TatterError(f"the command prints text, not records\n  {_PRINTING}", code=2)


def _of_records(error: TatterError) -> TatterError:
    """The error, with advice in terms of the arguments of this package instead of the program's options."""
    for option, what in ("--output", "file"), ("--to", "format"):
        if error.message.startswith(f"{option} appears twice"):
            return TatterError(f"a chain has no output {what}; write its records: tatter_data.write(records, path)", code=error.code)
    message, found, _ = error.message.partition(": --to arrow has no effect")
    if found:
        return TatterError(f"{message}\n  {_PRINTING}", code=error.code)
    first, *advice = error.message.split("\n")
    lines = [first, *(_ADVISED.sub(_keyword, line) for line in advice)]
    return TatterError("\n".join(lines), error.file, error.record, error.field, error.code, error.output)


def _keyword(option: re.Match[str]) -> str:
    """An option of the program as an argument.

    >>> _ADVISED.sub(_keyword, "with --on-error skip, --in-place or --max-memory")
    'with on_error="skip", in_place=True or max_memory=N'
    """
    name, word, flag, number = option.groups()
    value = f'"{word}"' if word else "True" if flag else "N"
    return f"{(name or flag or number).replace('-', '_')}={value}"


def stop(process: subprocess.Popen[bytes], owner: int) -> None:
    """Ends a program that this process started, giving it time to remove its temporary files."""
    if os.getpid() != owner or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _widen(pipe: IO[bytes] | None) -> None:
    if pipe is not None and sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _drain(pipe: IO[bytes], into: list[bytes]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in pipe:
            into.append(line)


def _feed(process: subprocess.Popen[bytes], feed: Feed, faults: list[BaseException]) -> None:
    pipe = process.stdin
    assert pipe is not None
    try:
        feed(Input(pipe))
    except _EndedError:
        pass  # The program has ended, or has all that it needs.
    except BaseException as fault:
        # The program must not mistake the end of the pipe for the end of the records.
        faults.append(fault)
        process.terminate()
    finally:
        with contextlib.suppress(OSError):
            pipe.close()


def arrow_feed(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Feed:
    """Record batches as an Arrow stream. Its end marker is written only after the last batch.

    The feed raises a ValueError if a batch has a different schema.
    """

    def feed(pipe: Input) -> None:
        writer = pa.ipc.new_stream(pipe, schema)
        for number, batch in enumerate(batches, 1):
            if not batch.schema.equals(schema):
                raise ValueError(f"record batch {number}: {_difference(schema, batch.schema)}")
            writer.write_batch(batch)
            pipe.flush()  # The next batch may be a long time coming.
        writer.close()

    return feed


def _difference(expected: pa.Schema, found: pa.Schema) -> str:
    if expected.names != found.names:
        return f"expected the fields {', '.join(expected.names)} of the first batch, found {', '.join(found.names)}"
    one, other = next((one, other) for one, other in zip(expected, found) if not one.equals(other))
    parts = [f"{part.type}{'' if part.nullable else ' not null'}" for part in (one, other)]
    return f"{one.name}: expected {parts[0]} as in the first batch, found {parts[1]}; cast it: batch.cast(schema)"


def notation(schema: pa.Schema) -> str:
    """A schema in the program's notation."""
    child = Child(["schema", "--from=arrow", "-"], feed=arrow_feed(schema, []))
    text = child.stdout.read().decode()
    child.finish()
    return text


def tell(stderr: str) -> None:
    """Issues warnings for the notices in the program's output, and passes on other output, as with ``verbose``."""
    objects, rest = parsed(stderr)
    for line in rest:
        print(line, file=sys.stderr)
    for object in objects:
        kind, message = object["kind"], object.get("message")
        if kind in ("notice", "skipped"):
            warn(str(message))
        elif message is None or kind == "summary":
            print(json.dumps({name: value for name, value in object.items() if name != "kind"}), file=sys.stderr)
        else:
            print(f"{kind}: {message}", file=sys.stderr)
