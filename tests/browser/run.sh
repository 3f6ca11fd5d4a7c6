#!/usr/bin/env bash
# run.sh PROGRAM [DIRECTORY]: opens the HTML reports of `stats` in a headless Chromium: they render in light and dark mode, print, log
# nothing to the console, load nothing, and have accessible tables. Skipped if there is no Chromium. Screenshots are kept in DIRECTORY.
set -euo pipefail
program=$(realpath "$1")
browser=$(command -v chromium chromium-browser google-chrome | head -1 || true)
[ -n "$browser" ] || { echo "browser: skipped: Chromium is not installed"; exit 0; }
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 "$here/data.py" 0 > before.jsonl
python3 "$here/data.py" 1 > after.jsonl
"$program" stats --as html before.jsonl -o one.html
"$program" stats --as html --against before.jsonl --max-drift 1 --padding 32 after.jsonl -o drift.html
"$program" stats --as html --by lang before.jsonl -o groups.html

browse() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --enable-logging=stderr --window-size=1200,1400 \
        --host-resolver-rules='MAP * ~NOTFOUND' "$@" 2>> log
}
for page in one drift groups; do
    browse --blink-settings=preferredColorScheme=1 --screenshot="$page-light.png" "file://$work/$page.html" > out
    browse --blink-settings=preferredColorScheme=0 --screenshot="$page-dark.png" "file://$work/$page.html" > out
    browse --print-to-pdf="$page.pdf" "file://$work/$page.html" > out
    browse --dump-dom "file://$work/$page.html" > "$page.dom"
    cmp -s "$page-light.png" "$page-dark.png" && { echo "browser: $page.html looks the same in light and dark mode"; exit 1; }
    [ -s "$page.pdf" ] || { echo "browser: $page.html was not printed"; exit 1; }
    python3 "$here/check.py" "$page.dom"
done
if grep CONSOLE log; then echo "browser: messages in the console"; exit 1; fi
if [ -n "${2:-}" ]; then mkdir -p "$OLDPWD/$2" && cp ./*.png ./*.pdf ./*.html "$OLDPWD/$2"; fi
echo "browser: 3 pages in light mode, dark mode and print; no messages in the console"
