"""Loading the classes of Cloudflare's SDK that the program uses, against importing the SDK whole."""

from __future__ import annotations

import subprocess
import sys

from bench.measure import compare

_NAMES = ("Worker", "WorkerVersion", "WorkersDeployment", "WorkersKvNamespace", "R2Bucket", "Ruleset", "AiGateway")
_USE = f"import pulumi_cloudflare as sdk\nfor name in {_NAMES}: getattr(sdk, name)"


def main(rounds: int = 7) -> None:
    def run(program: str) -> None:
        subprocess.run([sys.executable, "-c", program], check=True)

    compare(
        "the SDK in a fresh process: by use / whole",
        lambda: run(f"import infra\n{_USE}"),
        lambda: run(_USE),
        rounds,
    )


if __name__ == "__main__":
    main()
