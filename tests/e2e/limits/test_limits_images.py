"""Pictures under limits: their tokens, their estimate, and what they cost by the piece."""

from __future__ import annotations

import json
import time
from decimal import Decimal, localcontext
from typing import Any

import pytest
from e2e.limits.limited_desk import Desk, fits, judge_refusal, told
from e2e.limits.limited_document import IMAGE_PRICES, MULTIPLIER, Book, Key
from e2e.limits.limits_images import FORMS, form, uploaded
from e2e.raw import Http1

BOOK = Book()
#: So many a minute that a test of some milliseconds sees what was used, and not what has drained.
INPUT, OUTPUT = 180_000, 120_000
#: The estimate of output: no request for pictures can set a cap.
UNCAPPED = 1000
#: What a request uses, by kinds that cost something each, and what it comes to.
USED = {"input": 1009, "input_image": 211, "output": 47, "images": 3}
USAGE = ",".join(f"{kind}={number}" for kind, number in USED.items())
INPUT_USED = USED["input"] + USED["input_image"]
#: A model that is paid by the picture reports no tokens, and this many pictures.
BY_THE_PIECE = {"scenario": "no-usage", "usage": "images=3"}


def cost(**used: int) -> Decimal:
    """What that costs, to the last digit."""
    with localcontext() as exact:
        exact.prec = 60
        tokens = [Decimal(IMAGE_PRICES[kind]) * used.get(kind, 0) for kind in ("input", "input_image", "output")]
        pieces = Decimal(IMAGE_PRICES["image"]) * used.get("images", 0)
        return (sum(tokens, Decimal()) / 1_000_000 + pieces) * Decimal(MULTIPLIER)


def key(**limits: Any) -> Key:
    return BOOK.key("A", PICTURES, **limits)


def either() -> dict[str, Key]:
    """A key for each limit of tokens: of two limits a client is told the one that leaves less."""
    return {"input": key(input_tokens_per_minute=INPUT), "output": key(output_tokens_per_minute=OUTPUT)}


PICTURES = BOOK.group("A", images=True)
KEYS = {name: either() for name in FORMS}
PIECES, UPLOADS = either(), either()
LATE = key(input_tokens_per_minute=INPUT)
WIDE = {"per_day": "1000000", "per_month": "1000000"}
SUM = BOOK.key("A", BOOK.group("A", images=True, budget=WIDE), budget=WIDE)
HAIR = Decimal(1).scaleb(-20)
THREE = 3 * cost(**USED)
LAST = {
    name: (key(budget={"per_day": f"{THREE:f}"}), key(budget={"per_month": f"{THREE + HAIR:.20f}"})) for name in FORMS
}
BY_PIECES = key(budget={"per_day": f"{2 * cost(images=3):f}"})


@pytest.mark.parametrize("name", FORMS)
def test_the_tokens_of_pictures_are_counted(name: str, desk: Desk) -> None:
    """Pictures that are shown to the model are input like every other."""
    for kind, used in (("input", INPUT_USED), ("output", USED["output"])):
        key, began = KEYS[name][kind], time.monotonic()
        asked = desk.ask(key, usage=USAGE, **FORMS[name])
        assert asked.status == 200, asked
        (record,) = desk.records(key)
        assert record[f"gen_ai.usage.{kind}_tokens"] == used, record
        assert record["trilane.usage.images"] == USED["images"], record
        gauge = told(desk.list(key))["tokens"]
        assert fits(gauge, used, began), f"{name}: {used} of {gauge}"


@pytest.mark.parametrize("kind", ["input", "output"])
def test_what_reports_no_tokens_has_used_none(kind: str, desk: Desk) -> None:
    """The estimate is given back: the answer is whole, and tells all that there is."""
    key, began = PIECES[kind], time.monotonic()
    for count in range(1, 4):
        asked = desk.ask(key, **FORMS["generations"], **BY_THE_PIECE)
        assert asked.status == 200, asked
        record = desk.records(key, count)[-1]
        assert (record["trilane.usage.status"], record["trilane.usage.images"]) == ("complete", 3), record
    assert fits(told(desk.list(key))["tokens"], 0, began), kind


PICTURE = b"\x89PNG" + b"x" * 40_000


def estimated(body: bytes) -> int:
    """The input tokens of a form with that picture."""
    return 1600 + -(-(len(body) - len(PICTURE)) // 4)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_the_estimate_of_an_upload(kind: str, desk: Desk) -> None:
    """A picture, a quarter of the other bytes, and the output of a request without a cap, whatever its fields say."""
    body = form(PICTURE, max_output_tokens="7", max_tokens="7")
    key, began = UPLOADS[kind], time.monotonic()
    with desk.held(key, **uploaded(body)):
        used = estimated(body) if kind == "input" else UNCAPPED
        gauge = told(desk.list(key))["tokens"]
        assert fits(gauge, used, began), f"{kind}: {used} of {gauge}"


def test_an_upload_of_unknown_length_is_waited_for(desk: Desk) -> None:
    body = form(PICTURE)
    call = desk.call(LATE, stall="head", **uploaded(body))
    began = time.monotonic()
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("transfer-encoding", "chunked")])
        client.chunk(body[:20_000])
        time.sleep(0.2)
        assert desk.seen(call.marker) == [], "nothing goes before it is counted"
        client.chunk(body[20_000:])
        client.chunk(b"")
        desk.wait_seen(call.marker, "request_complete")
        gauge = told(desk.list(LATE))["tokens"]
        assert fits(gauge, estimated(body), began), gauge


def test_pictures_are_charged_with_their_tokens(desk: Desk) -> None:
    """In each form, one after the other, to the last digit, for key and group."""
    spent = Decimal()
    for count, (name, how) in enumerate(FORMS.items(), start=1):
        assert desk.ask(SUM, usage=USAGE, **how).status == 200, name
        record = desk.records(SUM, count)[-1]
        spent += cost(**USED)
        assert Decimal(record["trilane.charge"]) == cost(**USED), f"{name}: {record}"
        for place in ("key.day", "key.month", "group.day", "group.month"):
            assert Decimal(record[f"trilane.spent.{place}"]) == spent, f"{name}: {record}"


@pytest.mark.parametrize("name", FORMS)
def test_a_budget_is_spent_to_the_last_digit(name: str, desk: Desk) -> None:
    for key, fit, window in zip(LAST[name], (3, 4), ("day", "month")):
        for count in range(1, fit + 1):
            assert desk.ask(key, usage=USAGE, **FORMS[name]).status == 200, f"{name}, {window}: {count}"
            desk.records(key, count)
        refused = desk.ask(key, usage=USAGE, **FORMS[name])
        judge_refusal(refused, scope="key", budget=window)
        assert desk.seen(refused.call.marker) == [], refused


def test_pictures_spend_a_budget_by_themselves(desk: Desk) -> None:
    for count in (1, 2):
        assert desk.ask(BY_PIECES, **FORMS["generations"], **BY_THE_PIECE).status == 200, count
        record = desk.records(BY_PIECES, count)[-1]
        assert Decimal(record["trilane.spent.key.day"]) == count * cost(images=3), record
    judge_refusal(desk.ask(BY_PIECES, **FORMS["generations"], **BY_THE_PIECE), scope="key", budget="day")
    # What else the key may use is its group's, and costs: the budget is one.
    text = desk.ask(BY_PIECES, body=json.dumps({"model": "gpt-5.1", "messages": []}).encode())
    judge_refusal(text, scope="key", budget="day")
