#!/usr/bin/env python3
"""What happens to requests while something happens to the gateway, and how much memory it takes.

Each drill runs beside an undisturbed run of the same length; `docs/memory.md` says what the memory is made of.
Exit code 1 where something is lost that need not be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gateway"))
sys.path.append(str(Path(__file__).resolve().parents[2]))

import fetch
from driving import mock
from failures import DRILLS, Drill, Place
from feed import Pages
from gateways import WORKERS
from held import CASES, Holding
from machine import Cores, choose_cores, description
from million import million
from report import Results, lines
from stack import TARGET, StackError
from traffic import Traffic

#: The part that sends requests of every kind.
REQUESTS = "requests"
#: What is done to gateways.
ALL: tuple[type[Drill], ...] = (*DRILLS, Pages)
#: Bare Envoy's list and refusal, which nobody asks for here.
NO_ANSWERS = {"list": b"{}", "rejected": b"{}"}


def run(options: argparse.Namespace) -> Results:
    """All that is asked for."""
    run_dir = Path(options.out).resolve() / "run"
    run_dir.mkdir(parents=True, exist_ok=True)
    # Where only one core may be used, each start takes seconds: V8 compiles the filter.
    cores = Cores(None, None) if options.short else choose_cores()
    if cores.gateway is None and not options.short:
        print("warning: fewer than two cores: gateway, load and mock share one, and the times mean little.", file=sys.stderr)
    version = subprocess.run([str(fetch.envoy_binary()), "--version"], capture_output=True, text=True, check=True).stdout
    results = Results({
        **description(),
        "envoy": f"Envoy {version.rpartition('version:')[2].split('/')[1]}",
        "workers": WORKERS,
        "pinned": cores.gateway is not None,
        "pairs": options.pairs,
        "seconds": options.seconds,
        "short": options.short,
    })  # fmt: skip
    with mock(run_dir, cores) as (source, source_pid):
        place = Place(run_dir, source, cores, Traffic(run_dir, cores, options.seconds))
        for kind in ALL:
            if _asked(options, kind.name):
                _drill(results, kind(place), options)
        holding = Holding(run_dir, source, source_pid, cores, NO_ANSWERS)
        for case in CASES:
            if _asked(options, case.name):
                results.hold(case.name, holding.case(case, options.clients, options.slow_seconds))
                _tell(f"{case.name}: done")
    if _asked(options, REQUESTS):
        results.many(million(run_dir / "requests", options.requests))
    return results


def _asked(options: argparse.Namespace, name: str) -> bool:
    return not options.only or name in options.only


def _drill(results: Results, drill: Drill, options: argparse.Namespace) -> None:
    undisturbed, disturbed = [], []
    with drill.running():
        if not options.short:
            drill.undisturbed()  # V8 compiles what is hot
        for _ in range(options.pairs):
            undisturbed.append(drill.undisturbed())
            disturbed.append(drill.disturbed())
    results.drill(drill.name, drill.title, drill.allowed, drill.times, undisturbed, disturbed)
    row = results.drills[drill.name]["rows"]["disturbed"]
    _tell(f"{drill.name}: {row['lost']} of {row['requests']} lost, {row['streams_cut']} of {row['streams']} streams cut")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    names = [*(kind.name for kind in ALL), *(case.name for case in CASES), REQUESTS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="whether it works; no figures to quote")
    parser.add_argument("--only", nargs="*", choices=names, help="these parts only")
    parser.add_argument("--pairs", type=int, help="of an undisturbed and a disturbed run (3; short: 1)")
    parser.add_argument("--seconds", type=float, help="of each run (6; short: 2)")
    parser.add_argument("--clients", type=int, help="slow ones at once (2000; short: 100)")
    parser.add_argument("--slow-seconds", type=int, help="for which they are slow (20; short: 2)")
    parser.add_argument("--requests", type=int, help="of every kind (1000000; short: 2000)")
    parser.add_argument("--out", default=str(TARGET / "drills"), help="where results.json goes")
    options = parser.parse_args()
    for name, (full, short) in {
        "pairs": (3, 1), "seconds": (6.0, 2.0), "clients": (2000, 100), "slow_seconds": (20, 2), "requests": (1_000_000, 2000),
    }.items():  # fmt: skip
        if getattr(options, name) is None:
            setattr(options, name, short if options.short else full)
    return options


def main() -> int:
    options = arguments()
    try:
        results = run(options)
    except (StackError, fetch.FetchError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    out = Path(options.out)
    (out / "results.json").write_text(json.dumps(results.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n".join(lines(results)))
    print(f"\n{out / 'results.json'}")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
