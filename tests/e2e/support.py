"""What the end-to-end tests have in common: requests, and what the upstream saw of them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Container
from pathlib import Path
from typing import Any, Optional

import httpx
import pytest
from e2e.both_kinds import KEYS, both_kinds
from e2e.simulator import Simulator
from stack import TARGET, Stack

_markers = itertools.count(1)

#: The version that protocol B documents.
VERSION = {"anthropic-version": "2023-06-01"}


def run_dir(name: str) -> Path:
    """A directory for one stack, kept after the run: its logs explain a failure. Each worker of a run has its own."""
    return TARGET / "e2e" / os.environ.get("PYTEST_XDIST_WORKER", "") / name


def go_last(items: list[pytest.Item], directory: Path, modules: Container[Path]) -> None:
    """Within a directory, modules of tests run after all others; what is elsewhere keeps its place.

    Gateways of a module go with it, those of a directory stay to its end: they should start last, or a user's inotify
    instances do not suffice for both.
    """
    mine = [item for item in items if item.path.parent == directory]
    ordered = iter(sorted(mine, key=lambda item: item.path in modules))
    items[:] = [next(ordered) if item.path.parent == directory else item for item in items]


#: The clusters of `envoy.yaml` that stand for the same vendors as the sample's accounts, by protocol.
BY_HAND = {"A": "a_official", "B": "b_official", "C": "c_official"}


def by_hand() -> dict[str, Any]:
    """The sample's groups of both kinds with clusters written by hand in place of accounts.

    What goes wrong at an upstream reaches the client then, and each request the upstream once.
    """
    document = both_kinds()
    for group in document["groups"]:
        if group.pop("accounts", None):
            group["cluster"] = BY_HAND[group["protocol"]]
    return document


def bearer(key: str) -> dict[str, str]:
    """The credential of protocol A, by the key's id in the documents of the tests, or a key's value."""
    return {"authorization": f"Bearer {KEYS.get(key, key)}"}


def x_api_key(key: str) -> dict[str, str]:
    """The credential of protocol B, with its version."""
    return {"x-api-key": KEYS.get(key, key), **VERSION}


def goog(key: str) -> dict[str, str]:
    """The credential of protocol C."""
    return {"x-goog-api-key": KEYS.get(key, key)}


def credential(protocol: str, key: str) -> dict[str, str]:
    """The credential of any protocol."""
    return {"A": bearer, "B": x_api_key, "C": goog}[protocol](key)


def protocol_of(path: str) -> str:
    """The protocol that a path belongs to, with `/v1` before it or without."""
    if path.startswith("/v1beta"):
        return "C"
    return "B" if path.removeprefix("/v1").startswith("/messages") else "A"


def credential_for(path: str, key: str) -> dict[str, str]:
    """The credential of the protocol that a path belongs to."""
    return credential(protocol_of(path), key)


class Gateway:
    """A client of one stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.http = httpx.Client(base_url=stack.base_url, timeout=30.0, trust_env=False)
        self._simulator = Simulator(stack) if stack.sims else None

    def request(
        self,
        method: str,
        path: str,
        headers: Optional[dict[str, str]] = None,
        **arguments: Any,
    ) -> Answer:
        """Sends one request with a marker of its own, so that `Answer.seen` finds it in the simulator's journal."""
        marker = f"m{next(_markers)}"
        response = self.http.request(method, path, headers={**(headers or {}), "x-sim-marker": marker}, **arguments)
        return Answer(response, marker, self)

    def echo(self, method: str, path: str, headers: Optional[dict[str, str]] = None, **arguments: Any) -> dict[str, Any]:
        """What the upstream received of a request that must reach it."""
        answer = self.request(method, path, {**(headers or {}), "x-sim-echo": "1"}, **arguments)
        assert answer.status == 200, answer.text
        return answer.json()

    def seen(self, marker: str) -> list[dict[str, Any]]:
        """The journal's entries of the requests with this marker, oldest first."""
        assert self._simulator, "this stack has no simulator"
        return self._simulator.seen(marker)

    def wait_seen(self, marker: str, state: str, timeout: float = 5.0) -> dict[str, Any]:
        """The journal's entry once it is in `state`."""
        assert self._simulator, "this stack has no simulator"
        return self._simulator.wait_seen(marker, state, timeout=timeout)


class Answer:
    """An answer, and what the upstream saw of its request."""

    def __init__(self, response: httpx.Response, marker: str, gateway: Gateway) -> None:
        self.response = response
        self.marker = marker
        self._gateway = gateway

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self.response.headers

    @property
    def text(self) -> str:
        return self.response.text

    def json(self) -> Any:
        return self.response.json()

    @property
    def seen(self) -> list[dict[str, Any]]:
        """What the upstream saw: empty if the request never reached it."""
        return self._gateway.seen(self.marker)


def never_complete(gateway: Gateway, marker: str, case: str) -> None:
    """Whatever the upstream has of these requests was reset before its end, or comes to that."""
    deadline = time.monotonic() + 5
    while True:
        entries = gateway.seen(marker)
        whole = [entry for entry in entries if entry["body_sha256"] is not None]
        assert not whole, f"{case}: the upstream has the whole request: {whole}"
        if all(entry["state"] == "request_aborted" for entry in entries):
            return
        assert time.monotonic() < deadline, f"{case}: the upstream still waits: {entries}"
        time.sleep(0.01)
