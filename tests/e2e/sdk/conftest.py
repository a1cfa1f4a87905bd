"""The bench on which the SDKs are tested, and the stacks that only it needs."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.sdk.sdk_support import Bench
from e2e.shared_stacks import stack_by_hand
from e2e.support import by_hand, go_last, run_dir
from stack import Stack, StackError

__all__ = ["stack_by_hand"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The module with a gateway of its own goes first."""
    here = Path(__file__).resolve().parent
    go_last(items, here, {item.path for item in items} - {here / "test_sdk_failover.py"})


@pytest.fixture(scope="package")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Stacks by name."""
    fixtures = {"shared": "stack_by_hand", "sample": "sample_stack", "unready": "unready_stack"}
    made = Bench(lambda name: request.getfixturevalue(fixtures[name]))
    yield made
    made.stop()


@pytest.fixture(scope="package")
def sample_stack() -> Iterator[Stack]:
    """The sample document as it is."""
    with Stack(run_dir("sdk-sample")) as running:
        yield running


class UnreadyStack(Stack):
    """A gateway whose loader finds no document."""

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Returns when the gateway answers that it has no policy."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.check()
            try:
                with urllib.request.urlopen(f"{self.base_url}/healthz", timeout=2):
                    raise StackError("a gateway without a document says that it is ready")
            except urllib.error.HTTPError as error:
                if error.code == 503:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise StackError(f"{self.base_url}/healthz never answered 503")


@pytest.fixture(scope="package")
def unready_stack() -> Iterator[Stack]:
    """No policy in force: 503."""
    elsewhere = [('"path": "/gateway.json"', '"path": "/nothing-here.json"')]
    with UnreadyStack(run_dir("sdk-unready"), document=by_hand(), extra_substitutions=elsewhere) as running:
        yield running
