"""What is done to the gateways under load. Each drill keeps its gateway, and is asked again and again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from contestants import FEW, document
from gateways import DRAIN, Crashing, Gateway, Restarting, TwoWorkers, Upgraded
from machine import Cores
from stack import StackError
from traffic import Seen, Traffic

#: How often in a run something is done that takes a while to get over.
TWICE = 2
#: Between two documents, in seconds: as often as the loader looks.
PUBLISH = 0.5
#: Keys of a document that is not small.
MANY = 10_000


class Place(NamedTuple):
    """Where drills run."""

    run_dir: Path
    source: str
    cores: Cores
    traffic: Traffic


class Drill:
    """One thing that is done to a gateway."""

    name = ""
    title = ""
    #: What is lost and why, where Envoy does not allow that nothing is.
    allowed = ""
    kind: type[TwoWorkers] = Gateway
    keys = FEW

    def __init__(self, place: Place) -> None:
        self.place = place
        self.gateway = self.new(self.name)
        #: How often it was done.
        self.times = 0

    def new(self, name: str) -> Any:
        """A gateway of this drill's kind, not started."""
        place = self.place
        return self.kind(name, "trilane", place.run_dir, place.source, place.cores, self.keys)

    @contextmanager
    def running(self) -> Iterator[None]:
        """The time in which it can be asked."""
        try:
            self.start()
            yield
        finally:
            self.stop()

    def start(self) -> None:
        self.gateway.start()

    def stop(self) -> None:
        self.gateway.stop()

    @property
    def address(self) -> str:
        """Where the load goes."""
        return str(self.gateway.address)

    def undisturbed(self) -> Seen:
        """The load alone."""
        return self._load(None)

    def disturbed(self) -> Seen:
        """The load while it is done."""
        return self._load(self.act)

    def _load(self, act: Any) -> Seen:
        seen = self.place.traffic(self.address, self.keys, act)
        self.gateway.check()
        self.gateway.forget_log()
        return seen

    def act(self, seconds: float) -> None:
        """Does it, for so long."""
        raise NotImplementedError


class Crash(Drill):
    name = "crash"
    title = "a VM crashes, twice"
    allowed = "the exchanges of the worker whose VM crashed, as many as it has at that moment"
    kind = Crashing

    def act(self, seconds: float) -> None:
        before = self.gateway.stat(r"^wasm\.\w+\.vm_reload_success$")
        for _ in range(TWICE):
            time.sleep(seconds / (TWICE + 1))
            self.gateway.crash()
        time.sleep(seconds / (TWICE + 1))
        made = self.gateway.stat(r"^wasm\.\w+\.vm_reload_success$") - before
        # A worker that had no request since has not noticed yet.
        if made < 1 or self.gateway.stat(r"^wasm\.\w+\.vm_reload_failure$"):
            raise StackError(f"{TWICE} crashes, and {made} VMs were made anew")
        self.times += TWICE


class Upgrade(Drill):
    name = "upgrade"
    title = "the filter is exchanged for another release (ECDS), twice"
    kind = Upgraded

    def act(self, seconds: float) -> None:
        count = r"^extension_config_discovery\..*config_reload$"
        before = self.gateway.stat(count)
        for _ in range(TWICE):
            time.sleep(seconds / (TWICE + 1))
            self.gateway.exchange()
        time.sleep(seconds / (TWICE + 1))
        if self.gateway.stat(count) - before < TWICE:
            raise StackError(f"{TWICE} filters, and Envoy took {self.gateway.stat(count) - before}")
        self.times += TWICE


class Documents(Drill):
    name = "document"
    title = f"another document every {PUBLISH:g} s"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.versions = []
        for multiplier in ("0.2000", "0.3000"):
            changed = json.loads(document(self.keys))
            for group in changed["groups"]:
                if "multiplier" in group:
                    group["multiplier"] = multiplier
            self.versions.append(json.dumps(changed, separators=(",", ":")).encode())

    def act(self, seconds: float) -> None:
        path = self.gateway.document_path
        part = self.gateway.run_dir / "gateway.json.part"
        before = self.gateway.stat(r"trilane_config_generation$")
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            part.write_bytes(self.versions[number % 2])
            part.replace(path)
            number += 1
            time.sleep(PUBLISH)
        time.sleep(2 * PUBLISH)
        taken = self.gateway.stat(r"trilane_config_generation$") - before
        # The loader looks as often as there are documents, and may see two at once.
        if taken < number // 3:
            raise StackError(f"{number} documents, and {taken} came into force")
        self.times += taken


class ManyKeys(Documents):
    name = "document-10000"
    title = f"another document with {MANY:,} keys every {PUBLISH:g} s".replace(",", " ")
    keys = MANY


class Roll(Drill):
    """A rolling upgrade behind a load balancer: it stops sending to a gateway, which then drains and goes."""

    name = "roll"
    title = "drained (graceful), while clients find a second gateway"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.place.run_dir.mkdir(parents=True, exist_ok=True)
        self.told = self.place.run_dir / "address"
        self.gone: list[TwoWorkers] = []

    def start(self) -> None:
        super().start()
        self.told.write_text(self.gateway.address)

    @property
    def address(self) -> str:
        return f"@{self.told}"

    def disturbed(self) -> Seen:
        self.next = self.new(f"{self.name}-{self.times + 1}")
        self.next.start()
        try:
            seen = super()._load(self.act)
        except BaseException:
            self.next.stop()
            raise
        return seen

    def act(self, seconds: float) -> None:
        old, self.gateway = self.gateway, self.next
        time.sleep(seconds / 3)
        part = self.place.run_dir / "address.part"
        part.write_text(self.gateway.address)
        part.replace(self.told)
        old.post("/drain_listeners?graceful&skip_exit")
        time.sleep(DRAIN)
        quiet = old.wait(r"^http\.gateway\.downstream_rq_active$", 0, seconds)
        old.stop()
        if not quiet:
            raise StackError("the drained gateway still had requests")
        self.times += 1


class HotRestart(Drill):
    name = "hot-restart"
    title = "another process takes over the sockets (hot restart)"
    kind = Restarting

    def act(self, seconds: float) -> None:
        time.sleep(seconds / 3)
        self.gateway.take_over()
        if not self.gateway.parents_gone(seconds + 30):
            raise StackError("the process before does not end")
        self.times += 1


DRILLS: tuple[type[Drill], ...] = (Crash, Upgrade, Documents, ManyKeys, Roll, HotRestart)
