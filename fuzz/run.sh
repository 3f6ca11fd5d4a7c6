#!/usr/bin/env bash
# run.sh MINUTES [TARGET...]: divides MINUTES among the fuzz targets (default: all), runs each from its seeds (those in the
# repository and those that seeds.sh generates) and the corpus of earlier runs, then minimizes the corpus. Needs cargo-fuzz, a
# nightly toolchain and a release build.
set -euo pipefail
cd "$(dirname "$0")"
minutes=${1:?MINUTES}
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
fi
./seeds.sh seeds/made
# The versions of crates that the program has.
cp ../Cargo.lock Cargo.lock
seconds=$((minutes * 60 / ${#targets[@]}))
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    cargo +nightly fuzz run "$target" "corpus/$target" "seeds/$target" "seeds/made/$target" -- -max_total_time="$seconds" -print_final_stats=1 -rss_limit_mb=4096
    cargo +nightly fuzz cmin "$target" "corpus/$target"
done
