"""The environment that torch is installed into."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sluiceway.pipeline.environment import Environment

LOCK: Final = Path(__file__).with_name("requirements.lock")
TRIMMED: Final = (
    "nvidia/cudnn/lib/libcudnn_*",
    "nvidia/nvshmem/lib/*.bc",
    "nvidia/nvshmem/lib/*.a",
    "nvidia/*/lib/libnvperf_*",
    "torch/include",
)
"""1.1 GB that no process without a graphics card opens; the libraries that torch itself is linked to stay."""

TORCH: Final = Environment(
    name="torch",
    lock=LOCK,
    folder="export",
    title="installing torch and transformers, once (2.5 GB to fetch)",
    proof="import torch, transformers, onnxscript",
    needed_gb=7.5 if sys.platform == "linux" else 2.0,
    usual_seconds=180.0,
    machines="torch has wheels for Linux (x86-64, ARM), macOS on ARM and Windows, and for Python 3.11 to 3.14",
    trimmed=TRIMMED,
)
