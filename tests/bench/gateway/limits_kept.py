"""How exactly limits are kept: many clients at once want more than they may, at a gateway of several workers.

The gateway may use every core here, so that its workers really meet at the counters.
"""

from __future__ import annotations

import json
import math
import sys
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from bodies import chat
from cases import CHAT
from contestants import DIGITS, GROUP, document
from driving import Call
from house import House
from limits_costs import WithLimits, with_groups
from machine import Cores
from results import Table

#: Clients that all want as much as they can get, and the gateways' numbers of workers.
CLIENTS, WORKERS = 50, (2, 8)
#: How often each is tried, with counters that are new, and for how many seconds.
TURNS, SECONDS = 3, 3.0
#: What a request of 1 KB and its answer from the mock are: estimated by the length of the body, and as reported.
INPUT, CACHED, OUTPUT = 212, 128, 98
ESTIMATED, UNCAPPED = 1024 // 4, 1000
#: A request that is estimated too low, by its bytes.
SMALL = 256
#: A stream of the mock, for requests that take a while.
EVENTS, GAP_US = 5, 4000
#: How many requests may be under way at once.
SLOTS = 8

COLUMNS = ["limit", "workers", "allowed", "used", "over", "may be over", "refused"]
NOTE = (
    f"{CLIENTS} clients, each sends its next request when the answer is there. Allowed: the limit and what drained in the"
    " time. Of all turns the one with the most over. Tokens are admitted on an estimate, and what is under way when a"
    " budget is spent goes on: that is what may be over."
)


class Kept(NamedTuple):
    """A limit that many clients meet at once."""

    title: str
    limits: dict[str, Any]
    #: What is allowed at once, and how much of it drains in a second.
    allowed: int
    drains: float
    #: What each admitted request uses of it.
    uses: int
    #: By how much it may be exceeded.
    over: int
    call: Call
    #: It is the group's, and each client has many keys.
    of_group: bool = False
    #: What counts is how many requests the source has had at once.
    at_once: bool = False


def kinds(short: bool) -> Iterator[Kept]:
    """Each kind of limit, so small that it is met in a part of the time."""
    scale = 1 if short else 12
    plain = Call(CHAT, chat(1024, model_first=True), also=(429,))
    slow = plain._replace(body=chat(1024, model_first=True, stream=True), events=EVENTS, gap_us=GAP_US)

    def rate(
        title: str, name: str, limit: int, uses: int, over: int, call: Call = plain, *, of_group: bool = False
    ) -> Kept:
        return Kept(title, {f"{name}_per_minute": limit}, limit, limit / 60, uses, over, call, of_group)

    requests, tokens = 150 * scale, 15_000 * scale
    yield rate("requests a minute", "requests", requests, 1, 0)
    yield rate("requests a minute, of the group", "requests", requests, 1, 0, of_group=True)
    yield Kept("concurrent requests", {"concurrent_requests": SLOTS}, SLOTS, 0.0, 1, 0, slow, at_once=True)
    yield rate("input tokens a minute", "input_tokens", tokens, INPUT, ESTIMATED)
    yield rate("output tokens a minute", "output_tokens", tokens, OUTPUT, UNCAPPED)
    # All clients may be under way with such requests.
    low = plain._replace(body=chat(SMALL, model_first=True))
    yield rate("input tokens a minute, estimated too low", "input_tokens", tokens, INPUT, CLIENTS * INPUT, low)
    paid = 50 * scale
    budget = {"budget": {"per_day": f"{paid * charge():f}"}}
    yield Kept("budget, in requests", budget, paid, 0.0, 1, CLIENTS - 1, plain)


def charge() -> Decimal:
    """What the mock's answer costs."""
    (group,) = [group for group in json.loads(document(0))["groups"] if group["id"] == GROUP]
    (model,) = [model for model in group["models"] if model["id"] == "gpt-5.1"]
    prices = {kind: Decimal(model["prices"][kind]) for kind in ("input", "cache_read", "output")}
    millionths = (INPUT - CACHED) * prices["input"] + CACHED * prices["cache_read"] + OUTPUT * prices["output"]
    return millionths * Decimal(group["multiplier"]) / 10**6


def run(house: House) -> None:
    """Every kind, with each number of workers. More over than may be is a failure."""
    if not house.wanted("limits_kept"):
        return
    turns, seconds = (1, 1.0) if house.options.short else (TURNS, SECONDS)
    wanted = list(kinds(house.options.short))
    groups: dict[str, dict[str, Any]] = {}
    keys: dict[str, tuple[str, dict[str, Any]]] = {}
    for number, kept in enumerate(wanted):
        for turn in range(turns):
            name = _name(number, turn)
            groups[name] = kept.limits if kept.of_group else {}
            for value in _values(number, turn, CLIENTS if kept.of_group else 1):
                keys[value] = (name, {} if kept.of_group else kept.limits)
    content = with_groups(groups, keys)
    rows = []
    for workers in WORKERS:
        name, title = f"kept-{workers}", f"trilane, {workers} workers"
        arguments = (name, title, house.run_dir, house.source, Cores(None, house.cores.load))
        with WithLimits(*arguments, content=content, workers=workers) as gateway:
            for number, kept in enumerate(wanted):
                row = max((_turn(house, gateway, kept, number, turn, seconds) for turn in range(turns)), key=_over)
                rows.append([kept.title, workers, *row])
                print(f"{title}, {kept.title}: {_over(row)} over", file=sys.stderr, flush=True)
                if _over(row) > kept.over:
                    house.results.failures.append(f"limits_kept, {workers} workers, {kept.title}: {_over(row)} over")
    rows.sort(key=lambda row: [kept.title for kept in wanted].index(row[0]))
    house.results.tables["limits_kept"] = Table("How exactly limits are kept", COLUMNS, rows, NOTE)


def _name(number: int, turn: int) -> str:
    return f"kept-{number}-{turn}"


def _values(number: int, turn: int, count: int) -> list[str]:
    """The keys of a turn, which the load generator makes of the first with `#` for the digits."""
    return [f"bench-{_name(number, turn)}-{index:0{DIGITS}}" for index in range(count)]


def _over(row: list[Any]) -> int:
    return int(row[COLUMNS.index("over") - 2])


def _turn(house: House, gateway: WithLimits, kept: Kept, number: int, turn: int, seconds: float) -> list[Any]:
    """The row of one turn, from `allowed` on."""
    call = kept.call._replace(key=f"bench-{_name(number, turn)}-{'#' * DIGITS}")
    gateway.keys = CLIENTS if kept.of_group else 1
    _seen(house.source)
    report = house.drive(gateway, call, connections=CLIENTS, seconds=seconds, warmup=0)
    seen = _seen(house.source)
    if report["failed"]:
        house.results.failures.append(f"limits_kept, {gateway.title}, {kept.title}: {report['failures']}")
    admitted = int(report["statuses"].get("200", 0))
    refused = int(report["statuses"].get("429", 0))
    if seen["requests"] != admitted:
        told = f"{admitted} admitted, {seen['requests']} at the source"
        house.results.failures.append(f"limits_kept, {gateway.title}, {kept.title}: {told}")
    if not refused:
        what = f"{kept.title}, {gateway.title}"
        why = f"the machine is so slow that {admitted} requests did not meet the limit"
        house.results.not_measured.append({"what": what, "why": why})
    used = seen["most_at_once"] if kept.at_once else admitted * kept.uses
    allowed = kept.allowed + kept.drains * report["cpu_seconds"]
    return [math.floor(allowed), used, max(0, math.ceil(used - allowed)), kept.over, refused]


def _seen(source: str) -> dict[str, int]:
    """What the mock has seen since it was last asked."""
    # Whatever proxy the environment names: it is on loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{source}/bench/seen", timeout=10) as answer:
        seen: dict[str, int] = json.loads(answer.read())
        return seen
