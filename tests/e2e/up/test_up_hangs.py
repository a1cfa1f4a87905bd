"""`trilane up` and an Envoy that is there and does nothing: stopped by SIGSTOP, which it cannot notice, or one of its threads
stopped by ptrace."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

import pytest
from e2e.up.running import PATIENCE, Up, processes
from e2e.up.test_up import ask

#: Long enough for a machine that is short of time.
SHORT = "5s"


def stopped(up: Up) -> int:
    """Its Envoy, which hangs from here on."""
    (envoy,) = up.envoys
    os.kill(envoy, signal.SIGSTOP)
    return envoy


def test_an_envoy_that_hangs_is_started_again(tmp_path: Path) -> None:
    with Up(tmp_path / "data", "--demo", "--unresponsive-after", SHORT) as up:
        time.sleep(6)  # an Envoy that answers is left alone
        assert ask(up.url).status_code == 200 and "it is ended" not in up.said
        envoy = stopped(up)
        up.until("ready again")
        assert f"Envoy (process {envoy}) has answered nothing for 5 s; it is ended" in up.said
        assert "Envoy ended (signal: 9 (SIGKILL)); it is started again in 100 ms" in up.said
        assert ask(up.url).status_code == 200
        assert up.envoys != [envoy]
        up.send(signal.SIGINT)
        assert up.ended() == 0
    assert processes(tmp_path / "data") == []


#: ptrace(2), waitpid(2).
PTRACE_ATTACH, WALL = 16, 0x40000000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to stop a thread")
def test_a_worker_that_hangs_ends_envoy(tmp_path: Path) -> None:
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    with Up(tmp_path / "data", "--demo", "--unresponsive-after", SHORT) as up:
        (envoy,) = up.envoys
        threads = Path(f"/proc/{envoy}/task").glob("*")
        worker = next(int(each.name) for each in threads if (each / "comm").read_text() == "wrk:worker_0\n")
        assert ptrace(PTRACE_ATTACH, worker, None, None) == 0, os.strerror(ctypes.get_errno())
        deadline = time.monotonic() + PATIENCE
        while "Envoy ended" not in up.said:
            assert time.monotonic() < deadline, up.said
            # Who stops a thread has to see its end, too.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(worker, WALL | os.WNOHANG)
            time.sleep(0.02)
        assert "Envoy ended (signal: 6 (SIGABRT)" in up.said, "by itself"
        up.until("ready again")
        assert ask(up.url).status_code == 200
        up.send(signal.SIGINT)
        assert up.ended() == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_an_envoy_that_hangs_is_ended_with_everything(tmp_path: Path, how: signal.Signals) -> None:
    with Up(tmp_path / "data", "--demo", "--drain", "1s") as up:
        stopped(up)
        begun = time.monotonic()
        up.send(how)
        assert up.ended() == 0
        assert time.monotonic() - begun < 20, "asked to drain, told to end, killed"
        assert processes(tmp_path / "data") == []
