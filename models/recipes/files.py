"""The two files that a recipe which trains makes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def write(out: Path, content: bytes, manifest: Mapping[str, object]) -> None:
    """Writes ``model.onnx`` and ``manifest.json`` into ``out``, which is made where it isn't there."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "model.onnx").write_bytes(content)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (out / "manifest.json").write_text(text, encoding="utf-8")
