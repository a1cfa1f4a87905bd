"""An account in a region has the prices of that place, and the account after it its own."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import MODEL, document
from e2e.accounts.operations import BY_NAME

pytestmark = pytest.mark.usefixtures("honest")

OPERATION = BY_NAME["chat"]
#: What the simulator reports.
USAGE = {"input": 210, "cache_read": 1024, "output": 56}
FAILS: dict[str, Any] = {"status": 429}


def _document() -> dict[str, Any]:
    """One account in a region with prices, one in a region without, one that is anywhere."""
    changes = {"a1": {"region": "us"}, "a2": {"region": "eu"}}
    wanted = copy.deepcopy(document((1, 1, 1), failover={"failures": 100}, changes=changes))
    for group in wanted["groups"]:
        prices = group["models"][0]["prices"]
        dearer = {kind: str(Decimal(price) * Decimal("1.1")) for kind, price in prices.items()}
        group["models"][0]["prices"] = {**prices, "tiers": {"us": dearer}}
    return wanted


#: The accounts that fail, the tier that holds, the place in the line, and what no price covers.
CASES: list[tuple[list[str], str | None, str | None, list[str]]] = [
    ([], "us", "us", []),
    (["a1"], None, "eu", ["inference_geo"]),
    (["a1", "a2"], None, None, []),
]


@pytest.mark.parametrize("failing, tier, place, uncovered", CASES, ids=[len(case[0]) for case in CASES])
def test_region_of_the_account_that_answers(
    accounts: Desk, failing: list[str], tier: str | None, place: str | None, uncovered: list[str]
) -> None:
    wanted = _document()
    accounts.publish(wanted)
    asked = accounts.ask(OPERATION, sim=FAILS if failing else {}, at=failing)
    assert asked.status == 200, asked
    record = asked.record()
    assert record["trilane.account"] == f"a{len(failing) + 1}", record
    assert record.get("trilane.inference_geo") == place, record
    assert record.get("trilane.uncovered", []) == uncovered, record
    group = next(group for group in wanted["groups"] if group["protocol"] == OPERATION.protocol)
    model = next(model for model in group["models"] if model["id"] == MODEL[OPERATION.protocol])
    prices = model["prices"]["tiers"][tier] if tier else model["prices"]
    wanted_charge = sum(number * Decimal(prices[kind]) for kind, number in USAGE.items()) / 1_000_000
    assert Decimal(record["trilane.charge"]) == wanted_charge, record
