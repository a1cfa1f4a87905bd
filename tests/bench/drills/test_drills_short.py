"""The drills (`make drills`) in their short form: they work, every figure is there, and nothing is lost that need not be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.support import run_dir

DRILLS = Path("tests/bench/drills/drills.py")
#: What runs side by side, each with its arguments: most of it is waiting.
RUNS = {
    "drills": ["--only", "crash", "document", "--seconds", "1"],
    "rolls": ["--only", "roll", "--seconds", "1.5"],
    "memory": ["--only", "streams", "requests", "--clients", "50", "--slow-seconds", "1", "--requests", "1000"],
}
TIMES = {f"{what}{time}_us" for what in ("", "event_") for time in ("p50", "p99", "max")}
SIZES = {"bytes_each", "filter_bytes_each", "added_bytes_each"}


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """What short runs have left."""
    started = {}
    for name, arguments in RUNS.items():
        command = [sys.executable, str(DRILLS), "--short", "--out", str(run_dir(f"drills-{name}")), *arguments]
        started[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = {}
    try:
        for name, process in started.items():
            told, wrong = process.communicate(timeout=120)
            assert process.returncode == 0, f"{name}\n{told}\n{wrong}"
            found[name] = json.loads((run_dir(f"drills-{name}") / "results.json").read_text(encoding="utf-8"))
            assert found[name]["failures"] == []
    finally:
        for process in started.values():
            process.kill()
            process.wait()
    return found


@pytest.mark.parametrize("drill", ["crash", "document", "roll"])
def test_what_happens_to_requests_is_told(results: dict[str, Any], drill: str) -> None:
    told = results["rolls" if drill == "roll" else "drills"]["drills"][drill]
    assert told["times"] > 0, "it was not done"
    for which, row in told["rows"].items():
        assert row["requests"] >= 1000 and row["streams"] > 0, which
        assert all(row[time]["median"] > 0 for time in TIMES), f"{which}: {row}"
        assert row["lost"] == sum(row["lost_by_kind"].values()), which
    disturbed = told["rows"]["disturbed"]
    if drill == "crash":
        # Half of the streams were on the worker whose VM crashed: a drill that cuts none does nothing.
        assert 0 < disturbed["streams_cut"] < disturbed["streams"], disturbed
    else:
        assert disturbed["lost"] == disturbed["streams_cut"] == 0


def test_what_streams_cost_is_told(results: dict[str, Any]) -> None:
    case = results["memory"]["held"]["streams"]
    assert case["contestants"].keys() == {"bare", "trilane", "accounts"}
    for name, row in case["contestants"].items():
        assert row["requests"] == case["number"] and row["lost"] == {}, f"{name}: {row}"
        assert SIZES <= row.keys() and row["bytes_each"] > 0, f"{name}: {row}"
    assert case["contestants"]["bare"]["filter_bytes_each"] == 0 < case["contestants"]["trilane"]["filter_bytes_each"]


def test_requests_of_every_kind_end_as_they_should(results: dict[str, Any]) -> None:
    told = results["memory"]["requests"]
    assert told["requests"] == 1000 and told["failed"] == 0, told["failures"]
    assert len(told["kinds"]) >= 20 and told["samples"], told["kinds"]
    assert told["after_warm_up"].keys() == {"resident", "allocated", "heap", "filter"}
