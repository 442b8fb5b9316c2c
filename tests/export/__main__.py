"""What the tests of the export need, fetched where its progress is seen: the environment of torch, SmolLM2's weights.

python -m tests.export
"""

from __future__ import annotations

from bench import command
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.progress import Progress
from tests import models


def main() -> None:
    TORCH.python(Progress())
    models.fetch("smollm2")


if __name__ == "__main__":
    command.run(main)
