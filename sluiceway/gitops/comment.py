"""The pull-request comment of one stage's preview: written once, then updated in place.

A comment is found again by an invisible marker in its first line, so that ten pushes leave one
comment a stage. The text holds counts, resource names and the names of changed properties, never
their values: a value may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

from sluiceway.errors import SluicewayError, UserError

_SIGNS = {"create": "+", "update": "~", "replace": "+-", "delete": "-", "import": "=", "same": " "}
_WORDS = (("create", "to create"), ("update", "to update"), ("replace", "to replace"), ("delete", "to delete"))
_MOST_STEPS = 200
_PAGE = 100


@dataclass(frozen=True)
class PreviewStep:
    """One resource that would change: ``op`` is create, update, replace, delete or import."""

    op: str
    type: str
    name: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class PreviewReport:
    """What ``sluiceway preview STAGE --json`` prints, as the comment needs it.

    ``proof``: what it takes to come back from this change, line by line.
    """

    stage: str
    changes: Mapping[str, int]
    steps: tuple[PreviewStep, ...]
    rollouts: tuple[str, ...] = ()
    error: str | None = None
    proof: tuple[str, ...] = ()


def marker(stage: str) -> str:
    return f"<!-- sluiceway:preview:{stage} -->"


def markdown(report: PreviewReport, commit: str | None = None) -> str:
    """The comment's text, marker first."""
    lines = [marker(report.stage), f"### Preview of `{report.stage}`", ""]
    if report.error is not None:
        lines += ["The preview failed:", "", *_fence(report.error), ""]
    else:
        lines += [_summary(report.changes), ""]
        lines += _table(report.steps)
        lines += _rollouts(report.rollouts)
        lines += _proof(report.proof)
    if commit:
        lines += [f"Commit {commit[:12]}."]
    return "\n".join(lines).rstrip() + "\n"


def _summary(changes: Mapping[str, int]) -> str:
    parts = [f"**{changes[op]} {words}**" for op, words in _WORDS if changes.get(op)]
    unchanged = changes.get("same", 0)
    if not parts:
        return f"No changes: {unchanged} unchanged."
    return f"{', '.join(parts)}, {unchanged} unchanged."


def _table(steps: Sequence[PreviewStep]) -> list[str]:
    if not steps:
        return []
    rows = ["```diff"]
    for step in steps[:_MOST_STEPS]:
        changed = f"  [{', '.join(step.changed)}]" if step.changed else ""
        rows.append(f"{_SIGNS.get(step.op, '?'):<2} {step.type}  {step.name}{changed}")
    if len(steps) > _MOST_STEPS:
        rows.append(f"   and {len(steps) - _MOST_STEPS} more")
    return [*rows, "```", ""]


def _rollouts(sentences: Sequence[str]) -> list[str]:
    if not sentences:
        return []
    return ["Rollouts that this commit declares:", "", *(f"- {sentence}" for sentence in sentences), ""]


def _proof(told: Sequence[str]) -> list[str]:
    return ["Rollback proof:", "", *(f"- {line}" for line in told), ""] if told else []


def _fence(text: str) -> list[str]:
    # A run of backticks in the text would end a shorter fence.
    longest = 0
    run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return [fence, text, fence]


@dataclass(frozen=True)
class PullRequest:
    """Where a comment goes. ``repository`` is ``owner/name``."""

    repository: str
    number: int


def upsert(client: httpx.Client, pull: PullRequest, stage: str, body: str) -> str:
    """Writes or rewrites the stage's comment; gives its URL. ``client`` has base URL and token set."""
    existing = _find(client, pull, marker(stage))
    if existing is None:
        url = f"/repos/{pull.repository}/issues/{pull.number}/comments"
        answer = _send(client, "POST", url, {"body": body})
    else:
        answer = _send(client, "PATCH", f"/repos/{pull.repository}/issues/comments/{existing}", {"body": body})
    return str(answer.json().get("html_url", ""))


def _find(client: httpx.Client, pull: PullRequest, mark: str) -> int | None:
    page = 1
    while True:
        url = f"/repos/{pull.repository}/issues/{pull.number}/comments?per_page={_PAGE}&page={page}"
        comments = _send(client, "GET", url).json()
        for comment in comments:
            if str(comment.get("body", "")).startswith(mark):
                return int(comment["id"])
        if len(comments) < _PAGE:
            return None
        page += 1


def _send(client: httpx.Client, method: str, url: str, body: object = None) -> httpx.Response:
    try:
        answer = client.request(method, url, json=body)
    except httpx.HTTPError as fault:
        raise SluicewayError(
            f"{method} {url} got no answer: {type(fault).__name__}",
            path=str(client.base_url),
            hint="run the command again; the comment is updated in place, so nothing is doubled",
        ) from fault
    if answer.status_code in (401, 403, 404):
        raise UserError(
            f"{method} {url} was refused",
            path=str(client.base_url),
            got=answer.status_code,
            hint="GITHUB_TOKEN needs `pull-requests: write` for this repository",
        )
    if answer.status_code >= 400:
        raise SluicewayError(f"{method} {url} failed", path=str(client.base_url), got=answer.status_code)
    return answer
