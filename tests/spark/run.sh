#!/bin/sh
# run.sh TATTER [PYTEST ARGUMENTS]: tests pipe and the data source on Spark with the program TATTER.
#
#     tests/spark/run.sh target/release/tatter           a quick slice in one process
#     CLUSTER=1 tests/spark/run.sh target/release/tatter everything, on a cluster of two executors
#
# Creates its own Python environment (SPARK_VENV, or target/spark-venv) from PyPI; installs a Java runtime with apt-get if
# there is none. If either fails, the tests are skipped with a message.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tatter=$(realpath "$1")
shift
skip() {
    printf 'tests/spark: skipped: %s\n' "$1"
    exit 0
}
if ! command -v java > /dev/null; then
    { apt-get update && apt-get install -y --no-install-recommends default-jre-headless; } > /dev/null 2>&1 || true
    command -v java > /dev/null || skip 'there is no Java runtime, and apt-get cannot install one'
fi
venv=${SPARK_VENV:-$here/../../target/spark-venv}
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" || skip 'PyPI is unreachable'
    cp "$here/requirements.txt" "$venv/requirements.txt"
fi
export TATTER_BIN="$tatter" PYTHONPATH="$here/../../python" PYTHONDONTWRITEBYTECODE=1 PYSPARK_PYTHON="$venv/bin/python"
export SPARK_LOCAL_IP=127.0.0.1
cd "$here"
[ -n "${CLUSTER:-}" ] || set -- -m 'not cluster' "$@"
modules=../../python/tatter_data
exec "$venv/bin/python" -m pytest -q -c "$here/pytest.ini" -p no:cacheprovider --doctest-modules . "$modules/source.py" "$modules/spark.py" \
    "$modules/_sparktypes.py" --ignore=rate.py "$@"
