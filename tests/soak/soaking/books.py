"""The books: what a client saw, what the upstream issued and what the ledger says of the same request, joined."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import Counter, defaultdict
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Optional

from .accounts import SECRET, kind_of
from .documents import ACCOUNTS, KINDS, source_of
from .estimates import reported
from .limited import Admitted, Limited, Spending, refused_by
from .rules import usage_of, violations
from .seen import Seen
from .shapes import Plan
from .sources import Entry
from .tries import BY_STATUS, credential, outcomes, reached

#: A record that names an upstream, yet none has seen the request: after so many seconds none will.
GIVE_UP = 8.0
Line = dict[str, Any]


@dataclasses.dataclass
class Exchange:
    """One request, from all sides."""

    plan: Plan
    uid: str = ""
    seen: Optional[Seen] = None
    entries: list[Entry] = dataclasses.field(default_factory=list)
    line: Optional[Line] = None
    line_at: float = 0.0


class Tally:
    """What the ledger's lines add up to, under the labels of the metrics."""

    def __init__(self) -> None:
        self.lines = 0
        #: Metric -> labels -> value.
        self.metrics: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self.charge = Decimal(0)
        self.spending = Spending()
        self.admitted = Admitted()

    def add(self, line: Line) -> None:
        """One line."""
        self.lines += 1
        if "trilane.outcome" not in line:
            return  # the filter has not seen it
        for account, outcome in outcomes(line):
            self.metrics["account_tries_total"][line["trilane.source"], account, outcome] += 1
        group = line.get("trilane.group", "")
        labels = (group, line.get("trilane.entry", ""), line.get("trilane.model", ""))
        count = self.metrics
        count["requests_total"][(*labels, line["trilane.outcome"])] += 1
        count["usage_records_total"][(*labels, line["trilane.usage.status"])] += 1
        if line["trilane.outcome"] == "refused":
            count["rejections_total"][group, line.get("error.type", "")] += 1
        by = refused_by(line)
        if by:
            count["limited_total"][group, by[1], by[0]] += 1
        self.spending.add(line)
        self.admitted.add(line)
        usage = usage_of(line)
        if usage:
            # The simulator issues them as output; the gateway tells them apart.
            pictures = line.get("trilane.usage.image.output_tokens", 0)
            for kind, tokens in {**usage, "output": usage["output"] - pictures, "output_image": pictures}.items():
                if tokens and kind != "images":
                    count["tokens_total"][(*labels, kind)] += tokens
            if usage["images"]:
                count["images_total"][labels] += usage["images"]
        if "trilane.charge" in line:
            charge = Decimal(line["trilane.charge"])
            self.charge += charge
            nanos = int((charge * 10**9).quantize(Decimal(1), ROUND_HALF_UP))
            if nanos:
                count["charge_nanos_total"][labels] += nanos
                if line["trilane.usage.status"] == "estimated":
                    count["estimated_charge_nanos_total"][labels] += nanos


class Books:
    """All that was entered and does not balance yet, and the sums of all that did."""

    def __init__(self, versions: list[tuple[float, int]]) -> None:
        """`versions` are the documents published so far, with the time; it grows."""
        self._versions = versions
        self._open: dict[str, Exchange] = {}
        self._by_uid: dict[str, Exchange] = {}
        self._lines: dict[str, Line] = {}
        self._nameless: list[Line] = []
        self._waiting: dict[str, Exchange] = {}
        self.tally = Tally()
        self.sent = 0
        self.settled = 0
        self.before = 0
        self.differences: list[str] = []
        self.found = 0
        #: Ending -> (outcome, status) -> how many.
        self.endings: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        #: Of the complete records: tokens by kind as issued and as recorded; charges as computed and as recorded.
        self.complete = 0
        self.issued: Counter[str] = Counter()
        self.recorded: Counter[str] = Counter()
        self.computed = Decimal(0)
        self.charged = Decimal(0)
        #: Of all requests that reached the upstream.
        self.entries = 0
        self.entries_issued: Counter[str] = Counter()
        #: Failures that accounts gave themselves, as the metrics count them.
        self.failed: Counter[tuple[str, ...]] = Counter()
        self.versions_seen: set[int] = set()
        self.limited = Limited()

    def differ(self, text: str) -> None:
        """Something does not balance."""
        self.found += 1
        if len(self.differences) < 20:
            self.differences.append(text)

    # ---- Entering

    def open(self, plan: Plan) -> None:
        """A client begins."""
        self.sent += 1
        self._open[plan.marker] = Exchange(plan)

    def client(self, plan: Plan, seen: Seen) -> None:
        """A client is done."""
        exchange = self._open[plan.marker]
        exchange.seen = seen
        self.limited.client(seen.status, seen.error)
        if seen.uid:
            self._link(exchange, seen.uid)
        self._settle(exchange)

    def upstream(self, entry: Entry) -> None:
        """The upstream is done."""
        self.entries += 1
        self.entries_issued.update(entry.issued or {})
        exchange = self._open.get(entry.marker)
        if exchange is None:
            self.differ(f"the upstream has one request more than was sent: sim-{entry.number} {entry}")
            return
        exchange.entries.append(entry)
        exchange.entries.sort(key=lambda entry: entry.number)
        self._at_account(exchange.plan, entry)
        self._link(exchange, entry.uid)
        self._settle(exchange)

    def _at_account(self, plan: Plan, entry: Entry) -> None:
        for wrong in credential(plan, entry):
            self.differ(f"{plan.marker} {wrong}: {entry}")
        source, kind = source_of(plan.group, plan.protocol), kind_of(entry.status)
        for account in ACCOUNTS.get(source, {}).values():
            if account.listener == entry.listener and kind in BY_STATUS:
                self.failed[source, account.id, kind] += 1

    def record(self, raw: bytes, *, joined: bool = True) -> None:
        """A line of the ledger. Those of before the first request are not `joined`."""
        try:
            line = json.loads(raw)
            uid = line["request_id"]
        except (ValueError, KeyError, TypeError):
            self.differ(f"no ledger line: {raw[:2000]!r}")
            return
        if SECRET.encode() in raw:
            self.differ(f"a credential in the ledger: {raw.decode()}")
        self.tally.add(line)
        if not joined:
            self.before += 1
            return
        if not uid:
            # Envoy refuses some requests before it gives them an id. Such lines can only be counted.
            self._nameless.append(line)
            return
        exchange = self._by_uid.get(uid)
        if uid in self._lines or (exchange and exchange.line):
            self.differ(f"two records of one request: {raw.decode()}")
        elif exchange is None:
            self._lines[uid] = line
        else:
            self._has_line(exchange, line)

    def _link(self, exchange: Exchange, uid: str) -> None:
        if exchange.uid:
            if exchange.uid != uid:
                self.differ(f"one request has two ids: {exchange.uid}, {uid}: {exchange.plan.marker}")
            return
        exchange.uid = uid
        self._by_uid[uid] = exchange
        line = self._lines.pop(uid, None)
        if line is not None:
            self._has_line(exchange, line)

    def _has_line(self, exchange: Exchange, line: Line) -> None:
        exchange.line, exchange.line_at = line, time.monotonic()
        self._settle(exchange)

    # ---- Balancing

    def _settle(self, exchange: Exchange, *, anyway: bool = False) -> None:
        seen, line, entries = exchange.seen, exchange.line, exchange.entries
        if seen is None or line is None or exchange.plan.marker not in self._open:
            return
        if len(entries) < reached(line) and not anyway:
            self._waiting[exchange.uid] = exchange
            return
        plan = exchange.plan
        self._waiting.pop(exchange.uid, None)
        del self._open[plan.marker], self._by_uid[exchange.uid]
        self.settled += 1
        outcome, status = line.get("trilane.outcome", "(Envoy)"), line.get("trilane.usage.status", "")
        self.endings[plan.ending][outcome, status] += 1
        self.limited.record(line, was_read=bool(seen.status))
        wrong, version, computed = violations(plan, seen, entries, line, self._versions)
        if wrong:
            self.differ(_told("; ".join(wrong), exchange))
        if version is not None:
            self.versions_seen.add(version)
        if status == "complete":
            self.complete += 1
            if entries:
                self.issued.update(entries[-1].issued or {})
            self.recorded.update(usage_of(line) or {})
            self.computed += computed or 0
            self.charged += Decimal(line.get("trilane.charge", 0))

    def sweep(self, *, anyway: bool = False) -> None:
        """Balances the records whose upstream never heard of them."""
        now = time.monotonic()
        for exchange in list(self._waiting.values()):
            if anyway or now - exchange.line_at > GIVE_UP:
                self._settle(exchange, anyway=True)

    def close(self) -> None:
        """What is left cannot be joined: clients that left before anyone could tell them apart. Their number can."""
        self.sweep(anyway=True)
        self._close_nameless()
        left: Counter[tuple[str, str]] = Counter()
        lines: Counter[tuple[str, str]] = Counter()
        for exchange in self._open.values():
            seen, plan = exchange.seen, exchange.plan
            if exchange.uid or exchange.line or seen is None or not seen.left or seen.status:
                self.differ(_told("no record" if exchange.line is None else "no end", exchange))
                continue
            left[plan.method, plan.path.partition("?")[0]] += 1
        for line in self._lines.values():
            lines[line.get("http.request.method", ""), line.get("url.path", "")] += 1
            outcome, status = line.get("trilane.outcome"), line.get("trilane.usage.status")
            ends = (("client_abort", "none"), ("client_abort", "estimated"))
            if refused_by(line):
                ends = (("refused", "none"),)
                self.limited.record(line, was_read=False)
            usage = usage_of(line)
            told = any(reported(usage, line).values()) if usage else False
            if (outcome, status) not in ends or told:
                self.differ(f"a record of no known request: {json.dumps(line)}")
            self.endings["client leaves, unseen upstream"][str(outcome), str(status)] += 1
        self.settled += min(sum(left.values()), sum(lines.values()))
        for key in left.keys() | lines.keys():
            if left[key] != lines[key]:
                self.differ(f"{key}: {left[key]} clients left unseen, {lines[key]} records")
        for text in [*self.tally.spending.wrong(), *self.tally.admitted.wrong(), *self.limited.wrong()]:
            self.differ(text)

    def _close_nameless(self) -> None:
        refused = [ex for ex in self._open.values() if ex.plan.ending == "refused by Envoy" and ex.seen and not ex.line]
        for exchange, line in zip(refused, self._nameless):
            exchange.line, exchange.uid = line, exchange.plan.marker
            self._by_uid[exchange.uid] = exchange
            self._settle(exchange)
        for line in self._nameless[len(refused) :]:
            self.differ(f"a record of no known request: {json.dumps(line)}")

    @property
    def pending(self) -> int:
        """Requests whose books are still open."""
        return len(self._open)


def _told(wrong: str, exchange: Exchange) -> str:
    plan = exchange.plan
    request = {
        "marker": plan.marker,
        "ending": f"{plan.ending} ({plan.detail})" if plan.detail else plan.ending,
        "request": f"{plan.method} {plan.path}",
        "headers": {name: value for name, value in plan.headers if name.startswith("x-sim")},
        "body": plan.body[:200].decode("latin-1"),
    }
    return (
        f"{wrong}\n    request  {json.dumps(request)}\n    client   {exchange.seen}\n    upstream {exchange.entries}"
        f"\n    record   {json.dumps(exchange.line)}"
    )


def zeros(counter: Counter[str]) -> dict[str, int]:
    """All kinds, in their order."""
    return {kind: counter[kind] for kind in KINDS}
