"""Runs commands with a fault in one system call: reading, writing, renaming and so on, at every call.

    run.sh TATTER [--quick] [SCENARIO...]

Requirements for every run:

- it ends in time, without a signal, a panic or an internal error (status 70);
- with status 0, the output is that of a run without a fault;
- no socket is opened, with or without a fault;
- with another status, one message says what failed, with the system's reason; each output has its previous contents or
  the complete new ones; no other files remain, except those that could not be removed because of the fault.

If the system refuses memory, a run may end with SIGABRT and leave temporary files next to the output; the next run must
remove them and write complete output.

`--quick` tests only some of the calls if there are many.
"""

import errno
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 60
SEPARATOR = "\0"

# Calls and their failures. A lasting failure ("+") represents a disk that stays full or broken.
HARD = [
    ("open", [errno.EMFILE, errno.EACCES]),
    ("read", [errno.EIO, "eof"]),
    ("write", [errno.EIO, f"+{errno.ENOSPC}", f"+{errno.EDQUOT}"]),
    ("seek", [errno.EINVAL]),
    ("rename", [errno.EACCES, errno.ENOENT]),
    ("mkdir", [errno.EACCES, errno.EROFS]),
    ("truncate", [errno.EIO]),
    ("sync", [errno.EIO]),
    ("list", [errno.EIO]),
]
# The run may continue: the call is repeated or not needed.
SOFT = [
    ("read", ["short", errno.EINTR]),
    ("write", ["short", errno.EINTR]),
    ("stat", [errno.EACCES]),
    ("lock", [errno.ENOLCK]),
    ("chmod", [errno.EPERM]),
    ("unlink", [errno.EPERM]),
    ("rmdir", [errno.EBUSY]),
]
# Nothing depends on the time: the run succeeds with the same output.
CLOCK = [("clock", ["back", "+back", "1969"])]
MEMORY = [("allocate", [errno.ENOMEM])]
REMOVING = {"unlink", "rmdir", "list", "open", "stat"}


def lines(n, first=0):
    rows = ('{"id": %d, "tokens": %s, "text": "%s"}\n' % (i, list(range(i % 5)), "t" * (i % 7)) for i in range(first, first + n))
    return "".join(rows)


def inputs(tatter, folder):
    """The files of all scenarios."""
    (folder / "a.jsonl").write_text(lines(3000))
    (folder / "b.jsonl").write_text(lines(100, 3000))
    (folder / "bad.jsonl").write_text(lines(10) + '{"id": "x"\n' + lines(10))
    (folder / "list.txt").write_text("a.jsonl\nb.jsonl\n")
    (folder / "types.txt").write_text("id: int64; tokens: int64[?]; text: string")
    for name in ["part", "made"]:
        (folder / name).mkdir()
    (folder / "part" / "1.jsonl").write_text(lines(10))
    (folder / "part" / "2.jsonl").write_text(lines(10, 10))
    for name in ["a.tfrecord", "a.tfrecord.gz", "a.parquet", "a.arrow", "a.arrows", "a.npz", "a.jsonl.zst", "a.safetensors"]:
        subprocess.run([tatter, "convert", "a.jsonl", "-o", name], cwd=folder, check=True)


# Name -> arguments, in shell syntax. `old.jsonl` exists before the run.
SCENARIOS = {
    "jsonl-parquet": "convert a.jsonl -o out.parquet",
    "jsonl-tfrecord": "convert a.jsonl -o out.tfrecord",
    "jsonl-arrow": "convert a.jsonl -o out.arrow",
    "jsonl-npz": "convert a.jsonl -o out.npz",
    "jsonl-safetensors": "convert a.jsonl -o out.safetensors",
    "jsonl-gz": "convert a.jsonl -o out.jsonl.gz",
    "tfrecord": "convert a.tfrecord -o out.jsonl",
    "tfrecord-gz": "convert a.tfrecord.gz -o out.jsonl",
    "parquet": "convert a.parquet -o out.jsonl",
    "arrow": "convert a.arrow -o out.jsonl.zst",
    "arrows": "convert a.arrows -o out.jsonl",
    "npz": "convert a.npz -o out.jsonl",
    "safetensors": "convert a.safetensors -o out.jsonl",
    "zst": "convert a.jsonl.zst -o out.jsonl",
    "replaced": "convert a.parquet -o old.jsonl",
    "in-place": "filter 'id > 5' old.jsonl -o old.jsonl --in-place",
    "shards": "convert a.jsonl -o out@3.tfrecord",
    "numbered": "batch 20 b.jsonl -o 'out-####.npz'",
    "output-dir": "convert part --output-dir made --to parquet",
    "directory": "convert part -o out.jsonl",
    "glob": "count 'part/*.jsonl'",
    "files-from": "convert --files-from list.txt -o out.jsonl",
    "schema-file": "convert --schema @types.txt a.jsonl -o out.jsonl",
    "schema-data": "convert --schema @a.parquet a.jsonl -o out.jsonl",
    "split": "split 'id > 50' a.jsonl -o yes.jsonl --else no.jsonl",
    "quarantine": "convert --on-error quarantine=rejected.jsonl --max-errors 1 bad.jsonl -o out.jsonl",
    "manifest": "convert a.jsonl -o out@2.jsonl --manifest list.json",
    "summary": "convert a.jsonl -o out.jsonl --summary summary.json",
    "sort": "sort --by id -r a.jsonl -o out.jsonl",
    "stdout": "convert a.parquet > out.jsonl",
    "pipe": "convert a.tfrecord --to arrow | cat > piped.arrows",
    "stdin": "convert -o out.parquet < a.jsonl",
    "piped": "convert -o out.parquet",
    "count": "count a.tfrecord",
    "stats": "stats a.parquet",
    "validate": "validate a.tfrecord",
    "diff": "diff a.jsonl a.parquet",
    "map-with": "map 'n = len(tokens)' --with c=c.npz a.jsonl -o out.jsonl",
    "progress": "convert a.jsonl -o out.jsonl -v --progress always",
    "durable": "convert a.jsonl -o out.parquet --durable",
}
# Outputs that are written as the run proceeds: a failed run leaves them incomplete.
STREAMED = {"stdout": "out.jsonl", "pipe": "piped.arrows", "quarantine": "rejected.jsonl"}
# Truncation of a pipe, a list of names or a schema cannot be detected.
MAY_END = {"piped", "stdin", "files-from", "schema-file"}


class Scenario:
    def __init__(self, tatter, library, name, base):
        self.tatter, self.library, self.name, self.base = tatter, library, name, base
        self.command = SCENARIOS[name]

    def copy(self, folder):
        """Copies the inputs to the folder."""
        for path in self.base.rglob("*"):
            target = folder / path.relative_to(self.base)
            target.mkdir() if path.is_dir() else os.link(path, target)
        for name in ["old.jsonl"]:
            (folder / name).write_text(lines(7))

    def run(self, folder, **fault):
        """The status, standard output, messages and files of a run in a folder with the inputs."""
        environment = dict(os.environ, FAULT_ROOT=str(folder), **fault)
        # The fault affects only the program, not the shell.
        program = 'env LD_PRELOAD="$LIBRARY" "$TATTER"'
        environment.update(LIBRARY=self.library, TATTER=self.tatter)
        before = "cat a.jsonl | " if self.name == "piped" else ""
        line = f"set -o pipefail; {before}{program} --threads 2 {self.command}"
        try:
            done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None, b"", "it hangs", {}
        known = {path.relative_to(self.base) for path in self.base.rglob("*")} - {Path("old.jsonl")}
        found = {}
        for path in folder.rglob("*"):
            relative = path.relative_to(folder)
            if relative not in known and path.name != "counts":
                found[str(relative)] = path.read_bytes() if path.is_file() else SEPARATOR
        return done.returncode, done.stdout, done.stderr.decode(errors="replace"), found

    def expected(self):
        with tempfile.TemporaryDirectory(prefix="tatter-faults-") as folder:
            self.copy(Path(folder))
            counts = Path(folder) / "counts"
            status, out, messages, files = self.run(Path(folder), FAULT_COUNTS=str(counts))
            numbers = dict(line.split() for line in counts.read_text().splitlines()) if counts.exists() else {}
            return status, out, messages, files, {call: int(n) for call, n in numbers.items()}

    def check(self, call, mode, nth, expected):
        """What is wrong with a run, or None."""
        if call == "allocate":
            return self.check_memory(call, mode, nth, expected)
        status0, out0, _, files0, _ = expected
        with tempfile.TemporaryDirectory(prefix="tatter-faults-") as folder:
            self.copy(Path(folder))
            status, out, messages, files = self.run(Path(folder), FAULT_CALL=call, FAULT_MODE=str(mode), FAULT_NTH=str(nth))
        if status is None or status < 0 or status in (70, 101) or status > 128 or "panicked" in messages:
            return f"status {status}: {messages}"
        files = {name: timeless(name, content) for name, content in files.items()}
        files0 = {name: timeless(name, content) for name, content in files0.items()}
        if call == "clock" and status != status0:
            return f"status {status} because of a clock: {messages}"
        if status == status0:
            if out != out0:
                return f"status {status}, but different output: {messages}"
            different = {name for name in files.keys() | files0.keys() if files.get(name) != files0.get(name)}
            different = {name for name in different if not (call in REMOVING and ".tatter" in name)}
            if different:
                return f"status {status}, but {sorted(different)} differ: {messages}"
            return None
        # An input that seems empty is a finding, which is reported on standard output.
        is_finding = self.name == "validate" and status == 1 and str(mode) == "eof" and out
        if not is_finding and not re.match(r"((notice|info|progress): .*\n|\d+ .*\n)*error: .", messages):
            return f"status {status} without a message: {messages!r}"
        if not str(mode).startswith(("short", "eof")):
            reason = os.strerror(int(str(mode).lstrip("+"))).lower()
            # A glob for which no file of that name is found is expanded, and its files are opened without a fault.
            is_gone = (self.name, call) == ("glob", "stat")
            if reason not in messages.lower() and not is_gone:
                return f"the reason {reason!r} is not in: {messages}"
        old = lines(7).encode()
        for name, content in files.items():
            if STREAMED.get(self.name) == name:
                continue
            if ".tatter" in name:
                if call in REMOVING:
                    continue
                return f"{name} is left over: {messages}"
            if content != files0.get(name) and not (name == "old.jsonl" and content == old):
                return f"{name} is incomplete: {messages}"
        return None


    def check_memory(self, call, mode, nth, expected):
        """The same for one refused allocation, followed by a run in the same folder without a fault."""
        status0, out0, _, files0, _ = expected
        files0 = {name: timeless(name, content) for name, content in files0.items()}
        with tempfile.TemporaryDirectory(prefix="tatter-faults-") as folder:
            self.copy(Path(folder))
            status, out, messages, files = self.run(Path(folder), FAULT_CALL=call, FAULT_MODE=str(mode), FAULT_NTH=str(nth))
            if status is None or status in (101,) or (status > 128 and status != 134):
                return f"status {status}: {messages}"
            if status == status0 and out != out0:
                return f"status {status}, but different output: {messages}"
            for name, content in files.items():
                is_old = name == "old.jsonl" and content == lines(7).encode()
                if STREAMED.get(self.name) != name and ".tatter" not in name and timeless(name, content) != files0.get(name) and not is_old:
                    return f"status {status}, and {name} is incomplete: {messages}"
            if self.name == "in-place":
                return None
            status, out, messages, files = self.run(Path(folder))
        files = {name: timeless(name, content) for name, content in files.items()}
        if (status, out, files) != (status0, out0, files0):
            different = {name for name in files.keys() | files0.keys() if files.get(name) != files0.get(name)}
            return f"the next run: status {status}, {sorted(different)} differ: {messages}"
        return None


def timeless(name, content):
    """The content without the duration of the run."""
    return re.sub(rb'"seconds": *[0-9.e-]+', b"", content) if name.endswith(".json") else content


def chosen(n, quick):
    """The numbers of the calls that fail: all, or the first, the middle and the last ones."""
    if not quick or n <= 6:
        return list(range(1, n + 1))
    return sorted({1, 2, 3, n // 2, n - 1, n})


def main():
    tatter, library, *names = sys.argv[1:]
    quick = "--quick" in names
    names = [name for name in names if not name.startswith("--")]
    # The others are those of surroundings.py.
    names = [name for name in names if name in SCENARIOS] if names else list(SCENARIOS)
    nruns, failures = 0, []
    with tempfile.TemporaryDirectory(prefix="tatter-faults-") as base, ThreadPoolExecutor(2) as pool:
        base = Path(base)
        inputs(tatter, base)
        subprocess.run([tatter, "map", "value = [1, 2]", "then", "select", "value", "--from", "none", "-o", "c.npz"], cwd=base, check=True)
        for name in names:
            scenario = Scenario(tatter, library, name, base)
            expected = scenario.expected()
            if expected[0] is None or expected[0] < 0:
                failures.append(f"{name}: status {expected[0]} without a fault: {expected[2].strip()}")
            if expected[4].pop("socket", 0):
                failures.append(f"{name}: a socket is opened")
            jobs = [
                (call, mode, nth)
                for call, modes in HARD + SOFT + CLOCK + MEMORY
                for mode in modes
                if mode != "eof" or name not in MAY_END
                for nth in chosen(expected[4].get(call, 0), quick or call in ("allocate", "clock"))[:: 3 if call == "clock" and quick else 1]
            ]
            results = pool.map(lambda job: scenario.check(*job, expected), jobs)
            wrong = [(job, result) for job, result in zip(jobs, results) if result]
            nruns += len(jobs)
            print(f"{name}: status {expected[0]}, {len(jobs)} faults, {len(wrong)} wrong", flush=True)
            for (call, mode, nth), result in wrong:
                number = str(mode).lstrip("+")
                reason = errno.errorcode[int(number)] if number.isdigit() and call != "clock" else mode
                failures.append(f"{name}: {call} {nth} {reason}: {result.strip()}")
                print("    " + failures[-1], flush=True)
    print(f"{nruns} runs with a fault, {len(failures)} wrong")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
