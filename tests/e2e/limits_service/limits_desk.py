"""Two gateways that ask one rate limit service, over a real Redis, and what the service was asked."""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import urllib.request
from pathlib import Path
from typing import Any, Optional

import httpx
from e2e.ledger_reader import Ledger, Record
from e2e.support import by_hand, credential
from redis_server import RedisServer
from service import Asked, RateLimitService
from stack import Stack
from waiting import until

#: The service's clock stands still, so that no window ends within a test: eight hours into a day.
NOW = 1_800_000_000
#: Seconds until its day is over.
RESET = 86_400 - NOW % 86_400
#: How long a gateway waits for the service. Long, since this machine may be busy.
TIMEOUT = 5.0

#: Protocol -> group, path, model, and what else a body has.
CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "A": ("a-official", "/v1/chat/completions", {"model": "gpt-5.1"}),
    "B": ("b-official", "/v1/messages", {"model": "claude-opus-4-6", "max_tokens": 64}),
    "C": ("c-official", "/v1beta/models/gemini-2.5-flash:generateContent", {}),
}
#: The canonical name of each call's model.
MODELS = {"A": "gpt-5.1", "B": "claude-opus-4-6", "C": "gemini-2.5-flash"}
_PROMPT = [{"role": "user", "content": "Hello"}]


class Key:
    """An account key of the document."""

    def __init__(self, protocol: str, name: str) -> None:
        self.protocol, self.id, self.value = protocol, name, f"sk-{name}"
        self.group = CALLS[protocol][0]

    @property
    def headers(self) -> dict[str, str]:
        return credential(self.protocol, self.value)

    def written(self, **more: Any) -> dict[str, Any]:
        return {
            "id": self.id,
            "sha256": hashlib.sha256(self.value.encode()).hexdigest(),
            "group": self.group,
            **more,
        }


def body(protocol: str, stream: bool = False) -> dict[str, Any]:
    if protocol == "C":
        return {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    return {**CALLS[protocol][2], "messages": _PROMPT, **({"stream": True} if stream else {})}


def path(protocol: str, stream: bool = False) -> str:
    named = CALLS[protocol][1]
    return named.replace(":generateContent", ":streamGenerateContent?alt=sse") if stream else named


class Desk:
    """Any number of gateways, one service, one Redis."""

    def __init__(
        self,
        run_dir: Path,
        limits: str,
        keys: list[dict[str, Any]],
        *,
        gateways: int = 2,
        timeout: float = TIMEOUT,
        failure: Optional[str] = "open",
    ) -> None:
        """`failure` is the document's word; None: the document does not name the service."""
        self.redis = RedisServer()
        self.service = RateLimitService(limits, self.redis.client, clock=lambda: NOW)
        self._keys = keys
        self.stacks = [
            Stack(
                run_dir / str(number),
                document=self.document(failure),
                limits_service=self.service.address,
                limits_timeout=timeout,
            )
            for number in range(gateways)
        ]
        self._ledgers = [Ledger(stack.access_log) for stack in self.stacks]
        self._turn = itertools.cycle(range(gateways))
        self.http = httpx.Client(timeout=30, trust_env=False)

    def document(self, failure: Optional[str]) -> dict[str, Any]:
        document = by_hand()
        document["keys"] += self._keys
        if failure:
            document["limits_service"] = {"failure": failure}
        return document

    def __enter__(self) -> Desk:
        try:
            for stack in self.stacks:
                stack.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        for stack in self.stacks:
            stack.stop()
        self.service.stop()
        self.redis.stop()

    # ---- Requests

    def call(self, key: Key, gateway: Optional[int] = None, **headers: str) -> httpx.Response:
        """One request, by default to the gateways in turn."""
        stack = self.stacks[next(self._turn) if gateway is None else gateway]
        return self.http.post(
            stack.base_url + path(key.protocol), json=body(key.protocol), headers={**key.headers, **headers}
        )

    def many(self, key: Key, count: int, clients: int) -> list[int]:
        """The statuses of `count` requests by so many clients at a time, each a client of every gateway."""
        statuses: list[int] = []
        numbers = iter(range(count))
        lock = threading.Lock()

        def client() -> None:
            with httpx.Client(timeout=60, trust_env=False) as http:
                while True:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    stack = self.stacks[number % len(self.stacks)]
                    answer = http.post(
                        stack.base_url + path(key.protocol), json=body(key.protocol), headers=key.headers
                    )
                    with lock:
                        statuses.append(answer.status_code)

        threads = [threading.Thread(target=client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(statuses) == count, "a client has failed"
        return statuses

    # ---- What the service was asked

    def asked(self, name: str) -> list[int]:
        """The hits of each question about a descriptor."""
        questions = list(self.service.asked)
        return [one.hits for question in questions for one in question if one.descriptor == name]

    def asked_of(self, key: Key) -> list[Asked]:
        """Everything that was asked about a key itself."""
        questions = list(self.service.asked)
        mine = (f"key={key.id}", f"key={key.id}/")
        return [
            one
            for question in questions
            for one in question
            if one.descriptor == mine[0] or one.descriptor.startswith(mine[1])
        ]

    def wait_counted(self, name: str, timeout: float = 10.0) -> int:
        """The tokens that a descriptor was raised by, once it was."""
        return until(lambda: sum(self.asked(name)), timeout=timeout)

    # ---- What the gateways say

    def stat(self, number: int, name: str) -> int:
        """The sum over all sources of one of Envoy's counters of its rate limit filters."""
        url = f"{self.stacks[number].admin_url}/stats?format=json&filter=ratelimit"
        with urllib.request.urlopen(url, timeout=10) as answer:
            stats = json.load(answer)["stats"]
        return sum(stat["value"] for stat in stats if stat.get("name", "").endswith(f".{name}"))

    def record(self, number: int, key: Key, count: int = 1) -> Record:
        """The ledger's last line of a key, once there are so many."""
        return self._ledgers[number].of_key(key.id, count)[-1]
