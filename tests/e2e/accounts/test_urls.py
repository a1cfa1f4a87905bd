"""Where requests end under an account's URL: a path with a version is the whole base, else the version is appended."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from threading import Lock
from typing import Any

import httpx
import pytest
from e2e.accounts.accounts_desk import AccountsStack
from e2e.accounts.document import MODEL, RENAMED, UPSTREAM_NAME, Credentials, credential_file
from e2e.accounts.operations import BY_NAME, Operation
from e2e.accounts.own_groups import document_of, group_of, headers_of
from e2e.support import run_dir
from loopback import Handler, LoopbackServer

#: Enough of an answer for every protocol.
ANSWER = json.dumps({"id": "x", "type": "message", "choices": [], "content": [], "candidates": []}).encode()


class Upstream(LoopbackServer):
    """A model source at any path: it notes what it is asked for. Under `/busy` it answers 503."""

    def __init__(self) -> None:
        #: The path with its query, and the names of the headers, of each request by its marker.
        self.asked: dict[str, list[tuple[str, list[str]]]] = {}
        #: Markers of requests whose first try gets no answer.
        self.breaks: set[str] = set()
        self._lock = Lock()
        upstream = self

        class Answers(Handler):
            def do_POST(self) -> None:
                self.read_body()
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                marker = self.headers["x-sim-marker"]
                with upstream._lock:
                    upstream.asked.setdefault(marker, []).append((self.path, [name.lower() for name in self.headers]))
                    breaks = marker in upstream.breaks
                    upstream.breaks.discard(marker)
                if breaks:
                    self.close_connection = True
                    return
                self.respond(503 if self.path.startswith("/busy") else 200, ANSWER)

        super().__init__(Answers)
        self.base = f"http://{self.address}"

    def paths(self, marker: str) -> list[str]:
        """What was asked for, in order; nothing of ours may have come along."""
        asked = self.asked.get(marker, [])
        ours = [name for _, names in asked for name in names if name.startswith(("x-trilane-", "x-envoy-"))]
        assert not ours, ours
        return [path for path, _ in asked]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as started:
        yield started


VERTEX = "/v1/projects/p/locations/l/publishers/google"
#: Group -> protocol and paths of its accounts' URLs, the first of which is asked first.
GROUPS = {
    "plain": ("A", ["/openai/"]),
    "v1": ("A", ["/v1"]),
    "v4": ("A", ["/api/paas/v4"]),
    "b-v1": ("B", ["/anthropic/v1"]),
    "c-v1beta": ("C", ["/v1beta/"]),
    "c-v1": ("C", ["/v1"]),
    "vertex": ("C", [VERTEX]),
    # The first one fails.
    "to-v4": ("A", ["/busy/v1", "/api/paas/v4"]),
    "to-v1": ("A", ["/busy/v4", "/v1"]),
}
CHAT, MESSAGES, GENERATE = BY_NAME["chat"], BY_NAME["messages"], BY_NAME["generate"]
STREAM = BY_NAME["generate-stream"]


def document(upstream: Upstream) -> dict[str, Any]:
    groups = []
    for name, (protocol, bases) in GROUPS.items():
        accounts = [
            {
                "id": f"a{number}",
                "url": upstream.base + base,
                "credential": credential_file(protocol, "a1"),
                "priority": number,
                "retries": 1,
            }
            for number, base in enumerate(bases)
        ]
        alone = {"C": {"account_resources": True}, "B": {"count_tokens": True}}.get(protocol, {})
        more = {"failover": {"failures": 100}} if len(bases) > 1 else alone
        groups.append(group_of(name, protocol, accounts, clients="current", **more))
    return document_of(*groups)


class Client:
    """Sends requests to a stack with these groups, which is all that it has."""

    def __init__(self, http: httpx.Client, upstream: Upstream) -> None:
        self._http = http
        self._upstream = upstream
        self._markers = itertools.count(1)

    def ask(self, group: str, operation: Operation, path: str, model: str, *, breaks: bool = False) -> list[str]:
        """Sends one; what the accounts were asked for. With `breaks` the first try of it gets no answer."""
        marker = f"url{next(self._markers)}"
        if breaks:
            self._upstream.breaks.add(marker)
        version = {"anthropic-version": "2023-06-01"} if operation.protocol == "B" else {}
        headers = {**headers_of({"id": group}, operation), **version}
        headers.update({"x-sim-marker": marker, "x-trilane-path": "/of/the/client"})
        if "/files" in path:
            response = self._http.get(path, headers=headers)
        else:
            response = self._http.post(path, headers=headers, json=operation.body(model))
        assert response.status_code == 200, f"{group} {path}: {response.status_code} {response.text}"
        return self._upstream.paths(marker)


@pytest.fixture(scope="module")
def client(upstream: Upstream) -> Iterator[Client]:
    directory = run_dir("account-urls")
    credentials = Credentials(directory / "credentials").directory
    with AccountsStack(directory, document=document(upstream), credentials=credentials) as stack:
        with httpx.Client(base_url=stack.base_url, timeout=30.0, trust_env=False) as http:
            yield Client(http, upstream)


#: Group, what is asked for, and what the accounts see, in order.
CASES: list[tuple[str, Operation, str, list[str]]] = [
    ("plain", CHAT, "/v1/chat/completions", ["/openai/v1/chat/completions"]),
    ("v1", CHAT, "/v1/chat/completions", ["/v1/chat/completions"]),
    ("v1", BY_NAME["responses"], "/responses", ["/v1/responses"]),
    ("v4", CHAT, "/v1/chat/completions", ["/api/paas/v4/chat/completions"]),
    ("v4", CHAT, "/chat/completions?beta=a%20b&api-version=", ["/api/paas/v4/chat/completions?beta=a%20b&api-version="]),
    ("v4", BY_NAME["responses"], "/v1/responses", ["/api/paas/v4/responses"]),
    ("b-v1", MESSAGES, "/v1/messages?beta=true", ["/anthropic/v1/messages?beta=true"]),
    ("b-v1", MESSAGES, "/v1/messages/count_tokens", ["/anthropic/v1/messages/count_tokens"]),
    ("c-v1beta", GENERATE, "/v1beta/models/{}:generateContent", ["/v1beta/models/{}:generateContent"]),
    ("c-v1beta", GENERATE, "/v1/models/{}:generateContent", ["/v1beta/models/{}:generateContent"]),
    ("c-v1beta", GENERATE, "/v1beta/files/f", ["/v1beta/files/f"]),
    ("c-v1", GENERATE, "/v1beta/models/{}:generateContent", ["/v1/models/{}:generateContent"]),
    ("c-v1", GENERATE, "/v1beta/files?pageSize=2", ["/v1/files?pageSize=2"]),
    (
        "vertex",
        STREAM,
        "/v1beta/models/{}:streamGenerateContent?alt=sse",
        [f"{VERTEX}/models/{{}}:streamGenerateContent?alt=sse"],
    ),
    ("to-v4", CHAT, "/v1/chat/completions?beta=1", ["/busy/v1/chat/completions?beta=1", "/api/paas/v4/chat/completions?beta=1"]),
    ("to-v1", CHAT, "/chat/completions", ["/busy/v4/chat/completions", "/v1/chat/completions"]),
]


def test_where_requests_end(client: Client) -> None:
    """Single accounts of every kind, and failover from one base to another, are asked for exactly these paths."""
    for group, operation, path, wanted in CASES:
        protocol = GROUPS[group][0]
        for model, there in ((MODEL[protocol], MODEL[protocol]), (RENAMED[protocol], UPSTREAM_NAME[protocol])):
            asked = client.ask(group, operation, path.format(model), model)
            assert asked == [each.format(there) for each in wanted], f"{group} {path} {model}"


@pytest.mark.parametrize(
    "group, wanted", [("v1", "/v1/chat/completions"), ("v4", "/api/paas/v4/chat/completions")], ids=["v1", "v4"]
)
def test_the_same_path_again(client: Client, group: str, wanted: str) -> None:
    """An account's own retry after a broken connection asks for the same path as its first try."""
    assert client.ask(group, CHAT, "/v1/chat/completions", MODEL["A"], breaks=True) == [wanted, wanted]
