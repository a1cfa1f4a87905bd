"""Clients that ask on every worker: once, or all the while."""

from __future__ import annotations

import http.client
import threading
import time
from typing import Any, Optional
from urllib.parse import urlsplit

from e2e.support import bearer
from e2e.vitals import stats
from stack import Stack

#: Requests a second.
RATE = 50.0


class Workers:
    """One connection to each worker of an Envoy. A request to each says what holds everywhere."""

    def __init__(self, stack: Stack) -> None:
        self._target = urlsplit(stack.base_url)
        self._accepted = rf"^listener\.127\.0\.0\.1_{self._target.port}\.worker_\d+\.downstream_cx_total$"
        self._stack = stack
        self.connections: dict[str, http.client.HTTPConnection] = {}
        self._connect()

    def _connect(self) -> None:
        """The kernel decides which worker gets a connection, and Envoy tells. Nobody else may connect meanwhile."""
        before = stats(self._stack, self._accepted)
        assert len(before) >= 2, f"two workers: {before}"
        for _ in range(100):
            connection = http.client.HTTPConnection(self._target.hostname or "", self._target.port, timeout=10)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            now = stats(self._stack, self._accepted)
            worker = next(name for name in now if now[name] > before[name])
            before = now
            if self.connections.setdefault(worker, connection) is not connection:
                connection.close()
            if self.connections.keys() == now.keys():
                return
        raise AssertionError(f"a worker takes no connection: {before}")

    def ask(self, value: str) -> dict[str, int]:
        """The status of the model list with this key, on each worker."""
        return {worker: self.ask_one(worker, value) for worker in self.connections}

    def ask_one(self, worker: str, value: str) -> int:
        return self.answer(worker, value)[0]

    def answer(self, worker: str, value: str) -> tuple[int, bytes, Any]:
        connection = self.connections[worker]
        connection.request("GET", "/v1/models", headers=bearer(value))
        response = connection.getresponse()
        body = response.read()
        assert connection.sock, "the gateway has closed the connection: the next one may be another worker's"
        return response.status, body, response.headers

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()


class Watch:
    """Asks for keys all the while: the good ones must be good each time, those that are gone never again."""

    def __init__(self, stack: Stack, *good: str, rate: float = RATE) -> None:
        self.good = list(good)
        self.gone: list[str] = []
        self.faults: list[str] = []
        self.asked = 0
        self.slowest = 0.0
        self._rate = rate
        self._workers = Workers(stack)
        self._over = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        due = self._began
        while not self._over.wait(max(0.0, due - time.monotonic())):
            due += 1 / self._rate
            # Each worker in turn, and each key in turn on each worker.
            workers = list(self._workers.connections)
            turn, worker = divmod(self.asked, len(workers))
            keys = [(value, True) for value in self.good] + [(value, False) for value in self.gone]
            value, good = keys[turn % len(keys)]
            self.asked += 1
            self._look(workers[worker], value, good)

    def _look(self, worker: str, value: str, good: bool) -> None:
        began = time.monotonic()
        status: object
        try:
            status = self._workers.ask_one(worker, value)
        except (OSError, http.client.HTTPException, AssertionError) as error:
            status = f"{type(error).__name__}: {error}"
            self._over.set()
        now = time.monotonic()
        self.slowest = max(self.slowest, now - began)
        # What was taken off the list meanwhile may be anything.
        if value in (self.good if good else self.gone) and (status == 200) != good:
            wanted = "is good" if good else "is gone"
            self.faults.append(f"{value}, which {wanted}: {status} after {began - self._began:.2f} s")

    def let_go(self, *values: str) -> None:
        """These may become anything from now on."""
        self.good = [value for value in self.good if value not in values]
        self.gone = [value for value in self.gone if value not in values]

    def never_again(self, *values: str) -> None:
        """These are refused, and stay so."""
        self.let_go(*values)
        self.gone = [*self.gone, *values]

    def also(self, *values: str) -> None:
        """These are good as well from now on."""
        self.let_go(*values)
        self.good = [*self.good, *values]

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        elapsed = time.monotonic() - self._began
        self._over.set()
        self._thread.join(15)
        self._workers.close()
        if kind is None or self.faults:
            assert not self.faults, f"{len(self.faults)} of {self.asked} requests: {self.faults[:5]}"
            assert self.asked >= 0.5 * self._rate * elapsed - 5, f"too few to say anything: {self.asked} in {elapsed:.1f} s"
