"""Accounts behind HTTP proxies: a tunnel to each, TLS inside it, and what happens when a proxy will not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import Asked, Desk, AccountsStack
from e2e.ledger_reader import kinds
from e2e.accounts.document import Credentials, account, document
from e2e.accounts.operations import BY_NAME, is_native_error
from e2e.accounts.proxies import Proxies
from e2e.support import run_dir
from stack import SIMULATOR

#: Names that no resolver knows: only the proxies can tell where that is.
H1, H2, WRONG, PLAIN = "h1.vendor.test", "h2.vendor.test", "wrong.vendor.test", "plain.vendor.test"

OPERATIONS = [BY_NAME["messages"], BY_NAME["messages-stream"]]
_seconds = itertools.cycle([1, 2])

#: What can be wrong with a proxy, and how the ledger calls it.
FAILING = ["refuses", "403", "407", "closes", "babbles"]


@pytest.fixture(scope="module")
def proxies() -> Iterator[Proxies]:
    with Proxies(run_dir("accounts-proxy"), SIMULATOR) as running:
        yield running


@pytest.fixture(scope="module")
def desk(proxies: Proxies) -> Iterator[Desk]:
    """One source, its accounts at TLS servers in front of the simulator."""
    directory = run_dir("accounts-proxy")
    credentials = Credentials(directory / "credentials")
    with AccountsStack(directory, document=document((1,), protocols="B"), credentials=credentials.directory) as stack:
        sim = stack.sims["a_official"]
        proxies.names = {
            H1: proxies.serve_tls(H1, sim, ["http/1.1"]),
            H2: proxies.serve_tls(H2, sim, ["h2"]),
            PLAIN: int(sim.rpartition(":")[2]),
        }
        # Shows a certificate for another name.
        proxies.names[WRONG] = proxies.names[H1]
        with Desk(stack, credentials) as running:
            yield running


def behind(proxies: Proxies, host: str, proxy: Optional[str], name: str = "a1", **fields: Any) -> dict[str, Any]:
    """An account at one of the TLS servers (or the plain one), behind a proxy."""
    tls = host != PLAIN
    return account(
        "B",
        name,
        **{
            "url": f"{'https' if tls else 'http'}://{host}:{proxies.names[host]}",
            "ca": str(proxies.authorities(H1 if host == WRONG else host)) if tls else None,
            "proxy": proxy,
            "retries": 0,
            **fields,
        },
    )


def publish(desk: Desk, proxies: Proxies, *accounts: dict[str, Any], **failover: Any) -> None:
    # Never the one before: Envoy forgets what it set aside only in clusters that change.
    seconds = next(_seconds)
    wanted = document((1,), protocols="B", failover={"set_aside_seconds": seconds, **failover})
    wanted["groups"][0]["accounts"] = list(accounts)
    desk.publish(wanted)
    proxies.clear()


def served(asked: Asked, host: str, desk: Desk, proxies: Proxies) -> dict[str, Any]:
    """The request reached the account as it should. Returns what the account saw."""
    assert asked.status == 200 and asked.trouble is None, asked
    if asked.operation.stream:
        assert asked.body.rstrip().endswith(b'{"type":"message_stop"}'), asked
    [entry] = asked.seen
    headers = [(name, value) for name, value in entry["headers"]]
    if entry["authority"]:
        headers.append(("host", entry["authority"]))
    wrong = desk.journal.wrong("behind a proxy", "a1", entry["path"], headers, f"{host}:{proxies.names[host]}")
    assert not wrong
    return entry


def unseen(asked: Asked, desk: Desk, proxies: Proxies) -> None:
    """Nothing of a request came out of Envoy in the clear."""
    for secret in [*desk.credentials.all_values, asked.marker]:
        assert secret.encode() not in proxies.sent, asked


@pytest.mark.parametrize("by", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("host, alpn, version", [(H1, "http/1.1", "HTTP/1.1"), (H2, "h2", "HTTP/2")])
def test_tls_through_a_tunnel(
    desk: Desk, proxies: Proxies, by: str, host: str, alpn: str, version: str
) -> None:
    """The proxy, named or by its address, learns where to; the account gets its request whole."""
    publish(desk, proxies, behind(proxies, host, proxies.url("good", by)))
    for operation in OPERATIONS:
        asked = desk.ask(operation, sim={"events": 20, "gap_ms": 2})
        entry = served(asked, host, desk, proxies)
        assert entry["version"].startswith(version), entry["version"]
        unseen(asked, desk, proxies)
    target = f"{host}:{proxies.names[host]}"
    assert set(proxies.asked) == {("good", f"CONNECT {target} HTTP/1.1")}
    assert (set(proxies.names_asked), set(proxies.agreed)) == ({host}, {alpn})


def test_without_tls_it_is_a_tunnel_as_well(desk: Desk, proxies: Proxies) -> None:
    """An `http://` account, too, gets its own bytes and not a request in a proxy's form."""
    publish(desk, proxies, behind(proxies, PLAIN, proxies.url("good")))
    for operation in OPERATIONS:
        entry = served(desk.ask(operation), PLAIN, desk, proxies)
        assert entry["path"].startswith("/v1/messages")
    assert {line for _, line in proxies.asked} == {f"CONNECT {PLAIN}:{proxies.names[PLAIN]} HTTP/1.1"}


def test_each_account_has_its_own_proxy(desk: Desk, proxies: Proxies) -> None:
    """Connections that share one listener go each through its account's proxy."""
    first = behind(proxies, H1, proxies.url("good"))
    second = behind(proxies, H2, proxies.url("second"), "a2", credential=first["credential"])
    publish(desk, proxies, first, second)
    for number in range(30):
        assert desk.ask(OPERATIONS[0], key=number).status == 200
    assert {(way, line.split(":")[0]) for way, line in proxies.asked} == {
        ("good", f"CONNECT {H1}"),
        ("second", f"CONNECT {H2}"),
    }


def test_another_proxy_while_running(desk: Desk, proxies: Proxies) -> None:
    """What the document says holds for the next request."""
    for way in ("good", "second", "good"):
        publish(desk, proxies, behind(proxies, H1, proxies.url(way)))
        served(desk.ask(OPERATIONS[0]), H1, desk, proxies)
        assert {asked for asked, _ in proxies.asked} == {way}
    publish(desk, proxies, behind(proxies, PLAIN, None, url=f"http://127.0.0.1:{proxies.names[PLAIN]}"))
    assert desk.ask(OPERATIONS[0]).status == 200
    assert proxies.asked == []


@pytest.mark.parametrize("host", [H1, PLAIN])
@pytest.mark.parametrize("way", FAILING)
def test_a_proxy_that_will_not(desk: Desk, proxies: Proxies, way: str, host: str) -> None:
    """Alone, its account is a 502 of the protocol; beside another one it is passed over."""
    alone = behind(proxies, host, proxies.url(way))
    publish(desk, proxies, alone)
    for operation in OPERATIONS:
        asked = desk.ask(operation)
        assert (asked.status, asked.seen) == (502, []), asked
        assert is_native_error("B", asked.body) and asked.headers["x-trilane-error"], asked
        assert way == "refuses" or proxies.asked[-1][0] == way
    publish(desk, proxies, alone, behind(proxies, H1, proxies.url("second"), "a2", priority=1))
    for operation in OPERATIONS:
        asked = desk.ask(operation)
        assert asked.status == 200 and len(asked.seen) == 1, asked
        unseen(asked, desk, proxies)


def test_a_proxy_that_fails_is_a_connection_that_failed(desk: Desk, proxies: Proxies) -> None:
    """In the record. Nobody's certificate was wrong, so nobody shall look for one."""
    second = behind(proxies, H1, proxies.url("second"), "a2", priority=1)
    for way in FAILING:
        publish(desk, proxies, behind(proxies, H1, proxies.url(way)), second)
        assert kinds(desk.ask(OPERATIONS[0]).record()) == [("a1", "connection")], way


def test_a_proxy_that_hangs(desk: Desk, proxies: Proxies) -> None:
    """It has as long as a TLS connection has to come about, and as long as an account has to answer."""
    publish(desk, proxies, behind(proxies, H1, proxies.url("hangs")))
    asked = desk.ask(OPERATIONS[1])
    assert asked.status == 502 and is_native_error("B", asked.body), asked
    for host in (H1, PLAIN):
        first = behind(proxies, host, proxies.url("hangs"))
        second = behind(proxies, H1, proxies.url("second"), "a2", priority=1)
        publish(desk, proxies, first, second, stream_answer_seconds=3)
        asked = desk.ask(OPERATIONS[1])
        assert asked.status == 200 and kinds(asked.record()) == [("a1", "no_answer")], asked


def test_a_proxy_does_not_vouch_for_a_certificate(desk: Desk, proxies: Proxies) -> None:
    """Who is at the other end of the tunnel is checked as without one."""
    publish(desk, proxies, behind(proxies, WRONG, proxies.url("good")))
    asked = desk.ask(OPERATIONS[0])
    assert (asked.status, asked.seen) == (502, []), asked
    assert proxies.names_asked[0] == WRONG
    unseen(asked, desk, proxies)
    second = behind(proxies, H1, proxies.url("second"), "a2", priority=1)
    publish(desk, proxies, behind(proxies, WRONG, proxies.url("good")), second)
    assert kinds(desk.ask(OPERATIONS[0]).record()) == [("a1", "tls")]


def test_a_proxy_by_tls(desk: Desk, proxies: Proxies, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its certificate is checked as an account's is, against the system's authorities."""
    for name, status in [("localhost", 200), ("other.proxy.test", 502)]:
        port = proxies.serve_proxy_by_tls("good", name)
        monkeypatch.setattr(desk.stack.publisher, "options", ["--system-ca", str(proxies.authorities(name))])
        publish(desk, proxies, behind(proxies, H1, f"https://localhost:{port}"))
        asked = desk.ask(OPERATIONS[0])
        assert asked.status == status, asked
        assert len(proxies.asked) == (status == 200)
