"""Runs commands in surroundings that lack something or change: a disk that is full at each of many places of the output, a
folder that cannot be written or vanishes, inputs that change while they are read, runs with the same output at the same
time, no network.

    run.sh TATTER [--quick] [SURROUNDING...]

Requirements for every run:

- it ends in time, without a signal, a panic or an internal error (status 70);
- with status 0, the output is complete;
- with another status, one message says what failed, with the system's reason; nothing is under the output's name, and
  nothing else remains.

File systems are mounted, and networks removed, only where that is permitted; elsewhere this is skipped.
"""

import errno
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from faults import SCENARIOS, SECONDS, lines

# Every format that can be written, with the arguments that write it.
OUTPUTS = {
    "jsonl": "a.jsonl -o OUT/out.jsonl",
    "json": "a.jsonl -o OUT/out.json",
    "jsonl.gz": "a.jsonl -o OUT/out.jsonl.gz",
    "jsonl.zst": "a.jsonl -o OUT/out.jsonl.zst",
    "tfrecord": "a.jsonl -o OUT/out.tfrecord",
    "tfrecord.gz": "a.jsonl -o OUT/out.tfrecord.gz",
    "sequence-example": "a.jsonl --to sequence-example -o OUT/out.sequence",
    "array-record": "a.jsonl -o OUT/out.array_record",
    "parquet": "a.jsonl --row-group-rows 500 -o OUT/out.parquet",
    "arrow-file": "a.jsonl --chunk-rows 500 -o OUT/out.arrow",
    "arrow": "a.jsonl --chunk-rows 500 -o OUT/out.arrows",
    "npz": "a.jsonl -o OUT/out.npz",
    "npy": "n.jsonl -o OUT/out.npy --schema 'text: int64[3]'",
    "safetensors": "a.jsonl -o OUT/out.safetensors",
    "csv": "flat.jsonl -o OUT/out.csv",
    "tsv": "flat.jsonl -o OUT/out.tsv",
    "libsvm": "a.libsvm -o OUT/out.libsvm",
    "matrix-market": "a.mtx -o OUT/out.mtx",
    "megatron": "n.jsonl -o OUT/out.idx",
    "tfds": "a.jsonl --to tfds -o OUT/out",
    "webdataset": "samples.jsonl -o OUT/out.tar",
    "text": "text.jsonl -o OUT/out.txt",
    "shards": "a.jsonl -o OUT/out@3.parquet",
    "numbered": "n.jsonl -o 'OUT/out-####.npz'",
}
SIZES = [1, 12, 100, 4095, 4096, 4097, 65535, 65536, 65537]


class Tatter:
    def __init__(self, program, base):
        self.program, self.base = program, base
        self.nruns, self.failures = 0, []

    def start(self, arguments, out, **options):
        """A run with `arguments`, in which OUT is the folder for the output."""
        command = f'exec "$TATTER" {arguments}'.replace("OUT", str(out))
        environment = dict(os.environ, TATTER=self.program)
        self.nruns += 1
        return subprocess.Popen(["bash", "-c", command], cwd=self.base, env=environment, stderr=subprocess.PIPE, **options)

    def end(self, process):
        """The status and the messages."""
        try:
            _, messages = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, "it hangs"
        return process.returncode, messages.decode(errors="replace")

    def run(self, arguments, out, **options):
        return self.end(self.start(arguments, out, **options))

    def expect(self, what, is_right, status, messages, found=()):
        if not is_right:
            self.failures.append(f"{what}: status {status}, {sorted(map(str, found))}: {messages.strip()}")
            print("    " + self.failures[-1], flush=True)

    def fails(self, what, ran, reasons, found, statuses=(3,)):
        """Checks that a run has failed with one of the reasons and left nothing."""
        status, messages = ran
        is_told = any(reason in messages.lower() for reason in reasons) and re.match(r"((notice|\w+): .*\n)*error: .", messages)
        self.expect(what, status in statuses and bool(is_told) and not found, status, messages, found)

    def settles(self, what, ran, reasons, found, complete, **expected):
        """Checks that a run has either failed so or written all."""
        if ran[0] == 0:
            self.expect(what, found == complete, *ran, [name for name in found.keys() | complete.keys() if found.get(name) != complete.get(name)])
        else:
            self.fails(what, ran, reasons, found, **expected)


def reason(*numbers):
    return [os.strerror(number).lower() for number in numbers]


def contents(folder):
    """The files below a folder, with what they contain."""
    paths = [path for path in Path(folder).rglob("*") if path.is_file() or path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in paths}


def clear(folder):
    for path in Path(folder).iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@contextmanager
def mounted(options):
    """A file system in memory, or None."""
    with tempfile.TemporaryDirectory(prefix="tatter-mount-") as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
        if done.returncode != 0:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def spread(n, number):
    """Numbers from 0 up to `n`, about `number` of them, the first and the last included."""
    return sorted({n * i // (number - 1) for i in range(number)})


def size_limits(tatter, quick):
    """No file may become longer than a number of bytes: the output ends after each of many bytes."""
    with tempfile.TemporaryDirectory(prefix="tatter-out-") as out:
        for name, arguments in OUTPUTS.items():
            status, messages = tatter.run("convert --threads 2 " + arguments, out)
            complete = contents(out)
            tatter.expect(f"{name} without a limit", status == 0, status, messages)
            longest = max(map(len, complete.values()), default=0)
            limits = [0, longest // 2, longest - 1] if quick else [*range(9), *SIZES, *spread(longest, 40), *range(longest - 40, longest + 1)]
            for limit in sorted({limit for limit in limits if 0 <= limit <= longest}):
                clear(out)
                limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                ran = tatter.run("convert --threads 2 " + arguments, out, preexec_fn=limited)
                tatter.settles(f"{name} of at most {limit} bytes", ran, reason(errno.EFBIG), contents(out), complete)
            clear(out)


def full_disk(tatter, quick):
    """A file system with room for no page of the output, for one, for two, ..., and then for all."""
    size = 4 << 20
    with mounted(f"size={size}") as disk:
        if disk is None:
            return "no file system can be mounted here"
        out = disk / "out"
        page = os.statvfs(disk).f_frsize
        for name, arguments in OUTPUTS.items():
            out.mkdir()
            status, messages = tatter.run("convert --threads 2 " + arguments, out)
            complete = contents(out)
            tatter.expect(f"{name} on an empty disk", status == 0, status, messages)
            npages = sum(-(-len(content) // page) for content in complete.values())
            # Formats with an index or a spool need more than they leave.
            for free in spread(npages, 3) if quick else spread(2 * npages + 4, 48):
                clear(out)
                with open(disk / "rest", "wb") as rest:
                    os.posix_fallocate(rest.fileno(), 0, (os.statvfs(disk).f_bavail - free) * page)
                ran = tatter.run("convert --threads 2 " + arguments, out)
                found = contents(out)
                (disk / "rest").unlink()
                tatter.settles(f"{name} with {free} pages free", ran, reason(errno.ENOSPC), found, complete)
            shutil.rmtree(out)
    with mounted("size=4m,nr_inodes=12") as disk:
        ran = tatter.run("convert " + OUTPUTS["numbered"], disk)
        tatter.fails("numbered without inodes", ran, reason(errno.ENOSPC), contents(disk))


def read_only(tatter, quick):
    """A file system mounted read-only, and a folder without permission to write."""
    names = ["jsonl", "parquet", "npz", "tfds", "shards"] if quick else OUTPUTS
    with mounted("size=1m") as disk:
        if disk and subprocess.run(["mount", "-o", "remount,ro", str(disk)]).returncode == 0:
            for name in names:
                ran = tatter.run("convert " + OUTPUTS[name], disk)
                tatter.fails(f"{name} into a read-only file system", ran, reason(errno.EROFS), contents(disk))
    other = {"user": 65534} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="tatter-out-") as out:
        os.chmod(out, 0o555)
        for name in names:
            ran = tatter.run("convert " + OUTPUTS[name], out, **other)
            tatter.fails(f"{name} into a folder without permission", ran, reason(errno.EACCES), contents(out))
        os.chmod(out, 0o755)


def begun(out):
    """Waits until a run has begun to write into a folder."""
    end = time.time() + SECONDS
    while time.time() < end and not any(path.is_file() and path.stat().st_size for path in out.rglob("*")):
        time.sleep(0.005)


def vanishing_folder(tatter, quick):
    """The folder of the output is removed, or renamed and replaced by another one, while a run writes into it."""
    text = b"".join(b"%d\n" % i for i in range(30_000))
    for output in ["out.jsonl", "out@3.jsonl", "out-#######.jsonl"] + ([] if quick else ["out.jsonl.gz", "out.parquet", "out.npz", "out.tfrecord", "out.txt"]):
        for change in ["removed", "replaced"]:
            with tempfile.TemporaryDirectory(prefix="tatter-out-") as base:
                out = Path(base) / "out"
                out.mkdir()
                process = tatter.start(f"convert --from text -o 'OUT/{output}'", out, stdin=subprocess.PIPE)
                process.stdin.write(text)
                process.stdin.flush()
                begun(out)
                if change == "removed":
                    # Again, if the run has just created a file.
                    while out.exists():
                        shutil.rmtree(out, ignore_errors=True)
                else:
                    out.rename(Path(base) / "before")
                    out.mkdir()
                # A run that opens files as it proceeds has already ended.
                with suppress(BrokenPipeError):
                    process.stdin.write(text)
                ran = tatter.end(process)
                found = contents(base)
                # What is in the renamed folder cannot be found by its name.
                found = {name: found[name] for name in found if not re.match(r"before/\.out.*\.tatter(/|$)", name)}
                tatter.fails(f"{output}: folder {change}", ran, reason(errno.ENOENT), found)


def changing_input(tatter, quick):
    """An input that is truncated, replaced or removed while a run has read part of it and waits for a reader of its output."""
    kinds = ["jsonl", "tfrecord", "parquet", "arrow"]
    if not quick:
        kinds += ["arrows", "npz", "jsonl.gz", "jsonl.zst", "safetensors", "array_record", "csv"]
    options = {"tfrecord": "--scalar id", "array_record": "--scalar id"}
    with tempfile.TemporaryDirectory(prefix="tatter-out-") as base:
        base = Path(base)
        rows = [json.dumps({"id": i, "text": "t" * (i % 50 + 1)}) + "\n" for i in range(200_000)]
        (base / "in.jsonl").write_text("".join(rows))
        os.mkfifo(base / "fifo")
        for kind in kinds:
            # Without compression, so that the file is not read at once.
            plain = "--compression none --row-group-rows 10000" if kind == "parquet" else ""
            subprocess.run(f"'{tatter.program}' convert in.jsonl -o content.{kind} {plain}", shell=True, cwd=base, check=True)
            content = (base / f"content.{kind}").read_bytes()
            name, out, complete = base / f"changing.{kind}", base / "out", None
            for change in ["nothing", "truncated", "emptied", "replaced", "removed"]:
                name.write_bytes(content)
                out.mkdir()
                arguments = f"split 'id % 2 == 0' {name} {options.get(kind, '')} --chunk-rows 1000 -o {base}/fifo --else OUT/odd.jsonl"
                process = tatter.start(arguments, out)
                fifo = os.open(base / "fifo", os.O_RDONLY | os.O_NONBLOCK)
                while not select.select([fifo], [], [], 0.05)[0] and process.poll() is None:
                    pass
                if change == "truncated":
                    os.truncate(name, len(content) * 9 // 10)
                elif change == "emptied":
                    os.truncate(name, 0)
                elif change == "replaced":
                    (base / "other").write_bytes(content[: len(content) // 2])
                    (base / "other").rename(name)
                elif change == "removed":
                    name.unlink()
                os.set_blocking(fifo, True)
                while process.poll() is None and os.read(fifo, 1 << 20):
                    pass
                os.close(fifo)
                ran = tatter.end(process)
                found = contents(out)
                complete = complete or found
                # Formats that are not read from the beginning to the end cannot tell a file that becomes shorter from a damaged one.
                reasons = ["truncated", "too early", "unexpected end of file"]
                tatter.settles(f"{kind} {change}", ran, reasons, found, complete, statuses=(1, 3))
                tatter.expect(f"{kind} {change}", change != "nothing" or "odd.jsonl" in found, *ran, found)
                shutil.rmtree(out)


def same_output(tatter, quick):
    """Runs with different inputs and the same output at the same time."""
    with tempfile.TemporaryDirectory(prefix="tatter-out-") as folder:
        folder = Path(folder)
        for i in range(4):
            (folder / f"{i}.jsonl").write_text(lines(2000 + 500 * i, 10_000 * i))
        for output in ["out.jsonl", "out.parquet", "out.npz", "out@2.tfrecord"] + ([] if quick else ["out.arrow", "out.jsonl.gz", "out.array_record"]):
            alone = []
            for i in range(4):
                (folder / "out").mkdir()
                tatter.run(f"convert {folder}/{i}.jsonl -o OUT/{output}", folder / "out")
                alone.append(contents(folder / "out"))
                shutil.rmtree(folder / "out")
            for turn in range(2 if quick else 40):
                (folder / "out").mkdir()
                processes = [tatter.start(f"convert {folder}/{i}.jsonl -o OUT/{output}", folder / "out") for i in range(4)]
                ran = [tatter.end(process) for process in processes]
                found = contents(folder / "out")
                # Shards are renamed one by one: each is that of some run.
                is_complete = found.keys() == alone[0].keys() and all(any(one[name] == found[name] for one in alone) for name in found)
                status, messages = max(ran)
                tatter.expect(f"{output} of several runs", status == 0 and is_complete, status, messages, found)
                shutil.rmtree(folder / "out")


def killed_beside(tatter, quick):
    """A run is killed while another one writes the same output: the other one is not disturbed, and the next one tidies up."""
    text = b"".join(b"%d\n" % i for i in range(30_000))
    for output in ["out.jsonl"] if quick else ["out.jsonl", "out.parquet", "out@2.txt", "out.npz"]:
        with tempfile.TemporaryDirectory(prefix="tatter-out-") as out:
            runs = [tatter.start(f"convert --from text -o OUT/{output}", out, stdin=subprocess.PIPE) for _ in range(2)]
            for run in runs:
                run.stdin.write(text)
                run.stdin.flush()
            begun(Path(out))
            runs[0].send_signal(signal.SIGKILL)
            tatter.end(runs[0])
            third = tatter.run(f"convert --from text -o OUT/{output}", out, stdin=subprocess.DEVNULL)
            tatter.expect(f"{output} after a killed run", third[0] == 0, *third)
            status, messages = tatter.end(runs[1])
            found = contents(out)
            tatter.expect(f"{output} beside a killed run", status == 0 and not any(".tatter" in name for name in found), status, messages, found)


def no_network(tatter, quick):
    """A process without network interfaces, apart from a loopback that is down."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        return "no network can be removed here"
    with tempfile.TemporaryDirectory(prefix="tatter-out-") as out:
        for name in ["jsonl", "parquet", "tfds"] if quick else OUTPUTS:
            tatter.run("convert " + OUTPUTS[name], out)
            complete = contents(out)
            clear(out)
            process = subprocess.run(
                ["unshare", "-n", "bash", "-c", f'exec "{tatter.program}" convert {OUTPUTS[name]}'.replace("OUT", out)],
                cwd=tatter.base,
                capture_output=True,
                timeout=SECONDS,
            )
            tatter.expect(f"{name} without a network", process.returncode == 0 and contents(out) == complete, process.returncode, process.stderr.decode())
            clear(out)


SURROUNDINGS = {
    "size-limits": size_limits,
    "full-disk": full_disk,
    "read-only": read_only,
    "vanishing-folder": vanishing_folder,
    "changing-input": changing_input,
    "same-output": same_output,
    "killed-beside": killed_beside,
    "no-network": no_network,
}


def inputs(tatter, folder):
    (folder / "a.jsonl").write_text(lines(3000))
    (folder / "n.jsonl").write_text("".join('{"text": [%d, 2, 3]}\n' % i for i in range(40)))
    (folder / "flat.jsonl").write_text("".join('{"id": %d, "text": "t, %d"}\n' % (i, i) for i in range(2000)))
    (folder / "text.jsonl").write_text("".join('{"text": "line %d"}\n' % i for i in range(2000)))
    (folder / "samples.jsonl").write_text("".join('{"__key__": "%d", "txt": "t%d", "json": {"a": %d}}\n' % (i, i, i) for i in range(40)))
    (folder / "a.libsvm").write_text("".join(f"{i % 2} {i % 9 + 1}:0.5 {i % 9 + 20}:{i}\n" for i in range(500)))
    (folder / "a.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n500 9 500\n" + "".join(f"{i + 1} {i % 9 + 1} {i}\n" for i in range(500)))


def main():
    program, *names = sys.argv[1:]
    quick = "--quick" in names
    names = [name for name in names if not name.startswith("--")]
    if unknown := set(names) - SCENARIOS.keys() - SURROUNDINGS.keys():
        sys.exit(f"no such scenario: {', '.join(sorted(unknown))}")
    names = [name for name in names if name in SURROUNDINGS] if names else list(SURROUNDINGS)
    nruns, failures = 0, []
    with tempfile.TemporaryDirectory(prefix="tatter-surroundings-") as base:
        os.chmod(base, 0o755)
        inputs(program, Path(base))
        for name in names:
            tatter = Tatter(program, Path(base))
            skipped = SURROUNDINGS[name](tatter, quick)
            print(f"{name}: " + (f"skipped: {skipped}" if skipped else f"{tatter.nruns} runs, {len(tatter.failures)} wrong"), flush=True)
            nruns += tatter.nruns
            failures += tatter.failures
    print(f"{nruns} runs in other surroundings, {len(failures)} wrong")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
