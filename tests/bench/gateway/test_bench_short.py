"""The benchmark (`make bench`) in its short form: it works and every figure is there. No time is judged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from e2e.support import run_dir

BENCH = Path("tests/bench/gateway/bench.py")
#: Of each turn: enough for some answers of the slowest contestant to the largest request.
SECONDS = "0.2"

EVERYBODY = {"bare", "plain", "noop", "floor", "trilane", "accounts", "native"}
FED = {"fed-10", "fed-20000"}
CROWD = {"trilane", "native", "trilane-10000", "native-10000"}
#: By whom the credential is put in, and by whom not.
CREDENTIAL = {"uncredentialed", "bare"}
#: Two accounts, and two of which one cannot be reached.
EJECTED = {"bare", "accounts", "ejected"}
#: Who may send a body again, and who not.
RETRYING = {"bare", "retrying"}
#: Who writes the ledger to a file, and plain Envoy.
LEDGER_FILE = {"bare-file", "plain", "trilane-file"}
_LIMITS = ("requests", "input-tokens", "output-tokens", "concurrent-requests", "budget", "all-of-these")
LIMITED = {f"limits-{whose}-{kind}" for whose in ("key", "group") for kind in _LIMITS} | {"limits-none", "limits-both-all"}
CLOSED = {"busy", "cpu_us", "per_second"}
OPEN = {"open_cpu_us", "p50_us", "p99_us", "p99.9_us", "added_p50_us"}
PACED = {"cpu_us", "delay_p50_us", "delay_p99_us", "added_delay_p50_us", "added_delay_p99_us"}
ADDED = {"added_p50_us", "added_delay_p50_us", "added_delay_p99_us"}
CASES = {
    **{f"{size}-{place}": (EVERYBODY, CLOSED | OPEN) for size in ("1k", "100k", "1m") for place in ("first", "last")},
    **{name: (EVERYBODY, CLOSED) for name in ("vendors-headers", "agent", "languages", "escapes", "image")},
    "sse-unpaced": (EVERYBODY, CLOSED | {"events_per_second"}),
    "sse-paced": (EVERYBODY, PACED),
    "list": (EVERYBODY, CLOSED),
    "rejected": (EVERYBODY, CLOSED),
    "rejected-body": (EVERYBODY, CLOSED),
    "ledger-file": (LEDGER_FILE, CLOSED | OPEN),
    **{f"retry-{size}": (RETRYING, CLOSED) for size in ("1k", "100k", "1m")},
    "ejected": (EJECTED, CLOSED),
    "credential": (CREDENTIAL, CLOSED),
    "keys": (CROWD, CLOSED | OPEN),
    "keys_feed": (FED, CLOSED),
    "limits": (LIMITED, CLOSED),
}
#: Whether exactly so much is admitted and no more, by limit.
KEPT = {
    "requests a minute": True,
    "requests a minute, of the group": True,
    "concurrent requests": True,
    "input tokens a minute": False,
    "output tokens a minute": False,
    "input tokens a minute, estimated too low": False,
    "budget, in requests": False,
}


@pytest.fixture(scope="module")
def out() -> Path:
    """Where a short run has left its results."""
    directory = run_dir("bench")
    command = [sys.executable, str(BENCH), "--short", "--seconds", SECONDS, "--out", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for title in ("bare Envoy", "plain Envoy", "× plain", "no-op wasm filter", "trilane", "Envoy's AI filters", "Resident memory"):
        assert title in done.stdout, f"{title}\n{done.stdout}"
    return directory


def test_every_figure_is_there_and_no_request_failed(out: Path) -> None:
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert results["failures"] == []
    assert results["cases"].keys() == CASES.keys()
    turns = 0
    for case, (contestants, figures) in CASES.items():
        rows = results["cases"][case]["contestants"]
        assert rows.keys() == contestants, case
        against_plain = {name for name, row in rows.items() if "to_plain" in row.get("cpu_us", {})}
        assert against_plain == (contestants if "plain" in contestants else set()), case
        for contestant, row in rows.items():
            # Whoever cannot do half of what trilane does has no latency at that rate.
            wanted = figures - OPEN | {"overloaded"} if "overloaded" in row else figures
            assert row.keys() == wanted, f"{case}, {contestant}"
            for figure in row.keys() - ADDED - {"overloaded"}:
                assert row[figure]["median"] > 0, f"{case}, {contestant}: {figure} is {row[figure]}"
            turns += ("busy" in row) + bool({"p50_us", "delay_p50_us"} & row.keys())
    assert results["noise"]["turns"] >= turns, "every turn is watched"
    assert "p50_us" in results["cases"]["1k-first"]["contestants"]["bare"], "which can do half of what trilane does"
    assert results["resident_bytes"].keys() == EVERYBODY | EJECTED | RETRYING | CREDENTIAL | LEDGER_FILE | CROWD | FED
    assert [row[0] for row in results["tables"]["keys_feed"]["rows"]] == [10, 20_000]
    (reading,) = results["tables"]["keys_reading"]["rows"]
    assert reading[0] == 20_000 and reading[1] > 0, reading
    ((keys, took, quickest, slowest, *costs),) = results["tables"]["keys_restart"]["rows"]
    assert keys == 20_000 and 0 < quickest <= took <= slowest and all(cost > 0 for cost in costs), costs
    starts = results["tables"]["up"]["rows"]
    assert [start[0] for start in starts] == ["first", "again"]
    assert all(0 < quickest <= took <= slowest for _, took, quickest, slowest in starts), starts
    ready = results["tables"]["accounts_ready"]["rows"]
    assert [row[:2] for row in ready] == [["only", 4], ["several", 4]]
    assert all(0 < quickest <= took <= slowest for _, _, took, quickest, slowest in ready), ready
    counts = {row[0]: dict(zip(results["tables"]["instructions"]["columns"][1:], row[1:])) for row in results["tables"]["instructions"]["rows"]}
    assert counts.keys() == {"1k-first", "100k-first", "1m-first", "sse-unpaced", "list", "rejected"}
    for case, count in counts.items():
        assert 0 < count["plain"] < count["bare"] < count["noop"] < count["floor"] < count["trilane"], f"{case}: {count}"
        if case == "1m-first":
            assert count["bare"] < count["retrying"] and count["trilane"] < count["accounts"], f"a body that is kept is free: {count}"
    assert re.fullmatch(r"Envoy \d+\.\d+\.\d+", results["about"]["envoy"]), results["about"]


def test_limits_are_kept(out: Path) -> None:
    table = json.loads((out / "results.json").read_text(encoding="utf-8"))["tables"]["limits_kept"]
    rows = [dict(zip(table["columns"], row)) for row in table["rows"]]
    assert [(row["limit"], row["workers"]) for row in rows] == [(limit, workers) for limit in KEPT for workers in (2, 8)]
    for row in rows:
        assert 0 < row["used"] and row["over"] <= row["may be over"], row
        assert not (KEPT[row["limit"]] and row["may be over"]), row
        assert row["refused"] > 0, row


def test_the_chart_is_a_picture_of_it(out: Path) -> None:
    chart = ElementTree.parse(out / "chart.svg").getroot()
    said = " ".join("".join(text.itertext()) for text in chart.iter("{http://www.w3.org/2000/svg}text"))
    for expected in ("bare Envoy", "trilane", "Envoy's AI filters", "1 MB", "Model list", "bare Envoy, and in microseconds", "streamed event"):
        assert expected in said, expected
    assert "not measured" not in said, said


def test_a_run_that_has_no_figures_to_quote_is_not_published() -> None:
    for options, why in (
        (["--short"], "no figures to quote"),
        (["--only", "list"], "of one run"),
        (["--only", "up", "list"], "of one run"),
        (["--pairs", "9"], "at least 10 pairs"),
    ):
        done = subprocess.run([sys.executable, str(BENCH), "--publish", *options], capture_output=True, text=True, timeout=30)
        assert (done.returncode, why in done.stderr) == (2, True), f"{options}: {done.stderr}"
