"""From a plan to files: templates, the bundle, config.json, wrangler.toml. Same input, same bytes."""

from sluiceway.render.inference import RenderedInference
from sluiceway.render.module import Module
from sluiceway.render.stage import RenderedStage, render_stage, templates_of
from sluiceway.render.wrangler import wrangler_document, write_wrangler

__all__ = [
    "Module",
    "RenderedInference",
    "RenderedStage",
    "render_stage",
    "templates_of",
    "wrangler_document",
    "write_wrangler",
]
