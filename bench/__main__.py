"""All of them: ``make bench``. The local stage must be up."""

from __future__ import annotations

from bench import bundle, cache, command, sdk, up_overhead


def main() -> None:
    for claim in (bundle, sdk, cache, up_overhead):
        claim.main()


command.run(main)
