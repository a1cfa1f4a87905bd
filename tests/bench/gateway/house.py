"""The house: who runs, on which cores, before which mock, and where the figures go."""

from __future__ import annotations

import argparse
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Optional

from contestants import WRONG_KEY, Contestant, contestant, key
from driving import Driver, mock
from machine import choose_cores
from results import Results
from rounds import Rounds
from stack import StackError

#: In the order in which they are shown. The first is what the others are compared with.
LINEUP = ("bare", "plain", "noop", "floor", "trilane", "accounts", "native")


class House:
    """Everything that a section needs. A contestant is started when it is first asked for, and runs to the end."""

    def __init__(self, options: argparse.Namespace, results: Results, running: ExitStack) -> None:
        self.options = options
        self.results = results
        self.run_dir = Path(options.out).resolve() / "run"
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self.cores = choose_cores()
        self._running = running
        self._up: dict[str, Contestant] = {}
        self._answers: Optional[dict[str, bytes]] = None
        #: The mock's address, and its process.
        self.source, self.source_pid = running.enter_context(mock(self.run_dir, self.cores))
        self.drive = Driver(self.run_dir, self.cores, self.source_pid)
        self.rounds = Rounds(self.drive, results, options)

    def wanted(self, name: str) -> bool:
        """Whether this case is to be measured."""
        return not self.options.only or name.startswith(tuple(self.options.only))

    def lineup(self) -> list[Contestant]:
        """Those who compete in every case."""
        return [self.contestant(kind) for kind in LINEUP]

    def contestant(self, kind: str) -> Contestant:
        """One of `contestants.KINDS`, with few keys."""
        if kind not in self._up:
            self.start(self.make(kind))
        return self._up[kind]

    def make(self, kind: str, **more: int) -> Contestant:
        """One that does not run yet."""
        return contestant(kind, self.run_dir, self.source, self.cores, {} if kind == "trilane" else self.answers(), **more)

    def start(self, made: Contestant, timeout: float = 60.0) -> None:
        """Starts it; it is stopped when all is over."""
        made.start(timeout=timeout)
        self._running.callback(made.stop)
        self._up[made.name] = made

    def stop(self, made: Contestant) -> None:
        """Stops it before, where its idling would be in the way of what follows."""
        self._note(made)
        self._up.pop(made.name, None)
        made.stop()

    def answers(self) -> dict[str, bytes]:
        """Trilane's list and refusal, for the contestants that have none of their own."""
        if self._answers is None:
            trilane = self.contestant("trilane")
            list_status, listed = ask(trilane, "/v1/models", key(0))
            status, rejected = ask(trilane, "/v1/models", WRONG_KEY)
            if (list_status, status) != (200, 401):
                raise StackError(f"trilane lists with status {list_status} and refuses with {status}")
            self._answers = {"list": listed, "rejected": rejected}
        return self._answers

    def note_memory(self) -> None:
        """What everybody who runs holds resident."""
        for made in self._up.values():
            self._note(made)

    def _note(self, made: Contestant) -> None:
        self.results.contestants.setdefault(made.name, made.title)
        self.results.memory[made.name] = made.resident


def ask(to: Contestant, path: str, token: str) -> tuple[int, bytes]:
    """One GET."""
    request = urllib.request.Request(to.base_url + path, headers={"authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
