#!/usr/bin/env python3
"""Counts the instructions of exchanges in the pure core, under callgrind, and compares them with `budget.json`.

Unlike a time, the count is the same on a busy machine and on an idle one. Each kind of exchange (`src/kinds.rs`) is run a
few times and many times; the difference is what the exchanges cost, without the process's start.

A kind that takes more than 10 % over its budget fails. Where that is meant, and after every gain, renew the budget with
`make instructions RENEW=1` and commit it: the difference then shows in the review.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from valgrind import TARGET, Unavailable, Valgrind, find

BINARY = TARGET / "release" / "trilane-instructions"
BUDGET = Path(__file__).resolve().with_name("budget.json")
#: How much more than its budget a kind may take.
TOLERANCE = 0.10
#: Exchanges before the count begins, which fill what is filled once, and exchanges counted.
FEW, MANY = 10, 100


def kinds() -> list[str]:
    """As the program names them."""
    said = subprocess.run([str(BINARY)], capture_output=True, text=True, check=True).stdout
    return said.splitlines()[1:]


def instructions(valgrind: Valgrind, kind: str, count: int) -> int:
    """All that the process executed for so many exchanges."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "callgrind.out"
        command = [str(valgrind.binary), "--tool=callgrind", "--quiet", "--cache-sim=no", "--branch-sim=no"]
        command += [f"--callgrind-out-file={out}", str(BINARY), kind, str(count)]
        environment = {**os.environ, **valgrind.environment}
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
        found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M) if out.exists() else None
        if done.returncode != 0 or not found:
            raise SystemExit(f"error: {' '.join(command)} failed: {done.stderr.strip()}")
        return int(found[1])


def per_exchange(valgrind: Valgrind, kind: str) -> int:
    """The instructions of one exchange."""
    return round((instructions(valgrind, kind, FEW + MANY) - instructions(valgrind, kind, FEW)) / MANY)


def counted(valgrind: Valgrind) -> dict[str, int]:
    """All kinds. The count does not depend on what else runs, so they may run beside each other."""
    names = kinds()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(lambda kind: per_exchange(valgrind, kind), names)))


def renewed(counts: dict[str, int]) -> None:
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()
    told = {"rustc": compiler[1], "architecture": platform.machine(), "instructions": counts}
    BUDGET.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {BUDGET}")


def judged(counts: dict[str, int]) -> int:
    """Prints the comparison; the exit code."""
    budget = json.loads(BUDGET.read_text(encoding="utf-8"))
    if budget["architecture"] != platform.machine():
        print(f"warning: the budget is for {budget['architecture']}: instructions were NOT compared.", file=sys.stderr)
        return 0
    over = []
    print(f"{'exchange':<18} {'instructions':>13} {'budget':>13} {'':>8}")
    for kind, count in counts.items():
        allowed = budget["instructions"].get(kind)
        change = f"{count / allowed - 1:+.1%}" if allowed else "new"
        print(f"{kind:<18} {count:>13,} {allowed or 0:>13,} {change:>8}")
        if not allowed or count > allowed * (1 + TOLERANCE):
            over.append(kind)
    gone = budget["instructions"].keys() - counts.keys()
    if any(count < budget["instructions"].get(kind, 0) * (1 - TOLERANCE) for kind, count in counts.items()):
        print("A budget is no longer tight. So that the gain is kept: make instructions RENEW=1, and commit it.")
    if over or gone:
        compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        also = f" (the budget was counted with Rust {budget['rustc']}, this is {compiler})" if compiler != budget["rustc"] else ""
        print(
            f"error: over budget by more than {TOLERANCE:.0%}, or not in it: {', '.join([*over, *sorted(gone)])}{also}.\n"
            "Where the instructions go: valgrind --tool=callgrind "
            f"--dump-instr=yes {BINARY} KIND 1000, then callgrind_annotate.\n"
            "If they are worth it: make instructions RENEW=1, and commit tests/bench/instructions/budget.json.",
            file=sys.stderr,
        )
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write the budget instead of comparing with it")
    options = parser.parse_args()
    try:
        valgrind = find()
    except Unavailable as reason:
        print(f"warning: no valgrind: instructions were NOT counted: {reason}", file=sys.stderr)
        return 0
    counts = counted(valgrind)
    if options.renew:
        renewed(counts)
        return 0
    return judged(counts)


if __name__ == "__main__":
    sys.exit(main())
