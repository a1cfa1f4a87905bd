"""A vendor with a certificate: the simulator behind TLS, which a page's document names by its address."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
from stack import SIMULATOR, Child


class Vendor:
    """Use it as a context manager."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.ca = directory / "ca.crt"
        #: What a document's account says, and the test's own way in.
        self.url = self._control = ""

    def __enter__(self) -> Vendor:
        self._directory.mkdir(parents=True)
        certificate = [str(SIMULATOR), "certificate", "--out", str(self._directory)]
        subprocess.run(certificate, check=True, capture_output=True)
        command = [str(SIMULATOR), "serve", "--listen", "vendor=127.0.0.1:0", "--tls", f"vendor={self._directory}"]
        log = self._directory / "log"
        self._child = Child([*command, "--listen", "control=127.0.0.1:0"], log)
        deadline = time.monotonic() + 20
        while len(found := dict(re.findall(r"^listening (\w+) (\S+)$", log.read_text(), re.MULTILINE))) < 2:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        self.url = f"https://localhost:{found['vendor'].rpartition(':')[2]}"
        self._control = f"http://{found['control']}"
        return self

    def __exit__(self, *_: object) -> None:
        self._child.stop()

    def account(self, url: str) -> tuple[str, str]:
        """The change of a document that makes this the vendor in place of the real one at `url`."""
        return f'"url": "{url}"', f'"url": "{self.url}", "ca": "{self.ca}"'

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it was sent, oldest first."""
        return httpx.get(f"{self._control}/_sim/requests", trust_env=False).json()
