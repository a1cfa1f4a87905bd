"""The last of these files: the metrics say what the ledger says, and every request sent has its line."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

import httpx
import pytest
from e2e.ledger.estimates import INPUT_MEMBER, OUTPUT_MEMBER, read_and_written, reported_part, text_tokens
from e2e.ledger.ledger_calls import CALLS, charge, kinds_of, prices_of, route_of
from e2e.ledger.ledger_desk import Desk
from e2e.ledger.ledger_document import FREE, SECRET
from e2e.ledger_reader import Record
from e2e.vitals import counters
from stack import COMMAND

_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
#: What one record can add to a counter of Envoy's; more is left out of the metrics.
MOST = 2**63 - 1
#: Outcome -> the statuses that it can have.
OUTCOMES = {
    "finished": {"complete", "estimated", "partial", "none"},
    "error_event": {"estimated", "partial", "failed"},
    "truncated": {"estimated", "partial"},
    "client_abort": {"estimated", "partial", "none"},
    "upstream_reset": {"estimated", "partial", "none"},
    "timeout": {"estimated", "partial", "none"},
    "upstream_error": {"failed", "none"},
    "upstream_failed": {"failed", "none"},
    "refused": {"none", "estimated", "partial"},
    "answered": {"none"},
}
Sums = Counter[tuple[str, ...]]


class Both:
    """A stack's ledger when all is over, and its metrics."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        # So that there is something to add up if this file runs alone.
        for name in ("chat", "messages, stream", "generate, array"):
            call = CALLS[name]
            desk.send({"A": "a", "B": "b", "C": "c"}[call.protocol], call.path, call.body, sim={"usage": "random"})
        self.sent = sum(desk.sent.values()) + desk.unkeyed
        self.records = desk.ledger.settle(self.sent)
        self.series: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()
        counters(desk.stack, desk.ledger, "")
        text = httpx.get(f"{desk.stack.admin_url}/stats/prometheus", trust_env=False, timeout=30).text
        for line in text.splitlines():
            if line.startswith("trilane_"):
                found = _LINE.fullmatch(line)
                assert found, line
                # Never through a float: sums of charges have more digits.
                value = int(found[3]) if found[3].isdigit() else 0
                self.series[found[1], frozenset(_LABEL.findall(found[2] or ""))] += value

    def metric(self, name: str, *labels: str) -> Sums:
        """The series of a metric, by the values of these labels."""
        found: Sums = Counter()
        for (metric, has), value in self.series.items():
            if metric == name:
                assert {label for label, _ in has} <= set(labels), f"{name} has other labels: {has}"
                found[tuple(dict(has).get(label, "") for label in labels)] += value
        return +found


@pytest.fixture(scope="module", params=["desk", "hasty_desk"])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    yield Both(request.getfixturevalue(request.param))


def filtered(both: Both) -> list[Record]:
    return [record for record in both.records if "trilane.outcome" in record]


def place(record: Record) -> tuple[str, str, str]:
    return record.get("trilane.group", ""), record.get("trilane.entry", ""), record.get("trilane.model", "")


def test_every_request_has_one_line(both: Both) -> None:
    counts = Counter(record["trilane.key.id"] for record in both.records if "trilane.key.id" in record)
    probes = counts.pop("probe", 0)
    assert counts == +both.desk.sent
    health = [r for r in both.records if r.get("url.path") == "/healthz" and r["http.response.status_code"] == 503]
    ready = [r for r in both.records if r.get("url.path") == "/healthz" and r["http.response.status_code"] == 200]
    # The stack's own: until it was ready, and once more then.
    extra = len(both.records) - both.sent - probes - len(health)
    assert extra == 1 and ready, f"{extra} lines that nobody asked for"
    identities = Counter(record["request_id"] for record in both.records if record["request_id"])
    assert max(identities.values()) == 1, identities.most_common(3)


def test_requests_and_records(both: Both) -> None:
    outcomes: Sums = Counter()
    statuses: Sums = Counter()
    rejections: Sums = Counter()
    for record in filtered(both):
        outcomes[(*place(record), record["trilane.outcome"])] += 1
        statuses[(*place(record), record["trilane.usage.status"])] += 1
        if record["trilane.outcome"] == "refused":
            rejections[record.get("trilane.group", ""), record["error.type"]] += 1
    assert both.metric("trilane_requests_total", "group", "entry", "model", "outcome") == outcomes
    assert both.metric("trilane_usage_records_total", "group", "entry", "model", "status") == statuses
    assert both.metric("trilane_rejections_total", "group", "reason") == rejections


def test_tokens_and_images(both: Both) -> None:
    tokens: Sums = Counter()
    images: Sums = Counter()
    for record in filtered(both):
        for kind, number in (kinds_of(record) or {}).items():
            if kind == "images":
                images[place(record)] += number
            else:
                tokens[(*place(record), kind)] += number if number <= MOST else 0
    assert both.metric("trilane_tokens_total", "group", "entry", "model", "kind") == +tokens
    assert both.metric("trilane_images_total", "group", "entry", "model") == +images


def test_charges(both: Both) -> None:
    """The counter adds what is rounded for each request."""
    nanos: Sums = Counter()
    for record in filtered(both):
        if "trilane.charge" in record:
            one = Decimal(record["trilane.charge"]) * 10**9
            rounded = int(one.quantize(Decimal(1), ROUND_HALF_UP))
            nanos[place(record)] += rounded if rounded <= MOST else 0
    assert both.metric("trilane_charge_nanos_total", "group", "entry", "model") == +nanos


#: Groups with charges that can be added up in 28 digits, and numbers that can be added up at all.
SUMMED = ("a", "a-asks", "a-never", "a-free", "b-low", "b-free", "c", "c-free", "mixed")
MEASURES = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "estimated_input": INPUT_MEMBER,
    "estimated_output": OUTPUT_MEMBER,
    "images": "trilane.usage.images",
}
STATUSES = ("complete", "estimated", "partial", "none", "failed")


def test_the_usage_command_adds_it_up(both: Both) -> None:
    """Estimates stand in columns of their own, and are in the totals."""
    wanted: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    charges: Counter[tuple[str, str, bool]] = Counter()
    for record in filtered(both):
        group, status = record.get("trilane.group"), record["trilane.usage.status"]
        if group in SUMMED:
            place = (group, record.get("trilane.currency", ""))
            wanted[place]["requests"] += 1
            wanted[place][status] += 1
            for name, member in MEASURES.items():
                wanted[place][name] += record.get(member, 0)
            charges[(*place, False)] += Decimal(record.get("trilane.charge", 0))
            charges[(*place, True)] += Decimal(record.get("trilane.charge", 0)) if status == "estimated" else 0
    ledger = both.desk.ledger.path
    # A group of which no line tells would be an error.
    told = sorted({group for group, _ in wanted})
    options = [option for group in told for option in ("--group", group)]
    command = [str(COMMAND), "usage", "--by", "group,currency", "--format", "json", *options, str(ledger)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    rows = {(row["group"], row["currency"]): row for row in json.loads(done.stdout)["rows"]}
    assert rows.keys() == wanted.keys()
    for place, row in rows.items():
        found = {name: row[name] for name in ("requests", *STATUSES, *MEASURES)}
        assert found == {name: wanted[place][name] for name in found}, place
        assert Decimal(row["charge"]) == charges[(*place, False)], place
        assert Decimal(row["estimated_charge"]) == charges[(*place, True)], place


def test_labels_are_of_the_document(both: Both) -> None:
    models = {model["id"] for name in "abc" for model in route_of(name, name.upper())[0]["models"]}
    for _, labels in both.series:
        assert dict(labels).get("model", "") in models | {""}, labels


def test_never_a_silent_zero(both: Both) -> None:
    """What is called complete has its numbers; what is charged has been used; each ending has its own status."""
    for record in filtered(both):
        outcome, status = record["trilane.outcome"], record["trilane.usage.status"]
        assert status in OUTCOMES[outcome], record
        kinds = kinds_of(record)
        if status == "complete":
            assert outcome == "finished" and kinds is not None, record
        if status in ("none", "failed"):
            assert kinds is None, record
        free = record.get("trilane.source") in FREE
        assert status != ("estimated" if free else "partial"), record
        if status == "estimated":
            # The request at least was read.
            assert kinds is not None and read_and_written(kinds)[0] > 0, record
            size = text_tokens(record["http.request.body.size"])
            # Forms may have parts that are no text.
            if record["trilane.endpoint"] != "images_edits":
                reported_input = read_and_written(reported_part(kinds, record) or {})[0]
                assert read_and_written(kinds)[0] == max(size, reported_input), record
        else:
            assert INPUT_MEMBER not in record and OUTPUT_MEMBER not in record, record
        assert ("error.type" in record) == (
            outcome in ("error_event", "upstream_error", "upstream_failed", "refused")
        ), record
        if "trilane.charge" in record:
            assert kinds is not None, record
        if kinds is not None and record.get("trilane.currency") != "CHF":
            source, multiplier = route_of(record["trilane.group"], record["trilane.protocol"])
            prices = prices_of(source, record["trilane.model"])
            wanted = None if prices is None else charge(kinds, prices, multiplier)
            assert record.get("trilane.charge") == wanted, record


def test_no_secret_in_the_ledger(both: Both) -> None:
    for secret in (SECRET, "sk-upstream-secret", "trilane-demo", "Bearer", "alt=sse", "?"):
        assert secret.encode() not in both.desk.ledger.raw, secret
