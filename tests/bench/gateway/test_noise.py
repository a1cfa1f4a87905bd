"""The watch that tells whether a turn was disturbed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import noise
import pytest
import rounds
from cases import Call, Case
from machine import Cores
from noise import Noise, Watch, of_cores, of_process
from results import Results

QUIET, STOLEN, WORSE, SHARED = Noise(0.0, 0.0), Noise(0.03, 0.0), Noise(0.05, 0.0), Noise(0.0, 0.2)


def stat(user: int, idle: int, steal: int) -> str:
    return f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {user} 0 0 {idle} 0 0 5 {steal} 0 0\ncpu1 0 0 0 {user + idle + 5 + steal} 0 0 0 0 0 0\nintr 1\n"


def process(ticks: int) -> str:
    return f"7 (a (strange) name) S 1 7 7 0 -1 4194560 1 0 0 0 {ticks} 0 0 0 20 0 3 0 100 1 1"


@pytest.mark.parametrize(
    ("case", "user", "idle", "steal", "gateway", "want"),
    [
        ("all of it the gateway's", 100, 0, 0, 100, QUIET),
        ("half of it another program's", 100, 0, 0, 50, Noise(0.0, 0.5)),
        ("a tenth stolen", 90, 0, 10, 90, Noise(0.1, 0.0)),
        ("the count of the process ahead", 98, 2, 0, 100, QUIET),
    ],
)
def test_shares(case: str, user: int, idle: int, steal: int, gateway: int, want: Noise, monkeypatch: Any, tmp_path: Path) -> None:
    file = tmp_path / "stat"
    monkeypatch.setattr(noise, "STAT", file)
    monkeypatch.setattr(noise, "of_process", lambda _: counted.pop(0))
    counted = [1000, 1000 + gateway]
    file.write_text(stat(500, 500, 50))
    watch = Watch(Cores(0, 1), 1)
    file.write_text(stat(500 + user, 500 + idle, 50 + steal))
    assert watch.noise() == want, case


def test_what_the_kernel_writes() -> None:
    assert of_process(process(42)) == 42
    cores = of_cores(Path("/proc/stat").read_text(), {0})
    assert cores[0].all > cores[0].busy > 0
    with pytest.raises(ValueError, match="missing"):
        of_cores(stat(1, 1, 1), {0, 7})


@pytest.mark.parametrize(
    ("case", "seen", "counts", "repeated", "disturbed"),
    [
        ("quiet", [QUIET], 0, 0, 0),
        ("quiet the second time", [STOLEN, QUIET], 1, 1, 0),
        ("never quiet: the best of three", [WORSE, STOLEN, WORSE], 1, 2, 1),
        ("others in the way, then quiet", [SHARED, QUIET], 1, 1, 0),
    ],
)
def test_a_disturbed_turn_is_run_again(
    case: str, seen: list[Noise], counts: int, repeated: int, disturbed: int, monkeypatch: Any
) -> None:
    class Seen:
        def __init__(self, *_: object) -> None:
            pass

        def noise(self) -> Noise:
            return seen[len(reports) - 1]

    class Contestant:
        name, title, pid, rejected_path = "one", "One", 1, None

    reports: list[dict[str, Any]] = []

    def drive(*_: object, **__: object) -> dict[str, Any]:
        reports.append({
            "mode": "closed", "failed": 0, "failures": {}, "requests": 1, "cpu_us": {"gateway": 10.0 + len(reports)},
            "cpu_seconds": 1.0, "per_second": 1.0,
        })  # fmt: skip
        return reports[-1]

    monkeypatch.setattr(rounds, "Watch", Seen)
    drive.cores = Cores(0, 1)  # type: ignore[attr-defined]
    results = Results({})
    options = argparse.Namespace(pairs=1, seconds=1.0, warmup=0.0, short=False)
    rounds.Rounds(drive, results, options).case(Case("c", "C", Call("/"), 1), [Contestant()], "one")  # type: ignore[arg-type, list-item]
    assert len(reports) == len(seen), case
    assert results.values["c", "one"]["cpu_us"] == {0: 10.0 + counts}, case
    assert (results.repeated, len(results.disturbed), results.turns) == (repeated, disturbed, 1), case
