"""The official SDKs at their limits: the right exception, a pause as long as it should be, and none for nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.limits.limited_desk import Desk
from e2e.limits.limited_document import MODELS, Book, Key
from e2e.sdk.sdk_support import Driver, Sdk, received, stop_all

BOOK = Book()

#: The protocol, the end of the base address, and a call of each SDK.
SDKS = {"openai": ("A", "/v1", "chat"), "anthropic": ("B", "", "messages_stream"), "genai": ("C", "", "generate")}
GENERATIONS = ("today", "previous", "node")
#: What the request before the SDK's has used.
PRIMED = "input=6100"
#: Used up for minutes; and for a second or two, since a hundred a second are forgotten.
LONG = {"input_tokens_per_minute": 600}
SHORT = {"input_tokens_per_minute": 6000}
SPENT = {"budget": {"per_day": "0.00000000000000000001"}}


@dataclasses.dataclass(frozen=True)
class Asked:
    """A call of an SDK with a key of its own, at a limit."""

    sdk: Sdk
    protocol: str
    call: str
    limit: str
    key: Key

    def __str__(self) -> str:
        return f"{self.sdk.name}-{self.sdk.where}-{self.call}-{self.limit}"


LIMITS = {"once": LONG, "again": SHORT, "day": SPENT}
CASES = [
    Asked(Sdk(name, where, "", suffix), protocol, call, limit, BOOK.key(protocol, **limits))
    for name, (protocol, suffix, call) in SDKS.items()
    for where in GENERATIONS
    for limit, limits in LIMITS.items()
    # The one in Node never tries again by itself.
    if (name, where, limit) != ("genai", "node", "again")
]


def at(*limits: str) -> Any:
    return pytest.mark.parametrize("asked", [case for case in CASES if case.limit in limits], ids=str)


@pytest.fixture(scope="module")
def drivers() -> Iterator[dict[Sdk, Driver]]:
    """Each SDK is started when it is first needed."""
    running: dict[Sdk, Driver] = {}
    yield running
    stop_all(running.values())


@dataclasses.dataclass
class Told:
    """What a program gets, and how many requests the gateway had for it."""

    value: dict[str, Any]
    error: dict[str, Any]
    seconds: float
    requests: int


def order(desk: Desk, drivers: dict[Sdk, Driver], asked: Asked, retries: int) -> Told:
    """Uses the limit up, and then has the SDK ask."""
    driver = drivers.get(asked.sdk) or drivers.setdefault(asked.sdk, Driver(asked.sdk))
    prime = desk.ask(asked.key, usage=PRIMED)
    assert prime.status == 200, prime
    desk.records(asked.key)
    before = received(desk.stack.admin_url)
    told = driver.order(
        {
            "call": asked.call,
            "base_url": desk.stack.base_url + asked.sdk.suffix,
            "key": asked.key.value,
            "model": MODELS[asked.protocol],
            "headers": {},
            "body": {},
            "retries": retries,
            "api_version": None,
        }
    )
    requests = received(desk.stack.admin_url) - before
    assert "failed" not in told, f"{asked}: {told['failed']}"
    return Told(told.get("value", {}), told.get("error", {}), told["seconds"], requests)


def judge_error(asked: Asked, told: Told, code: str) -> None:
    """The exception for a limit, by the names that a program catches."""
    error = told.error
    assert error, f"{asked}: no exception: {told}"
    if asked.protocol == "C":
        wanted = ("ApiError" if asked.sdk.where == "node" else "ClientError", "RESOURCE_EXHAUSTED")
    else:
        own = asked.protocol == "A" and code == "insufficient_quota"
        wanted = ("RateLimitError", "insufficient_quota" if own else "rate_limit_error")
    assert (error["class"], error["type"]) == wanted, f"{asked}: {error}"
    assert (error["status"], error["code"]) == (429, code), f"{asked}: {error}"
    headers = error.get("headers") or {}
    if headers:
        assert headers["x-trilane-error"] == code, f"{asked}: {error}"
        if code == "insufficient_quota":
            assert "retry-after" not in headers, f"{asked}: {error}"
        else:
            assert int(headers["retry-after"]) >= 1, f"{asked}: {error}"


@at("once")
def test_the_exception_of_a_rate(asked: Asked, desk: Desk, drivers: dict[Sdk, Driver]) -> None:
    told = order(desk, drivers, asked, retries=0)
    judge_error(asked, told, "rate_limit_exceeded")
    assert told.requests == 1, f"{asked}: {told}"


@at("again")
def test_an_sdk_that_tries_again_succeeds(asked: Asked, desk: Desk, drivers: dict[Sdk, Driver]) -> None:
    """Those of A and B wait as long as they were told, and then it fits. That of C does not read how long."""
    told = order(desk, drivers, asked, retries=2 if asked.protocol != "C" else 7)
    assert told.value and not told.error, f"{asked}: {told}"
    if asked.protocol == "C":
        assert told.requests > 1, f"{asked}: {told}"
    else:
        assert told.requests == 2, f"{asked}: {told}"
        assert 1 <= told.seconds <= 15, f"{asked}: {told}"


@at("day")
def test_a_spent_budget_is_not_asked_again(asked: Asked, desk: Desk, drivers: dict[Sdk, Driver]) -> None:
    """However often the SDK may try: no try of today's would succeed."""
    retries = 2 if asked.protocol != "C" else 0
    told = order(desk, drivers, asked, retries)
    judge_error(asked, told, "insufficient_quota")
    assert told.requests == 1, f"{asked}: {told}"
    assert told.seconds < 15, f"{asked}: {told}"
