"""Waiting for what takes its time."""

from __future__ import annotations

import time
from typing import Any, Callable

import httpx

#: How long anything may take on a busy machine, in seconds.
PATIENCE = 60.0


def until(
    probe: Callable[[], Any],
    timeout: float = PATIENCE,
    *,
    check: Callable[[], None] = lambda: None,
    says: Callable[[], object] = lambda: "",
) -> Any:
    """What `probe` gives as soon as that is true. Meanwhile connections may fail, and answers and lines may not be whole.

    `check` may say before that it never will be; `says` is asked why it did not come.
    """
    deadline = time.monotonic() + timeout
    while True:
        check()
        last: Any
        try:
            last = probe()
        except (httpx.TransportError, OSError, ValueError) as error:
            last = error
        else:
            if last:
                return last
        assert time.monotonic() < deadline, f"not within {timeout} s; the last was {last!r} {says()}"
        time.sleep(0.02)
