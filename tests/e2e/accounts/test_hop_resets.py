"""Attempts that fail behind the account hop end their streams there, by the hundreds. No other stream there may suffer.

Envoy resets the stream of each attempt that another follows. All attempts of a worker share the hop's connection, and an
HTTP/2 server closes one on which a client resets too many: with everything that is under way on it.
"""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import ACCOUNTS, document, source
from e2e.accounts.failing import Failing
from e2e.accounts.operations import BY_NAME
from e2e.accounts.test_load import whole
from e2e.ledger_reader import kinds
from e2e.vitals import stats

RESETS = "cluster.account/hop.http2.tx_reset"
BROKEN = ("http.account_hop.downstream_cx_protocol_error", "http.account_hop.downstream_rq_too_many_premature_resets")
#: As many at once, and then as many each second, are taken on one connection: the defaults of Envoy's HTTP/2 library.
AT_ONCE, EACH_SECOND = 1000, 33
WORKERS = 2
#: Clients whose streams through the hop must go on, and those whose attempts are reset.
SLOW, FAST = 8, 16
#: How long a stream lasts: 5 s, so that fewer than `FAILURES` of them begin in the time that there is.
EVENTS, GAP_MS = 100, 50
#: After so many failures in a row an account is set aside. It is not asked then, and a stream goes past the hop.
FAILURES = 100
#: No machine needs so long, in seconds.
PATIENCE = 55.0


def resets_so_far(accounts: Desk) -> int:
    # Envoy has it once there was a connection.
    return stats(accounts.stack, "^cluster.account.hop.http2.").get(RESETS, 0)


def broken_so_far(accounts: Desk) -> int:
    found = stats(accounts.stack, "^http.account_hop.")
    return sum(found[name] for name in BROKEN)


@pytest.mark.usefixtures("honest")
def test_streams_of_others_go_on(accounts: Desk) -> None:
    failover = {"failures": FAILURES}
    began = time.monotonic()
    turns = itertools.count()
    enough = threading.Event()

    def fails(client: int) -> None:
        while not enough.is_set():
            turn = next(turns)
            # An account that answers now and then is not set aside.
            sim = {"status": 500} if turn % 5 else {}
            asked = accounts.ask(BY_NAME["chat"], key=client, session=f"{turn}", sim=sim, at=ACCOUNTS[:3])
            assert asked.status == 200, asked

    def streams(client: int) -> list[Asked]:
        asked = []
        while not enough.is_set():
            asked.append(accounts.ask(BY_NAME["messages-stream"], key=client, sim={"events": EVENTS, "gap_ms": GAP_MS}))
        return asked

    with Failing() as failing, ThreadPoolExecutor(SLOW + FAST) as threads:
        refuses = {"a1": {"url": failing.url("refuses", "a1")}}
        failing_late = source("A", (3, 1), failover=failover)
        failing_first = source("B", (1, 1), failover=failover, changes=refuses)
        accounts.publish({**document(), "groups": [failing_late, failing_first, source("C")]})
        broken, before = broken_so_far(accounts), resets_so_far(accounts)
        streaming = [threads.submit(streams, client) for client in range(SLOW)]
        failed = [threads.submit(fails, client) for client in range(FAST)]
        try:
            while True:
                time.sleep(0.5)
                lasted = time.monotonic() - began
                resets = resets_so_far(accounts) - before
                if resets > 1.5 * WORKERS * (AT_ONCE + EACH_SECOND * lasted):
                    break
                assert lasted < PATIENCE, f"only {resets} streams were reset in {lasted:.0f} s"
                accounts.journal.check(all_over=False)
        finally:
            enough.set()
        for each in failed:
            each.result()
        streamed = [asked for each in streaming for asked in each.result()]
    cut = [asked for asked in streamed if asked.status != 200 or asked.trouble or not whole(asked)]
    assert not cut, f"{len(cut)} of {len(streamed)} streams were cut by {resets} resets: {cut[:2]}"
    by_hop = [kinds(asked.record()) for asked in streamed]
    assert by_hop == [[("a1", "connection")]] * len(streamed), by_hop
    assert broken_so_far(accounts) == broken
    print(f"{resets} resets in {lasted:.1f} s, {len(streamed)} streams")
