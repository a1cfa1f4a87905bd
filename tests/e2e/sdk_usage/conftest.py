"""The stack of these tests, and the SDKs, which report what was used."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from e2e.sdk_usage.replaying import Replayer
from e2e.sdk_usage.sdk_rounds import Sdks
from e2e.sdk_usage.usage_document import document, substitutions
from e2e.support import by_hand, run_dir
from stack import Stack


@pytest.fixture(scope="package")
def replayer() -> Iterator[Replayer]:
    """The upstream that answers with the fixtures."""
    with Replayer() as running:
        yield running


@pytest.fixture(scope="package")
def replay_stack(replayer: Replayer) -> Iterator[Stack]:
    """The gateway before it, with clusters that fail beside the one that works."""
    directory = run_dir("sdk-usage")
    directory.mkdir(parents=True, exist_ok=True)
    with socket.socket() as closed:
        # Bound, so that nobody else takes it, and never listening.
        closed.bind(("127.0.0.1", 0))
        extra = substitutions(replayer.address, f"127.0.0.1:{closed.getsockname()[1]}", directory)
        stack = Stack(directory, document=document(), upstream=replayer.address, extra_substitutions=extra)
        with stack as running:
            yield running


@pytest.fixture(scope="package")
def stack_as_reported() -> Iterator[Stack]:
    """The sample with one upstream a source, charged as reported, whose streams are asked for nothing."""
    charged = by_hand()
    for group in charged["groups"]:
        if group["protocol"] != "Mixed":
            group["unreported"] = "free"
        if group["protocol"] == "A":
            group["include_usage"] = False
    with Stack(run_dir("as-reported"), document=charged) as running:
        yield running


@pytest.fixture(scope="package")
def sdks() -> Iterator[Sdks]:
    """All SDKs, each a process that is started when first needed."""
    running = Sdks()
    yield running
    running.stop()
