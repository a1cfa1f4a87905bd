"""Every limit, on keys and on groups: what it lets through, what it says, when it lets go.

The amounts are in `tests/golden/cases/limits.txt`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from e2e.limits.limited_desk import TOLD, Asked, Desk, judge_refusal, told
from e2e.limits.limited_document import Book, Key

BOOK = Book()

#: Limits under which a few requests, with the usage that the simulator is told, are all that fits; and how many.
LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "requests": ({"requests_per_minute": 20}, {}, 20),
    "input_tokens": ({"input_tokens_per_minute": 600}, {"usage": "input=600,output=1"}, 1),
    "output_tokens": ({"output_tokens_per_minute": 30_000}, {"usage": "input=1,output=30000"}, 1),
    "concurrent_requests": ({"concurrent_requests": 2}, {}, 2),
    "budget_per_day": ({"budget": {"per_day": "0.00000000000000000001"}}, {}, 1),
    "budget_per_month": ({"budget": {"per_month": "0.00000000000000000001", "per_day": "1000000"}}, {}, 1),
}
#: Where something else limits as well, but is never reached.
WIDE = {"requests_per_minute": 1_000_000, "concurrent_requests": 1000, "budget": {"per_day": "1000000"}}


@dataclasses.dataclass(frozen=True)
class Case:
    protocol: str
    scope: str
    limit: str
    #: Ask in turn.
    keys: tuple[Key, ...]
    #: What the simulator is told.
    sim: dict[str, Any]
    fits: int

    def __str__(self) -> str:
        return f"{self.protocol}-{self.scope}-{self.limit}"


def cases() -> Iterator[Case]:
    for number, (limit, (limits, sim, fits)) in enumerate(LIMITS.items()):
        protocol = "ABC"[number % 3]
        yield Case(protocol, "key", limit, (BOOK.key(protocol, BOOK.group(protocol, **WIDE), **limits),), sim, fits)
        protocol = "ABC"[(number + 1) % 3]
        group = BOOK.group(protocol, **limits)
        yield Case(protocol, "group", limit, (BOOK.key(protocol, group), BOOK.key(protocol, group, **WIDE)), sim, fits)


CASES = list(cases())
MIXED = BOOK.key("A", BOOK.mixed(requests_per_minute=3))


@dataclasses.dataclass
class Round:
    """What came of a case: what was let through, what was refused then, and what came later."""

    admitted: list[Asked]
    refused: list[Asked]
    #: After the time that the first refusal told, where that is short.
    later: list[Asked]


def play(desk: Desk, case: Case) -> Round:
    with ExitStack() as under_way:
        admitted, refused = [], []
        for number in range(2 * case.fits + 5):
            key = case.keys[number % len(case.keys)]
            if case.limit == "concurrent_requests" and number < case.fits:
                under_way.enter_context(desk.held(key, **case.sim))
                continue
            asked = desk.ask(key, **case.sim)
            if asked.status != 200:
                refused.append(asked)
                break
            admitted.append(asked)
            if case.fits == 1:
                desk.records(key)  # what it used is known then
        # What is refused costs nothing: the time that the first was told is true for all that.
        refused += [desk.ask(case.keys[-1], **case.sim) for _ in range(3)]
    wait = int(refused[0].header("retry-after") or "999999")
    if wait > 5:
        return Round(admitted, refused, [])
    time.sleep(max(0.0, refused[0].ended + wait - time.monotonic()))
    return Round(admitted, refused, [desk.ask(case.keys[0], **case.sim)])


@pytest.fixture(scope="module")
def rounds(desk: Desk) -> dict[str, Round]:
    """All at the same time: most of each is waiting."""
    with ThreadPoolExecutor(max_workers=len(CASES)) as pool:
        return dict(zip(map(str, CASES), pool.map(lambda case: play(desk, case), CASES)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_limit(case: Case, rounds: dict[str, Round], desk: Desk) -> None:
    """As many as fit, and not one more; then a refusal that the upstream never hears of, and a time that is true."""
    played = rounds[str(case)]
    first = played.refused[0]
    began = played.admitted[0].began if played.admitted else 0.0
    drained = int((first.ended - began) * case.fits / 60) if case.limit == "requests" else 0
    held = case.fits if case.limit == "concurrent_requests" else 0
    assert case.fits <= len(played.admitted) + held <= case.fits + drained, f"{case}: {played}"
    assert all(len(desk.seen(asked.call.marker)) == 1 for asked in played.admitted), f"{case}: {played}"
    budget = case.limit.removeprefix("budget_per_") if "budget" in case.limit else ""
    what = case.limit.replace("_", " ") if not budget else f"for this {budget}"
    for asked in played.refused:
        judge_refusal(asked, scope=case.scope, budget=budget)
        assert what.replace("concurrent requests", "requests under way") in asked.json()["error"]["message"], asked
        assert desk.seen(asked.call.marker) == [], f"{case}: the upstream knows of it: {asked}"
    if not budget:
        (later,) = played.later
        assert later.status == 200, f"{case}: {first}, and then {later}"
        assert 1 <= int(first.header("retry-after") or "") <= 3, f"{case}: {first}"
    key = played.refused[-1].call.key
    mine = sum(asked.call.key == key for asked in played.refused)
    found = [record for record in desk.records(key, mine) if "trilane.limit" in record]
    assert len(found) == mine, f"{case}: {found}"
    for record in found:
        names = ("trilane.limit", "trilane.limit.scope", "trilane.outcome", "trilane.usage.status")
        assert [record[name] for name in names] == [case.limit, case.scope, "refused", "none"], f"{case}: {record}"
        assert record["error.type"] == first.header("x-trilane-error") and "trilane.charge" not in record, f"{case}: {record}"


def test_a_mixed_group_is_limited_over_its_protocols(desk: Desk) -> None:
    for protocol in "ABC":
        asked = desk.ask(MIXED._replace(protocol=protocol))
        assert asked.status == 200, asked
    for protocol in "ABC":
        asked = desk.ask(MIXED._replace(protocol=protocol))
        judge_refusal(asked, scope="group")
        assert desk.seen(asked.call.marker) == [], asked
        assert told(asked).keys() == set(TOLD[protocol][:1]), asked
