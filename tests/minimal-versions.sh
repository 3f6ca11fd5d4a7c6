#!/bin/sh
# minimal-versions.sh: checks that tatter builds with the oldest versions of its crates that Cargo.toml allows. Needs a nightly
# toolchain, which chooses them, and network access for crates.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cd "$root"
git ls-files -z | xargs -0 tar -cf - | tar -xf - -C "$copy"
cd "$copy"
rm Cargo.lock
cargo +nightly generate-lockfile -Z direct-minimal-versions
# The toolchain of the project builds it.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target/minimal-versions} cargo check --locked --all-targets
