"""The figures: every single one, their medians and spreads, and the ratios within each pair."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

#: Figure -> what it is.
FIGURES = {
    "busy": "busy",
    "cpu_us": "CPU µs",
    "per_second": "requests/s",
    "events_per_second": "events/s",
    "open_cpu_us": "CPU µs at that rate",
    "p50_us": "p50 µs",
    "p99_us": "p99 µs",
    "p99.9_us": "p99.9 µs",
    "added_p50_us": "p50 added µs",
    "delay_p50_us": "event p50 µs",
    "delay_p99_us": "event p99 µs",
    "added_delay_p50_us": "event p50 added µs",
    "added_delay_p99_us": "event p99 added µs",
}
#: Figures that are the difference to the baseline in the same pair, with what they are the difference of.
ADDED = {"added_p50_us": "p50_us", "added_delay_p50_us": "delay_p50_us", "added_delay_p99_us": "delay_p99_us"}
#: Figures of the open loop, which say nothing where it was not kept up with.
LATENCIES = ("open_cpu_us", "p50_us", "p99_us", "p99.9_us", "added_p50_us")
#: A gateway that is busy for less than this in a closed loop waits for the load generator, and could do more.
BUSY = 0.9
#: Figures of which a ratio says something.
RATIOS = ("cpu_us", "per_second", "events_per_second")
#: The contestant that the whole gateway is compared with, in cases where it competes, beside the baseline of the case.
PLAIN = "plain"


class Table(NamedTuple):
    """Figures that are not of that kind, one row a thing."""

    title: str
    #: The first column is the row's name.
    columns: list[str]
    rows: list[list[Any]]
    #: What must be known to read it.
    note: str = ""


class Results:
    """Collects what the runs report."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        #: Contestant -> title.
        self.contestants: dict[str, str] = {}
        #: Case -> title and the contestant that the others are compared with.
        self.cases: dict[str, dict[str, str]] = {}
        #: (case, contestant) -> figure -> pair -> value.
        self.values: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
        #: (case, contestant) -> pair -> what of its open loop was not kept up with.
        self.not_kept_up: dict[tuple[str, str], dict[int, str]] = {}
        #: Case -> what was asked of everybody in its open loops.
        self.rates: dict[str, list[float]] = {}
        self.memory: dict[str, int] = {}
        self.failures: list[str] = []
        self.not_measured: list[dict[str, str]] = []
        #: Name -> table.
        self.tables: dict[str, Table] = {}
        #: Turns that count, turns that were run again because the machine was not quiet, and those that never had quiet.
        self.turns = 0
        self.repeated = 0
        self.disturbed: list[str] = []

    def begin(self, case: str, title: str, contestants: list[tuple[str, str]]) -> None:
        """A case of these contestants (name and title), the first of which the others are compared with."""
        self.cases[case] = {"title": title, "baseline": contestants[0][0]}
        for name, told in contestants:
            self.contestants.setdefault(name, told)

    def add(self, case: str, contestant: str, pair: int, report: dict[str, Any]) -> None:
        """What one run of the load generator says."""
        if report["failed"] or not report["requests"]:
            self.failures.append(f"{case}, {contestant}, pair {pair + 1}, {report['mode']} loop: {report['failures'] or 'no answer'}")
        if not report["requests"]:
            return
        late = report["unfinished"] or report["per_second"] < 0.9 * report["rate"] if report["mode"] == "open" else False
        if late and not report.get("event_delay_us"):
            self.overload(case, contestant, pair, report["per_second"], report["rate"])
            return
        figures: dict[str, float] = {}
        latency, delay = report.get("latency_us"), report.get("event_delay_us")
        if report["mode"] == "closed":
            figures["cpu_us"] = report["cpu_us"]["gateway"] / report["requests"]
            figures["per_second"] = report["per_second"]
            figures["busy"] = report["cpu_us"]["gateway"] / 1e6 / report["cpu_seconds"]
            if "events" in report:
                figures["events_per_second"] = report["per_second"] * report["events"] / report["requests"]
        elif delay:
            figures["delay_p50_us"], figures["delay_p99_us"] = delay["p50"], delay["p99"]
            figures["cpu_us"] = report["cpu_us"]["gateway"] / report["requests"]
        else:
            # More than in the closed loop: whoever waits in between finds colder caches.
            figures["open_cpu_us"] = report["cpu_us"]["gateway"] / report["requests"]
            figures["p50_us"], figures["p99_us"], figures["p99.9_us"] = latency["p50"], latency["p99"], latency["p99.9"]
        known = self.values.setdefault((case, contestant), {})
        for figure, value in figures.items():
            known.setdefault(figure, {})[pair] = value

    def pace(self, case: str, rate: float) -> None:
        """So many requests a second were asked of everybody in one pair; the case has the median of all."""
        rates = self.rates.setdefault(case, [])
        rates.append(rate)
        self.cases[case]["rate"] = f"{statistics.median(rates):.0f}"

    def is_worthless(self, case: str, able: Iterable[str]) -> bool:
        """Whether somebody who is `able` to did not keep up, or somebody is said to have used no time at all."""
        mine = [figures for (name, _), figures in self.values.items() if name == case]
        nothing = any(value == 0 for figures in mine for pairs in figures.values() for value in pairs.values())
        return nothing or any(self.overloaded(case, name) for name in able)

    def forget(self, case: str) -> None:
        """Nothing was measured of this case yet."""
        for known in (self.values, self.not_kept_up):
            for key in [key for key in known if key[0] == case]:
                del known[key]
        self.rates.pop(case, None)

    def overload(self, case: str, contestant: str, pair: int, able: float, rate: float) -> None:
        """It cannot do so many requests a second: its latencies would only say how long the turn was."""
        self.not_kept_up.setdefault((case, contestant), {})[pair] = f"{able:.0f} of {rate:.0f} requests/s"

    def overloaded(self, case: str, contestant: str) -> str:
        """What it does of the rate, where it did not keep up in half of the pairs or more; else empty."""
        pairs = self.not_kept_up.get((case, contestant), {})
        kept_up = self.values.get((case, contestant), {}).get("p50_us", {})
        return min(pairs.values()) if pairs and len(pairs) >= len(kept_up) else ""

    def figure(self, case: str, contestant: str, name: str) -> Optional[dict[str, Any]]:
        """Median, spread and all values of a figure, with the ratios to the baseline (`ratio`) and to plain Envoy
        (`to_plain`); `None` where there is none."""
        values = self._pairs(case, contestant, name)
        if not values or (name in LATENCIES and self.overloaded(case, contestant)):
            return None
        found: dict[str, Any] = spread(list(values.values()))
        for ratio, other in (("ratio", self.cases[case]["baseline"]), ("to_plain", PLAIN)):
            base = self._pairs(case, other, name)
            if name in RATIOS and base:
                found[ratio] = spread([value / base[pair] for pair, value in values.items() if base.get(pair)])
        return found

    def _pairs(self, case: str, contestant: str, name: str) -> dict[int, float]:
        if name not in ADDED:
            return self.values.get((case, contestant), {}).get(name, {})
        source = ADDED[name]
        base = self._pairs(case, self.cases[case]["baseline"], source)
        own = self._pairs(case, contestant, source)
        return {pair: value - base[pair] for pair, value in own.items() if pair in base}

    def to_json(self) -> dict[str, Any]:
        """All of it, as `results.json` has it."""
        cases = {}
        for case, about in self.cases.items():
            rows = {}
            for contestant in self.contestants:
                if (case, contestant) not in self.values:
                    continue
                figures = {name: self.figure(case, contestant, name) for name in FIGURES}
                rows[contestant] = {name: figure for name, figure in figures.items() if figure}
                if self.overloaded(case, contestant):
                    rows[contestant]["overloaded"] = self.overloaded(case, contestant)
            cases[case] = {**about, "contestants": rows}
        return {
            "about": self.about,
            "contestants": self.contestants,
            "cases": cases,
            "resident_bytes": self.memory,
            "tables": {name: table._asdict() for name, table in self.tables.items()},
            "noise": {"turns": self.turns, "repeated": self.repeated, "disturbed": self.disturbed},
            "not_measured": self.not_measured,
            "failures": self.failures,
        }


def spread(values: list[float]) -> dict[str, Any]:
    """The median, the middle half, the ends, and all of them."""
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {
        "median": statistics.median(values),
        "q1": quartiles[0],
        "q3": quartiles[2],
        "min": min(values),
        "max": max(values),
        "values": values,
    }
