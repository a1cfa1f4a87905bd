"""Envoy's allocator joins its memory into huge pages, which makes a body that is kept cheaper (`memory_allocator_manager`)."""

from __future__ import annotations

import mmap
import re
import time
from pathlib import Path

import pytest
from stack import Stack

#: Of most processors, in bytes.
HUGE_PAGE = 2 << 20
#: `madvise(2)`, Linux 6.1. Python has no name for it.
MADV_COLLAPSE = 25


def kernel_makes_them() -> bool:
    """Whether this kernel makes a huge page at once for a process that asks."""
    with mmap.mmap(-1, 2 * HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(bytes(2 * HUGE_PAGE))
        try:
            memory.madvise(MADV_COLLAPSE)
        except OSError:
            return False
    return True


def in_huge_pages(pid: int) -> int:
    """How much of a process' memory, in bytes."""
    found = re.search(r"^AnonHugePages:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    return int(found[1]) * 1024 if found else 0


@pytest.mark.skipif(not kernel_makes_them(), reason="this kernel makes no huge pages for a process that asks for them (Linux 6.1)")
def test_envoys_memory_is_in_huge_pages(stack: Stack) -> None:
    envoy = stack.pids["Envoy"]
    deadline = time.monotonic() + 30
    while (joined := in_huge_pages(envoy)) < 2 * HUGE_PAGE:
        assert time.monotonic() < deadline, f"{joined} bytes of Envoy's memory are in huge pages"
        time.sleep(0.2)
