#!/usr/bin/env python3
"""Checks a running `docker-compose.yaml` from outside, as a newcomer meets it.

Called by `run.sh` with the directory that it runs from (a copy: the document in it is edited here) and the
compose command.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(sys.argv[1]).resolve()
COMPOSE = sys.argv[2:]
PORT, TLS_PORT = os.environ["PORT"], os.environ["TLS_PORT"]
DOCUMENT = CHECKOUT / "envoy" / "gateway.json"

sys.dont_write_bytecode = True
sys.path.insert(0, str(CHECKOUT / "envoy"))
import demo  # noqa: E402


def main() -> None:
    """Every check, in an order in which each leaves things as it found them."""
    eventually("all services are up and healthy", services, 60)
    hardening()
    lines = demo.curl_lines(f"http://127.0.0.1:{PORT}", simulated=True)
    check("three curl lines", len(lines) == 3)
    three_lines(lines)
    tls(lines[0])
    document(lines[0])
    simulator(lines[0])
    logs()


# ---- Checks


def three_lines(lines: list[str]) -> None:
    """What `make run` prints, word for word."""
    answer = curl(lines[0], show=True)
    check(
        "A: 200, a chat completion, from a_official",
        answer.status == 200
        and answer.json.get("object") == "chat.completion"
        and answer.json["choices"][0]["message"]["content"]
        and answer.headers.get("x-sim-upstream") == "a_official",
    )
    answer = curl(lines[1], show=True)
    events = [line[7:] for line in answer.body.splitlines() if line.startswith("event: ")]
    check(
        "B: 200, a whole event stream, from b_official",
        answer.status == 200
        and answer.headers.get("content-type", "").startswith("text/event-stream")
        and events[:1] == ["message_start"]
        and events[-1:] == ["message_stop"]
        and answer.headers.get("x-sim-upstream") == "b_official",
    )
    # Eleven pauses of 200 ms in the simulator; a gateway that held the stream back would give it in one go.
    check(
        f"B: the stream came bit by bit ({answer.seconds - answer.first_byte:.1f} s after its first byte)",
        answer.seconds - answer.first_byte > 1.0,
    )
    answer = curl(lines[2], show=True)
    check(
        "C: 200, candidates, from c_official",
        answer.status == 200
        and answer.json["candidates"][0]["content"]["parts"]
        and answer.headers.get("x-sim-upstream") == "c_official",
    )
    answer = curl(lines[0].replace(demo.DEMO_KEYS["key_a"], "wrong"))
    check("a wrong key: 401", answer.status == 401 and "error" in answer.json)


def tls(line: str) -> None:
    """The TLS listener with the certificate that was made at start."""
    authority = CHECKOUT.parent / "ca.crt"
    authority.write_text(run(COMPOSE, "exec", "-T", "envoy", "cat", "/etc/trilane/certs/ca.crt"))
    secure = line.replace(f"http://127.0.0.1:{PORT}", f"https://localhost:{TLS_PORT}", 1)
    answer = curl(f"{secure} --cacert {shlex.quote(str(authority))}")
    check("TLS with the development certificate: 200, HTTP/2", answer.status == 200 and answer.version == "2")


def document(line: str) -> None:
    """Edits of the mounted document by rename: taken at once, held, and refused when broken."""
    original = DOCUMENT.read_bytes()
    changed = json.loads(original)
    digest = hashlib.sha256(demo.DEMO_KEYS["key_a"].encode()).hexdigest()
    (key,) = [key for key in changed["keys"] if key.get("sha256") == digest]
    key["disabled"] = True
    publish(json.dumps(changed).encode())
    eventually("key_a disabled by rename: refused", lambda: curl(line).status in (401, 403), 10)
    held = [curl(line).status for _ in range(20)]
    check(f"... by every worker, each time {set(held)}", set(held) <= {401, 403})
    publish(b"{ broken")
    time.sleep(2)
    check("a broken document changes nothing", curl(line).status in (401, 403))
    publish(original)
    eventually("the original document again: accepted", lambda: curl(line).status == 200, 10)
    held = [curl(line).status for _ in range(20)]
    check(f"... by every worker, each time {set(held)}", set(held) == {200})


def simulator(line: str) -> None:
    """The upstream ends by itself, is killed, comes back."""
    container = service("upstream")
    before = inspect(container)["State"]["StartedAt"]
    run(COMPOSE, "exec", "-T", "upstream", "bash", "-c", "kill -TERM 1")
    eventually("the simulator ended: restarted by Docker", lambda: inspect(container)["State"]["StartedAt"] != before, 30)
    eventually("... and answers again", lambda: curl(line).status == 200, 30)
    run(["docker"], "kill", container)
    eventually("the simulator killed: 502", lambda: curl(line, show=True).status == 502, 30)
    answer = curl(line)
    check(
        "... as an error of protocol A",
        answer.status == 502 and answer.json["error"]["message"] and "code" in answer.json["error"],
    )
    check("... while the gateway itself is well", curl(f"curl http://127.0.0.1:{PORT}/healthz").status == 200)
    run(COMPOSE, "start", "upstream")
    eventually("the simulator started again: 200", lambda: curl(line).status == 200, 60)
    eventually("all services are up and healthy", services, 60)


def services() -> bool:
    """Is everything as it should be?"""
    states = {name: inspect(service(name))["State"] for name in ("envoy", "upstream", "certificate")}
    return (
        states["envoy"]["Health"]["Status"] == "healthy"
        and states["upstream"]["Health"]["Status"] == "healthy"
        and states["certificate"]["Status"] == "exited"
        and states["certificate"]["ExitCode"] == 0
    )


def hardening() -> None:
    """Not root, nothing to write to, no port for others."""
    for name in ("envoy", "upstream"):
        found = run(COMPOSE, "exec", "-T", name, "bash", "-c", "id -u; if : > /tmp/x; then echo writable; fi 2>/dev/null; exit 0")
        check(f"{name}: user 10001, nothing writable", found.split() == ["10001"])
    ports = inspect(service("envoy"))["NetworkSettings"]["Ports"]
    bound = {(one["HostIp"], one["HostPort"]) for ones in ports.values() for one in ones or []}
    check(f"published: {sorted(bound)}", bound == {("127.0.0.1", PORT), ("127.0.0.1", TLS_PORT)})
    check("the simulator is published nowhere", not any(inspect(service("upstream"))["NetworkSettings"]["Ports"].values()))


def logs() -> None:
    """Envoy's own log and the access log reach Docker."""
    text = run(COMPOSE, "logs", "--no-color", "envoy")
    check("logs: access log lines", '"url.path":"/v1/chat/completions"' in text)
    check("logs: nothing critical", "[critical]" not in text)
    check("logs: no key", not any(value in text for value in demo.DEMO_KEYS.values()))


# ---- Tools


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


def publish(content: bytes) -> None:
    """The way that docker-compose.yaml tells people: written beside it, then renamed."""
    part = DOCUMENT.with_name("new.json")
    part.write_bytes(content)
    part.chmod(0o644)
    part.rename(DOCUMENT)


def service(name: str) -> str:
    """The container's id."""
    return run(COMPOSE, "ps", "-a", "-q", name).strip()


def inspect(container: str) -> Any:
    """All that Docker knows of a container."""
    return json.loads(run(["docker"], "inspect", container))[0]


def run(command: list[str], *arguments: str) -> str:
    """Runs a command that must succeed; its standard output."""
    done = subprocess.run([*command, *arguments], cwd=CHECKOUT, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"FAILED: {' '.join([*command, *arguments])}: {done.stderr.strip()}")
    return done.stdout


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


if __name__ == "__main__":
    main()
