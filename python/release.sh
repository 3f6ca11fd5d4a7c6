#!/bin/sh
# release.sh [OUT]: builds the wheel, source distribution, crate and stripped program in OUT (default: dist), with their
# SHA-256 checksums.
#
# The wheel is linked by zig and runs on Linux with glibc 2.17 or later (manylinux2014). TARGET=aarch64-unknown-linux-gnu
# builds for ARM instead of this machine's processor, after `rustup target add`. PROFILE=release builds in a fraction of the
# time, without link-time optimization; ZIG=no uses the system's linker and glibc.
# Needs a Rust toolchain, python3 with venv, and PyPI for maturin and zig.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$top/dist}
profile=${PROFILE:-dist}
target=${TARGET:-$(uname -m)-unknown-linux-gnu}
arch=${target%%-*}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/Cargo.toml" | head -n 1)

mkdir -p "$out"
out=$(cd "$out" && pwd)
venv=$top/target/release-venv
if ! [ -x "$venv/bin/maturin" ]; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
fi
PATH=$venv/bin:$PATH
cd "$top"
if [ "${ZIG:-yes}" = yes ]; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2'
    maturin build --locked --profile "$profile" --zig --compatibility manylinux_2_17 --target "$target" --out "$out"
else
    maturin build --locked --profile "$profile" --out "$out"
fi
maturin sdist --out "$out"
cargo package --locked --no-verify --allow-dirty
cp "target/package/tatter-$version.crate" "$out"

# The program from the wheel, with its man pages and completions.
name=tatter-$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$name/completions"
python3 -m zipfile -e "$(ls "$out"/tatter_data-"$version"-*"$arch".whl)" "$work/wheel"
cp "$work"/wheel/tatter_data-*.data/scripts/tatter "$work/$name/tatter"
chmod 755 "$work/$name/tatter"
# The program for this machine prints them.
if [ "$arch" = "$(uname -m)" ]; then
    program=$work/$name/tatter
else
    cargo build --locked --release
    program=target/release/tatter
fi
for shell in bash zsh fish; do
    "$program" completions "$shell" > "$work/$name/completions/tatter.$shell"
done
cp -r man README.md LICENSE CHANGELOG.md "$work/$name/"
tar -C "$work" -czf "$out/$name.tar.gz" "$name"

cd "$out"
sha256sum ./*.whl ./*.tar.gz ./*.crate > SHA256SUMS
cat SHA256SUMS
