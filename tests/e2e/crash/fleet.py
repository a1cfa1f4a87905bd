"""Consoles and agents that are killed and come back, and gateways under load."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

import httpx
from child import tail
from demo import DEMO_KEYS
from e2e.support import VERSION, bearer, by_hand
from e2e.up.running import PATIENCE, environment
from stack import COMMAND, Child, Stack
from waiting import until

#: Where Debian has it. It is only used where it is there.
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


class Program:
    """A program that is killed and started again."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: dict[str, str], sign: str) -> None:
        """`sign`: what it says when it is ready. `log` is its latest run's."""
        self.name = name
        self._log = log
        self._clock = log.with_suffix(".clock")
        self.set_clock(0)
        if FAKETIME.exists():
            env = {
                **env, "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(self._clock), "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
            }  # fmt: skip
        self._command = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), *command]
        self._sign = sign
        self._child: Optional[Child] = None
        #: Where it listens, each time after the first.
        self.port = 0

    def set_clock(self, seconds: int) -> None:
        """Sets its clock so far off the true time, at once: only where there is libfaketime."""
        part = self._clock.with_suffix(".part")
        part.write_text(f"{seconds:+d}\n")
        part.replace(self._clock)

    @property
    def pid(self) -> int:
        assert self._child
        return self._child.process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def is_up(self) -> bool:
        return self._child is not None and self._child.process.poll() is None

    def start(self) -> None:
        """Starts it, and again where what it needs is not there yet."""
        deadline = time.monotonic() + PATIENCE
        while not (self.is_up() and self._sign in self.log):
            if not self.is_up():
                self._child = Child(self._command, self._log)
            assert time.monotonic() < deadline, tail(self._log)
            time.sleep(0.03)
        if not self.port:
            told = (json.loads(line) for line in self.log.splitlines() if self._sign in line)
            self.port = int(next(told)["address"].rpartition(":")[2])
            # The address of its API alone: metrics go on having any free port.
            here = f"127.0.0.1:{self.port}"
            self._command = [here if word == "127.0.0.1:0" else word for word in self._command]

    def kill(self) -> None:
        if self._child:
            self._child.process.kill()
            self._child.process.wait()

    def stop(self) -> None:
        if self._child:
            self._child.stop()


def console(name: str, place: Path, database: str, document: Path) -> Program:
    command = [
        *(str(COMMAND), "console", "--json", "--listen", "127.0.0.1:0"),
        *("--admin-token-file", str(place / "admin.token"), "--import-document", str(document)),
    ]
    return Program(name, command, place / f"{name}.log", environment(TRILANE_DATABASE=database), '"event":"listening"')


def agent(name: str, place: Path, console_port: int, ledger: Path, token: str) -> Program:
    (place / f"{name}.token").write_text(token)
    command = [
        *(str(COMMAND), "agent", "--json", "--console", f"http://127.0.0.1:{console_port}", "--listen", "127.0.0.1:0"),
        *("--enrolment-token-file", str(place / f"{name}.token"), "--data", str(place / name), "--ledger", str(ledger)),
    ]
    return Program(name, command, place / f"{name}.log", environment(), '"event":"listening"')


#: What clients ask for: key, model, and the path of its protocol.
_ASKED = (
    ("key_a", "gpt-5.1", "/v1/chat/completions"),
    ("key_b", "claude-opus-4-5", "/v1/messages"),
    ("key_b", "claude-haiku-4-5", "/v1/messages"),
    ("key_b_low", "claude-opus-4-8", "/v1/messages"),
    ("key_mixed", "claude-sonnet-4-5", "/v1/messages"),
)


class Gateway:
    """An Envoy, its clients, and its ledger, which is rotated under load."""

    CLIENTS = 2

    def __init__(self, name: str, place: Path) -> None:
        self.name = name
        self.ledger = place / name / "ledger" / "ledger.jsonl"
        self.ledger.parent.mkdir(parents=True)
        self.stack = Stack(place / name, document=by_hand(), ledger=self.ledger, concurrency=1)
        #: The requests whose answers arrived whole: id -> when.
        self.answered: dict[str, float] = {}
        self.statuses: Counter[int] = Counter()
        #: Requests that were broken off, or whose answers were.
        self.broken = 0
        self.kills: list[float] = []
        self._ends = threading.Event()
        self._threads: list[threading.Thread] = []
        #: Held by whoever restarts Envoy or rotates its ledger.
        self._changing = threading.Lock()

    def start(self) -> None:
        self.stack.start()

    def begin(self) -> None:
        """Load and rotation begin."""
        self._ends.clear()
        jobs: list[Callable[[], None]] = [*(lambda turn=turn: self._load(turn) for turn in range(self.CLIENTS)), self._rotate]
        self._threads = [threading.Thread(target=job, daemon=True) for job in jobs]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        self._threads = []

    def _load(self, turn: int) -> None:
        port = int(self.stack.base_url.rpartition(":")[2])
        connection: Optional[http.client.HTTPConnection] = None
        while not self._ends.wait(0.02):
            turn += 1
            key, model, path = _ASKED[turn % len(_ASKED)]
            body = {"model": model, "max_tokens": 16 + turn % 7, "messages": [{"role": "user", "content": "Hello " * (turn % 11)}]}
            credential = {"x-api-key": DEMO_KEYS[key], **VERSION} if path == "/v1/messages" else bearer(key)
            connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                connection.request("POST", path, json.dumps(body), {**credential, "content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                self.statuses[answer.status] += 1
                self.answered[answer.headers["x-request-id"]] = time.monotonic()
            except (OSError, http.client.HTTPException):
                self.broken += 1
                connection.close()
                connection = None
                self._ends.wait(0.1)

    def _rotate(self) -> None:
        number = 0
        while not self._ends.wait(1.5):
            number += 1
            with self._changing:
                self.rotate(number)

    def rotate(self, number: int) -> None:
        """As `trilane up` and logrotate do it: another name, then Envoy is asked to open the file anew."""
        if not self.ledger.exists():
            return
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.ledger.rename(self.ledger.with_name(f"ledger-{stamp}.{number}.jsonl"))
        httpx.post(f"{self.stack.admin_url}/reopen_logs", trust_env=False, timeout=30)

    def kill_envoy(self) -> None:
        """Kills Envoy, and starts it again after the last line of its ledger is ended, as `trilane up` does."""
        with self._changing:
            self.stack.kill_envoy()
            self.kills.append(time.monotonic())
            if self.ledger.exists() and not self.ledger.read_bytes().endswith(b"\n"):
                with self.ledger.open("ab") as file:
                    file.write(b"\n")
            self.stack.restart_envoy()

    def files(self) -> list[Path]:
        return sorted(self.ledger.parent.glob("ledger*.jsonl"))

    def settle(self) -> None:
        """Returns when Envoy has written all that it holds back."""

        def is_quiet() -> bool:
            before = [os.stat(file).st_size for file in self.files()]
            time.sleep(1)
            return before == [os.stat(file).st_size for file in self.files()]

        until(is_quiet)
