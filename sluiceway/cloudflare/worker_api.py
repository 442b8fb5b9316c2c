"""One Worker through Cloudflare's own SDK: its versions, its deployments, the code of a version.

Works on Cloudflare and on the local stage, whose address CLOUDFLARE_BASE_URL gives.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from cloudflare import APIConnectionError, APIStatusError, Cloudflare, InternalServerError, NotFoundError, omit

from sluiceway.errors import SluicewayError, UserError

_HINTS: Final = {
    10007: "`sluiceway up STAGE` makes the Worker",
    10220: "`--force` brings the old secret back",
}
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}
_PER_PAGE: Final = 50
_RETRIES: Final = 3
_AGAIN: Final = "try again in a moment; `sluiceway release show STAGE` says what serves"
_NEWEST: Final = 100
_TARGETS: Final = (
    "namespace_id", "bucket_name", "queue_name", "class_name", "index_name", "dataset", "service", "id", "text", "json",
)  # fmt: skip
_HIDDEN: Final = {"secret_text", "secret_key"}


@dataclass(frozen=True)
class VersionDocument:
    """A worker version as the API tells it. ``bindings`` are name, type and what each points at; never a secret."""

    id: str
    number: int
    created_on: str
    tag: str | None
    source: str
    bindings: tuple[tuple[str, str, str], ...]
    exports: Mapping[str, str] | None
    migration_tag: str | None


@dataclass(frozen=True)
class DeploymentDocument:
    id: str
    created_on: datetime
    shares: tuple[tuple[str, float], ...]
    message: str
    source: str
    author: str


@dataclass(frozen=True)
class Kept:
    """What exists in the account that a version may bind: ids of KV namespaces by title, names of the others."""

    namespaces: Mapping[str, str]
    buckets: frozenset[str]
    queues: frozenset[str]


def sdk(token: str, base_url: str | None = None) -> Cloudflare:
    """A client for ``token``; no proxy of the person's is asked for this machine."""
    local = base_url is not None and urlsplit(base_url).hostname in _LOOPBACK
    http = httpx.Client(trust_env=not local, timeout=30)
    return Cloudflare(api_token=token, base_url=base_url, http_client=http, max_retries=_RETRIES)


class WorkerApi:
    """The Worker ``name`` of an account. UserError for what Cloudflare refuses, SluicewayError for what fails."""

    def __init__(self, client: Cloudflare, account_id: str, name: str) -> None:
        self._client = client
        self._account = account_id
        self.name = name

    def versions(self) -> list[VersionDocument]:
        """The newest hundred, newest first."""
        found: list[VersionDocument] = []
        # Raw, since the SDK would make a datetime of the upload's time, whose exact spelling is needed.
        listing = self._client.workers.beta.workers.versions.with_raw_response.list
        with self._told("versions"):
            for page in range(1, _NEWEST // _PER_PAGE + 1):
                answer = listing(self.name, account_id=self._account, page=page, per_page=_PER_PAGE)
                items = answer.http_response.json().get("result") or []
                found += [_version(item) for item in items]
                if len(items) < _PER_PAGE:
                    break
        return sorted(found, key=lambda version: -version.number)

    def deployments(self) -> list[DeploymentDocument]:
        """Newest first, which is the one that rules."""
        with self._told("deployments"):
            answer = self._client.workers.scripts.deployments.with_raw_response.list(
                self.name, account_id=self._account
            )
            return [_deployment(found) for found in answer.http_response.json()["result"]["deployments"]]

    def exists(self) -> bool:
        try:
            self._client.workers.beta.workers.get(self.name, account_id=self._account)
        except NotFoundError:
            return False
        except (APIStatusError, APIConnectionError) as fault:
            raise self._fault("the Worker", fault) from None
        return True

    def deploy(self, shares: Sequence[tuple[str, float]], message: str, *, force: bool = False) -> None:
        """Makes ``shares`` (version, percent) the current deployment; ``force`` brings an old secret back.

        An answer that is lost is no failure where the deployment is there.
        """
        try:
            self._deploy(shares, message, force)
        except (InternalServerError, APIConnectionError) as fault:
            if not self._is_deployed(shares, message):
                raise self._fault("deployment", fault) from None
        except APIStatusError as fault:
            raise self._fault("deployment", fault) from None

    def _is_deployed(self, shares: Sequence[tuple[str, float]], message: str) -> bool:
        try:
            newest = self.deployments()[:1]
        except SluicewayError:
            return False
        return [(sorted(one.shares), one.message) for one in newest] == [(sorted(shares), message)]

    def _deploy(self, shares: Sequence[tuple[str, float]], message: str, force: bool) -> None:
        self._client.workers.scripts.deployments.create(
            self.name,
            account_id=self._account,
            strategy="percentage",
            versions=[{"version_id": version, "percentage": percent} for version, percent in shares],
            annotations={"workers_message": message},
            force=True if force else omit,
        )

    def modules(self, version: str) -> dict[str, bytes]:
        """The files of a version, by name."""
        with self._told("modules"):
            found = self._client.workers.beta.workers.versions.get(
                version, account_id=self._account, worker_id=self.name, include="modules"
            )
            return {module.name: base64.b64decode(module.content_base64 or "") for module in found.modules or ()}

    def kept(self, jurisdiction: str = "default") -> Kept:
        """What there is in the account to bind, buckets of one jurisdiction."""
        with self._told("bound resources"):
            namespaces = {found.title: found.id for found in self._client.kv.namespaces.list(account_id=self._account)}
            listed = self._client.r2.buckets.list(
                account_id=self._account,
                per_page=1000,
                extra_headers={"cf-r2-jurisdiction": jurisdiction} if jurisdiction != "default" else None,
            )
            buckets = listed.buckets or ()
            queues = self._client.queues.list(account_id=self._account)
            return Kept(
                namespaces,
                frozenset(bucket.name for bucket in buckets if bucket.name),
                frozenset(queue.queue_name for queue in queues if queue.queue_name),
            )

    def write_key(self, namespace: str, key: str, text: str) -> None:
        with self._told("key-value entry"):
            self._client.kv.namespaces.values.update(
                key, account_id=self._account, namespace_id=namespace, value=text.encode()
            )

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except (APIStatusError, APIConnectionError) as fault:
            raise self._fault(what, fault) from None

    def _fault(self, what: str, fault: Exception) -> SluicewayError:
        path = f"{what} of {self.name}"
        if not isinstance(fault, APIStatusError):
            return SluicewayError(
                f"Cloudflare's API did not answer {_call(fault)}: {type(fault).__name__}", path=path, hint=_AGAIN
            )
        code, words = said(fault)
        text = f"Cloudflare refused: {words} ({code or fault.status_code})"
        if fault.status_code in (401, 403):
            hint = "CLOUDFLARE_API_TOKEN needs `Workers Scripts: Edit` for this account"
            return UserError(text, path=path, hint=hint)
        if fault.status_code >= 500 or fault.status_code == 429:
            text = f"Cloudflare failed at {_call(fault)}: {words} ({code or fault.status_code})"
            return SluicewayError(text, path=path, hint=_AGAIN)
        return UserError(text, path=path, hint=_HINTS.get(code or 0, "`sluiceway release show STAGE` says what serves"))


def _call(fault: Exception) -> str:
    request = fault.request if isinstance(fault, APIStatusError | APIConnectionError) else None
    return f"{request.method} {request.url.path.removeprefix('/client/v4')}" if request else "a call"


def said(fault: APIStatusError) -> tuple[int | None, str]:
    """Cloudflare's code and words."""
    body = fault.body
    errors = body.get("errors") if isinstance(body, dict) else None
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    code, said = first.get("code"), first.get("message")
    return (code if isinstance(code, int) else None), str(said or f"HTTP {fault.status_code}").rstrip(".")


def _version(found: Mapping[str, Any]) -> VersionDocument:
    annotations = found.get("annotations") or {}
    exports = found.get("exports")
    return VersionDocument(
        id=str(found["id"]),
        number=int(found.get("number") or 0),
        created_on=str(found.get("created_on")),
        tag=annotations.get("workers/tag"),
        source=str(found.get("source") or "unknown"),
        bindings=tuple(_binding(each) for each in found.get("bindings") or ()),
        exports=_exports(exports) if isinstance(exports, Mapping) else None,
        migration_tag=found.get("migration_tag"),
    )


def _binding(found: Mapping[str, Any]) -> tuple[str, str, str]:
    kind = str(found.get("type"))
    shown = () if kind in _HIDDEN else _TARGETS
    target = next((str(found[key]) for key in shown if found.get(key) is not None), "")
    return str(found.get("name")), kind, target


def _exports(found: Mapping[str, Any]) -> dict[str, str]:
    kept = {name: entry for name, entry in found.items() if isinstance(entry, Mapping)}
    return {
        name: str(entry.get("storage", "sqlite"))
        for name, entry in kept.items()
        if entry.get("type") == "durable-object" and entry.get("state", "created") == "created"
    }


def _deployment(found: Mapping[str, Any]) -> DeploymentDocument:
    annotations = found.get("annotations") or {}
    return DeploymentDocument(
        id=str(found["id"]),
        created_on=datetime.fromisoformat(str(found.get("created_on"))),
        shares=tuple((str(s["version_id"]), float(s["percentage"])) for s in found.get("versions") or ()),
        message=str(annotations.get("workers/message") or ""),
        source=str(found.get("source") or "unknown"),
        author=str(found.get("author_email") or ""),
    )
