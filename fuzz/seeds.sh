#!/usr/bin/env bash
# seeds.sh DIR: writes the seeds of each fuzz target to DIR/TARGET: the fixtures in every format, codec and group size, and
# the command lines, expressions and schemas of the transcripts. Runs the program TATTER, or the release build.
set -euo pipefail
cd "$(dirname "$0")"
root=$PWD/..
tatter=$(realpath "${TATTER:-$root/target/release/tatter}")
mkdir -p "${1:?DIR}"
out=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# keep TARGET FILE...: copies the files as seeds of the target.
n=0
keep() {
    local target=$1 file
    shift
    mkdir -p "$out/$target"
    for file in "$@"; do
        n=$((n + 1))
        cp "$file" "$out/$target/$n"
    done
}
# texts TARGET: stores each line of standard input as a seed.
texts() {
    local line
    mkdir -p "$out/$1"
    while IFS= read -r line; do
        n=$((n + 1))
        printf '%b' "$line" > "$out/$1/$n"
    done
}
# write TARGET INPUT OPTION...: writes the input with these options; not every format can store every field.
write() {
    local target=$1 input=$2
    shift 2
    rm -rf "$work/written" "$work/written".*
    if "$tatter" convert "$input" -o "$work/written" "$@" 2> "$work/messages"; then
        if [ -f "$work/written" ]; then keep "$target" "$work/written"; fi
        if [ -f "$work/written.idx" ]; then keep "$target" "$work/written.idx"; fi
    fi
}

cp "$root"/fixtures/inputs/*.jsonl "$root"/fixtures/written/*/*.jsonl "$work"
printf '{"a":%d,"b":[[%d],[]],"c":{"d":"%d"}}\n' {1..60} > "$work/nested.jsonl"
printf '{"text":[%d,2,3]}\n' {1..40} > "$work/tokens.jsonl"
printf '{"w":0.%d,"t":"a, \\"%d\\"","n":null}\n' {1..20} > "$work/flat.jsonl"
for input in "$work"/*.jsonl; do
    keep json "$input"
    for codec in none zstd snappy gzip; do
        for rows in 1 3 1000; do
            write columnar "$input" --to parquet --compression $codec --row-group-rows $rows
            write array_record "$input" --to array-record --compression $codec --row-group-rows $rows
        done
    done
    for codec in none zstd lz4; do
        for format in arrow arrow-file; do
            write columnar "$input" --to $format --compression $codec
        done
    done
    for format in tfrecord sequence-example; do write tfrecord "$input" --to $format; done
    for format in npz npy safetensors; do write arrays "$input" --to $format; done
    for format in csv tsv; do write csv "$input" --to $format --list-separator '|'; done
    write megatron "$input" --to megatron
done
"$tatter" select features "$root"/fixtures/written/*/sparse.libsvm -o "$work/features.parquet"
for format in matrix-market scipy; do write matrices "$work/features.parquet" --to $format; done
keep matrices "$root"/fixtures/written/*/sparse.libsvm
"$tatter" enumerate then map '__key__ = as_string(index); json = t; txt = t' then select __key__,txt,json \
    "$work/flat.jsonl" -o "$work/members.jsonl"
write webdataset "$work/members.jsonl" --to webdataset
for file in "$root"/fixtures/inputs/array-record/*.gz; do
    gzip -dc "$file" > "$work/record"
    keep array_record "$work/record"
done
# A TFDS dataset: the first byte says which file it is.
for file in "$root"/fixtures/inputs/episodes/*/*; do
    case $file in *features.json) which='\0' ;; *dataset_info.json) which='\1' ;; *) which='\2' ;; esac
    { printf "$which"; cat "$file"; } > "$work/file"
    keep tfds "$work/file"
done

transcripts=("$root"/fixtures/cases/*/*.txt)
{ grep -hoE -- "--schema '[^']+'" "${transcripts[@]}" | sed -E "s/^--schema '(.*)'$/\1/"; cat "$root"/fixtures/written/*/*.schema | tr -d '\n'; } |
    sort -u | tee "$work/schemas" | texts schema
while IFS= read -r schema; do
    for format in jsonl json tfrecord; do
        { printf '%s\n%s\0' "$format" "$schema"; head -c 300 "$work/docs.jsonl"; } > "$work/declared"
        keep declared "$work/declared"
    done
done < "$work/schemas"
# `map` and `filter`: byte 0 precedes statements, byte 1 an expression.
grep -hoE "(map|filter) '[^']+'" "${transcripts[@]}" | sed -E "s/^map '(.*)'$/\\\\0000\1/; s/^filter '(.*)'$/\\\\0001\1/" | sort -u | texts expression
grep -hE '^\$ tatter [^|>;&$]*$' "${transcripts[@]}" | sed -E 's/^\$ //' | sort -u | while IFS= read -r line; do
    if xargs printf '%s\n' <<< "$line" 2> "$work/messages" > "$work/words"; then
        keep command "$work/words"
    fi
done
# Large files only slow a fuzzer down; an ArrayRecord consists of whole 64 KiB blocks.
find "$out" -type f -size +130k -delete
for target in "$out"/*; do
    echo "$(basename "$target"): $(find "$target" -type f | wc -l) seeds"
done
