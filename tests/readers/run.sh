#!/bin/sh
# run.sh TATTER [NAME...]: common libraries read what tatter writes, and tatter reads what they write.
# run.sh TATTER differential [--calls N] [--seed S]: random function calls in tatter and TensorFlow; see differential.py.
# Creates its own Python environment (READERS_VENV, or target/readers-venv) from PyPI. NAMEs select suites: arrow csv facts jsonl numpy samples tfrecord.
# The suites `containers` and `tfds` have packages of their own and run only if they are named.
# Paddle's functions are called in a separate environment (PADDLE_VENV, or target/paddle-venv), and left out if it cannot be created.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tatter=$(realpath "$1")
shift
venv=${READERS_VENV:-$here/../../target/readers-venv}
requirements=requirements.txt
# Readers of containers other than tables, in a separate environment (CONTAINERS_VENV, or target/containers-venv).
if [ "${1:-}" = containers ]; then
    venv=${CONTAINERS_VENV:-$here/../../target/containers-venv}
    requirements=requirements-containers.txt
fi
# TensorFlow Datasets (TFDS_VENV, or target/tfds-venv).
if [ "${1:-}" = tfds ]; then
    venv=${TFDS_VENV:-$here/../../target/tfds-venv}
    requirements=requirements-tfds.txt
fi
if ! cmp -s "$here/$requirements" "$venv/$requirements"; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/$requirements"
    if [ "$requirements" = requirements-containers.txt ]; then
        # Packages of which only one module is used, without the frameworks that they require.
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements-containers-bare.txt"
    fi
    cp "$here/$requirements" "$venv/$requirements"
fi
export TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES=-1 PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
program=suite.py
if [ "${1:-}" = differential ]; then
    program=differential.py
    shift
    paddle=${PADDLE_VENV:-$here/../../target/paddle-venv}
    if ! cmp -s "$here/requirements-paddle.txt" "$paddle/requirements-paddle.txt"; then
        # If Paddle does not support this Python, the environment stays empty, and installation is not retried.
        python3 -m venv "$paddle"
        "$paddle/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements-paddle.txt" || true
        cp "$here/requirements-paddle.txt" "$paddle/requirements-paddle.txt"
    fi
    export PADDLE_PYTHON="$paddle/bin/python"
fi
exec "$venv/bin/python" "$here/$program" "$tatter" "$@"
