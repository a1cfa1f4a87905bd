"""The document's accounts as clusters of a running Envoy.

A group whose cluster is not there answers 502. So the clusters of a document come before it, and those that only the
documents before needed go after it.
"""

from __future__ import annotations

import subprocess
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

#: Seconds that the loader may take to have a document in force: two of its ticks, and some.
SETTLE = 3.0
#: Seconds that Envoy may take to have clusters in force; a machine that is short of time takes many.
PATIENCE = 20.0


class Upstreams:
    """What `trilane render` makes in one directory. Usable by several threads at once."""

    def __init__(self, directory: Path, render: Sequence[str]) -> None:
        """`render` is the command with the options that stay."""
        self.directory = directory
        self.clusters = directory / "clusters" / "clusters.json"
        #: What the last `trilane render` of a document said.
        self.said = ""
        self._render = [*render, "--out", str(directory)]
        #: What else `trilane render` is told.
        self.options: list[str] = []
        self._lock = threading.Lock()
        self._document = b""
        self._timer: threading.Timer | None = None

    def write(self, document: bytes, admin_url: str | None = None) -> bool:
        """Makes the clusters of a document. Of one that is refused nothing is made; whether it was not.

        With the admin URL of an Envoy that runs, returns when that has them, and leaves those of the documents
        before: they go a while later.
        """
        with self._lock:
            before = taken(admin_url) if admin_url else None
            had = self.clusters.read_bytes() if self.clusters.exists() else None
            done = self._command(document, *["--keep"] * bool(admin_url))
            self.said = done.stdout + done.stderr
            if had is None and not self.clusters.exists():  # Envoy does not start without one
                self.clusters.parent.mkdir(parents=True, exist_ok=True)
                self.clusters.write_text('{"resources": []}')
            if done.returncode != 0:
                return False
            self._document = document
            if admin_url:
                if before and self.clusters.read_bytes() != had:
                    _wait(admin_url, before)
                self._clean_up_at(SETTLE)
        return True

    def clean_up(self) -> None:
        """Removes now what only the documents before need: for those who know that the last one is in force."""
        with self._lock:
            if self._timer:
                self._clean_up_at(None)
                self._command(self._document)

    def stop(self) -> None:
        """Leaves everything as it is."""
        with self._lock:
            self._clean_up_at(None)

    def _command(self, document: bytes, *options: str) -> subprocess.CompletedProcess[str]:
        draft = self.directory.with_name("accounts.json.part")
        draft.write_bytes(document)
        command = [*self._render, "--document", str(draft), *self.options, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _clean_up_at(self, seconds: float | None) -> None:
        """So long from now, or (None) not at all."""
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._timed_clean_up)
            self._timer.daemon = True
            self._timer.start()

    def _timed_clean_up(self) -> None:
        with self._lock:
            if threading.current_thread() is self._timer:  # else it was cancelled, but too late
                self._timer = None
                self._command(self._document)


def taken(admin_url: str) -> tuple[int, int] | None:
    """How often Envoy has taken, and refused, a file of clusters; `None` if it does not say.

    What it has not made yet, since it still looks for an address or a secret, is not taken.
    """
    names = "^cluster_manager\\.(cds\\.update_(success|rejected)|warming_clusters)$"
    try:
        with urllib.request.urlopen(f"{admin_url}/stats?filter={names}", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return None
    found = {name.rpartition(".")[2]: int(count) for name, _, count in (line.partition(": ") for line in lines)}
    if len(found) < 3:
        return None
    return found["update_success"] - (found["warming_clusters"] > 0), found["update_rejected"]


def _wait(admin_url: str, before: tuple[int, int]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        now = taken(admin_url)
        if now is None or now[0] > before[0] or now[1] > before[1]:
            return
        time.sleep(0.01)
