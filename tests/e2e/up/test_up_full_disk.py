"""A disk of the ledger that fills up while the gateway runs: requests are served without a line, or refused, as the document says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import httpx
import pytest
from e2e.console.running import Api
from e2e.up.running import Up
from e2e.up.test_up import Stream
from waiting import until

MIB = 1 << 20
#: Room for a ballast, which takes 256 MiB that are free.
DISK = 300
MESSAGES = [{"role": "user", "content": "Hello"}]
#: For each protocol a request of the demonstration, and where its errors have the code.
REQUESTS: dict[str, tuple[str, dict[str, str], dict[str, Any], Callable[[Any], Any]]] = {
    "A": (
        "/v1/chat/completions",
        {"authorization": "Bearer trilane-demo-a"},
        {"model": "gpt-5.1", "messages": MESSAGES},
        lambda error: (error["error"]["type"], error["error"]["code"]),
    ),
    "B": (
        "/v1/messages",
        {"x-api-key": "trilane-demo-b", "anthropic-version": "2023-06-01"},
        {"model": "claude-opus-4-5", "max_tokens": 256, "messages": MESSAGES},
        lambda error: (error["error"]["type"], error["error"]["details"]["error_code"]),
    ),
    "C": (
        "/v1beta/models/gemini-2.5-flash:generateContent",
        {"x-goog-api-key": "trilane-demo-c"},
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
        lambda error: (error["error"]["status"], error["error"]["details"][0]["reason"]),
    ),
}
REFUSED = {
    "A": ("server_error", "ledger_unwritable"),
    "B": ("api_error", "ledger_unwritable"),
    "C": ("UNAVAILABLE", "ledger_unwritable"),
}


class SmallDisk:
    """A file system in memory, and what fills it."""

    def __init__(self, place: Path) -> None:
        self.ledger = place / "ledger.jsonl"
        self._place = place
        self._filling = place / "filling"

    def leave(self, mebibytes: float) -> None:
        """Fills it, so that so much room is left. Meanwhile others take of it, or give their ballast up."""
        until(lambda: self.fill(self.free - int(mebibytes * MIB)), 5)

    def fill(self, size: int) -> bool:
        with self._filling.open("ab") as file:
            if size > 0:
                os.posix_fallocate(file.fileno(), file.tell(), size)
        return True

    def clear(self) -> None:
        self._filling.unlink()

    @property
    def free(self) -> int:
        found = os.statvfs(self._place)
        return found.f_bavail * found.f_frsize

    @property
    def has_ballast(self) -> bool:
        ballast = self._place / ".ledger.jsonl.ballast"
        return ballast.exists() and ballast.stat().st_blocks * 512 >= 32 * MIB

    def until_given_up(self) -> None:
        """Until the ballast is away, and its room is free."""
        until(lambda: not self.has_ballast and self.free > 30 * MIB, 5)

    def lines(self) -> list[dict[str, Any]]:
        """Those of requests with a key. Of one that found no room for all of it a part is there, on a line of its own."""
        whole = self.ledger.read_text().rpartition("\n")[0].splitlines()
        return [line for line in map(read, whole) if "trilane.key.id" in line]


def read(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {}


@pytest.fixture(name="disk")
def disk_fixture(tmp_path: Path) -> Iterator[SmallDisk]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield SmallDisk(place)
    subprocess.run(["umount", place], check=True)


def ask(url: str, protocol: str, keys: Optional[dict[str, str]] = None) -> httpx.Response:
    path, headers, body, _ = REQUESTS[protocol]
    return httpx.post(f"{url}{path}", headers={**headers, **(keys or {})}, json=body, timeout=30, trust_env=False)


def statuses(url: str) -> set[int]:
    return {ask(url, protocol).status_code for protocol in REQUESTS}


def at_upstreams(up: Up) -> int:
    """How many requests Envoy has sent to accounts."""
    stats = httpx.get(f"{up.admin}/stats", params={"filter": r"^cluster\.account.*\.upstream_rq_total$"}, trust_env=False).text
    counts = [int(count) for count in re.findall(r": (\d+)$", stats, re.M)]
    assert counts
    return sum(counts)


def metric(up: Up, name: str) -> Optional[int]:
    stats = httpx.get(f"{up.admin}/stats/prometheus", params={"filter": name}, trust_env=False).text
    found = re.search(rf"^\w*{name}\S* (\d+)$", stats, re.M)
    return int(found[1]) if found else None


def change(document: Path, treatment: Optional[str]) -> None:
    """By a rename, as an editor does it."""
    text = json.loads(document.read_text())
    text.pop("ledger_unwritable", None)
    if treatment:
        text["ledger_unwritable"] = treatment
    new = document.with_suffix(".new")
    new.write_text(json.dumps(text))
    new.rename(document)


def test_requests_are_served_without_a_line(tmp_path: Path, disk: SmallDisk) -> None:
    """So it is unless the document says otherwise, and nobody is asked."""
    with Up(tmp_path / "data", "--demo", "--ledger", str(disk.ledger)) as up:
        until(lambda: disk.has_ballast, 10)
        disk.leave(2)
        up.until("its disk is full")
        disk.leave(0)
        deadline = time.monotonic() + 60
        while "cannot be written, lines are lost: is the disk full?" not in up.said:
            assert statuses(up.url) == {200}
            assert time.monotonic() < deadline, up.said
            time.sleep(0.2)
        assert metric(up, "trilane_ledger_unwritable") is None
        assert "the ledger's disk" not in up.said


def test_requests_are_refused(tmp_path: Path, disk: SmallDisk) -> None:
    data = tmp_path / "data"
    with Up(data, "--demo", "--ledger", str(disk.ledger)) as up:
        change(data / "gateway.json", "refuse")
        until(lambda: metric(up, "trilane_ledger_unwritable") == 0, 15)
        until(lambda: disk.has_ballast, 10)
        assert statuses(up.url) == {200}

        # The ballast is given up first.
        disk.leave(2)
        up.until("its disk is full")
        disk.until_given_up()
        time.sleep(1.5)
        assert statuses(up.url) == {200}, "there is room for a while"

        stream = Stream(up.url, events=12, gap=0.5)
        disk.leave(10)
        begun = time.monotonic()
        until(lambda: statuses(up.url) == {503}, 15)
        assert time.monotonic() - begun < 5
        sent = at_upstreams(up)
        for protocol, (*_, words) in REQUESTS.items():
            answer = ask(up.url, protocol)
            assert answer.status_code == 503, protocol
            assert words(answer.json()) == REFUSED[protocol], answer.text
            assert "cannot write its ledger" in answer.json()["error"]["message"], protocol
            assert answer.headers["x-trilane-error"] == "ledger_unwritable", protocol
            assert (answer.headers["retry-after"], answer.headers.get("x-should-retry")) == ("5", None), protocol
        assert at_upstreams(up) == sent, "nothing goes upstream"
        # What costs nothing is no matter of the ledger.
        _, headers, body, _ = REQUESTS["B"]
        counted = httpx.post(f"{up.url}/v1/messages/count_tokens", headers=headers, json=body, trust_env=False)
        listed = httpx.get(f"{up.url}/v1/models", headers=headers, trust_env=False)
        assert (counted.status_code, listed.status_code) == (200, 200)
        assert ask(up.url, "B", {"x-api-key": "wrong"}).status_code == 401
        assert metric(up, "trilane_ledger_unwritable") == 1
        up.until("the ledger cannot be written, and requests are refused: its disk is full")
        stream.join()
        assert stream.error is None and "message_stop" in stream.text, "what is under way goes on"

        def line_of_stream() -> bool:
            finished = [line for line in disk.lines() if line.get("trilane.outcome") == "finished"]
            return any(line["duration_ms"] > 4000 for line in finished)

        until(line_of_stream, 5)

        # Not even one byte is left.
        disk.leave(0)
        time.sleep(1)
        assert statuses(up.url) == {503}

        disk.clear()
        begun = time.monotonic()
        until(lambda: statuses(up.url) == {200}, 15)
        assert time.monotonic() - begun < 5
        up.until("the ledger's disk: goes on")
        until(lambda: metric(up, "trilane_ledger_unwritable") == 0, 5)
        until(lambda: disk.has_ballast, 5)

        # Without the setting it is as it was.
        disk.leave(0)
        disk.until_given_up()
        disk.leave(0)
        until(lambda: statuses(up.url) == {503}, 15)
        change(data / "gateway.json", None)
        until(lambda: statuses(up.url) == {200}, 15)


def test_nothing_is_lost_that_was_answered(tmp_path: Path, disk: SmallDisk) -> None:
    """The disk fills to its last byte while clients ask."""
    data = tmp_path / "data"
    with Up(data, "--demo", "--ledger", str(disk.ledger)) as up:
        change(data / "gateway.json", "refuse")
        until(lambda: metric(up, "trilane_ledger_unwritable") == 0, 15)
        until(lambda: disk.has_ballast, 10)
        ended, got = threading.Event(), []

        def client(protocol: str) -> None:
            while not ended.is_set():
                got.append(ask(up.url, protocol))
                time.sleep(0.02)

        clients = [threading.Thread(target=client, args=(protocol,)) for protocol in REQUESTS for _ in range(2)]
        for thread in clients:
            thread.start()
        disk.leave(2)
        disk.until_given_up()
        # As fast as an ordinary disk's last 32 MiB in three seconds.
        while disk.free > 2 * MIB:
            disk.fill(MIB)
            time.sleep(0.1)
        disk.leave(0)
        time.sleep(1)
        ended.set()
        for thread in clients:
            thread.join()
        served = [answer for answer in got if answer.status_code == 200]
        assert {answer.status_code for answer in got} == {200, 503} and len(served) > 20
        until(lambda: {answer.status_code for answer in got[-6:]} == {503}, 1)
        disk.clear()

        def all_served() -> bool:
            answers = [ask(up.url, protocol) for protocol in REQUESTS]
            good = [answer for answer in answers if answer.status_code == 200]
            served.extend(good)
            return good == answers

        until(all_served, 15)
        answered = Counter(answer.headers["x-request-id"] for answer in served)

        def missing() -> Counter[str]:
            return answered - Counter(line.get("trilane.upstream_request_id", "") for line in disk.lines())

        until(lambda: not missing(), 5, says=missing)


def test_an_agent_says_it_too(tmp_path: Path, disk: SmallDisk) -> None:
    with Up(tmp_path / "data", "--demo", "--console", "--console-port", "0", "--ledger", str(disk.ledger)) as up:
        api = Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())
        key = {"x-api-key": api.new_key("ann-1", "b-official")}
        until(lambda: ask(up.url, "B", key).status_code == 200, 30)
        api.publish(lambda document: document.update(ledger_unwritable="refuse"))
        until(lambda: metric(up, "trilane_ledger_unwritable") == 0, 15)
        until(lambda: disk.has_ballast, 10)
        disk.leave(2)
        disk.until_given_up()
        disk.leave(10)
        until(lambda: ask(up.url, "B", key).status_code == 503, 15)
        until(lambda: any("cannot be written" in trouble for trouble in api.get("/envoys/local")["report"].get("troubles", [])), 15)
        disk.clear()
        until(lambda: ask(up.url, "B", key).status_code == 200, 15)
