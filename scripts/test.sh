#!/bin/sh
# All tests: pytest (arguments go to it), then vitest. `make test` runs it after set-up.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.sluiceway/bin:$PATH"
export PATH
.venv/bin/pytest -n auto --dist loadgroup "$@"
node node_modules/vitest/vitest.mjs run
