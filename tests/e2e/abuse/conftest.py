"""Gateways with prices on everything, in front of an upstream that records what arrives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.abuse.abuse_desk import Desk
from e2e.abuse.abuse_document import SMALL_WINDOW, document
from e2e.abuse.recorder import Recorder
from e2e.support import run_dir
from e2e.vitals import unharmed


@pytest.fixture(scope="package")
def recorder() -> Iterator[Recorder]:
    with Recorder() as upstream:
        yield upstream


@pytest.fixture(scope="package")
def desk(recorder: Recorder) -> Iterator[Desk]:
    """The usual inspect window: a small body is held until it is whole."""
    with Desk(run_dir("abuse"), document(), recorder) as running, unharmed(running.stack):
        yield running


@pytest.fixture(scope="package")
def small_desk(recorder: Recorder) -> Iterator[Desk]:
    """The smallest inspect window: of a body a bit longer the first part is upstream before its end is read."""
    small = document(inspect_window=SMALL_WINDOW)
    with Desk(run_dir("abuse-small"), small, recorder) as running, unharmed(running.stack):
        yield running
