"""What ``sluiceway release`` needs of a stage: Cloudflare's API, the gateway, its log."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sluiceway.cli.actor import actor
from sluiceway.cli.context import Checked, check_stage, find_workspace
from sluiceway.cli.gateway import ADMIN_KEY, find_gateway, open_admin
from sluiceway.cli.top import open_feed
from sluiceway.cloudflare.worker_api import WorkerApi, sdk
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.shell_env import MARK
from sluiceway.errors import SluicewayError, UserError
from sluiceway.local import lifecycle
from sluiceway.release.controller_gates import ControllerGates
from sluiceway.release.gates import WorkerGates
from sluiceway.release.log_gates import LogGates
from sluiceway.release.proof import Changed, Exists
from sluiceway.release.smoke import Target, smoke
from sluiceway.release.world import WorkerVersion

RECORD = "spec/release"
"""Where the stage's KV namespace says which release serves; an update without a ramp writes it too."""


@dataclass(frozen=True)
class Opened:
    """A stage, its Worker at Cloudflare, and where its gateway answers (None: what its stack exported)."""

    checked: Checked
    api: WorkerApi
    url: str | None = None

    def smoke(self, version: WorkerVersion) -> str | None:
        """What is wrong with a version that has no traffic; None when nothing is."""
        url, key = find_gateway(self.checked, self.url)
        return smoke(Target(url, self.api.name, key), version)

    def withdraw(self, *versions: WorkerVersion) -> str | None:
        """Tells the stage's controller that what these declare is void; what went wrong, as a sentence."""
        if ADMIN_KEY not in self.checked.plan.secrets:
            return f"Its controller was not told, for the stage has no {ADMIN_KEY}."
        try:
            with open_admin(self.checked.stage, self.url) as admin:
                for version in versions:
                    admin.send("POST", "/rollouts/withdraw", {"order": version.order, "actor": actor()})
        except SluicewayError as fault:
            return f"Its controller was not told: {fault.message}."
        return None

    def record(self, version: WorkerVersion) -> None:
        """Writes which release serves all requests, where a script looks for it."""
        namespace = next((b.target for b in version.bindings if b.type == "kv_namespace"), None)
        if namespace and version.release:
            text = json.dumps({"release": version.release, "stage": self.checked.stage}, sort_keys=True)
            self.api.write_key(namespace, RECORD, text)

    @contextmanager
    def gates(self) -> Iterator[WorkerGates]:
        """Gates from the stage's controller; where it can't say, from what the stage tells in its log."""
        plan = self.checked.plan.release
        with ExitStack() as stack:

            def from_log() -> LogGates:
                feed = open_feed(self.checked)
                stack.callback(feed.close)
                if self.checked.stage == LOCAL:
                    time.sleep(1)  # the log so far is read in a thread
                return LogGates(feed.drain, plan.margin, plan.latency_s)

            try:
                admin = stack.enter_context(open_admin(self.checked.stage, self.url))
            except SluicewayError:  # its admin endpoints are closed, to all or to whoever has no key
                yield from_log()
            else:
                yield ControllerGates(admin.send, plan.margin, plan.latency_s, from_log)

    def resources(self) -> tuple[Changed, Exists]:
        """What the checkout would upload, and what there is in the account."""
        plan = self.checked.plan
        kept = self.api.kept(plan.bucket.jurisdiction)
        targets = {("r2_bucket", plan.bucket.name)}
        if plan.queue is not None:
            targets.add(("queue", plan.queue.name))
        if namespace := kept.namespaces.get(plan.kv.title):
            targets.add(("kv_namespace", namespace))
        changed = Changed(
            tuple(sorted((export.name, export.storage) for export in plan.exports)),
            frozenset(plan.secrets),
            frozenset(targets),
        )
        ids = frozenset(kept.namespaces.values())
        return changed, Exists({"kv_namespace": ids, "r2_bucket": kept.buckets, "queue": kept.queues})


def open_stage(stage: str, url: str | None = None) -> Opened:
    """Raises UserError when the stage is unknown or not running, or no token for its account is set."""
    checked = check_stage(find_workspace(), stage)
    checked.settings.ready()
    if stage == LOCAL:
        runtime = lifecycle.require_runtime(checked.workspace.local)
        token = (checked.workspace.local / "token").read_text(encoding="utf-8").strip()
        return Opened(
            checked, WorkerApi(sdk(token, runtime.api_url), runtime.account_id, checked.plan.worker_name), url
        )
    if MARK in os.environ:
        hint = f"open a new shell; this one was set by `sluiceway env {LOCAL}`"
        raise UserError("this shell is set to the local stage, whose token would be sent", path=MARK, hint=hint)
    found = os.environ.get("CLOUDFLARE_API_TOKEN")
    if not found:
        hint = "set it to a token with `Workers Scripts: Edit` for the stage's account"
        raise UserError("this variable is not set", path="CLOUDFLARE_API_TOKEN", hint=hint)
    client = sdk(found, os.environ.get("CLOUDFLARE_BASE_URL"))
    return Opened(checked, WorkerApi(client, checked.plan.account_id, checked.plan.worker_name), url)


def now() -> datetime:
    return datetime.now(UTC)
