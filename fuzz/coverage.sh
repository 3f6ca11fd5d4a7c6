#!/usr/bin/env bash
# coverage.sh SECONDS [TARGET...]: what the fuzz targets (default: all) reach of the source: runs each over its seeds, those that
# seeds.sh generates and the corpus of run.sh, then for SECONDS over random changes of them, and prints a table of the folders
# and the files of which nothing is reached. Needs a release build and `rustup component add llvm-tools`. The binary can be
# given as MUTATE.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?SECONDS}
shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    mapfile -t targets < <(basename -s .rs fuzz_targets/*.rs)
fi
tools=$(dirname "$(rustc --print target-libdir)")/bin
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target/coverage}
if [ -z "${MUTATE:-}" ]; then
    cp ../Cargo.lock mutate/Cargo.lock
    RUSTC_WRAPPER=$PWD/instrument.sh cargo build --release --quiet --manifest-path mutate/Cargo.toml
    MUTATE=$CARGO_TARGET_DIR/release/tatter-mutate
fi
[ -d seeds/made ] || ./seeds.sh seeds/made
profiles=$(mktemp -d)
trap 'rm -rf "$profiles"' EXIT
for target in "${targets[@]}"; do
    for until in seeds "$seconds"; do
        LLVM_PROFILE_FILE="$profiles/$target-$until.profraw" "$MUTATE" "$target" "$until" 1 "seeds/$target" "seeds/made/$target" "corpus/$target" || true
    done
done
"$tools/llvm-profdata" merge -sparse "$profiles"/*.profraw -o "$profiles/all"
"$tools/llvm-cov" export -summary-only -instr-profile "$profiles/all" "$MUTATE" > "$profiles/summary"
python3 - "$profiles/summary" "$(realpath ../src)/" <<'END'
import collections, json, sys
folders, untouched = collections.defaultdict(collections.Counter), []
for file in json.load(open(sys.argv[1]))["data"][0]["files"]:
    # Neither crates nor the targets themselves.
    if not file["filename"].startswith(sys.argv[2]):
        continue
    name = file["filename"].removeprefix(sys.argv[2])
    parts = name.split("/")
    folder = "/".join(parts[:-1][:2]) or "."
    summary = file["summary"]
    folders[folder].update({kind + "s": summary[kind + "s"]["count"] for kind in ["line", "function"]})
    folders[folder].update({kind + "s reached": summary[kind + "s"]["covered"] for kind in ["line", "function"]})
    if summary["functions"]["count"] and not summary["functions"]["covered"]:
        untouched.append((summary["lines"]["count"], name))
total = sum(folders.values(), collections.Counter())
print(f"{'folder':26} {'lines':>7} {'reached':>8} {'functions':>10} {'reached':>8}")
for folder, n in [*sorted(folders.items()), ("total", total)]:
    shares = [100 * n[kind + " reached"] // max(n[kind], 1) for kind in ["lines", "functions"]]
    print(f"{folder:26} {n['lines']:7} {shares[0]:7}% {n['functions']:10} {shares[1]:7}%")
print("\nnothing is reached of (lines):")
for nlines, name in sorted(untouched, reverse=True):
    print(f"  {name} ({nlines})")
END
