"""The first attempt goes straight to its account, and only what comes after a failure by way of the account hop.

Every account here has answered before it fails, at the very address where it answered: so its failure meets an
attempt that was made directly.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import AccountsStack, Asked, Desk
from e2e.accounts.accounts_rounds import asked_until
from e2e.accounts.document import MODEL, Credentials
from e2e.accounts.failing import ABRUPT
from e2e.accounts.operations import BY_NAME, Operation
from e2e.accounts.own_groups import credential_of, document_of, group_of, headers_of, secret_headers
from e2e.accounts.tls_servers import TlsServers
from e2e.accounts.turncoat import Act, Turncoat
from e2e.ledger_reader import kinds
from e2e.support import run_dir
from e2e.vitals import stats

NAMES = ("a", "b", "c")
#: How each account takes its credential: the name in documents, the header, and what stands before the value. All attempts
#: of a request share its headers.
STYLES = {
    "a": ("bearer", "authorization", "Bearer "),
    "b": ("x-api-key", "x-api-key", ""),
    "c": ("x-goog-api-key", "x-goog-api-key", ""),
}
#: Each group's listener behind its accounts.
GROUPS = {"plain": "plain", "tls": "good"}
CHAT = (BY_NAME["chat"], BY_NAME["chat-stream"])
#: Counts the attempts that went by way of the hop.
HOPS = "cluster.account/hop.upstream_rq_total"
#: More of a body than anything reads at once, and less than all of it.
MIDDLE = 300_000
LARGE = 1_000_000


class Field:
    """A stack with two sources of three accounts, each of which can turn its coat."""

    def __init__(self, desk: Desk, servers: TlsServers, turncoats: dict[str, dict[str, Turncoat]]) -> None:
        self.desk = desk
        self.servers = servers
        self.turncoats = turncoats
        self._weights = itertools.count(1)
        self._weight = 1

    def account(self, group: str, name: str, **fields: Any) -> dict[str, Any]:
        """One account of a group, with a credential of its own."""
        file = f"{group}.{name}"
        if not (self.desk.credentials.directory / file).exists():
            self.desk.credentials.put(file)
        secure = {"ca": str(self.servers.authority("good"))} if group == "tls" else {}
        scheme = "https" if group == "tls" else "http"
        port = self.turncoats[group][name].port
        return {"id": name, "url": f"{scheme}://127.0.0.1:{port}", "credential": file, "header": STYLES[name][0], **secure, **fields}

    def source(self, group: str, names: tuple[str, ...] = NAMES, **failover: Any) -> dict[str, Any]:
        """A group of these accounts."""
        accounts = [self.account(group, name, weight=self._weight) for name in names]
        terms = {"set_aside_seconds": 2, "set_aside_max_seconds": 2, "answer_seconds": 3, "stream_answer_seconds": 3, **failover}
        return group_of(group, "A", accounts, failover=terms)

    def begin(self) -> None:
        """All accounts are good, none is ejected, and all have answered."""
        for each in self.every():
            each.mend()
        # With other weights, all the same, no ejection is in force.
        self._weight = next(self._weights)
        self.publish(*(self.source(group) for group in GROUPS))
        for group in GROUPS:
            self.know(group)

    def publish(self, *groups: dict[str, Any]) -> None:
        self.desk.publish(document_of(*groups))

    def know(self, group: str, names: tuple[str, ...] = NAMES) -> None:
        """Asks until every account has answered, so that none is reached by way of the hop any more."""
        for _ in range(40):
            before = self.hops()
            asked = [self.ask(group, session=f"know{number}") for number in range(24)]
            assert {one.status for one in asked} == {200}, asked
            if {account_of(one) for one in asked} == set(names) and self.hops() == before:
                return
        raise AssertionError(f"{group}: {self.hops() - before} of 24 requests still go by way of the hop")

    def every(self) -> Iterator[Turncoat]:
        for turncoats in self.turncoats.values():
            yield from turncoats.values()

    def hops(self) -> int:
        return stats(self.desk.stack, "^cluster.account.hop.upstream_rq_total$")[HOPS]

    def ask(
        self, group: str, operation: Operation = CHAT[0], session: Optional[str] = None, size: int = 0
    ) -> Asked:
        written = operation.body(MODEL["A"], "ping" + "x" * size)
        headers = headers_of({"id": group}, operation)
        return self.desk.ask(operation, headers=headers, session=session, body=json.dumps(written).encode())


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    directory = run_dir("accounts-direct")
    credentials = Credentials(directory / "credentials")
    with ExitStack() as scope:
        servers = scope.enter_context(TlsServers(directory / "servers"))
        turncoats = {
            group: {name: scope.enter_context(Turncoat(servers.taps[listener].port)) for name in NAMES}
            for group, listener in GROUPS.items()
        }
        first = document_of(group_of("none", "A", [], cluster="a_official"))
        stack = scope.enter_context(AccountsStack(directory, document=first, credentials=credentials.directory))
        desk = scope.enter_context(Desk(stack, credentials))
        yield Field(desk, servers, turncoats)


def account_of(asked: Asked) -> str:
    return str(asked.record()["trilane.account"])


# ---- How an account fails


def says(status: int, **headers: str) -> Act:
    """Answers with an error, once the request's head is there."""
    body = b'{"error":{"message":"no","type":"x","code":null}}'
    lines = [f"HTTP/1.1 {status} No", f"content-length: {len(body)}", "content-type: application/json", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    answer = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def act(peer: socket.socket) -> None:
        peer.sendall(answer)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(1 << 16):
            pass

    return act


def resets_in_the_middle(peer: socket.socket) -> None:
    left = MIDDLE
    while left > 0 and (data := peer.recv(1 << 16)):
        left -= len(data)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)


def resets(peer: socket.socket) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)


def hangs(peer: socket.socket) -> None:
    while peer.recv(1 << 16):
        pass


def breaks_off(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-ty")


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to fail, and what the record calls it."""

    kind: str
    turn: Callable[[Turncoat, Field], None]
    group: str = "plain"
    size: int = 0


def acting(act: Act) -> Callable[[Turncoat, Field], None]:
    return lambda turncoat, _: turncoat.act(act)


WAYS = {
    "refuses the connection": Way("connection", lambda turncoat, _: turncoat.refuse()),
    "resets after the head": Way("connection", acting(resets)),
    "resets in the middle of the body": Way("connection", acting(resets_in_the_middle), size=LARGE),
    "breaks off in its head": Way("connection", acting(breaks_off)),
    "hangs": Way("no_answer", acting(hangs)),
    "429": Way("rate_limited", acting(says(429, retry_after="30"))),
    "503": Way("overloaded", acting(says(503))),
    "its certificate has expired": Way(
        "tls", lambda turncoat, field: turncoat.lead_to(field.servers.taps["expired"].port), "tls"
    ),
    "speaks no TLS any more": Way(
        "tls", lambda turncoat, field: turncoat.lead_to(field.servers.taps["plain"].port), "tls"
    ),
    "refuses the connection, by TLS": Way("connection", lambda turncoat, _: turncoat.refuse(), "tls"),
}


#: These with a stream too.
STREAMED = ("resets in the middle of the body", "429")
CASES = [(way, operation) for way in WAYS for operation in CHAT if way in STREAMED or not operation.stream]


@pytest.mark.parametrize("way, operation", CASES, ids=lambda part: getattr(part, "name", part))
def test_a_direct_attempt_fails(field: Field, way: str, operation: Operation) -> None:
    case = WAYS[way]
    field.begin()
    if operation.stream:
        # Whether an account takes the option that reports usage is found out by way of the hop.
        field.ask(case.group, operation, "home", case.size)
    before = field.hops()
    first = field.ask(case.group, operation, "home", case.size)
    home = account_of(first)
    assert first.status == 200 and not kinds(first.record()) and field.hops() == before, f"{way}: not direct: {first}"

    case.turn(field.turncoats[case.group][home], field)
    asked = field.ask(case.group, operation, "home", case.size)
    since, record = time.monotonic(), asked.record()
    assert asked.status == 200, f"{way}: {asked} {record}"
    assert kinds(record) == [(home, case.kind)] and record["trilane.tries"] == 2, f"{way}: {record}"
    second = record["trilane.account"]
    assert second != home and field.hops() == before + 1, f"{way}: {field.hops() - before} by way of the hop"
    (entry,) = field.servers.seen(asked.marker)
    credential = credential_of(field.desk.credentials, f"{case.group}.{second}")
    _, header, prefix = STYLES[second]
    assert secret_headers(entry) == [(header, prefix + credential)], f"{way}: {entry}"
    if case.size:
        assert entry["body_bytes"] > case.size, f"{way}: {entry['body_bytes']} bytes of the body"

    # It was ejected before the second attempt began, which on a busy machine may be a while ago.
    for one in asked_until(since + 1, 3, lambda: field.ask(case.group, operation, "home", case.size)):
        assert one.status == 200 and account_of(one) == second and not kinds(one.record()), f"{way}: {one.record()}"
        assert field.hops() == before + 1, f"{way}: while it is ejected others are asked directly"

    field.turncoats[case.group][home].mend()
    before = field.hops()
    deadline = since + 20
    while account_of(back := field.ask(case.group, operation, "home")) != home:
        assert time.monotonic() < deadline, f"{way}: it does not come back"
        time.sleep(0.1)
    assert back.status == 200 and field.hops() == before, f"{way}: it is back, and asked directly"


def test_all_ejected(field: Field) -> None:
    """The last resort: the account that the conversation prefers, directly; if it still fails, the others."""
    field.begin()
    home = account_of(field.ask("plain", session="home"))
    for each in field.turncoats["plain"].values():
        each.act(says(503))
    bad = field.ask("plain", session="home")
    failed = kinds(bad.record())
    assert bad.status == 503 and {account for account, _ in failed} == set(NAMES), f"{bad} {failed}"
    assert {account for _, account in field.desk.set_aside()} == set(NAMES), field.desk.set_aside()
    for each in field.turncoats["plain"].values():
        each.mend()
    before = field.hops()
    good = field.ask("plain", session="home")
    assert good.status == 200 and account_of(good) == home and not kinds(good.record()), good.record()
    assert field.hops() == before, "an ejected account that has answered is asked directly"
    field.turncoats["plain"][home].refuse()
    asked = field.ask("plain", session="home")
    assert asked.status == 200 and kinds(asked.record()) == [(home, "connection")], asked.record()


def test_a_response_that_breaks_off_is_no_other_attempt(field: Field) -> None:
    """Of a response that has begun the client has seen a part; but the account has failed."""
    field.begin()
    before = field.hops()
    home = account_of(field.ask("plain", session="home"))
    begun = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"

    def act(peer: socket.socket) -> None:
        peer.sendall(begun)
        time.sleep(0.2)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)

    field.turncoats["plain"][home].act(act)
    asked = field.ask("plain", session="home")
    assert asked.trouble and field.hops() == before, f"asked another one: {asked}"
    assert field.desk.set_aside() == [("plain", home)], field.desk.set_aside()


def test_a_name_that_does_not_resolve_any_more(field: Field) -> None:
    """Another address is another way, in which the account has not answered: no request meets Envoy's own refusal."""
    field.begin()
    home = account_of(field.ask("plain", session="home"))
    source = field.source("plain")
    for account in source["accounts"]:
        if account["id"] == home:
            account["url"] = "http://no-such-host.invalid:80"
    field.publish(source, field.source("tls"))
    for number in range(30):
        asked = field.ask("plain", session="home" if number < 5 else str(number))
        failed = kinds(asked.record())
        assert asked.status == 200 and failed in ([], [(home, "no_host")]), f"{asked}: {failed}"
        assert number or failed, "the first one has met it"


def test_accounts_come_and_go_under_load(field: Field) -> None:
    """No request fails, one that comes has its share directly, and one that goes is not asked any more."""
    field.begin()
    over = threading.Event()
    asked: list[tuple[float, Asked]] = []

    def client(number: int) -> None:
        for turn in itertools.count():
            if over.is_set():
                return
            began = time.monotonic()
            asked.append((began, field.ask("plain", CHAT[turn % 2], session=f"{number}.{turn}")))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        in_force: list[tuple[float, tuple[str, ...]]] = []
        for names in (("a", "b"), NAMES, ("b", "c"), NAMES, ("a",), NAMES):
            field.publish(field.source("plain", names), field.source("tls"))
            in_force.append((time.monotonic(), names))
            time.sleep(0.5)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert len(asked) > 100, len(asked)
    wrong = [one for _, one in asked if one.status != 200 or kinds(one.record())]
    assert not wrong, f"{len(wrong)} of {len(asked)}: {wrong[:3]}"
    for (since, names), (until, _) in zip(in_force, [*in_force[1:], (time.monotonic(), ())]):
        # Of the requests that began while these were surely in force: the next document is published in this time.
        served = Counter(account_of(one) for began, one in asked if since < began < min(until, since + 0.4))
        assert set(served) <= set(names) and len(served) == len(names), f"{names}: {served}"
    before = field.hops()
    field.know("plain")
    assert field.hops() == before, "after all of it they are asked directly"
