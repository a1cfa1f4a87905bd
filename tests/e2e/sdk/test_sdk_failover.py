"""The official SDKs at a source some of whose accounts fail: they get clean answers, whole streams, and know nothing.

All of them ask at once: the two generations in Python and the one in Node, without any retries of their own. The
accounts stand in four tiers, so it is known which are asked, and in which order.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Optional

import pytest
from demo import DEMO_KEYS
from e2e.accounts.accounts_desk import Desk, AccountsStack
from e2e.ledger_reader import kinds
from e2e.accounts.document import ACCOUNT_OF, ACCOUNTS, GROUPS, Credentials, document
from e2e.accounts.operations import BY_NAME
from e2e.sdk import anthropic_cases, genai_cases, openai_cases
from e2e.sdk.sdk_support import Bench, Driver, Sdk, judge_part
from e2e.support import run_dir

#: How accounts fail: what the simulator is told, and the kind in the record.
FAILURES: dict[str, tuple[dict[str, str], str]] = {
    "limited": ({"x-sim-status": "429", "x-sim-retry-after": "0", "x-sim-limits": "1"}, "rate_limited"),
    "overloaded": ({"x-sim-status": "503"}, "overloaded"),
    "cut": ({"x-sim-cut": "head"}, "connection"),
    "hanging": ({"x-sim-stall": "head"}, "no_answer"),
}
_markers = itertools.count(1)


class Call(NamedTuple):
    """A call of an SDK, and what comes of it where nothing fails."""

    protocol: str
    call: str
    model: str
    stream: bool
    want: dict[str, Any]


CALLS = [
    Call("A", "chat", "gpt-5.1", False, {"text": "pong", "usage": openai_cases.USAGE}),
    Call("A", "chat_stream", "gpt-5.1", True,
         {"text": openai_cases.TEXT, "deltas": 5, "usage": openai_cases.USAGE}),
    Call("A", "responses", "gpt-5.1", False, {"text": "pong", "status": "completed", "usage": openai_cases.USAGE}),
    Call("A", "responses_stream", "gpt-5.1", True,
         {"text": openai_cases.TEXT, "first": "response.created", "last": "response.completed",
          "usage": openai_cases.USAGE}),
    Call("B", "messages", "claude-opus-4-5", False,
         {"text": "pong", "stop_reason": "end_turn", "usage": anthropic_cases.USAGE}),
    Call("B", "messages_helper", "claude-opus-4-5", True,
         {"text": anthropic_cases.TEXT, "streamed": anthropic_cases.TEXT, "stop_reason": "end_turn",
          "usage": anthropic_cases.USAGE}),
    Call("C", "generate", "gemini-2.5-flash", False, {"text": "pong", "usage": genai_cases.USAGE}),
    Call("C", "generate_stream", "gemini-2.5-flash", True,
         {"text": genai_cases.TEXT, "several": True, "usage": genai_cases.USAGE}),
]  # fmt: skip
MODULES = {"A": openai_cases, "B": anthropic_cases, "C": genai_cases}


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """Accounts `a1` to `a4`, asked in this order by every request: none is ever set aside, as a 429 asks for no time."""
    directory = run_dir("sdk-failover")
    credentials = Credentials(directory / "credentials")
    limits = {"failures": 100, "answer_seconds": 3, "stream_answer_seconds": 3}
    wanted = document((1, 1, 1, 1), failover=limits)
    for group in wanted["groups"]:
        group["clients"] = "current"
    with AccountsStack(directory, document=wanted, credentials=credentials.directory) as stack:
        with Desk(stack, credentials) as made:
            yield made
            assert made.journal.check() > 0


@pytest.fixture(scope="module")
def sdks(bench: Bench) -> dict[Sdk, tuple[str, Driver]]:
    """Every SDK, with its protocol."""
    node = bool(shutil.which("node") and shutil.which("npm"))  # where it is missing, others say that
    return {
        sdk: (protocol, bench.driver(sdk))
        for protocol, module in MODULES.items()
        for sdk in module.SDKS
        if node or sdk.where != "node"
    }


class Ordered(NamedTuple):
    """A call that was made."""

    sdk: Sdk
    call: Call
    marker: str
    told: dict[str, Any]


def make_all(
    desk: Desk, sdks: dict[Sdk, tuple[str, Driver]], stream: bool, steering: dict[str, str]
) -> list[Ordered]:
    """Every SDK makes its calls, one after the other; all SDKs at the same time."""

    def make(sdk: Sdk) -> list[Ordered]:
        protocol, driver = sdks[sdk]
        made = []
        for call in CALLS:
            if call.protocol != protocol or call.stream != stream:
                continue
            marker = f"failover{next(_markers)}"
            order = {
                "call": call.call,
                "base_url": desk.stack.base_url + sdk.suffix,
                "key": DEMO_KEYS[f"key_{protocol.lower()}"],
                "model": call.model,
                "headers": {**steering, "x-sim-marker": marker},
                "body": {},
                "retries": 0,
                "api_version": None,
            }
            made.append(Ordered(sdk, call, marker, driver.order(order)))
        return made

    # Failures in a row would in the end set an account aside; these answers come in between.
    for name in ("chat", "messages", "generate"):
        assert desk.ask(BY_NAME[name]).tried == ACCOUNTS[:1]
    with ThreadPoolExecutor(len(sdks)) as pool:
        return [ordered for made in pool.map(make, sdks) for ordered in made]


def judge(desk: Desk, ordered: Ordered, failing: int, kind: Optional[str]) -> None:
    """The value is as ever; each account saw one try, and the last one's answer is the client's."""
    __tracebackhide__ = True
    call, sdk = ordered.call, ordered.sdk
    where = f"{sdk.name} ({sdk.where}), {call.call}"
    assert "value" in ordered.told, f"{where}: {ordered.told}"
    judge_part(where, ordered.told["value"], call.want, sdk)
    tries = desk.journal.of(ordered.marker)
    wanted = ACCOUNTS[: failing + 1]
    assert [ACCOUNT_OF[entry["listener"]] for entry in tries] == wanted, f"{where}: {tries}"
    ids = {value for entry in tries for name, value in entry["headers"] if name == "x-request-id"}
    assert len(ids) == 1, f"{where}: the SDK asked {len(ids)} times"
    assert tries[-1]["state"] == "answered", f"{where}: {tries[-1]}"
    record = desk.ledger.of_request(f"sim-{tries[-1]['id']}")
    assert record["trilane.account"] == wanted[-1] and record["trilane.tries"] == len(wanted), f"{where}: {record}"
    assert kinds(record) == [(account, kind) for account in wanted[:-1]], f"{where}: {record}"
    assert record["trilane.source"] == GROUPS[call.protocol], f"{where}: {record}"
    assert record["trilane.usage.status"] == "complete" and "trilane.charge" in record, f"{where}: {record}"
    used = [record[f"gen_ai.usage.{kind}_tokens"] for kind in ("input", "output")]
    assert used == [{"A": 1234, "B": 1534, "C": 1244}[call.protocol], 56], f"{where}: not what the SDK says: {record}"


@pytest.mark.parametrize("stream", (False, True), ids=("plain", "stream"))
@pytest.mark.parametrize("how", FAILURES)
def test_failing_accounts_are_not_noticed(
    how: str, stream: bool, desk: Desk, sdks: dict[Sdk, tuple[str, Driver]]
) -> None:
    """Of four accounts, the first two."""
    failing = 2
    steering, kind = FAILURES[how]
    at = ",".join(listener for listener, account in ACCOUNT_OF.items() if account in ACCOUNTS[:failing])
    for ordered in make_all(desk, sdks, stream, {**steering, "x-sim-at": at}):
        judge(desk, ordered, failing, kind)


@pytest.mark.parametrize("stream", (False, True), ids=("plain", "stream"))
def test_nothing_fails(stream: bool, desk: Desk, sdks: dict[Sdk, tuple[str, Driver]]) -> None:
    """The other cases could not tell a gateway that asks all accounts from one that asks when it must."""
    for ordered in make_all(desk, sdks, stream, {}):
        judge(desk, ordered, 0, None)
