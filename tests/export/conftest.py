"""These tests install torch into the cache (3 GB, minutes): `make test-export` runs them, `make test` does not."""

from __future__ import annotations

import os

from tests.local.conftest import r2_client, r2_host

__all__ = ["r2_client", "r2_host"]

if not os.environ.get("SLUICEWAY_TEST_EXPORT"):
    collect_ignore_glob = ["test_*.py"]
