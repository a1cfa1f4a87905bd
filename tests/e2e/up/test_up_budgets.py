"""Budgets of a gateway without a console: what was spent is spent, whatever is started again."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from decimal import Decimal
from pathlib import Path

from e2e.console.running import ask, told_by_files
from e2e.up.running import Up
from waiting import until

PLAIN = "tl-plain-key-of-this-test-000000000000000000000000"
POOR = "tl-poor-key-of-this-test-0000000000000000000000000"


def _add_key(document: Path, name: str, value: str, **more: object) -> None:
    """A key, under a new name of the document: by a rename, as an editor does it."""
    text = json.loads(document.read_text())
    digest = hashlib.sha256(value.encode()).hexdigest()
    text.setdefault("keys", []).append({"id": name, "sha256": digest, "group": "b-official", **more})
    new = document.with_suffix(".new")
    new.write_text(json.dumps(text))
    new.rename(document)


def test_a_spent_budget_stays_spent(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Up(data, "--demo"):
        pass
    document, checkpoint = data / "gateway.json", data / "run" / "spend.db"
    _add_key(document, "plain", PLAIN)
    up = Up(data, "--demo")
    with up:
        until(lambda: ask(up.url, PLAIN) == 200, 15)
        until(lambda: "plain" in told_by_files(up.ledger), 10)
        one = Decimal(told_by_files(up.ledger)["plain"][1])
        budget = one * 120
        _add_key(document, "poor", POOR, limits={"budget": {"per_month": str(budget)}})
        until(lambda: ask(up.url, POOR) == 200, 20)
        served = 1
        while ask(up.url, POOR) == 200:
            served += 1
            assert served <= 121, "the budget of one process"
        assert served > 10 and ask(up.url, POOR) == 429
        # What a killed Envoy has not written yet is lost.
        until(lambda: told_by_files(up.ledger)["poor"][0] >= served + 2, 15)

        def still_spent(case: str) -> None:
            # 503 until it has been told everything.
            until(lambda: ask(up.url, POOR) != 503, 15)
            assert ask(up.url, POOR) == 429, case
            assert ask(up.url, PLAIN) == 200, case

        for restarts in (1, 2):
            for envoy in up.envoys:
                os.kill(envoy, signal.SIGKILL)
            up.until("ready again", restarts)
            still_spent(f"Envoy is killed, {restarts}")
        up.send(signal.SIGKILL)
        up.ended()
    for case, damage in (("all of it is killed", None), ("no checkpoint", b""), ("a damaged one", b"x" * 9000), ("as it is", None)):
        if damage is not None:
            for file in checkpoint.parent.glob("spend.db*"):
                file.unlink()
            if damage:
                checkpoint.write_bytes(damage)
        with up:
            still_spent(case)
            assert ("are added up from the ledger anew" in up.said) == (case == "a damaged one"), case
            assert checkpoint.stat().st_size > 0
            assert Decimal(told_by_files(up.ledger)["poor"][1]) <= budget, case
