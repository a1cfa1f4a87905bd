"""One stack for all tests that can share it: the sample document, a simulator, an Envoy with two workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import Gateway, run_dir
from stack import Stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The sample document on a real Envoy. Tests that publish another document start a stack of their own."""
    with Stack(run_dir("shared")) as running:
        yield running


@pytest.fixture(scope="session")
def gateway(stack: Stack) -> Gateway:
    """The shared stack as a client sees it, and its simulator as an eavesdropper does."""
    return Gateway(stack)


def pytest_configure(config: pytest.Config) -> None:
    """`PYTHONPATH=envoy` lets the tests import the runner that `make run` uses."""
    missing = [name for name in ("stack", "demo") if not Path("envoy", f"{name}.py").exists()]
    if missing:
        raise pytest.UsageError("run the end-to-end tests with `make e2e`, from the root of the repository")
