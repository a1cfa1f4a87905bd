#!/usr/bin/env python3
"""How soon a revoked key is refused by three Envoys: when nothing else goes on, and while ten thousand budgeted keys spend.

    PYTHONPATH=envoy:tests/runner:tests target/venv/bin/python tests/bench/console/budgets.py [--short]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from e2e.console.many_budgets import ENVOYS, Sent, fleet


def shown(what: str, times: list[float]) -> None:
    middle, longest = statistics.median(times), max(times)
    print(f"{what}: {len(times)} revocations, in force everywhere after {middle:.2f} s in the middle, {longest:.2f} s at most", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="few keys, to see that it runs")
    keys = 200 if parser.parse_args().short else 10_000
    with tempfile.TemporaryDirectory() as place, fleet(Path(place), keys) as made:
        shown("nothing else", [made.revoke() for _ in range(20)])
        began = time.monotonic()
        with made.revoking() as times:
            seen = made.send(Sent(envoy, key) for key in range(keys) for envoy in range(ENVOYS))
        rate = sum(seen.values()) / (time.monotonic() - began)
        assert set(seen) == {200}, seen
        shown(f"{keys} budgeted keys spend, {rate:.0f} requests a second", times)


if __name__ == "__main__":
    main()
