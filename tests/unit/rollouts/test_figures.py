"""What a rollout's requests took and cost: the numbers, and the charts of them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from sluiceway.rollouts.charts import places
from sluiceway.rollouts.figure_charts import cost_chart, latency_chart
from sluiceway.rollouts.figures import quantile_s, seconds_text, summaries, usd_text
from sluiceway.rollouts.report import report_document, report_html
from sluiceway.rollouts.views import Figures, RolloutView, read
from tests.unit.rollouts.fake_stage import BEGAN, view
from tests.unit.rollouts.sample_report import NOW, figures, journal, rollout

COLOURS = {1: 0, 2: 1}


def of(**changes: object) -> Figures:
    return read(Figures, figures(**changes), "figures")


def only(version: int, **changes: object) -> Figures:
    plain = {"version": version, "requests": 4, "first_token": [], "total": [], "cost": []}
    return of(versions=[{**plain, **changes}])


def shapes(svg: str, tag: str, kind: str) -> list[ElementTree.Element]:
    return [found for found in ElementTree.fromstring(svg).iter(tag) if kind in found.attrib.get("class", "").split()]


def corners(shape: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in shape.attrib["points"].split())]


@pytest.mark.parametrize(("ms", "share"), [(1.0, 0.5), (300.0, 0.5), (2_000.0, 0.9), (60_000.0, 0.99)])
def test_a_quantile_is_right_within_a_fifth(ms: float, share: float) -> None:
    times = [ms * 1.003**place for place in range(1_000)]
    histogram = [0] * 90
    for time in times:
        place = next(place for place in range(90) if time < 2 ** ((place + 1) / 4))
        histogram[place] += 1
    found = quantile_s(histogram, share, 4)
    assert found == pytest.approx(times[int(share * 1_000) - 1] / 1000, rel=0.2)


def test_of_nothing_there_is_no_quantile_and_no_chart() -> None:
    assert quantile_s([], 0.5, 4) is None
    assert quantile_s([0, 0], 0.5, 4) is None
    assert latency_chart(rollout(), only(1), COLOURS, "total", None) is None
    assert cost_chart(rollout(), only(1, cost=[[0, 0.0]]), COLOURS, NOW) is None


def test_a_summary_puts_the_candidate_after_stable_with_what_each_cost() -> None:
    stable, candidate = summaries(rollout())
    assert [stable.version, candidate.version] == [1, 2]
    assert (candidate.requests, candidate.cost_usd) == (500, 0.052)
    assert candidate.cost_each == pytest.approx(0.052 / 11)
    assert stable.cost_each == pytest.approx(0.002)
    assert stable.total.p50 is not None and candidate.total.p50 is not None
    assert candidate.total.p50 == pytest.approx(2 * stable.total.p50, rel=0.05)


def test_a_gateway_that_tells_no_figures_has_a_report_without_them() -> None:
    plain = read(RolloutView, view(), "view")
    assert summaries(plain) == []
    assert "Latency and cost" not in report_html("staging", [plain], journal(), NOW)


def test_both_versions_are_drawn_by_share_so_that_a_small_one_is_seen_beside_a_large_one() -> None:
    svg = latency_chart(rollout(), of(), COLOURS, "total", 8.0)
    assert svg is not None
    stable, candidate = shapes(svg, "polygon", "shape")
    assert (stable.attrib["class"], candidate.attrib["class"]) == ("shape arm0", "shape arm1")
    tops = [min(y for _, y in corners(shape)) for shape in (stable, candidate)]
    assert abs(tops[0] - tops[1]) < 8 and min(tops) == 8.0
    for shape in (stable, candidate):
        assert all(40 <= x <= 712 and 8 <= y <= 176 for x, y in corners(shape))
    halves = [float(line.attrib["x1"]) for line in shapes(svg, "line", "half")]
    slo = float(shapes(svg, "line", "margin")[0].attrib["x1"])
    assert halves[0] < halves[1] < slo
    said = ElementTree.fromstring(svg).findtext("desc") or ""
    assert re.fullmatch(r"chat@1 median 2\.\d s; chat@2 median 4\.\d s", said)


@pytest.mark.parametrize("histogram", [[5], [0] * 79 + [3], [1] * 80, [0] * 40 + [1]])
def test_whatever_stands_in_a_histogram_stays_in_its_picture(histogram: list[int]) -> None:
    svg = latency_chart(rollout(), only(2, total=histogram), COLOURS, "total", 5.0)
    assert svg is not None
    for shape in shapes(svg, "polygon", "shape"):
        assert all(40 <= x <= 712 and 8 <= y <= 176 for x, y in corners(shape))
    for text in ElementTree.fromstring(svg).iter("text"):
        assert 36 <= float(text.attrib["x"]) <= 712
    assert len(shapes(svg, "line", "half")) == 1


def test_cost_is_drawn_by_slot_and_a_silent_one_is_a_gap() -> None:
    svg = cost_chart(rollout(), of(), COLOURS, NOW)
    assert svg is not None
    stable, *candidate = shapes(svg, "polyline", "way")
    assert len(corners(stable)) == 6
    assert [len(corners(line)) for line in candidate] == [2, 2]
    # The dearest slot is at the top: 0.05 / 10 of the candidate, 2.5 times what stable costs.
    assert {y for _, y in corners(candidate[1])} == {8.0}
    assert corners(stable)[0][1] == pytest.approx(8 + 0.6 * 168, abs=0.2)
    assert corners(stable)[-1][0] == corners(candidate[1])[-1][0] <= 712


def test_a_version_has_one_colour_in_every_chart() -> None:
    model = rollout()
    assert places(model, journal()) == COLOURS
    page = report_html("staging", [model], journal(), NOW)
    assert page.count("<figure>") == 3
    for heading in ("Time to first token", "Time to the whole answer", "Cost of a request over time"):
        assert heading in page
    assert page.count('class="way arm1"') == 2 and page.count('class="shape arm1"') == 2


def test_the_document_has_the_numbers_that_the_page_shows() -> None:
    told = report_document("staging", [rollout()], journal())
    (one,) = told["rollouts"]
    assert one["figures"] == {**figures(), "since": BEGAN}
    assert [each["version"] for each in one["summaries"]] == [1, 2]
    assert [each["number"] for each in told["journal"]] == [1, 2, 3]
    page = report_html("staging", [rollout()], journal(), NOW).replace("\n", "")
    for each in one["summaries"]:
        assert f"<td>{each['requests']}</td><td>{seconds_text(each['first_token']['p50'])}</td>" in page
        assert f"<td>{usd_text(each['cost_each'])}</td><td>{usd_text(each['cost_usd'])}</td>" in page


@pytest.mark.parametrize(
    ("usd", "text"), [(None, "-"), (0.0, "$0.00"), (12.3, "$12.30"), (0.0031, "$0.0031"), (0.00000042, "$4.2e-07")]
)
def test_money_is_told_with_as_many_digits_as_it_takes(usd: float | None, text: str) -> None:
    assert usd_text(usd) == text


@pytest.mark.parametrize(("seconds", "text"), [(None, "-"), (0.34, "340 ms"), (2.14, "2.1 s"), (600.0, "10.0 min")])
def test_time_is_told_in_the_unit_that_fits(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text
