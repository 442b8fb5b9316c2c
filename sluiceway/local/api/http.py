"""What every endpoint is made of: a call, a table of routes, and the translation of errors."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sluiceway.local.api import envelope, errors, shapes
from sluiceway.local.api.config import ApiConfig
from sluiceway.local.api.control import Control
from sluiceway.local.store import Doc, Json, Records

_log = logging.getLogger("sluiceway.local.api")

ACCOUNT = "/accounts/{account}"


class _Rest(PathConvertor):
    """The rest of a path with its line ends, at which Starlette's own convertor stops: a key may hold any character."""

    regex = r"[\s\S]*"


register_url_convertor("rest", _Rest())


def parsed(text: bytes | str) -> Json:
    """JSON whose strings are text; a ValueError for half a surrogate pair, which nothing could write, and for depth."""
    try:
        value = json.loads(text)
        if (b"\\u" if isinstance(text, bytes) else "\\u") in text:  # type: ignore[operator]
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


@dataclass(frozen=True)
class Call:
    """One request, with the state that it acts on."""

    request: Request
    control: Control

    @property
    def config(self) -> ApiConfig:
        return self.control.config

    @property
    def state(self) -> Records:
        """Committed state."""
        return self.control.store.committed

    def param(self, name: str) -> str:
        return str(self.request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def flag(self, name: str) -> bool:
        return self.query(name).lower() in ("true", "1")

    def number(self, name: str, default: int, low: int = 1, high: int = 1_000_000) -> int:
        """A whole number of the query, within bounds; an ApiError otherwise."""
        text = self.query(name)
        if not text:
            return default
        if not text.isdigit() or not low <= int(text) <= high:
            raise errors.malformed(f"{name} must be a number from {low} to {high}")
        return int(text)

    async def json(self) -> Json:
        try:
            return parsed(await self.request.body())
        except ValueError as error:
            raise errors.malformed() from error

    async def object(self, shape: type[shapes.Body] = shapes.Body) -> Doc:
        """The body as a JSON object of this shape; an ApiError when it is anything else."""
        body = await self.json()
        if not isinstance(body, dict):
            raise errors.malformed("The request body must be a JSON object")
        return shapes.checked(shape, body)

    async def array(self) -> list[Json]:
        body = await self.json()
        if not isinstance(body, list):
            raise errors.malformed("The request body must be a JSON array")
        return body

    def paged(self, items: list[Json], size: int = 20) -> Response:
        return envelope.page(items, self.number("page", 1), self.number("per_page", size, high=1000))


Handler = Callable[[Call], Awaitable[Response]]
Table = Iterable[tuple[str, str, Handler]]


def build(table: Table, control: Control) -> list[Route]:
    """Routes of a table of (methods separated by blanks, path below /client/v4, handler)."""
    return [
        Route(f"/client/v4{path}", _endpoint(handler, control), methods=methods.split())
        for methods, path, handler in table
    ]


def _endpoint(handler: Handler, control: Control) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            return await handler(Call(request, control))
        except errors.ApiError as error:
            return envelope.fail(error.status, error.code, error.message)
        except HTTPException as error:
            # What the framework says of a body that it can't parse.
            return envelope.fail(error.status_code, 10001, error.detail)
        except errors.HostRejected as error:
            return envelope.fail(400, error.code, error.message)
        except errors.HostError as error:
            _log.error("the data plane failed: %s", error)
            return envelope.fail(
                503, 10013, "The local stage's data plane does not answer. See `sluiceway local logs host`."
            )
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            return envelope.fail(500, 10013, "workers.api.error.unknown. See `sluiceway local logs control`.")

    return endpoint
