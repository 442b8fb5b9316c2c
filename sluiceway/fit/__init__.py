"""Which tier a model fits, by its config.json alone, and by how much it misses.

``read.py`` does all reading; the rest is arithmetic on what it found. Memory is told in decimal units (1 GB = 10^9
bytes), prices in US dollars.
"""
