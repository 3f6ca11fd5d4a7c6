#!/bin/sh
# wheel.sh WHEEL: tests the wheel in a fresh environment: the program, its exit codes, Ctrl-C, the module.
set -eu
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TATTER_BIN PYTHONPATH
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
cd "$work"
python=$work/venv/bin/python
printf '{"x": [1, 2]}\n{"x": []}\n' > x.jsonl

cat > interrupt.py << 'PYTHON'
import signal, subprocess, sys, time
process = subprocess.Popen([*sys.argv[1:], "tail", "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
process.stdin.write(b'{"x": 1}\n' * 100)
process.stdin.flush()
while open(f"/proc/{process.pid}/comm").read().strip() != "tatter":
    time.sleep(0.1)
time.sleep(2)
process.send_signal(signal.SIGINT)
print(process.wait())
PYTHON

code() { "$@" > /dev/null 2>&1 && echo 0 || echo $?; }
for program in "$work/venv/bin/tatter" "$python -m tatter_data"; do
    [ "$($program count x.jsonl)" = 2 ]
    [ "$(code $program select y x.jsonl)" = 2 ]
    [ "$(code $program count missing)" = 3 ]
    [ "$(printf '{"x": [}\n' | code $program convert)" = 1 ]
    # Ctrl-C reaches the program in both cases.
    [ "$("$python" interrupt.py $program)" = 130 ]
done
"$python" - << 'PYTHON'
import os, pathlib, tatter_data as td, pyarrow as pa

assert td.find_tatter().startswith(os.environ.get("VIRTUAL_ENV", "") or str(pathlib.Path(td.__file__).parents[4]))
assert pa.table(td.read("x.jsonl", "map 'n = len(x)'")).column("n").to_pylist() == [2, 0]
td.write(td.read("x.jsonl"), "x.tfrecord")
assert td.read("x.tfrecord").to_arrow().num_rows == 2
assert td.__version__
PYTHON
# Another place that pip installs to.
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$work/target" "$wheel"
"$work/venv/bin/python" -m pip uninstall --quiet --yes tatter-data
[ "$(PYTHONPATH=$work/target "$python" -m tatter_data count x.jsonl)" = 2 ]
echo 'the wheel works'
