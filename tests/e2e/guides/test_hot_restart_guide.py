"""docs/hot-restart.md, done as it says: units that a stand-in for systemd runs, and Envoy's hot restart for real."""

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
from typing import Optional

import fetch
import httpx
import pytest
from e2e.guides.reader import DOCS, Reader, free_port, shell
from e2e.guides.vendor import Vendor
from stack import COMMAND, WASM

PAGE = DOCS / "hot-restart.md"
VENDOR_KEY = "sk-of-the-vendor"
CHAT = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hello"}]}
#: A custom section: another file, the same filter.
NOTE = b"\0\x05\x04note"
#: Seconds that the page leaves a process that was taken over, and those of this test.
PATIENCE = ("--drain-time-s 600 --parent-shutdown-time-s 900", "--drain-time-s 1 --parent-shutdown-time-s 4")


class Host:
    """A host as the page finds it, in a directory: the release, Envoy, and nothing else."""

    def __init__(self, root: Path, vendor: Vendor) -> None:
        self.root = root
        self.units, self.state = root / "etc" / "systemd" / "system", root / "state"
        for directory in (self.units, self.state, root / "usr" / "local" / "bin"):
            directory.mkdir(parents=True)
        (root / "usr" / "local" / "bin" / "envoy").symlink_to(fetch.envoy_binary())
        for version, note in (("0.1.0", b""), ("0.1.1", NOTE)):
            release = root / f"trilane-{version}"
            (release / "bin").mkdir(parents=True)
            (release / "bin" / "trilane").symlink_to(COMMAND)
            (release / "trilane.wasm").write_bytes(WASM.read_bytes() + note)
        #: Not the one of somebody else's Envoy: a number in what they share.
        self.base = os.getpid()
        self.port, self.admin, self._config = free_port(), free_port(), free_port()
        #: Places that are free here.
        here, config = root / "etc" / "trilane", "trilane envoy-config --mode sidecar"
        places = (
            f"--listen 127.0.0.1:{self.port} --admin 127.0.0.1:{self.admin} --document-listen 127.0.0.1:{self._config} "
            f"--filter {here}/filter/trilane.wasm --document {here}/document/gateway.json --upstreams {here}/upstreams"
        )
        changes = [
            ("/etc/systemd/system", str(self.units)),
            ("/etc/trilane", str(root / "etc" / "trilane")),
            ("/usr/local/bin", str(root / "usr" / "local" / "bin")),
            (" -o trilane -g trilane", ""),
            ("--restart-epoch", f"--base-id {self.base} --restart-epoch"),
            PATIENCE,
            ("127.0.0.1:10000", f"127.0.0.1:{self.port}"),
            ("127.0.0.1:9901", f"127.0.0.1:{self.admin}"),
            vendor.account("https://api.openai.com"),
            (config, f"{config} {places}"),  # last: it has these places in it
        ]
        self.reader = Reader(root, changes, GUIDE_UNITS=str(self.units), GUIDE_STATE=str(self.state))

    def does(self, text: str) -> str:
        given = f"{VENDOR_KEY}\n" if "read -rs" in text else ""
        return self.reader.does(text, given=given, cwd=self.root)

    def running(self, unit: str) -> bool:
        """Whether its process is there, and no zombie."""
        file = self.state / f"{unit}.service.pid"
        try:
            state = Path("/proc", file.read_text(), "stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state != "Z"

    def epoch(self) -> Optional[int]:
        """Of the process that has the admin interface; `None` while that passes from one process to the other."""
        try:
            told = httpx.get(f"http://127.0.0.1:{self.admin}/server_info", trust_env=False, timeout=10).json()
        except httpx.TransportError:
            return None
        return int(told["command_line_options"]["restart_epoch"])

    def ask(self, stream: bool = False, **headers: str) -> httpx.Response:
        key = (self.root / "etc" / "trilane" / "app.key").read_text().strip()
        url, body = f"http://127.0.0.1:{self.port}/v1/chat/completions", {**CHAT, "stream": stream}
        headers["authorization"] = f"Bearer {key}"
        return httpx.post(url, headers=headers, json=body, trust_env=False, timeout=30)

    def stop(self) -> None:
        """Ends every process of these units, and takes away what Envoy's hot restart leaves in shared memory."""
        for file in self.state.glob("*.pid"):
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass
        Path(f"/dev/shm/envoy_shared_memory_{self.base * 10}").unlink(missing_ok=True)


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


def test_a_change_takes_effect(host: Host) -> None:
    host.does("trilane key disable /etc/trilane/gateway.json --id app")
    until(lambda: host.ask().status_code == 401)
    host.does("trilane key enable /etc/trilane/gateway.json --id app")
    until(lambda: host.ask().status_code == 200)


def test_the_units_are_what_systemd_knows(host: Host) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    for unit in ("trilane-render.service", "trilane-envoy@0.service"):
        verify = ["systemd-analyze", "verify", "--man=no", str(host.units / unit)]
        done = subprocess.run(verify, capture_output=True, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if "trilane" in line]
        assert not said, said


def test_another_process_takes_over(host: Host) -> None:
    """A stream that began before goes on to its end, in the old process, which then ends by itself."""
    whole: list[httpx.Response] = []
    pace = {"x-sim-events": "20", "x-sim-gap-ms": "150"}
    reading = threading.Thread(target=lambda: whole.append(host.ask(stream=True, **pace)))
    reading.start()
    time.sleep(0.5)
    replace, start = parts("Another Envoy, another filter")
    host.does(replace)
    assert (host.root / "etc" / "trilane" / "filter" / "trilane.wasm").read_bytes().endswith(NOTE)
    assert host.epoch() == 0
    host.does(start)
    until(lambda: host.epoch() == 1)
    until(lambda: all_is_well(host))
    reading.join(30)
    assert whole and whole[0].status_code == 200 and whole[0].text.rstrip().endswith("data: [DONE]")
    until(lambda: not host.running("trilane-envoy@0"))
    assert host.running("trilane-envoy@1") and all_is_well(host)


def test_it_is_stopped(host: Host) -> None:
    (stop,) = parts("Stopping it")
    host.does(stop)
    assert not host.running("trilane-envoy@1") and not host.running("trilane-render")
    with pytest.raises(httpx.ConnectError):
        host.ask()


def test_any_number_starts_alone(host: Host) -> None:
    """As after a crash, or when somebody took the wrong one."""
    host.does("systemctl start trilane-envoy@7.service")
    until(lambda: answers(host))


def all_is_well(host: Host) -> bool:
    """Whether requests are answered. Until the document is read clients are asked to come again; none is turned off."""
    answer = host.ask()
    assert answer.status_code == 200 or (answer.status_code == 503 and answer.headers["retry-after"]), answer.text
    return answer.status_code == 200


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
