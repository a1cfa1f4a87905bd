"""The gateway's metrics, to be compared with what its ledger adds up to; and how much memory it has."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from .sources import get

#: Metric -> its labels.
LABELS = {
    "requests_total": ("group", "entry", "model", "outcome"),
    "usage_records_total": ("group", "entry", "model", "status"),
    "rejections_total": ("group", "reason"),
    "tokens_total": ("group", "entry", "model", "kind"),
    "images_total": ("group", "entry", "model"),
    "charge_nanos_total": ("group", "entry", "model"),
    "estimated_charge_nanos_total": ("group", "entry", "model"),
    "account_tries_total": ("source", "account", "outcome"),
    "limited_total": ("group", "limit", "scope"),
    # Never counted: there is nothing like it in the ledger.
    "limit_lost_total": (),
}
_LINE = re.compile(r"trilane_(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Metrics = Mapping[str, Counter[tuple[str, ...]]]


async def scrape(admin_url: str) -> Metrics:
    """The counters above, by their labels."""
    found: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    text = (await get(f"{admin_url}/stats/prometheus?filter=trilane_")).decode()
    for line in text.splitlines():
        parsed = _LINE.fullmatch(line)
        if parsed and parsed[1] in LABELS:
            labels = dict(_LABEL.findall(parsed[2] or ""))
            found[parsed[1]][tuple(labels.get(name, "") for name in LABELS[parsed[1]])] += int(float(parsed[3]))
    return found


def unequal(metrics: Metrics, ledger: Metrics) -> list[str]:
    """Where the metrics are not what the ledger adds up to."""
    wrong = []
    for name in LABELS:
        for labels in sorted(metrics[name].keys() | ledger[name].keys()):
            counted, summed = metrics[name][labels], ledger[name][labels]
            if counted != summed:
                wrong.append(f"trilane_{name}{labels}: {counted} in the metrics, {summed} in the ledger")
    return wrong


async def reloads(admin_url: str) -> dict[str, int]:
    """How often VMs were made, and made again."""
    text = (await get(f"{admin_url}/stats?filter=%5Ewasm%5C.")).decode()
    pairs = (line.rsplit(": ", 1) for line in text.splitlines() if ": " in line)
    return {name: int(value) for name, value in pairs if value.isdigit() and re.search(r"vm_reload|\.created$", name)}


def resident(pid: int) -> float:
    """Resident memory of a process in MiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0
