"""The table that is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Optional

from results import BUSY, FIGURES, PLAIN, RATIOS, Results

#: A ratio of which half the pairs differ by more than this share says little.
WIDE = 0.1


def lines(results: Results) -> Iterator[str]:
    """One block a case: a row a contestant, medians with the quartiles behind them."""
    about = results.about
    yield f"{about['envoy']} on one core of {about['cores']} ({about['cpu']}), load and mock on another" + (
        "" if about["pinned"] else ": NOT PINNED"
    )
    yield f"{about['pairs']} pairs of {about['seconds']:g} s: medians (the middle half of the pairs); × is the ratio to the first row in the same pair, × plain that to plain Envoy."
    for case, told in results.cases.items():
        rows = [name for name in results.contestants if (case, name) in results.values]
        rows.sort(key=lambda name: name != told["baseline"])
        shown = [figure for figure in FIGURES if figure != "busy" and any(results.figure(case, row, figure) for row in rows)]
        ratios = {"×": "ratio", **({"× plain": "to_plain"} if PLAIN in rows else {})}
        heads: list[str] = []
        for figure in shown:
            heads += [FIGURES[figure], *ratios] if figure in RATIOS else [FIGURES[figure]]
        table = [["", *heads]]
        for row in rows:
            cells = [results.contestants[row]]
            for figure in shown:
                found = results.figure(case, row, figure)
                cells.append(_cell(found))
                if figure in RATIOS:
                    cells += [_ratio(found, ratio) for ratio in ratios.values()]
            table.append(cells)
        yield ""
        rate = told.get("rate")
        yield f"{told['title']}" + (f"; latency at {rate} requests/s" if rate else "")
        yield from _aligned(table)
        waited = [row for row in rows if about["pinned"] and _share(results.figure(case, row, "busy")) < BUSY]
        if waited:
            told_of = ", ".join(f"{results.contestants[row]} {_share(results.figure(case, row, 'busy')):.0%}" for row in waited)
            yield f"  Not always busy, but waiting for the load generator or for other work on the core: {told_of}"
        for row in rows:
            if results.overloaded(case, row):
                yield f"  {results.contestants[row]} does not keep up with that rate: {results.overloaded(case, row)}"
    yield ""
    yield "Resident memory after all that, MB"
    memory = results.memory
    told_of_memory = [[title, f"{memory[name] / 1e6:.1f}"] for name, title in results.contestants.items() if name in memory]
    yield from _aligned([["", "MB"], *told_of_memory])
    for shown_last in results.tables.values():
        yield ""
        yield shown_last.title
        yield from _aligned([shown_last.columns, *([_plain(cell) for cell in row] for row in shown_last.rows)])
        if shown_last.note:
            yield f"  {shown_last.note}"
    yield ""
    yield from _noise(results)
    for left in results.not_measured:
        yield f"Not measured: {left['what']}: {left['why']}"
    for failure in results.failures:
        yield f"FAILED: {failure}"


def _noise(results: Results) -> Iterator[str]:
    """How far the figures can be trusted."""
    if results.repeated:
        yield f"The machine was not quiet: {results.repeated} turns were run again ({results.turns} count)."
    for turn in results.disturbed:
        yield f"WARNING: disturbed: {turn}"
    wide = []
    for case in results.cases:
        for contestant, title in results.contestants.items():
            ratio = (results.figure(case, contestant, "cpu_us") or {}).get("ratio")
            if ratio and ratio["q3"] > (1 + WIDE) * ratio["q1"]:
                wide.append(f"{case} {title} {_spread(ratio, '{:.2f}'.format)}")
    if wide:
        yield f"Ratios of CPU time whose middle half spreads by more than {WIDE:.0%}: {'; '.join(wide)}."


def _plain(cell: object) -> str:
    return number(cell) if isinstance(cell, float) else "-" if cell is None else str(cell)


def _aligned(table: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        first, rest = row[0].ljust(widths[0]), [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        yield "  " + "  ".join([first, *rest]).rstrip()


def _share(busy: Optional[dict[str, Any]]) -> float:
    return float(busy["median"]) if busy else 1.0


def _cell(figure: Optional[dict[str, Any]]) -> str:
    if not figure:
        return "-"
    return _spread(figure, number)


def _ratio(figure: Optional[dict[str, Any]], name: str) -> str:
    ratio = (figure or {}).get(name)
    return _spread(ratio, "{:.2f}".format) if ratio else "-"


def _spread(figure: dict[str, Any], said: Callable[[float], str]) -> str:
    if len(figure["values"]) == 1:
        return said(figure["median"])
    return f"{said(figure['median'])} ({said(figure['q1'])}–{said(figure['q3'])})"


def number(value: float) -> str:
    """Three digits that mean something, or all before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
