"""Calls of all SDKs at once, and their ledger lines together: one by one they would wait most of the time."""

from __future__ import annotations

import dataclasses
import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping

import pytest
from e2e.sdk.sdk_support import Driver, Sdk, stop_all

HERE = Path(__file__).resolve().parent

_marks = itertools.count(1)

#: What each SDK's base address ends in, by the protocol it speaks.
SUFFIXES = {"A": "/v1", "B": "", "C": ""}
NAMES = {"A": "openai", "B": "anthropic", "C": "genai"}


@dataclasses.dataclass(frozen=True)
class UsageSdk(Sdk):
    """An SDK that is asked for usage: it has calls of its own, in `calls/` and `node/`."""

    def command(self) -> list[str]:
        """The process that takes its orders."""
        program = super().command()[0]
        if self.where == "node":
            main = HERE.parent / "sdk" / "node" / "main.mjs"
            return [program, str(main), f"../../sdk_usage/node/{self.name}"]
        return [program, str(HERE / "calls"), f"{self.name}_usage"]


def of_protocol(protocol: str) -> list[UsageSdk]:
    """Today's, the previous and the Node SDK of a protocol."""
    return [
        UsageSdk(NAMES[protocol], where, key="", suffix=SUFFIXES[protocol])
        for where in ("today", "previous", "node")
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of one SDK."""

    sdk: UsageSdk
    #: What this case is about.
    name: str
    call: str
    model: str
    #: The key's value.
    key: str
    headers: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.sdk.name}-{self.sdk.where}-{self.call}-{self.name}"


@dataclasses.dataclass(frozen=True)
class Made:
    """A call that was made: its own mark, and what the SDK told of it."""

    call: Call
    mark: str
    told: Mapping[str, Any]

    @property
    def where(self) -> str:
        return str(self.call)

    @property
    def usage(self) -> Any:
        return self.told["usage"]

    @property
    def raised(self) -> Mapping[str, Any]:
        """What the SDK raised; empty if nothing."""
        return self.told["raised"] or {}


class Sdks:
    """The running SDKs."""

    def __init__(self) -> None:
        self._drivers: dict[UsageSdk, Driver] = {}

    def make(self, base_url: str, marked: Callable[[str], dict[str, str]], calls: Iterable[Call]) -> dict[str, Made]:
        """Makes all calls, those of each SDK in turn, and of all SDKs side by side; by the calls' own names.

        `marked` gives the headers by which the upstream knows a mark. Nothing is tried twice. The calls of an SDK
        that cannot be tested here are left out: `of` skips them.
        """
        wanted = list(calls)
        missing = {call.sdk for call in wanted} - self._drivers.keys()
        with ThreadPoolExecutor(len(missing) or 1) as pool:
            list(pool.map(self._start, missing))

        def in_turn(sdk: UsageSdk) -> list[Made]:
            return [self._one(base_url, marked, call) for call in wanted if call.sdk == sdk]

        running = [sdk for sdk in {call.sdk for call in wanted} if sdk in self._drivers]
        with ThreadPoolExecutor(max(1, len(running))) as pool:
            return {str(made.call): made for part in pool.map(in_turn, running) for made in part}

    def _start(self, sdk: UsageSdk) -> None:
        try:
            self._drivers[sdk] = Driver(sdk)
        except pytest.skip.Exception:
            pass  # it has warned

    def _one(self, base_url: str, marked: Callable[[str], dict[str, str]], call: Call) -> Made:
        mark = f"u{next(_marks)}"
        told = self._drivers[call.sdk].order(
            {
                "call": call.call,
                "base_url": base_url + call.sdk.suffix,
                "key": call.key,
                "model": call.model,
                "headers": {**call.headers, **marked(mark)},
                "body": {},
                "retries": 0,
            }
        )
        return Made(call, mark, told.get("value") or {"usage": None, "raised": {"class": "failed", **told}})

    def stop(self) -> None:
        """Ends them."""
        stop_all(self._drivers.values())


def made_of(all_made: Mapping[str, Made], call: Call) -> Made:
    """What came of a call; skips where its SDK is not there."""
    if str(call) not in all_made:
        pytest.skip(f"{call.sdk.name} is not there: not tested")
    return all_made[str(call)]
