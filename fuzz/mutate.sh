#!/usr/bin/env bash
# mutate.sh SECONDS [TARGET...]: runs each fuzz target (default: all) for SECONDS over random changes of its seeds (those in
# the repository, those that seeds.sh generates, the corpus of run.sh) and of the structures in them (src/structure), with
# checks of overflow and debug assertions. Needs a release build, and neither a fuzzer nor a nightly toolchain. SEED=N draws
# other changes.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?SECONDS}
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
fi
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target/mutate}
# The versions of crates that the program has.
cp ../Cargo.lock mutate/Cargo.lock
cargo build --release --quiet --manifest-path mutate/Cargo.toml
[ -d seeds/made ] || ./seeds.sh seeds/made
status=0
for target in "${targets[@]}"; do
    "$CARGO_TARGET_DIR/release/tatter-mutate" "$target" "$seconds" "${SEED:-1}" "seeds/$target" "seeds/made/$target" "corpus/$target" || status=1
done
exit $status
