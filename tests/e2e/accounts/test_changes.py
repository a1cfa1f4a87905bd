"""The document's accounts change while requests and streams run: none of them fails, and no stream breaks.

A change is a `Stack.publish`: rendered first, then published. Every request is checked at the account: it had that
account's credential, before the change or after it.
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.accounts.accounts_desk import Desk, AccountsStack
from e2e.accounts.document import ACCOUNT_OF, CREDENTIAL_HEADERS, MODEL, PORTS, Credentials
from e2e.accounts.operations import BY_NAME, Operation
from e2e.accounts.own_groups import Group, credential_of, document_of, group_of, headers_of, secret_headers
from e2e.support import run_dir
from e2e.vitals import machines, stats
from stack import COMMAND, SOURCES, WASM

#: Requests a second, who sends them, streams at any time, and events of a stream with the pause behind each.
RATE = 60
CLIENTS = 6
STREAMS = 4
EVENTS, GAP_MS = 12, 40

Document = dict[str, Any]


def account(group: str, name: str, **fields: Any) -> dict[str, Any]:
    written = {"id": name, "url": f"http://upstream:{PORTS[name]}", "credential": f"{group}.{name}", **fields}
    return {field: value for field, value in written.items() if value is not None}


def beginning() -> Document:
    """Three accounts in two tiers, one alone, one cluster of `envoy.yaml`, and a group over all of them."""
    many = [account("many", "a1"), account("many", "a2"), account("many", "a3", priority=1)]
    groups = [
        group_of("many", "B", many, failover={"set_aside_seconds": 1}),
        group_of("one", "A", [account("one", "a4")]),
        group_of("by-hand", "C", [], cluster="c_official"),
    ]
    entries = {
        "responses": {"source": "one"},
        "vb_messages": {"source": "many"},
        "vc_generate_content": {"source": "by-hand"},
    }
    entry_of = dict(zip(("A", "B", "C"), entries))
    models = [{"id": MODEL[protocol], "entry": entry} for protocol, entry in entry_of.items()]
    groups.append({"id": "mixed", "protocol": "Mixed", "entries": entries, "models": models})
    return document_of(*groups)


def group(document: Document, name: str) -> dict[str, Any]:
    return next(group for group in document["groups"] if group["id"] == name)


# ---- What goes on meanwhile

#: What is asked with the key of a group; the last one also as a stream.
OPERATIONS = {
    "many": [BY_NAME["messages"]],
    "one": [BY_NAME["chat"], BY_NAME["responses"]],
    "by-hand": [BY_NAME["generate"]],
    "mixed": [BY_NAME["responses"], BY_NAME["generate"], BY_NAME["messages"]],
}


class Traffic:
    """Requests and streams, without a pause, until it is stopped. Each is as it should be or is told."""

    def __init__(self, desk: Desk, *groups: str, gone: bool = False) -> None:
        """`gone`: the groups may go meanwhile, and their keys be refused."""
        self.desk = desk
        self._good = (200, 401) if gone else (200,)
        self.use(*groups)
        self.requests = 0
        self.streams = 0
        self.trouble: list[str] = []
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._http = httpx.Client(base_url=desk.stack.base_url, timeout=30.0, trust_env=False)
        self._threads: list[threading.Thread] = []

    def use(self, *names: str) -> None:
        """From now on the keys of these groups."""
        self.groups = names

    def __enter__(self) -> Traffic:
        self._threads = [threading.Thread(target=self._ask, args=(i,), daemon=True) for i in range(CLIENTS)]
        self._threads += [threading.Thread(target=self._stream, args=(i,), daemon=True) for i in range(STREAMS)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._http.close()

    def wait(self, requests: int = 20) -> None:
        """Until so many more requests, and all streams that run now, have come to their end."""
        requests, streams = self.requests + requests, self.streams + STREAMS
        deadline = time.monotonic() + 120
        while self.requests < requests or self.streams < streams:
            assert time.monotonic() < deadline and not self.trouble, (self.requests, self.streams, self.trouble[:3])
            time.sleep(0.02)

    def _ask(self, number: int) -> None:
        count, due = number, time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            count, due = count + 1, due + CLIENTS / RATE
            groups = self.groups
            wanted = {"id": groups[count % len(groups)]}
            operations = OPERATIONS[wanted["id"]]
            operation = operations[count // len(groups) % len(operations)]
            path, body = operation.request()
            headers = self._headers(wanted, operation, f"session-{count % 17}")
            try:
                answer = self._http.post(path, headers=headers, content=body)
                ok = answer.status_code in self._good
                self._note(ok, f"{wanted['id']} {operation.name}: {answer.status_code} {answer.headers} {answer.text[:200]}")
            except httpx.HTTPError as error:
                self._note(False, f"{wanted['id']} {operation.name}: {error!r}")

    def _stream(self, number: int) -> None:
        count = number
        while not self._over.is_set():
            count += 1
            groups = self.groups
            wanted = {"id": groups[count % len(groups)]}
            trouble = self.stream(wanted, f"stream-{count}")
            with self._lock:
                self.streams += 1
                self.trouble += [trouble] if trouble else []

    def stream(self, wanted: Group, session: str, begun: Callable[[], None] = lambda: None, gap_ms: int = GAP_MS) -> str:
        """Reads one stream; says what was wrong with it."""
        operation = BY_NAME[f"{OPERATIONS[wanted['id']][-1].name}-stream"]
        path, body = operation.request()
        headers = self._headers(wanted, operation, session)
        headers |= {"x-sim-events": str(EVENTS), "x-sim-gap-ms": str(gap_ms)}
        where = f"stream of {wanted['id']}"
        text = ""
        try:
            with self._http.stream("POST", path, headers=headers, content=body) as answer:
                for piece in answer.iter_text():
                    if not text:
                        begun()
                    text += piece
                if answer.status_code == 401 and 401 in self._good:
                    return ""
                if answer.status_code != 200:
                    return f"{where}: {answer.status_code} {text[:200]}"
        except httpx.HTTPError as error:
            return f"{where}: {error!r} after {len(text)} characters"
        events = [event for event in text.replace("\r\n", "\n").split("\n\n") if event]
        ends = {"B": "message_stop", "A": "response.completed", "C": "STOP"}
        whole = len(events) >= EVENTS and ends[operation.protocol] in events[-1]
        return "" if whole else f"{where}: {len(events)} events, the last is {events[-1:]}"

    def _headers(self, wanted: Group, operation: Operation, session: str) -> dict[str, str]:
        version = {"anthropic-version": "2023-06-01"} if operation.protocol == "B" else {}
        return {**headers_of(wanted, operation), **version, "content-type": "application/json", "x-session-id": session}

    def _note(self, ok: bool, what: str) -> None:
        with self._lock:
            self.requests += 1
            if not ok:
                self.trouble.append(what)


# ---- What accounts may see


class Watch:
    """Checks every request that reached an account: only the credential of one that is there, or was until now."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._last = max((entry["id"] for entry in self._entries()), default=0)
        self._allowed: list[set[tuple[str, tuple[str, str]]]] = [set()]
        self.checked = 0
        #: The pairs of listener and credential that were used since the last check.
        self.used: set[tuple[str, tuple[str, str]]] = set()

    def expects(self, document: Document) -> None:
        """This document is about to be published."""
        ports = {f"http://upstream:{port}": source for source, port in SOURCES.items()}
        allowed = set()
        for each in document["groups"]:
            for written in each.get("accounts", []):
                header, prefix = CREDENTIAL_HEADERS[each["protocol"]]
                value = credential_of(self._desk.credentials, written["credential"])
                allowed.add((ports[written["url"]], (header, prefix + value)))
        self._allowed.append(allowed)

    def check(self) -> None:
        """Of the last two documents' accounts."""
        allowed = set().union(*self._allowed)
        entries = [entry for entry in self._entries() if entry["id"] > self._last]
        self.used = set()
        for entry in entries:
            found = secret_headers(entry)
            assert len(found) == 1 or not found and entry["path"].startswith("/v1beta/"), entry
            pairs = {(entry["listener"], pair) for pair in found}
            assert pairs <= allowed, f"{pairs - allowed} at {entry['path']}"
            self.used |= pairs
        self._last = entries[-1]["id"] if entries else self._last
        self._allowed = self._allowed[-1:]
        self.checked += len(entries)

    def _entries(self) -> list[dict[str, Any]]:
        return httpx.get(f"{self._desk.stack.sim_url}/_sim/requests", timeout=20.0, trust_env=False).json()


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    directory = run_dir("accounts-changes")
    shutil.rmtree(directory / "credentials", ignore_errors=True)
    credentials = Credentials(directory / "credentials")
    for name in ACCOUNT_OF.values():
        for each in ("many", "one"):
            credentials.put(f"{each}.{name}")
    # Requests go on while documents change.
    with AccountsStack(directory, document=beginning(), credentials=credentials.directory, lead=1) as stack:
        with Desk(stack, credentials) as running:
            yield running
            assert machines(stack)["wasm.trilane.vm_reload"] == 0


# ---- Changes

#: What a change does to the document, one upon the other.
Change = Callable[[Document, Credentials], None]


def _accounts(document: Document, name: str = "many") -> list[dict[str, Any]]:
    return group(document, name)["accounts"]


def add_an_account(document: Document, _: Credentials) -> None:
    _accounts(document).append(account("many", "a4", priority=1))


def remove_an_account(document: Document, _: Credentials) -> None:
    del _accounts(document)[0]


def put_it_back(document: Document, _: Credentials) -> None:
    _accounts(document).insert(0, account("many", "a1"))


def change_weights(document: Document, _: Credentials) -> None:
    for i, each in enumerate(_accounts(document)):
        each["weight"] = 1 + 5 * i


def change_priorities(document: Document, _: Credentials) -> None:
    for i, each in enumerate(_accounts(document)):
        each["priority"] = 3 - i % 2


def all_in_one_tier(document: Document, _: Credentials) -> None:
    for each in _accounts(document):
        each.pop("priority", None)


def change_addresses(document: Document, _: Credentials) -> None:
    """Each account is where the next one was: what goes to the new place with the old credential is found."""
    urls = [each["url"] for each in _accounts(document)]
    for each, url in zip(_accounts(document), urls[1:] + urls[:1]):
        each["url"] = url
    _accounts(document, "one")[0]["url"] = "http://upstream:9102"


def swap_credential_files(document: Document, _: Credentials) -> None:
    first, second, *_rest = _accounts(document)
    first["credential"], second["credential"] = second["credential"], first["credential"]


def another_credential_and_name(document: Document, credentials: Credentials) -> None:
    credentials.put("many.new")
    _accounts(document)[0]["credential"] = "many.new"
    _accounts(document, "one")[0]["id"] = "renamed"


def change_failover(document: Document, _: Credentials) -> None:
    group(document, "many")["failover"] = {
        "tries": 2, "answer_seconds": 30, "stream_answer_seconds": 9, "total_seconds": 40, "failures": 3, "set_aside_seconds": 2,
    }  # fmt: skip


def speak_http_2(document: Document, _: Credentials) -> None:
    for each in [*_accounts(document), *_accounts(document, "one")]:
        each["http"] = "2"


def one_becomes_two(document: Document, _: Credentials) -> None:
    _accounts(document, "one").append(account("one", "a3"))


def two_become_one(document: Document, _: Credentials) -> None:
    del _accounts(document, "one")[0]


def another_cluster_by_hand(document: Document, _: Credentials) -> None:
    group(document, "by-hand")["cluster"] = "b_low_rate"


def a_cluster_becomes_accounts(document: Document, _: Credentials) -> None:
    changed = group(document, "by-hand")
    del changed["cluster"]
    changed["accounts"] = [account("one", "a1"), account("one", "a2")]


CHANGES: list[Change] = [
    add_an_account, remove_an_account, put_it_back, change_weights, change_priorities, all_in_one_tier, change_addresses,
    swap_credential_files, another_credential_and_name, change_failover, speak_http_2, one_becomes_two, two_become_one,
    another_cluster_by_hand, a_cluster_becomes_accounts,
]  # fmt: skip


def test_no_change_costs_a_request(desk: Desk) -> None:
    document, watch = beginning(), Watch(desk)
    watch.expects(document)
    with Traffic(desk, *OPERATIONS) as traffic:
        traffic.wait()
        for change in CHANGES:
            document = copy.deepcopy(document)
            change(document, desk.credentials)
            watch.expects(document)
            desk.publish(document)
            traffic.wait()
            assert not traffic.trouble, f"{change.__name__}: {traffic.trouble[:3]}"
            watch.check()
            assert watch.used, change.__name__
    # Whatever had begun was brought to its end.
    assert not traffic.trouble, traffic.trouble[:3]
    print(f"{len(CHANGES)} changes, {traffic.requests} requests, {traffic.streams} streams; {watch.checked} seen by accounts")
    _nothing_is_left_behind(desk, document)


def _nothing_is_left_behind(desk: Desk, document: Document) -> None:
    """Files and clusters are those of the last document alone."""
    names = {f"{each['id']}.{one['id']}.json" for each in document["groups"] for one in each.get("accounts", [])}
    written = {file.name for file in (desk.stack.upstreams_dir / "secrets").iterdir()}
    assert written == names
    clusters = json.loads((desk.stack.upstreams_dir / "clusters" / "clusters.json").read_text())["resources"]
    wanted = {*SOURCES, "config_source", "account/hop", *(cluster["name"] for cluster in clusters)}
    deadline = time.monotonic() + 5
    with httpx.Client(base_url=desk.stack.admin_url, trust_env=False) as admin:
        while True:
            known = {cluster["name"] for cluster in admin.get("/clusters?format=json").json()["cluster_statuses"]}
            if known == wanted:
                return
            assert time.monotonic() < deadline, known ^ wanted


def test_accounts_give_way_to_a_cluster_by_hand(desk: Desk) -> None:
    """Their clusters are needed for as long as the filter has the old document."""
    before, after = beginning(), beginning()
    by_hand = group(before, "by-hand")
    del by_hand["cluster"]
    by_hand["accounts"] = [account("one", "a1"), account("one", "a2")]
    with Traffic(desk, "by-hand") as traffic:
        for document in (before, after) * 3:
            desk.publish(document)
            traffic.wait()
    assert not traffic.trouble, traffic.trouble[:3]


def test_requests_of_a_group_that_goes_are_answered_or_refused(desk: Desk) -> None:
    """A key that is known has an upstream: 200 before, 401 behind, and nothing between."""
    whole, rest = beginning(), _without(beginning(), "many", "mixed")
    for _ in range(3):
        desk.publish(whole)
        with Traffic(desk, "many", "mixed", gone=True) as traffic:
            time.sleep(0.2)
            desk.publish(rest)
        assert not traffic.trouble, traffic.trouble[:3]


def _without(document: Document, *gone: str) -> Document:
    groups = [each for each in document["groups"] if each["id"] not in gone]
    keys = [key for key in document["keys"] if key["group"] not in gone]
    return {**document, "groups": groups, "keys": keys}


def test_a_group_goes_and_comes_back(desk: Desk) -> None:
    whole = beginning()
    rest = _without(whole, "many", "mixed")  # the mixed one leads there
    desk.publish(whole)
    watch = Watch(desk)
    watch.expects(whole)
    with Traffic(desk, "one", "by-hand") as traffic:
        # Streams of the group that goes, begun before and read to the end behind its removal.
        begun, ended = threading.Semaphore(0), []

        def last_stream(number: int) -> None:
            ended.append(traffic.stream({"id": "many"}, f"last-{number}", begun.release, gap_ms=4 * GAP_MS))

        last = [threading.Thread(target=last_stream, args=(number,)) for number in range(STREAMS)]
        for thread in last:
            thread.start()
        for _ in last:
            assert begun.acquire(timeout=10)
        desk.publish(rest)
        still = sum(thread.is_alive() for thread in last)
        for thread in last:
            thread.join()
        assert ended == [""] * STREAMS, ended
        assert still, "the streams were over before the group was gone"
        refused = desk.ask(BY_NAME["messages"], headers=headers_of({"id": "many"}, BY_NAME["messages"]))
        assert refused.status == 401 and refused.seen == [], refused
        traffic.wait()
        desk.publish(whole)
        # At once: what `publish` waits for is all that is needed.
        traffic.use(*OPERATIONS)
        traffic.wait(60)
    assert not traffic.trouble, traffic.trouble[:3]
    watch.check()


# ---- A cluster by hand


def test_a_cluster_by_hand_is_as_it_was(desk: Desk) -> None:
    desk.publish(beginning())
    wanted = {
        "responses": ("one", "a4", "c_official"),
        "messages": ("many", None, None),
        "generate": ("by-hand", None, "c_official"),
    }
    for name, (source, account_, listener) in wanted.items():
        operation = BY_NAME[name]
        for key in (source, "mixed"):
            asked = desk.ask(operation, headers=headers_of({"id": key}, operation))
            assert asked.status == 200, (name, key, asked)
            (entry,) = asked.seen
            record = asked.record()
            assert record["trilane.source"] == source and record["trilane.group"] == key, record
            if source == "by-hand":
                assert secret_headers(entry) == [] and "trilane.account" not in record, (entry, record)
            else:
                assert len(secret_headers(entry)) == 1 and record["trilane.account"] == (account_ or record["trilane.account"])
            assert listener in (None, entry["listener"]), entry


# ---- The command


def _state(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Every file and directory: whether one was replaced, written to, or got or lost an entry."""
    found = [directory, *directory.rglob("*")]
    return {str(each): (each.stat().st_ino, each.stat().st_mtime_ns, each.stat().st_ctime_ns) for each in found}


def _render(desk: Desk, document: Document, *options: str) -> subprocess.CompletedProcess[str]:
    """As `Stack` does it, into the directory that Envoy watches."""
    text = json.dumps(document)
    for source, port in SOURCES.items():
        text = text.replace(f'"http://upstream:{port}', f'"http://{desk.stack.sims[source]}')
    draft = desk.stack.run_dir / "draft.json"
    draft.write_text(text)
    command = [str(COMMAND), "render", "--document", str(draft), "--out", str(desk.stack.upstreams_dir)]
    command += ["--credentials", str(desk.credentials.directory), "--filter", str(WASM), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_renames_nothing_that_is_as_it_should_be(desk: Desk) -> None:
    document = beginning()
    desk.publish(document)
    before, taken = _state(desk.stack.upstreams_dir), _taken(desk)
    done = _render(desk, document)
    assert done.returncode == 0 and "nothing to change" in done.stdout, done
    assert _state(desk.stack.upstreams_dir) == before
    desk.stack.publish(document)
    assert _state(desk.stack.upstreams_dir) == before

    changed = copy.deepcopy(document)
    change_weights(changed, desk.credentials)
    _accounts(changed, "one")[0]["id"] = "other"
    done = _render(desk, changed, "--check")
    assert done.returncode == 0 and "would write" in done.stdout and "would remove" in done.stdout, done
    assert _state(desk.stack.upstreams_dir) == before, "--check writes nothing"
    assert _taken(desk) == taken, "Envoy was given nothing new"


def _taken(desk: Desk) -> dict[str, int]:
    return stats(desk.stack, r"^cluster_manager\.(cds\.update_(success|rejected|failure)|cluster_(added|modified|removed))$")


#: What makes a document a bad one.
BAD: dict[str, Change] = {
    "no address": lambda document, _: _accounts(document)[0].update(url="ftp://upstream:9101"),
    "one id twice": lambda document, _: _accounts(document)[1].update(id=_accounts(document)[0]["id"]),
    "no credential's directory": lambda document, _: _accounts(document)[0].update(credential="nowhere/key"),
    "not a credential": lambda document, credentials: _spoilt(document, credentials),
    "no such header": lambda document, _: _accounts(document)[0].update(header="cookie"),
    "a cluster as well": lambda document, _: group(document, "many").update(cluster="b_official"),
    "no such field": lambda document, _: _accounts(document)[0].update(passwort="x"),
}


def _spoilt(document: Document, credentials: Credentials) -> None:
    credentials.put("many.spoilt", "two words")
    _accounts(document)[0]["credential"] = "many.spoilt"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_document_changes_nothing(desk: Desk, name: str) -> None:
    good = beginning()
    desk.publish(good)
    before, taken = _state(desk.stack.upstreams_dir), _taken(desk)
    bad = copy.deepcopy(good)
    remove_an_account(bad, desk.credentials)  # nor does what is right in it
    BAD[name](bad, desk.credentials)
    done = _render(desk, bad)
    assert done.returncode == 1 and "groups[0]" in done.stderr + done.stdout, done
    desk.stack.publish(bad)
    assert "error: " in desk.stack.rendered and "nothing was written" in desk.stack.rendered, desk.stack.rendered
    assert _state(desk.stack.upstreams_dir) == before
    assert _taken(desk) == taken
    for operation, key in ((BY_NAME["messages"], "many"), (BY_NAME["responses"], "one"), (BY_NAME["generate"], "mixed")):
        asked = desk.ask(operation, headers=headers_of({"id": key}, operation))
        assert asked.status == 200, (name, asked)
    desk.stack.publish(good)
