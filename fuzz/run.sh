#!/usr/bin/env bash
# run.sh MINUTES [TARGET...]: runs every fuzz target for its share of the minutes, from the seeds and from what earlier
# runs have found, then minimises the corpus. Needs cargo-fuzz and a nightly toolchain.
set -euo pipefail
cd "$(dirname "$0")"
minutes=${1:?MINUTES}
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
fi
seconds=$((minutes * 60 / ${#targets[@]}))
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    cargo +nightly fuzz run "$target" "corpus/$target" "seeds/$target" -- -max_total_time="$seconds" -print_final_stats=1 -rss_limit_mb=4096
    cargo +nightly fuzz cmin "$target" "corpus/$target"
done
