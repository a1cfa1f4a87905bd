"""How much of the cores somebody else had while a turn ran: the hypervisor, or other programs beside the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Optional

from machine import Cores

#: More than this share of the time taken by the hypervisor, of either core, and the turn is run again.
STEAL = 0.02
#: More than this share of the gateway's core used by others than the gateway under load. The ones that idle use some
#: of it, and where the gateway often waits the kernel's count is rough.
OTHERS = 0.10

STAT = Path("/proc/stat")


class Noise(NamedTuple):
    """Shares of a turn's time, 0 to 1."""

    #: What the hypervisor took, of the core that lost more.
    steal: float
    #: What other programs used of the gateway's core.
    others: float

    @property
    def quiet(self) -> bool:
        return self.steal <= STEAL and self.others <= OTHERS

    def __str__(self) -> str:
        return f"{self.steal:.1%} stolen, {self.others:.1%} used by others"


class Watch:
    """Counts from when it is made. Where nothing is pinned, or the system does not tell, all is quiet."""

    def __init__(self, cores: Cores, gateway: int) -> None:
        """`gateway` is the process under load."""
        self._cores = cores
        self._gateway = gateway
        self._before = self._now()

    def noise(self) -> Noise:
        """Until now."""
        before, now = self._before, self._now()
        if before is None or now is None:
            return Noise(0.0, 0.0)
        spent = {core: now.cores[core].minus(before.cores[core]) for core in now.cores}
        steal = max((ticks.steal / ticks.all for ticks in spent.values() if ticks.all), default=0.0)
        core = spent[self._cores.gateway]
        others = core.busy - (now.gateway - before.gateway)
        return Noise(steal, max(0.0, others / core.all) if core.all else 0.0)

    def _now(self) -> Optional[_Counted]:
        if self._cores.gateway is None:
            return None
        try:
            cores = of_cores(STAT.read_text(), {self._cores.gateway, self._cores.load})
            return _Counted(cores, of_process(Path(f"/proc/{self._gateway}/stat").read_text()))
        except (OSError, ValueError, IndexError):
            return None


class Ticks(NamedTuple):
    """The kernel's count of a core's time, in its own unit (10 ms mostly)."""

    busy: int
    steal: int
    all: int

    def minus(self, before: Ticks) -> Ticks:
        return Ticks(self.busy - before.busy, self.steal - before.steal, self.all - before.all)


class _Counted(NamedTuple):
    cores: dict[int, Ticks]
    gateway: int


def of_cores(stat: str, cores: set[int]) -> dict[int, Ticks]:
    """The lines `cpuN` of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal (proc(5))."""
    found = {}
    for line in stat.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            user, nice, system, idle, iowait, irq, softirq, steal = (int(number) for number in numbers[:8])
            # Interrupts are no program's. The gateway's own packets make most of them.
            found[int(name[3:])] = Ticks(user + nice + system, steal, user + nice + system + idle + iowait + irq + softirq + steal)
    if found.keys() != cores:
        raise ValueError("a core is missing")
    return found


def of_process(stat: str) -> int:
    """`utime` and `stime` of `/proc/<pid>/stat`, which stand behind a name that may have blanks in it."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
