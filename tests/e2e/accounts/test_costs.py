"""What requests cost: the list price times the factor of the account that answered, as of the request."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import MODELS, document
from e2e.accounts.operations import OPERATIONS, Operation

pytestmark = pytest.mark.usefixtures("honest")

#: The multiplier of the groups, which no cost has in it.
MULTIPLIER = Decimal(3)


def priced(costs: dict[str, Optional[str]]) -> dict[str, Any]:
    """A document in which `a1` is asked first, then `a2`, with these costs."""
    changes = {name: {"cost": cost} for name, cost in costs.items()}
    wanted = document((1, 1), failover={"failures": 100}, changes=changes)
    groups = [{**group, "multiplier": f"{MULTIPLIER}.0000"} for group in wanted["groups"]]
    return {**wanted, "groups": groups}


def list_price(operation: Operation) -> Decimal:
    """By the model's prices, of 1000 tokens read and 100 written, as Python's Decimal has it."""
    prices = MODELS[operation.protocol][0]["prices"]
    return (1000 * Decimal(prices["input"]) + 100 * Decimal(prices["output"])) / 1_000_000


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_cost_of_the_account_that_answered(accounts: Desk, operation: Operation) -> None:
    accounts.publish(priced({"a1": "0.5", "a2": "1.2500"}))
    for at, account, factor in ([], "a1", "0.5000"), (["a1"], "a2", "1.2500"):
        sim = {"status": 503} if at else {"usage": "input=1000,output=100"}
        asked = accounts.ask(operation, sim=sim, at=at or None)
        assert asked.status == 200 and asked.tried[-1] == account, asked
        record = asked.record()
        listed = Decimal(record["trilane.charge"]) / MULTIPLIER
        assert at or listed == list_price(operation), record
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
