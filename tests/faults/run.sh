#!/bin/sh
# run.sh TATTER [--quick] [SCENARIO...]: makes each system call fail, one in each run (faults.py), and takes disk space, folders,
# inputs and the network away (surroundings.py). A name chooses a scenario of either.
# Needs Linux, a C compiler and python3.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tatter=$(realpath "$1")
shift
library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT
cc -shared -fPIC -O1 -Wall -Werror -o "$library/fault.so" "$here/fault.c" -ldl
status=0
python3 "$here/faults.py" "$tatter" "$library/fault.so" "$@" || status=1
python3 "$here/surroundings.py" "$tatter" "$@" || status=1
exit $status
