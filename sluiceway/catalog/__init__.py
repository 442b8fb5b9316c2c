"""models/*.yaml -> models and their immutable versions."""

from sluiceway.catalog.catalog import Catalog
from sluiceway.catalog.load import load, load_for
from sluiceway.catalog.lock import digest, missing_from_lock

__all__ = ["Catalog", "digest", "load", "load_for", "missing_from_lock"]
