"""An upload as it comes in, multipart (wrangler, SDK) or JSON (beta API), brought to one shape and checked."""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import UploadFile
from starlette.requests import Request

from sluiceway.local.api import errors, shapes
from sluiceway.local.store import Doc, Json
from sluiceway.local.world import MODULE_CONTENT_TYPES

MAX_GZIP_BYTES = 10 * 1024 * 1024
# What a version may be sent with but does not run.
_PASSIVE_TYPES = frozenset({"application/source-map"})
_DEFAULT_DATE = "2021-11-02"


@dataclass(frozen=True)
class Module:
    name: str
    content_type: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Upload:
    """``metadata`` is the JSON beside the modules, in the words of the multipart API."""

    metadata: Doc
    modules: tuple[Module, ...]

    @property
    def main_module(self) -> str:
        return str(self.metadata["main_module"])

    @property
    def compatibility_date(self) -> str:
        return str(self.metadata.get("compatibility_date") or _DEFAULT_DATE)

    @property
    def etag(self) -> str:
        parts = "".join(f"{module.name}\n{module.sha256}\n" for module in sorted(self.modules, key=lambda m: m.name))
        return hashlib.sha256(parts.encode()).hexdigest()

    def keep(self, folder: Path) -> list[Doc]:
        """Writes the modules by their digests; gives their descriptions without content."""
        folder.mkdir(parents=True, exist_ok=True)
        for module in self.modules:
            _write_once(folder / module.sha256, module.content)
        return [
            {"name": m.name, "content_type": m.content_type, "sha256": m.sha256, "size": len(m.content)}
            for m in self.modules
        ]


async def from_multipart(request: Request) -> Upload:
    """Part ``metadata`` is JSON, every other part a module named by its file name."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise errors.malformed("The request must be multipart/form-data with a metadata part")
    metadata: Doc | None = None
    modules = []
    async with request.form(max_files=10_000, max_fields=10_000, max_part_size=2 * MAX_GZIP_BYTES) as form:
        for name, part in form.multi_items():
            content = await part.read() if isinstance(part, UploadFile) else part.encode()
            if name == "metadata":
                metadata = _metadata(content)
            else:
                file_name = (isinstance(part, UploadFile) and part.filename) or name
                type_ = (isinstance(part, UploadFile) and part.content_type) or "application/octet-stream"
                modules.append(Module(file_name, type_.split(";")[0].strip(), content))
    if metadata is None:
        raise errors.malformed("The metadata part of the upload is missing")
    # A multipart upload keeps secrets unless it says what to keep; the JSON API takes its list as the whole.
    return checked(Upload({"keep_bindings": ["secret_text"], **metadata}, tuple(modules)))


def from_json(body: Doc) -> Upload:
    """Body of the beta API: ``modules`` with ``content_base64``, the rest as in multipart metadata."""
    shapes.checked(shapes.Version, body)
    modules = tuple(_module(item) for item in body.get("modules") or [])
    return checked(Upload({key: value for key, value in body.items() if key != "modules"}, modules))


def checked(upload: Upload) -> Upload:
    """The upload, or an ApiError in the platform's words."""
    if upload.metadata.get("body_part"):
        raise errors.validation("Service Worker syntax can't be uploaded to the local stage: use ES modules.")
    names = [module.name for module in upload.modules]
    for module in upload.modules:
        if module.content_type not in MODULE_CONTENT_TYPES | _PASSIVE_TYPES:
            raise errors.validation(f'Uncaught TypeError: Unknown module type "{module.content_type}" of {module.name}')
    if len(set(names)) != len(names):
        raise errors.validation("Each module of an upload must have a name of its own")
    main = upload.metadata.get("main_module")
    if not main or main not in names:
        raise errors.validation(f'Uncaught Error: No such module "{main or ""}".')
    _check_size(upload)
    return upload


def _check_size(upload: Upload) -> None:
    # Text that doesn't compress is at worst its own size: only large uploads need the real figure.
    if sum(len(module.content) for module in upload.modules) <= MAX_GZIP_BYTES:
        return
    packed = len(gzip.compress(b"".join(m.content for m in upload.modules), compresslevel=6))
    if packed > MAX_GZIP_BYTES:
        raise errors.ApiError(
            413,
            10027,
            "Your Worker exceeded the size limit of 10 MiB. Please upgrade to a paid plan or reduce its size.",
        )


def _metadata(content: bytes) -> Doc:
    try:
        value: Json = json.loads(content)
    except ValueError as error:
        raise errors.malformed("Could not parse the metadata part as JSON") from error
    if not isinstance(value, dict):
        raise errors.malformed("The metadata part must be a JSON object")
    return shapes.checked(shapes.Version, value)


def _module(item: Doc) -> Module:
    try:
        content = base64.b64decode(item["content_base64"], validate=True)
    except (KeyError, binascii.Error, TypeError) as error:
        raise errors.validation(f"Module {item.get('name')} has no valid content_base64") from error
    return Module(str(item.get("name")), str(item.get("content_type", "")).split(";")[0].strip(), content)


def _write_once(path: Path, content: bytes) -> None:
    if path.exists():
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
