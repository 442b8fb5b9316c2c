"""stacks/*.yaml -> checked, frozen settings. The first fault is told with its file, its path and a hint."""

from sluiceway.settings.load import load, parse, require_stage, stages
from sluiceway.settings.model import Settings

__all__ = ["Settings", "load", "parse", "require_stage", "stages"]
