"""One gateway for all modules that need nothing else of it than their document."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.limits.limited_desk import Desk
from e2e.limits.limited_document import Book
from e2e.support import run_dir
from e2e.vitals import unharmed


@pytest.fixture(scope="package")
def shared_desk() -> Iterator[Desk]:
    """With two workers; its VMs must all live to the end."""
    with Desk(run_dir("limits"), Book()) as running, unharmed(running.stack):
        yield running


@pytest.fixture(scope="module")
def desk(request: pytest.FixtureRequest, shared_desk: Desk) -> Desk:
    """The gateway with the `BOOK` of the module that asks. No two books have a key or a group with limits in common, so
    nothing is counted yet."""
    shared_desk.book = request.module.BOOK
    shared_desk.publish()
    return shared_desk
