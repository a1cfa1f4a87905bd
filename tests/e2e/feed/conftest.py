"""One gateway with a feed for all tests of a module: each gateway takes inotify instances, of which a user has 128."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.feed.feed_desk import Desk
from e2e.support import run_dir


@pytest.fixture(scope="module")
def shared_desk() -> Iterator[Desk]:
    with Desk(run_dir("feed-shared")) as running:
        yield running


@pytest.fixture
def desk(shared_desk: Desk) -> Iterator[Desk]:
    """The shared gateway, which is well before and after."""
    yield shared_desk
    shared_desk.well()
