"""The path of a model from its weights to a published version: recipes, passes, checks, validation, package."""
