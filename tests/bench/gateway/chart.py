"""The chart for the README: what a request costs the gateway's processor, as bars, a panel a case; and the time added.

Bars of the processor time are ratios to bare Envoy on one scale for all panels, so that their lengths can be compared;
what is beyond the scale is cut, visibly, with its figure behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from typing import Any, NamedTuple, Optional

from results import Results
from printed import number

#: Case -> what its panel is called.
PANELS = {
    "1k-first": "Chat request, 1 KB",
    "100k-last": "Chat request, 100 KB",
    "1m-last": "Chat request, 1 MB",
    "sse-unpaced": "Stream of 200 events",
    "list": "Model list",
    "rejected": "Refused request (401)",
}
ROWS = {
    "bare": "bare Envoy",
    "plain": "plain Envoy",
    "noop": "empty wasm filter",
    "floor": "its host calls alone",
    "trilane": "trilane",
    "accounts": "trilane, 2 accounts",
    "native": "Envoy's AI filters",
}
#: Where the scale of ratios ends.
MOST = 4.0


class Added(NamedTuple):
    """A panel of times added, and where its scale ends, in microseconds."""

    case: str
    figure: str
    title: str
    most: float


ADDED = (
    Added("1k-first", "added_p50_us", "Latency of a 1 KB request at half load, p50", 200.0),
    Added("sse-paced", "added_delay_p99_us", "Delay of a streamed event, p99", 200.0),
)

WIDTH, MARGIN, GAP = 880, 20, 36
PANEL = (WIDTH - 2 * MARGIN - GAP) / 2
LABEL, SAID = 124, 96
PLOT = PANEL - LABEL - SAID
ROW, BAR = 23, 15
#: Above the bars of a panel, and below them.
ABOVE, BELOW = 34, 30
#: The heading of a section of panels, and what stands below all of them.
HEAD, FOOT = 58, 52

STYLE = """
.paper { fill: #ffffff; stroke: #d1d9e0 }
text { font: 12px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.head { font-size: 17px; font-weight: 600 } .title { font-size: 13px; font-weight: 600 }
.small, .said .of { font-size: 11px; font-weight: 400; fill: #59636e }
.said { paint-order: stroke; stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round } .strong { font-weight: 600 }
.grid { stroke: #d1d9e0 } .one { stroke: #818b98 } .spread { stroke: #1f2328; stroke-opacity: .55; fill: none }
.plain { fill: #d3dae1 } .bare { fill: #b3bcc6 } .noop { fill: #8c96a1 } .floor { fill: #6e7781 }
.trilane { fill: #0b7d69 } .accounts { fill: #5fb8a5 } .native { fill: #c4703a }
.cut { stroke: #ffffff; stroke-width: 2.5; fill: none }
@media (prefers-color-scheme: dark) {
  .paper { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .small, .said .of { fill: #9198a1 }
  .said, .cut { stroke: #0d1117 } .grid { stroke: #2f363e } .one { stroke: #6e7681 } .spread { stroke: #f0f6fc; stroke-opacity: .6 }
  .plain { fill: #3f4750 } .bare { fill: #59636e } .noop { fill: #7d8791 } .floor { fill: #9da7b1 }
  .trilane { fill: #2fbf9f } .accounts { fill: #1f7a67 } .native { fill: #d98a55 }
}
"""

#: Draws a panel at a place.
Panel = Callable[[float, float], Iterator[str]]


def svg(results: Results) -> str:
    """The whole picture."""
    costs: list[Panel] = [partial(_costs, results, case, title) for case, title in PANELS.items() if case in results.cases]
    added: list[Panel] = [partial(_added, results, panel) for panel in ADDED if panel.case in results.cases]
    parts: list[str] = []
    bottom = 0.0
    for title, note, panels, rows in (
        ("Processor time of the gateway per request", "× bare Envoy, and in microseconds: shorter is better", costs, len(ROWS)),
        ("Time added by the gateway", "against bare Envoy, in microseconds", added, len(ROWS) - 1),
    ):
        if panels:
            parts += [_text(MARGIN, bottom + 30, title, "head"), _text(MARGIN, bottom + 49, note, "small")]
            each = ABOVE + ROW * rows + BELOW
            for index, panel in enumerate(panels):
                parts += panel(MARGIN + (PANEL + GAP) * (index % 2), bottom + HEAD + each * (index // 2))
            bottom += HEAD + each * ((len(panels) + 1) // 2)
    height = bottom + FOOT
    about = results.about
    told = (
        f"{about['envoy']} with one worker on one core of {about['cpu']}; load generator and mock source on another core.",
        f"Medians of {about['pairs']} turns of {about['seconds']:g} s, contestants in turn; thin lines span the middle half.",
    )
    parts += [_text(MARGIN, height - 34 + 16 * line, text, "small") for line, text in enumerate(told)]
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        "<title>What trilane costs the Envoy that it runs in</title>",
        f"<style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1:g}" rx="8" class="paper"/>',
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def _costs(results: Results, case: str, title: str, x: float, y: float) -> Iterator[str]:
    """Processor time, as ratios to the baseline."""
    yield from _frame(title, [(mark, f"{mark:g}×") for mark in (1.0, 2.0, 3.0, 4.0)], MOST, len(ROWS), x, y)
    for index, row in enumerate(ROWS):
        figure = results.figure(case, row, "cpu_us")
        ratio = figure.get("ratio") if figure else None
        said, of = "", f"{number(figure['median'])} µs" if figure else ""
        if row != results.cases[case]["baseline"] and ratio:
            said = _times(ratio["median"])
        yield from _bar(row, ratio, said, of, MOST, x, y + ABOVE + ROW * index)


def _added(results: Results, added: Added, x: float, y: float) -> Iterator[str]:
    """Microseconds more than the baseline, which has no bar of its own."""
    marks = [(added.most * part, f"{added.most * part:g} µs") for part in (0.25, 0.5, 0.75, 1.0)]
    rows = [row for row in ROWS if row != results.cases[added.case]["baseline"]]
    yield from _frame(added.title, marks, added.most, len(rows), x, y)
    for index, row in enumerate(rows):
        figure = results.figure(added.case, row, added.figure)
        said = f"{figure['median']:+.0f} µs".replace("-", "−") if figure else ""
        if results.overloaded(added.case, row):
            figure, said = None, "does not keep up"
        yield from _bar(row, figure, said, "", added.most, x, y + ABOVE + ROW * index)


def _frame(title: str, marks: list[tuple[float, str]], most: float, rows: int, x: float, y: float) -> Iterator[str]:
    left, bottom = x + LABEL, y + ABOVE + ROW * rows
    yield _text(x, y + 22, title, "title")
    yield f'<path d="M{left:.1f} {y + ABOVE - 2:.1f}V{bottom:.1f}" class="one"/>'
    for mark, said in marks:
        at = left + PLOT * mark / most
        kind = "one" if said == "1×" else "grid"
        yield f'<path d="M{at:.1f} {y + ABOVE - 2:.1f}V{bottom:.1f}" class="{kind}"/>'
        yield _text(at, bottom + 13, said, "small", "middle")


def _bar(row: str, figure: Optional[dict[str, Any]], said: str, of: str, most: float, x: float, top: float) -> Iterator[str]:
    """One row: its name, the bar with its quartiles, and behind it what it says, `of` in smaller type."""
    strong = " strong" if row == "trilane" else ""
    yield _text(x + LABEL - 8, top + 13, ROWS[row], f"name{strong}", "end")
    left, middle = x + LABEL, top + 2 + BAR / 2
    if figure is None:
        yield _text(left + 6, top + 13, said or "not measured", "small")
        return

    def at(value: float) -> float:
        return PLOT * min(max(value, 0.0), most) / most

    length = max(1.0, at(figure["median"]))
    beyond = figure["median"] > most
    yield f'<rect x="{left:.1f}" y="{top + 2:.1f}" width="{length:.1f}" height="{BAR}" rx="2" class="{row}"/>'
    if beyond:
        # A bar that goes on behind the scale: torn through before its end.
        tear = left + PLOT - 14
        yield f'<path d="M{tear + 4:.1f} {top:.1f}l-5 7 6 5-5 7M{tear + 9:.1f} {top:.1f}l-5 7 6 5-5 7" class="cut"/>'
    elif figure["q3"] > figure["q1"]:
        start, end = left + at(figure["q1"]), left + at(figure["q3"])
        yield f'<path d="M{start:.1f} {middle:.1f}H{end:.1f}M{start:.1f} {middle - 3:.1f}v6M{end:.1f} {middle - 3:.1f}v6" class="spread"/>'
        length = max(length, end - left)
    gap = ' dx="6"' if said and of else ""
    small = f'<tspan class="of"{gap}>{escape(of)}</tspan>' if of else ""
    yield f'<text x="{left + length + 6:.1f}" y="{top + 13:.1f}" class="said{strong}">{escape(said)}{small}</text>'


def _times(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"


def _text(x: float, y: float, said: str, kind: str, anchor: str = "start") -> str:
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{where}>{escape(said)}</text>'
