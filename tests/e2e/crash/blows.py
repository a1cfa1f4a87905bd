"""The blows of a run: who is killed, and where."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Optional

from e2e.crash.fleet import FAKETIME, Gateway, Program
from e2e.crash.postgres_server import PostgresServer
from e2e.crash.proxies import DATABASE_BOUNDARIES, HTTP_BOUNDARIES, Cut, HttpProxy, Trap, Traps

#: How long a boundary may not be reached before the blow falls all the same, in seconds.
_PATIENCE = 10.0
#: System calls of a console that writes to SQLite: before a page, or before what was written is made to last.
_SYSTEM_CALLS = ("pwrite64", "fsync,fdatasync")
#: Whether consoles on SQLite can be struck at a system call.
STRACE = shutil.which("strace")


class Blows:
    """Deals blows to a fleet, in an order that a seed draws."""

    def __init__(
        self,
        seed: int,
        traps: Traps,
        consoles: dict[str, Program],
        agents: dict[str, tuple[Program, HttpProxy]],
        gateways: list[Gateway],
        postgres: Optional[PostgresServer],
    ) -> None:
        self._random = random.Random(seed)
        self._traps = traps
        self._consoles = consoles
        self._agents = agents
        self._gateways = gateways
        self._postgres = postgres
        self.dealt: list[str] = []
        #: Answers that no console should give.
        self.wrong: list[str] = []
        #: How many blows fell where they were meant to, by boundary.
        self.sprung: Counter[str] = Counter()

    def _plan(self, envoys: int) -> Iterator[Callable[[], None]]:
        """All kinds of blows in a random order, and again in another one."""
        kinds: list[Callable[[], None]] = []
        for boundary in HTTP_BOUNDARIES:
            kinds += [lambda at=boundary: self._at_http(at, "agent"), lambda at=boundary: self._at_http(at, "console")]
        kinds += [self._cut_http, self._agent_at_random, self._console_at_random, self._again, self._again]
        if self._postgres:
            for boundary in DATABASE_BOUNDARIES:
                for victim in ("console", "postgres", "backend", "connection"):
                    kinds.append(lambda at=boundary, who=victim: self._at_database(at, who))
            kinds.append(self._postgres_at_random)
        elif STRACE:
            for call in _SYSTEM_CALLS:
                kinds += 8 * [lambda at=call: self._at_system_call(at)]
            kinds += 2 * [self._disk_full]
        if FAKETIME.exists():
            kinds += 3 * [self._clock_step]
        kinds += envoys * [self._envoy]
        while True:
            self._random.shuffle(kinds)
            yield from kinds

    def deal(self, count: int, envoys: int = 1) -> None:
        """Deals so many blows; what was killed comes back after each. `envoys`: how often Envoys are among a round's victims."""
        plan = self._plan(envoys)
        for number in range(1, count + 1):
            self.dealt.append("")
            next(plan)()
            print(f"  blow {number}: {self.dealt[-1]}", flush=True)
            time.sleep(self._random.uniform(0, 0.3))
            self.revive()
        # On another day of the consoles' clocks too, where they can be set.
        for days in (0, 1):
            for console in self._consoles.values():
                console.set_clock(days * 86_400)
            self.dealt.append("")
            self._again()
            print(f"  at last: {self.dealt[-1]}", flush=True)

    def revive(self) -> None:
        """Starts whatever does not run."""
        self._traps.lay(None)
        if self._postgres:
            self._postgres.start()
        for console in self._consoles.values():
            console.start()
        for agent, _ in self._agents.values():
            agent.start()

    # ---- At a boundary

    def _lie_in_wait(self, boundary: str, name: str, blow: Callable[[str], None]) -> None:
        trap = Trap(boundary, blow)
        self._traps.lay(trap)
        reached = trap.sprung.wait(_PATIENCE)
        self._traps.lay(None)
        if reached:
            self.sprung[boundary] += 1
            self._note(f"{name} at `{boundary}`")
        else:
            self._note(f"nobody: `{boundary}` was not reached")

    def _at_http(self, boundary: str, victim: str) -> None:
        def blow(proxy: str) -> None:
            agent, http = self._agents[proxy]
            (agent if victim == "agent" else self._consoles[http.console]).kill()

        self._lie_in_wait(boundary, victim, blow)

    def _cut_http(self) -> None:
        def blow(_: str) -> None:
            raise Cut

        self._lie_in_wait(self._random.choice(HTTP_BOUNDARIES), "the agent's connection", blow)

    def _at_database(self, boundary: str, victim: str) -> None:
        assert self._postgres
        postgres, number = self._postgres, self._random.randrange(100)

        def blow(proxy: str) -> None:
            if victim == "console":
                self._consoles[proxy].kill()
            elif victim == "postgres":
                postgres.kill()
            elif victim == "backend":
                postgres.kill_backend(number)
            else:
                raise Cut

        self._lie_in_wait(boundary, victim, blow)

    def _at_system_call(self, call: str) -> None:
        """A console on SQLite is killed as it begins its n-th system call from now on."""
        count = self._random.randrange(1, 40 if call == "pwrite64" else 4)
        console = self._a_console()
        tracer = self._trace(console, call, f"signal=SIGKILL:when={count}")
        deadline = time.monotonic() + _PATIENCE
        while console.is_up() and time.monotonic() < deadline:
            time.sleep(0.02)
        if not console.is_up():
            self.sprung[call] += 1
            self._note(f"{console.name} at {call} number {count}")
        else:
            self._note(f"nobody: {call} number {count} was not reached")
        tracer.terminate()
        tracer.wait()

    def _disk_full(self) -> None:
        """For a while a console's disk has no room."""
        console = self._a_console()
        tracer = self._trace(console, "pwrite64", f"error=ENOSPC:when={self._random.randrange(1, 9)}+")
        time.sleep(1)
        tracer.terminate()
        tracer.wait()
        self._note(f"the disk of {console.name} is full for a second")

    def _trace(self, console: Program, call: str, inject: str) -> subprocess.Popen[bytes]:
        assert STRACE
        command = [STRACE, "-qq", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{inject}", "-p", str(console.pid)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    # ---- At random

    def _pause(self) -> None:
        time.sleep(self._random.uniform(0, 0.6))

    def _a_console(self) -> Program:
        return self._random.choice(list(self._consoles.values()))

    def _agent_at_random(self) -> None:
        self._pause()
        agent, _ = self._random.choice(list(self._agents.values()))
        agent.kill()
        self._note(f"{agent.name} at random")

    def _console_at_random(self) -> None:
        self._pause()
        console = self._a_console()
        console.kill()
        self._note(f"{console.name} at random")

    def _postgres_at_random(self) -> None:
        assert self._postgres
        self._pause()
        self._postgres.kill()
        self._note("postgres at random")

    def _again(self) -> None:
        """What was sent to consoles comes once more: if they have it, it changes nothing, or they say from where to go on."""
        answers = []
        for name, (_, http) in self._agents.items():
            try:
                status, answer = http.again()
            except (OSError, EOFError):
                continue
            if status:
                answers.append(status)
            # One that fails on what is there already would never be answered.
            goes_on = status in (0, 200) or (status == 409 and answer.get("type") == "/problems/position")
            if not goes_on:
                self.wrong.append(f"a batch of {name} that came again: {status} {answer}")
        self._note(f"a batch of each agent comes again: {answers}")

    def _clock_step(self) -> None:
        agents = [agent for agent, _ in self._agents.values()]
        program = self._random.choice([*self._consoles.values(), *agents])
        step = self._random.choice((-5 * 86_400, -3600, -40, 0, 40, 3600, 5 * 86_400))
        program.set_clock(step)
        self._note(f"the clock of {program.name} is {step} s off")

    def _envoy(self) -> None:
        self._pause()
        gateway = self._random.choice(self._gateways)
        gateway.kill_envoy()
        self._note(f"Envoy {gateway.name} at random")

    def _note(self, blow: str) -> None:
        self.dealt[-1] = blow
