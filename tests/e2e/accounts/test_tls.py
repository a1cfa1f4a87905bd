"""Accounts reached by TLS: who they must be, what is negotiated with them, and that nothing leaves before that."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import Asked, Desk, AccountsStack
from e2e.ledger_reader import kinds
from e2e.accounts.document import CREDENTIAL_HEADERS, MODEL, Credentials
from e2e.accounts.operations import BY_NAME, Operation, is_native_error
from e2e.accounts.own_groups import USUAL, credential_of, document_of, group_of, headers_of, secret_headers
from e2e.accounts.tls_servers import SILENT, TlsServers
from e2e.accounts.wiretap import TLS_HANDSHAKE
from e2e.support import run_dir
from e2e.vitals import machines, stats
from stack import COMMAND

#: In the body of every request: nobody may read it on the wire.
SAID = "said in confidence"


class Tls:
    """A stack and TLS servers for its accounts."""

    def __init__(self, desk: Desk, servers: TlsServers) -> None:
        self.desk = desk
        self.servers = servers

    def account(self, group: str, name: str, url: str, **fields: Any) -> dict[str, Any]:
        """An account with a credential of its own; its `ca` is the good one's unless `fields` say otherwise."""
        file = f"{group}.{name}"
        self.desk.credentials.put(file)
        written = {"id": name, "url": url, "credential": file, "ca": str(self.servers.authority("good")), **fields}
        return {field: value for field, value in written.items() if value is not None}

    def ask(self, group: dict[str, Any], operation: Operation, **sim: Any) -> Asked:
        body = json.dumps(operation.body(MODEL[operation.protocol], SAID)).encode()
        return self.desk.ask(operation, headers=headers_of(group, operation), body=body, sim=sim)

    def secrets(self) -> list[bytes]:
        """What may be read by nobody on the way."""
        return [SAID.encode(), *(value.encode() for value in self.desk.credentials.all_values)]

    def check_wires(self) -> None:
        """On every wire was TLS from the first byte on, and nothing secret."""
        for name, tap in self.servers.taps.items():
            for said in tap.said:
                assert said[:2] in (b"", TLS_HANDSHAKE), f"{name}: {bytes(said[:200])!r}"
            found = [secret for secret in self.secrets() if secret in self.servers.said(name)]
            assert not found, f"{name}: {found}"


@pytest.fixture(scope="module")
def servers() -> Iterator[TlsServers]:
    with TlsServers(run_dir("accounts-tls-servers")) as running:
        yield running


@pytest.fixture(scope="module")
def tls(servers: TlsServers) -> Iterator[Tls]:
    """The stack's system trusts the good certificate's authority, among others."""
    directory = run_dir("accounts-tls")
    credentials = Credentials(directory / "credentials")
    bundle = directory / "bundle.crt"
    bundle.write_bytes(servers.authority("self-signed").read_bytes() + servers.authority("good").read_bytes())
    command = directory / "trilane"
    command.write_text(f'#!/bin/sh\nexec "{COMMAND}" "$@" --system-ca "{bundle}"\n')
    command.chmod(0o755)
    wanted = document_of(group_of("none", "A", [], cluster="a_official"))
    with AccountsStack(directory, document=wanted, credentials=credentials.directory, command=command) as stack:
        with Desk(stack, credentials) as desk:
            yield Tls(desk, servers)
        assert machines(stack)["wasm.trilane.vm_reload"] == 0


# ---- As it should be


@dataclasses.dataclass(frozen=True)
class Good:
    """An account that is who it should be."""

    protocol: str
    #: What the journal says of the handshake: SNI, and the protocol that was agreed on.
    handshake: tuple[Optional[str], str]
    listener: str = "good"
    host: str = "localhost"
    path: str = ""
    http: Optional[str] = None
    #: It has no `ca`: the system's.
    system: bool = False


GOOD = {
    "name": Good("A", ("localhost", "h2")),
    "auto-h1": Good("B", ("localhost", "http/1.1"), "h1", http="auto"),
    "auto-h2": Good("C", ("localhost", "h2"), "h2", http="auto"),
    "1-both": Good("B", ("localhost", "http/1.1"), http="1.1"),
    "2-both": Good("C", ("localhost", "h2"), http="2"),
    "1-h1": Good("A", ("localhost", "http/1.1"), "h1", http="1.1"),
    "2-h2": Good("B", ("localhost", "h2"), "h2", http="2"),
    "address": Good("B", (None, "h2"), host="127.0.0.1"),
    "capitals": Good("C", ("localhost", "h2"), host="LOCALHOST"),
    "system": Good("A", ("localhost", "h2"), system=True),
    "base-a": Good("A", ("localhost", "h2"), path="/base/of-its-own"),
    "base-b": Good("B", ("localhost", "http/1.1"), path="/base/of-its-own/", http="1.1"),
    "base-c": Good("C", (None, "h2"), host="127.0.0.1", path="/b"),
}


@pytest.fixture(scope="module")
def good(tls: Tls) -> dict[str, dict[str, Any]]:
    """The groups of `GOOD`, in force."""
    groups = {}
    for name, case in GOOD.items():
        url = tls.servers.url(case.listener, case.host, case.path)
        fields = {"http": case.http, **({"ca": None} if case.system else {})}
        groups[name] = group_of(name, case.protocol, [tls.account(name, "only", url, **fields)])
    tls.desk.publish(document_of(*groups.values()))
    return groups


@pytest.mark.parametrize("name", GOOD)
def test_a_good_certificate_is_accepted(tls: Tls, good: dict[str, dict[str, Any]], name: str) -> None:
    case, group = GOOD[name], good[name]
    for operation in USUAL[case.protocol]:
        # A base path is nothing that the simulator knows.
        asked = tls.ask(group, operation, **({"echo": 1} if case.path else {}))
        assert asked.status == 200, (name, asked)
        (entry,) = tls.servers.seen(asked.marker)
        found = entry["tls"]["sni"], entry["tls"]["alpn"]
        assert found == case.handshake, (name, entry)
        assert entry["version"] == ("HTTP/2" if case.handshake[1] == "h2" else "HTTP/1.1"), (name, entry)
        named = [value for header, value in entry["headers"] if header == "host"]
        hosts = [entry["authority"]] if entry["authority"] else named
        assert hosts == [tls.servers.host(case.listener, case.host)], (name, entry)
        plain_path, _ = operation.request()
        assert entry["path"] == case.path.rstrip("/") + plain_path, (name, entry)
        header, prefix = CREDENTIAL_HEADERS[case.protocol]
        value = credential_of(tls.desk.credentials, f"{name}.only")
        assert secret_headers(entry) == [(header, prefix + value)], (name, entry)
        record = asked.record()
        assert record["trilane.account"] == "only" and record["trilane.tries"] == 1, (name, record)
        assert SAID in entry["body"], (name, entry)
    tls.check_wires()


def test_an_ipv6_address(tls: Tls) -> None:
    if not tls.servers.taps["good"].has_ipv6:
        pytest.skip("this machine has no ::1")
    group = group_of("six", "B", [tls.account("six", "only", tls.servers.url("good", "[::1]"))])
    tls.desk.publish(document_of(group))
    asked = tls.ask(group, BY_NAME["messages"])
    assert asked.status == 200, asked
    (entry,) = tls.servers.seen(asked.marker)
    assert (entry["authority"], entry["tls"]["sni"]) == (tls.servers.host("good", "[::1]"), None), entry


# ---- As it should not be


@dataclasses.dataclass(frozen=True)
class Bad:
    """An account that is not who it should be, or cannot be spoken with."""

    #: How the record calls it, and what it must say of it.
    kind: str
    reason: str
    listener: str
    #: The stat of its cluster that counts it.
    stat: str
    host: str = "localhost"
    #: The certificate whose authority is its `ca`; with `None` the system's vouch for it.
    authority: Optional[str] = "good"
    http: Optional[str] = None


BAD = {
    "wrong-name": Bad("tls", "SAN_matcher", "other", "ssl.fail_verify_san", authority="other"),
    "wrong-address": Bad("tls", "SAN", "other", "ssl.fail_verify_san", host="127.0.0.1", authority="other"),
    "expired": Bad("tls", "certificate_has_expired", "expired", "ssl.fail_verify_error", authority="expired"),
    "self-signed": Bad("tls", "self_signed_certificate", "self-signed", "ssl.fail_verify_error", authority="self-signed"),
    "unknown": Bad("tls", "unable_to_get_local_issuer", "good", "ssl.fail_verify_error", authority="other"),
    "not-the-system": Bad("tls", "unable_to_get_local_issuer", "other", "ssl.fail_verify_error", authority=None),
    "no-tls": Bad("tls", "WRONG_VERSION_NUMBER", "plain", "ssl.connection_error"),
    "only-h1": Bad("tls", "NO_APPLICATION_PROTOCOL", "h1", "ssl.connection_error", http="2"),
    "only-h2": Bad("tls", "NO_APPLICATION_PROTOCOL", "h2", "ssl.connection_error", http="1.1"),
}
#: The same, with a handshake that does not end: the connection is given up after 5 s.
ALL_BAD = {**BAD, "silent": Bad("connection", "connection_timeout", SILENT, "upstream_cx_connect_timeout")}


def bad_account(tls: Tls, group: str, name: str, **fields: Any) -> dict[str, Any]:
    case = ALL_BAD[name]
    ca = str(tls.servers.authority(case.authority)) if case.authority else None
    url = tls.servers.url(case.listener, case.host)
    return tls.account(group, name, url, ca=ca, http=case.http, **fields)


@pytest.fixture(scope="module")
def alone(tls: Tls) -> dict[str, dict[str, Any]]:
    """Each bad account as the only one of its group, in force; the protocols take turns."""
    groups = {
        name: group_of(name, "ABC"[i % 3], [bad_account(tls, name, name, retries=0)]) for i, name in enumerate(ALL_BAD)
    }
    tls.desk.publish(document_of(*groups.values()))
    return groups


def test_a_bad_certificate_is_our_502(tls: Tls, alone: dict[str, dict[str, Any]]) -> None:
    cases = [(name, group, operation) for name, group in alone.items() for operation in USUAL[group["protocol"]]]
    with ThreadPoolExecutor(max_workers=len(cases)) as pool:  # the silent one takes its time
        asked = list(pool.map(lambda case: tls.ask(case[1], case[2]), cases))
    counted = stats(tls.desk.stack, r"^cluster\.account")
    for (name, group, _), one in zip(cases, asked):
        bad = ALL_BAD[name]
        assert one.status == 502 and one.headers["x-trilane-error"] == "bad_gateway", (name, one)
        assert is_native_error(group["protocol"], one.body), (name, one)
        assert tls.servers.seen(one.marker) == [], f"{name}: the request was sent"
        record = one.record()
        assert kinds(record) == [(name, bad.kind)], (name, record)
        assert bad.reason in record["trilane.upstream_failure"], (name, record)
        assert record["trilane.usage.status"] == "failed" and "trilane.charge" not in record, (name, record)
        assert counted[f"cluster.account~{name}~{name}.{bad.stat}"] > 0, (name, counted)
        assert tls.servers.taps[bad.listener].said, f"{name}: nobody came"
        # The reason is for the operator.
        assert "TLS" not in one.body.decode() and "ertificate" not in one.body.decode(), (name, one)
    tls.check_wires()


#: Bad accounts, all tried in vain before a good one; two tiers.
TOGETHER = {
    "names": ["wrong-name", "wrong-address"],
    "times": ["expired", "self-signed", "unknown", "not-the-system"],
    "words": ["no-tls", "only-h1", "only-h2"],
    "hangs": ["silent"],
}


@pytest.fixture(scope="module")
def together(tls: Tls) -> dict[str, dict[str, Any]]:
    groups = {}
    for i, (name, members) in enumerate(TOGETHER.items()):
        accounts = [bad_account(tls, name, member) for member in members]
        accounts.append(tls.account(name, "good", tls.servers.url("good"), priority=1))
        failover = {"set_aside_seconds": 1, "answer_seconds": 3, "stream_answer_seconds": 3}
        groups[name] = group_of(name, "ABC"[i % 3], accounts, failover=failover)
    tls.desk.publish(document_of(*groups.values()))
    return groups


@pytest.mark.parametrize("name", TOGETHER)
def test_another_account_is_asked(tls: Tls, together: dict[str, dict[str, Any]], name: str) -> None:
    group, members = together[name], TOGETHER[name]
    first, second = USUAL[group["protocol"]]
    for operation in (first, second):
        asked = tls.ask(group, operation)
        assert asked.status == 200, (name, asked)
        (entry,) = tls.servers.seen(asked.marker)
        assert entry["listener"] == "good", (name, entry)
        header, prefix = CREDENTIAL_HEADERS[group["protocol"]]
        value = credential_of(tls.desk.credentials, f"{name}.good")
        assert secret_headers(entry) == [(header, prefix + value)], (name, entry)
        record = asked.record()
        assert record["trilane.account"] == "good", (name, record)
        kind = {member: "no_answer" if member == "silent" else ALL_BAD[member].kind for member in members}
        failed = kinds(record)
        assert set(failed) <= set(kind.items()), (name, record)
        if operation is first:  # none was set aside yet
            assert sorted(failed) == sorted(kind.items()), (name, record)
    tls.check_wires()


# ---- Authorities


def test_authorities_are_replaced_by_a_rename(tls: Tls) -> None:
    file = tls.desk.credentials.directory / "authorities.crt"

    def put(certificate: str) -> None:
        part = file.with_suffix(".part")
        part.write_bytes(tls.servers.authority(certificate).read_bytes())
        part.replace(file)

    put("other")
    group = group_of("replaced", "B", [tls.account("replaced", "only", tls.servers.url("good"), ca=file.name)])
    tls.desk.publish(document_of(group))
    assert tls.ask(group, BY_NAME["messages"]).status == 502, "another authority"
    put("good")
    began = time.monotonic()
    while (asked := tls.ask(group, BY_NAME["messages"])).status != 200:
        assert time.monotonic() < began + 30, asked
    took = time.monotonic() - began
    assert took < 5, f"the new authority held after {took:.2f} s"
    tls.check_wires()


def test_what_the_command_says_of_tls(tls: Tls) -> None:
    url = tls.servers.url("good")
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("auto needs TLS", {"url": "http://localhost:1", "http": "auto", "ca": None}, "accounts[0].http"),
        ("a ca needs TLS", {"url": "http://localhost:1"}, "accounts[0].ca"),
        ("no such version", {"url": url, "http": "3"}, "accounts[0].http"),
        ("no such file", {"url": url, "ca": "/nowhere/ca.crt"}, "/nowhere/ca.crt"),
        ("no certificate in it", {"url": url, "ca": "b.only"}, "no certificate"),
    ]
    draft = tls.desk.stack.run_dir / "draft.json"
    for case, fields, said in cases:
        group = group_of("b", "B", [tls.account("b", "only", **fields)])
        draft.write_text(json.dumps(document_of(group)))
        command = [str(COMMAND), "render", "--check", "--document", str(draft)]
        command += ["--credentials", str(tls.desk.credentials.directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and said in done.stderr, (case, done)
