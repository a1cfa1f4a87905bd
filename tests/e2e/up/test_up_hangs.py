"""`trilane up` and an Envoy that is there and does nothing: stopped by SIGSTOP, which it cannot notice."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from e2e.up.running import Up, processes
from e2e.up.test_up import ask


def stopped(up: Up) -> int:
    """Its Envoy, which hangs from here on."""
    (envoy,) = up.envoys
    os.kill(envoy, signal.SIGSTOP)
    return envoy


def test_an_envoy_that_hangs_is_started_again(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--unresponsive-after", "2s") as up:
        time.sleep(4)  # an Envoy that answers is left alone
        assert ask(up.url).status_code == 200 and "it is ended" not in up.said
        envoy = stopped(up)
        up.until("ready again")
        assert f"Envoy (process {envoy}) has answered nothing for 2 s; it is ended" in up.said
        assert "Envoy ended (signal: 9 (SIGKILL)); it is started again in 100 ms" in up.said
        assert ask(up.url).status_code == 200
        assert up.envoys != [envoy]
        up.send(signal.SIGINT)
        assert up.ended() == 0
    assert processes(tmp_path / "data") == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_envoy_that_hangs_is_ended_with_everything(tmp_path: Path, how: signal.Signals) -> None:
    with Up(tmp_path / "data", "--demo", "--drain", "1s") as up:
        stopped(up)
        begun = time.monotonic()
        up.send(how)
        assert up.ended() == 0
        assert time.monotonic() - begun < 20, "asked to drain, told to end, killed"
        assert processes(tmp_path / "data") == []
