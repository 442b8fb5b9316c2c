"""Worker versions: code, bindings and settings, made once and never changed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path

from sluiceway.engine.provider import lost
from sluiceway.engine.provider.compare import Rules
from sluiceway.engine.provider.faults import InputFault
from sluiceway.engine.provider.row import Call, Quirks, Row
from sluiceway.engine.provider.rows.worker import annotations_in, annotations_out
from sluiceway.engine.provider.transport import Client, Request
from sluiceway.engine.provider.values import UNKNOWN, Props, Secret, Unknown, Value
from sluiceway.errors import UserError

_VERSIONS = "/accounts/{accountId}/workers/workers/{workerId}/versions"
_SECRET_FIELDS = {"secret_text": {"text"}, "secret_key": {"keyBase64", "keyJwk"}}
_NOT_SENT = frozenset({"deploy", "include"})


class _WorkerVersion(Quirks):
    def fill(self, row: Row, name: str, props: Props) -> Props:
        """Adds ``contentSha256`` to each module: what is uploaded decides, not the path it came from."""
        modules = props.get("modules")
        if not isinstance(modules, list):
            return props
        return {**props, "modules": [_with_digest(item, index) for index, item in enumerate(modules)]}

    def check(self, row: Row, props: Props, old: Props) -> list[InputFault]:
        faults = []
        if props.get("migrations") and props.get("exports"):
            faults.append(InputFault("migrations", "exclude `exports`: declare Durable Object classes in one of them"))
        bindings = props.get("bindings")
        names = [item.get("name") for item in bindings if isinstance(item, dict)] if isinstance(bindings, list) else []
        for index, name in enumerate(names):
            if isinstance(name, str) and name in names[:index]:
                faults.append(InputFault(f"bindings[{index}].name", f"{name} names two bindings"))
        main, modules = props.get("mainModule"), props.get("modules")
        if isinstance(main, str) and isinstance(modules, list):
            have = [item.get("name") for item in modules if isinstance(item, dict)]
            if main not in have and not any(isinstance(item, Unknown) for item in have):
                faults.append(InputFault("mainModule", f"{main} is not among the modules"))
        return faults

    def body(self, row: Row, props: Props) -> Value:
        plain = {name: item for name, item in props.items() if name not in _NOT_SENT | {"annotations", "modules"}}
        body = super().body(row, plain)
        if modules := props.get("modules"):
            body["modules"] = [_module_out(item, index) for index, item in enumerate(modules)]
        if bindings := body.get("bindings"):
            body["bindings"] = sorted(bindings, key=lambda item: str(item.get("name")))
        if annotations := annotations_out(props.get("annotations")):
            body["annotations"] = annotations
        return body

    def params(self, row: Row, props: Props) -> dict[str, str]:
        return {"deploy": "true"} if props.get("deploy") else {}

    def facts(self, row: Row, result: Value, props: Props) -> Props:
        facts = super().facts(row, result, props)
        facts["workerId"] = props["workerId"]
        if "annotations" in facts:
            facts["annotations"] = annotations_in(facts["annotations"])
        if isinstance(facts.get("modules"), list):
            facts["modules"] = [_module_in(item) for item in facts["modules"]]
        else:
            facts.pop("modules", None)
        return facts

    def secrets(self, state: Props) -> Props:
        bindings = state.get("bindings")
        if not isinstance(bindings, list):
            return state
        return {**state, "bindings": [_hide(item) for item in bindings]}

    async def create(self, client: Client, row: Row, props: Props, own: frozenset[str]) -> Value:
        migrations = props.get("migrations")
        if isinstance(migrations, dict) and migrations.get("newTag"):
            props = {**props, "migrations": await self._pending(client, row, props)}

        async def made(since: float) -> Value:
            answer = await client.send(Request("GET", row.create.fill(props)))
            found = answer.json()["result"] or []
            for item in lost.fresh(answer, found.get("items", []) if isinstance(found, dict) else found, since):
                whole = await self.read(client, row, str(item["id"]), props)
                if not row.differences(props, whole):
                    return whole
            return None

        return await client.call(self.request(row, row.create, props), made)

    async def _pending(self, client: Client, row: Row, props: Props) -> Value:
        """The migrations that the Worker hasn't had yet; its present tag is read, never assumed."""
        newest = await client.call(Request("GET", row.create.fill(props)))
        items = newest.get("items", []) if isinstance(newest, dict) else newest or []
        tags = [item.get("migration_tag") for item in items if item.get("migration_tag")]
        wanted = props["migrations"]
        if not tags:
            return wanted
        if tags[0] == wanted["newTag"]:
            return None
        return {**wanted, "oldTag": tags[0]}

    async def read(self, client: Client, row: Row, rid: str, props: Props) -> Value:
        return await client.call(Request("GET", row.read.fill(props, rid), params={"include": "modules"}))


def _with_digest(module: Value, index: int) -> Value:
    if not isinstance(module, dict):
        return module
    given = module.get("contentFile"), module.get("contentBase64")
    if any(isinstance(item, Unknown) for item in given):
        return {**module, "contentSha256": UNKNOWN}
    return {**module, "contentSha256": hashlib.sha256(_content(module, index)).hexdigest()}


def _content(module: Props, index: int) -> bytes:
    path, coded = module.get("contentFile"), module.get("contentBase64")
    where = f"modules[{index}]"
    if coded is not None:
        try:
            return base64.b64decode(coded, validate=True)
        except binascii.Error:
            hint = "encode the bytes with base64.b64encode, or name a file in contentFile"
            raise UserError("is not base64", path=f"{where}.contentBase64", hint=hint) from None
    if path is None:
        hint = "give contentFile, a path, or contentBase64, the bytes"
        raise UserError("needs contentFile or contentBase64", path=where, hint=hint)
    try:
        return _find(str(path)).read_bytes()
    except OSError as error:
        hint = "a relative path is looked for in the program's folder, then in the checkout (SLUICEWAY_ROOT)"
        message = f"can't be read: {error.strerror}: {path}"
        raise UserError(message, path=f"{where}.contentFile", hint=hint) from None


def _find(path: str) -> Path:
    """A relative path is meant from the program's directory, else from the repository's root."""
    root = os.environ.get("SLUICEWAY_ROOT")
    here = Path(path)
    return here if here.exists() or not root else Path(root) / path


def _module_out(module: Props, index: int) -> Props:
    return {
        "name": module["name"],
        "content_type": module["contentType"],
        "content_base64": base64.b64encode(_content(module, index)).decode(),
    }


def _module_in(module: Props) -> Props:
    """State keeps the digest in place of the code."""
    kept = {key: item for key, item in module.items() if key != "contentBase64"}
    coded = module.get("contentBase64")
    return {**kept, "contentSha256": hashlib.sha256(base64.b64decode(coded)).hexdigest()} if coded else kept


def _hide(binding: Value) -> Value:
    if not isinstance(binding, dict):
        return binding
    fields = _SECRET_FIELDS.get(str(binding.get("type")), set())
    return {key: Secret(item) if key in fields and item is not None else item for key, item in binding.items()}


WORKER_VERSION = Row(
    "cloudflare:index/workerVersion:WorkerVersion",
    create=Call("POST", _VERSIONS),
    read=Call("GET", f"{_VERSIONS}/{{id}}"),
    required=("accountId", "workerId"),
    optional=(
        "annotations",
        "assets",
        "bindings",
        "cacheOptions",
        "compatibilityDate",
        "compatibilityFlags",
        "containers",
        "deploy",
        "exports",
        "include",
        "limits",
        "mainModule",
        "migrations",
        "modules",
        "packageDependencies",
        "placement",
        "usageModel",
    ),
    computed=(
        "authorEmail",
        "authorId",
        "createdOn",
        "exportsReconciliation",
        "migrationTag",
        "number",
        "source",
        "startupTimeMs",
        "urls",
    ),
    parts=("accountId", "workerId", "id"),
    immutable=True,
    rules=Rules(
        keyed={"bindings": "name", "modules": "name"},
        sets=frozenset({"compatibilityFlags", "usages"}),
        written_only=frozenset(
            {"text", "keyBase64", "keyJwk", "contentFile", "contentBase64", "deploy", "include", "migrations"}
        ),
        silent=frozenset({"contentFile", "contentBase64"}),
        given_once=frozenset({"usageModel", "placement"}),
    ),
    quirks=_WorkerVersion(),
)
