"""What the commands on published versions need of a stage: its bucket, what it serves, how far a transfer is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sluiceway import settings
from sluiceway.cli.gateway import open_admin
from sluiceway.domain.fault import Fault
from sluiceway.domain.model import ModelRef, check_model_name, parse_ref
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.shell_env import MARK
from sluiceway.errors import SluicewayError, UserError
from sluiceway.local import lifecycle
from sluiceway.planning import names, storage
from sluiceway.progress import Progress, human_seconds
from sluiceway.rollouts.client import Rollouts
from sluiceway.rollouts.views import JournalEntry
from sluiceway.workspace import Workspace

if TYPE_CHECKING:
    from sluiceway.cloudflare.finetunes import Finetunes
    from sluiceway.cloudflare.r2_keys import Credentials
    from sluiceway.pipeline.publish.shelf import Bucket

_TOKEN: Final = "CLOUDFLARE_API_TOKEN"


@dataclass(frozen=True)
class Live:
    """What a stage serves: the weights of each model's versions. ``silent``: why that isn't known."""

    weights: dict[str, dict[int, int]] | None
    candidates: frozenset[ModelRef] = frozenset()
    silent: str | None = None

    @property
    def named(self) -> frozenset[ModelRef]:
        """The versions of its tables, also those that wait with no traffic."""
        served = self.weights or {}
        return self.candidates | {ModelRef(model, number) for model, row in served.items() for number in row}


def ref_of(text: str) -> ModelRef:
    try:
        return parse_ref(text)
    except Fault as fault:
        raise UserError(fault.message, path="VERSION", got=text, hint=fault.hint) from None


def model_of(text: str, path: str = "MODEL") -> str:
    try:
        return check_model_name(text)
    except Fault as fault:
        raise UserError(fault.message, path=path, got=text, hint=fault.hint) from None


def open_bucket(workspace: Workspace, stage: str) -> Bucket:
    """The bucket of a stage's models. UserError when the stage is unknown or not running, or has no account or token.

    The files of the catalogue needn't be there: this is how they come.
    """
    from sluiceway.cloudflare import r2
    from sluiceway.pipeline.publish.shelf import Bucket

    settings.require_stage(workspace, stage)
    found = settings.load(workspace, stage)
    plan = storage.bucket(found)
    if stage == LOCAL:
        runtime = lifecycle.require_runtime(workspace.local)
        token = (workspace.local / "token").read_text(encoding="utf-8").strip()
        keys = r2.credentials(token, r2.local_token_id(token))
        made = r2.client(runtime.s3_url, keys.access_key_id, keys.secret_access_key)
        prefix = "" if plan.jurisdiction == "default" else f"{plan.jurisdiction}_"
        return Bucket(stage, f"{prefix}{plan.name}", made, names.artifact_key)
    found.ready()
    keys = _remote_keys()
    made = r2.client(r2.endpoint(found.account_id, plan.jurisdiction), keys.access_key_id, keys.secret_access_key)
    return Bucket(stage, r2.bucket_at_endpoint(plan.name, plan.jurisdiction), made, names.artifact_key)


def open_finetunes(workspace: Workspace, stage: str) -> Finetunes:
    """The adapters in the account of a stage. UserError as for `open_bucket`."""
    from sluiceway.cloudflare.finetunes import Finetunes
    from sluiceway.cloudflare.worker_api import sdk

    settings.require_stage(workspace, stage)
    if stage == LOCAL:
        runtime = lifecycle.require_runtime(workspace.local)
        token = (workspace.local / "token").read_text(encoding="utf-8").strip()
        return Finetunes(sdk(token, runtime.api_url), runtime.account_id)
    found = settings.load(workspace, stage)
    found.ready()
    token = _remote_token("Workers AI: Edit")
    return Finetunes(sdk(token, os.environ.get("CLOUDFLARE_BASE_URL")), found.account_id)


def _remote_token(permission: str) -> str:
    if MARK in os.environ:
        hint = f"open a new shell; this one was set by `sluiceway env {LOCAL}`"
        raise UserError("this shell is set to the local stage, whose token would be sent", path=MARK, hint=hint)
    token = os.environ.get(_TOKEN)
    if not token:
        hint = f"set it to a token with `{permission}` for the stage's account"
        raise UserError("this variable is not set", path=_TOKEN, hint=hint)
    return token


def _remote_keys() -> Credentials:
    """R2's key pair out of the API token in the environment."""
    from cloudflare import APIError

    from sluiceway.cloudflare import r2
    from sluiceway.cloudflare.worker_api import sdk

    token = _remote_token("Workers R2 Storage: Edit")
    try:
        known = sdk(token, os.environ.get("CLOUDFLARE_BASE_URL")).user.tokens.verify()
    except APIError as error:
        raise SluicewayError(
            f"Cloudflare does not take this token: {type(error).__name__}", path=_TOKEN, hint="see that it is active"
        ) from error
    if known is None:
        raise SluicewayError("Cloudflare does not say which token this is", path=_TOKEN)
    return r2.credentials(token, known.id)


def ask(workspace: Workspace, stage: str) -> Live:
    """What the stage's controller has in its tables; never raises."""
    try:
        settings.load(workspace, stage).ready()
        with open_admin(stage, None) as admin:
            models = Rollouts(admin).stage().models
    except SluicewayError as fault:
        return Live(None, silent=str(fault))
    weights = {view.model: {view.stable: 0} | dict(view.weights) for view in models}
    waiting = frozenset(ModelRef(view.model, number) for view in models for number in view.candidates)
    return Live(weights, waiting)


def journal(workspace: Workspace, stage: str, model: str) -> list[JournalEntry] | None:
    """What the stage's controller did with a model, oldest first; None when it can't be asked."""
    try:
        settings.load(workspace, stage).ready()
        with open_admin(stage, None) as admin:
            return Rollouts(admin).journal(model)
    except SluicewayError:
        return None


@contextmanager
def transfer(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A step of ``total`` bytes; the body tells how many more are there. Shown: bytes, speed, time to go."""
    began, done = time.monotonic(), 0
    with Progress().step(title) as note:

        def tell(size: int) -> None:
            nonlocal done
            done = min(done + size, total)
            taken = max(time.monotonic() - began, 1e-3)
            left = f", about {human_seconds((total - done) * taken / done)} to go" if 0 < done < total else ""
            note(f"{megabytes(done)} of {megabytes(total)}, {done / taken / 1e6:.0f} MB/s{left}")

        yield tell


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
