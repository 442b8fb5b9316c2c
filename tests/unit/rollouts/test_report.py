"""The report is one file: well-formed, whole, without anything that it would load or run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from sluiceway.rollouts.charts import difference_chart, rates_chart, weights_chart
from sluiceway.rollouts.report import report_html
from sluiceway.rollouts.views import GateView, JournalEntry, RolloutView, read
from tests.unit.rollouts.fake_stage import BEGAN, entry, gate, view

NOW = BEGAN + 3_600_000
EVIL = "<script>alert(1)</script>\"'&"


def model(**changes: object) -> RolloutView:
    return read(RolloutView, view(**changes), "view")  # type: ignore[arg-type]


def journal(*raw: dict[str, object]) -> list[JournalEntry]:
    return [read(JournalEntry, one, "entry") for one in raw]


WAY = journal(
    entry(1, "chat: chat@1 has it all.", kind="spec", weights=[[1, 100]]),
    entry(2, "chat: begins.", weights=[[1, 99], [2, 1]], gates=[gate(candidate={"requests": 10, "bad": 0})]),
    entry(3, "chat: goes on.", weights=[[1, 90], [2, 10]], gates=[gate(candidate={"requests": 80, "bad": 4})]),
    entry(4, "chat: rolled back.", weights=[[1, 100]], cause="gate:errors", gates=[gate(verdict="fail", reason=None)]),
)


class Tags(HTMLParser):
    """Which tags stay open, and what the page would fetch or run."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.active: list[str] = []
        self.said: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "line", "rect", "path", "polyline", "polygon"):
            self.open.append(tag)
        names = {name for name, _ in attrs}
        if tag in ("script", "link", "img", "iframe", "object") or names & {"src", "href", "action"}:
            self.active.append(tag)
        self.active += [name for name in names if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_a_report_tells_each_decision_with_its_numbers() -> None:
    page = report_html("staging", [model(phase="rolled-back", held=True)], WAY, NOW)
    tags = Tags(page)
    assert (tags.open, tags.active) == ([], [])
    text = " ".join(" ".join(tags.said).split())
    for one in WAY:
        assert one.sentence in text
    assert "errors: fail, stable 9 of 900 (1.0%), candidate 1 of 100 (1.0%), difference -3.0 to +5.0 points" in text
    assert "What git declares has failed and is held" in text
    assert "Gates of chat@2" in text


def test_what_people_wrote_stays_text() -> None:
    views = [model(model=EVIL, waiting=EVIL, release=EVIL, gates=[gate(EVIL, reason=EVIL)])]
    entries = journal(*(entry(n, EVIL, model=EVIL, cause=EVIL, gates=[gate(EVIL, reason=EVIL)]) for n in (1, 2)))
    tags = Tags(report_html(EVIL, views, entries, NOW))
    assert (tags.open, tags.active) == ([], [])
    assert EVIL in "".join(tags.said)


def test_the_same_rollout_gives_the_same_bytes() -> None:
    assert report_html("dev", [model()], WAY, NOW) == report_html("dev", [model()], WAY, NOW)


def test_a_model_without_rollout_and_journal_has_a_report_too() -> None:
    plain = model(phase="split", strategy=None, candidates=[], steps=[], step=None, until=None, gates=[], release="r")
    page = report_html("dev", [plain], [], NOW)
    assert Tags(page).open == []
    assert "None yet." in page


def test_each_arm_of_an_ab_rollout_has_its_gates() -> None:
    readout = [{"version": version, "gates": [gate("refusals")]} for version in (2, 3)]
    page = report_html("dev", [model(strategy="ab", candidates=[2, 3], readout=readout)], [], NOW)
    assert [page.count(f"Gates of chat@{version}") for version in (1, 2, 3)] == [0, 1, 1]


def test_weights_are_drawn_as_steps_that_fill_the_whole() -> None:
    svg = weights_chart(model(), WAY, NOW)
    ElementTree.fromstring(svg)
    paths = re.findall(r'd="M([^"]*) Z"', svg)
    assert len(paths) == 2
    corners = [[tuple(map(float, pair.split(","))) for pair in path.split(" L")] for path in paths]
    # Stable is from the floor up, the candidate from stable up to the top: where one ends the other begins.
    half = len(corners[0]) // 2
    assert corners[0][:half] == list(reversed(corners[1][half:]))
    assert {y for _, y in corners[0][half:]} == {176.0}
    assert {y for _, y in corners[1][:half]} == {8.0}
    assert corners[0][0][0] < corners[0][half - 1][0]


def test_an_interval_is_drawn_where_it_is() -> None:
    svg = difference_chart(read(GateView, gate(difference=[-0.02, 0.02], margin=0.02), "gate"))
    rect = ElementTree.fromstring(svg).find("rect")
    assert rect is not None
    assert (float(rect.attrib["x"]), float(rect.attrib["width"])) == (52.0, 96.0)
    none = difference_chart(read(GateView, gate(difference=None), "gate"))
    assert "rect" not in none and "no requests yet" in none


def test_rates_need_two_points() -> None:
    assert rates_chart("errors", WAY[:2]) is None
    svg = rates_chart("errors", WAY)
    assert svg is not None
    lines = ElementTree.fromstring(svg).findall("polyline")
    assert [len(line.attrib["points"].split()) for line in lines] == [3, 3]
