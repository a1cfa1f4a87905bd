"""The figures of drills and memory: `results.json`, and the tables that are printed."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Any

from printed import number
from traffic import Seen


class Results:
    """Collects what the parts of a run say."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.drills: dict[str, dict[str, Any]] = {}
        self.held: dict[str, dict[str, Any]] = {}
        self.million: dict[str, Any] = {}
        #: What was lost though nothing should be.
        self.failures: list[str] = []

    def drill(self, name: str, title: str, allowed: str, times: int, undisturbed: list[Seen], disturbed: list[Seen]) -> None:
        """All runs of one drill."""
        rows = {"undisturbed": _row(undisturbed), "disturbed": _row(disturbed)}
        self.drills[name] = {"title": title, "times": times, "allowed": allowed, "rows": rows}
        for which, row in rows.items():
            if row["lost"] or row["streams_cut"]:
                if which == "disturbed" and allowed:
                    continue
                self.failures.append(f"{name}, {which}: {row['lost_by_kind']} {row['streams_cut_by_kind']}")

    def hold(self, name: str, case: dict[str, Any]) -> None:
        """What slow clients cost."""
        self.held[name] = case
        for contestant, row in case["contestants"].items():
            if row["lost"] or row["requests"] != case["number"]:
                self.failures.append(f"{name}, {contestant}: {row['requests']} of {case['number']}: {row['lost']}")

    def many(self, told: dict[str, Any]) -> None:
        """What many requests left behind."""
        self.million = told
        if told["failed"]:
            self.failures.append(f"requests of every kind: {told['failures']}")

    def to_json(self) -> dict[str, Any]:
        """As `results.json` has it."""
        return {
            "about": self.about,
            "drills": self.drills,
            "held": self.held,
            "requests": self.million,
            "failures": self.failures,
        }


def _row(runs: list[Seen]) -> dict[str, Any]:
    """The runs of one kind: sums of what was lost, each run's times."""
    lost, cut = Counter[str](), Counter[str]()
    for seen in runs:
        for report, where in ((seen.requests, lost), (seen.streams, cut)):
            where.update(report["failures"])
            where.update({"no answer in time": report["unfinished"]} if report["unfinished"] else {})
    latency = [seen.requests["latency_us"] for seen in runs if seen.requests.get("latency_us")]
    delay = [seen.streams["event_delay_us"] for seen in runs if seen.streams.get("event_delay_us")]
    return {
        "requests": sum(seen.requests["requests"] for seen in runs) + sum(lost.values()),
        "lost": sum(lost.values()),
        "lost_by_kind": dict(lost),
        **{f"{name}_us": _spread([float(one[name]) for one in latency]) for name in ("p50", "p99", "max")},
        "streams": sum(seen.streams["requests"] for seen in runs) + sum(cut.values()),
        "streams_cut": sum(cut.values()),
        "streams_cut_by_kind": dict(cut),
        **{f"event_{name}_us": _spread([float(one[name]) for one in delay]) for name in ("p50", "p99", "max")},
        "timelines": [seen.requests["timeline"] for seen in runs],
    }


def _spread(values: list[float]) -> dict[str, Any]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "values": values} if values else {}


def lines(results: Results) -> Iterator[str]:
    """A block a drill, as `make bench` has them; then memory."""
    about = results.about
    yield f"{about['envoy']}, {about['workers']} workers on one core of {about['cores']} ({about['cpu']}), load and mock on another" + (
        "" if about["pinned"] else ": NOT PINNED"
    )
    if results.drills:
        yield f"{about['pairs']} pairs of {about['seconds']:g} s: sums of what was lost, medians (least to greatest) of times"
    heads = ["", "requests", "lost", "p50 ms", "p99 ms", "max ms", "streams", "cut", "event p50 ms", "event p99 ms", "event max ms"]
    for name, drill in results.drills.items():
        table = [heads]
        for which, row in drill["rows"].items():
            table.append([
                which, str(row["requests"]), str(row["lost"]), *(_cell(row[f"{time}_us"]) for time in ("p50", "p99", "max")),
                str(row["streams"]), str(row["streams_cut"]), *(_cell(row[f"event_{time}_us"]) for time in ("p50", "p99", "max")),
            ])  # fmt: skip
        yield from ("", f"{name}: {drill['title']}, {drill['times']} times")
        yield from aligned(table)
        row = drill["rows"]["disturbed"]
        kinds = {**row["lost_by_kind"], **{f"stream {kind}": count for kind, count in row["streams_cut_by_kind"].items()}}
        if kinds:
            yield "  Lost: " + ", ".join(f"{count} × {kind}" for kind, count in sorted(kinds.items()))
        if kinds and drill["allowed"]:
            yield f"  What cannot be kept: {drill['allowed']}"
    yield from _held(results)
    yield from _million(results.million)
    for failure in results.failures:
        yield f"FAILED: {failure}"


def _held(results: Results) -> Iterator[str]:
    for name, case in results.held.items():
        yield from ("", f"{name}: {case['number']} {case['title']}")
        table = [["", "MB before", "during", "after", "KB each", "of it in the filter", "more than bare", "event p50 ms", "event p99 ms", "lost"]]
        for row in case["contestants"].values():
            delay = row["event_delay_us"] or {}
            table.append([
                row["title"], *(f"{row[when]['resident'] / 1e6:.0f}" for when in ("before", "most", "after")),
                *(number(row[size] / 1e3) for size in ("bytes_each", "filter_bytes_each", "added_bytes_each")),
                *(number(delay[time] / 1e3) if delay else "-" for time in ("p50", "p99")), str(sum(row["lost"].values())),
            ])  # fmt: skip
        yield from aligned(table)


def _million(told: dict[str, Any]) -> Iterator[str]:
    if not told:
        return
    yield from ("", f"{told['requests']} requests of {len(told['kinds'])} kinds, {told['per_second']:.0f}/s; {told['failed']} ended otherwise than they should")
    table = [["MB", "at rest", "median", "furthest", "bytes a request", "afterwards"]]
    for part, course in told["after_warm_up"].items():
        table.append([
            part, f"{told['at_rest'][part] / 1e6:.1f}", f"{course['median'] / 1e6:.1f}", f"{course['furthest']:+.1%}",
            f"{course['slope']:+.2f}", f"{told['after'][part] / 1e6:.1f}",
        ])  # fmt: skip
    yield from aligned(table)


def aligned(table: list[list[str]]) -> Iterator[str]:
    """The cells of a column one below the other, numbers at its end."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        first, rest = row[0].ljust(widths[0]), [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        yield "  " + "  ".join([first, *rest]).rstrip()


def _cell(spread: dict[str, Any]) -> str:
    """Microseconds as milliseconds."""
    if not spread:
        return "-"
    middle, least, greatest = (number(spread[name] / 1e3) for name in ("median", "min", "max"))
    return middle if len(spread["values"]) == 1 else f"{middle} ({least}–{greatest})"
