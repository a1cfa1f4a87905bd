"""docs/hot-restart.md, done as it says: units that a stand-in for systemd runs, and Envoy's hot restart for real."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

import fetch
import httpx
import pytest
from e2e.guides.host import RELEASES, UnitHost, host_of
from e2e.guides.reader import DOCS, free_port
from e2e.guides.vendor import Vendor
from stack import WASM
from waiting import until

#: A custom section: another file, the same filter.
NOTE = b"\0\x05\x04note"
#: Seconds that the page leaves a process that was taken over, and those of this test.
PATIENCE = ("--drain-time-s 600 --parent-shutdown-time-s 900", "--drain-time-s 1 --parent-shutdown-time-s 4")


class Host(UnitHost):
    """The release with the filter as a file, Envoy, and nothing else."""

    page = DOCS / "hot-restart.md"
    key = "etc/trilane/app.key"
    document = "/etc/trilane/gateway.json"

    def __init__(self, root: Path, vendor: Vendor) -> None:
        super().__init__(root, vendor, ())
        (root / "usr" / "local" / "bin" / "envoy").symlink_to(fetch.envoy_binary())
        for version, note in zip(RELEASES, (b"", NOTE)):
            (root / f"trilane-{version}" / "trilane.wasm").write_bytes(WASM.read_bytes() + note)
        #: Not the one of somebody else's Envoy: a number in what they share.
        self.base = os.getpid()
        self.admin, config_port = free_port(), free_port()
        #: Places that are free here.
        here, config = root / "etc" / "trilane", "trilane envoy-config --mode sidecar"
        places = (
            f"--listen 127.0.0.1:{self.port} --admin 127.0.0.1:{self.admin} --document-listen 127.0.0.1:{config_port} "
            f"--filter {here}/filter/trilane.wasm --document {here}/document/gateway.json --upstreams {here}/upstreams"
        )
        self.read(
            [
                ("/etc/trilane", str(here)),
                ("--restart-epoch", f"--base-id {self.base} --restart-epoch"),
                PATIENCE,
                ("127.0.0.1:9901", f"127.0.0.1:{self.admin}"),
                (config, f"{config} {places}"),  # last: it has these places in it
            ]
        )

    def running(self, unit: str) -> bool:
        """Whether its process is there, and no zombie."""
        file = self.state / f"{unit}.service.pid"
        try:
            state = Path("/proc", file.read_text(), "stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state != "Z"

    def said(self, unit: str) -> str:
        """What it wrote last."""
        log = self.state / f"{unit}.service.log"
        return log.read_text()[-3000:] if log.exists() else f"{unit} has no log"

    def epoch(self) -> Optional[int]:
        """Of the process that has the admin interface; `None` while that passes from one process to the other."""
        try:
            told = httpx.get(f"http://127.0.0.1:{self.admin}/server_info", trust_env=False, timeout=10).json()
        except httpx.TransportError:
            return None
        return int(told["command_line_options"]["restart_epoch"])

    def is_well(self) -> bool:
        """Whether requests are answered. Until the document is read clients are asked to come again; none is turned off."""
        answer = self.ask()
        assert answer.status_code == 200 or (answer.status_code == 503 and answer.headers["retry-after"]), answer.text
        return answer.status_code == 200

    def stop(self) -> None:
        """Also takes away what Envoy's hot restart leaves in shared memory."""
        super().stop()
        Path(f"/dev/shm/envoy_shared_memory_{self.base * 10}").unlink(missing_ok=True)


host = host_of(Host)


def test_it_is_set_up(host: Host) -> None:
    host.is_set_up()


def test_a_change_takes_effect(host: Host) -> None:
    host.takes_a_change()


def test_the_units_are_what_systemd_knows(host: Host) -> None:
    host.verify("trilane-render.service", "trilane-envoy@0.service")


def test_another_process_takes_over(host: Host) -> None:
    """A stream that began before goes on to its end, in the old process, which then ends by itself."""
    with host.stream_in_flight():
        replace, start = host.parts("Another Envoy, another filter")
        host.does(replace)
        assert (host.root / "etc" / "trilane" / "filter" / "trilane.wasm").read_bytes().endswith(NOTE)
        assert host.epoch() == 0
        host.does(start)
        until(lambda: host.epoch() == 1, says=lambda: host.said("trilane-envoy@1"))
        until(host.is_well)
    until(lambda: not host.running("trilane-envoy@0"))
    assert host.running("trilane-envoy@1") and host.is_well()


def test_it_is_stopped(host: Host) -> None:
    (stop,) = host.parts("Stopping it")
    host.does(stop)
    assert not host.running("trilane-envoy@1") and not host.running("trilane-render")
    with pytest.raises(httpx.ConnectError):
        host.ask()


def test_any_number_starts_alone(host: Host) -> None:
    """As after a crash, or when somebody took the wrong one."""
    host.does("systemctl start trilane-envoy@7.service")
    until(host.answers)
