#!/bin/sh
# Tests: pytest (arguments go to it) and vitest. With --all those marked long too, as CI runs them.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
failed=0
log=$(mktemp)
vitest= shown=
trap 'kill $vitest $shown 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What real models and signatures are tested with, once; where it can't be had, those tests are skipped and say so.
fetched() {
    .venv/bin/python -m tests.models "$@" || echo "no real weights: the tests of real models are skipped" >&2
    .venv/bin/python -m tests.signer || echo "no model-signing: the tests of signatures are skipped" >&2
}

# At the very end, since that is what is read first: which of vitest's tests failed, and why.
end() {
    sed -n -E '/ (Failed Tests|Failed Suites|Unhandled Errors) /,$p' "$log" | head -n 300
    exit "$failed"
}

case " $* " in *" --all "*)
    fetched
    # Long ones put a whole stage under load and watch it: nothing runs beside them.
    SLUICEWAY_TEST_ALL=1 node node_modules/vitest/vitest.mjs run >"$log" 2>&1 &
    vitest=$!
    tail -n +1 -f "$log" &
    shown=$!
    wait "$vitest" || failed=$?
    sleep 1 && kill "$shown"
    .venv/bin/pytest -n auto --dist loadgroup "$@" || failed=$?
    end
    ;;
esac
fetched minilm
# Vitest mostly waits on real clocks, so the two share the machine well; each prints whole, pytest's first.
node node_modules/vitest/vitest.mjs run >"$log" 2>&1 &
vitest=$!
# Each process imports all tests, ten seconds of processor: while one waits for real parts, vitest has its core.
.venv/bin/pytest -n "$(getconf _NPROCESSORS_ONLN)" --dist loadgroup "$@" || failed=$?
wait "$vitest" || failed=$?
cat "$log"
exit "$failed"
