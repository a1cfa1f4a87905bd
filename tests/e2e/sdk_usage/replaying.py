"""An upstream that answers with the bodies of `tests/fixtures/responses`, cut and ended as the request says.

| request header | value |
|---|---|
| `x-fixture` | the file's name |
| `x-fixture-cut` | `whole` with its length, or chunked: `bytes`, a write for each; `pieces`, random ones |
| `x-fixture-end` | how it ends, see below; `end` if absent |
| `x-fixture-mark` | a name under which `Replayer.seen` finds the request |

| end | |
|---|---|
| `end` | in good order |
| `reset` | all of it, and then a reset instead of the last chunk, once `Replayer.let_go` was called |
| `fin` | half of it, then the connection is closed |
| `stall` | half of it, then nothing until the peer leaves |
| `reset-head`, `fin-head`, `stall-head` | the same before the head |

It knows nothing of models or keys, and speaks HTTP/1.1 only.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Optional

from e2e.sdk_usage.response_fixtures import ALL, Fixture

#: How long it waits for `let_go`, in seconds.
PATIENCE = 45.0


class Replayer:
    """The running upstream, in a thread of its own."""

    def __init__(self) -> None:
        self.address = ""
        self._seen: dict[str, list[dict[str, str]]] = defaultdict(list)
        self._gates: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._loop = asyncio.new_event_loop()
        self._exchanges: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> Replayer:
        self._thread.start()
        assert self._ready.wait(10), "the upstream did not start"
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def seen(self, mark: str) -> list[dict[str, str]]:
        """The headers of the requests with this mark; the gateway's own id is among them, `x-request-id`."""
        return list(self._seen[mark])

    def let_go(self, mark: str) -> None:
        """The reset that the request with this mark asked for may come now: the client has all that comes before."""
        self._loop.call_soon_threadsafe(lambda: self._gates[mark].set())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._exchanges:
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._exchanges.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass  # the peer has left, or the tests are over
        finally:
            self._exchanges.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether another one may follow."""
        headers = await _request(reader)
        mark = headers.get("x-fixture-mark", "")
        self._seen[mark].append(headers)
        fixture = ALL[headers["x-fixture"]]
        cut, end = headers.get("x-fixture-cut", "whole"), headers.get("x-fixture-end", "end")
        if end.endswith("-head"):
            await self._leave(end[: -len("-head")], reader, writer)
            return False
        chunked = cut != "whole" or end != "end"
        writer.write(_head(fixture, self._id_of(mark), chunked))
        body = fixture.body[: len(fixture.body) // 2] if end in ("fin", "stall") else fixture.body
        for piece in _pieces(body, cut, fixture.name):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
            await asyncio.sleep(0)
        if end == "end":
            writer.write(b"0\r\n\r\n" if chunked else b"")
            await writer.drain()
            return True
        if end == "reset":
            await asyncio.wait_for(self._gates[mark].wait(), PATIENCE)
        await self._leave(end, reader, writer)
        return False

    def _id_of(self, mark: str) -> str:
        return f"replay-{mark}-{len(self._seen[mark])}"

    async def _leave(self, how: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if how == "stall":
            await reader.read()
        elif how == "reset":
            wire = writer.get_extra_info("socket")
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()


async def _request(reader: asyncio.StreamReader) -> dict[str, str]:
    """The headers of the next request, which is read whole."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    if headers.get("transfer-encoding") == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            await reader.readexactly(size + 2)
        await reader.readuntil(b"\r\n")
    else:
        await reader.readexactly(int(headers.get("content-length", "0")))
    return headers


def _head(fixture: Fixture, own_id: str, chunked: bool) -> bytes:
    headers: Mapping[str, str] = {
        "content-type": fixture.content_type,
        **fixture.headers,
        # An id of its own for each, in the header that the fixture has it in.
        **{name: own_id for name in fixture.headers if name in ("x-request-id", "request-id")},
        **({"transfer-encoding": "chunked"} if chunked else {"content-length": str(len(fixture.body))}),
    }
    lines = [f"HTTP/1.1 {fixture.status} Replayed", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _pieces(body: bytes, cut: str, seed: str) -> Iterator[bytes]:
    """The body in the order of writing; random pieces are the same each time."""
    sizes = random.Random(seed)
    start = 0
    while start < len(body):
        size = {"whole": len(body), "bytes": 1, "pieces": sizes.choice((1, 2, 3, 7, 50, 400))}[cut]
        yield body[start : start + size]
        start += size
