"""How often and how long: the bounds of tries and time, for plain requests and for streams."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Optional

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.ledger_reader import kinds
from e2e.accounts.accounts_rounds import all_asked
from e2e.accounts.document import MODEL, document
from e2e.accounts.operations import BY_NAME, OPERATIONS, Operation, is_native_error

pytestmark = pytest.mark.usefixtures("honest")

STREAMS = [operation for operation in OPERATIONS if operation.stream]
PLAIN = [operation for operation in OPERATIONS if not operation.stream]


@pytest.mark.parametrize("tries", [1, 2, 3])
@pytest.mark.parametrize("tiers", [(2, 2), (4,)], ids=["two tiers", "one tier"])
def test_tries(accounts: Desk, pool: ThreadPoolExecutor, tiers: tuple[int, ...], tries: int) -> None:
    """No more than the document allows, each at another account."""
    accounts.publish(document(tiers, failover={"tries": tries, "failures": 100}))
    asking = [partial(accounts.ask, operation, sim={"status": 500}) for operation in OPERATIONS]
    for asked in all_asked(accounts, pool, asking):
        assert asked.status == 500, asked
        assert len(asked.tried) == len(set(asked.tried)) == tries, f"{asked.operation.name}: {asked.tried}"
        assert asked.record()["trilane.tries"] == tries, asked.record()


def slowly(body: bytes) -> Iterator[bytes]:
    """A body whose end comes a little later."""
    yield body[:-1]
    time.sleep(0.1)
    yield body[-1:]


@pytest.mark.parametrize("failures", [1, 100])
def test_total_time(accounts: Desk, failures: int) -> None:
    """Behind the time for all tries no account is asked any more, nor blamed."""
    failover = {
        "total_seconds": 1,
        "answer_seconds": 1,
        "stream_answer_seconds": 1,
        "failures": failures,
        "set_aside_seconds": 5,
    }
    accounts.publish(document((4,), failover=failover))
    began = time.monotonic()
    # The time for all begins with the head, that for one account when it has the body.
    asking = [partial(accounts.ask, op, sim={"stall": "head"}, body=slowly(op.request()[1])) for op in OPERATIONS]
    with ThreadPoolExecutor(len(OPERATIONS)) as threads:
        every = all_asked(accounts, threads, asking)
    assert time.monotonic() - began < 10, "each waits for one account, and no longer"
    hung = set()
    for asked in every:
        where = f"{asked.operation.name}: {asked.record()}"
        assert asked.status == 502 and asked.headers["x-trilane-error"] == "bad_gateway", f"{where}: {asked}"
        assert is_native_error(asked.operation.protocol, asked.body), f"{where}: {asked}"
        assert len(asked.tried) == 1, f"asked behind the time: {asked.tried}: {where}"
        failed = kinds(asked.record())
        assert failed[0] == (asked.tried[0], "no_answer"), where
        assert [kind for _, kind in failed] == ["no_answer", "no_time"], where
        assert failed[1][0] != failed[0][0], where
        assert asked.record()["trilane.usage.status"] == "failed", where
        hung.add((asked.record()["trilane.source"], asked.tried[0]))
    aside = accounts.set_aside()
    assert set(aside) == (hung if failures == 1 else set()), f"hung: {hung}, set aside: {aside}"


def test_time_is_left(accounts: Desk) -> None:
    """Within the time for all of them, the accounts that hang are passed over one by one."""
    failover = {"total_seconds": 20, "answer_seconds": 2, "stream_answer_seconds": 2, "failures": 100}
    accounts.publish(document((4,), failover=failover))
    with ThreadPoolExecutor(len(OPERATIONS)) as threads:
        asking = [partial(accounts.ask, op, sim={"stall": "head"}, at=["a1", "a2", "a3"]) for op in OPERATIONS]
        for asked in all_asked(accounts, threads, asking):
            assert asked.status == 200 and asked.tried[-1] == "a4", f"{asked} {asked.tried}"


def bodies() -> list[tuple[str, Operation, bytes, bool]]:
    """Requests by what their body says of streaming, and where."""
    chat, stream = BY_NAME["chat"], BY_NAME["chat-stream"]
    model, text = json.dumps(MODEL["A"]), "x" * 600_000
    messages = '"messages":[{"role":"user","content":"%s"}]'
    cases = [
        ("stream before the model", stream, '{"stream":true,"model":%s,%s}' % (model, messages % "hi"), True),
        ("stream behind the model", stream, '{"model":%s,%s,"stream":true}' % (model, messages % "hi"), True),
        ("large, stream before", stream, '{"stream":true,"model":%s,%s}' % (model, messages % text), True),
        ("large, stream in between", stream, '{"model":%s,"stream":true,%s}' % (model, messages % text), True),
        ("large, no stream", chat, '{"model":%s,%s}' % (model, messages % text), False),
        ("stream false", chat, '{"model":%s,"stream":false,%s}' % (model, messages % "hi"), False),
        # Nobody can wait so long for the word: such a stream has the time of a plain request.
        ("large, stream behind all", stream, '{"model":%s,%s,"stream":true}' % (model, messages % text), False),
    ]
    return [(case, operation, body.encode(), streams) for case, operation, body, streams in cases]


def test_streams_have_less_time(accounts: Desk) -> None:
    """`stream_answer_seconds` for streams, wherever the body says so, `answer_seconds` for all others."""
    accounts.publish(document((4,), failover={"answer_seconds": 9, "stream_answer_seconds": 3, "failures": 100}))
    first = {
        protocol: accounts.ask(next(op for op in OPERATIONS if op.protocol == protocol)).tried for protocol in "ABC"
    }
    plan: list[tuple[str, Operation, Optional[bytes], bool]] = [
        *((operation.name, operation, None, operation.stream) for operation in OPERATIONS),
        *bodies(),
    ]

    asking = [
        partial(accounts.ask, operation, sim={"stall": "head"}, at=first[operation.protocol], body=body)
        for _, operation, body, _ in plan
    ]
    with ThreadPoolExecutor(len(plan)) as threads:
        every = all_asked(accounts, threads, asking)
    for (case, _, _, streams), asked in zip(plan, every):
        limit = 3 if streams else 9
        where = f"{case}: {asked.seconds:.2f} s, {asked.tried}"
        assert asked.status == 200 and len(asked.tried) == 2, f"{where}: {asked}"
        assert limit <= asked.seconds < limit + 5, where
        assert kinds(asked.record()) == [(asked.tried[0], "no_answer")], f"{where}: {asked.record()}"


def test_a_slow_answer_is_no_failure(accounts: Desk) -> None:
    """Only the wait for the head is bounded: a plain answer may think, a stream may pause, both for longer."""
    accounts.publish(document((4,), failover={"answer_seconds": 6, "stream_answer_seconds": 2}))
    plan = [(operation, {"delay_ms": 2600}) for operation in PLAIN]
    plan += [(operation, {"gap_ms": 900, "events": 3}) for operation in STREAMS]
    with ThreadPoolExecutor(len(plan)) as threads:
        every = all_asked(accounts, threads, [partial(accounts.ask, op, sim=sim) for op, sim in plan])
    for asked in every:
        assert asked.status == 200 and len(asked.tried) == 1, f"{asked}: {asked.tried}"
        assert not kinds(asked.record()), asked.record()
