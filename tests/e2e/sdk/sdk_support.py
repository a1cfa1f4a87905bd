"""How the tests of the SDKs order a call and judge what came of it.

The SDKs run in processes of their own (`sdk_calls/`, `node/`), so that two generations of each and two languages
can be held to the same tables. What is judged: the value or the exception as a program sees it, how many requests
the gateway got for it, and what the upstream saw.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.request
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Union

import pytest
from e2e.both_kinds import KEYS
from e2e.support import Gateway
from stack import TARGET, Stack

HERE = Path(__file__).resolve().parent
PREVIOUS_PYTHON = TARGET / "venv-previous" / "bin" / "python"

#: What the gateway makes of a request's id.
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: Variables that would make an SDK look elsewhere than it is told.
FOREIGN = re.compile(r"(OPENAI|ANTHROPIC|CLAUDE|GOOGLE|GEMINI)_|(https?|all)_proxy$", re.IGNORECASE)

_markers = itertools.count(1)


_SAME = object()


@dataclasses.dataclass(frozen=True)
class By:
    """An expectation that differs between the generations or the languages of an SDK."""

    today: Any
    previous: Any = _SAME
    node: Any = _SAME

    def of(self, where: str) -> Any:
        """What is expected there; the same as today's Python SDK where nothing else is said."""
        value = getattr(self, where)
        return self.today if value is _SAME else value


@dataclasses.dataclass(frozen=True)
class Sdk:
    """An SDK of one generation and language: `where` is `today`, `previous` or `node`."""

    name: str
    where: str
    #: Demo key of a group that takes this SDK as it is.
    key: str
    #: What its base address ends in.
    suffix: str = ""

    def command(self) -> list[str]:
        """The process that takes its orders."""
        if self.where != "node":
            if self.where == "previous" and not PREVIOUS_PYTHON.exists():
                pytest.fail(f"{PREVIOUS_PYTHON} is not there: run `make venv`")
            python = sys.executable if self.where == "today" else str(PREVIOUS_PYTHON)
            return [python, str(HERE / "sdk_calls"), self.name]
        if not shutil.which("node") or not shutil.which("npm"):
            warnings.warn("node or npm is not there: the Node SDKs are NOT tested", stacklevel=2)
            pytest.skip("node or npm is not there")
        if not (HERE / "node" / "node_modules").exists():
            pytest.fail("the Node SDKs are not installed: run `make node-modules`")
        return ["node", str(HERE / "node" / "main.mjs"), self.name]


@dataclasses.dataclass(frozen=True)
class Case:
    """A call and what must come of it."""

    name: str
    call: str
    model: str
    #: The part of the value, or of the exception, that matters. An exception if it has a `class`.
    want: Mapping[str, Any]
    #: Id of a demo key, or a key's value; the SDK's own if empty.
    key: str = ""
    #: One of the stacks in `conftest.py`.
    stack: str = "shared"
    #: Takes the place of the SDK's right suffix.
    suffix: Optional[str] = None
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    body: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    api_version: Union[str, By, None] = None
    #: How often the SDK may try again, and how many requests there must be in the end.
    retries: int = 2
    requests: int = 1
    #: How many requests the upstream must see.
    upstream: int = 1
    #: What it must see: the path, and a part of the JSON body.
    path: Union[str, "re.Pattern[str]", By, None] = None
    sent: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: The least time it must take: a `retry-after` that was heeded.
    seconds: float = 0.0
    only: tuple[str, ...] = ("today", "previous", "node")


class Driver:
    """A running SDK."""

    def __init__(self, sdk: Sdk) -> None:
        env = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(sdk.command(), stdin=pipe, stdout=pipe, env=env, text=True)
        self.version = self._read()["version"]

    def order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """One call; its answer."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout
        # A call that never returns must not hold up everything: its process ends, and this read with it.
        watch = threading.Timer(90.0, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        assert line, f"the process of the SDK ended: {self._process.wait(10)}"
        return json.loads(line)

    def leave(self) -> None:
        """Without orders it ends by itself."""
        assert self._process.stdin
        self._process.stdin.close()

    def stop(self) -> None:
        """Ends it; what became of it is no test's concern."""
        assert self._process.stdout
        self.leave()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def stop_all(drivers: Iterable[Driver]) -> None:
    """Each takes its time to end: they end side by side."""
    every = list(drivers)
    for driver in every:
        driver.leave()
    for driver in every:
        driver.stop()


class Bench:
    """The SDKs and the stacks, each started when first needed."""

    def __init__(self, find_stack: Callable[[str], Stack]) -> None:
        self._find_stack = find_stack
        self._drivers: dict[tuple[str, str], Driver] = {}
        self._gateways: dict[str, tuple[Gateway, str]] = {}

    def stop(self) -> None:
        """Ends the SDKs; the stacks are not ours."""
        stop_all(self._drivers.values())

    def _gateway(self, name: str) -> tuple[Gateway, str]:
        """The stack of this name, and where its Envoy counts."""
        if name not in self._gateways:
            stack = self._find_stack(name)
            self._gateways[name] = Gateway(stack), stack.admin_url
        return self._gateways[name]

    def driver(self, sdk: Sdk) -> Driver:
        """The running SDK. Not for several threads at once."""
        place = (sdk.name, sdk.where)
        return self._drivers.get(place) or self._drivers.setdefault(place, Driver(sdk))

    def order(self, sdk: Sdk, case: Case) -> tuple[dict[str, Any], str]:
        """Makes the call; its answer, and the marker of its requests."""
        marker = f"sdk{next(_markers)}"
        key = case.key or sdk.key
        order = {
            "call": case.call,
            "base_url": self._gateway(case.stack)[0].stack.base_url + (sdk.suffix if case.suffix is None else case.suffix),
            "key": KEYS.get(key, key),
            "model": case.model,
            "headers": {**case.headers, "x-sim-marker": marker},
            "body": case.body,
            "retries": case.retries,
            "api_version": _of(case.api_version, sdk),
        }
        return self.driver(sdk).order(order), marker

    def check(self, sdk: Sdk, case: Case) -> None:
        """Makes the call and judges it."""
        __tracebackhide__ = True
        driver = self.driver(sdk)
        gateway, admin_url = self._gateway(case.stack)
        key = KEYS.get(case.key or sdk.key, case.key)
        before = received(admin_url)
        told, marker = self.order(sdk, case)
        requests = received(admin_url) - before
        where = f"{sdk.name} {driver.version}, {case.name}"
        assert "failed" not in told, f"{where}: {told['failed']}"

        if "class" in case.want:
            assert "error" in told, f"{where}: no exception, but {told['value']}"
            _judge_error(where, told["error"], case)
        else:
            assert "value" in told, f"{where}: {told['error']}"
        judge_part(where, {**told.get("value", {}), **told.get("error", {})}, case.want, sdk)
        assert requests == case.requests, f"{where}: the SDK made {requests} requests"
        assert told.get("seconds", 1e9) >= case.seconds, f"{where}: took only {told['seconds']} s"

        seen = gateway.seen(marker)
        assert len(seen) == case.upstream, f"{where}: the upstream saw {[entry['path'] for entry in seen]}"
        for entry in seen:
            assert key not in str((entry["path"], entry["headers"])), f"{where}: the upstream got the key"
            if case.path:
                judge_part(where, entry, {"path": case.path}, sdk)
            if case.sent:
                judge_part(f"{where}, body", json.loads(entry["body"]), case.sent, sdk)


def _of(expected: Any, sdk: Sdk) -> Any:
    return expected.of(sdk.where) if isinstance(expected, By) else expected


def judge_part(where: str, got: Any, want: Mapping[str, Any], sdk: Sdk) -> None:
    __tracebackhide__ = True
    for field, expected in want.items():
        expected = _of(expected, sdk)
        found = got.get(field)
        if isinstance(expected, re.Pattern):
            assert isinstance(found, str) and expected.search(found), f"{where}: {field} is {found!r}"
        elif isinstance(expected, Mapping):
            assert isinstance(found, Mapping), f"{where}: {field} is {found!r}"
            judge_part(f"{where}: {field}", found, expected, sdk)
        else:
            assert found == expected, f"{where}: {field} is {found!r}, not {expected!r}"


def _judge_error(where: str, error: Mapping[str, Any], case: Case) -> None:
    """What holds for every error: ids, and whether the SDK is told to leave it."""
    __tracebackhide__ = True
    headers = error.get("headers")
    if headers is None:  # this SDK does not show them
        return
    if "x-sim-upstream" in headers:
        assert "x-trilane-error" not in headers, f"{where}: the upstream's error, touched"
        return
    assert headers.get("x-trilane-error") == error["code"], f"{where}: {error}"
    assert UUID.fullmatch(headers.get("x-request-id", "")), f"{where}: x-request-id in {headers}"
    if "request_id" in error:
        assert error["request_id"] == headers["x-request-id"], f"{where}: {error}"
    if error.get("body_request_id"):
        assert error["body_request_id"] == headers["x-request-id"], f"{where}: {error}"
    # Of the errors that are the gateway's, one says so by its words: no account of the source is good.
    final = "false" if error["status"] < 500 or "tell the operator" in error["message"] else None
    assert headers.get("x-should-retry") == final, f"{where}: x-should-retry in {headers}"


def received(admin_url: str) -> int:
    """How many requests the gateway has had, by Envoy's count."""
    url = f"{admin_url}/stats?format=json&filter=^http\\.gateway\\.downstream_rq_total$"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return int(json.load(answer)["stats"][0]["value"])


def table(sdks: list[Sdk], cases: list[Case]) -> list[Any]:
    """The parameters `sdk, case` of a test, one of each pair that goes together."""
    return [
        pytest.param(sdk, case, id=f"{sdk.name}-{sdk.where}-{case.name}")
        for sdk in sdks
        for case in cases
        # The Node SDKs cannot be told another field of the body.
        if sdk.where in case.only and not (sdk.where == "node" and case.body)
    ]
