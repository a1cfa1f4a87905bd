"""A stack whose three sources have four upstream accounts each: the simulator's four listeners."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e.accounts.accounts_desk import Desk, AccountsStack
from e2e.accounts.document import Credentials, document
from e2e.accounts.operations import OPERATIONS
from e2e.support import run_dir
from e2e.vitals import unharmed


@pytest.fixture(scope="package")
def accounts() -> Iterator[Desk]:
    """The stack, its credentials, its journal and its ledger. Each module publishes the document that it needs."""
    directory = run_dir("accounts")
    credentials = Credentials(directory / "credentials")
    with AccountsStack(directory, document=document(), credentials=credentials.directory) as stack:
        with Desk(stack, credentials) as desk, unharmed(stack):
            yield desk
            desk.publish(document())  # the metrics of VMs come and go with sources of several accounts


@pytest.fixture
def honest(accounts: Desk) -> Iterator[None]:
    """At the test's end: every request that reached a listener had that account's credential, and no other."""
    yield
    accounts.journal.check()


@pytest.fixture(scope="package")
def pool() -> Iterator[ThreadPoolExecutor]:
    """So many clients at once."""
    with ThreadPoolExecutor(max_workers=16) as threads:
        yield threads


@pytest.fixture(scope="package")
def wanted(accounts: Desk) -> dict[str, bytes]:
    """Each operation's answer when no account fails."""
    accounts.publish(document())
    answers = {}
    for operation in OPERATIONS:
        asked = accounts.ask(operation)
        assert asked.status == 200 and asked.tried in (["a1"], ["a2"]), asked
        answers[operation.name] = asked.plain_body
    return answers
