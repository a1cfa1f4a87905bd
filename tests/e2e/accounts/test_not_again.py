"""What is not tried again: the request's own faults, answers that have begun, and clients that have gone."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.ledger_reader import kinds
from e2e.accounts.accounts_rounds import all_asked
from e2e.accounts.document import document, key_id
from e2e.accounts.failing import Failing
from e2e.accounts.operations import BY_NAME, OPERATIONS, Operation, is_native_error
from e2e.raw import Http1

pytestmark = pytest.mark.usefixtures("honest")

#: Streams that break off before anything that the model wrote: they cost nothing.
NOTHING_WRITTEN = {
    ("chat-stream", "body"),
    *itertools.product(["responses-stream"], ["body", "after=2", "after=4"]),
    *itertools.product(["messages-stream"], ["body", "after=2"]),
}
#: Streams that break off while their head is still held: another account is asked.
HELD = {*((operation.name, "body") for operation in OPERATIONS if operation.stream), ("responses-stream", "after=2")}
STATUSES = [400, 404, 405, 408, 409, 410, 413, 415, 422, 451]


def test_faults_of_the_request(accounts: Desk, pool: ThreadPoolExecutor) -> None:
    """One try, relayed as it is; and nobody is set aside for it, though one failure is enough."""
    accounts.publish(document((4,), failover={"failures": 1, "set_aside_seconds": 3}))
    home = accounts.ask(BY_NAME["chat"], session="at fault").tried
    plan = list(itertools.product(STATUSES, OPERATIONS))
    asking = [
        partial(accounts.ask, operation, sim={"status": status}, session="at fault") for status, operation in plan
    ]
    for (status, operation), asked in zip(plan, all_asked(accounts, pool, asking)):
        where = f"{status}, {operation.name}"
        assert asked.status == status and len(asked.tried) == 1, f"{where}: {asked} {asked.tried}"
        assert is_native_error(operation.protocol, asked.body), f"{where}: {asked}"
        assert "x-trilane-error" not in asked.headers, f"{where}: {asked}"
        assert f"asked for a {status}".encode() in asked.body, f"{where}: {asked}"
        record = asked.record()
        assert record["trilane.tries"] == 1 and record["trilane.account"] == asked.tried[0], f"{where}: {record}"
        assert not kinds(record), f"{where}: {record}"
        assert record["trilane.outcome"] == "upstream_error", f"{where}: {record}"
        assert record["trilane.usage.status"] == "failed" and "trilane.charge" not in record, f"{where}: {record}"
    assert accounts.ask(BY_NAME["chat"], session="at fault").tried == home, "set aside for a fault of the request"
    assert not accounts.set_aside(), accounts.set_aside()


def test_faults_of_the_request_behind_the_hop(accounts: Desk, pool: ThreadPoolExecutor) -> None:
    """The account that is asked after another has failed finds the request at fault: nobody else is asked."""
    with Failing() as failing:
        # The first fails fewer times than would set it aside.
        changes = {"a1": {"url": failing.url("refuses", "a1")}}
        accounts.publish(document((1, 3), failover={"failures": 100}, changes=changes))
        plan = list(itertools.product(STATUSES, OPERATIONS))
        asking = [partial(accounts.ask, operation, sim={"status": status}) for status, operation in plan]
        for (status, operation), asked in zip(plan, all_asked(accounts, pool, asking)):
            where = f"{status}, {operation.name}"
            assert asked.status == status and len(asked.tried) == 1, f"{where}: {asked} {asked.tried}"
            assert f"asked for a {status}".encode() in asked.body, f"{where}: {asked}"
            record = asked.record()
            assert record["trilane.tries"] == 2 and record["trilane.account"] == asked.tried[0], f"{where}: {record}"
            assert kinds(record) == [("a1", "connection")], f"{where}: {record}"


@pytest.mark.parametrize("tiers", [(2, 2), (4,)], ids=["two tiers", "one tier"])
def test_an_answer_that_breaks(accounts: Desk, pool: ThreadPoolExecutor, tiers: tuple[int, ...]) -> None:
    """After the head has gone to the client there is no second try; what was written by then is estimated. A stream's head is held until something is written."""
    accounts.publish(document(tiers, failover={"failures": 100}))
    plan = [
        (operation, cut)
        for operation in OPERATIONS
        for cut in (["body", "after=2", "after=4"] if operation.stream else ["body"])
    ]
    keys = itertools.count(100 + 20 * len(tiers))
    plan = [(*planned, next(keys)) for planned in plan]
    asking = [
        partial(accounts.ask, operation, sim={"cut": cut, "body_bytes": 20_000}, key=key)
        for operation, cut, key in plan
    ]
    for (operation, cut, key), asked in zip(plan, all_asked(accounts, pool, asking)):
        where = f"{operation.name}, cut {cut}"
        if (operation.name, cut) in HELD:
            assert len(asked.tried) == len(set(asked.tried)) > 1, f"{where}: {asked.tried}"
            assert asked.trouble or asked.status == 502, f"{where}: {asked}"
            record = accounts.ledger.only(key_id(operation.protocol, key), "upstream_failed" if asked.status == 502 else "upstream_reset")
            # On a busy machine the time for holding may be over before the last of them breaks off.
            assert record["trilane.usage.status"] == ("estimated" if asked.trouble and (operation.name, cut) not in NOTHING_WRITTEN else "failed"), f"{where}: {record}"
            continue
        assert asked.trouble, f"{where}: the client must see it: {asked}"
        assert len(asked.tried) == 1, f"{where}: {asked.tried}"
        # Other tests may have used the key, but nothing broke off there.
        record = accounts.ledger.only(key_id(operation.protocol, key), "upstream_reset")
        assert record["trilane.tries"] == 1 and not kinds(record), f"{where}: {record}"
        assert record["trilane.usage.status"] == ("failed" if (operation.name, cut) in NOTHING_WRITTEN else "estimated"), f"{where}: {record}"
        assert record["trilane.account"] == asked.tried[0], f"{where}: {record}"


@pytest.mark.parametrize("first", ["hangs", "refuses"])
def test_clients_that_leave(accounts: Desk, pool: ThreadPoolExecutor, first: str) -> None:
    """While the first account hangs, and while the second does after the first has refused the connection."""
    with Failing() as failing:
        changes = {"a1": {"url": failing.url("refuses", "a1")}} if first == "refuses" else {}
        accounts.publish(document((4,), failover={"failures": 100}, changes=changes))
        keys = itertools.count(200 if first == "refuses" else 160)
        leaving = [partial(leave, accounts, operation, next(keys), first) for operation in OPERATIONS]
        list(pool.map(lambda leave: leave(), leaving))
    assert not accounts.set_aside(), accounts.set_aside()


def leave(accounts: Desk, operation: Operation, key: int, first: str) -> None:
    failed = ["a1"] if first == "refuses" else []

    def meets(session: str) -> bool:
        record = accounts.ask(operation, session=session, key=key).record()
        return [account for account, _ in kinds(record)] == failed

    session = next(name for name in map(str, range(64)) if meets(name))
    marker = accounts.new_marker()
    path, body = operation.request()
    headers = accounts.headers(operation, marker, key, session, {"stall": "head"})
    with Http1(accounts.stack.base_url) as client:
        client.head("POST", path, [*headers.items(), ("content-length", str(len(body)))])
        client.send(body)
        accounts.journal.wait_state(marker, "request_complete")
        client.reset()
    record = accounts.ledger.only(key_id(operation.protocol, key), "client_abort")
    where = f"{operation.name}, {first}: {record}"
    # The account that hangs may be at work on it.
    assert record["trilane.usage.status"] == "estimated" and record["trilane.estimated.input_tokens"], where
    assert [account for account, _ in kinds(record)] == failed, f"it says of whom the client tired: {where}"
    assert record["trilane.tries"] == len(failed) + 1, where
    time.sleep(0.5)  # longer than any pause between tries: what is to be seen is that nothing comes
    assert len(accounts.journal.of(marker)) == 1, f"asked again for nobody: {accounts.journal.of(marker)}"
