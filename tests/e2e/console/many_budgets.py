"""A fleet with many budgeted keys: all spend at once while keys are revoked."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

from e2e.console.running import Api, Console, MESSAGE, ask, bind_credentials, told_by_files, until
from e2e.up.running import Up

GROUP = "b-official"
#: How many requests of one key its budget is good for: one on each Envoy.
ENVOYS = 3
CLIENTS = 6
LATEST = 30.0


class Sent(NamedTuple):
    """A request that is to be sent."""

    envoy: int
    key: int


class Connection:
    """A kept connection to one Envoy."""

    def __init__(self, url: str) -> None:
        self._to = urlsplit(url).netloc
        self._http: Optional[http.client.HTTPConnection] = None

    def answer(self, method: str, path: str, key: str, body: Optional[bytes] = None) -> http.client.HTTPResponse:
        self._http = self._http or http.client.HTTPConnection(self._to, timeout=60)
        headers = {"x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json"}
        self._http.request(method, path, body, headers)
        answer = self._http.getresponse()
        answer.read()
        return answer

    def spends(self, key: str) -> int:
        return self.answer("POST", "/v1/messages", key, json.dumps(MESSAGE).encode()).status

    def knows(self, key: str) -> int:
        """The status of what costs nothing."""
        return self.answer("GET", "/v1/models", key).status

    def is_spent(self, key: str) -> bool:
        """Whether it says that nothing is left of the month's budget."""
        told = self.answer("GET", "/v1/models", key).headers.get("x-trilane-budget-remaining-month", "-1")
        return Decimal(told.split()[0]) == 0


class Fleet:
    """A console, Envoys with their agents, and budgeted keys by their number."""

    def __init__(self, console: Console, ups: list[Up], keys: list[str], one: Decimal) -> None:
        self.console, self.ups, self.keys, self.one = console, ups, keys, one
        self._spare = 0

    @property
    def api(self) -> Api:
        return self.console.api

    def send(self, requests: Iterator[Sent]) -> Counter[int]:
        """Sends them, several at once, and counts the statuses."""
        waiting: queue.SimpleQueue[Sent] = queue.SimpleQueue()
        for request in requests:
            waiting.put(request)

        def client(_: int) -> Counter[int]:
            to = [Connection(up.url) for up in self.ups]
            seen: Counter[int] = Counter()
            while True:
                try:
                    envoy, key = waiting.get_nowait()
                except queue.Empty:
                    return seen
                seen[to[envoy].spends(self.keys[key])] += 1

        with ThreadPoolExecutor(CLIENTS) as pool:
            return sum(pool.map(client, range(CLIENTS)), Counter())

    def revoke(self) -> float:
        """Makes a key with a budget, waits until every Envoy takes it, removes it: seconds until none takes it any more."""
        self._spare += 1
        name, to = f"spare-{self._spare}", [Connection(up.url) for up in self.ups]
        value = self.api.new_key(name, GROUP, limits={"budget": {"per_month": "1"}})
        until(lambda: all(one.knows(value) == 200 for one in to), LATEST)
        assert self.api.call("DELETE", f"/keys/{name}").status_code == 204
        since = time.monotonic()
        while not all(one.knows(value) == 401 for one in to):
            assert time.monotonic() - since < LATEST, "a revoked key is taken still"
            time.sleep(0.005)
        return time.monotonic() - since

    @contextmanager
    def revoking(self) -> Iterator[list[float]]:
        """Revokes one key after the other meanwhile; their times are there afterwards."""
        times: list[float] = []
        ended = threading.Event()

        def revoker() -> None:
            while not ended.is_set():
                times.append(self.revoke())

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(revoker)
            try:
                yield times
            finally:
                ended.set()
            running.result()

    def spent(self) -> dict[str, Decimal]:
        """By key, as the ledgers of all Envoys say."""
        told = told_by_files(*(up.ledger for up in self.ups))
        return {key: Decimal(charge or "0") for key, (_, charge) in told.items()}


@contextmanager
def fleet(place: Path, keys: int) -> Iterator[Fleet]:
    """With so many budgeted keys, each good for one request on each Envoy."""
    with Up(place / "sample", "--demo"):
        pass
    document = place / "sample" / "gateway.json"
    with ExitStack() as stack:
        console = stack.enter_context(Console(place / "console", "--import-document", str(document)))
        api, ups = console.api, []
        for number in range(ENVOYS):
            name = f"edge-{number}"
            token = place / f"{name}.token"
            token.write_text(api.post("/envoys", {"id": name})["token"])
            options = ("--console-url", console.url, "--enrolment-token-file", str(token))
            credentials = ("--credentials", str(bind_credentials(document)))
            ups.append(stack.enter_context(Up(place / name, "--demo", *options, *credentials)))
        plain = api.new_key("plain", GROUP)
        until(lambda: ask(ups[0].url, plain) == 200, LATEST)
        until(lambda: "plain" in api.usage(), LATEST)
        one = Decimal(api.usage()["plain"][1])
        budget = {"budget": {"per_month": f"{one * ENVOYS:f}"}}
        made = Fleet(console, ups, [api.new_key(f"budgeted-{n}", GROUP, limits=budget) for n in range(keys)], one)
        for up in ups:
            to = Connection(up.url)
            until(lambda to=to: to.knows(made.keys[-1]) == 200, LATEST)
        yield made
