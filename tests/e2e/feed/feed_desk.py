"""A gateway with a feed of keys, what it says of it, and how to wait for it without sleeping."""

from __future__ import annotations

import time
import itertools
import urllib.request
from pathlib import Path
from typing import Any, Optional

from e2e.feed.feed_service import PATH, FeedService
from e2e.feed.feed_watch import Watch, Workers
from e2e.loading.variants import (
    PATIENCE,
    WORKERS_LAG,
    Edit,
    Variant,
    generation,
    loader_log,
    sample,
    tick,
    wait_generation,
)
from waiting import until

#: The loader's pace here: what takes ticks then takes little time.
TICK_MS = 50

_numbers = itertools.count(1)


def new(count: int = 1) -> list[str]:
    """Values of keys that no test had before."""
    return [f"sk-feed-{next(_numbers)}" for _ in range(count)]


def new_one() -> str:
    return new()[0]


def document(feed: Optional[dict[str, Any]] = None, **more: Any) -> dict[str, Any]:
    """The sample with a feed; `{}` for none."""
    named = {"cluster": "key_feed", "path": PATH} if feed is None else feed
    return {**sample(), **({"keys_feed": named} if named else {}), **more}


def feed_metrics(stack: Variant) -> dict[str, float]:
    """Name with labels -> value, without the prefix that all have."""
    url = f"{stack.admin_url}/stats/prometheus?filter=trilane_keys_feed"
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line[:1] != "#")
    return {name.removeprefix("trilane_keys_feed_").replace("{}", ""): float(value) for name, _, value in pairs if name}


class Desk:
    """A gateway, and the service whose keys it knows."""

    def __init__(
        self,
        run_dir: Path,
        *edits: Edit,
        service: Optional[FeedService] = None,
        paced: bool = False,
        ready: bool = True,
        named: Optional[dict[str, Any]] = None,
    ) -> None:
        """`paced`: `edits` say the loader's pace themselves; `named` is the document's `keys_feed`."""
        self.service = service or FeedService().up()
        self.document = document(named)
        self.stack = Variant(
            run_dir,
            *([] if paced else [tick(TICK_MS)]),
            *edits,
            ready=ready,
            document=self.document,
            key_feed=self.service.address,
        )
        self._workers: Optional[Workers] = None

    def __enter__(self) -> Desk:
        try:
            self.stack.start()
        except BaseException:
            self.service.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers:
            self._workers.close()
        self.stack.stop()
        self.service.stop()

    @property
    def keys(self) -> Any:
        return self.service.keys

    # ---- Requests

    @property
    def workers(self) -> Workers:
        if not self._workers:
            self._workers = Workers(self.stack)
        return self._workers

    def everywhere(self, value: str) -> set[int]:
        """The statuses that a key gets, of all workers."""
        return set(self.workers.ask(value).values())

    def statuses(self, *values: str) -> list[set[int]]:
        return [self.everywhere(value) for value in values]

    def watch(self, *good: str) -> Watch:
        return Watch(self.stack, *good)

    # ---- Waiting

    def settle(self) -> None:
        """Waits until what the service has now was asked for, and one tick more. That takes two ticks at most.

        The second question is asked after all of the first one's answer was dealt with.
        """
        asked, begin = self.service.asked, len(self.service.asked)

        def settled() -> bool:
            told = next((number for number in range(begin, len(asked)) if asked[number].complete), None)
            return told is not None and len(asked) > told + 1

        until(settled, check=self.stack.check)
        time.sleep(WORKERS_LAG)

    def wait_asked(self, more: int, timeout: float = PATIENCE) -> None:
        target = len(self.service.asked) + more
        until(lambda: len(self.service.asked) >= target, check=self.stack.check, timeout=timeout)

    def wait_rejected(self, reason: str, more: int, timeout: float = PATIENCE) -> None:
        target = self.rejected(reason) + more
        until(lambda: self.rejected(reason) >= target, check=self.stack.check, timeout=timeout)

    def publish(self, changed: dict[str, Any]) -> None:
        """Another document, once it is in force."""
        if changed == self.document:
            return
        before = generation(self.stack)
        self.document = changed
        self.stack.publish(changed)
        wait_generation(self.stack, before)

    # ---- What the gateway says

    def metric(self, name: str) -> float:
        return feed_metrics(self.stack).get(name, 0)

    def rejected(self, reason: str) -> float:
        return self.metric(f'rejections_total{{reason="{reason}"}}')

    def log(self) -> list[str]:
        return loader_log(self.stack)

    # ---- Between tests

    def well(self) -> None:
        """The service is well, and what the test has done to it is forgotten."""
        service = self.service
        service.fault = None
        service.go.set()
        if not service._server:
            service.up()
        service.keys.most = 1_000_000
        service.keys.begin_anew()
        service.paths = {PATH: service.keys}
        self.publish(document())
        self.settle()
