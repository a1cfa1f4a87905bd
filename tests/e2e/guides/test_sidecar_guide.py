"""docs/sidecar.md, done as it says: a unit that a stand-in for systemd runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from e2e.guides.reader import DOCS, Reader, free_port, shell
from e2e.guides.vendor import Vendor
from stack import COMMAND, WASM

PAGE = DOCS / "sidecar.md"
VENDOR_KEY = "sk-of-the-vendor"
CHAT = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hello"}]}
UNIT = "trilane.service"


class Host:
    """A host as the page finds it, in a directory: the release, and nothing else."""

    def __init__(self, root: Path, vendor: Vendor) -> None:
        self.root = root
        self.units, self.state = root / "etc" / "systemd" / "system", root / "state"
        for directory in (self.units, self.state, root / "usr" / "local" / "bin", root / "var" / "lib", root / "root"):
            directory.mkdir(parents=True)
        for version in ("0.1.0", "0.1.1"):
            release = root / f"trilane-{version}"
            (release / "bin").mkdir(parents=True)
            (release / "bin" / "trilane").symlink_to(COMMAND)
        self.port = free_port()
        changes = [
            ("/etc/systemd/system", str(self.units)),
            ("/var/lib/trilane", str(root / "var" / "lib" / "trilane")),
            ("/usr/local/bin", str(root / "usr" / "local" / "bin")),
            ("/root/", f"{root}/root/"),
            (" -o trilane -g trilane", ""),
            ("127.0.0.1:10000", f"127.0.0.1:{self.port}"),
            vendor.account("https://api.openai.com"),
        ]
        # Places that are free here; and the command of the tests carries no filter.
        settings = {"TRILANE_PORT": str(self.port), "TRILANE_ADMIN_PORT": "0", "TRILANE_WASM": str(WASM)}
        self.reader = Reader(root, changes, GUIDE_UNITS=str(self.units), GUIDE_STATE=str(self.state), **settings)

    def does(self, text: str) -> str:
        given = f"{VENDOR_KEY}\n" if "read -rs" in text else ""
        return self.reader.does(text, given=given, cwd=self.root)

    @property
    def data(self) -> Path:
        return self.root / "var" / "lib" / "trilane"

    @property
    def said(self) -> str:
        return (self.state / f"{UNIT}.log").read_text()

    @property
    def pid(self) -> str:
        return (self.state / f"{UNIT}.pid").read_text()

    def ask(self, stream: bool = False, **headers: str) -> httpx.Response:
        key = (self.root / "root" / "app.key").read_text().strip()
        url, body = f"http://127.0.0.1:{self.port}/v1/chat/completions", {**CHAT, "stream": stream}
        headers["authorization"] = f"Bearer {key}"
        return httpx.post(url, headers=headers, json=body, trust_env=False, timeout=30)

    def stop(self) -> None:
        for file in self.state.glob("*.pid"):
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vendor]:
    with Vendor(tmp_path_factory.mktemp("vendor") / "certificate") as running:
        yield running


@pytest.fixture(scope="module")
def host(vendor: Vendor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    host = Host(tmp_path_factory.mktemp("host"), vendor)
    try:
        yield host
    finally:
        host.stop()


def parts(heading: str) -> list[str]:
    """The commands under a heading of the page."""
    found = [block.text for block in shell(PAGE) if block.heading == heading]
    assert found, heading
    return found


def test_it_is_set_up(host: Host, vendor: Vendor) -> None:
    """The tests of this module are one story, in their order."""
    for text in parts("Setting it up"):
        host.does(text)
    get, ask, add_up = parts("The application")
    host.does(get)
    assert json.loads(host.does(ask))["object"] == "chat.completion"
    until(lambda: {"app", "openai", "gpt-5.1"} <= set(host.does(add_up).split()))
    assert [dict(request["headers"])["authorization"] for request in vendor.requests] == [f"Bearer {VENDOR_KEY}"]
    assert not any("upstream" in line for line in (host.data / "run" / "envoy.yaml").read_text().splitlines() if "address:" in line)


def test_a_change_takes_effect(host: Host) -> None:
    host.does("trilane key disable /var/lib/trilane/gateway.json --id app")
    until(lambda: host.ask().status_code == 401)
    host.does("trilane key enable /var/lib/trilane/gateway.json --id app")
    until(lambda: host.ask().status_code == 200)


def test_the_unit_is_what_systemd_knows(host: Host) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    verify = ["systemd-analyze", "verify", "--man=no", str(host.units / UNIT)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "trilane" in line]
    assert not said, said


def test_another_release_starts_when_streams_have_ended(host: Host) -> None:
    whole: list[httpx.Response] = []
    pace = {"x-sim-events": "20", "x-sim-gap-ms": "150"}
    reading = threading.Thread(target=lambda: whole.append(host.ask(stream=True, **pace)))
    reading.start()
    time.sleep(0.5)
    before = host.pid
    (replace,) = parts("Another release")
    host.does(replace)
    reading.join(30)
    assert whole and whole[0].status_code == 200 and whole[0].text.rstrip().endswith("data: [DONE]")
    assert "draining: requests in flight have 600 s to end" in host.said
    assert host.pid != before
    until(lambda: answers(host))


def test_it_is_stopped(host: Host) -> None:
    (stop,) = parts("Stopping it")
    host.does(stop)
    with pytest.raises(httpx.ConnectError):
        host.ask()
    assert host.said.rstrip().endswith("ended")


def answers(host: Host) -> bool:
    """Whether it is there at all."""
    try:
        return host.ask().status_code == 200
    except httpx.TransportError:
        return False


def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Waits for what takes its time."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)
