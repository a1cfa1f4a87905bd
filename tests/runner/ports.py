"""Ports of the tests' own."""

from __future__ import annotations

import contextlib
import random
import socket


def free_port() -> int:
    """A port that nobody has, out of a range from which the kernel gives none to those who bind to port 0."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port
