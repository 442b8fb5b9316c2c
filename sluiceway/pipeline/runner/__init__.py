"""Runs a recipe: its stages in order, each in a process of its own, and each kept by what it was made from."""
