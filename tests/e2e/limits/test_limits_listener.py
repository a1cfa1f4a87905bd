"""Listener and filter are exchanged under long streams, which keep their slots as long as they last."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from e2e.filter_discovery import discovered, put_filter
from e2e.limits.lasting import take
from e2e.limits.limited_desk import Call, Desk, judge_refusal, poll
from e2e.limits.limited_document import Book, Key
from e2e.loading.listener_file import ListenerFile
from e2e.support import run_dir
from e2e.vitals import machines
from stack import WASM
from waiting import until

BOOK = Book()
#: Streams of each key, which are all that it may have; of more than one, so that both workers have some.
SLOTS = 4
#: For how long a VM has a slot at a time, in seconds, and what a busy machine may take to say so.
LEASE, LATE = 30.0, 5.0


@dataclasses.dataclass(frozen=True)
class Files:
    """What Envoy watches."""

    listeners: ListenerFile
    filters: Path


def substituted(old: str, new: str) -> Callable[[Files, Desk], None]:
    """Another text in place of one in the listeners."""
    return lambda files, desk: files.listeners.exchange(desk.stack, lambda text: text.replace(old, new))


def to_discovery(files: Files, desk: Desk) -> None:
    """The filter is no longer in the listener, but in a file of its own (ECDS)."""
    put_filter(files.filters, WASM, 1)
    files.listeners.exchange(desk.stack, discovered(files.filters))


def another_filter(files: Files, desk: Desk) -> None:
    """The listener stays: nobody but its streams holds the old filter."""
    made = machines(desk.stack)["wasm.envoy.wasm.runtime.v8.created"]
    put_filter(files.filters, WASM, 2)
    until(lambda: machines(desk.stack)["wasm.envoy.wasm.runtime.v8.created"] > made, check=desk.stack.check)


#: One after the other, each under the streams of one key more.
CHANGES: dict[str, Callable[[Files, Desk], None]] = {
    "the plugin's configuration: another root in the same VM": substituted(
        'value: "{}"}', """value: '{"limits_service": false}'}"""
    ),
    "the VM's configuration: another VM": substituted("value: filter}", "value: filter 2}"),
    "the listener itself: another one on the same port": substituted(
        "per_connection_buffer_limit_bytes: 262144", "per_connection_buffer_limit_bytes: 262143"
    ),
    "where the filter comes from": to_discovery,
    "the filter alone": another_filter,
}
KEYS = {change: BOOK.key("A", concurrent_requests=SLOTS) for change in CHANGES}


@pytest.fixture(scope="module")
def files() -> Files:
    directory = run_dir("limits-listener").resolve()
    return Files(ListenerFile(directory / "listeners" / "listeners.yaml"), directory / "filters" / "trilane.json")


@pytest.fixture(scope="module")
def desk(files: Files) -> Iterator[Desk]:
    with Desk(run_dir("limits-listener"), BOOK, files.listeners.edit) as running:
        yield running


@dataclasses.dataclass
class Held:
    """The streams of a key, all that it may have."""

    key: Key
    calls: list[Call]


@pytest.mark.long
def test_streams_keep_their_slots_under_another_filter(files: Files, desk: Desk) -> None:
    """Takes a little longer than a lease, which is the least that can tell."""
    held: dict[str, Held] = {}
    with ExitStack() as stack:
        for change, act in CHANGES.items():
            taken = [take(desk, KEYS[change], stack) for _ in range(SLOTS)]
            assert all(taken), f"before {change}: {taken}"
            held[change] = Held(KEYS[change], [call for _, call in taken if call])
            act(files, desk)
        changed = time.monotonic()
        while time.monotonic() < changed + LEASE + LATE:
            for change, streams in held.items():
                asked = desk.ask(streams.key)
                since = time.monotonic() - changed
                assert asked.status == 429, f"{change}: a slot was lost, {since:.1f} s after the last change: {asked}"
                judge_refusal(asked, scope="key")
            time.sleep(0.25)
        for change, streams in held.items():
            states = [desk.seen(call.marker)[-1]["state"] for call in streams.calls]
            assert states == ["answering"] * SLOTS, f"{change}: {states}"

    def over(streams: Held) -> bool:
        return all(desk.seen(call.marker)[-1]["state"] == "answer_aborted" for call in streams.calls)

    for change, streams in held.items():
        poll(lambda: over(streams), 10, f"{change}: its streams are over")
        poll(lambda: desk.ask(streams.key).status == 200, 5, f"{change}: a slot is free")
        with ExitStack() as stack:
            again = [take(desk, streams.key, stack) for _ in range(SLOTS + 1)]
        assert [bool(taken) for taken in again] == [True] * SLOTS + [False], f"{change}: what was given back: {again}"
