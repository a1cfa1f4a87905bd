"""The chart for the README: what a request costs the gateway's processor, as bars, a panel a case."""

from __future__ import annotations

from html import escape
from typing import Optional

from results import Results
from table import number

PANELS = {
    "1k-first": "1 KB request",
    "100k-first": "100 KB request",
    "1m-first": "1 MB request",
    "sse-unpaced": "stream of 200 events",
    "rejected": "refused request",
    "list": "model list",
}
ROWS = {"bare": "bare Envoy", "noop": "empty wasm filter", "trilane": "trilane", "native": "Envoy's AI filters"}

WIDTH, PANEL, ROW, HEAD, FOOT = 760, 380, 22, 34, 46
LABEL, BAR = 130, 120

#: Readable on white and on black: the greys turn, the colour of ours does for both.
STYLE = """
text { font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f }
.title { font-weight: 600 } .small { font-size: 11px; fill: #57606a }
.bar { fill: #afb8c1 } .ours { fill: #1f883d } .name-ours { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .bar { fill: #57606a } .ours { fill: #2ea043 }
}
"""


def svg(results: Results) -> str:
    """The whole picture."""
    panels = [(name, title) for name, title in PANELS.items() if name in results.cases]
    height_of = HEAD + ROW * len(ROWS) + 14
    height = 30 + height_of * ((len(panels) + 1) // 2) + FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        "<title>Processor time of the gateway per request, in microseconds</title>",
        f"<style>{STYLE}</style>",
        '<text x="10" y="20" class="title">Processor time of the gateway per request, in µs (× bare Envoy): shorter is better</text>',
    ]
    for index, (case, title) in enumerate(panels):
        x, y = 10 + PANEL * (index % 2), 30 + height_of * (index // 2)
        parts += _panel(results, case, title, x, y)
    about = results.about
    told = (
        f"{about['envoy']}, one worker on one core of {about['cpu']}; load generator and mock source on another core.",
        f"{about['pairs']} turns of {about['seconds']:g} s each, the median; contestants in turn. Each panel has its own scale.",
    )
    for line, text in enumerate(told):
        parts.append(f'<text x="10" y="{height - 26 + 16 * line}" class="small">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(results: Results, case: str, title: str, x: int, y: int) -> list[str]:
    figures = {row: results.figure(case, row, "cpu_us") for row in ROWS}
    most = max((figure["median"] for figure in figures.values() if figure), default=1.0)
    parts = [f'<text x="{x}" y="{y + 22}" class="title">{escape(title)}</text>']
    for index, (row, name) in enumerate(ROWS.items()):
        top = y + HEAD + ROW * index
        ours = row == "trilane"
        named = ' class="name-ours"' if ours else ""
        parts.append(f'<text x="{x}" y="{top + 13}"{named}>{escape(name)}</text>')
        figure = figures[row]
        if figure is None:
            parts.append(f'<text x="{x + LABEL}" y="{top + 13}" class="small">not measured</text>')
            continue
        length = max(1.0, BAR * figure["median"] / most)
        kind = "ours" if ours else "bar"
        parts.append(f'<rect x="{x + LABEL}" y="{top + 2}" width="{length:.1f}" height="14" rx="2" class="{kind}"/>')
        said = number(figure["median"]) + (_times(figure.get("ratio")) if row != results.cases[case]["baseline"] else "")
        parts.append(f'<text x="{x + LABEL + length + 6:.1f}" y="{top + 13}"{named}>{escape(said)}</text>')
    return parts


def _times(ratio: Optional[dict[str, float]]) -> str:
    return f" ({ratio['median']:.2f} ×)" if ratio else ""
