"""Puts the figures where the documentation shows them: `docs/benchmarks.svg`, and the summary that it was drawn from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from chart import svg
from fetch import ROOT
from results import Results

DOCS = ROOT / "docs"
#: Fewer pairs are no figures to quote.
PAIRS = 10


def refused(short: bool, only: object, only_tables: bool, pairs: int) -> str:
    """Why such a run is not published; empty if it is."""
    if short:
        return "a short run has no figures to quote"
    if only and not only_tables:
        return "the chart shows all cases, so all must be of one run"
    return f"at least {PAIRS} pairs are needed" if pairs < PAIRS else ""


def publish(results: Results, directory: Path = DOCS) -> list[Path]:
    """Writes both files."""
    chart, summary = directory / "benchmarks.svg", directory / "benchmarks.json"
    chart.write_text(svg(results), encoding="utf-8")
    summary.write_text(json.dumps(summarised(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [chart, summary]


def publish_tables(results: Results, directory: Path = DOCS) -> list[Path]:
    """Puts the tables of this run in the place of those that were published, and says when they were measured."""
    summary = directory / "benchmarks.json"
    published = json.loads(summary.read_text(encoding="utf-8"))
    for name, table in summarised(results)["tables"].items():
        about = results.about
        load = f"the load average of the machine was {about['load']:.1f} on {about['cores']} cores"
        measured = f"Measured by itself, on {about['date']} at {about['commit']}; {load} when it began."
        published["tables"][name] = {**table, "note": f"{table['note']} {measured}"}
    summary.write_text(json.dumps(published, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [summary]


def summarised(results: Results) -> dict[str, Any]:
    """All medians, spreads and ratios, without the single values, to four digits."""
    told = _short(results.to_json())
    assert isinstance(told, dict)
    del told["failures"]
    return told


def commit() -> str:
    """What was measured, where git can say it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items() if not (name == "values" and "median" in value)}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
