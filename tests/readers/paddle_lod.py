"""Evaluates calls in Paddle, run by a Python with PaddlePaddle: reads a line of JSON for each call from standard input and
writes a line with its result to standard output.

    {"text": "sequence_pool(x, 'sum')", "inputs": {"x": {"dtype", "shape", "value", "lengths"}}}
    {"outputs": [{"dtype", "shape", "value", "lengths"}]} or {"error": "..."}

`value` is flat, with the given shape; `lengths` are the recursive sequence lengths, empty for a plain tensor."""
import json
import os
import sys

import numpy as np
import paddle

NAMES = {name: getattr(paddle.static.nn, name) for name in dir(paddle.static.nn) if name.startswith("sequence_")}
NAMES["sequence_mask"] = paddle.nn.functional.sequence_mask


def run(call):
    program, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(program, startup):
        variables, feed = {}, {}
        for name, t in call["inputs"].items():
            array = np.array(t["value"], dtype=t["dtype"]).reshape(t["shape"])
            levels = len(t["lengths"])
            variables[name] = paddle.static.data(name, [-1 if levels else t["shape"][0], *t["shape"][1:]] if t["shape"] else [], t["dtype"], lod_level=levels)
            feed[name] = paddle.base.create_lod_tensor(array, t["lengths"], paddle.CPUPlace()) if levels else array
        results = eval(call["text"], dict(NAMES), variables)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        executor = paddle.static.Executor(paddle.CPUPlace())
        found = executor.run(program, feed=feed, fetch_list=results, return_numpy=False)
    return [{"dtype": str(a.dtype), "shape": list(a.shape), "value": a.reshape(-1).tolist(), "lengths": t.recursive_sequence_lengths()}
            for t in found for a in [np.array(t)]]


def main():
    answers = os.fdopen(os.dup(1), "w")
    # Keeps Paddle's own output out of the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    paddle.enable_static()
    for line in sys.stdin:
        try:
            answer = {"outputs": run(json.loads(line))}
        except Exception as e:  # any exception of Paddle or Python
            lines = [text for text in str(e).splitlines() if text.strip()]
            found = [text for text in lines if "Error:" in text] or lines[-1:] or [type(e).__name__]
            answer = {"error": found[0][:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
