"""`trilane up`, killed at random moments: it comes back each time, with what was in the ledger, and leaves nothing running."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from e2e.up.running import READY, Up, processes
from e2e.up.test_up import ask, lines

ROUNDS = int(os.environ.get("TRILANE_KILLS", "100"))
SEED = int(os.environ.get("TRILANE_KILLS_SEED", "19"))


@pytest.mark.long
def test_killed_at_random_moments(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    data = tmp_path / "data"
    kept: set[object] = set()
    ready = 0
    start = 0.0
    for number in range(ROUNDS):
        begun = time.monotonic()
        up = Up(data, "--demo").begin()
        if number % 5 == 0:  # how long it takes to be ready changes with what else runs here
            up.until(READY)
            start = time.monotonic() - begun
        # From the first moment on to some time after it is ready.
        until = begun + chance.uniform(0.0, 1.6 * start)
        while time.monotonic() < until:
            if READY in up.said:
                assert ask(up.url).status_code == 200, number
            time.sleep(0.02)
        if number % 5 == 0:
            assert ask(up.url).status_code == 200, number
        ready += READY in up.said
        victim = chance.choice(["supervisor", "Envoy", "both"])
        envoys = up.envoys
        if victim != "supervisor" and envoys:
            subprocess.run(["kill", "-KILL", *map(str, envoys)], check=False, capture_output=True)
        if victim != "Envoy":
            up.send(signal.SIGKILL)
            up.ended()
            deadline = time.monotonic() + 10
            while processes(data):
                assert time.monotonic() < deadline, f"{number}: left running: {processes(data)}"
                time.sleep(0.02)
        up.stop()
        assert processes(data) == [], number
        ledger = data / "ledger" / "ledger.jsonl"
        # A line that was cut off by the kill is the last one of its time; all others are whole.
        now = whole(ledger)
        assert kept <= now, f"{number}: {len(kept - now)} lines are gone"
        kept = now
    assert ready >= ROUNDS // 5, "it was ready often enough for this to mean something"
    assert len(kept) >= ROUNDS // 10, "lines that were written before a kill are there"
    with Up(data, "--demo") as up:
        assert ask(up.url).status_code == 200
        up.send(signal.SIGINT)
        assert up.ended() == 0
    assert processes(data) == []


def whole(ledger: Path) -> set[object]:
    """The ids of the lines that are whole."""
    if not ledger.exists():
        return set()
    good = ledger.with_suffix(".whole")
    text = [line for line in ledger.read_text(errors="replace").splitlines() if line.startswith("{") and line.endswith("}")]
    good.write_text("".join(f"{line}\n" for line in text if line.count('"timestamp"') == 1))
    return {line["request_id"] for line in lines(good)}
