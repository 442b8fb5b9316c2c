"""Environments of their own, for libraries that ours is not to depend on: large, or pinned to others' versions."""

from __future__ import annotations

from sluiceway.pipeline.environment.environment import Environment

__all__ = ["Environment"]
