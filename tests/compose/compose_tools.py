"""What every check of the running containers uses: curl, the compose command, Docker's word on a container."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The directory that the stack runs from (a copy), and the compose command.
CHECKOUT = Path(sys.argv[1]).resolve()
COMPOSE = sys.argv[2:]
PORT, TLS_PORT = os.environ["PORT"], os.environ["TLS_PORT"]
PROMETHEUS = f"http://127.0.0.1:{os.environ['PROMETHEUS_PORT']}"
GRAFANA = f"http://127.0.0.1:{os.environ['GRAFANA_PORT']}"
GATEWAY = f"http://127.0.0.1:{PORT}"
CREDENTIALS = CHECKOUT / "envoy" / "credentials"

sys.dont_write_bytecode = True
sys.path[:0] = [str(CHECKOUT / "envoy"), str(CHECKOUT / "tests" / "runner")]
import demo  # noqa: E402

#: One request for each protocol, as `make run` prints them.
LINES = demo.curl_lines(GATEWAY, simulated=True)
#: The same without the simulator's pauses.
QUICK = demo.curl_lines(GATEWAY, simulated=False)
#: What runs all the time, without the profile `scale` and with it.
SERVICES = ["gateway", "prometheus", "grafana"]
SCALE = ["ratelimit", "redis"]


@dataclass
class Answer:
    """What curl received; status 0 if nothing."""

    status: int
    version: str
    headers: dict[str, str]
    body: str
    first_byte: float
    seconds: float

    @property
    def json(self) -> Any:
        """The body as JSON, an empty object if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return {}


def curl(line: str, show: bool = False) -> Answer:
    """Runs a curl line as it is, but for options that show more and limit its time."""
    mark = "\n--curl--"
    command = f"{line} -sS -i --max-time 30 -w '{mark}%{{http_code}} %{{http_version}} %{{time_starttransfer}} %{{time_total}}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    text, _, facts = done.stdout.rpartition(mark)
    status, version, first_byte, seconds = (facts or "0 0 0 0").split()
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    while head.startswith(("HTTP/1.1 1", "HTTP/2 1")):  # 100 Continue, 101 Switching Protocols
        head, _, body = body.partition("\n\n")
    headers = dict(part.lower().split(": ", 1) for part in head.splitlines()[1:] if ": " in part)
    if show:
        print(f"\n$ {line}\n{head.splitlines()[0] if head else done.stderr.strip()}\n{body}", flush=True)
    return Answer(int(status), version, headers, body, float(first_byte), float(seconds))


@contextlib.contextmanager
def clients(*lines: str) -> Iterator[list[int]]:
    """Repeats requests all the while, two at a time; the statuses, complete at the end."""
    answers: list[int] = []
    over = threading.Event()

    def ask() -> None:
        for line in itertools.cycle(lines):
            if over.is_set():
                return
            answers.append(curl(line).status)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        over.set()
        for thread in threads:
            thread.join(60)


def used(echo: str) -> str:
    """The credential that a request reached the upstream with."""
    headers = dict(curl(echo).json.get("headers", []))
    return headers.get("authorization", "").removeprefix("Bearer ")


def reaching(line: str, credential: str) -> str:
    """The line with a session that goes to the account with this credential: which one does, a hash decides."""
    for number in range(32):
        asked = f"{line} -H 'x-session-id: {number}'"
        if used(f"{asked} -H 'x-sim-echo: 1'") == credential:
            return asked
    raise AssertionError(f"of 32 sessions none went to the account with {credential}")


def ledger() -> list[dict[str, Any]]:
    """All lines so far."""
    text = run(COMPOSE, "exec", "-T", "gateway", "cat", "/data/ledger/ledger.jsonl")
    # The last line may be under way.
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]


def output(name: str) -> str:
    """All that a service's container has said. Asked of Docker: what compose shows is for people."""
    done = subprocess.run(
        ["docker", "logs", service(name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
    )
    return done.stdout.decode(errors="replace")


def service(name: str) -> str:
    """The container's id."""
    return run(COMPOSE, "ps", "-a", "-q", name).strip()


def inspect(container: str) -> Any:
    """All that Docker knows of a container."""
    return json.loads(run(["docker"], "inspect", container))[0]


def state(name: str) -> dict[str, Any]:
    """Of a service's container."""
    found: dict[str, Any] = inspect(service(name))["State"]
    return found


def healthy(*names: str) -> Callable[[], bool]:
    """Whether these services are."""

    def holds() -> bool:
        found = [state(name) for name in names]
        return all(one["Running"] and one.get("Health", {}).get("Status") == "healthy" for one in found)

    return holds


def run(command: list[str], *arguments: str) -> str:
    """Runs a command that must succeed; its standard output."""
    done = subprocess.run([*command, *arguments], cwd=CHECKOUT, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join([*command, *arguments])}: {done.stderr.strip()}")
    return done.stdout


def say(what: str) -> None:
    """A heading."""
    print(f"\033[1m-- {what}\033[0m", flush=True)


def check(what: str, holds: object) -> None:
    """Says what was checked; ends everything if it does not hold."""
    if not holds:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


def eventually(what: str, holds: Callable[[], bool], seconds: float) -> None:
    """The same for what may take a while."""
    start = time.monotonic()
    while not holds():
        if time.monotonic() - start > seconds:
            sys.exit(f"FAILED: {what} (not within {seconds:.0f} s)")
        time.sleep(0.1)
    print(f"ok: {what} ({time.monotonic() - start:.1f} s)", flush=True)
