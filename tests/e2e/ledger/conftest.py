"""A stack with prices on everything, the ledger that it writes, and a desk that sends requests to it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e.ledger.ledger_desk import Desk
from e2e.ledger.ledger_document import document
from e2e.ledger_reader import Ledger
from e2e.stacks import PromptStack, more_clusters
from e2e.support import run_dir
from e2e.vitals import unharmed

ROUTE_TIMEOUT = "idle_timeout: 600s # a stream may last"


@pytest.fixture(scope="package")
def nowhere() -> Iterator[tuple[str, str]]:
    """A cluster that refuses every connection."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # held and never listened on
        yield more_clusters(nowhere=nobody.getsockname()[1])


@pytest.fixture(scope="package")
def desk(nowhere: tuple[str, str]) -> Iterator[Desk]:
    with PromptStack(run_dir("ledger"), document=document(), extra_substitutions=[nowhere]) as stack:
        with unharmed(stack):
            yield Desk(stack, Ledger(stack.access_log))


@pytest.fixture(scope="package")
def hasty_desk(nowhere: tuple[str, str]) -> Iterator[Desk]:
    """A gateway that waits for no more than a second, and writes its ledger to a file of its own."""
    ledger = run_dir("ledger-hasty") / "ledger.jsonl"
    ledger.unlink(missing_ok=True)
    changes = [nowhere, (ROUTE_TIMEOUT, ROUTE_TIMEOUT.replace("600s", "1s"))]
    with PromptStack(
        run_dir("ledger-hasty"), document=document(), ledger=ledger, extra_substitutions=changes
    ) as stack:
        yield Desk(stack, Ledger(ledger))


@pytest.fixture(scope="package")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=8) as threads:
        yield threads
