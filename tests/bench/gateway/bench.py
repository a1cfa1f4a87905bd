#!/usr/bin/env python3
"""What trilane costs the Envoy that it runs in: bare Envoy, an empty wasm filter, trilane, and Envoy's own AI filters.

All run at the same time on one core, and are put under load in turn, so that whatever disturbs the machine disturbs all
alike. Every round of turns is a pair for each contestant and the baseline; ratios are taken within it. `docs/benchmarks.md`
says what each figure is.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "instructions")]

import accounts_ready
import costs
import fetch
import instructions
import keys
import keys_feed
import keys_restart
import limits_costs
import limits_kept
import time_to_ready
from chart import svg
from house import House
from machine import choose_cores, description
from publish import commit, publish, publish_tables, refused
from results import Results
from stack import TARGET, StackError
from printed import lines

#: What is measured, in this order. Each section asks the house for whom it needs (`House.lineup`, `contestant`, `make`),
#: whether its cases are wanted (`House.wanted`), and leaves its figures in `House.results`: cases by way of
#: `House.rounds`, anything else as a `Table` in `results.tables`.
SECTIONS: list[Callable[[House], None]] = [
    time_to_ready.run,
    accounts_ready.run,
    costs.run,
    keys.run,
    keys_feed.run,
    keys_restart.run,
    limits_costs.run,
    limits_kept.run,
    instructions.run,
]

#: The cases whose figures are a table and no part of the chart: they may be measured and published by themselves.
TABLES = {time_to_ready.NAME, accounts_ready.NAME, instructions.NAME, keys_restart.NAME}


def measure(options: argparse.Namespace) -> Results:
    """Runs every section."""
    cores = choose_cores()
    if cores.gateway is None:
        print("warning: fewer than two cores: gateway, load and mock share one, and the figures mean little.", file=sys.stderr)
    version = subprocess.run([str(fetch.envoy_binary()), "--version"], capture_output=True, text=True, check=True).stdout
    began = time.monotonic()
    about = {
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "load": os.getloadavg()[0],
        **description(),
        "envoy": f"Envoy {version.rpartition('version:')[2].split('/')[1]}",
        "pinned": cores.gateway is not None,
        "pairs": options.pairs,
        "seconds": options.seconds,
        "short": options.short,
    }
    results = Results(about)
    with ExitStack() as running:
        house = House(options, results, running)
        for section in SECTIONS:
            section(house)
        house.note_memory()
    about["took_seconds"] = round(time.monotonic() - began)
    return results


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="one pair of one second: whether it works, no figures to quote")
    parser.add_argument("--pairs", type=int, help="rounds of turns (11; short: 1)")
    parser.add_argument("--seconds", type=float, help="of each turn (0.5; short: 1)")
    parser.add_argument("--warmup", type=float, help="before each turn, not counted (0.15; short: a tenth of the turn)")
    parser.add_argument("--keys", type=int, nargs="*", default=[10_000, 1_000_000], help="numbers of keys to compare with 10")
    parser.add_argument("--only", nargs="*", help="cases whose names begin like this")
    parser.add_argument("--out", default=str(TARGET / "bench"), help="where results.json and chart.svg go")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks.svg and docs/benchmarks.json as well")
    options = parser.parse_args()
    options.pairs = options.pairs or (1 if options.short else 11)
    options.seconds = options.seconds or (1.0 if options.short else 0.5)
    if options.warmup is None:
        options.warmup = options.seconds / 10 if options.short else 0.15
    options.only_tables = bool(options.only) and set(options.only) <= TABLES
    why = refused(options.short, options.only, options.only_tables, options.pairs) if options.publish else ""
    if why:
        parser.error(f"--publish: {why}")
    return options


def main() -> int:
    options = arguments()
    try:
        results = measure(options)
    except (StackError, fetch.FetchError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    out = Path(options.out)
    (out / "results.json").write_text(json.dumps(results.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "chart.svg").write_text(svg(results), encoding="utf-8")
    print("\n".join(lines(results)))
    print(f"\n{out / 'results.json'}\n{out / 'chart.svg'}")
    if options.publish and not results.failures:
        paths = publish_tables(results) if options.only_tables else publish(results)
        print("\n".join(str(path) for path in paths))
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
