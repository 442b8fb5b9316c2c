#!/bin/sh
# Everything that can be said without running the product: style, types, import contracts, stages.
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
for project in worker worker/test inference inference/test sluiceway/local/host sluiceway/local/host/inside bench/edge bench/gateway bench/rollout; do
    step "tsc-$project" node node_modules/typescript/bin/tsc --noEmit -p "$project"
done
step biome node node_modules/@biomejs/biome/bin/biome check .
step stages .venv/bin/sluiceway validate
# The rules on sizes, names and what may stand in a file are tests; they take a second.
step house .venv/bin/pytest -q tests/architecture
if [ -n "$failed" ]; then
    echo "error: failed:$failed" >&2
    echo "hint: make fix mends what a machine can mend" >&2
    exit 1
fi
