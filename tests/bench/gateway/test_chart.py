"""The chart and the published summary, of figures made up: what is drawn, and what is kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from chart import ADDED, MOST, PANELS, PLOT, ROWS, svg
from publish import publish
from results import Results, Table

SVG = "{http://www.w3.org/2000/svg}"
ABOUT = {"envoy": "Envoy 1.0.0", "cpu": "a <fast> & good one", "pairs": 3, "seconds": 1.0, "pinned": True, "cores": 2}


def results(native_us: float = 200.0) -> Results:
    """Bare Envoy takes 100 µs for everything, trilane 110 to 130."""
    made = Results(dict(ABOUT))
    for case in PANELS:
        made.begin(case, case, [(row, title) for row, title in ROWS.items()])
        for pair in range(3):
            for row in ROWS:
                each = {"bare": 100.0, "trilane": 110.0 + 10 * pair, "native": native_us}.get(row, 105.0)
                made.add(case, row, pair, report("closed", each))
                if case == ADDED[0].case:
                    made.add(case, row, pair, report("open", each))
    return made


def report(mode: str, us: float) -> dict[str, Any]:
    """What the load generator says of a thousand requests that took so long each."""
    latency = {"p50": 2 * us, "p99": 9 * us, "p99.9": 12 * us}
    return {
        "mode": mode, "failed": 0, "failures": {}, "requests": 1000, "cpu_us": {"gateway": 1000 * us}, "cpu_seconds": 1.0,
        "per_second": 1000.0, "rate": 1000.0, "unfinished": 0, "latency_us": latency,
    }  # fmt: skip


def bars(chart: str, kind: str) -> list[float]:
    """How long the bars of this contestant are, in the order of the panels."""
    found = [rect for rect in ElementTree.fromstring(chart).iter(f"{SVG}rect") if rect.get("class") == kind]
    return [float(rect.attrib["width"]) for rect in found]


def said(chart: str) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.fromstring(chart).iter(f"{SVG}text")]


def test_bars_are_ratios_on_one_scale() -> None:
    chart = svg(results())
    for kind, ratio in (("bare", 1.0), ("trilane", 1.2), ("native", 2.0)):
        assert bars(chart, kind)[: len(PANELS)] == [round(PLOT * ratio / MOST, 1)] * len(PANELS), kind
    texts = said(chart)
    assert texts.count("1.20×120 µs") == len(PANELS), "the ratio, then the time"
    assert "cut" not in re.findall(r'class="(\w+)"/>', chart), "nothing is beyond the scale"


def test_what_is_beyond_the_scale_is_cut_and_says_so() -> None:
    chart = svg(results(native_us=6000.0))
    assert bars(chart, "native")[: len(PANELS)] == [round(PLOT, 1)] * len(PANELS)
    assert said(chart).count("60×6 000 µs") == len(PANELS)
    # And its latency, 11 800 µs more.
    assert chart.count('class="cut"') == len(PANELS) + 1
    assert "+11800 µs" in said(chart)


def test_who_does_not_keep_up_has_no_latency() -> None:
    made, case = results(), ADDED[0].case
    made.overload(case, "native", 7, able=500.0, rate=1000.0)
    assert said(svg(made)).count("does not keep up") == 0, "in one pair of four"
    for pair in (8, 9):
        made.add(case, "native", pair, {**report("open", 200.0), "per_second": 400.0})
    assert made.figure(case, "native", "p50_us") is None
    assert said(svg(made)).count("does not keep up") == 1


def test_both_colour_schemes_know_every_class() -> None:
    chart = svg(results(native_us=6000.0))
    used = {name for found in re.findall(r'class="([^"]+)"', chart) for name in found.split()} - {"name", "of"}
    light, _, dark = chart.partition("@media (prefers-color-scheme: dark)")
    for name in used:
        assert re.search(rf"\.{name}\b", light), name
    for name in ("paper", "small", "said", "cut", "grid", "one", "spread", *ROWS):
        assert re.search(rf"\.{name}\b", dark.partition("</style>")[0]), name


def test_the_summary_has_what_the_chart_shows(tmp_path: Path) -> None:
    made = results()
    made.tables["drill"] = Table("A drill", ["what", "lost"], [["reload", 0]], "note")
    chart, summary = publish(made, tmp_path)
    assert chart.read_text(encoding="utf-8") == svg(made)
    told = json.loads(summary.read_text(encoding="utf-8"))
    assert told["about"] == ABOUT
    assert told["cases"]["list"]["contestants"]["trilane"]["cpu_us"] == {
        "median": 120.0, "q1": 115.0, "q3": 125.0, "min": 110.0, "max": 130.0,
        "ratio": {"median": 1.2, "q1": 1.15, "q3": 1.25, "min": 1.1, "max": 1.3},
        "to_plain": {"median": 1.143, "q1": 1.095, "q3": 1.19, "min": 1.048, "max": 1.238},
    }  # fmt: skip
    assert told["tables"]["drill"]["rows"] == [["reload", 0]]
