"""The gateways that are drilled: the bench's contestants with two workers, and ways to do something to them."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from contestants import FILTER, ROUTER, Bare, Contestant, Trilane
from filter_file import crashing, noted
from stack import WASM, Child, StackError

WORKERS = 2
#: How long an Envoy that is to go lets its clients find another one, in seconds.
DRAIN = 2
#: A request with more headers crashes the filter, where that is what is drilled.
MANY_HEADERS = 50


class TwoWorkers(Contestant):
    """So that what happens to one of them need not happen to all."""

    def envoy_command(self, *arguments: str) -> list[str]:
        command = super().envoy_command(*arguments)
        command[command.index("--concurrency") + 1] = str(WORKERS)
        return [*command, "--drain-time-s", str(DRAIN)]

    def post(self, path: str) -> None:
        """Tells the admin interface to do something."""
        request = urllib.request.Request(self.admin_url + path, method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()

    def wait(self, pattern: str, number: int, seconds: float) -> bool:
        """Whether a stat comes down, or up, to the number within the time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.stat(pattern) == number:
                return True
            time.sleep(0.05)
        return False


class BareTwo(TwoWorkers, Bare):
    """Envoy without the filter."""


class Gateway(TwoWorkers, Trilane):
    """Trilane as it is shipped."""


class Crashing(Gateway):
    """Trilane with a way to crash it: no input is known that does."""

    def prepare(self) -> None:
        self._wasm = self.run_dir / "crashing.wasm"
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self._wasm.write_bytes(crashing(WASM.read_bytes(), MANY_HEADERS))
        super().prepare()

    def crash(self) -> None:
        """Sends a request that crashes the VM of the worker that takes it."""
        request = urllib.request.Request(self.base_url + "/v1/models")
        for number in range(MANY_HEADERS + 10):
            request.add_header(f"x-drill-{number}", "1")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                raise StackError(f"the filter should have crashed, and answered {answer.status}")
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise StackError(f"the filter should have crashed, and answered {error.code}") from error


class Upgraded(Gateway):
    """Trilane found by extension configuration discovery (ECDS) in a file, so that it can be exchanged."""

    number = 0

    def configured(self, text: str) -> str:
        before, found, rest = super().configured(text).partition(FILTER)
        block, also, after = rest.partition(ROUTER)
        if not found or not also:
            raise StackError("envoy.yaml has no filter trilane with the router behind it")
        self._filter = block.replace(str(WASM), "FILE")
        self.exchange()
        discovered = {"path_config_source": {"path": str(self.filter_file), "watched_directory": {"path": str(self.filter_file.parent)}}}
        kind = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"
        pointer = f"{' ' * 18}- {{name: trilane, config_discovery: {{config_source: {json.dumps(discovered)}, type_urls: [{kind}]}}}}\n"
        return before + pointer + also + after

    @property
    def filter_file(self) -> Path:
        return self.run_dir / "filter" / "filter.yaml"

    def exchange(self) -> None:
        """Puts another file with the filter in force: what an operator does who has a new release."""
        self.number += 1
        wasm = self.run_dir / f"trilane-{self.number}.wasm"
        wasm.write_bytes(noted(WASM.read_bytes(), f"release {self.number}"))
        head = '- "@type": type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig\n  name: trilane\n  typed_config:\n'
        body = re.sub(rf"^{' ' * 18}", "", self._filter.replace("FILE", str(wasm)), flags=re.M)
        self.filter_file.parent.mkdir(parents=True, exist_ok=True)
        part = self.run_dir / "filter.yaml.part"
        part.write_text(f"resources:\n{head}{body}")
        part.replace(self.filter_file)


class Restarting(Gateway):
    """Trilane whose process is replaced by another one that takes over the sockets (Envoy's hot restart)."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.epoch = 0
        self._parents: list[Child] = []

    def envoy_command(self, *arguments: str) -> list[str]:
        command = super().envoy_command(*arguments)
        command.remove("--disable-hot-restart")
        identity = self.run_dir / "base-id"
        if self.epoch == 0:
            command += ["--use-dynamic-base-id", "--base-id-path", str(identity)]
        else:
            command += ["--base-id", identity.read_text().strip(), "--restart-epoch", str(self.epoch)]
        return [*command, "--parent-shutdown-time-s", str(2 * DRAIN)]

    def take_over(self) -> None:
        """Starts the next process; the one before lets go, and ends by itself."""
        self._parents.append(self._children.pop("Envoy"))
        self.epoch += 1
        self.envoy_log = self.run_dir / f"envoy-{self.epoch}.log"
        self.access_log = self.run_dir / f"access-{self.epoch}.log"
        self._start_envoy()

    def parents_gone(self, seconds: float) -> bool:
        """Whether those before have ended within the time."""
        deadline = time.monotonic() + seconds
        while any(parent.process.poll() is None for parent in self._parents):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def stop(self) -> None:
        for parent in self._parents:
            parent.stop()
        super().stop()
        identity = self.run_dir / "base-id"
        if identity.exists():
            # Ten numbers for each base; Envoy leaves its segment behind.
            Path(f"/dev/shm/envoy_shared_memory_{int(identity.read_text()) * 10}").unlink(missing_ok=True)
            identity.unlink()
