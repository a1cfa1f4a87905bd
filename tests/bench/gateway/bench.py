#!/usr/bin/env python3
"""What trilane costs the Envoy that it runs in: bare Envoy, an empty wasm filter, trilane, and Envoy's own AI filters.

All run at the same time on one core, and are put under load in turn, so that whatever disturbs the machine disturbs all
alike. Every round of turns is a pair for each contestant and the baseline; ratios are taken within it. `docs/benchmarks.md`
says what each figure is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Optional

import fetch
from cases import EVENTS, GAP_US, STREAMS, Case, all_cases, keys_case
from chart import svg
from contestants import DOCUMENT_LIMIT, FEW, WRONG_KEY, Contestant, document, key, lineup, with_keys
from driving import Driver, mock
from machine import choose_cores, description
from results import Results
from stack import TARGET, StackError
from table import lines

#: Connections of the open loop: more than can be busy at once, unless the gateway does not keep up.
OPEN_CONNECTIONS = 64
#: How much of trilane's throughput the open loop asks of everybody.
SHARE = 0.5


class Bench:
    """One run."""

    def __init__(self, drive: Driver, results: Results, pairs: int, seconds: float, warmup: float) -> None:
        self.drive = drive
        self.results = results
        self.pairs = pairs
        self.seconds = seconds
        self.warmup = warmup

    def warm(self, cases: list[Case], contestants: list[Contestant]) -> None:
        """Lets Envoy's compiler see the filters' code at work, which it then compiles better, in the background."""
        for case in cases:
            for contestant in contestants:
                self.drive(contestant, case.call_to(contestant), connections=case.connections, seconds=self.warmup, warmup=0)

    def case(self, case: Case, contestants: list[Contestant], paced_by: str) -> None:
        """All pairs of one case. The first contestant is the baseline; half of what `paced_by` can do is asked of all."""
        results = self.results
        results.cases[case.name] = {"title": case.title, "baseline": contestants[0].name}
        for contestant in contestants:
            results.contestants.setdefault(contestant.name, contestant.title)
        rate: Optional[float] = None
        for pair in range(self.pairs):
            # There and back again: nobody is always the first, with the caches that the last one left.
            turns = contestants if pair % 2 == 0 else contestants[::-1]
            if case.paced:
                for contestant in turns:
                    self._open(case, contestant, pair, STREAMS)
                continue
            for contestant in turns:
                report = self.drive(
                    contestant,
                    case.call_to(contestant),
                    connections=case.connections,
                    seconds=self.seconds,
                    warmup=self.warmup,
                )
                results.add(case.name, contestant.name, pair, report)
                if contestant.name == paced_by and rate is None:
                    rate = SHARE * report["per_second"]
            if case.latency and rate:
                results.cases[case.name]["rate"] = f"{rate:.0f}"
                for contestant in turns:
                    self._open(case, contestant, pair, rate)
        said = results.figure(case.name, paced_by, "cpu_us")
        ratio = f", {said['ratio']['median']:.2f} × {contestants[0].title}" if said and "ratio" in said else ""
        print(f"{case.title}: {paced_by}{ratio}", file=sys.stderr, flush=True)

    def _open(self, case: Case, contestant: Contestant, pair: int, rate: float) -> None:
        seconds = self.seconds
        if case.paced:
            # At least two whole streams, however short the run.
            seconds = max(seconds, 2 / rate + EVENTS * GAP_US / 1e6)
        report = self.drive(
            contestant,
            case.call_to(contestant),
            connections=OPEN_CONNECTIONS,
            seconds=seconds,
            warmup=0.0 if case.paced else self.warmup,
            rate=rate,
        )
        self.results.add(case.name, contestant.name, pair, report)


def ask(contestant: Contestant, path: str, token: str) -> tuple[int, bytes]:
    """One GET."""
    request = urllib.request.Request(contestant.base_url + path, headers={"authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def borrowed(trilane: Contestant) -> dict[str, bytes]:
    """Trilane's list and refusal, for the contestants that have none of their own."""
    list_status, listed = ask(trilane, "/v1/models", key(0))
    status, rejected = ask(trilane, "/v1/models", WRONG_KEY)
    if (list_status, status) != (200, 401):
        raise StackError(f"trilane lists with status {list_status} and refuses with {status}")
    return {"list": listed, "rejected": rejected}


def measure(options: argparse.Namespace) -> Results:
    """Starts everybody and runs every case."""
    run_dir = Path(options.out).resolve() / "run"
    run_dir.mkdir(parents=True, exist_ok=True)
    cores = choose_cores()
    if cores.gateway is None:
        print("warning: fewer than two cores: gateway, load and mock share one, and the figures mean little.", file=sys.stderr)
    version = subprocess.run([str(fetch.envoy_binary()), "--version"], capture_output=True, text=True, check=True).stdout
    about = {
        **description(),
        "envoy": f"Envoy {version.rpartition('version:')[2].split('/')[1]}",
        "pinned": cores.gateway is not None,
        "pairs": options.pairs,
        "seconds": options.seconds,
        "short": options.short,
    }
    results = Results(about)
    with ExitStack() as running:
        source, source_pid = running.enter_context(mock(run_dir, cores))
        trilane = running.enter_context(with_keys("trilane", FEW, run_dir, source, cores))
        answers = borrowed(trilane)
        bare, noop, native, accounts = (running.enter_context(other) for other in lineup(run_dir, source, cores, answers))
        bench = Bench(Driver(run_dir, cores, source_pid), results, options.pairs, options.seconds, options.warmup)
        cases = [case for case in all_cases() if not options.only or case.name.startswith(tuple(options.only))]
        if not options.short:
            bench.warm([case for case in cases if not case.paced], [bare, noop, trilane, accounts, native])
        for case in cases:
            bench.case(case, [bare, noop, trilane, accounts, native], trilane.name)
        if not options.only or "keys" in options.only:
            crowd = [trilane]
            for number in options.keys:
                for kind in ("trilane", "native"):
                    why = _not_tried(kind, number)
                    if not why:
                        why = _join(running, crowd, with_keys(kind, number, run_dir, source, cores, answers), number)
                    if why:
                        results.not_measured.append({"what": f"{kind}, {number} keys", "why": why})
            case = keys_case()
            bench.case(case, [trilane, native, *crowd[1:]], trilane.name)
        else:
            crowd = [trilane]
        for contestant in (bare, noop, trilane, accounts, native, *crowd[1:]):
            results.memory[contestant.name] = contestant.resident
    return results


def _not_tried(kind: str, keys: int) -> Optional[str]:
    """Why it is not even tried, if so."""
    # A key is of one length, but for the digits of its id.
    size = (len(document(2000)) - len(document(1000))) * keys // 1000
    if size <= DOCUMENT_LIMIT:
        return None
    if kind == "native":
        return "each key is a part of Envoy's configuration itself, which is not made for so many"
    # With that limit raised the loader got no answer either.
    return f"its document would have {size / 1e6:.0f} MB, and envoy.yaml serves {DOCUMENT_LIMIT / 1e6:.0f} MB to the loader at most"


def _join(running: ExitStack, crowd: list[Contestant], contestant: Contestant, keys: int) -> Optional[str]:
    """Starts it, if it starts; else says why not."""
    began = time.monotonic()
    try:
        contestant.start(timeout=60 + keys / 10_000)
    except StackError as error:
        return str(error).splitlines()[0]
    running.callback(contestant.stop)
    if ask(contestant, "/v1/models", key(keys - 1))[0] != 200:
        contestant.stop()
        return "the last key is not known"
    print(f"{contestant.title}: ready after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    crowd.append(contestant)
    return None


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="one pair of one second: whether it works, no figures to quote")
    parser.add_argument("--pairs", type=int, help="rounds of turns (5; short: 1)")
    parser.add_argument("--seconds", type=float, help="of each turn (2; short: 1)")
    parser.add_argument("--warmup", type=float, help="before each turn, not counted (0.5; short: a tenth of the turn)")
    parser.add_argument("--keys", type=int, nargs="*", default=[10_000, 1_000_000], help="numbers of keys to compare with 10")
    parser.add_argument("--only", nargs="*", help="cases whose names begin like this; `keys` for the numbers of keys")
    parser.add_argument("--out", default=str(TARGET / "bench"), help="where results.json and chart.svg go")
    options = parser.parse_args()
    options.pairs = options.pairs or (1 if options.short else 5)
    options.seconds = options.seconds or (1.0 if options.short else 2.0)
    if options.warmup is None:
        options.warmup = options.seconds / 10 if options.short else 0.5
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
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
