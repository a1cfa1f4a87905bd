"""What limits did, from all sides: refusals as clients and ledger have them, budgets spent as told and as added up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Optional

from .limits import TIGHT_GROUPS, TIGHT_KEYS, has_budget

#: The codes with which limits refuse; a source's own 429 has none of ours.
CODES = ("rate_limit_exceeded", "insufficient_quota")
#: Scope -> the member that has its id.
IDS = {"key": "trilane.key.id", "group": "trilane.group"}
#: What a budget is for, with as much of a time as tells one from the next.
WINDOWS = {"day": "%Y-%m-%d", "month": "%Y-%m"}

#: Scope -> id -> requests a minute, of those who soon have used them up.
RATES = {
    "key": {f"key-{name}": tight.limits.get("requests_per_minute") for name, tight in TIGHT_KEYS.items()},
    "group": {name: limits.get("requests_per_minute") for name, limits in TIGHT_GROUPS.items()},
}
#: So long after it began a request may be admitted, in seconds: its head waits for a part of its body.
ADMITTED_WITHIN = 2.0

Line = Mapping[str, Any]


def refused_by(line: Line) -> Optional[tuple[str, str]]:
    """The scope and the limit that refused the request of this record."""
    if "trilane.limit" not in line:
        return None
    return line.get("trilane.limit.scope", ""), line["trilane.limit"]


class Spending:
    """What is spent of each budget: as the records tell it, and as their charges add up to it."""

    def __init__(self) -> None:
        #: Scope and id -> the sum of the charges.
        self.charged: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        #: Scope and id -> window -> period -> the greatest that was told.
        self.told: dict[tuple[str, str], dict[str, dict[str, Decimal]]] = defaultdict(
            lambda: {window: defaultdict(Decimal) for window in WINDOWS}
        )

    def add(self, line: Line) -> None:
        """One line of the ledger. Lines come in no order, but what is spent never falls within a day."""
        charge = Decimal(line.get("trilane.charge", 0))
        # The day in which it was spent is that of the end, and the line has the beginning and how long it took.
        ended = _began(line) + line["duration_ms"] / 1000
        for scope, member in IDS.items():
            subject = scope, line.get(member, "")
            if not has_budget(*subject):
                continue
            self.charged[subject] += charge
            for window, form in WINDOWS.items():
                told = line.get(f"trilane.spent.{scope}.{window}")
                if told is not None:
                    period = datetime.fromtimestamp(ended, timezone.utc).strftime(form)
                    periods = self.told[subject][window]
                    periods[period] = max(periods[period], Decimal(told))

    def wrong(self) -> list[str]:
        """Where what is told last is not the sum of the charges, to the last digit."""
        found = []
        for (scope, name), charged in self.charged.items():
            for window in WINDOWS:
                told = sum(self.told[scope, name][window].values(), Decimal(0))
                if told != charged:
                    found.append(f"{scope} {name}: {told} spent by the {window}, {charged} charged")
        return found


def spent(line: Line) -> list[str]:
    """What is wrong with what one record says is spent."""
    wrong = []
    for scope, member in IDS.items():
        told = [line.get(f"trilane.spent.{scope}.{window}") for window in WINDOWS]
        if any(told) and not has_budget(scope, line.get(member, "")):
            wrong.append(f"{told} spent of a budget that the {scope} does not have")
        elif any(told) and "trilane.limit" in line:
            wrong.append(f"refused by a limit, and {told} spent by the {scope}")
        elif "trilane.charge" in line and has_budget(scope, line.get(member, "")):
            charge = Decimal(line["trilane.charge"])
            if not all(amount and Decimal(amount) >= charge for amount in told):
                wrong.append(f"a charge of {charge}, and {told} spent by the {scope}")
    return wrong


class Admitted:
    """When requests were admitted that are limited by the minute."""

    def __init__(self) -> None:
        #: Scope and id -> when those that came to the upstream began.
        self.began: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, line: Line) -> None:
        """One line of the ledger."""
        for scope, member in IDS.items():
            if line.get("upstream") and RATES[scope].get(line.get(member, "")):
                self.began[scope, line[member]].append(_began(line))

    def wrong(self) -> list[str]:
        """Where more than a limit, and what had drained, was admitted: a bucket that runs over."""
        found = []
        for (scope, name), times in self.began.items():
            limit = RATES[scope][name] or 0
            level, last = 0.0, 0.0
            for time in sorted(times):
                level, last = max(0.0, level - (time - last) * limit / 60) + 1, time
                if level > limit * (1 + ADMITTED_WITHIN / 60):
                    found.append(f"{scope} {name}: {level:.1f} requests at {time:.3f}, and {limit} may be")
                    break
        return found


class Limited:
    """Requests that limits refused: as clients saw it, and as the ledger has it."""

    def __init__(self) -> None:
        #: Refusals that clients have read, by code.
        self.read: Counter[str] = Counter()
        #: Of the records of such refusals: those whose client has read it, by code, and those whose client had left.
        self.recorded: Counter[str] = Counter()
        self.unread = 0

    def client(self, status: int, error: str) -> None:
        """What a client saw."""
        if status == 429 and error in CODES:
            self.read[error] += 1

    def record(self, line: Line, *, was_read: bool) -> None:
        """A record of a request, and whether its client has read the answer's head."""
        if refused_by(line) is None:
            return
        if was_read:
            self.recorded[line.get("error.type", "")] += 1
        else:
            self.unread += 1

    def wrong(self) -> list[str]:
        """Where clients and ledger differ."""
        return [] if self.read == self.recorded else [f"refused by limits: {self.read} read, {self.recorded} recorded"]


def _began(line: Line) -> float:
    return datetime.fromisoformat(line["timestamp"].replace("Z", "+00:00")).timestamp()
