"""Client of a gateway's admin endpoints, ``/_sluiceway``. Nothing here shows the admin key or a caller's key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from sluiceway.errors import SluicewayError, UserError

PREFIX: Final = "/_sluiceway"
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}
_PAGE: Final = 500
_SECONDS: Final = 30.0

Json = dict[str, Any]


class GatewayAdmin:
    """The admin endpoints of the gateway at ``url``, opened by ``key``.

    Methods give what the gateway answers, as it stands. They raise UserError for what it refuses, with the path of
    the field at fault, and SluicewayError when it fails or can't be reached.
    """

    def __init__(self, url: str, key: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._url = _checked(url)
        if not key.isascii() or not key.isprintable() or not key.strip():
            raise UserError(
                "the admin key can't travel in a header", path="ADMIN_KEY", hint="printable ASCII on one line, no more"
            )
        local = urlsplit(self._url).hostname in _LOOPBACK
        self._http = httpx.Client(
            base_url=f"{self._url}{PREFIX}",
            headers={"authorization": f"Bearer {key}"},
            timeout=_SECONDS,
            transport=transport,
            trust_env=not local,  # a proxy of the person's can't reach this machine, and must not see the key
            follow_redirects=False,
        )

    def __enter__(self) -> GatewayAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def create_key(self, spec: Mapping[str, object]) -> Json:
        """The new key; its text is ``key``, and never comes again."""
        return self.send("POST", "/keys", dict(spec))

    def list_keys(self) -> list[Json]:
        """All keys in the order in which they were made, revoked and expired ones too."""
        found: list[Json] = []
        after: int | None = 0
        while after is not None:
            page = self.send("GET", f"/keys?after={after}&limit={_PAGE}")
            found += page["data"]
            after = page["next"]
        return found

    def rotate_key(self, key_id: str, grace_seconds: int) -> Json:
        """The key with its new text; the old one is good for ``grace_seconds`` more."""
        return self.send("POST", f"/keys/{key_id}/rotate", {"grace_seconds": grace_seconds})

    def revoke_key(self, key_id: str) -> Json:
        return self.send("POST", f"/keys/{key_id}/revoke")

    def spend(self) -> Json:
        """What the stage has spent this day and month, by key, team and model."""
        return self.send("GET", "/spend")

    def send(self, method: str, path: str, body: Json | None = None, *, look: str = "sluiceway keys list") -> Json:
        """One call, sent once: whether a change that got no answer was made, only a look (by that command) can tell."""
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as fault:
            then = "" if method == "GET" else f"; then look (`{look}`): it may have been done"
            raise SluicewayError(
                f"the gateway did not answer: {type(fault).__name__}",
                path=self._url,
                hint=f"see whether that URL can be reached from here{then}",
            ) from fault
        document = _document(response)
        if response.is_success and document is not None:
            return document
        raise self._refusal(response.status_code, (document or {}).get("error"))

    def _refusal(self, status: int, error: object) -> SluicewayError:
        told: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
        code, message = told.get("code"), told.get("message")
        if code == "invalid_admin_key":
            return UserError(
                "the gateway refuses the admin key",
                path=self._url,
                hint="the key must be the one that the stage was last brought up with: set ADMIN_KEY, `up`, try again",
            )
        if code is None and status >= 500:
            return SluicewayError(
                f"what answers in the gateway's place failed (HTTP {status})",
                path=self._url,
                hint="see whether the stage is up, then try again",
            )
        if code is None or code == "not_found":
            return UserError(
                f"there are no admin endpoints at this URL (HTTP {status})",
                path=self._url,
                hint="bring the stage up with ADMIN_KEY among its secrets, or name the gateway's own URL with --url",
            )
        path = str(told["param"]) if told.get("param") else self._url
        if status < 500:
            # The gateway begins with the field, which goes before it here as well.
            said = str(message).removeprefix(f"`{path}`").removeprefix(":").strip().rstrip(".")
            hint = str(told.get("hint") or _HINTS.get(str(code), "mend that, and try again"))
            return UserError(said, path=path, hint=hint)
        return SluicewayError(
            f"the gateway failed: {str(message).rstrip('.')} ({code}, request {told.get('request_id')})",
            path=self._url,
            hint="try again in a moment; the stage's log has the request",
        )


_HINTS: Final = {
    "key_exists": "`sluiceway keys list STAGE` shows it",
    "key_not_found": "`sluiceway keys list STAGE --all` shows all of them",
    "model_not_found": "name one of those; with --release, any that this release served",
    "key_closed": "`sluiceway keys create STAGE NAME` makes a new one",
}


def _checked(url: str) -> str:
    if not _private(url):
        raise UserError(
            "is no URL to send an admin key to",
            path="--url",
            hint="an https URL without user or query, or http on this machine",
        )
    return url.rstrip("/")


def _private(url: str) -> bool:
    try:
        parts = urlsplit(url)
        name = parts.hostname
    except ValueError:
        return False
    secure = parts.scheme == "https" or (parts.scheme == "http" and name in _LOOPBACK)
    return secure and bool(name) and parts.username is None and not parts.query and not parts.fragment


def _document(response: httpx.Response) -> Json | None:
    try:
        document = response.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
