#!/usr/bin/env bash
# run.sh [ITERATIONS]: the engine under a scheduler that permutes its threads: ITERATIONS (20,000) of random schedules, as
# many that switch at few points, as many with panics, and the schedules of the smallest flows one after the other.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target/schedules}
exec cargo run --release --quiet --locked -- "$@"
