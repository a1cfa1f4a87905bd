"""Figures of the benchmark in the pages: each is marked with where it stands in docs/benchmarks.json.

    98 µs<!-- bench 1k-first trilane us -->

A mark names a case, a contestant and a figure of it (`us`, `open_us` at half load, `ratio`, `to_plain` for the ratio to plain Envoy,
`per_second`, `p50`, `added_p50`, `added_delay_p50`, `added_delay_p99`), or two contestants (`1k-first accounts minus trilane us`), or
`row TABLE ROW COLUMN`. A table of a page between `<!-- bench table cases -->` (or `limits`, `instructions`) and
`<!-- bench end -->` is written as a whole.

`python tests/operator/figures.py` writes every figure anew after `make bench BENCH_ARGS=--publish`; the operator tests compare.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARK = re.compile(r"(?P<number>\d+(?: \d{3})*(?:\.\d+)?)(?P<between>[^\d|<]{0,24})<!-- bench (?!table|end)(?P<where>[^>]+?) -->")
TABLE = re.compile(r"(<!-- bench table (\w+) -->\n).*?(<!-- bench end -->)", re.DOTALL)
FIGURES = {
    "us": ("cpu_us",),
    "ratio": ("cpu_us", "ratio"),
    "to_plain": ("cpu_us", "to_plain"),
    "open_us": ("open_cpu_us",),
    "per_second": ("per_second",),
    "p50": ("p50_us",),
    "added_p50": ("added_p50_us",),
    "added_delay_p50": ("added_delay_p50_us",),
    "added_delay_p99": ("added_delay_p99_us",),
}
#: The columns of the page's first table, and its rows.
CONTESTANTS = ["noop", "floor", "trilane", "accounts", "native"]
CASES = {
    "1k-first": "1 KB, model first",
    "1k-last": "1 KB, model last",
    "100k-first": "100 KB, model first",
    "100k-last": "100 KB, model last",
    "1m-first": "1 MB, model first",
    "1m-last": "1 MB, model last",
    "sse-unpaced": "200 events at once",
    "sse-paced": "200 events, one every 2 ms",
    "list": "model list",
    "rejected": "wrong key, no body",
}
LIMITS = {
    "limits-none": "none",
    "limits-key-requests": "requests a minute",
    "limits-key-input-tokens": "input tokens a minute",
    "limits-key-output-tokens": "output tokens a minute",
    "limits-key-concurrent-requests": "concurrent requests",
    "limits-key-budget": "a budget",
    "limits-key-all-of-these": "all of these",
    "limits-both-all": "all of these, and the same of its group",
}
#: The columns of the table of instructions; after the last one stand its ratios to one account, and to what is not judged.
COUNTED = {
    "plain": "plain Envoy",
    "bare": "bare Envoy",
    "retrying": "bare, may retry",
    "noop": "empty filter",
    "floor": "host calls alone",
    "trilane": "trilane",
    "unjudged": "two accounts, not judged",
    "accounts": "trilane, two accounts",
}


class Benchmarks:
    """What was published."""

    def __init__(self, path: Path = ROOT / "docs" / "benchmarks.json") -> None:
        self._all: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))

    def value(self, where: str) -> float:
        """The figure that a mark names; KeyError where there is none."""
        words = where.split()
        if words[0] == "row":
            table = self._all["tables"][words[1]]
            column = table["columns"].index(" ".join(words[3:]))
            (found,) = [row[column] for row in table["rows"] if str(row[0]) == words[2]]
            return float(found)
        case, contestant, *less, figure = words
        value = self._median(case, contestant, figure)
        if not less:
            return value
        minus, other = less
        if minus != "minus":
            raise KeyError(where)
        return value - self._median(case, other, figure)

    def _median(self, case: str, contestant: str, figure: str) -> float:
        return float(self._spread(case, contestant, figure)["median"])

    def _spread(self, case: str, contestant: str, figure: str) -> dict[str, Any]:
        found = self._all["cases"][case]["contestants"][contestant]
        for step in FIGURES[figure]:
            found = found[step]
        return dict(found)

    def ratio(self, case: str, contestant: str, to: str = "ratio") -> str:
        """A ratio with its middle half, as a cell of a table."""
        spread = self._spread(case, contestant, to)
        return f"{spread['median']:.2f} ({spread['q1']:.2f}–{spread['q3']:.2f})"

    def table(self, name: str) -> Iterator[str]:
        """The rows of a table in Markdown."""
        if name == "cases":
            plain = "plain" in self._all["cases"]["1k-first"]["contestants"]
            against = " trilane, against plain Envoy |" if plain else ""
            yield f"| case | empty filter | its host calls alone | trilane | trilane, two accounts | Envoy's AI filters |{against}"
            yield "|---|---|---|---|---|---|" + ("---|" if plain else "")
            for case, title in CASES.items():
                against = f" {self.ratio(case, 'trilane', 'to_plain')} |" if plain else ""
                yield f"| {title} | {' | '.join(self.ratio(case, each) for each in CONTESTANTS)} |{against}"
            yield f"| 1 000 000 keys by feed, against 10 | | | {self.ratio('keys_feed', 'fed-1000000')} | | |" + (" |" if plain else "")
        elif name == "limits":
            yield "| limits of the key | µs a request | against none |"
            yield "|---|---|---|"
            for contestant, title in LIMITS.items():
                ratio = "1" if contestant == "limits-none" else self.ratio("limits", contestant)
                yield f"| {title} | {self._median('limits', contestant, 'us'):.0f} | {ratio} |"
        elif name == "instructions":
            table = self._all["tables"][name]
            yield f"| | {' | '.join(COUNTED.values())} | two accounts against one | … against not judged |"
            yield "|---" * (len(COUNTED) + 3) + "|"
            for row in table["rows"]:
                counts = dict(zip(table["columns"], row))
                thousands = " | ".join(f"{counts[each]:,.0f}".replace(",", " ") for each in COUNTED)
                ratios = " | ".join(f"{counts['accounts'] / counts[each]:.2f}" for each in ("trilane", "unjudged"))
                yield f"| {CASES[row[0]].replace(', model first', '')} | {thousands} | {ratios} |"
        else:
            raise KeyError(name)


def as_precise_as(text: str, value: float) -> str:
    """`value` with as many digits as `text` has: `1.58` has two behind the point, `31 000` two that count. Fewer than two never do."""
    if "." in text:
        return f"{value:.{len(text.split('.')[1])}f}"
    digits = text.replace(" ", "")
    zeros = min(len(digits) - len(digits.rstrip("0")), max(len(f"{value:.0f}") - 2, 0))
    rounded = f"{round(value / 10**zeros) * 10**zeros}"
    grouped = f"{int(rounded):,}"
    return grouped.replace(",", " ") if len(digits) > 4 or " " in text else rounded


def renewed(page: str, benchmarks: Benchmarks) -> str:
    """A page with the figures that were published."""
    with_tables = TABLE.sub(lambda found: found[1] + "\n".join(benchmarks.table(found[2])) + "\n" + found[3], page)
    return MARK.sub(
        lambda found: as_precise_as(found["number"], benchmarks.value(found["where"]))
        + found["between"]
        + f"<!-- bench {found['where']} -->",
        with_tables,
    )


def main() -> int:
    benchmarks = Benchmarks()
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = renewed(before, benchmarks)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"renewed: {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
