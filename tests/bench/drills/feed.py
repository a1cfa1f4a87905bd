"""A page of the key feed every half second."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from contestants import FEW, GROUP
from failures import PUBLISH, Drill, Place
from gateways import TwoWorkers
from keys_served import OTHER_GROUP, Fed, served
from stack import StackError

#: Keys of the feed; how many of them change at a time. The load's own stand in the document.
KEYS, CHANGED = 20_000, 1_000


class FedTwo(TwoWorkers, Fed):
    """Trilane whose keys come by a feed."""


class Pages(Drill):
    name = "feed"
    title = f"{CHANGED:,} of {KEYS:,} keys of a feed change every {PUBLISH:g} s".replace(",", " ")

    def __init__(self, place: Place) -> None:
        self.serving = ExitStack()
        super().__init__(place)

    def new(self, name: str) -> Any:
        place = self.place
        serve, self.database = self.serving.enter_context(served(place.run_dir / "feed-keys", KEYS, place.cores))
        return FedTwo(name, "trilane", place.run_dir, place.source, place.cores, FEW, FEW, serve.address)

    def start(self) -> None:
        super().start()
        self.gateway.name_feed()
        if not self.gateway.wait(r"trilane_keys_feed_keys$", KEYS, 60):
            raise StackError(f"{self.gateway.stat(r'trilane_keys_feed_keys$')} of {KEYS} keys are known")

    def stop(self) -> None:
        super().stop()
        self.serving.close()

    def act(self, seconds: float) -> None:
        count = r"trilane_keys_feed_changes_total$"
        before, end, number = self.gateway.stat(count), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            # Ten thousand keys in turn, there and back: each is another one than before, or it would be no change.
            turn = self.times + number
            first = FEW + CHANGED * (turn % 10)
            moved = turn // 10 % 2 == 0
            self.database.move(list(range(first, first + CHANGED)), OTHER_GROUP if moved else GROUP)
            number += 1
            time.sleep(PUBLISH)
        if not self.gateway.wait(count, before + number * CHANGED, 10):
            raise StackError(f"{number} times {CHANGED} changes, and {self.gateway.stat(count) - before} were taken")
        self.times += number
