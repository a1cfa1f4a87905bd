"""docs/sidecar.md, done as it says: a unit that a stand-in for systemd runs."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from e2e.guides.host import UnitHost, host_of
from e2e.guides.reader import DOCS
from e2e.guides.vendor import Vendor
from stack import WASM
from waiting import until

UNIT = "trilane.service"


class Host(UnitHost):
    """The release, and nothing else."""

    page = DOCS / "sidecar.md"
    key = "root/app.key"
    document = "/var/lib/trilane/gateway.json"

    def __init__(self, root: Path, vendor: Vendor) -> None:
        super().__init__(root, vendor, ("var/lib", "root"))
        changes = [("/var/lib/trilane", str(self.data)), ("/root/", f"{root}/root/")]
        # Places that are free here; and the command of the tests carries no filter.
        self.read(changes, TRILANE_PORT=str(self.port), TRILANE_ADMIN_PORT="0", TRILANE_WASM=str(WASM))

    @property
    def data(self) -> Path:
        return self.root / "var" / "lib" / "trilane"

    @property
    def said(self) -> str:
        return (self.state / f"{UNIT}.log").read_text()

    @property
    def pid(self) -> str:
        return (self.state / f"{UNIT}.pid").read_text()


host = host_of(Host)


def test_it_is_set_up(host: Host) -> None:
    host.is_set_up()
    addresses = [line for line in (host.data / "run" / "envoy.yaml").read_text().splitlines() if "address:" in line]
    assert addresses and not any("upstream" in line for line in addresses)


def test_a_change_takes_effect(host: Host) -> None:
    host.takes_a_change()


def test_the_unit_is_what_systemd_knows(host: Host) -> None:
    host.verify(UNIT)


def test_another_release_starts_when_streams_have_ended(host: Host) -> None:
    before = host.pid
    with host.stream_in_flight():
        (replace,) = host.parts("Another release")
        host.does(replace)
    assert "draining: requests in flight have 600 s to end" in host.said
    assert host.pid != before
    until(host.answers)


def test_it_is_stopped(host: Host) -> None:
    (stop,) = host.parts("Stopping it")
    host.does(stop)
    with pytest.raises(httpx.ConnectError):
        host.ask()
    assert host.said.rstrip().endswith("ended")
