"""Room for the files that Envoys watch: each takes an inotify instance, of which Linux grants a user 128 by default."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

#: Seconds that a gateway waits for others to end before it starts in spite of them.
PATIENCE = 90.0
LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")


@contextlib.contextmanager
def room(needed: int, place: Path) -> Iterator[None]:
    """Waits until so many instances are free. They count as taken as long as this lasts, wherever `place` is the same."""
    place.mkdir(parents=True, exist_ok=True)
    reservation = place / f"{os.getpid()}-{time.monotonic_ns()}"
    deadline = time.monotonic() + PATIENCE
    while not _reserve(needed, reservation, time.monotonic() > deadline):
        time.sleep(0.2)
    try:
        yield
    finally:
        reservation.unlink(missing_ok=True)


def _reserve(needed: int, reservation: Path, anyway: bool) -> bool:
    with (reservation.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # What another gateway has reserved and taken already counts twice for a moment: it waits the longer.
        if not anyway and needed + _taken() + _reserved(reservation.parent) > int(LIMIT.read_text()):
            return False
        reservation.write_text(str(needed))
        return True


def _reserved(place: Path) -> int:
    found = 0
    for file in place.glob("*-*"):
        if Path("/proc", file.name.partition("-")[0]).exists():
            found += int(file.read_text() or 0)
        else:
            file.unlink(missing_ok=True)
    return found


def _taken() -> int:
    """The instances of all processes that this user may look into."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            found += sum(os.readlink(file) == "anon_inode:inotify" for file in (process / "fd").iterdir())
    return found
