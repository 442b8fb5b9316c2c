"""Variants side by side: the front, the table, the picture, and the order that speed is taken in."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from rich.console import Console

from sluiceway.pipeline.validate.cpu import Cpu
from sluiceway.pipeline.validate.pareto import Variant, pareto
from sluiceway.pipeline.validate.plot import svg
from sluiceway.pipeline.validate.report import Report, Speed
from sluiceway.pipeline.validate.speed import merged, turned
from sluiceway.pipeline.validate.table import plain, table
from sluiceway.pipeline.validate.verdict import Finding

CPU = Cpu("x86_64", "chip", ("avx2",), "1.32.0")


def report(size: float, cosine: float, rate: float | None) -> Report:
    figures = {"size_mb": size, "cosine_min": cosine, "cosine_mean": cosine, "rank": cosine}
    finding = Finding("min_cosine", "minimum cosine", cosine, 0.98, True)
    speed = Speed(rate, 2.0, 3.0, 4.0, 20, peak_mb=100.0) if rate else None
    return Report("embed", figures, (finding,), (), (), CPU, speed)


REPORTS = {
    "float": report(91.0, 1.0, 500.0),
    "int8": report(23.4, 0.991, 1000.0),
    "int8 <tensor>": report(23.5, 0.985, 990.0),
    "int4": report(15.2, 0.966, 500.0),
    "broken": report(12.8, math.nan, 700.0),
}


def test_the_front_is_what_passes_and_nothing_beats() -> None:
    rows = [
        Variant("float", 91, 1.0, 500),
        Variant("int8", 23, 0.99, 1000),
        Variant("worse in all", 24, 0.98, 900),
        Variant("small", 15, 0.97, 400),
        Variant("smallest, fails", 5, 0.5, 2000, "fail"),
        Variant("no number", 4, math.nan, 3000),
    ]
    assert [row.name for row in pareto(rows)] == ["float", "int8", "small"]


def test_equals_are_both_on_the_front_and_speed_counts_where_all_have_it() -> None:
    twins = [Variant("one", 10, 0.9, None), Variant("two", 10, 0.9, 50)]
    assert len(pareto(twins)) == 2
    assert [row.name for row in pareto([Variant("slow", 10, 0.9, 40), Variant("quick", 10, 0.9, 50)])] == ["quick"]


def test_the_table_marks_the_front_and_tells_why_a_variant_fails() -> None:
    lines = plain(REPORTS).splitlines()
    assert lines[0].split("  ")[0] == "variant" and lines[0].endswith("P50 ms  P99 ms  peak MB  verdict")
    assert [line.endswith("pass *") for line in lines[1:]] == [True, True, False, False, False]
    console = Console(width=160)
    with console.capture() as captured:
        console.print(table(REPORTS))
    assert "int4: minimum cosine 0.966, at least 0.98 is asked for" in captured.get()
    assert "broken: minimum cosine is no number, at least 0.98 is asked for" in captured.get()


def test_the_picture_is_sound_xml_with_a_dot_for_each_number() -> None:
    drawn = svg("minilm & variants", REPORTS)
    root = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    dots = root.findall(f"{space}circle")
    assert [dot.get("class") for dot in dots] == ["pass", "pass", "pass", "fail"]
    assert "broken" in drawn and "int8 &lt;tensor&gt;" in drawn
    places = [(float(dot.get("cx") or "nan"), float(dot.get("cy") or "nan")) for dot in dots]
    assert places[0][0] > places[1][0] > places[3][0]  # larger is further right
    assert places[0][1] < places[1][1] < places[3][1]  # better is higher
    assert all(0 < x < 760 and 0 < y < 460 for x, y in places)
    assert float(dots[1].get("r") or 0) > float(dots[0].get("r") or 0)  # quicker is larger
    assert drawn == svg("minilm & variants", REPORTS)


@pytest.mark.parametrize("reports", [{"one": report(5.0, 0.99, None)}, {"one": report(5.0, math.nan, None)}])
def test_a_single_variant_is_drawn_too(reports: dict[str, Report]) -> None:
    ElementTree.fromstring(svg("one", reports))


def test_each_round_begins_with_another_model() -> None:
    assert [turned(3, number) for number in range(4)] == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]


def test_rounds_are_pooled() -> None:
    told = {"tokens": 100, "seconds": 2.0, "decoded": 10, "decode_seconds": 0.5, "loaded_mb": 10.0, "peak_mb": 20.0}
    speed = merged([told | {"times_ms": [1.0, 2.0]}, told | {"times_ms": [3.0], "peak_mb": 30.0}])
    assert (speed.tokens_per_second, speed.decode_tokens_per_second, speed.runs) == (50.0, 20.0, 3)
    assert (speed.p50_ms, speed.loaded_mb, speed.peak_mb) == (2.0, 10.0, 30.0)
