"""How much memory an Envoy has, and of what kind."""

from __future__ import annotations

import json
import re
import statistics
import urllib.request
from pathlib import Path
from typing import NamedTuple

from machine import resident
from stack import Stack

#: A line of `/proc/<pid>/smaps` that begins a mapping: where it is, and what may be done there.
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ")
#: More than any other gap between mappings, in bytes.
_GUARD = 1 << 30


class Sample(NamedTuple):
    """Bytes, at one moment."""

    #: What the process has in memory.
    resident: int
    #: What Envoy's allocator has given out and not got back.
    allocated: int
    #: What that allocator holds, the free rest included.
    heap: int
    #: What the filter's VMs hold in their linear memories, all together.
    filter: int

    @property
    def used(self) -> int:
        """What is in use, whatever was set free before and is still resident."""
        return self.allocated + self.filter


def sample(stack: Stack) -> Sample:
    """Envoy's memory now."""
    pid = stack.pids["Envoy"]
    with urllib.request.urlopen(f"{stack.admin_url}/memory", timeout=20) as answer:
        told = json.load(answer)
    heap = int(told["heap_size"]) - int(told["pageheap_unmapped"])
    return Sample(resident(pid), int(told["allocated"]), heap, _linear_memory(pid))


def _linear_memory(pid: int) -> int:
    """What is resident of the linear memories: V8 puts each in front of gigabytes of addresses that nobody may touch."""
    found = 0
    before, size = (0, ""), 0
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        mapping = _MAPPING.match(line)
        if mapping:
            start, end = int(mapping[1], 16), int(mapping[2], 16)
            if mapping[3] == "---p" and end - start > _GUARD and before == (start, "rw-p"):
                found += size
            before = (end, mapping[3])
        elif line.startswith("Rss:"):
            size = int(line.split()[1]) * 1024
    return found


class Course(NamedTuple):
    """How a size went over a number of requests."""

    median: float
    #: Furthest from the median, as a part of it, with its sign.
    furthest: float
    #: Bytes a request: the straight line that fits best.
    slope: float


def course(requests: list[int], sizes: list[int]) -> Course:
    """What became of the size; at least two samples."""
    middle = statistics.median(sizes)
    furthest = max(sizes, key=lambda size: abs(size - middle))
    mean_x, mean_y = statistics.fmean(requests), statistics.fmean(sizes)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in zip(requests, sizes))
    run = sum((x - mean_x) ** 2 for x in requests)
    return Course(middle, furthest / middle - 1, rise / run)
