"""The machine that figures were taken on: INT8 gives other answers where a processor lacks VNNI."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

TELLING = (
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512_vnni",
    "avx_vnni",
    "avx512_bf16",
    "amx_int8",
    "asimd",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
)


@dataclass(frozen=True)
class Cpu:
    """``flags``: those of TELLING that the processor has, as the kernel names them; empty where it doesn't say."""

    machine: str
    name: str
    flags: tuple[str, ...]
    onnxruntime: str

    def document(self) -> dict[str, object]:
        return {"machine": self.machine, "name": self.name, "flags": list(self.flags), "onnxruntime": self.onnxruntime}


def this_cpu(info: Path = Path("/proc/cpuinfo")) -> Cpu:
    said: dict[str, str] = {}
    if info.is_file():
        for line in info.read_text("utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            said.setdefault(key.strip().lower(), value.strip())
    has = set((said.get("flags") or said.get("features") or "").split())
    name = said.get("model name") or platform.processor() or "unknown"
    return Cpu(platform.machine(), name, tuple(flag for flag in TELLING if flag in has), version("onnxruntime"))
