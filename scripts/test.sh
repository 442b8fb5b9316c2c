#!/bin/sh
# Tests: pytest (arguments go to it) and vitest. With --all those marked long too, as CI runs them.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
failed=0
case " $* " in *" --all "*)
    # What real models are tested on, once; where it can't be had, those tests are skipped and say so.
    .venv/bin/python -m tests.models || echo "no real weights: the tests of real models are skipped" >&2
    # Long ones put a whole stage under load and watch it: nothing runs beside them.
    SLUICEWAY_TEST_ALL=1 node node_modules/vitest/vitest.mjs run || failed=$?
    .venv/bin/pytest -n auto --dist loadgroup "$@" || failed=$?
    exit "$failed"
    ;;
esac
# Vitest mostly waits on real clocks, so the two share the machine well; each prints whole, pytest's first.
log=$(mktemp)
node node_modules/vitest/vitest.mjs run >"$log" 2>&1 &
vitest=$!
trap 'kill "$vitest" 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Each process imports all tests, ten seconds of processor: while one waits for real parts, vitest has its core.
.venv/bin/pytest -n "$(getconf _NPROCESSORS_ONLN)" --dist loadgroup "$@" || failed=$?
wait "$vitest" || failed=$?
cat "$log"
exit "$failed"
