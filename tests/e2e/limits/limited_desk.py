"""A gateway whose document has limits, and requests that tell what became of them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional, Union

from e2e.ledger_reader import Ledger, Record
from e2e.limits.limited_document import MODELS, Book, Key
from e2e.loading.variants import Edit, Variant, generation, tick, wait_generation
from e2e.raw import Answer, Header, Http1, Http2
from e2e.simulator import Simulator, steering
from e2e.stacks import PromptStack
from e2e.support import credential
from waiting import until

#: The loader's pace here: a document takes two of these.
TICK_MS = 100

HELLO = [{"role": "user", "content": "Hello"}]
_markers = itertools.count(1)


class LimitsStack(PromptStack, Variant):
    """Writes its ledger at once, and is at the loader's pace that the edits say."""


@dataclasses.dataclass
class Call:
    """A request, ready to be sent."""

    key: Key
    method: str
    path: str
    headers: list[Header]
    body: Optional[bytes]
    marker: str


@dataclasses.dataclass
class Asked:
    """What came of a request."""

    call: Call
    answer: Answer
    #: When it was sent, and when its answer was there (`time.monotonic`).
    began: float
    ended: float

    @property
    def status(self) -> int:
        return self.answer.status

    def header(self, name: str) -> Optional[str]:
        return self.answer.header(name)

    def json(self) -> Any:
        return json.loads(self.answer.body)

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.answer.headers)

    def __repr__(self) -> str:
        return f"{self.call.method} {self.call.path} with {self.call.key.id} -> {self.answer}"


def body_of(protocol: str, *, stream: bool = False, **more: Any) -> dict[str, Any]:
    """A body that caps its output at what is also taken for one that does not: 1000 tokens."""
    if protocol == "C":
        return {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}], **more}
    body: dict[str, Any] = {"model": MODELS[protocol], "messages": HELLO}
    if protocol == "B":
        body["max_tokens"] = 1000
    if stream:
        body["stream"] = True
        if protocol == "A":
            body["stream_options"] = {"include_usage": True}
    return {**body, **more}


def path_of(protocol: str, *, stream: bool = False) -> str:
    if protocol == "C":
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{MODELS['C']}:{method}"
    return {"A": "/v1/chat/completions", "B": "/v1/messages"}[protocol]


class Desk:
    """Sends requests to a gateway of its own. Each goes on a new connection: the kernel chooses the worker."""

    def __init__(self, run_dir: Path, book: Book, *edits: Edit, **how: Any) -> None:
        self.book = book
        self.stack = LimitsStack(run_dir, tick(TICK_MS), *edits, document=book.document(), **how)
        self.ledger: Ledger
        self.simulator: Simulator

    def __enter__(self) -> Desk:
        self.stack.start()
        self.ledger = Ledger(self.stack.access_log)
        self.simulator = Simulator(self.stack)
        return self

    def __exit__(self, *_: object) -> None:
        self.simulator.close()
        self.stack.stop()

    # ---- Requests

    def call(
        self,
        key: Key,
        *,
        stream: bool = False,
        body: Union[dict[str, Any], bytes, None] = None,
        path: Optional[str] = None,
        method: str = "POST",
        headers: tuple[Header, ...] = (),
        **sim: Any,
    ) -> Call:
        """A request, not sent; `sim` is what the simulator is told (`delay_ms=20`). Without a body of its own it is a
        good one of the key's protocol."""
        if method == "GET":
            data = None
        elif isinstance(body, bytes):
            data = body
        else:
            data = json.dumps(body or body_of(key.protocol, stream=stream)).encode()
        marker = f"limits{next(_markers)}"
        all_headers: list[Header] = [*credential(key.protocol, key.value).items(), ("x-sim-marker", marker)]
        all_headers += [*steering(sim).items(), *headers]
        if data is not None and not any(name == "content-type" for name, _ in headers):
            all_headers.append(("content-type", "application/json"))
        return Call(key, method, path or path_of(key.protocol, stream=stream), all_headers, data, marker)

    def send(self, call: Call, *, wire: str = "h1") -> Asked:
        """Sends it, and reads the whole answer."""
        client: Any = Http1 if wire == "h1" else Http2
        began = time.monotonic()
        with client(self.stack.base_url) as connection:
            answer = connection.request(call.method, call.path, call.headers, call.body)
        return Asked(call, answer, began, time.monotonic())

    def ask(self, key: Key, *, wire: str = "h1", **how: Any) -> Asked:
        """A request and its answer; `how` is what `call` takes."""
        return self.send(self.call(key, **how), wire=wire)

    def list(self, key: Key) -> Asked:
        """The key's models: costs nothing, and tells what is left."""
        return self.ask(key, method="GET", path="/v1beta/models" if key.protocol == "C" else "/v1/models")

    @contextmanager
    def held(self, key: Key, **how: Any) -> Iterator[Call]:
        """A request that is under way as long as this lasts: the upstream has it, and does not answer."""
        call = self.call(key, **{"stall": "head", **how})
        with Http1(self.stack.base_url) as client:
            length = ("content-length", str(len(call.body or b"")))
            client.head(call.method, call.path, [*call.headers, length])
            client.send(call.body or b"")
            self.wait_seen(call.marker, "request_complete")
            yield call

    # ---- What the upstream saw

    def seen(self, marker: str) -> list[dict[str, Any]]:
        return self.simulator.seen(marker)

    def wait_seen(self, marker: str, *states: str) -> dict[str, Any]:
        return self.simulator.wait_seen(marker, *states)

    def reset_totals(self) -> None:
        self.simulator.reset_totals()

    def totals(self) -> dict[str, Any]:
        """What the simulator got since, once nothing is under way there."""

        def still() -> Any:
            totals = self.simulator.totals()
            running = ("receiving", "request_complete", "answering")
            return totals if not any(totals["by_state"][state] for state in running) else None

        return until(still, check=self.stack.check)

    # ---- Records

    def records(self, key: Key, count: int = 1) -> list[Record]:
        """The lines of what a key asked of a model, once there are `count`."""

        def found() -> list[Record]:
            return [record for record in self.ledger._of_key[key.id] if "trilane.usage.status" in record
                    and record["http.request.method"] == "POST"]  # fmt: skip

        return self.ledger.wait(found, count, f"of {key.id}")

    # ---- The document

    def publish(self) -> None:
        """The book as it is now; returns when the loader has it in force."""
        before = generation(self.stack)
        self.stack.publish(self.book.document())
        wait_generation(self.stack, before)


# ---- What a client is told


@dataclasses.dataclass(frozen=True)
class Gauge:
    """What is left of one limit."""

    limit: int
    remaining: int
    #: Until all of it may be used again: as it is written.
    reset: str


_A = "x-ratelimit-{}-{}"
_B = "anthropic-ratelimit-{1}-{0}"
#: What is told in each protocol.
TOLD = {"A": ("requests", "tokens"), "B": ("requests", "tokens", "input-tokens", "output-tokens"), "C": ()}
#: What a name of a budget begins with.
BUDGET = "x-trilane-budget-"
#: What a name of somebody's limits begins with.
FAMILIES = (BUDGET, "x-ratelimit", "anthropic-ratelimit", "anthropic-priority", "ratelimit", "x-ms-ratelimit")


def told(asked: Asked) -> dict[str, Gauge]:
    """What an answer tells of limits; fails where it has more than that, or half of it."""
    form = _A if asked.call.key.protocol == "A" else _B
    found, names = {}, set()
    for what in TOLD[asked.call.key.protocol]:
        parts = [form.format(part, what) for part in ("limit", "remaining", "reset")]
        values = [asked.header(name) for name in parts]
        if any(values):
            assert all(values), f"half of it: {asked}"
            found[what] = Gauge(int(values[0] or ""), int(values[1] or ""), values[2] or "")
            names |= set(parts)
    rates = [name for name, _ in asked.answer.headers if name.startswith(FAMILIES) and not name.startswith(BUDGET)]
    others = [name for name in rates if name not in names]
    assert not others, f"{others}: {asked}"
    doubled = [name for name, _ in asked.answer.headers if name in names]
    assert len(doubled) == len(names), f"a name twice: {asked}"
    return found


def left(asked: Asked) -> dict[str, tuple[Decimal, Decimal]]:
    """What an answer tells of budgets, by window: the whole, and what is left of it."""
    fields = [(name, value) for name, value in asked.answer.headers if name.startswith(BUDGET)]
    assert len({name for name, _ in fields}) == len(fields), f"a name twice: {asked}"
    amounts = {}
    for name, value in fields:
        amount, currency = value.split(" ")
        assert currency == "USD" and "E" not in amount, asked
        amounts[name.removeprefix(BUDGET)] = Decimal(amount)
    windows = {name.rpartition("-")[2] for name in amounts}
    assert amounts.keys() == {f"{part}-{window}" for part in ("limit", "remaining") for window in windows}, asked
    return {window: (amounts[f"limit-{window}"], amounts[f"remaining-{window}"]) for window in windows}


def fits(gauge: Gauge, used: int, since: float) -> bool:
    """Whether a gauge says that so much is used, as far as that can have drained since (`time.monotonic`)."""
    drained = (time.monotonic() - since) * gauge.limit / 60
    rest = gauge.limit - used
    return rest - 1 <= gauge.remaining <= min(gauge.limit, rest + drained + 1)


def judge_refusal(asked: Asked, *, scope: str, budget: str = "") -> None:
    """The 429 in its protocol's own shape; `budget` is the window whose budget is spent."""
    __tracebackhide__ = True
    protocol = asked.call.key.protocol
    code = "insufficient_quota" if budget else "rate_limit_exceeded"
    assert asked.status == 429, asked
    assert asked.header("content-type") == "application/json", asked
    assert asked.header("x-trilane-error") == code, asked
    assert asked.header("x-should-retry") == ("false" if budget else None), asked
    # Nobody is to sleep until a day or a month is over: the message says when that is.
    retry_after = asked.header("retry-after")
    assert retry_after is None if budget else int(retry_after or "") >= 1, asked
    body = asked.json()
    error = body["error"]
    assert ("It begins anew" in error["message"]) == bool(budget), error
    assert ("ask: Ann, 4th floor" in error["message"]) == bool(budget), error
    whose = "this key's group" if scope == "group" else "this key"
    assert whose in error["message"] and (scope == "group") == ("group" in error["message"]), error
    if protocol == "A":
        kind = code if budget else "rate_limit_error"
        assert (error["type"], error["code"], error["param"]) == (kind, code, None), error
        assert body.keys() == {"error"}, body
    elif protocol == "B":
        assert body["type"] == "error" and body["request_id"] == asked.header("request-id"), body
        assert (error["type"], error["details"]) == ("rate_limit_error", {"error_code": code}), error
    else:
        assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED"), error
        info, *quota, retry = error["details"]
        assert info["reason"] == code and info["@type"].endswith("/google.rpc.ErrorInfo"), error
        assert retry["@type"].endswith("/google.rpc.RetryInfo"), error
        delay = int(retry["retryDelay"].removesuffix("s"))
        assert delay >= 1 if budget else delay == int(retry_after or ""), error
        ids = {"day": ["BudgetPerDay"], "month": ["BudgetPerMonth"]}.get(budget, [])
        assert all(one["@type"].endswith("/google.rpc.QuotaFailure") for one in quota), error
        assert [one["quotaId"] for failure in quota for one in failure["violations"]] == ids, error


def poll(probe: Callable[[], bool], timeout: float, what: str) -> float:
    """How long it took until `probe` was true, in seconds."""
    began = time.monotonic()
    while not probe():
        assert time.monotonic() - began < timeout, f"not within {timeout} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - began
