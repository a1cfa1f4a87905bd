"""Gateways with prices on everything, in front of an upstream that records what arrives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import run_dir

for _name in ("loading", "ledger"):
    sys.path.append(str(Path(__file__).resolve().parents[1] / _name))

from abuse_desk import Desk  # noqa: E402
from abuse_document import SMALL_WINDOW, classes_document, document  # noqa: E402
from recorder import Recorder  # noqa: E402
from vitals import unharmed  # noqa: E402


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


@pytest.fixture(scope="package")
def classes_desk(recorder: Recorder) -> Iterator[Desk]:
    """Models with classes of service, prices by the call, and a group whose unreported usage is free."""
    with Desk(run_dir("abuse-classes"), classes_document(), recorder) as running, unharmed(running.stack):
        yield running
