"""A light HTTP/1.1 client: one kept-alive connection, and every way to leave it."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Optional

from .seen import PATIENCE, Seen
from .shapes import Plan

_RESET = b"\1\0\0\0\0\0\0\0"  # SO_LINGER: on, 0 s


class Gone(Exception):
    """The gateway closed the connection."""


class Http1:
    """One client. It connects when it has to, and keeps its connection as long as both sides will."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sock: Optional[socket.socket] = None
        self._buffer = bytearray()
        #: Connections made, and requests that found one open.
        self.connections = 0
        self.reused = 0

    def close(self, *, reset: bool = False) -> None:
        """Leaves, by FIN or by RST."""
        if self._sock is not None:
            if reset:
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._sock.close()
            self._sock = None
        self._buffer.clear()

    async def exchange(self, plan: Plan) -> Seen:
        """Sends the request and takes the answer, as the plan has it."""
        seen = Seen(began=time.time())
        try:
            await asyncio.wait_for(self._exchange(plan, seen), PATIENCE)
        except asyncio.TimeoutError:
            seen.trouble = "hangs"
        except Gone:
            seen.trouble = "" if seen.status else "no answer"
        except OSError as error:
            seen.trouble = "" if seen.status else f"no answer: {error}"
        if not seen.complete:
            # RST only where the gateway has shown that it has the request: it may overtake what is not read yet.
            self.close(reset=plan.resets and bool(seen.status))
        seen.ended = time.time()
        return seen

    async def _exchange(self, plan: Plan, seen: Seen) -> None:
        await self._connect()
        assert self._sock is not None
        loop = asyncio.get_running_loop()
        lines = [f"{plan.method} {plan.path} HTTP/1.1", "host: gateway"]
        lines += [f"{name}: {value}" for name, value in plan.headers]
        if plan.method != "GET":
            lines.append(f"content-length: {len(plan.body)}")
        head = "\r\n".join([*lines, "", ""]).encode()
        body = plan.body[: plan.leaves_at] if plan.leaves == "request" else plan.body
        await loop.sock_sendall(self._sock, head + body)
        if plan.leaves in ("request", "wait"):
            seen.left = True
            await asyncio.sleep(plan.leaves_at if plan.leaves == "wait" else len(body) % 20 / 1000)
            return
        headers = await self._head(seen)
        await self._body(plan, seen, headers)
        if seen.complete and headers.get("connection") == "close":
            self.close()

    async def _connect(self) -> None:
        if self._sock is not None:
            self.reused += 1
            return
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self._port))
        self.connections += 1

    async def _fill(self) -> None:
        assert self._sock is not None
        data = await asyncio.get_running_loop().sock_recv(self._sock, 1 << 16)
        if not data:
            raise Gone
        self._buffer += data

    async def _head(self, seen: Seen) -> dict[str, str]:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            await self._fill()
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        seen.head(int(first.split()[1]), headers)
        return headers

    async def _body(self, plan: Plan, seen: Seen, headers: dict[str, str]) -> None:
        if headers.get("transfer-encoding") != "chunked":
            seen.complete = await self._take(plan, seen, int(headers.get("content-length", "0")))
            return
        while True:
            while (end := self._buffer.find(b"\r\n")) < 0:
                await self._fill()
            size = int(self._buffer[:end], 16)
            del self._buffer[: end + 2]
            if not await self._take(plan, seen, size):
                return
            while len(self._buffer) < 2:
                await self._fill()
            del self._buffer[:2]
            if size == 0:
                seen.complete = True
                return

    async def _take(self, plan: Plan, seen: Seen, size: int) -> bool:
        """Takes so much of the body. `False` if the client leaves before."""
        while True:
            if seen.enough(plan):
                seen.left = True
                return False
            if not size:
                return True
            if not self._buffer:
                await self._fill()
            piece = bytes(self._buffer[:size])
            del self._buffer[: len(piece)]
            seen.piece(piece)
            size -= len(piece)
