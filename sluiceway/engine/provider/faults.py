"""What a failed call tells the person: the resource, the call, Cloudflare's words, and what to do."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from sluiceway.errors import SluicewayError


@dataclass(frozen=True)
class InputFault:
    """An input that can't be right. ``path`` is the property, such as ``rules[0].period``."""

    path: str
    reason: str


class ApiFault(SluicewayError):
    """A call that Cloudflare answered with an error, or not at all.

    ``status`` is the HTTP status (0 when there was no answer), ``code`` Cloudflare's own number
    (0 when it gave none).
    """

    def __init__(self, call: str, status: int, code: int, text: str, hint: str | None = None) -> None:
        number = f"error {code}" if code else f"HTTP {status}" if status else "no answer"
        super().__init__(f"{call} failed: {number}: {text}", hint=hint or HINTS.get(code) or _hint(status))
        self.call = call
        self.status = status
        self.code = code
        self.text = text

    @property
    def gone(self) -> bool:
        """The thing isn't there. A path that can't be routed says nothing about the thing."""
        return self.status == 404 and self.code not in UNROUTABLE


def _hint(status: int) -> str | None:
    if status == 429:
        return (
            "Cloudflare lets a token make 1,200 calls in five minutes: wait, then run it again; what was made is kept"
        )
    return "the failure is Cloudflare's: run it again in a while; what was made is kept" if status >= 500 else None


MAYBE_GONE = "whether it is deleted can't be told now: once the API answers, `sluiceway refresh STAGE` finds out"
MAYBE_MADE = "whether it was made can't be told now: run it again once the API answers, and what is there is taken over"
UNROUTABLE = frozenset({7000, 7003})

HINTS: dict[int, str] = {
    7004: "an AI gateway of this id exists already: choose another id, or adopt it with its import id <account>/<id>",
    7003: "the account or zone id in the path is not one that this token can see; check account_id and the zone's id",
    9109: "the token may not do this: give it the permission, or check that account_id is the token's account",
    10000: "the API token was not accepted; check CLOUDFLARE_API_TOKEN and its permissions",
    10004: "a bucket of this name exists already: choose another name, or adopt it with its import id "
    "<account>/<name>/<jurisdiction>",
    10006: "R2 finds a bucket only under its own jurisdiction: check `jurisdiction` as well as the name",
    10007: "there is no Worker of this name in the account yet; make the Worker before what hangs on it",
    10008: "the bucket is not empty; R2 deletes only empty buckets, so delete its objects first or retain it",
    10014: "a KV namespace of this title exists already: choose another title, or adopt it with its import id "
    "<account>/<namespace id>",
    10020: "another Worker holds this route; one pattern belongs to one Worker in a zone",
    10021: "Cloudflare ran the Worker's code and refused it; the message says where",
    10063: "the account has no workers.dev subdomain yet; open Workers & Pages in the dashboard once to choose it",
    10074: "the Worker has this Durable Object class already: use either `exports` or `migrations` throughout",
    10085: "a binding names a bucket that isn't there; one with a jurisdiction needs `jurisdiction` beside it",
    10100: "Cloudflare counts days 1-7 with Sunday = 1; write names (SUN, MON-FRI) instead of numbers",
    10211: "a Durable Object migration can't be part of a split: deploy it at 100 % first",
    11009: "a queue of this name exists already: choose another name, or adopt it with its import id "
    "<account>/<queue id>",
    20217: "a zone has one ruleset per phase; rules of several owners are merged into it",
    100117: "the hostname has a DNS record already; delete that record or choose another hostname (it is never "
    "overridden from here)",
}


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret, and its base64, replaced; short words are left, since they say nothing."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) < 4:
            continue
        for shown in (secret, base64.b64encode(secret.encode()).decode()):
            text = text.replace(shown, "[secret]")
    return text
