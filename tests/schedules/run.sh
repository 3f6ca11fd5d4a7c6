#!/usr/bin/env bash
# run.sh [ITERATIONS]: runs the engine under a scheduler that permutes its threads: ITERATIONS (20,000) random schedules, as
# many with few switches, as many with panics, and a systematic enumeration of the schedules of the smallest flows.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target/schedules}
exec cargo run --release --quiet --locked -- "$@"
