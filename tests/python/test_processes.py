"""No process is left running after stopped iterations, garbage collection, forks and the end of the interpreter."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
import tatter_data as td

pytestmark = pytest.mark.usefixtures("no_process_left")


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.tfrecord"
    td.write((pa.record_batch({"x": list(range(i, i + 50_000))}) for i in range(0, 500_000, 50_000)), path)
    return str(path)


def test_breaking_off_leaves_no_process(large):
    for _ in td.read(large):
        break


def test_an_iterator_that_is_dropped_leaves_no_process(large):
    batches = iter(td.read(large))
    next(batches)
    del batches
    gc.collect()


def test_a_consumer_that_raises_leaves_no_process(large):
    with pytest.raises(ZeroDivisionError):
        for _ in td.read(large):
            1 / 0


def test_asking_for_the_schema_leaves_no_process(large):
    assert td.schema(large, "shuffle").names == ["x"]


def test_a_stream_that_is_not_read_to_its_end_leaves_no_process(large):
    reader = pa.RecordBatchReader.from_stream(td.read(large))
    reader.read_next_batch()
    del reader
    gc.collect()


@pytest.fixture
def live():
    """A generator of one batch that then waits, as for a queue or a socket."""
    news = threading.Event()

    def batches():
        yield pa.record_batch({"x": [1, 2, 3]})
        news.wait()

    yield batches()
    news.set()


def test_a_program_that_has_ended_does_not_wait_for_its_source(live):
    assert td.pipe(live, "head 2").to_arrow()["x"].to_pylist() == [1, 2]


def test_a_program_that_has_failed_does_not_wait_for_its_source(live, tmp_path):
    with pytest.raises(td.TatterError, match="unknown field `y`"):
        td.write(live, tmp_path / "out.jsonl", chain="select y")


def test_one_interrupt_ends_a_run_that_waits_for_its_source(live):
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        td.pipe(live).to_arrow()


def test_a_source_ends_when_it_next_has_news_for_a_program_that_has_ended():
    news, taken = threading.Event(), []

    def batches():
        for i in range(10):
            taken.append(i)
            yield pa.record_batch({"x": [i]})
            news.wait(None if i else 0)

    assert td.pipe(batches(), "head 1").to_arrow().num_rows == 1
    seen = [thread for thread in threading.enumerate() if thread.name == "tatter"]
    news.set()
    for thread in seen:
        thread.join(10)
        assert not thread.is_alive()
    assert len(taken) < 5


@pytest.mark.parametrize("how", ["sys.exit()", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_the_end_of_the_interpreter_ends_the_program(large, how):
    code = f"import os, sys, tatter_data as td; b = iter(td.read({large!r})); next(b); {how}"
    subprocess.run([sys.executable, "-c", code], check=False)
    deadline = time.monotonic() + 10
    pattern = os.path.dirname(large)
    while time.monotonic() < deadline and running(pattern):
        time.sleep(0.05)
    assert not running(pattern)


def running(pattern):
    listing = subprocess.run(["ps", "-eo", "comm=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if line.startswith("tatter ") and pattern in line]


def test_a_fork_does_not_end_the_program_of_its_parent(large):
    batches = iter(td.read(large))
    rows = next(batches).num_rows
    if os.fork() == 0:
        batches.close()
        os._exit(0)
    os.wait()
    assert rows + sum(batch.num_rows for batch in batches) == 500_000


def test_a_forked_process_does_not_read_the_iterator_of_its_parent():
    batches = iter(td.pipe((pa.record_batch({"x": np.arange(1000)}) for _ in range(50)), chunk_rows=1000))
    next(batches)
    child = os.fork()
    if child == 0:
        try:
            next(batches)
        except RuntimeError as error:
            os._exit(7 if "forked process" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert 1000 <= sum(batch.num_rows for batch in batches) + 1000 <= 50_000


def test_the_module_runs_as_the_program(docs):
    words = [sys.executable, "-m", "tatter_data"]
    assert subprocess.run([*words, "count", docs], capture_output=True, text=True, check=False).stdout == "5\n"
    for args, code in ((["count", "missing"], 3), (["select", "x", docs], 2), (["nonsense"], 2)):
        assert subprocess.run([*words, *args], capture_output=True, check=False).returncode == code


def test_ctrl_c_ends_the_module_as_the_program():
    words = [sys.executable, "-m", "tatter_data", "tail", "1", "-"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.stdin.write(b'{"x": 1}\n' * 100)
    process.stdin.flush()
    deadline = time.monotonic() + 10
    while not open(f"/proc/{process.pid}/comm").read().startswith("tatter") and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) in (130, -signal.SIGINT)
    process.stdin.close()


def test_a_forked_process_does_not_keep_the_input_of_a_program_open():
    def batches():
        for i in range(50):
            yield pa.record_batch({"x": np.arange(20_000) + i})

    forked, rows = [], 0
    start = time.monotonic()
    for batch in td.pipe(batches(), "filter 'x >= 0'"):
        if not forked:
            forked.append(os.fork())
            if forked[0] == 0:
                time.sleep(20)
                os._exit(0)
        rows += batch.num_rows
    seconds = time.monotonic() - start
    os.kill(forked[0], signal.SIGKILL)
    os.waitpid(forked[0], 0)
    assert rows == 1_000_000
    assert seconds < 15  # Not until the forked process ends.


def test_an_interrupted_run_leaves_nothing(large, tmp_path):
    code = f"""
import signal, tatter_data as td
def interrupt(*_): raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.3)
td.run(["sort", "--by", "-reduce_sum(x)", *[{large!r}] * 8, "-o", {str(tmp_path / "out.parquet")!r}])
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "KeyboardInterrupt" in process.stderr
    assert os.listdir(tmp_path) == ["large.tfrecord"]
