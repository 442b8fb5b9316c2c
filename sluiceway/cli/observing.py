"""Opens what a stage tells of itself, for ``sluiceway logs`` and ``sluiceway top``."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator

from sluiceway.cli.context import Checked
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.shell_env import MARK
from sluiceway.engine.shims import node_of
from sluiceway.errors import UserError
from sluiceway.local import lifecycle
from sluiceway.observe.events import Event, events
from sluiceway.observe.sources import local_documents, tail_environment, wrangler_tail

ALL_LINES = 1_000_000


def observed(
    checked: Checked, *, follow: bool, rest: Callable[[float], None] = time.sleep,
    started: Callable[[subprocess.Popen[str]], None] = lambda _process: None,
) -> Iterator[Event]:  # fmt: skip
    """The events of a stage's Worker: of the local stage those in its log, then new ones; of another only new ones.

    ``rest`` is called whenever there is nothing new on the local stage. Raises UserError for a look back at a stage
    in the cloud, which has none.
    """
    documents = _local(checked, follow, rest) if checked.stage == LOCAL else _remote(checked, follow, started)
    return (event for document in documents for event in events(document))


def _local(checked: Checked, follow: bool, rest: Callable[[float], None]) -> Iterator[object]:
    data = checked.workspace.local
    lines = lifecycle.logs(data, which="workers", lines=ALL_LINES, follow=follow, sleep=rest)
    return local_documents(lines, checked.plan.worker_name)


def _remote(checked: Checked, follow: bool, started: Callable[[subprocess.Popen[str]], None]) -> Iterator[object]:
    stage, workspace = checked.stage, checked.workspace
    if not follow:
        hint = f"sluiceway logs {stage} -f; what was before is in the dashboard, under the Worker's logs"
        raise UserError("of a stage in the cloud only what comes from now on can be read here", path=stage, hint=hint)
    if MARK in os.environ:
        hint = f"open a new shell; this one was set by `sluiceway env {LOCAL}`"
        raise UserError("this shell is set to the local stage, whose token would be sent", path=MARK, hint=hint)
    checked.settings.ready()
    return wrangler_tail(
        checked.plan.worker_name,
        node=node_of(workspace),
        script=workspace.root / "node_modules" / "wrangler" / "bin" / "wrangler.js",
        cwd=workspace.root,
        env=tail_environment(checked.settings.account_id),
        started=started,
    )
