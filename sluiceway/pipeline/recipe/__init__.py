"""Recipes: models/recipes/NAME.yaml, which say how a version of a model is made from its weights."""

from sluiceway.pipeline.recipe.load import FOLDER, Recipe, find, load, names

__all__ = ["FOLDER", "Recipe", "find", "load", "names"]
