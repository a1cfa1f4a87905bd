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

#: In the stack `meagre`: in the list, but the source account may not use it.
NOT_ENTITLED = {"gpt-5.1-codex", "claude-opus-4-1", "gemini-2.5-pro"}
#: In the stack `meagre`: the longest body, in bytes.
MAX_BODY = 4096


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The module with a gateway of its own goes first."""
    here = Path(__file__).resolve().parent
    go_last(items, here, {item.path for item in items} - {here / "test_sdk_failover.py"})


@pytest.fixture(scope="package")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Stacks by name: `shared`, `sample`, `meagre`, `open`, `unready`."""
    fixtures = {
        "shared": "stack_by_hand",
        "sample": "sample_stack",
        "meagre": "meagre_stack",
        "open": "open_stack",
        "unready": "unready_stack",
    }
    made = Bench(lambda name: request.getfixturevalue(fixtures[name]))
    yield made
    made.stop()


@pytest.fixture(scope="package")
def sample_stack() -> Iterator[Stack]:
    """The sample document as it is."""
    with Stack(run_dir("sdk-sample")) as running:
        yield running


@pytest.fixture(scope="package")
def meagre_stack() -> Iterator[Stack]:
    """The sample document with what it does not show: models not entitled, and a low limit."""
    document = by_hand()
    document.update(max_body=MAX_BODY, inspect_window=MAX_BODY)
    for group in document["groups"]:
        for model in group["models"]:
            if group["protocol"] != "Mixed" and model["id"] in NOT_ENTITLED:
                model["entitled"] = False
    with Stack(run_dir("sdk-meagre"), document=document) as running:
        yield running


@pytest.fixture(scope="package")
def open_stack() -> Iterator[Stack]:
    """The sample document, its groups of protocol C with their accounts' files and caches."""
    document = by_hand()
    for group in document["groups"]:
        if group["protocol"] == "C":
            group["account_resources"] = True
    with Stack(run_dir("sdk-open"), document=document) as running:
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
