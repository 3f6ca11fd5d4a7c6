#!/bin/sh
# run.sh TATTER [PYTEST ARGUMENTS]: tests the Ray Dataset with the program TATTER.
#
# Creates its own Python environment (RAY_VENV, or target/ray-venv) from PyPI. If that fails, the tests are skipped with a
# message.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tatter=$(realpath "$1")
shift
venv=${RAY_VENV:-$here/../../target/ray-venv}
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"; then
        printf 'tests/ray: skipped: PyPI is unreachable\n'
        exit 0
    fi
    cp "$here/requirements.txt" "$venv/requirements.txt"
fi
export TATTER_BIN="$tatter" PYTHONPATH="$here/../../python" PYTHONDONTWRITEBYTECODE=1
export RAY_USAGE_STATS_ENABLED=0 RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0
cd "$here"
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
