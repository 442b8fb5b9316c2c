"""Cloudflare's SDK, loaded class by class.

Its ``__init__`` imports a module for each of a thousand resources and functions: two of the three seconds that a
preview spends before its first resource. The package is unchanged; only its ``__init__`` is not run, and a class is
imported from its own module when it is first named. A name that has no such module loads the package whole.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PACKAGE = "pulumi_cloudflare"


def load_by_use() -> None:
    """Puts the package into ``sys.modules`` without running its ``__init__``; nothing if it is there already."""
    spec = importlib.util.find_spec(_PACKAGE) if _PACKAGE not in sys.modules else None
    if spec is None:
        return
    package = importlib.util.module_from_spec(spec)
    vars(package)["__getattr__"] = _find
    sys.modules[_PACKAGE] = package


def module_of(name: str) -> str:
    """``WorkersKvNamespace`` -> ``pulumi_cloudflare.workers_kv_namespace``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return f"{_PACKAGE}.{words}"


@contextmanager
def _uncollected() -> Iterator[None]:
    """What the SDK makes at its import lives to the end of the program: to look for garbage among it takes long."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _find(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        with _uncollected():
            module = importlib.import_module(module_of(name))
    except ModuleNotFoundError as fault:
        if fault.name != module_of(name):
            raise
        package = sys.modules.pop(_PACKAGE)
        vars(package).update(vars(importlib.import_module(_PACKAGE)))
        return getattr(package, name)
    return getattr(module, name)
