"""The machine: which cores to use, what it is called, how much memory a process has."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Optional


class Cores(NamedTuple):
    """Where things run; `None` is anywhere."""

    gateway: Optional[int]
    load: Optional[int]


def choose_cores() -> Cores:
    """One core for the gateway and another for the load, which share no execution units where that can be had."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores(None, None)
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        return Cores(None, None)
    first = usable[0]
    apart = [core for core in usable[1:] if core not in _siblings(first)]
    return Cores(first, (apart or usable[1:])[0])


def _siblings(core: int) -> set[int]:
    """The cores that are one core in hardware."""
    file = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
    try:
        text = file.read_text()
    except OSError:
        return {core}
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            found.update(range(int(first), int(last or first) + 1))
    return found


@contextmanager
def pinned(core: Optional[int]) -> Iterator[None]:
    """Whatever is started inside runs on this core, with all its threads."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def resident(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+) kB", text, re.M)
    if not found:
        raise RuntimeError(f"/proc/{pid}/status does not say VmRSS")
    return int(found[1]) * 1024


def description() -> dict[str, object]:
    """What figures depend on."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    name = re.search(r"^model name\s*: (.+)$", text, re.M)
    return {
        "cpu": name[1] if name else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
    }
