"""A filter without a loader is replaced while streams keep the one before alive: what was revoked stays revoked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.filter_discovery import discovered, put_filter
from e2e.loading.listener_file import ListenerFile
from e2e.loading.variants import (
    CALLS,
    HELLO,
    PATIENCE,
    Variant,
    client,
    filter_configuration,
    no_loader,
    sample,
    service,
    source_at,
)
from e2e.support import run_dir, x_api_key
from stack import WASM, Stack
from waiting import until

TICK_MS = 200
#: For how long the word of a loader holds with such ticks, in seconds: two at least.
LEASE = 2.0
#: Streams: of more than one, so that both workers have some.
STREAMS = 4


def without(*keys: str, mark: int = 0) -> dict[str, Any]:
    """The sample without these keys; `mark` makes documents differ."""
    document = sample()
    document["max_body"] = 2_000_000 + mark
    document["keys"] = [key for key in document["keys"] if key["id"] not in keys]
    return document


def inline(document: dict[str, Any]) -> dict[str, Any]:
    return {"inline": document, "tick_ms": TICK_MS}


#: Puts a plugin configuration in the place of the one that was in force.
Put = Callable[[Stack, dict[str, Any]], None]


@contextmanager
def by_listener(first: dict[str, Any], port: int) -> Iterator[tuple[Stack, Put]]:
    """By another listener (LDS): another root in the same VM."""
    directory = run_dir("replaced-listener")
    listeners = ListenerFile(directory / "listeners" / "listeners.yaml")
    current = [json.dumps(json.dumps(first))]

    def put(stack: Stack, plugin: dict[str, Any]) -> None:
        former, current[0] = current[0], json.dumps(json.dumps(plugin))
        listeners.exchange(stack, lambda text: text.replace(former, current[0]))

    edits = [no_loader, filter_configuration(first), source_at(port), listeners.edit]
    with Variant(directory, *edits) as stack:
        yield stack, put


@contextmanager
def by_discovery(first: dict[str, Any], port: int) -> Iterator[tuple[Stack, Put]]:
    """By another filter (ECDS): the listener stays, and nobody but its streams holds the old filter."""
    directory = run_dir("replaced-filter")
    file: Path = directory / "filters" / "filter.json"
    put_filter(file, WASM, 1, first)

    def put(_: Stack, plugin: dict[str, Any]) -> None:
        put_filter(file, WASM, 1, plugin)

    with Variant(directory, no_loader, discovered(file), source_at(port)) as stack:
        yield stack, put


@contextmanager
def by_another_vm(first: dict[str, Any], port: int) -> Iterator[tuple[Stack, Put]]:
    """The same with another VM each time, as for another release of the filter."""
    directory = run_dir("replaced-vm")
    file: Path = directory / "filters" / "filter.json"
    number = 1
    put_filter(file, WASM, number, first)

    def put(_: Stack, plugin: dict[str, Any]) -> None:
        nonlocal number
        number += 1
        put_filter(file, WASM, number, plugin)

    with Variant(directory, no_loader, discovered(file), source_at(port)) as stack:
        yield stack, put


#: Each waits for leases: one of them at each run, all of them before a release.
WAYS = [
    pytest.param(by_listener, marks=pytest.mark.long),
    by_discovery,
    pytest.param(by_another_vm, marks=pytest.mark.long),
]


class OpenStream:
    """A stream that lasts, and keeps the filter alive that it began with."""

    def __init__(self, stack: Stack) -> None:
        self.events = 0
        self.over = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(stack.base_url,), daemon=True)
        self._thread.start()
        until(lambda: self.events, check=stack.check)

    def _run(self, base_url: str) -> None:
        body = {"model": "claude-opus-5-5", "max_tokens": 9, "stream": True, "messages": HELLO}
        headers = {**x_api_key("key_b"), "x-sim-events": "2000", "x-sim-gap-ms": "100"}
        with httpx.Client(base_url=base_url, timeout=PATIENCE, trust_env=False) as http:
            with http.stream("POST", "/v1/messages", headers=headers, json=body) as response:
                assert response.status_code == 200
                for _ in response.iter_lines():
                    self.events += 1
                    if self._stop.is_set():
                        return
        self.over = True

    def goes_on(self) -> bool:
        before = self.events
        until(lambda: self.events > before or self.over)
        return not self.over

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)


@contextmanager
def streams(stack: Stack) -> Iterator[list[OpenStream]]:
    lasting = [OpenStream(stack) for _ in range(STREAMS)]
    try:
        yield lasting
    finally:
        for stream in lasting:
            stream.stop()


def statuses(stack: Stack) -> set[int]:
    """What key A is answered on connections of their own, which come to either worker."""
    gateway, call = client(stack), CALLS["A"]
    headers = {**call.headers, "connection": "close"}
    return {gateway.request("POST", call.path, headers, json=call.json).status for _ in range(6)}


def stays(stack: Stack, status: int, seconds: float) -> None:
    """Key A is answered with this status from soon on, and for so long."""
    until(lambda: statuses(stack) == {status}, check=stack.check)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert statuses(stack) == {status}
        time.sleep(0.05)  # what a loader puts in force stays for a tick at least, which is four of these


@pytest.mark.parametrize("way", WAYS)
def test_inline_documents(way: Callable[..., Any]) -> None:
    with way(inline(sample()), 1) as (stack, put):
        assert statuses(stack) == {200}
        with streams(stack) as first:
            put(stack, inline(without("key_a")))
            # Longer than it takes until an older root believes that nobody loads.
            stays(stack, 401, 4 * LEASE)
            with streams(stack) as second:
                put(stack, inline(without(mark=1)))
                stays(stack, 200, 2 * LEASE)
                put(stack, inline(without("key_a", mark=2)))
                stays(stack, 401, 4 * LEASE)
                assert all(stream.goes_on() for stream in first + second), "the old filters are still alive"


@pytest.mark.parametrize("way", WAYS[:2])
def test_a_document_that_was_fetched(way: Callable[..., Any]) -> None:
    """Each filter has a source of its own; the older one's changes while it is asked for nothing any more."""
    with service(sample()) as told:
        source = {"source": {"cluster": "config_source", "path": "/old.json"}, "tick_ms": TICK_MS}
        with way(source, told.port) as (stack, put):
            assert statuses(stack) == {200}
            with streams(stack) as first:
                # Asked before the other one publishes, and answered after it.
                told.go.clear()
                told.document(without(mark=3))
                told.wait_asked(1)
                put(stack, inline(without("key_a")))
                until(lambda: statuses(stack) == {401}, check=stack.check)
                told.go.set()
                stays(stack, 401, 4 * LEASE)
                # What is fetched anew is newer than what stands in the configuration.
                told.document(without(mark=4))
                put(stack, {**source, "tick_ms": TICK_MS + 1})
                stays(stack, 200, LEASE)
                told.document(without("key_a", mark=5))
                stays(stack, 401, LEASE)
                assert all(stream.goes_on() for stream in first), "the old filter is still alive"


@pytest.mark.long
def test_the_one_before_comes_again() -> None:
    """Published once more it is newer, whatever is in it, and whoever still lives of its first time.

    Not so by another listener while the one of the first time drains: Envoy then takes the roots of that time again, and
    tells them nothing.
    """
    first, second = inline(sample()), inline(without("key_a"))
    with by_discovery(first, 1) as (stack, put), streams(stack) as before:
        put(stack, second)
        stays(stack, 401, LEASE)
        with streams(stack) as between:
            put(stack, first)
            stays(stack, 200, 4 * LEASE)
            put(stack, second)
            stays(stack, 401, 4 * LEASE)
            assert all(stream.goes_on() for stream in before + between)
