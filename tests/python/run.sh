#!/bin/sh
# run.sh TATTER [PYTEST ARGUMENTS]: tests the Python module in the source tree with the program TATTER.
#
#     tests/python/run.sh target/release/tatter               everything
#     tests/python/run.sh target/release/tatter -m 'not slow' a quick slice
#
# Creates its own Python environment (PYTHON_VENV, or target/python-venv) from PyPI. PyTorch, which takes gigabytes, is
# installed only with TORCH=1; without it, its tests are skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tatter=$(realpath "$1")
shift
venv=${PYTHON_VENV:-$here/../../target/python-venv}
wanted=$(cat "$here/requirements.txt"; if [ "${TORCH:-}" = 1 ]; then printf 'torch\ntorchdata\n'; fi)
if [ "$wanted" != "$(cat "$venv/requirements.txt" 2>/dev/null)" ]; then
    python3 -m venv "$venv"
    printf '%s\n' "$wanted" > "$venv/wanted.txt"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/wanted.txt"
    mv "$venv/wanted.txt" "$venv/requirements.txt"
fi
export TATTER_BIN="$tatter" PYTHONPATH="$here/../../python" PYTHONDONTWRITEBYTECODE=1
export TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES=-1
cd "$here"
exec "$venv/bin/python" -m pytest -q -c "$here/pytest.ini" -p no:cacheprovider --doctest-modules . ../../python/tatter_data \
    --ignore=../../python/tatter_data/_tf.py --ignore=../../python/tatter_data/_torch.py \
    --ignore=../../python/tatter_data/spark.py --ignore=../../python/tatter_data/_sparktypes.py --ignore=../../python/tatter_data/source.py --ignore=../../python/tatter_data/ray.py \
    --ignore=../../python/tatter_data/__main__.py "$@"
