"""From a plan to files: templates, the bundle, config.json, wrangler.toml. Same input, same bytes."""

from sluiceway.render.stage import Module, RenderedStage, render_stage, templates_of
from sluiceway.render.wrangler import wrangler_document, write_wrangler

__all__ = ["Module", "RenderedStage", "render_stage", "templates_of", "wrangler_document", "write_wrangler"]
