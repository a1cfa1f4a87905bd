"""One gateway for each module, with the module's `BOOK`: each takes inotify instances, of which a user has 128."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.limits.limited_desk import Desk
from e2e.support import run_dir
from e2e.vitals import unharmed


@pytest.fixture(scope="module")
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """The gateway of the module that asks, with two workers; its VMs must all live to the end."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    with Desk(run_dir(name), request.module.BOOK) as running, unharmed(running.stack):
        yield running
