"""Namespaces."""

from __future__ import annotations

from starlette.responses import Response

from sluiceway.local.api import envelope
from sluiceway.local.api.errors import ApiError
from sluiceway.local.api.http import ACCOUNT, Call, Table
from sluiceway.local.api.kv import rules
from sluiceway.local.store import Doc, Records

BASE = f"{ACCOUNT}/storage/kv/namespaces"


def require(records: Records, key: str, verb: str) -> Doc:
    namespace = records.get("kv", key)
    if namespace is None:
        raise rules.namespace_not_found(verb)
    return namespace


async def listing(call: Call) -> Response:
    order, down = call.query("order", "id"), call.query("direction") == "desc"
    found = call.state.all("kv")
    if order in ("id", "title"):
        found.sort(key=lambda namespace: str(namespace[order]), reverse=down)
    return call.paged([_view(namespace) for namespace in found])


async def get(call: Call) -> Response:
    return envelope.ok(_view(require(call.state, call.param("namespace"), "get namespace")))


async def create(call: Call) -> Response:
    body = await call.object()
    title = _title("create namespace", body)

    def apply(records: Records) -> Doc:
        _check_free(records, title)
        if len(records.all("kv")) >= rules.MAX_NAMESPACES:
            raise ApiError(403, 10018, "you have reached the maximum number of namespaces")
        namespace: Doc = {"id": call.config.hex_id(), "title": title, "supports_url_encoding": True}
        if body.get("jurisdiction"):
            namespace["jurisdiction"] = body["jurisdiction"]
        records.put("kv", namespace["id"], namespace)
        return namespace

    return envelope.ok(_view(await call.control.change(apply)))


async def rename(call: Call) -> Response:
    title = _title("rename namespace", await call.object())

    def apply(records: Records) -> Doc:
        namespace = require(records, call.param("namespace"), "rename namespace")
        if namespace["title"] != title:
            _check_free(records, title)
        namespace["title"] = title
        records.put("kv", namespace["id"], namespace)
        return namespace

    return envelope.ok(_view(await call.control.change(apply)))


async def delete(call: Call) -> Response:
    """Also of a namespace that a Worker is bound to: as on the platform, the binding is left pointing nowhere."""

    def apply(records: Records) -> None:
        records.delete("kv", require(records, call.param("namespace"), "remove namespace")["id"])

    await call.control.change(apply)
    return envelope.ok(None)


def _title(verb: str, body: Doc) -> str:
    title = body.get("title")
    if not isinstance(title, str) or not title.strip():
        raise ApiError(400, 10019, f"{verb}: 'namespace title cannot be empty'")
    if len(title) > rules.MAX_TITLE:
        raise ApiError(400, 10019, f"{verb}: 'namespace title is longer than {rules.MAX_TITLE} characters'")
    return title


def _check_free(records: Records, title: str) -> None:
    if any(namespace["title"] == title for namespace in records.all("kv")):
        raise ApiError(400, 10014, "a namespace with this account ID and title already exists")


def _view(namespace: Doc) -> Doc:
    return dict(namespace)


ROUTES: Table = (
    ("GET", BASE, listing),
    ("POST", BASE, create),
    ("GET", f"{BASE}/{{namespace}}", get),
    ("PUT", f"{BASE}/{{namespace}}", rename),
    ("DELETE", f"{BASE}/{{namespace}}", delete),
)
