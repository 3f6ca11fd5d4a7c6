#!/bin/sh
# run.sh TATTER [--quick] [SCENARIO...]: makes each system call fail, one in each run; see faults.py.
# Needs Linux, a C compiler and python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tatter=$(realpath "$1")
shift
library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT
cc -shared -fPIC -O1 -Wall -Werror -o "$library/fault.so" "$here/fault.c" -ldl
python3 "$here/faults.py" "$tatter" "$library/fault.so" "$@"
