"""A host as the guides for systemd find it: a directory in place of its root, the release, and units that a stand-in runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.guides.reader import Reader, shell
from e2e.guides.vendor import Vendor
from ports import free_port
from stack import COMMAND
from waiting import until

VENDOR_KEY = "sk-of-the-vendor"
CHAT = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "Hello"}]}
#: The releases that are unpacked there: the one to begin with, and another.
RELEASES = ("0.1.0", "0.1.1")


class UnitHost:
    """What a page is done on. A subclass says what the page calls its places."""

    #: The page.
    page: Path
    #: Where the page has the key of the application, from the root on.
    key: str
    #: The document, as the page writes it.
    document: str

    def __init__(self, root: Path, vendor: Vendor, directories: tuple[str, ...]) -> None:
        self.root, self.vendor = root, vendor
        self.units, self.state = root / "etc" / "systemd" / "system", root / "state"
        for directory in (self.units, self.state, root / "usr" / "local" / "bin", *(root / each for each in directories)):
            directory.mkdir(parents=True, exist_ok=True)
        for version in RELEASES:
            programs = root / f"trilane-{version}" / "bin"
            programs.mkdir(parents=True)
            (programs / "trilane").symlink_to(COMMAND)
        self.port = free_port()
        self._reader = Reader(root, [])

    def read(self, changes: list[tuple[str, str]], **settings: str) -> None:
        """Sets what is another here than in the page."""
        everywhere = [
            ("/etc/systemd/system", str(self.units)),
            ("/usr/local/bin", str(self.root / "usr" / "local" / "bin")),
            (" -o trilane -g trilane", ""),
            ("127.0.0.1:10000", f"127.0.0.1:{self.port}"),
            self.vendor.account("https://api.openai.com"),
        ]
        self._reader = Reader(
            self.root, [*everywhere, *changes], GUIDE_UNITS=str(self.units), GUIDE_STATE=str(self.state), **settings
        )

    def does(self, text: str) -> str:
        """Runs commands of the page."""
        given = f"{VENDOR_KEY}\n" if "read -rs" in text else ""
        return self._reader.does(text, given=given, cwd=self.root)

    def parts(self, heading: str) -> list[str]:
        """The commands under a heading of the page."""
        found = [block.text for block in shell(self.page) if block.heading == heading]
        assert found, heading
        return found

    def ask(self, stream: bool = False, **headers: str) -> httpx.Response:
        """A request of the application."""
        key = (self.root / self.key).read_text().strip()
        url, body = f"http://127.0.0.1:{self.port}/v1/chat/completions", {**CHAT, "stream": stream}
        headers["authorization"] = f"Bearer {key}"
        return httpx.post(url, headers=headers, json=body, trust_env=False, timeout=30)

    def answers(self) -> bool:
        """Whether the gateway is there at all."""
        try:
            return self.ask().status_code == 200
        except httpx.TransportError:
            return False

    @contextmanager
    def stream_in_flight(self) -> Iterator[None]:
        """A stream of three seconds that has begun. It must come to its end, whatever is done meanwhile."""
        whole: list[httpx.Response] = []
        pace = {"x-sim-events": "20", "x-sim-gap-ms": "150"}
        reading = threading.Thread(target=lambda: whole.append(self.ask(stream=True, **pace)))
        reading.start()
        time.sleep(0.5)
        yield
        reading.join(30)
        assert whole and whole[0].status_code == 200 and whole[0].text.rstrip().endswith("data: [DONE]")

    def is_set_up(self) -> None:
        """Sets it up, asks as the application does, and adds up what that used."""
        for text in self.parts("Setting it up"):
            self.does(text)
        get, ask, add_up = self.parts("The application")
        self.does(get)
        assert json.loads(self.does(ask))["object"] == "chat.completion"
        until(lambda: {"app", "openai", "gpt-5.1"} <= set(self.does(add_up).split()))
        credentials = [dict(request["headers"])["authorization"] for request in self.vendor.requests]
        assert credentials == [f"Bearer {VENDOR_KEY}"]

    def takes_a_change(self) -> None:
        """A key that is disabled, and enabled again."""
        self.does(f"trilane key disable {self.document} --id app")
        until(lambda: self.ask().status_code == 401)
        self.does(f"trilane key enable {self.document} --id app")
        until(lambda: self.ask().status_code == 200)

    def verify(self, *units: str) -> None:
        """Has systemd look at units, where there is one."""
        if not shutil.which("systemd-analyze"):
            pytest.skip("no systemd-analyze")
        for unit in units:
            command = ["systemd-analyze", "verify", "--man=no", str(self.units / unit)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            said = [line for line in done.stderr.splitlines() if "trilane" in line]
            assert not said, said

    def stop(self) -> None:
        """Ends every process of these units."""
        for file in self.state.glob("*.pid"):
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass


def host_of(kind: Callable[[Path, Vendor], Any]) -> Any:
    """A fixture: a host of this kind for the tests of a module, which are one story, in their order."""

    @pytest.fixture(scope="module")
    def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnitHost]:
        with Vendor(tmp_path_factory.mktemp("vendor") / "certificate") as vendor:
            made = kind(tmp_path_factory.mktemp("host"), vendor)
            try:
                yield made
            finally:
                made.stop()

    return host
