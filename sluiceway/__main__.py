"""``python -m sluiceway``: the same as the command."""

from sluiceway.cli.main import run

run()
