#!/usr/bin/env python3
"""Checks a running `docker-compose.yaml` from outside, as a newcomer meets it.

Called by `run.sh` with the directory that it runs from (a copy: the document in it is edited here) and the
compose command.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(sys.argv[1]).resolve()
COMPOSE = sys.argv[2:]
PORT, TLS_PORT = os.environ["PORT"], os.environ["TLS_PORT"]
DOCUMENT = CHECKOUT / "envoy" / "gateway.json"
IN_FORCE = "/etc/trilane/document/gateway.json"
SECRETS = "/etc/trilane/upstreams/secrets"
CREDENTIALS = CHECKOUT / "envoy" / "credentials"

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
    accounts(lines[0])
    simulator(lines[0])
    renderer(lines[0])
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
    """Edits of the document, in place and by rename: taken at once, held, and refused when broken."""
    original = DOCUMENT.read_bytes()
    changed = json.loads(original)
    digest = hashlib.sha256(demo.DEMO_KEYS["key_a"].encode()).hexdigest()
    (key,) = [key for key in changed["keys"] if key.get("sha256") == digest]
    key["disabled"] = True
    check("in force is a copy of the document", in_force() == original)
    edit(json.dumps(changed).encode())
    eventually("key_a disabled by an edit in place: refused", lambda: curl(line).status in (401, 403), 10)
    held = [curl(line).status for _ in range(20)]
    check(f"... by every worker, each time {set(held)}", set(held) <= {401, 403})
    check("in force is the edited one", in_force() == DOCUMENT.read_bytes())
    said = refusals()
    edit(b"{ broken")
    eventually("a broken document: the render service says so", lambda: refusals() > said, 10)
    time.sleep(2)
    check("... and nothing changes", curl(line).status in (401, 403) and in_force() == json.dumps(changed).encode())
    replace(DOCUMENT, original)
    eventually("the original document again, by rename: accepted", lambda: curl(line).status == 200, 10)
    held = [curl(line).status for _ in range(20)]
    check(f"... by every worker, each time {set(held)}", set(held) == {200})


def accounts(line: str) -> None:
    """Credentials by rename, an account that fails, an account that moves; and each time no request is lost."""
    echo = f"{line} -H 'x-sim-echo: 1'"
    value = used(echo)
    check(f"the upstream got an account's credential, {value}", value.startswith("simulated-credential-of-a-official-"))
    account = value.removeprefix("simulated-credential-of-")
    file = CREDENTIALS / account

    with clients(line) as answers:
        replace(file, b"rotated-credential\n")
        eventually("a credential replaced by rename: used", lambda: used(echo) == "rotated-credential", 3)
        held = {used(echo) for _ in range(20)}
        check(f"... by every worker, each time {held}", held == {"rotated-credential"})
        replace(file, b"\n")
        eventually("no credential in the file: another account's", lambda: used(echo) not in ("", "rotated-credential"), 3)
        replace(file, f"{value}\n".encode())
        eventually("the first credential again: used again", lambda: used(echo) == value, 40)
    check(f"... and meanwhile {len(answers)} requests, each with {set(answers)}", set(answers) == {200} and len(answers) > 20)

    original = DOCUMENT.read_bytes()
    changed = json.loads(original)
    (group,) = [group for group in changed["groups"] if group["id"] == "a-official"]
    (failing,) = [one for one in group["accounts"] if one["id"] == account]
    failing["url"] = "http://upstream:9199"
    with clients(line) as answers:
        edit(json.dumps(changed).encode())
        eventually(f"{account} at a port where nobody listens: another account's", lambda: used(echo) not in ("", value), 10)
        edit(original)
        eventually("the original document again: its own", lambda: used(echo) == value, 40)
    check(f"... and meanwhile {len(answers)} requests, each with {set(answers)}", set(answers) == {200} and len(answers) > 20)
    for kind in ("no_credential", "connection"):
        what = f"the ledger has the tries at it that failed ({kind}), and who answered instead"  # written every ten seconds
        eventually(what, lambda kind=kind: failed_over(account, kind), 20)

    # One more account, in a group that is new: its cluster must come before the document and go after it.
    changed = json.loads(original)
    changed["groups"].append({**group, "id": "a-new", "accounts": [{**failing, "url": "http://upstream:9103"}]})
    (key,) = [key for key in changed["keys"] if key["id"] == "key_a"]
    key["group"] = "a-new"
    secret = f"a-new.{failing['id']}.json"
    with clients(line) as answers:
        edit(json.dumps(changed).encode())
        eventually("a new group with an account: served", lambda: curl(line).headers.get("x-sim-upstream") == "b_low_rate", 10)
        check("... by its secret", secret in secrets())
        edit(original)
        eventually("the original document again", lambda: curl(line).headers.get("x-sim-upstream") == "a_official", 10)
        eventually("... and what the group left over goes", lambda: secret not in secrets(), 10)
    check(f"... and meanwhile {len(answers)} requests, each with {set(answers)}", set(answers) == {200} and len(answers) > 20)


def renderer(line: str) -> None:
    """The render service is needed for changes only, and ends when it is asked to."""
    container = service("render")
    run(COMPOSE, "stop", "render")
    state = inspect(container)["State"]
    check("render stops by itself, with 0", state["ExitCode"] == 0 and not state["OOMKilled"])
    check("... and the gateway serves without it", curl(line).status == 200)
    run(COMPOSE, "start", "render")
    eventually("all services are up and healthy", services, 60)


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
    states = {name: inspect(service(name))["State"] for name in ("envoy", "upstream", "render", "certificate")}
    return (
        states["envoy"]["Health"]["Status"] == "healthy"
        and states["upstream"]["Health"]["Status"] == "healthy"
        and states["render"]["Health"]["Status"] == "healthy"
        and states["certificate"]["Status"] == "exited"
        and states["certificate"]["ExitCode"] == 0
    )


def hardening() -> None:
    """Not root, nothing to write to, no port for others."""
    for name in ("envoy", "upstream", "render"):
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
    text += run(COMPOSE, "logs", "--no-color", "render")
    check("logs: no credential", "simulated-credential" not in text and "rotated-credential" not in text)


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


def edit(content: bytes) -> None:
    """The document, as most editors write it: in place."""
    DOCUMENT.write_bytes(content)


def in_force() -> bytes:
    """The document as Envoy has it."""
    return run(COMPOSE, "exec", "-T", "envoy", "cat", IN_FORCE).encode()


def secrets() -> list[str]:
    """The files of secrets."""
    return run(COMPOSE, "exec", "-T", "envoy", "ls", SECRETS).split()


def refusals() -> int:
    """How often the render service has refused something."""
    return run(COMPOSE, "logs", "--no-color", "render").count("error: ")


def replace(file: Path, content: bytes) -> None:
    """Written beside it, then renamed: what docker-compose.yaml asks for with credentials."""
    part = file.with_name("new")
    part.write_bytes(content)
    part.chmod(0o644)
    part.rename(file)


def used(echo: str) -> str:
    """The credential that a request reached the upstream with."""
    headers = dict(curl(echo).json.get("headers", []))
    return headers.get("authorization", "").removeprefix("Bearer ")


@contextlib.contextmanager
def clients(line: str) -> Iterator[list[int]]:
    """Repeats a request all the while; the statuses, complete at the end."""
    answers: list[int] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
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


def failed_over(account: str, kind: str) -> bool:
    """Is there a line about a try that failed like this, and are all of them about requests that another answered?"""
    lines = [
        line
        for line in ledger()
        if any((one["account"], one["kind"]) == (account, kind) for one in line.get("trilane.tries.failed", ()))
    ]
    return bool(lines) and all(line["trilane.account"] != account for line in lines)


def ledger() -> list[dict[str, Any]]:
    """All lines so far."""
    text = run(COMPOSE, "logs", "--no-color", "--no-log-prefix", "envoy")
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


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
