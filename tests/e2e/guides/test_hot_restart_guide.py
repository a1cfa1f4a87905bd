"""docs/hot-restart.md, done as it says: units that a stand-in for systemd runs, and Envoy's hot restart for real."""

from __future__ import annotations

import httpx
import pytest
from e2e.guides.envoy_host import NOTE, EnvoyHost
from e2e.guides.host import host_of
from waiting import until

host = host_of(EnvoyHost)


def test_it_is_set_up(host: EnvoyHost) -> None:
    host.is_set_up()


def test_a_change_takes_effect(host: EnvoyHost) -> None:
    host.takes_a_change()


def test_the_units_are_what_systemd_knows(host: EnvoyHost) -> None:
    host.verify("trilane-render.service", "trilane-envoy@0.service")


def test_another_process_takes_over(host: EnvoyHost) -> None:
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


def test_it_is_stopped(host: EnvoyHost) -> None:
    (stop,) = host.parts("Stopping it")
    host.does(stop)
    assert not host.running("trilane-envoy@1") and not host.running("trilane-render")
    with pytest.raises(httpx.ConnectError):
        host.ask()


def test_any_number_starts_alone(host: EnvoyHost) -> None:
    """As after a crash, or when somebody took the wrong one."""
    host.does("systemctl start trilane-envoy@7.service")
    until(host.answers)
