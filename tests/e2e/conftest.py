"""One stack for all tests that can share it: the sample's groups of both kinds, a simulator, an Envoy with two workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from both_kinds import both_kinds
from support import Gateway, by_hand, run_dir
from stack import Stack
from vitals import answers, machines, unharmed


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The sample's groups of both kinds on a real Envoy. Tests that publish another document start a stack of their own."""
    with Stack(run_dir("shared"), document=both_kinds()) as running:
        yield running


@pytest.fixture(scope="session")
def gateway(stack: Stack) -> Gateway:
    """The shared stack as a client sees it, and its simulator as an eavesdropper does."""
    return Gateway(stack)


@pytest.fixture(scope="session")
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


def pytest_configure(config: pytest.Config) -> None:
    """`PYTHONPATH=envoy` lets the tests import the runner that `make run` uses."""
    missing = [name for name in ("stack", "demo") if not Path("envoy", f"{name}.py").exists()]
    if missing:
        raise pytest.UsageError("run the end-to-end tests with `make e2e`, from the root of the repository")
