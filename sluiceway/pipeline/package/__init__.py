"""The last step of a build: a folder that holds all that a model version needs, and says so in model.json."""

from __future__ import annotations

from sluiceway.pipeline.package.build import Meta, Package, package
from sluiceway.pipeline.package.manifest import Manifest
from sluiceway.pipeline.package.manifest import read as read_manifest
from sluiceway.pipeline.package.verify import installed, verify

__all__ = ["Manifest", "Meta", "Package", "installed", "package", "read_manifest", "verify"]
