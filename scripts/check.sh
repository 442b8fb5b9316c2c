#!/bin/sh
# Everything that can be said without running the product: style, types, import contracts.
# All of them run; the first failure does not hide the next.
set -u
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
failed=""
step() {
    name="$1"
    shift
    echo "== $name"
    "$@" || failed="$failed $name"
}
step ruff .venv/bin/ruff check .
step format .venv/bin/ruff format --check .
step mypy .venv/bin/mypy
step imports .venv/bin/lint-imports
step tsc node node_modules/typescript/bin/tsc --noEmit
step biome node node_modules/@biomejs/biome/bin/biome check .
if [ -n "$failed" ]; then
    echo "error: failed:$failed" >&2
    exit 1
fi
