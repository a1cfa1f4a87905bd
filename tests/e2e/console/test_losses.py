"""What is lost with an Envoy that is killed, and consoles that are silent and not away."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sqlite3
import struct
import threading
import time
from pathlib import Path

import httpx
import pytest
from e2e.console.running import Api, Console, ask, bind_credentials
from e2e.up.running import Up
from waiting import until

#: Requests whose bodies do not end.
UNDER_WAY = 5
#: From <linux/filter.h> and <asm/socket.h>: a program that keeps nothing of a packet, "return 0".
SO_ATTACH_FILTER = 26
DROP = struct.pack("HBBI", 0x06, 0, 0, 0)


def _console(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def _metric(up: Up, name: str) -> float:
    scraped = httpx.get(f"{up.metrics}/metrics", trust_env=False).text
    return next(float(line.split()[1]) for line in scraped.splitlines() if line.startswith(f"{name} "))


def test_requests_of_a_killed_envoy(tmp_path: Path) -> None:
    """What was under way has no line, and that is told."""
    with Up(tmp_path / "data", "--demo", "--console", "--console-port", "0") as up:
        key = _console(up).new_key("ann-1", "b-official")
        until(lambda: ask(up.url, key) == 200, 30)
        assert all(ask(up.url, key) == 200 for _ in range(7))

        def kill() -> None:
            # Long enough to be written, and to be seen.
            time.sleep(1.5)
            restarts = up.said.count("ready again")
            for envoy in up.envoys:
                os.kill(envoy, signal.SIGKILL)
            up.until("ready again", restarts + 1)
            until(lambda: ask(up.url, key) == 200, 15)
            time.sleep(1)

        kill()
        assert _metric(up, "trilane_agent_ledger_lines_lost_total") == 0, "all had ended"
        url = httpx.URL(up.url)
        head = (
            f"POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nx-api-key: {key}\r\nanthropic-version: 2023-06-01\r\n"
            "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
        )
        clients = [socket.create_connection((url.host, url.port or 80)) for _ in range(UNDER_WAY)]
        for client in clients:
            client.sendall(head.encode() + b'{"model": "claude-opus-4-5"')
        kill()
        until(lambda: _metric(up, "trilane_agent_ledger_lines_lost_total") == UNDER_WAY, 10)
        assert f"at least {UNDER_WAY} requests that it had begun have no line" in up.said
        assert _metric(up, "trilane_agent_ledger_ballast_bytes") > 0
        for client in clients:
            client.close()
        kill()
        assert _metric(up, "trilane_agent_ledger_lines_lost_total") == UNDER_WAY


class _DeafProxy:
    """Passes connections on to a port. Those of before `deafen` are as if the way to here were gone: nobody says so."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._accepted: list[socket.socket] = []
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def deafen(self) -> int:
        program = ctypes.create_string_buffer(DROP)
        filter_of_one = struct.pack("HP", 1, ctypes.addressof(program))
        deaf = 0
        for client in self._accepted:
            if client.fileno() >= 0:
                client.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_of_one)
                deaf += 1
        return deaf

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(("127.0.0.1", self._to))
            self._accepted.append(client)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture(name="document")
def document_fixture(tmp_path: Path) -> Path:
    """The document of a demonstration, whose accounts are its simulators, and its credentials."""
    with Up(tmp_path / "sample", "--demo"):
        pass
    return tmp_path / "sample" / "gateway.json"


def test_a_console_that_is_silent(tmp_path: Path, document: Path) -> None:
    """A connection whose other end is gone costs seconds, and not the time of a whole request."""
    with Console(tmp_path / "console", "--import-document", str(document)) as console:
        api = console.api
        proxy = _DeafProxy(console.port)
        key = api.new_key("ann-1", "b-official")
        token = tmp_path / "token"
        token.write_text(api.post("/envoys", {"id": "edge-1"})["token"])
        options = ("--console-url", f"http://127.0.0.1:{proxy.port}", "--enrolment-token-file", str(token))
        with Up(tmp_path / "edge", "--demo", *options, "--credentials", str(bind_credentials(document))) as up:
            until(lambda: ask(up.url, key) == 200, 30)
            for case in ("once", "and again"):
                assert proxy.deafen() >= 3, "each part of the agent has a connection"
                begun = time.monotonic()
                assert api.call("PATCH", "/keys/ann-1", {"disabled": case == "once"}).status_code == 200
                until(lambda: ask(up.url, key) == (401 if case == "once" else 200), 40)
                took = time.monotonic() - begun
                # The time of a request is 30 s.
                assert took < 15, f"{case}: {took:.1f} s"


def test_a_copy_of_keys_that_cannot_be_written(tmp_path: Path) -> None:
    """A revocation waits for no disk: changes of keys go on from memory, and are in the copy when it can be written again."""
    with Up(tmp_path / "data", "--demo", "--console", "--console-port", "0") as up:
        api = _console(up)
        keys = {name: api.new_key(name, "b-official") for name in ("revoked", "disabled", "plain")}
        until(lambda: all(ask(up.url, key) == 200 for key in keys.values()), 30)
        copy = sqlite3.connect(up.data / "agent" / "keys.db", isolation_level=None)
        # As a disk that takes nothing: whoever wants to write fails.
        copy.execute("BEGIN IMMEDIATE")
        assert api.call("DELETE", "/keys/revoked").status_code == 204
        assert api.call("PATCH", "/keys/disabled", {"disabled": True}).status_code == 200
        keys["new"] = api.new_key("new", "b-official")
        want = {"revoked": 401, "disabled": 401, "plain": 200, "new": 200}
        until(lambda: {name: ask(up.url, key) for name, key in keys.items()} == want, 25)
        up.until("changes are told from memory")
        # A change of what is only in memory.
        assert api.call("PATCH", "/keys/disabled", {"disabled": False}).status_code == 200
        want["disabled"] = 200
        until(lambda: ask(up.url, keys["disabled"]) == 200, 25)
        copy.execute("ROLLBACK")
        up.until("the copy of keys: goes on")
        ids = "SELECT change ->> '$.id' AS id FROM keys WHERE removed_at IS NULL ORDER BY id"
        # Beside them are those of the demo, which the console has taken in.
        until(lambda: [row[0] for row in copy.execute(ids) if row[0] in want] == ["disabled", "new", "plain"], 15)
        copy.close()
        for number in (1, 2):
            assert api.call("PATCH", "/keys/plain", {"disabled": number == 1}).status_code == 200
            want["plain"] = 401 if number == 1 else 200
            until(lambda: {name: ask(up.url, key) for name, key in keys.items()} == want, 15)
