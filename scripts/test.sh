#!/bin/sh
# Tests: pytest (arguments go to it; --all takes those marked long too), then vitest.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
.venv/bin/pytest -n auto --dist loadgroup "$@"
node node_modules/vitest/vitest.mjs run
