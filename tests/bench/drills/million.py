"""Whether memory stays what it is over very many requests of every kind."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import driving
from kinds import document, kinds
from memory import Sample, course, sample
from stack import Child, Stack, StackError

#: Connections at once: so much can be held at a time, whatever the number of requests.
CONNECTIONS = 48
#: The part of the run in which pools fill and V8 compiles.
WARM_UP = 0.2


def million(run_dir: Path, requests: int) -> dict[str, Any]:
    """Sends so many requests; what `results.json` has of it."""
    run_dir.mkdir(parents=True, exist_ok=True)
    bodies = run_dir / "bodies"
    bodies.mkdir(exist_ok=True)
    plan = bodies / "kinds.json"
    plan.write_text(json.dumps(kinds(bodies)))
    every = max(1, requests // 100)
    with Stack(run_dir / "gateway", document=document(), concurrency=2, envoy_log_level="error") as stack:
        at_rest = sample(stack)
        samples: list[tuple[int, Sample]] = []
        began = time.monotonic()
        standing: dict[str, Any] = {}
        for standing in _mix(run_dir, stack, plan, requests, every):
            stack.check()
            samples.append((standing["requests"], sample(stack)))
            _forget_log(stack)
            if len(samples) % 10 == 0:
                print(f"{standing['requests']:9} requests, {samples[-1][1].resident / 1e6:.1f} MB", file=sys.stderr, flush=True)
        seconds = time.monotonic() - began
        time.sleep(min(2.0, seconds))
        stack.check()
        return _result(requests, seconds, at_rest, samples, sample(stack), standing)


def _mix(run_dir: Path, stack: Stack, plan: Path, requests: int, every: int) -> Any:
    """How it stands, each time that it is told."""
    command = [str(driving.LOAD), "mix", "--to", stack.base_url.removeprefix("http://"), str(plan)]
    command += ["--requests", str(requests), "--every", str(every), "--connections", str(CONNECTIONS)]
    output = run_dir / "mix.jsonl"
    child = Child(command, run_dir / "mix.log", output)
    try:
        with output.open("rb") as told:
            rest = b""
            while True:
                ended = child.process.poll() is not None
                rest += told.read()
                *lines, rest = rest.split(b"\n")
                yield from map(json.loads, lines)
                if ended:
                    break
                time.sleep(0.02)
        if child.process.returncode != 0:
            raise StackError(f"{' '.join(command)} failed: {(run_dir / 'mix.log').read_text().strip()}")
    finally:
        child.stop()


def _forget_log(stack: Stack) -> None:
    with stack.access_log.open("rb+") as log:
        log.truncate(0)


def _result(
    requests: int, seconds: float, at_rest: Sample, samples: list[tuple[int, Sample]], after: Sample, standing: dict[str, Any]
) -> dict[str, Any]:
    warm = [(number, told) for number, told in samples if number > requests * WARM_UP]
    numbers = [number for number, _ in warm]
    courses = {part: course(numbers, [getattr(told, part) for _, told in warm]) for part in Sample._fields}
    return {
        "requests": standing["requests"],
        "per_second": standing["requests"] / seconds,
        "failed": standing["failed"],
        "failures": standing["failures"],
        "kinds": standing["kinds"],
        "at_rest": at_rest._asdict(),
        "after": after._asdict(),
        "after_warm_up": {part: told._asdict() for part, told in courses.items()},
        "samples": [{"requests": number, **told._asdict()} for number, told in samples],
    }
