"""Sends requests to a stack with accounts, and knows what became of each: answer, tries, record."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, Union

import httpx
from e2e.accounts.accounts_journal import Entry, Journal
from e2e.ledger_reader import Ledger, Record
from e2e.accounts.document import ACCOUNT_OF, LISTENERS, Credentials, client_headers, document
from e2e.accounts.operations import Operation
from e2e.simulator import steering
from e2e.stacks import PromptStack
from stack import Stack

#: The metric that tells until when an account is ejected.
EJECTED = "trilane_account_ejected_until_timestamp_seconds"
#: How long a change may take to hold, in seconds, on a busy machine.
PATIENCE = 45.0


class AccountsStack(PromptStack):
    """Looks at its document every 50 ms as well."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        named.setdefault("lead", 0)  # a desk waits for the clusters itself
        super().__init__(*arguments, extra_substitutions=[('"tick_ms": 500', '"tick_ms": 50')], **named)


class Desk:
    """A client of one stack. Usable by several threads at once."""

    def __init__(self, stack: Stack, credentials: Credentials) -> None:
        self.stack = stack
        self.credentials = credentials
        self.journal = Journal(stack, credentials)
        self.ledger = Ledger(stack.access_log)
        limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
        self.http = httpx.Client(base_url=stack.base_url, timeout=30.0, trust_env=False, limits=limits)
        self._markers = itertools.count(1)
        self._published: Any = None
        self._settled = 0.0
        self._keys = itertools.count(10_000)
        self._publishing = threading.Lock()

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()
        self.journal.close()

    # ---- The document

    def publish(self, wanted: Mapping[str, Any]) -> None:
        """Puts a document in force, and returns when it is: its clusters in Envoy, its policy in the filter.

        Whoever is set aside stays so, unless the sources' own clusters change: with `failover`, say, or the tiers.
        """
        with self._publishing:
            if wanted == self._published:
                return
            mark = next(self._keys)
            # Only a key that was never there before tells that the filter has this very document.
            name, value = f"mark.{mark}", f"sk-client-mark-{mark}"
            marked = {**wanted, "keys": [*wanted["keys"], _mark_key(name, value, wanted["groups"][0]["id"])]}
            clusters = self.stack.upstreams_dir / "clusters" / "clusters.json"
            before, had = clusters.read_bytes(), self._taken()
            self.stack.publish(marked)
            changed = clusters.read_bytes() != before
            deadline = time.monotonic() + PATIENCE
            while True:
                now = self._taken()
                assert now[1] == had[1], f"Envoy refused clusters: {self.stack.rendered}"
                in_force = not changed or now[0] > had[0]
                if in_force and self._knows(value, wanted["groups"][0]["protocol"]):
                    break
                assert time.monotonic() < deadline, f"the document is not in force: {self.stack.rendered}"
                time.sleep(0.02)
            self._clean_up(clusters)
            self._published = wanted
            self._settled = time.monotonic() + 1.5

    def _clean_up(self, clusters: Path) -> None:
        """What the documents before left over goes, at once rather than after a while."""
        before, had = clusters.read_bytes(), self._taken()
        self.stack.clean_up()
        deadline = time.monotonic() + PATIENCE
        while clusters.read_bytes() != before and (now := self._taken())[0] <= had[0]:
            assert now[1] == had[1] and time.monotonic() < deadline, "Envoy did not take the clusters"
            time.sleep(0.01)

    def set_aside(self) -> list[tuple[str, str]]:
        """The accounts that are ejected now, to the second: source and account."""
        # Each worker's tick takes back what another document has made void.
        time.sleep(max(0.0, self._settled - time.monotonic()))
        text = self.http.get(f"{self.stack.admin_url}/stats", params={"filter": EJECTED}).text
        found = re.findall(rf"^wasmcustom\.{EJECTED};source=(.*?);account=(.*?);: (\d+)$", text, re.MULTILINE)
        there = {(group["id"], one["id"]) for group in self._published["groups"] for one in group.get("accounts", [])}
        ejected = {(source, account) for source, account, until in found if int(until) > time.time()}
        return sorted(ejected & there)

    @contextlib.contextmanager
    def clusters_without(self, *names: str) -> Iterator[None]:
        """As long as this lasts, Envoy does not have these clusters, whatever still points at them."""
        file = self.stack.upstreams_dir / "clusters" / "clusters.json"
        whole = file.read_text()
        written = json.loads(whole)
        rest = [cluster for cluster in written["resources"] if cluster["name"] not in names]
        assert len(rest) == len(written["resources"]) - len(names), names
        self._replace(file, json.dumps({**written, "resources": rest}))
        try:
            yield
        finally:
            self._replace(file, whole)

    def _replace(self, file: Path, text: str) -> None:
        before = self._taken()
        part = self.stack.run_dir / "clusters.json.part"
        part.write_text(text)
        part.replace(file)
        deadline = time.monotonic() + PATIENCE
        while (now := self._taken())[0] == before[0]:
            assert now[1] == before[1] and time.monotonic() < deadline, "Envoy did not take the clusters"
            time.sleep(0.01)

    def _taken(self) -> tuple[int, int]:
        """How often Envoy has taken, and refused, a file of clusters. Clusters that still warm up are not taken yet."""
        names = "^cluster_manager\\.(cds\\.update_(success|rejected)|warming_clusters)$"
        text = self.http.get(f"{self.stack.admin_url}/stats", params={"filter": names}).text
        found = {name.rpartition(".")[2]: int(count) for name, count in re.findall(r"^(\S+): (\d+)$", text, re.MULTILINE)}
        return found["update_success"] - (found["warming_clusters"] > 0), found["update_rejected"]

    def _knows(self, key: str, protocol: str) -> bool:
        path = "/v1beta/models" if protocol == "C" else "/v1/models"
        headers = client_headers(protocol)
        headers = {name: text if name == "anthropic-version" else key for name, text in headers.items()}
        if protocol == "A":
            headers = {"authorization": f"Bearer {key}"}
        return self.http.get(path, headers=headers).status_code == 200

    # ---- Requests

    def new_marker(self) -> str:
        return f"acc{next(self._markers)}"

    def ask(
        self,
        operation: Operation,
        *,
        model: str = "",
        key: int = 0,
        session: Optional[str] = None,
        sim: Optional[Mapping[str, Any]] = None,
        at: Optional[list[str]] = None,
        headers: Optional[Mapping[str, str]] = None,
        body: Union[bytes, Iterable[bytes], None] = None,
        timeout: float = 30.0,
    ) -> Asked:
        """Sends a request and reads all of its answer. `sim` steers the simulator, only `at` these accounts."""
        path, usual = operation.request(model)
        marker = self.new_marker()
        all_headers = self.headers(operation, marker, key, session, sim, at)
        all_headers.update(headers or {})
        asked = Asked(self, operation, marker)
        began = time.monotonic()
        try:
            content = usual if body is None else body
            response = self.http.post(path, headers=all_headers, content=content, timeout=timeout)
        except httpx.TransportError as error:
            asked.trouble = repr(error)
            return asked
        finally:
            asked.seconds = time.monotonic() - began
        asked.status, asked.headers, asked.body = response.status_code, dict(response.headers), response.content
        return asked

    def headers(
        self,
        operation: Operation,
        marker: str,
        key: int = 0,
        session: Optional[str] = None,
        sim: Optional[Mapping[str, Any]] = None,
        at: Optional[list[str]] = None,
    ) -> dict[str, str]:
        """What goes with a request."""
        all_headers = {**client_headers(operation.protocol, key), "content-type": "application/json"}
        all_headers["x-sim-marker"] = marker
        if session is not None:
            all_headers["x-session-id"] = session
        all_headers.update(steering(sim or {}))
        if at is not None:
            all_headers["x-sim-at"] = ",".join(LISTENERS[account] for account in at)
        return all_headers

    def default(self) -> None:
        """The document that the stack began with."""
        self.publish(document())


def _mark_key(name: str, value: str, group: str) -> dict[str, str]:
    return {"id": name, "sha256": hashlib.sha256(value.encode()).hexdigest(), "group": group}


class Asked:
    """A request that was sent, and what came of it."""

    def __init__(self, desk: Desk, operation: Operation, marker: str) -> None:
        self._desk = desk
        self.operation = operation
        self.marker = marker
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        #: How long the client waited for the whole answer.
        self.seconds = 0.0
        #: What the client's library says of an answer that broke.
        self.trouble: Optional[str] = None

    @property
    def request_id(self) -> str:
        return self.headers.get("x-request-id", "")

    @property
    def seen(self) -> list[Entry]:
        """What the accounts have seen of it, in order."""
        return self._desk.journal.of(self.marker)

    @property
    def tried(self) -> list[str]:
        """The accounts that have seen it, in order."""
        return [ACCOUNT_OF[entry["listener"]] for entry in self.seen]

    @property
    def plain_body(self) -> bytes:
        """The body without the number that the simulator gave the request."""
        number = self.request_id.removeprefix("sim-")
        return re.sub(rf"sim{number}(?![0-9])".encode(), b"sim#", self.body) if number.isdigit() else self.body

    def record(self) -> Record:
        """Its line in the ledger."""
        assert self.request_id, f"no answer, no id: {self}"
        return self._desk.ledger.of_request(self.request_id)

    def __repr__(self) -> str:
        head = f"{self.operation.name} {self.marker} -> {self.status} {self.trouble or ''}"
        return f"<{head} {self.headers} {self.body[:300]!r}>"
