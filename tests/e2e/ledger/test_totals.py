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
from e2e.ledger.ledger_calls import CALLS
from e2e.ledger.ledger_desk import Desk
from e2e.ledger.ledger_document import MODELS, SECRET
from e2e.ledger_reader import Record
from e2e.vitals import counters
from stack import COMMAND

_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
Sums = Counter[tuple[str, ...]]


class Both:
    """A stack's ledger when all is over, and its metrics."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        # So that there is something to add up if this file runs alone.
        for name in ("chat", "messages, stream", "generate, array"):
            call = CALLS[name]
            desk.send(call.group, call.path, call.body, sim={"usage": "random"})
        with httpx.Client(base_url=desk.stack.base_url, trust_env=False) as client:
            self.probed = [client.get("/healthz").status_code, client.head("/").status_code]
            # A client's own word makes no probe of a request.
            assert client.get("/v1/models", headers={"x-trilane-probe": "1"}).status_code == 401
        desk.unkeyed += 1
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
def both(request: pytest.FixtureRequest, desk: Desk, hasty_desk: Desk) -> Iterator[Both]:
    yield Both({"desk": desk, "hasty_desk": hasty_desk}[request.param])


def filtered(both: Both) -> list[Record]:
    return [record for record in both.records if "trilane.outcome" in record]


def place(record: Record) -> tuple[str, str, str]:
    return record.get("trilane.group", ""), record.get("trilane.entry", ""), record.get("trilane.model", "")


def test_every_request_has_one_line(both: Both) -> None:
    counts = Counter(record["trilane.key.id"] for record in both.records if "trilane.key.id" in record)
    probes = counts.pop("probe", 0)
    assert counts == +both.desk.sent
    extra = len(both.records) - both.sent - probes
    assert extra == 0, f"{extra} lines that nobody asked for"
    assert not [r for r in both.records if r.get("url.path") in ("/healthz", "/")]
    identities = Counter(record["request_id"] for record in both.records if record["request_id"])
    assert max(identities.values()) == 1, identities.most_common(3)


def test_probes_are_counted_and_have_no_line(both: Both) -> None:
    assert both.probed == [200, 404]
    # The stack's own too, until it was ready.
    assert both.metric("trilane_probes_total")[()] >= 3


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
        images[place(record)] += record.get("trilane.usage.images", 0)
        for kind, number in kinds_of(record).items():
            tokens[(*place(record), kind)] += number
    assert both.metric("trilane_tokens_total", "group", "entry", "model", "kind") == +tokens
    assert both.metric("trilane_images_total", "group", "entry", "model") == +images


#: The parts of each side of a record, by the names of kinds.
PARTS = {
    "input": {
        "cache_read": "gen_ai.usage.cache_read.input_tokens",
        "cache_write_5m": "trilane.usage.cache_creation_5m.input_tokens",
        "cache_write_1h": "trilane.usage.cache_creation_1h.input_tokens",
        "tool_use": "trilane.usage.tool_use.input_tokens",
        "input_image": "trilane.usage.image.input_tokens",
    },
    "output": {
        "reasoning": "gen_ai.usage.reasoning.output_tokens",
        "output_image": "trilane.usage.image.output_tokens",
    },
}


def kinds_of(record: Record) -> dict[str, int]:
    """The tokens of a record by kinds that do not overlap."""
    kinds = {}
    for side, members in PARTS.items():
        parts = {kind: record.get(member, 0) for kind, member in members.items()}
        kinds |= {**parts, side: record.get(f"gen_ai.usage.{side}_tokens", 0) - sum(parts.values())}
    assert all(number >= 0 for number in kinds.values()), f"parts exceed their total: {record}"
    return kinds


def test_charges(both: Both) -> None:
    """The counter adds what is rounded for each request."""
    nanos: Sums = Counter()
    for record in filtered(both):
        if "trilane.charge" in record:
            one = Decimal(record["trilane.charge"]) * 10**9
            rounded = int(one.quantize(Decimal(1), ROUND_HALF_UP))
            nanos[place(record)] += rounded
    assert both.metric("trilane_charge_nanos_total", "group", "entry", "model") == +nanos


MEASURES = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "estimated_input": "trilane.estimated.input_tokens",
    "estimated_output": "trilane.estimated.output_tokens",
    "images": "trilane.usage.images",
}
STATUSES = ("complete", "estimated", "partial", "none", "failed")


def test_the_usage_command_adds_it_up(both: Both) -> None:
    """Estimates stand in columns of their own, and are in the totals."""
    wanted: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    charges: Counter[tuple[str, str, bool]] = Counter()
    for record in filtered(both):
        group, status = record.get("trilane.group"), record["trilane.usage.status"]
        if group:
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
    models = {model["id"] for listed in MODELS.values() for model in listed}
    for _, labels in both.series:
        assert dict(labels).get("model", "") in models | {""}, labels


def test_no_secret_in_the_ledger(both: Both) -> None:
    for secret in (SECRET, "sk-upstream-secret", "trilane-demo", "Bearer", "alt=sse", "?"):
        assert secret.encode() not in both.desk.ledger.raw, secret
