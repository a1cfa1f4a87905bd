"""A PostgreSQL server that a test kills and starts again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from child import Child
from e2e.up.running import PATIENCE
from postgres import fetch

#: The user "nobody": PostgreSQL refuses to run as root.
_NOBODY = 65534


class PostgresServer:
    """A server on a Unix socket, which keeps what it has committed as it does anywhere: with `fsync`, and no shortcuts."""

    def __init__(self, log: Path) -> None:
        programs = fetch.programs()
        assert programs, "there are no programs of PostgreSQL: `make postgres` fetches them"
        self._programs = programs
        self._log = log
        # Short, for a socket's path has 107 bytes at most.
        self._place = Path(tempfile.mkdtemp(prefix="trilane-crash-"))
        self.socket = self._place / ".s.PGSQL.5432"
        self._child: Child | None = None
        root = os.getuid() == 0
        self._user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--pdeathsig", "QUIT"] if root else []
        if root:
            os.chown(self._place, _NOBODY, _NOBODY)
        self._data = self._place / "data"
        initdb = [str(programs / "initdb"), "-D", str(self._data), "--username=trilane", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        subprocess.run([*self._user, *initdb, "--no-sync"], cwd=self._place, check=True, capture_output=True)

    def start(self) -> None:
        """Returns when it takes connections, perhaps to say that it is still recovering."""
        server = [str(self._programs / "postgres"), "-D", str(self._data), "-k", str(self._place), "-c", "listen_addresses=", "-c", "max_connections=60"]
        deadline = time.monotonic() + PATIENCE
        while not self._listens():
            # One that was killed a moment ago may still hold the shared memory.
            if self._child is None or self._child.process.poll() is not None:
                self._child = Child([*self._user, *server], self._log)
            assert time.monotonic() < deadline, self._log.read_text(errors="replace")[-2000:]
            time.sleep(0.05)

    def _listens(self) -> bool:
        if self._child is None or self._child.process.poll() is not None:
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self.socket)) == 0

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.socket))
        return connection

    def kill(self) -> None:
        """Kills all of its processes at once, as a host that loses its power would, but for the page cache."""
        assert self._child
        self._child.process.kill()
        for pid in self._backends():
            _kill(pid)
        self._child.process.wait()

    def kill_backend(self, number: int) -> None:
        """Kills one of its processes. The server ends all others then, and recovers."""
        if backends := self._backends():
            _kill(backends[number % len(backends)])

    def _backends(self) -> list[int]:
        assert self._child
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended
            if parent == self._child.process.pid:
                found.append(int(process.name))
        return sorted(found)

    def stop(self) -> None:
        if self._child:
            self._child.process.send_signal(signal.SIGQUIT)
            self._child.stop()
        shutil.rmtree(self._place, ignore_errors=True)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
