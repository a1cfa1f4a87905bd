"""One gateway for each module, with the module's `BOOK`: each takes inotify instances, of which a user has 128."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import run_dir

for _name in ("loading", "ledger", "sdk"):
    sys.path.append(str(Path(__file__).resolve().parents[1] / _name))

from limited_desk import Desk  # noqa: E402
from vitals import unharmed  # noqa: E402


@pytest.fixture(scope="module")
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """The gateway of the module that asks, with two workers; its VMs must all live to the end."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_").replace("_", "-")
    with Desk(run_dir(name), request.module.BOOK) as running, unharmed(running.stack):
        yield running
