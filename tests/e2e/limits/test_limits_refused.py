"""Every limit, on keys and on groups, of text and of pictures: what it lets through, what it says, when it lets go."""

from __future__ import annotations

import dataclasses
import datetime
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from e2e.limits.limited_desk import TOLD, Asked, Desk, judge_refusal, told
from e2e.limits.limited_document import Book, Key
from e2e.limits.limits_images import FORMS

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


#: What is asked for, its protocol, and how: a request of text where nothing is told.
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    **{protocol: (protocol, {}) for protocol in "ABC"},
    **{f"images, {name}": ("A", FORMS[name]) for name in ("generations", "generations, streamed", "edits by a form")},
}


@dataclasses.dataclass(frozen=True)
class Case:
    what: str
    scope: str
    limit: str
    #: Ask in turn.
    keys: tuple[Key, ...]
    #: The requests, and what the simulator is told of them.
    how: dict[str, Any]
    fits: int

    def __str__(self) -> str:
        return f"{self.what}-{self.scope}-{self.limit}"


def cases() -> Iterator[Case]:
    for limit, (usual, sim, fits) in LIMITS.items():
        for what, (protocol, asked) in ASKED.items():
            limits, how, images = usual, {**asked, **sim}, bool(asked)
            if images and "budget" in limit:
                how["usage"] = "images=1"  # by itself
            if images and limit == "input_tokens":
                # A form has pictures: at this rate each fits again after two seconds.
                rate = (asked["body"].count(b"filename=") * 1600 + len(asked["body"]) // 4) * 30
                limits, how["usage"] = {"input_tokens_per_minute": rate}, f"input={rate},output=1"
            keys: tuple[Key, ...] = (BOOK.key(protocol, BOOK.group(protocol, images=images, **WIDE), **limits),)
            yield Case(what, "key", limit, keys, how, fits)
            group = BOOK.group(protocol, images=images, **limits)
            keys = (BOOK.key(protocol, group), BOOK.key(protocol, group, **WIDE))
            yield Case(what, "group", limit, keys, how, fits)


CASES = list(cases())
TIGHTER = {
    "the key's": BOOK.key("A", BOOK.group("A", requests_per_minute=9), requests_per_minute=3),
    "the group's": BOOK.key("A", BOOK.group("A", requests_per_minute=3), requests_per_minute=9),
}
MIXED = BOOK.key("A", BOOK.mixed(requests_per_minute=3))
BOTH_SPENT = BOOK.key("B", requests_per_minute=1, budget={"per_day": "0.00000000000000000001"})


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
                under_way.enter_context(desk.held(key, **case.how))
                continue
            asked = desk.ask(key, **case.how)
            if asked.status != 200:
                refused.append(asked)
                break
            admitted.append(asked)
            if case.fits == 1:
                desk.records(key)  # what it used is known then
        # What is refused costs nothing: the time that the first was told is true for all that.
        refused += [desk.ask(case.keys[-1], **case.how) for _ in range(3)]
    wait = int(refused[0].header("retry-after") or "999999")
    if wait > 5:
        return Round(admitted, refused, [])
    time.sleep(max(0.0, refused[0].ended + wait - time.monotonic()))
    return Round(admitted, refused, [desk.ask(case.keys[0], **case.how)])


@pytest.fixture(scope="module")
def rounds(desk: Desk) -> dict[str, Round]:
    """All at the same time: most of each is waiting."""
    with ThreadPoolExecutor(max_workers=len(CASES)) as pool:
        return dict(zip(map(str, CASES), pool.map(lambda case: play(desk, case), CASES)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_let_through(case: Case, rounds: dict[str, Round], desk: Desk) -> None:
    """As many as fit, and not one more; then a refusal that the upstream never hears of."""
    played = rounds[str(case)]
    began = played.admitted[0].began if played.admitted else 0.0
    drained = 0
    if case.limit == "requests":
        drained = int((played.refused[0].ended - began) * case.fits / 60)
    held = case.fits if case.limit == "concurrent_requests" else 0
    assert case.fits <= len(played.admitted) + held <= case.fits + drained, f"{case}: {played}"
    for asked in played.admitted:
        assert len(desk.seen(asked.call.marker)) == 1, f"{case}: {asked}"
    for asked in played.refused:
        assert desk.seen(asked.call.marker) == [], f"{case}: the upstream knows of it: {asked}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_the_client_is_told(case: Case, rounds: dict[str, Round]) -> None:
    budget = case.limit.removeprefix("budget_per_") if "budget" in case.limit else ""
    for asked in rounds[str(case)].refused:
        judge_refusal(asked, scope=case.scope, budget=budget)
        what = case.limit.replace("_", " ") if not budget else f"for this {budget}"
        assert what.replace("concurrent requests", "requests under way") in asked.json()["error"]["message"], asked


@pytest.mark.parametrize("case", [case for case in CASES if "budget" not in case.limit], ids=str)
def test_the_time_told_is_true(case: Case, rounds: dict[str, Round]) -> None:
    first, (later,) = rounds[str(case)].refused[0], rounds[str(case)].later
    assert later.status == 200, f"{case}: {first}, and then {later}"
    assert 1 <= int(first.header("retry-after") or "") <= 3, f"{case}: {first}"


@pytest.mark.parametrize("case", [case for case in CASES if "budget" in case.limit], ids=str)
def test_a_budget_comes_back_with_the_calendar(case: Case, rounds: dict[str, Round]) -> None:
    """A small deviation is the time that the round took, or a midnight in between."""
    first = rounds[str(case)].refused[0]
    now = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=time.monotonic() - first.ended)
    midnight = datetime.datetime.combine(now.date(), datetime.time(), datetime.timezone.utc)
    month_on = (midnight.replace(day=1) + datetime.timedelta(days=32)).replace(day=1)
    until = midnight + datetime.timedelta(days=1) if case.limit == "budget_per_day" else month_on
    told_in = re.search(r"in (?:(\d+) d )?(?:(\d+) h)? ?(?:(\d+) min)?\.", first.json()["error"]["message"])
    assert told_in, first
    days, hours, minutes = (int(part or 0) for part in told_in.groups())
    wait = datetime.timedelta(days=days, hours=hours, minutes=minutes)
    # Days are told with hours, hours with minutes, rounded.
    exact = datetime.timedelta(hours=1) if days else datetime.timedelta(minutes=2)
    assert abs(until - now - wait) <= exact, f"{case}: {wait}, and now is {now}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_ledger_names_the_limit(case: Case, rounds: dict[str, Round], desk: Desk) -> None:
    refused = rounds[str(case)].refused
    key = refused[-1].call.key
    every = desk.records(key, sum(asked.call.key == key for asked in refused))
    found = [record for record in every if "trilane.limit" in record]
    assert len(found) == sum(asked.call.key == key for asked in refused), f"{case}: {every}"
    for record in found:
        names = ("trilane.limit", "trilane.limit.scope", "trilane.outcome", "trilane.usage.status")
        got = {name: record[name] for name in names}
        assert got == dict(zip(names, (case.limit, case.scope, "refused", "none"))), f"{case}: {record}"
        assert record["error.type"] == refused[0].header("x-trilane-error"), f"{case}: {record}"
        assert "trilane.charge" not in record, f"{case}: {record}"


@pytest.mark.parametrize("whose", TIGHTER)
def test_the_tighter_limit_holds_and_is_told(whose: str, desk: Desk) -> None:
    key = TIGHTER[whose]
    answers = [desk.ask(key) for _ in range(4)]
    assert [asked.status for asked in answers] == [200, 200, 200, 429], answers
    for number, asked in enumerate(answers):
        gauge = told(asked)["requests"]
        assert (gauge.limit, gauge.remaining) == (3, max(0, 2 - number)), asked
    judge_refusal(answers[-1], scope=whose.removeprefix("the ").removesuffix("'s"))


def test_a_mixed_group_is_limited_over_its_protocols(desk: Desk) -> None:
    for protocol in "ABC":
        asked = desk.ask(MIXED._replace(protocol=protocol))
        assert asked.status == 200, asked
    for protocol in "ABC":
        asked = desk.ask(MIXED._replace(protocol=protocol))
        judge_refusal(asked, scope="group")
        assert desk.seen(asked.call.marker) == [], asked
        assert told(asked).keys() == set(TOLD[protocol][:1]), asked


def test_a_spent_budget_weighs_more_than_a_rate(desk: Desk) -> None:
    """Both keep the request out. Who is told to come back in a minute would come for nothing."""
    assert desk.ask(BOTH_SPENT).status == 200
    desk.records(BOTH_SPENT)
    judge_refusal(desk.ask(BOTH_SPENT), scope="key", budget="day")
