"""What vendors report, each case by a page, through an Envoy: the ledger's line, and the charge that Python's Decimal comes to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from e2e.ledger.crafted_upstream import CraftedUpstream
from e2e.ledger.ledger_calls import charge, kinds_of, route_of
from e2e.ledger.ledger_desk import Desk
from e2e.ledger.ledger_document import VENDOR_TABLE

CASES: list[dict[str, Any]] = VENDOR_TABLE["cases"]
GROUPS = {"A": "a-odd", "B": "b-odd", "C": "c-odd"}
CALLS = ("web_search", "code_execution", "file_search", "maps_search")


def _counts(record: dict[str, Any]) -> dict[str, int]:
    """All that a line counts, by the names of prices."""
    counts = dict(kinds_of(record) or {})
    for call in CALLS:
        counts[call] = record.get(f"trilane.usage.calls.{call}", 0)
    return {kind: count for kind, count in counts.items() if count}


def _charge(case: dict[str, Any], multiplier: Decimal) -> Decimal:
    """The charge of what a case counts, by nothing but its prices."""
    model = next(model for model in VENDOR_TABLE["models"][case["protocol"]] if model["id"] == case["model"])
    own = model["prices"]
    prices = own["tiers"][case["tier"]] if "tier" in case else own
    counts = case["expect"]["usage"]
    tokens = {kind: count for kind, count in counts.items() if kind not in CALLS}
    fees = sum((Decimal(own["per_call"][call]) * counts[call] for call in CALLS if call in counts), Decimal(0))
    return (Decimal(charge(tokens, prices, Decimal(1))) + fees) * multiplier


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vendor_case(desk: Desk, crafted: CraftedUpstream, case: dict[str, Any]) -> None:
    group = GROUPS[case["protocol"]]
    name = f"case-{CASES.index(case)}"
    kind = "text/event-stream" if case["stream"] else "application/json"
    crafted.teach(name, case["body"].encode(), kind)
    sent = desk.send(group, case["path"], case["request"].encode(), headers=(("x-crafted", name),))
    assert sent.status == 200, sent
    expect = case["expect"]
    record = sent.record()
    assert record["trilane.usage.status"] == expect["status"], record
    assert _counts(record) == expect["usage"], record
    assert record.get("trilane.usage.doubt") == expect.get("doubt"), record
    assert record.get("trilane.usage.reported_cost") == expect.get("reported_cost"), record
    assert record.get("trilane.uncovered") == expect.get("uncovered"), record
    if "charge" not in expect:
        assert "trilane.charge" not in record, record
        return
    _, multiplier = route_of(group, case["protocol"])
    assert Decimal(record["trilane.charge"]) == _charge(case, multiplier), record
    assert Decimal(expect["charge"]) == _charge(case, Decimal(1)), case
