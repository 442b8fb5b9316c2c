"""Which tier a model fits, by its config.json alone, and by how much it misses."""
