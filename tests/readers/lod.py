"""Calls PaddlePaddle in a separate Python process, which is restarted if a call kills it."""
import json
import os
import subprocess

import numpy as np

from oracle import as_json


class Paddle:
    """The Python in PADDLE_PYTHON, if it has PaddlePaddle."""

    def __init__(self):
        self.python, self.process, self.why = os.environ.get("PADDLE_PYTHON", ""), None, None
        if not self.python:
            self.why = "PADDLE_PYTHON does not name a Python with PaddlePaddle"
        elif subprocess.run([self.python, "-c", "import paddle"], capture_output=True).returncode != 0:
            self.why = f"{self.python} has no PaddlePaddle"

    def run(self, text, inputs):
        """The outputs of a call in the format of the vectors; raises Paddle's error."""
        if self.process is None:
            worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "paddle_lod.py")
            self.process = subprocess.Popen([self.python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        request = {"text": text, "inputs": {name: flattened(t) for name, t in inputs.items()}}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.process = None
            raise Died
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return [output(t) for t in answer["outputs"]]


class Died(Exception):
    """The call killed Paddle's process: there is no result or error to compare with."""


def flattened(t):
    """A drawn tensor in the format of paddle_lod.py: each ragged axis is a level."""
    value, lengths, dims = t.value, [], list(t.dims)
    while len(dims) > 1 and dims[1] is None:
        lengths.append([len(row) for row in value])
        value = [v for row in value for v in row]
        dims = [None, *dims[2:]]
    shape = []
    at = value
    for dim in dims:
        shape.append(len(at) if isinstance(at, list) else dim)
        at = at[0] if isinstance(at, list) and at else dim
    leaves = value
    for _ in dims[1:]:
        leaves = [v for row in leaves for v in row]
    return {"dtype": t.dtype, "shape": shape, "value": as_json(leaves) if t.dtype not in ("float32", "float64") else [float(v) for v in leaves], "lengths": lengths}


def output(t):
    shape = t["shape"]
    value = np.array(t["value"], dtype=object).reshape(shape).tolist()
    dims = list(shape)
    for lengths in reversed(t["lengths"]):
        ends = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        value = [value[a:b] for a, b in zip(ends, ends[1:])]
        dims = [len(lengths), None, *dims[1:]]
    kind = {"kind": "ragged", "ragged_rank": len(t["lengths"])} if t["lengths"] else {"kind": "dense"}
    return {**kind, "dtype": t["dtype"], "shape": dims, "value": as_json(value)}
