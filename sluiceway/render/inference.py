"""The inference Worker: its code, and onnxruntime's wasm as the npm package has it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluiceway.errors import UserError
from sluiceway.render.bundle import MAIN_MODULE, bundle, check_size, gzip_size, size_note
from sluiceway.render.module import Module
from sluiceway.workspace import Workspace

WASM: Final = "ort-wasm-simd-threaded.wasm"


@dataclass(frozen=True)
class RenderedInference:
    """``modules``: main module first. ``digest``: sha256 in hex over all of them. ``note``: what to tell a person."""

    modules: tuple[Module, ...]
    digest: str
    note: str | None


def render_inference(workspace: Workspace, out_dir: Path) -> RenderedInference:
    """Bundles ``inference/src`` into ``out_dir``. The same sources give the same bytes."""
    wasm = workspace.node_modules / "onnxruntime-web" / "dist" / WASM
    if not wasm.is_file():
        raise UserError("onnxruntime-web is not installed", path=str(wasm), hint="run `make setup` (or `npm ci`) first")
    entry = workspace.root / "inference" / "src" / "index.ts"
    made = bundle(entry, out_dir, workspace.node_modules, f"--external:*/{WASM}")
    content = wasm.read_bytes()
    size = gzip_size(made.code, content)
    check_size(size)
    modules = (
        Module(MAIN_MODULE, "application/javascript+module", made.code),
        Module(WASM, "application/wasm", content),
    )
    digest = hashlib.sha256(b"".join(hashlib.sha256(module.content).digest() for module in modules)).hexdigest()
    note = size_note(size)
    return RenderedInference(modules, digest, note and f"inference: {note}")
