"""A stage's rollouts behind the admin HTTP of the gateway: a server for the client's tests, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx

from sluiceway.cloudflare.gateway_admin import GatewayAdmin

URL = "https://gateway.test"
KEY = "adm-canary-0123456789-0123456789"
BEGAN = 1_793_534_400_000  # 2026-11-01T12:00Z
Json = dict[str, Any]


def gate(name: str = "errors", **changes: object) -> Json:
    return {
        "name": name, "mode": "enforce", "margin": 0.02, "slo": None, "verdict": "inconclusive",
        "reason": "inconclusive", "stable": {"requests": 900, "bad": 9}, "candidate": {"requests": 100, "bad": 1},
        "difference": [-0.03, 0.05], "failing": 0.1, "passing": 0.6, **changes,
    }  # fmt: skip


def view(model: str = "chat", **changes: object) -> Json:
    steps: list[Json] = [
        {"weight": weight, "hold_s": 600, "approval": weight == 50, "margins": {}} for weight in (1, 10, 50, 100)
    ]
    return {
        "model": model, "phase": "stepping", "paused_from": None, "strategy": "canary", "stable": 1, "candidates": [2],
        "weights": [[1, 90], [2, 10]], "step": 1, "steps": steps, "since": BEGAN, "until": BEGAN + 600_000,
        "waiting": f"{model}: the gate errors needs more requests.", "platform": False, "gates": [gate()],
        "readout": [], "held": False, "spec_digest": "d1", "order": "2026-11-01T12:00:00Z\nv1", "revision": 7,
        "release": "r-0123456789ab", "figures": None, **changes,
    }  # fmt: skip


def entry(number: int, sentence: str, **changes: object) -> Json:
    """One minute after the one before it."""
    return {
        "number": number, "at": BEGAN + number * 60_000, "model": "chat", "kind": "step", "sentence": sentence,
        "phase": "stepping", "weights": [[1, 90], [2, 10]], "release": "r-0123456789ab", "cause": "clock", "gates": [],
        **changes,
    }  # fmt: skip


class FakeStage:
    """Answers as the gateway does; ``asked`` holds each call. ``page``: entries a page, whatever is asked for."""

    def __init__(self, *views: Json) -> None:
        self.views = {one["model"]: one for one in views or (view(),)}
        self.entries: list[Json] = []
        self.asked: list[tuple[str, str, Json | None]] = []
        self.page = 500
        self.before: Callable[[FakeStage], httpx.Response | None] = lambda _stage: None

    def admin(self) -> GatewayAdmin:
        return GatewayAdmin(URL, KEY, transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode().partition("?")[0].removeprefix("/_sluiceway")
        body = json.loads(request.content) if request.content else None
        self.asked.append((request.method, path, body))
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return refusal(401, "invalid_admin_key", "Missing or wrong admin key.")
        early = self.before(self)
        if early is not None:
            return early
        words = [unquote(word) for word in path.split("/") if word]
        if path == "/rollouts/journal":
            return self._journal(request.url.params)
        if words == ["rollouts"]:
            head = {"stage": "dev", "revision": 7, "order": "o", "release": "r-0123456789ab"}
            return httpx.Response(200, json={**head, "models": list(self.views.values())})
        if words[1] not in self.views:
            return refusal(404, "model_not_found", f"There is no model {words[1]}.", hint="models: chat")
        if len(words) == 3:
            return self._command(words[1], words[2], body or {})
        return httpx.Response(200, json=self.views[words[1]])

    def _journal(self, params: httpx.QueryParams) -> httpx.Response:
        after, size = int(params["after"]), min(self.page, int(params["limit"]))
        known = [one for one in self.entries if one["number"] > after and params.get("model") in (None, one["model"])]
        more = len(known) > size
        return httpx.Response(200, json={"entries": known[:size], "next": known[size - 1]["number"] if more else None})

    def _command(self, model: str, command: str, body: Json) -> httpx.Response:
        now = self.views[model]
        if body.get("expect") not in (None, now["revision"]):
            return refusal(409, "moved_on", f"{model} has moved on.", hint="look again: `sluiceway rollout show`")
        changes: dict[str, Json] = {
            "pause": {"phase": "paused", "paused_from": now["phase"], "until": None},
            "resume": {"phase": now["paused_from"], "paused_from": None},
            "promote": {"phase": "promoted", "weights": [[2, 100]], "until": None},
            "abort": {"phase": "aborted", "weights": [[1, 100]], "until": None},
            "rollback": {"phase": "rolled-back", "weights": [[1, 100]], "until": None},
        }
        told = {"revision": now["revision"] + 1, "waiting": f"{model}: {command} by {body['actor']}."}
        self.views[model] = {**now, **changes[command], **told}
        return httpx.Response(200, json=self.views[model])


def refusal(status: int, code: str, message: str, hint: str | None = None) -> httpx.Response:
    error = {"message": message, "code": code, "param": None, "request_id": "req-1", "hint": hint}
    return httpx.Response(status, json={"error": error})
