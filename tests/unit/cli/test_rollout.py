"""``sluiceway rollout``: what is typed becomes what the gateway is asked, and what it says is shown."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sluiceway.cli import rollout
from sluiceway.cli.main import app as main
from sluiceway.errors import GateAborted, UserError
from sluiceway.rollouts.views import JournalEntry, RolloutView, read
from sluiceway.rollouts.watching import Look
from tests.unit.rollouts.fake_stage import BEGAN, FakeStage, entry, gate, view


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeStage]:
    found = FakeStage()
    monkeypatch.setattr(rollout, "open_admin", lambda stage, url: found.admin())
    monkeypatch.setattr(rollout, "_now", lambda: BEGAN + 60_000)
    monkeypatch.delenv("GITHUB_ACTOR", raising=False)
    yield found


def run(*words: str) -> str:
    done = CliRunner().invoke(rollout.app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_all_commands_are_the_tools() -> None:
    shown = CliRunner().invoke(main, ["rollout", "--help"]).stdout
    names = ("list", "show", "watch", "pause", "resume", "promote", "abort", "rollback", "history", "report")
    assert all(f"\n  {name} " in shown for name in names)


def test_a_list_is_a_line_a_model(fake: FakeStage) -> None:
    fake.views["intent"] = view("intent", phase="split", strategy=None, step=None, until=None, weights=[[3, 100]])
    lines = run("list", "dev").splitlines()
    assert lines[1].split()[:3] == ["chat", "stepping", "canary"]
    assert "chat@1 90 %, chat@2 10 %" in lines[1] and "2/4" in lines[1] and "9 min 00 s" in lines[1]
    assert lines[2].split()[:3] == ["intent", "split", "-"]
    assert [one["model"] for one in json.loads(run("list", "dev", "--json"))["models"]] == ["chat", "intent"]


def test_a_line_of_a_list_is_one_line_however_long_its_sentence_is(fake: FakeStage) -> None:
    fake.views["chat"] = view(waiting="chat: " + "waits " * 100)
    assert len(run("list", "dev").splitlines()) == 2


def test_a_model_is_shown_with_its_gates_bounds_and_countdown(fake: FakeStage) -> None:
    fake.views["chat"] = view(gates=[gate(), gate("cost", mode="observe", verdict="fail", reason=None)])
    out = run("show", "chat", "dev")
    lines = out.splitlines()
    assert lines[0] == "chat  canary  chat@1 -> chat@2  stepping  step 2 of 4  9 min 00 s left"
    assert [line.count("█") for line in lines[1:3]] == [36, 4]
    errors = next(line for line in lines if line.startswith("  errors"))
    assert "9/900  1.0%" in errors and "1/100  1.0%" in errors and "-3.0 .. +5.0" in errors and "+2.0" in errors
    assert errors.endswith("inconclusive")
    assert any(line.startswith("  cost (observe)") and line.endswith("fail") for line in lines)
    assert lines[-1] == "  chat: the gate errors needs more requests."
    assert json.loads(run("show", "chat", "dev", "--json")) == fake.views["chat"]


def test_what_holds_a_rollout_is_said(fake: FakeStage) -> None:
    fake.views["chat"] = view(platform=True, held=True, gates=[gate(reason="platform")])
    out = run("show", "dev")
    assert "platform: both arms are bad" in out and "held: what git declares has failed" in out
    assert "inconclusive: platform" in out


def test_each_arm_of_an_ab_rollout_has_a_table(fake: FakeStage) -> None:
    readout = [{"version": version, "gates": [gate("refusals")]} for version in (2, 3)]
    fake.views["chat"] = view(strategy="ab", readout=readout)
    out = run("show", "chat", "dev")
    assert "chat@2 bad" in out and "chat@3 bad" in out
    assert "errors" not in out.partition("gate ")[2].partition("chat:")[0]


@pytest.mark.parametrize("command", ["pause", "abort", "rollback"])
def test_a_command_names_who_does_it(fake: FakeStage, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTOR", "ci-bot")
    out = run(command, "chat", "dev")
    assert fake.asked == [("POST", f"/rollouts/chat/{command}", {"actor": "ci-bot"})]
    assert out.splitlines()[1] == f"chat: {command} by ci-bot."
    fake.views["chat"] = view(paused_from="stepping")
    run(command, "chat", "dev", "--as", "ann", "--reason", "looks odd", "--expect", "7")
    assert fake.asked[-1][2] == {"actor": "ann", "reason": "looks odd", "expect": 7}


def test_a_promotion_is_of_what_was_there_when_it_was_asked_for(fake: FakeStage) -> None:
    out = run("promote", "chat", "dev", "--as", "ann")
    assert [(method, body) for method, _, body in fake.asked] == [
        ("GET", None),
        ("POST", {"actor": "ann", "expect": 7}),
    ]
    assert out.splitlines()[0] == "chat is promoted: chat@2 100 %"
    with pytest.raises(UserError, match="moved on"):
        run("promote", "chat", "dev", "--expect", "7")


def test_a_model_that_is_not_there_is_told_with_those_that_are(fake: FakeStage) -> None:
    with pytest.raises(UserError, match="no model chatt") as caught:
        run("show", "chatt", "dev")
    assert caught.value.hint == "models: chat"


def test_words_too_many_are_refused(fake: FakeStage) -> None:
    with pytest.raises(UserError, match="too many"):
        run("show", "chat", "dev", "more")
    assert fake.asked == []


def test_a_history_is_a_line_an_entry_and_moves_no_cursor(fake: FakeStage) -> None:
    fake.entries = [entry(1, "chat: one."), entry(2, "chat: \x1b[2Jtwo.", cause="person:ann")]
    assert run("history", "chat", "dev").splitlines() == [
        "2026-11-01 12:01:00Z  chat: one.  (clock)",
        "2026-11-01 12:02:00Z  chat: ?[2Jtwo.  (person:ann)",
    ]
    assert len(run("history", "dev", "-n", "1").splitlines()) == 1
    assert [one["number"] for one in json.loads(run("history", "dev", "--json"))] == [1, 2]


def test_a_history_at_a_moment_says_what_served_and_why(fake: FakeStage) -> None:
    fake.entries = [entry(1, "chat: begins."), entry(5, "chat: rolled back.", weights=[[1, 100]], cause="gate:errors")]
    assert run("history", "chat", "dev", "--at", "2026-11-01T12:03Z").splitlines() == [
        "chat: chat@1 90 %, chat@2 10 %  (stepping, release r-0123456789ab, until 2026-11-01 12:05:00Z)",
        "  because: 2026-11-01 12:01:00Z  chat: begins.  (clock)",
    ]
    (moment,) = json.loads(run("history", "dev", "--at", "2026-11-01T12:06Z", "--json"))
    assert (moment["weights"], moment["because"]["cause"], moment["until"]) == ([[1, 100]], "gate:errors", None)
    with pytest.raises(UserError, match="knows of nothing of chat"):
        run("history", "chat", "dev", "--at", "2026-11-01T12:00Z")


def test_a_watch_in_a_pipe_prints_what_happens_and_ends_with_3(fake: FakeStage) -> None:
    fake.views["chat"] = view(phase="rolled-back", weights=[[1, 100]])
    fake.entries = [entry(1, "chat: errors fail.", kind="rolled-back", cause="gate:errors")]
    done = CliRunner().invoke(rollout.app, ["watch", "chat", "dev", "--wait", "0"])
    assert isinstance(done.exception, GateAborted)
    assert done.exception.render().startswith("error: chat: errors fail\nhint: ")
    assert done.stdout == "2026-11-01 12:01:00Z  chat: errors fail.  (gate:errors)\n"


def test_a_watch_with_json_is_an_object_a_line(fake: FakeStage) -> None:
    fake.views["chat"] = view(phase="promoted")
    fake.entries = [entry(1, "one."), entry(2, "two.")]
    lines = run("watch", "dev", "--wait", "0", "--json").splitlines()
    assert [json.loads(line)["sentence"] for line in lines] == ["one.", "two."]


def test_a_report_is_written_where_it_was_asked_for(
    fake: FakeStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fake.entries = [entry(1, "chat: begins.")]
    assert run("report", "chat", "dev") == "rollout-chat-dev.html\n"
    assert "chat: begins." in (tmp_path / "rollout-chat-dev.html").read_text("utf-8")
    told = json.loads(run("report", "dev", "-o", "all.html", "--json"))
    assert (told["path"], told["stage"], told["models"], told["entries"]) == ("all.html", "dev", ["chat"], 1)
    assert told["rollouts"][0]["gates"][0]["name"] == "errors"
    assert told["journal"][0]["sentence"] == "chat: begins."
    assert (tmp_path / "all.html").is_file()


@pytest.mark.parametrize(("out", "said"), [("none/here.html", "no folder"), (".", "is a folder")])
def test_a_report_that_can_not_be_written_there_is_a_users_mistake(
    fake: FakeStage, tmp_path: Path, out: str, said: str
) -> None:
    with pytest.raises(UserError, match=said) as raised:
        CliRunner().invoke(rollout.app, ["report", "chat", "dev", "-o", str(tmp_path / out)], catch_exceptions=False)
    assert str(raised.value.path).startswith("--out ")
    assert raised.value.hint is not None


def test_a_report_is_of_the_last_rollout_unless_all_is_asked_for(fake: FakeStage, tmp_path: Path) -> None:
    kinds = ("spec", "start", "promoted", "spec", "start", "step")
    fake.entries = [entry(place + 1, f"entry {place + 1}.", kind=kind) for place, kind in enumerate(kinds)]
    file = tmp_path / "report.html"
    run("report", "chat", "dev", "-o", str(file))
    assert [f"entry {number}." in file.read_text("utf-8") for number in range(1, 7)] == [False] * 3 + [True] * 3
    run("report", "chat", "dev", "-o", str(file), "--all")
    assert all(f"entry {number}." in file.read_text("utf-8") for number in range(1, 7))


def test_the_live_screen_leaves_its_last_look_behind_whatever_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    models = (read(RolloutView, view(), "view"),)

    def seen() -> Iterator[Look]:
        yield Look(BEGAN, models, (read(JournalEntry, entry(1, "chat: begins."), "entry"),))
        raise GateAborted("errors fail", path="chat")

    with pytest.raises(GateAborted):
        rollout._live("dev", seen(), Console(file=io.StringIO(), force_terminal=True, height=30, width=120))
    assert "chat@1 -> chat@2" in (out := capsys.readouterr().out) and "chat: begins." in out
