#!/usr/bin/env bash
# run.sh: builds the program and its standard library with ThreadSanitizer, and runs conversions and chains of verbs with
# several threads and small chunks: no race may be reported, and the output must equal that of one thread. Needs a nightly
# toolchain with rust-src (NIGHTLY=nightly-2026-04-14 selects one).
set -euo pipefail
cd "$(dirname "$0")/../.."
nightly=${NIGHTLY:-nightly}
target=x86_64-unknown-linux-gnu
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/sanitizer} CARGO_PROFILE_DEV_OPT_LEVEL=1
RUSTFLAGS=-Zsanitizer=thread cargo "+$nightly" build --quiet -Zbuild-std --target "$target" --bin tatter
tatter=$CARGO_TARGET_DIR/$target/debug/tatter
export TSAN_OPTIONS="halt_on_error=1 exitcode=99 atexit_sleep_ms=0"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in docs queries; do
    for _ in $(seq 2000); do cat "fixtures/inputs/$name.jsonl"; done > "$work/$name.jsonl"
    for form in tfrecord parquet arrow npz jsonl.gz jsonl.zst; do
        "$tatter" -q convert "$work/$name.jsonl" -o "$work/$name.$form" --threads 1 2> "$work/messages" || rm -f "$work/$name.$form"
    done
done

runs=0
# same COMMAND...: the output of several threads, which may arrive in any order within the program, equals that of one.
same() {
    "$tatter" -q "$@" -o "$work/one" --threads 1 --chunk-rows 64
    for threads in 2 3 8; do
        rm -rf "$work/many"
        "$tatter" -q "$@" -o "$work/many" --threads "$threads" --chunk-rows 64
        cmp "$work/one" "$work/many" || { echo "with $threads threads the output differs: $*"; exit 1; }
        runs=$((runs + 1))
    done
}
for input in "$work"/*.*; do
    for form in jsonl tfrecord parquet arrow; do
        # Not every format holds every field.
        if "$tatter" -q convert "$input" --to "$form" -o "$work/one" --threads 1 2> "$work/messages"; then
            same convert "$input" --to "$form"
        fi
    done
done
while IFS= read -r chain; do
    eval "same $chain \"\$work/queries.jsonl\""
done <<'CHAINS'
filter clicked then map 'n = len(query)' then sort --by n --to jsonl
shuffle --seed 7 then head 50 --to jsonl
explode query then unique --by query --to jsonl
explode query then count --by query --to jsonl
batch 7 then map 'm = fill_null(score, 0) - reduce_max(fill_null(score, 0))' then unbatch --to jsonl
select query then padded-batch 16 --to tfrecord
sample 0.5 --seed 3 then enumerate --to parquet
fill-null score=0 then cumsum score --by clicked --to arrow
stats --as json
select query then pack --length 16 --to jsonl
CHAINS
echo "$runs runs: no race, and the same bytes as with one thread"
