"""Random function calls in TensorFlow (sequence functions: Paddle) and in tatter: differential.py TATTER [--calls N] [--seed S] [--only NAME]
[--vectors FILE].

A call is one expression over the fields of a record; both evaluate the same text. PADDLE_PYTHON names a Python with
PaddlePaddle; without it, Paddle's functions are left out. Kinds of disagreement:
  value      both give a result, but the values or types differ
  refused    the library gives a result, tatter an error
  accepted   the library gives an error, tatter a result
  broken     tatter crashes or reports an internal error
The lines of deviations.txt next to this file list intended disagreements; any others are printed and fail the run.
--vectors appends the calls that disagree to FILE, in the format of fixtures/oracle."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys
import time

import oracle
import calls  # noqa: F401
import calls_dense  # noqa: F401
import calls_sparse  # noqa: F401
import calls_chains  # noqa: F401
import calls_keywords  # noqa: F401
import calls_numeric  # noqa: F401
import calls_structured  # noqa: F401
from calls_lod import LOD_CALLS
from draw import Draw
from lod import Died, Paddle
from registry import CALLS

BATCH = 40
# Absolute tolerances for functions whose small results TensorFlow computes as differences of larger numbers.
ABSOLUTE = {"nn.log_softmax": 2e-6, "nn.softmax": 1e-7, "nn.gelu": 1e-6, "math.lgamma": 1e-6, "math.digamma": 1e-6, "math.reduce_variance": 1e-6, "math.reduce_std": 1e-3,
            "nn.sparse_softmax_cross_entropy_with_logits": 1e-6, "nn.softmax_cross_entropy_with_logits": 1e-6, "linalg.inv": 1e-7}
NAMES = {"tf": oracle.tf, "math": math}
PADDLE = Paddle()


class Call:
    """A random call and the library's result."""

    def __init__(self, number, seed, name, text=None):
        self.number, self.name, self.why, self.kind, self.is_list = number, name, None, None, False
        # Without the remark on which arguments are drawn.
        self.function = name.removesuffix(" (keywords)")
        self.prefix = f"c{number}"
        rng = random.Random(f"{seed}.{number}")
        draw = Draw(rng, self.prefix, rng.choice([1, 1, 2, 3]))
        self.text = (CALLS.get(name) or LOD_CALLS[name])[0](draw)
        self.types, self.inputs = draw.types, draw.inputs
        self.records, self.error = [], None
        for r in range(draw.nrecords):
            try:
                result = self.result(r, {n: v[r] for n, v in draw.inputs.items()})
            except Died:
                self.records, self.error = [(r, None)], None
                break
            except Exception as e:  # any exception of TensorFlow or Python
                result = None
                self.error = " ".join(str(e).split())[:300] or type(e).__name__
            self.records.append((r, result))
        good = [(r, out) for r, out in self.records if out is not None]
        if good and self.error:
            # Only valid records are compared; the others would stop the run.
            self.records, self.error = good, None
        self.noutputs = len(self.records[0][1]) if not self.error and self.records[0][1] is not None else 0

    def result(self, r, values):
        """The library's result for a record."""
        if self.name in LOD_CALLS:
            return PADDLE.run(self.text, values)
        tensors = {n: oracle.to_tensorflow(v) for n, v in values.items()}
        result = eval(self.text, dict(NAMES), tensors)
        self.is_list = isinstance(result, (list, tuple))
        return oracle.outputs(result)

    def usable(self):
        return self.error is not None or self.noutputs > 0

    def fields(self, r):
        return {n: oracle.input_json(v[r]) for n, v in self.inputs.items()}

    def schema(self):
        return "; ".join(f"{n}: {t}" for n, t in self.types.items())

    def names(self):
        return [f"{self.prefix}o{i}" for i in range(max(self.noutputs, 1))]

    def assignment(self):
        """The assignment of the results to names; a list of one is subscripted."""
        several = self.noutputs > 1
        return f"{', '.join(self.names())} = {self.text}" if several or not self.is_list else f"{self.names()[0]} = ({self.text})[0]"

    def disagrees(self, kind, why):
        self.kind, self.why = kind, why


def tatter(program, arguments, stdin):
    done = subprocess.run([program, *arguments], input=stdin, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def arguments(calls, dummy="unused: int64"):
    schema = "; ".join(filter(None, [c.schema() for c in calls])) or dummy
    outputs = ",".join(n for c in calls for n in c.names())
    verbs = ["map", "; ".join(c.assignment() for c in calls), "then", "select", outputs]
    return verbs, ["--from", "jsonl", "--schema", schema]


def stdin(calls, rounds):
    """The input records: in each round, every call contributes its next record, or its last one again."""
    lines = []
    for i in range(rounds):
        record = {}
        for c in calls:
            record.update(c.fields(c.records[min(i, len(c.records) - 1)][0]))
        lines.append(json.dumps(record or {"unused": 0}, ensure_ascii=False) + "\n")
    return "".join(lines).encode()


def run_together(program, calls):
    """Compares calls that TensorFlow computes. A bad call fails the run of all: then each half is run separately."""
    rounds = max(len(c.records) for c in calls)
    verbs, options = arguments(calls)
    data = stdin(calls, rounds)
    try:
        status, out, err = tatter(program, verbs + options, data)
        typed, types, _ = tatter(program, verbs + ["then", "schema", "--as", "json"] + options, data) if status == 0 else (1, "", "")
    except subprocess.TimeoutExpired:
        status, err = -1, "it runs for more than 60 s"
    if status != 0:
        if len(calls) > 1:
            middle = len(calls) // 2
            run_together(program, calls[:middle])
            run_together(program, calls[middle:])
        elif status in (1, 2, 3):
            calls[0].disagrees("refused", first_line(err))
        else:
            calls[0].disagrees("broken", f"status {status}: {first_line(err)}")
        return
    records = [json.loads(line) for line in out.splitlines()]
    fields = {f["name"]: f for f in json.loads(types)["fields"]} if typed == 0 else {}
    for c in calls:
        for i in range(rounds):
            wanted = c.records[min(i, len(c.records) - 1)][1]
            for name, want in zip(c.names(), wanted):
                why = oracle.output_differs(want, records[i].get(name), ABSOLUTE.get(c.function, 0.0))
                why = why or (oracle.type_differs(want, fields.get(name, {})) if i == 0 and len(c.records) == 1 else None)
                if why and not c.why:
                    c.disagrees("value", f"{why} (record {i + 1}{', output ' + name[-1] if c.noutputs > 1 else ''})")


def run_refused(program, c):
    """Compares a call that TensorFlow refuses."""
    verbs, options = arguments([c])
    try:
        status, out, err = tatter(program, verbs + options, stdin([c], len(c.records)))
    except subprocess.TimeoutExpired:
        status, err = -1, "it runs for more than 60 s"
    if status == 0:
        c.disagrees("accepted", c.error)
    elif status not in (1, 2, 3):
        c.disagrees("broken", f"status {status}: {first_line(err)}")


def first_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return " / ".join(line.strip() for line in lines[:3])[:300]


class Deviations:
    """Lines `KIND NAME :: PATTERN :: REASON`: KIND and NAME as printed (either may be *, and NAME may end with *), PATTERN a
    regular expression that is searched for in the text of the call, its types, what differs and its records."""

    def __init__(self, path):
        self.rows, self.used = [], collections.Counter()
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.strip() and not line.startswith("#"):
                    head, pattern, reason = line.rstrip("\n").split(" :: ")
                    kind, name = head.split(" ", 1)
                    self.rows.append((kind, name, re.compile(pattern), reason))

    def reason(self, c):
        for kind, name, pattern, reason in self.rows:
            named = c.function.startswith(name[:-1]) if name.endswith("*") else c.function == name
            if kind in (c.kind, "*") and named and pattern.search(f"{c.text} | {c.schema()} | {c.why} | {json.dumps([c.fields(r) for r, _ in c.records])}"):
                self.used[f"{kind} {name} :: {pattern.pattern}", c.name] += 1
                return reason
        return None


def vector(c):
    """The call as a row of fixtures/oracle."""
    verbs, options = arguments([c])
    row = {"id": f"differential.{re.sub(r'[^a-z_]', '_', c.name.lower()).strip('_') or 'operator'}.{c.number}", "topic": "differential",
           "args": verbs + options, "stdin": stdin([c], len(c.records)).decode(), "kind": "error" if c.error else "value"}
    if not c.error:
        row["want"] = [dict(zip(c.names(), out)) for _, out in c.records]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tatter")
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--only", help="a regular expression of function names")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--vectors", help="append the calls that disagree to this file")
    parser.add_argument("--deviations", action="store_true", help="print how often, and for which function, each line of deviations.txt was needed")
    parser.add_argument("--show", type=int, default=4, help="how many disagreements of one function and kind to print")
    a = parser.parse_args()
    drawn = {**CALLS, **({} if PADDLE.why else LOD_CALLS)}
    if PADDLE.why:
        print(f"skipped: {len(LOD_CALLS)} Paddle functions: {PADDLE.why}")
    names = [n for n in drawn if not a.only or re.search(a.only, n)]
    weights = [drawn[n][1] for n in names]
    deviations = Deviations(os.path.join(os.path.dirname(os.path.abspath(__file__)), "deviations.txt"))
    # Discards TensorFlow's log of every refused call, but not an exception of this program.
    sys.stderr = os.fdopen(os.dup(2), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    rng, started = random.Random(a.seed), time.monotonic()
    pending, waiting, bad, counts = [], [], [], collections.Counter()
    computed = collections.Counter()
    # In a long run, each function is called at least once, in random order.
    order = rng.sample(names, len(names)) if a.calls >= len(names) else []

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        def settle(done):
            for c in done:
                if c.why:
                    reason = deviations.reason(c)
                    counts["deviations" if reason else c.kind] += 1
                    if not reason:
                        bad.append(c)
                else:
                    counts["agree"] += 1

        def start(work, calls):
            waiting.append((pool.submit(work, a.tatter, calls if work is run_together else calls[0]), calls))
            while len(waiting) > 8:
                future, done = waiting.pop(0)
                future.result()
                settle(done)

        for number in range(a.calls):
            name = order[number] if number < len(order) else rng.choices(names, weights)[0]
            c = Call(number, a.seed, name)
            if not c.usable():
                counts["no tensor"] += 1
                continue
            computed[name, "error" if c.error else "value"] += 1
            if c.error:
                start(run_refused, [c])
                continue
            pending.append(c)
            if len(pending) == BATCH:
                start(run_together, pending)
                pending = []
        if pending:
            start(run_together, pending)
        for future, done in waiting:
            future.result()
            settle(done)

    groups = collections.defaultdict(list)
    for c in bad:
        groups[c.name, c.kind].append(c)
    for (name, kind), calls in sorted(groups.items()):
        print(f"{kind} {name}: {len(calls)}")
        for c in calls[:a.show]:
            print(f"  {c.text}\n    {c.why}\n    {c.schema()}\n    {stdin([c], len(c.records)).decode().strip()[:500]}")
    if a.deviations:
        for (line, name), n in sorted(deviations.used.items()):
            print(f"{n} {name}: {line}")
    if a.vectors:
        with open(a.vectors, "a", encoding="utf-8") as out:
            for c in bad:
                out.write(json.dumps(vector(c), ensure_ascii=False, separators=(",", ":")) + "\n")
    functions = {n for n, _ in computed}
    print(f"{sum(computed.values())} calls of {len(functions)} functions ({sum(v for (_, k), v in computed.items() if k == 'error')} refused by "
          f"TensorFlow) in {time.monotonic() - started:.0f} s: " + ", ".join(f"{k} {v}" for k, v in sorted(counts.items())))
    sys.exit(1 if bad else 0)


main()
