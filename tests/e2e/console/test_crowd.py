"""A crowd of connections that say nothing keeps nobody out of a console, whose shell gave it few files."""

from __future__ import annotations

import json
import resource
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from e2e.console.running import Console
from exposition import scrape_own
from waiting import until

#: The limit of open files that a shell gives.
SOFT = 256


def asks(console: Console) -> float:
    """How long a connection of its own takes to be answered."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", console.port), timeout=5) as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert stream.recv(15) == b"HTTP/1.1 200 OK"
    return time.monotonic() - begun


def test_half_sent_heads(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as ended:
        ended.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        # What a program starts with is what its shell has.
        resource.setrlimit(resource.RLIMIT_NOFILE, (SOFT, limits[1]))
        started = Console(tmp_path / "console", "--metrics-listen", "127.0.0.1:0").start()
        ended.callback(started.stop)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
        asks(started)
        crowd = ended.enter_context(ExitStack())
        for said in (b"GET / HTTP/1.1\r\nx: ", b""):
            for _ in range(1030):
                stream = socket.create_connection(("127.0.0.1", started.port), timeout=3)
                crowd.callback(stream.close)
                stream.sendall(said)
            assert asks(started) < 2
        # Nothing failed for want of files, and what said nothing is gone in time.
        told = [json.loads(line) for line in started.log.read_text().splitlines() if line.startswith("{")]
        assert not [line for line in told if "files" in str(line)], told
        until(lambda: scrape_own(started.metrics).value("trilane_console_connections") <= 2, 30)
        scraped = scrape_own(started.metrics)
        assert scraped.value("trilane_console_connections_closed_total", reason="address_crowded") > 0
        assert scraped.value("trilane_console_connections_closed_total", reason="timed_out") > 0
