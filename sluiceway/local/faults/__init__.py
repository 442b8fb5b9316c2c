"""Faults on the local stage: backends that are slow, busy, broken or gone, on request."""
