#!/bin/sh
# Tests: vitest beside pytest (arguments go to pytest; --all takes those marked long too).
# The gateway's tests mostly wait on real clocks, so the two share the machine well; each prints whole, pytest's first.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
case " $* " in *" --all "*) export SLUICEWAY_TEST_ALL=1 ;; esac
log=$(mktemp)
node node_modules/vitest/vitest.mjs run >"$log" 2>&1 &
vitest=$!
trap 'kill "$vitest" 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=0
# One process more than there are cores: each waits for real parts now and then.
.venv/bin/pytest -n "$(($(getconf _NPROCESSORS_ONLN) + 1))" --dist loadgroup "$@" || failed=$?
wait "$vitest" || failed=$?
cat "$log"
exit "$failed"
