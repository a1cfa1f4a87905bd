"""Upstreams with TLS, as it should be and as it should not: the simulator's listeners, each behind a wiretap."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from e2e.accounts.wiretap import Wiretap
from stack import SIMULATOR, Child

#: The certificates, each with an authority of its own, and what `trilane-upstream certificate` is told.
CERTIFICATES = {
    "good": [],
    "other": ["--name", "other.example", "--name", "192.0.2.7"],
    "expired": ["--expired"],
    "self-signed": ["--self-signed"],
}
#: The listeners: the certificate, and the only version of HTTP if it is not both.
LISTENERS: dict[str, tuple[str, str]] = {
    "good": ("good", ""),
    "h1": ("good", "http/1.1"),
    "h2": ("good", "h2"),
    "other": ("other", ""),
    "expired": ("expired", ""),
    "self-signed": ("self-signed", ""),
    "plain": ("", ""),
}
#: A listener that takes connections and says nothing.
SILENT = "silent"


class TlsServers:
    """All of them. Accounts reach them by `url`, which leads through the wiretaps."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._exit = contextlib.ExitStack()
        self.taps: dict[str, Wiretap] = {}

    def __enter__(self) -> TlsServers:
        with self._exit:
            self._start()
            self._exit = self._exit.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def authority(self, certificate: str) -> Path:
        """Who vouches for a certificate (for a self-signed one: somebody who does not)."""
        return self._directory / certificate / "ca.crt"

    def host(self, listener: str, host: str = "localhost") -> str:
        """What the `host` header must say."""
        return f"{host}:{self.taps[listener].port}"

    def url(self, listener: str, host: str = "localhost", path: str = "") -> str:
        return f"https://{self.host(listener, host)}{path}"

    def seen(self, marker: str) -> list[dict[str, Any]]:
        """The journal's entries of the requests with this marker."""
        return self._http.get("/_sim/requests", params={"marker": marker}).json()

    def said(self, listener: str) -> bytes:
        """All that was ever said to a listener."""
        return b"".join(self.taps[listener].said)

    def _start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        for name, options in CERTIFICATES.items():
            command = [str(SIMULATOR), "certificate", "--out", str(self._directory / name), *options]
            subprocess.run(command, check=True, capture_output=True)
        command = [str(SIMULATOR), "serve"]
        for name, (certificate, alpn) in LISTENERS.items():
            command += ["--listen", f"{name}=127.0.0.1:0"]
            command += ["--tls", f"{name}={self._directory / certificate}"] if certificate else []
            command += ["--alpn", f"{name}={alpn}"] if alpn else []
        child = Child(command, self._directory / "servers.log")
        self._exit.callback(child.stop)
        ports = self._ports(child)
        for name, port in ports.items():
            self.taps[name] = self._exit.enter_context(Wiretap(port))
        self.taps[SILENT] = self._exit.enter_context(Wiretap())
        url = f"http://127.0.0.1:{ports['plain']}"
        self._http = self._exit.enter_context(httpx.Client(base_url=url, timeout=20.0, trust_env=False))

    def _ports(self, child: Child) -> dict[str, int]:
        deadline = time.monotonic() + 30
        while True:
            lines = child.log.read_text().splitlines(keepends=True)
            words = [line.split() for line in lines if line.startswith("listening ") and line.endswith("\n")]
            if len(words) == len(LISTENERS):
                return {name: int(address.rpartition(":")[2]) for _, name, address in words}
            assert child.process.poll() is None and time.monotonic() < deadline, lines
            time.sleep(0.02)
