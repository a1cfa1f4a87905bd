"""Sends requests that no decent client sends, and holds what became of each: at the client, upstream, in the ledger.

What must hold is a function of what was `Sent`: `refused`, `forwarded`, `charged`, `recorded`.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, Union

from e2e.abuse.abuse_document import CLUSTER, KEYS, LIMITED, MODELS, PRICES, key_id, key_value
from e2e.abuse.recorder import MARKER, Arrived, Recorder, Script, ok
from e2e.fresh_keys import FreshKeys
from e2e.ledger_reader import Ledger, Record
from e2e.raw import Answer, Header, Http1
from e2e.stacks import PromptStack, more_clusters
from e2e.support import credential_for

_markers = itertools.count(1)

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MESSAGES = "/v1/messages"
GENERATE = f"/v1beta/models/{MODELS['C']}:generateContent"

#: Longest line of the ledger that a request without a key may leave, in bytes.
LONGEST_LINE = 4096


# ---- Requests


@dataclasses.dataclass
class Sent:
    """A request that is over for the client."""

    desk: Desk
    name: str
    key: str
    marker: str
    method: str
    path: str
    headers: list[Header]
    body: Optional[bytes]
    #: `None` where the client left.
    answer: Optional[Answer] = None

    @property
    def status(self) -> int:
        return self.answer.status if self.answer else 0

    @property
    def code(self) -> Optional[str]:
        """The gateway's own code of a refusal."""
        return self.answer.header("x-trilane-error") if self.answer else None

    def arrived(self) -> list[Arrived]:
        """All that arrived upstream of it."""
        return self.desk.recorder.settled(self.marker)

    def only(self) -> Arrived:
        """The one request that arrived, whole."""
        found = self.arrived()
        assert len(found) == 1 and found[0].complete, f"{self}: arrived: {found}"
        return found[0]

    def record(self) -> Record:
        """Its line of the ledger."""
        found = self.desk.ledger.of_key(self.key)
        assert len(found) >= 1, f"{self}: {found}"
        return found[-1]

    def line(self) -> Record:
        """Its line, found by the answer's id: also where the gateway never looked at the key."""
        assert self.answer, self
        identity = self.answer.header("x-request-id")
        return self.desk.ledger.find({"request_id": identity})[0]

    def __repr__(self) -> str:
        body = (self.body or b"")[:300]
        return f"{self.name}: {self.method} {self.path[:300]} {body!r} by {self.key} -> {self.answer}"


#: What a client does; the usual one sends all and reads all. It gets the head ready to be sent.
Act = Callable[[Sent, Http1], Optional[Answer]]


def post(sent: Sent, client: Http1) -> None:
    """Sends the whole request."""
    length = [] if sent.body is None else [("content-length", str(len(sent.body)))]
    client.head(sent.method, sent.path, [*sent.headers, *length])
    if sent.body:
        client.send(sent.body)


def read_all(sent: Sent, client: Http1) -> Answer:
    """The usual client."""
    post(sent, client)
    return client.answer()


def leave_when_sent(sent: Sent, client: Http1) -> None:
    """Leaves once the upstream has the whole request, which it never answers."""
    sent.desk.recorder.teach(sent.marker, [threading.Event()])
    post(sent, client)
    sent.desk.recorder.wait(sent.marker, complete=True)
    client.reset()


def in_chunks(*sizes: int) -> Act:
    """Sends the body chunked, in pieces of these sizes and the rest."""

    def act(sent: Sent, client: Http1) -> Answer:
        client.head(sent.method, sent.path, [*sent.headers, ("transfer-encoding", "chunked")])
        body = sent.body or b""
        for size in sizes:
            client.chunk(body[:size])
            body = body[size:]
        if body:
            client.chunk(body)
        client.chunk(b"")
        return client.answer()

    return act


class Desk:
    """A gateway of its own, its ledger, and the upstream behind it. Each request takes a key of its own."""

    def __init__(self, run_dir: Path, document: Mapping[str, Any], recorder: Recorder) -> None:
        clusters = more_clusters(**{CLUSTER: recorder.port})
        self.stack = PromptStack(run_dir, document=document, extra_substitutions=[clusters])
        self.recorder = recorder
        self.ledger: Ledger
        self._keys = FreshKeys(key_id, key_value)

    def __enter__(self) -> Desk:
        self.stack.start()
        self.ledger = Ledger(self.stack.access_log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stack.stop()

    def new_key(self, group: str, limited: str = "") -> tuple[str, str]:
        """A key of the group that nobody has used, with the limits of that name: its id and value."""
        if limited:
            return self._keys.take(f"{group}-{limited}", LIMITED[limited][0])
        return self._keys.take(group, KEYS)

    def send(
        self,
        group: str,
        path: str,
        body: Any = None,
        *,
        name: str = "",
        method: Optional[str] = None,
        headers: Sequence[Header] = (),
        answer: Optional[Script] = None,
        act: Act = read_all,
        key: Optional[tuple[str, str]] = None,
        content_type: Optional[str] = "application/json",
        own: Optional[Sequence[Header]] = None,
    ) -> Sent:
        """Sends one request.

        `body` is bytes as they are, or JSON; `answer` is what the upstream says to it; `own` are headers in place of
        the credential, with `{key}` for the key's value, which the path may have as well.
        """
        identity, value = key or self.new_key(group)
        marker = f"case{next(_markers)}"
        self.recorder.teach(marker, [ok()] if answer is None else answer)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = credential_for(path, value).items() if own is None else list(own)
        all_headers: list[Header] = [(key, str(text).replace("{key}", value)) for key, text in given]
        all_headers += [*headers, (MARKER, marker)]
        if data is not None and content_type is not None:
            all_headers.append(("content-type", content_type))
        how = method or ("GET" if data is None else "POST")
        sent = Sent(self, name, identity, marker, how, path.replace("{key}", value), all_headers, data)
        with Http1(self.stack.base_url) as client:
            sent.answer = act(sent, client)
        return sent


# ---- What must hold

#: Holds something of a request; its assertions name the request.
Check = Callable[[Sent], None]


def refused(status: int, code: Optional[str] = None, says: str = "") -> Check:
    """The gateway says no, by this code or one of its own, and no whole request arrived upstream."""

    def check(sent: Sent) -> None:
        assert sent.status == status, sent
        assert sent.code is not None and code in (None, sent.code), f"{sent}: {sent.code}"
        assert says in (sent.answer.body.decode() if sent.answer else ""), sent
        whole = [one for one in sent.arrived() if one.complete]
        assert not whole, f"{sent}: arrived whole: {whole}"
        record = sent.line()
        assert record["trilane.outcome"] == "refused", record
        assert "trilane.charge" not in record or Decimal(record["trilane.charge"]) == 0, record

    return check


def forwarded(
    target: Optional[str] = None,
    body: Union[bytes, Callable[[bytes], bytes], None] = None,
    headers: Optional[Mapping[str, Optional[str]]] = None,
    status: int = 200,
) -> Check:
    """It arrived once and whole: with this target and body (by default as they were sent), and these headers (`None`:
    not there)."""

    def check(sent: Sent) -> None:
        assert sent.status == status and sent.code is None, sent
        arrived = sent.only()
        assert arrived.method == sent.method, f"{sent}: {arrived}"
        assert arrived.target == (sent.path if target is None else target), f"{sent}: {arrived}"
        want = body(sent.body or b"") if callable(body) else (sent.body or b"") if body is None else body
        assert arrived.body == want, f"{sent}: {arrived}"
        for name, value in (headers or {}).items():
            assert arrived.header(name) == value, f"{sent}: {name}: {arrived}"

    return check


def recorded(**members: Any) -> Check:
    """The line of the ledger has these members, dots written as `__`; `None`: it has none."""

    def check(sent: Sent) -> None:
        record = sent.record()
        for name, value in members.items():
            name = name.replace("__", ".")
            assert record.get(name) == value, f"{sent}: {name}: {record}"

    return check


def amount(record: Record) -> Decimal:
    """The charge of a line; 0 where it has none."""
    return Decimal(record.get("trilane.charge", "0"))


def charged(
    status: str, *, least: Optional[str] = None, most: Optional[str] = None, exactly: Optional[str] = None
) -> Check:
    """The line has this status of usage and a charge above 0, within these bounds."""

    def check(sent: Sent) -> None:
        record = sent.record()
        assert record["trilane.usage.status"] == status, f"{sent}: {record}"
        charge = amount(record)
        assert charge > 0, f"{sent}: {record}"
        assert least is None or charge >= Decimal(least), f"{sent}: {record}"
        assert most is None or charge <= Decimal(most), f"{sent}: {record}"
        assert exactly is None or charge == Decimal(exactly), f"{sent}: {record}"

    return check


def cost(protocol: str, factor: int = 1, **tokens: int) -> str:
    """What these tokens of the usual model cost, at `factor` times its price."""
    total = sum(Decimal(PRICES[protocol].get(kind, "0")) * count for kind, count in tokens.items())
    return str(Decimal(total) * factor / 1_000_000)
