"""Stacks for directories whose tests can share them. A directory's `conftest.py` imports what its tests need.

Each lives as long as the tests of that directory: gateways hold inotify instances, of which a user has 128.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.both_kinds import both_kinds
from e2e.support import Gateway, by_hand, run_dir
from e2e.vitals import answers, machines, unharmed
from stack import Stack


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """The sample's groups of both kinds on a real Envoy. Tests that publish another document start a stack of their own."""
    with Stack(run_dir("shared"), document=both_kinds()) as running:
        yield running


@pytest.fixture(scope="package")
def gateway(stack: Stack) -> Gateway:
    """The shared stack as a client sees it, and its simulator as an eavesdropper does."""
    return Gateway(stack)


@pytest.fixture(scope="package")
def stack_by_hand() -> Iterator[Stack]:
    """The sample's groups of both kinds with one upstream a source, where nothing is tried twice."""
    with Stack(run_dir("by-hand"), document=by_hand()) as running:
        yield running


@pytest.fixture(scope="module")
def filter_lives(stack: Stack) -> Iterator[None]:
    """For modules that send what could do harm: at their end the shared gateway is as whole as before."""
    with unharmed(stack):
        yield


@pytest.fixture
def requests_go_on(stack: Stack) -> Iterator[None]:
    """The same after each case, so that the one that did the harm is the one that fails."""
    before = machines(stack)
    yield
    answers(stack, 4)
    assert machines(stack) == before
