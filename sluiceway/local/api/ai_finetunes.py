"""Workers AI's fine-tunes: LoRA adapters by name, their two files, and Cloudflare's own adapters.

A fine-tune can't be changed or deleted once it has its files. They aren't kept, since nothing here multiplies by
them: only what is known of them.
"""

from __future__ import annotations

from hashlib import sha256

from starlette.datastructures import UploadFile
from starlette.responses import Response

from sluiceway.local.ai.models import MODELS
from sluiceway.local.api import envelope, shapes
from sluiceway.local.api.errors import ApiError
from sluiceway.local.api.http import ACCOUNT, Call, Table, parsed
from sluiceway.local.store import Doc, Json, Records

_BASE = f"{ACCOUNT}/ai/finetunes"
CONFIG, WEIGHTS = FILES = ("adapter_config.json", "adapter_model.safetensors")
MAX_FINETUNES = 100
MAX_BYTES = 300_000_000
MAX_RANK = 32
_MAX_CONFIG = 1_000_000
_MODEL_TYPES = ("mistral", "gemma", "llama")
_RESERVED = "cf-public-"
_MISTRAL = "@cf/mistral/mistral-7b-instruct-v0.2-lora"
_SINCE = "2024-04-02T00:00:00.000000Z"
PUBLIC: tuple[Doc, ...] = tuple(
    {
        "id": f"00000000-0000-4000-9000-{number:012x}", "name": f"{_RESERVED}{name}", "description": told,
        "model": _MISTRAL, "public": True, "created_at": _SINCE, "modified_at": _SINCE,
        "assets": {file: {} for file in FILES},
    }
    for number, (name, told) in enumerate(
        (("magicoder", "Coding tasks in multiple languages"), ("jigsaw-classification", "Toxic comment classification"),
         ("cnn-summarization", "Article summarization")), 1,
    )
)  # fmt: skip


def find(records: Records, named: str) -> Doc | None:
    """The fine-tune of that id or name, Cloudflare's own too. ``assets``: its files, by name."""
    own = records.get("finetune", named)
    if own is not None:
        return own
    return next((each for each in (*records.all("finetune"), *PUBLIC) if named in (each["id"], each["name"])), None)


async def listing(call: Call) -> Response:
    return envelope.ok([_view(each) for each in call.state.all("finetune")])


async def public(call: Call) -> Response:
    limit, offset = call.number("limit", 50), call.number("offset", 0, low=0)
    return envelope.ok([_view(each) for each in PUBLIC[offset : offset + limit]])


async def create(call: Call) -> Response:
    body = await call.object(shapes.Finetune)
    name, model = body["name"], body["model"]
    known = MODELS.get(model)
    if known is None or not known.lora:
        raise _refused(f"MODEL_NOT_SUPPORTED: {model}")
    if not name or len(name) > 100 or name.startswith(_RESERVED):
        raise _refused("name: 1 to 100 characters, and not with the prefix cf-public-")

    def apply(records: Records) -> Doc:
        found = records.all("finetune")
        if any(each["name"] == name for each in found):
            raise _refused(f"a finetune named {name} already exists")
        if len(found) >= MAX_FINETUNES:
            raise _refused(f"an account has at most {MAX_FINETUNES} finetunes")
        now = call.config.stamp()
        made = {
            "id": call.config.uuid(), "name": name, "model": model, "description": body.get("description") or "",
            "public": False, "created_at": now, "modified_at": now, "assets": {},
        }  # fmt: skip
        records.put("finetune", made["id"], made)
        return made

    return envelope.ok(_view(await call.control.change(apply)))


async def upload(call: Call) -> Response:
    """One of the two files."""
    key = call.param("finetune")
    _require(call.state, key)
    async with call.request.form() as form:
        name, file = form.get("file_name"), form.get("file")
        if name not in FILES:
            raise _refused(f"file_name: must be one of {', '.join(FILES)}")
        if not isinstance(file, UploadFile):
            raise _refused("file: required, a file")
        kept = await _checked(str(name), file)

    def apply(records: Records) -> None:
        found = _require(records, key)
        if name in found["assets"]:
            raise _refused(f"{name} is there already, and the files of a finetune can't be changed")
        assets = {**found["assets"], name: kept}
        records.put("finetune", key, {**found, "assets": assets, "modified_at": call.config.stamp()})

    await call.control.change(apply)
    return envelope.ok(None)


async def _checked(name: str, file: UploadFile) -> Doc:
    size = file.size or 0
    if size >= (MAX_BYTES if name == WEIGHTS else _MAX_CONFIG):
        raise ApiError(413, 7021, f"{name}: the file is too large")  # own number
    digest, head = sha256(), b""
    while chunk := await file.read(1 << 20):
        digest.update(chunk)
        head = head or chunk
    if name == CONFIG:
        _check_config(head)
    elif size < 10 or int.from_bytes(head[:8], "little") > size - 8 or head[8:9] != b"{":
        raise _refused(f"{name}: not a safetensors file")
    return {"sha256": digest.hexdigest(), "bytes": size}


def _check_config(text: bytes) -> None:
    try:
        document: Json = parsed(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise _refused(f"{CONFIG}: not a JSON object")
    rank = document.get("r")
    if not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        raise _refused(f"{CONFIG}: r must be from 1 to {MAX_RANK}")
    if document.get("model_type") not in _MODEL_TYPES:
        raise _refused(f"{CONFIG}: model_type must be one of {', '.join(_MODEL_TYPES)}")


def _require(records: Records, key: str) -> Doc:
    found = records.get("finetune", key)
    if found is None:
        raise ApiError(404, 7022, f"Finetune {key} not found")  # own number
    return found


def _refused(message: str) -> ApiError:
    return ApiError(400, 7020, message)  # own number


def _view(finetune: Doc) -> Doc:
    """As the API tells it: which files there are, it does not say."""
    return {name: value for name, value in finetune.items() if name != "assets"}


ROUTES: Table = (
    ("GET", _BASE, listing),
    ("POST", _BASE, create),
    ("GET", f"{_BASE}/public", public),
    ("POST", f"{_BASE}/{{finetune}}/finetune-assets", upload),
)
