"""Prints what an interpreter has, as JSON: its ``version``, ``packages``, or the provider ``plugins`` of those.

Run by path with the interpreter of a program's virtualenv; standard library only.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from importlib import metadata
from typing import Any


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def version() -> dict[str, Any]:
    return {"version": platform.python_version()}


def packages() -> dict[str, Any]:
    """``packages``: name, version, required_by_other."""
    found = {_key(one.metadata["Name"]): one for one in metadata.distributions() if one.metadata["Name"]}
    needed = {_needed(need) for one in found.values() for need in one.requires or ()}
    listed = [
        {"name": one.metadata["Name"], "version": one.version, "required_by_other": key in needed}
        for key, one in sorted(found.items())
    ]
    return {"packages": listed}


def plugins() -> dict[str, Any]:
    """``plugins``: name, version and server of each provider that a package which needs the SDK brings."""
    listed = []
    for one in metadata.distributions():
        if any(_needed(need) == "pulumi" for need in one.requires or ()):
            listed += [stated for file in one.files or () if (stated := _plugin(one, file))]
    return {"plugins": listed}


def _needed(requirement: str) -> str:
    return _key(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0])


def _plugin(package: metadata.Distribution, file: metadata.PackagePath) -> dict[str, str] | None:
    if file.name != "pulumi-plugin.json" or len(file.parts) != 2:
        return None
    stated = json.loads(file.read_text(encoding="utf-8"))
    if not stated.get("resource"):
        return None
    name = package.metadata["Name"].replace("_", "-").removeprefix("pulumi-")
    return {
        "name": stated.get("name") or name,
        "version": stated.get("version") or package.version,
        "server": stated.get("server") or "",
    }


if __name__ == "__main__":
    print(json.dumps({"version": version, "packages": packages, "plugins": plugins}[sys.argv[1]]()))
