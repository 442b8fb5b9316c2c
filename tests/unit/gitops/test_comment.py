import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from sluiceway.cli.release_view import told_proof
from sluiceway.errors import SluicewayError, UserError
from sluiceway.gitops.comment import PreviewReport, PreviewStep, PullRequest, markdown, marker, upsert

REPORT = PreviewReport(
    stage="dev",
    changes={"create": 1, "replace": 1, "same": 12},
    steps=(
        PreviewStep("create", "cloudflare:index/queue:Queue", "events"),
        PreviewStep("replace", "cloudflare:index/workerVersion:WorkerVersion", "chat", ("bindings", "modules")),
    ),
)
PULL = PullRequest("acme/models", 7)


class Hub:
    """A small GitHub: comments of one pull request, a hundred to a page."""

    def __init__(self, bodies: list[str]) -> None:
        self.comments: list[dict[str, Any]] = [{"id": i + 1, "body": body} for i, body in enumerate(bodies)]
        self.status = 200

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.status != 200:
            return httpx.Response(self.status, json={"message": "no"})
        if request.method == "GET":
            page = int(request.url.params["page"])
            size = int(request.url.params["per_page"])
            return httpx.Response(200, json=self.comments[(page - 1) * size : page * size])
        body = json.loads(request.content)["body"]
        if request.method == "POST":
            self.comments.append({"id": len(self.comments) + 1, "body": body})
            return httpx.Response(201, json={"html_url": "https://hub.invalid/new"})
        number = int(request.url.path.rsplit("/", 1)[1])
        self.comments[number - 1]["body"] = body
        return httpx.Response(200, json={"html_url": "https://hub.invalid/old"})

    def client(self) -> httpx.Client:
        return httpx.Client(base_url="https://hub.invalid", transport=httpx.MockTransport(self))


def test_the_comment_counts_and_names_what_changes() -> None:
    text = markdown(REPORT, commit="0123456789abcdef")
    assert text.splitlines()[0] == marker("dev")
    assert "**1 to create**, **1 to replace**, 12 unchanged." in text
    assert "+- cloudflare:index/workerVersion:WorkerVersion  chat  [bindings, modules]" in text
    assert "Commit 0123456789ab." in text


def test_a_declared_rollout_is_told_in_one_sentence_and_without_one_nothing_is_said() -> None:
    sentence = "chat: chat@1 -> chat@2 by canary 1, 10, 50, 100 %, at least 2 h"
    text = markdown(PreviewReport("dev", {"same": 15}, (), rollouts=(sentence,)), commit="0123456789abcdef")
    assert f"Rollouts that this commit declares:\n\n- {sentence}\n\nCommit 0123456789ab.\n" in text
    assert "ollout" not in markdown(REPORT)


def test_what_it_takes_to_come_back_is_told_where_it_was_proved() -> None:
    found = {"id": "0123456789", "release": "r-1", "stays": False, "breaks": ["this change adds the class Extra"]}
    kept = {"id": "abcdefabcdef", "release": "r-2", "stays": True, "notes": ["an old secret comes back"]}
    text = markdown(replace(REPORT, proof=told_proof({"versions": [kept, found]})))
    assert "Rollback proof:\n\n- 1 of 2 worker versions that had requests can serve after this change." in text
    assert "- 01234567 (r-1): this change adds the class Extra" in text
    assert "- abcdefab (r-2): note: an old secret comes back" in text
    assert "Rollback" not in markdown(REPORT)
    assert told_proof({"error": "nothing serves yet"}) == ("not known: nothing serves yet",)


def test_no_change_says_so() -> None:
    assert "No changes: 15 unchanged." in markdown(PreviewReport("dev", {"same": 15}, ()))


def test_a_failed_preview_shows_its_error_whole_even_with_backticks() -> None:
    text = markdown(PreviewReport("dev", {}, (), error="bad ``` thing"))
    assert "````\nbad ``` thing\n````" in text


def test_a_second_push_rewrites_the_comment_of_the_same_stage_only() -> None:
    hub = Hub(["hello", *["noise"] * 150])
    upsert(hub.client(), PULL, "dev", markdown(REPORT))
    upsert(hub.client(), PULL, "staging", markdown(PreviewReport("staging", {"same": 1}, ())))
    upsert(hub.client(), PULL, "dev", markdown(PreviewReport("dev", {"same": 2}, ())))
    ours = [c["body"] for c in hub.comments if c["body"].startswith("<!-- sluiceway")]
    assert len(ours) == 2
    assert "2 unchanged" in ours[0]


@pytest.mark.parametrize(("status", "kind"), [(403, UserError), (404, UserError), (500, SluicewayError)])
def test_a_refusal_is_told_apart_from_a_failure(status: int, kind: type[SluicewayError]) -> None:
    hub = Hub([])
    hub.status = status
    with pytest.raises(SluicewayError) as caught:
        upsert(hub.client(), PULL, "dev", "x")
    assert type(caught.value) is kind
