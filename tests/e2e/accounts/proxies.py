"""HTTP proxies that note every byte, and TLS in front of the simulator: the way of an account behind a proxy."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

#: How proxies behave: `good` and `second` do what they are asked to.
WAYS = ("good", "second", "403", "407", "closes", "babbles", "hangs")

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Proxies:
    """Proxies and TLS servers on loopback ports, in a thread of their own."""

    def __init__(self, directory: Path, simulator: Path) -> None:
        self._directory = directory
        self._simulator = simulator
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._servers: list[asyncio.AbstractServer] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._held = socket.socket()
        #: Names that only the proxies know, with the ports that they stand for.
        self.names: dict[str, int] = {}
        self.ports: dict[str, int] = {}
        #: The requests that proxies got: which proxy, and the first line.
        self.asked: list[tuple[str, str]] = []
        #: All that clients sent through tunnels.
        self.sent = bytearray()
        #: The names that TLS servers were asked for, and the protocols that they agreed on.
        self.names_asked: list[str] = []
        self.agreed: list[Optional[str]] = []

    def __enter__(self) -> Proxies:
        self._thread.start()
        for way in WAYS:
            self.ports[way] = self._listen(lambda r, w, way=way: self._proxy(way, r, w))
        self._held.bind(("127.0.0.1", 0))  # held, and nobody listens
        self.ports["refuses"] = self._held.getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            self._loop.call_soon_threadsafe(server.close)
        for task in list(self._tasks):
            self._loop.call_soon_threadsafe(task.cancel)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._held.close()

    def clear(self) -> None:
        """Forgets what was seen."""
        self.asked.clear()
        self.sent.clear()
        self.names_asked.clear()
        self.agreed.clear()

    def url(self, way: str, host: str = "localhost") -> str:
        """A proxy in documents."""
        return f"http://{host}:{self.ports[way]}"

    def serve_proxy_by_tls(self, way: str, name: str) -> int:
        """A proxy that is reached by TLS, with a certificate for this name."""
        return self._listen(lambda reader, writer: self._proxy(way, reader, writer), self._certificate(name))

    def serve_tls(self, name: str, simulator: str, alpn: list[str]) -> int:
        """A TLS server with a certificate for this name, before one of the simulator's listeners."""
        context = self._certificate(name)
        context.set_alpn_protocols(alpn)
        context.sni_callback = lambda _, asked, __: self.names_asked.append(asked or "")
        host, _, port = simulator.rpartition(":")

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.agreed.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
            await _join(reader, writer, await asyncio.open_connection(host, int(port)))

        return self._listen(serve, context)

    def authorities(self, name: str) -> Path:
        """Who vouches for that certificate."""
        return self._directory / f"tls-{name}" / "ca.crt"

    # ---- Parts

    def _certificate(self, name: str) -> ssl.SSLContext:
        certs = self._directory / f"tls-{name}"
        command = [str(self._simulator), "certificate", "--out", str(certs), "--name", name]
        subprocess.run(command, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "server.crt", certs / "server.key")
        return context

    def _listen(self, serve: Serve, context: Optional[ssl.SSLContext] = None) -> int:
        async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task
            self._tasks.add(task)
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await serve(reader, writer)
            writer.close()
            self._tasks.discard(task)

        started = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(guarded, "127.0.0.1", 0, ssl=context), self._loop
        )
        server = started.result()
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def _proxy(self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line = head.split(b"\r\n")[0].decode()
        self.asked.append((way, line))
        method, target, _ = line.split(" ")
        if way.isdigit():
            writer.write(f"HTTP/1.1 {way} No\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno\n".encode())
        elif way == "babbles":
            writer.write(b"220 mail.example ESMTP\r\n\r\n")
        elif way == "hangs":
            await reader.read()
        elif way != "closes":
            assert method == "CONNECT", line
            name, _, port = target.rpartition(":")
            port = str(self.names.get(name, port))
            far = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await _join(reader, writer, far, self.sent)
            return
        await writer.drain()


async def _join(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    note: Optional[bytearray] = None,
) -> None:
    """Passes on everything in both directions, until one side has enough."""

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, note: Optional[bytearray]) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            while data := await source.read(1 << 16):
                if note is not None:
                    note += data
                sink.write(data)
                await sink.drain()

    both = [asyncio.ensure_future(pump(reader, far[1], note)), asyncio.ensure_future(pump(far[0], writer, None))]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in both:
            one.cancel()
        far[1].close()

