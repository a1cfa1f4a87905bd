"""What requests cost: the list price times the factor of the account that answered, as of the request."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import MODELS, document
from e2e.accounts.operations import OPERATIONS, Operation
from e2e.ledger.ledger_calls import kinds_of
from e2e.ledger_reader import Record

pytestmark = pytest.mark.usefixtures("honest")

#: The multiplier of the groups, which no cost has in it.
MULTIPLIER = Decimal(3)


def priced(costs: dict[str, Optional[str]]) -> dict[str, Any]:
    """A document in which `a1` is asked first, then `a2`, with these costs."""
    changes = {name: {"cost": cost} for name, cost in costs.items()}
    wanted = document((1, 1), failover={"failures": 100}, changes=changes)
    groups = [{**group, "multiplier": f"{MULTIPLIER}.0000"} for group in wanted["groups"]]
    return {**wanted, "groups": groups}


def list_price(operation: Operation, record: Record) -> Decimal:
    """By the model's prices, as Python's Decimal has it."""
    prices = {kind: Decimal(price) for kind, price in MODELS[operation.protocol][0]["prices"].items()}
    fallback = {"cache_read": "input", "cache_write_5m": "input", "cache_write_1h": "input", "tool_use": "input", "reasoning": "output"}
    used = {kind: number for kind, number in (kinds_of(record) or {}).items() if number}
    return sum(
        (number * prices.get(kind, prices.get(fallback.get(kind, kind), Decimal(0))) for kind, number in used.items()), Decimal(0)
    ) / 1_000_000


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_cost_of_the_account_that_answered(accounts: Desk, operation: Operation) -> None:
    accounts.publish(priced({"a1": "0.5", "a2": "1.2500"}))
    for at, account, factor in ([], "a1", "0.5000"), (["a1"], "a2", "1.2500"):
        asked = accounts.ask(operation, sim={"status": 503}, at=at) if at else accounts.ask(operation)
        assert asked.status == 200 and asked.tried[-1] == account, asked
        record = asked.record()
        listed = list_price(operation, record)
        assert listed > 0 and Decimal(record["trilane.charge"]) == listed * MULTIPLIER, record
        assert (record["trilane.account"], record["trilane.cost_factor"]) == (account, factor), record
        assert Decimal(record["trilane.cost"]) == listed * Decimal(factor), record


def test_a_cost_is_as_of_the_request(accounts: Desk) -> None:
    operation = OPERATIONS[0]
    for cost, want in ("0.5", "0.5000"), ("0", "0.0000"), (None, None):
        accounts.publish(priced({"a1": cost, "a2": "2"}))
        record = accounts.ask(operation).record()
        assert record.get("trilane.cost_factor") == want, record
        assert ("trilane.cost" in record) == (want is not None), record


def test_a_request_that_nobody_answers_costs_nothing(accounts: Desk) -> None:
    accounts.publish(priced({"a1": "0.5", "a2": "2"}))
    record = accounts.ask(OPERATIONS[0], sim={"status": 503}, at=["a1", "a2"]).record()
    assert record["trilane.usage.status"] == "failed", record
    assert not {"trilane.charge", "trilane.cost", "trilane.cost_factor"} & set(record), record
