"""Ten thousand budgets over three Envoys hold while all spend at once and keys are revoked."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest
from e2e.console.many_budgets import ENVOYS, LATEST, Connection, Sent, fleet
from e2e.console.running import until


@pytest.mark.long
@pytest.mark.parametrize("count", [10_000])
def test_many_budgets(tmp_path: Path, count: int) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with fleet(tmp_path, count) as made:
        idle = [made.revoke() for _ in range(5)]
        everything = [Sent(envoy, key) for envoy in range(ENVOYS) for key in range(count)]
        chance.shuffle(everything)
        with made.revoking() as busy:
            assert made.send(iter(everything)) == {200: len(everything)}
        print(f"revoked in {min(idle):.3f} to {max(idle):.3f} s, and in {min(busy):.3f} to {max(busy):.3f} s of {len(busy)} while all spend")
        # Each Envoy has seen a third of a budget, and is told of the rest, in the order in which it was spent.
        for to in (Connection(up.url) for up in made.ups):
            for sent in everything[-10 * ENVOYS :]:
                until(lambda to=to, key=made.keys[sent.key]: to.is_spent(key), LATEST)
        assert made.send(Sent(chance.randrange(ENVOYS), key) for key in range(count)) == {429: count}
        # One that begins anew has forgotten none.
        made.ups[0].stop()
        made.ups[0].start()
        # It is told page by page; until it knows a budget it takes no request of that key.
        seen = made.send(Sent(0, key) for key in range(count))
        assert set(seen) <= {429, 503}, seen
        until(lambda: made.send(Sent(0, key) for key in range(count)) == {429: count}, LATEST)
        spent = made.spent()
        assert {spent[f"budgeted-{key}"] for key in range(count)} == {made.one * ENVOYS}
        # The console has the same, and took in each line once.
        for key in chance.sample(range(count), 20):
            items = made.api.get(f"/usage?key=budgeted-{key}")["items"]
            assert sum(Decimal(item["charge"]) for item in items if item["charge"]) == made.one * ENVOYS, items
