"""What a shell needs so that plain ``pulumi``, wrangler, boto3 and the Cloudflare SDK work on a stage."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from sluiceway.cloudflare.r2_keys import credentials, local_token_id
from sluiceway.domain.stage import LOCAL
from sluiceway.engine.provider.consent import CONSENT
from sluiceway.engine.resolve import Engine
from sluiceway.engine.shims import standin_folder
from sluiceway.errors import UserError
from sluiceway.workspace import Workspace

LOCAL_PASSPHRASE: Final = "sluiceway-local"
"""Published on purpose: the local stage listens on loopback only, and its salt is committed."""

MARK: Final = "SLUICEWAY_LOCAL_URL"
"""Stands in every environment that was made for the local stage."""


class LocalRuntime(Protocol):
    """What this module needs to know of a running local stage (the fields of its runtime.json)."""

    @property
    def api_url(self) -> str: ...
    @property
    def front_url(self) -> str: ...
    @property
    def s3_url(self) -> str: ...
    @property
    def account_id(self) -> str: ...


def stage_env(
    workspace: Workspace, stage: str, runtime: LocalRuntime | None, engine: Engine,
    env: Mapping[str, str] | None = None,
) -> dict[str, str]:  # fmt: skip
    """The variables to set on top of ``env`` (default: this process's) for ``stage``.

    Stage ``local`` needs ``runtime``, the running local stage; for any other stage the account's token, the
    passphrase and the backend stay the person's own. Raises UserError when the local stage is not running.
    """
    env = os.environ if env is None else env
    if stage == LOCAL:
        return _common(workspace, env, standin=False) | _local(workspace, runtime)
    standin = env.get(CONSENT) == "1"
    if MARK in env and not standin:
        raise UserError(
            f"this shell is set to the local stage: its state, token and URLs would be taken for {stage}'s",
            path=MARK,
            hint=f'open a new shell, and there: eval "$(sluiceway env {stage})"',
        )
    return _common(workspace, env, standin=standin)


def _common(workspace: Workspace, env: Mapping[str, str], *, standin: bool) -> dict[str, str]:
    own = [workspace.bin, standin_folder(workspace)]
    first = own if standin else own[:1]
    rest = [word for word in env.get("PATH", "").split(os.pathsep) if word and Path(word) not in own]
    return {
        "PATH": os.pathsep.join([*map(str, first), *rest]),
        "SLUICEWAY_ROOT": str(workspace.root),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # Without it, a stack file that lost its salt gets a new one, and old secrets can't be read again.
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
        "WRANGLER_SEND_METRICS": "false",
    }


def _local(workspace: Workspace, runtime: LocalRuntime | None) -> dict[str, str]:
    if runtime is None:
        raise UserError("the local stage is not running", path=str(workspace.local), hint="run `sluiceway local start`")
    token = (workspace.local / "token").read_text(encoding="utf-8").strip()
    keys = credentials(token, local_token_id(token))
    return {
        "PULUMI_HOME": str(workspace.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{workspace.pulumi_state}",
        "PULUMI_CONFIG_PASSPHRASE": LOCAL_PASSPHRASE,
        "CLOUDFLARE_BASE_URL": runtime.api_url,
        "CLOUDFLARE_API_BASE_URL": runtime.api_url,
        "CLOUDFLARE_API_TOKEN": token,
        "CLOUDFLARE_ACCOUNT_ID": runtime.account_id,
        "SLUICEWAY_R2_ENDPOINT": runtime.s3_url,
        # For boto3 and the aws command; what this tool itself uploads with looks at none of them.
        "AWS_ENDPOINT_URL_S3": runtime.s3_url,
        "AWS_ACCESS_KEY_ID": keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
        "AWS_DEFAULT_REGION": "auto",
        MARK: runtime.front_url,
    }


def render_exports(values: Mapping[str, str], shell: str = "sh") -> str:
    """Lines for ``eval``: ``export NAME='value'``, or fish's ``set -gx``; sorted, any value survives."""
    lines = []
    for name in sorted(values):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"not a variable's name: {name!r}")
        if shell == "fish":
            quoted = values[name].replace("\\", "\\\\").replace("'", "\\'")
            lines.append(f"set -gx {name} '{quoted}'")
        else:
            quoted = values[name].replace("'", "'\\''")
            lines.append(f"export {name}='{quoted}'")
    return "\n".join(lines) + "\n"
