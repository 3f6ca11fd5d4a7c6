#!/bin/sh
# run.sh [N]: builds the program for ARM, runs it under emulation, and compares its output byte by byte with that of the
# program for this machine: N (400) of the vectors in fixtures/oracle, and conversions of fixtures/inputs to every format.
# Needs, on Debian: rustup target add aarch64-unknown-linux-gnu; apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -eu
cd "$(dirname "$0")/../.."
target=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
cargo build --quiet --locked
cargo build --quiet --locked --target "$target"
built=${CARGO_TARGET_DIR:-target}
exec python3 tests/processors/compare.py "${1:-400}" "$built/debug/tatter" -- \
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$built/$target/debug/tatter"
