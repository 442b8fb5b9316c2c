"""All of them: ``make bench``. The local stage must be up."""

from __future__ import annotations

import sys

from bench import bundle, cache, sdk, up_overhead
from sluiceway.errors import SluicewayError

try:
    for claim in (bundle, sdk, cache, up_overhead):
        claim.main()
except SluicewayError as error:
    print(error.render(), file=sys.stderr)
    sys.exit(error.exit_code)
