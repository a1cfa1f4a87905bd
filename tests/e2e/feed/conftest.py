"""One gateway with a feed for all tests of a module: each gateway takes inotify instances, of which a user has 128."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import run_dir

sys.path += [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "loading")]

from feed_desk import Desk  # noqa: E402


@pytest.fixture(scope="module")
def shared_desk() -> Iterator[Desk]:
    with Desk(run_dir("feed-shared")) as running:
        yield running


@pytest.fixture
def desk(shared_desk: Desk) -> Iterator[Desk]:
    """The shared gateway, which is well before and after."""
    yield shared_desk
    shared_desk.well()
