#!/bin/sh
# Tests: pytest (arguments go to it; --all takes those marked long too) with vitest beside it, whose report comes last.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
report=$(mktemp)
trap 'rm -f "$report"' EXIT
node node_modules/vitest/vitest.mjs run >"$report" 2>&1 &
vitest=$!
failed=0
.venv/bin/pytest -n auto --dist loadgroup "$@" || failed=$?
wait "$vitest" || failed=$?
cat "$report"
exit "$failed"
