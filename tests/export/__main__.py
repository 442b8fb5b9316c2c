"""What the tests of the export need, fetched where its progress is seen: the environment of torch, SmolLM2's weights.

python -m tests.export
"""

from __future__ import annotations

import sys

from sluiceway.errors import SluicewayError
from sluiceway.pipeline.torch_export.environment import TORCH
from sluiceway.progress import Progress
from tests import models

if __name__ == "__main__":
    try:
        TORCH.python(Progress())
        models.fetch("smollm2")
    except SluicewayError as error:
        print(error.render(), file=sys.stderr)
        sys.exit(error.exit_code)
