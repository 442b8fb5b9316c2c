"""Which interpreter runs a Python program: what the project's runtime options and the machine say."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DESCRIBE = Path(__file__).with_name("language_describe.py")


class UnknownToolchain(ValueError):
    """The project asks for something this host does not do."""


@dataclass(frozen=True)
class PythonEnv:
    """``python`` is the interpreter's path; a virtualenv's ``bin/python`` is kept as it is, not resolved."""

    python: Path


def resolve_env(options: Mapping[str, object], root: Path) -> PythonEnv:
    """The interpreter for a project in ``root`` whose ``runtime.options`` are ``options``.

    ``virtualenv`` is relative to the root; without one PULUMI_PYTHON_CMD, then the interpreter that
    this host runs on. Raises `UnknownToolchain` for a toolchain that keeps no plain virtualenv and for
    a virtualenv that is not there.
    """
    toolchain = str(options.get("toolchain") or "pip")
    if toolchain not in ("pip", "uv"):
        raise UnknownToolchain(f"Pulumi.yaml: runtime.options.toolchain: {toolchain} is not supported, use pip or uv")
    name = options.get("virtualenv") or (".venv" if toolchain == "uv" else None)
    if not name:
        return PythonEnv(Path(os.environ.get("PULUMI_PYTHON_CMD") or sys.executable))
    folder = root / str(name)
    for python in (folder / "bin" / "python", folder / "Scripts" / "python.exe"):
        if python.exists():
            return PythonEnv(python)
    raise UnknownToolchain(f"Pulumi.yaml: runtime.options.virtualenv: no Python in {folder}; run `make setup`")
