"""Where the books' entries come from: the ledger's lines and the simulator's journal, read while they grow."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Optional
from urllib.parse import urlsplit

from .accounts import SECRET_HEADERS

#: So many entries the simulator keeps, and as far behind them the books may be before the clients have to wait.
KEPT = 4096
MOST_BEHIND = 2500
FINAL = ("answered", "answer_aborted", "request_aborted")


async def get(url: str, method: str = "GET") -> bytes:
    """The body of an answer, on a connection of its own."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 26)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        head = f"{method} {target} HTTP/1.1\r\nhost: soak\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        writer.write(head.encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if " 200 " not in head.partition("\r\n")[0]:
            raise OSError(f"{url}: {head.partition(chr(13))[0]}")
        if "transfer-encoding: chunked" not in head:
            return await reader.read()
        body = bytearray()
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        return bytes(body)
    finally:
        writer.close()


class Ledger:
    """The ledger, followed through its rotations."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = 0
        self._open: list[BinaryIO] = []
        self._rest: dict[BinaryIO, bytes] = {}
        self._follow()

    def _follow(self) -> None:
        file = self.path.open("rb")
        self._open.append(file)
        self._rest[file] = b""
        self.files += 1

    def rotate(self) -> Path:
        """Moves the file away. Envoy goes on writing there until it is told to reopen its logs."""
        away = self.path.with_suffix(f".{self.files}.jsonl")
        self.path.rename(away)
        return away

    def read(self) -> Iterator[bytes]:
        """The whole lines that have come since."""
        if self.path.exists() and not _same(self._open[-1], self.path):
            self._follow()
        for file in self._open:
            # In bounded pieces: the clients wait meanwhile.
            while data := file.read(1 << 20):
                *lines, self._rest[file] = (self._rest[file] + data).split(b"\n")
                yield from lines

    def rest(self) -> bytes:
        """What stands after the last newline of each file: nothing, in the end."""
        return b"".join(self._rest.values())

    def close(self) -> None:
        """Lets go of the files."""
        for file in self._open:
            file.close()


def _same(file: BinaryIO, path: Path) -> bool:
    return os.path.samestat(os.fstat(file.fileno()), path.stat())


@dataclasses.dataclass
class Entry:
    """One request as the simulator had it."""

    number: int
    marker: str
    uid: str
    state: str
    status: Optional[int]
    issued: Optional[dict[str, int]]
    #: It was told to hang.
    stalls: bool
    #: The simulator's listener that took it.
    listener: str = ""
    #: The headers of it that carry a credential.
    credentials: tuple[tuple[str, str], ...] = ()


class Journal:
    """The simulator's journal, polled often enough to miss nothing. Its ids are 1, 2, 3, …"""

    def __init__(self, url: str) -> None:
        self._url = url
        #: All entries before this one are final; of the later ones those in `_final` are.
        self._next = 1
        self._final: set[int] = set()
        #: The others, as they were last seen.
        self._pending: dict[int, Entry] = {}
        #: Cleared while the clients have to wait.
        self.gate = asyncio.Event()
        self.gate.set()
        self.missed = 0

    async def poll(self) -> list[Entry]:
        """The entries that have become final, or can be watched no longer: nothing more will happen in them."""
        count = json.loads(await get(f"{self._url}/_sim/count"))["requests"]
        done: list[Entry] = []
        if count >= self._next:
            # A few more than there were, since others have come meanwhile.
            wanted = min(count - self._next + 1 + 128, KEPT)
            views = json.loads(await get(f"{self._url}/_sim/requests?last={wanted}"))
            # They stand in the order in which they were entered, which is that of their ids but for neighbours.
            done = [entry for view in views if (entry := self._look(view))]
            # While two questions are asked many may come: what is not among these views may still be kept.
            done += self._out_of_sight(max(view["id"] for view in views) - KEPT)
        # Stalls take long by nature, and nothing is issued in them: let them fall out of the journal.
        if count - self._next > MOST_BEHIND and any(number < count - MOST_BEHIND for number in self._moving()):
            self.gate.clear()
        else:
            self.gate.set()
        return done

    def _moving(self) -> list[int]:
        return [number for number, entry in self._pending.items() if not entry.stalls]

    def _look(self, view: dict[str, Any]) -> Optional[Entry]:
        number = view["id"]
        if number < self._next or number in self._final:
            return None
        pairs = [(name, value) for name, value in view["headers"] if isinstance(value, str)]
        headers = dict(pairs)
        obeys = headers.get("x-sim-at", view["listener"]).split(",")
        entry = Entry(
            number,
            headers.get("x-sim-marker", ""),
            headers.get("x-request-id", ""),
            view["state"],
            view["status"],
            view["issued"],
            "x-sim-stall" in headers and view["listener"] in obeys,
            view["listener"],
            tuple(pair for pair in pairs if pair[0] in SECRET_HEADERS),
        )
        self._pending[number] = entry
        if entry.state not in FINAL:
            return None
        self._done(number)
        return entry

    def _done(self, number: int) -> None:
        self._pending.pop(number, None)
        self._final.add(number)
        while self._next in self._final:
            self._final.remove(self._next)
            self._next += 1

    def _out_of_sight(self, oldest: int) -> list[Entry]:
        """Gives up what has left the journal."""
        gone = []
        while self._next < oldest:
            if self._next in self._pending:
                gone.append(self._pending[self._next])
            else:
                self.missed += 1
            self._done(self._next)
        return gone

    def rest(self) -> list[Entry]:
        """What is not over in the end."""
        return list(self._pending.values())

    @property
    def open(self) -> int:
        """How many upstream requests are not over yet."""
        return len(self._pending)
