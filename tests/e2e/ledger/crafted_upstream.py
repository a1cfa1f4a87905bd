"""An upstream that answers each request with what the test wrote for it, byte for byte."""

from __future__ import annotations

import socket
import threading
from types import TracebackType

from loopback import serve_each


class CraftedUpstream:
    """HTTP/1.1, one request a connection. The request says by `x-crafted: NAME` which answer it wants."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        #: Answers that stop after so many bytes, until they are told to go on.
        self.held: dict[str, tuple[int, threading.Event]] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=serve_each, args=(self._listener, self._serve), daemon=True)

    def __enter__(self) -> CraftedUpstream:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def teach(self, name: str, body: bytes, content_type: str, status: str = "200 OK", *more: str) -> None:
        """What to answer to `x-crafted: name`."""
        lines = [f"HTTP/1.1 {status}", f"content-type: {content_type}", f"content-length: {len(body)}"]
        lines += ["connection: close", *more]
        self.answers[name] = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def hold(self, name: str, token: bytes) -> threading.Event:
        """Makes an answer stop just behind these bytes, until the event is set."""
        go_on = threading.Event()
        self.held[name] = (self.answers[name].index(token) + len(token), go_on)
        return go_on

    def _serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as file:
            try:
                headers = {}
                for line in iter(file.readline, b"\r\n"):
                    if not line:
                        return
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
                if headers.get("transfer-encoding") == "chunked":
                    while size := int(file.readline(), 16):
                        file.read(size + 2)
                    file.readline()
                else:
                    file.read(int(headers.get("content-length", "0")))
                name = headers["x-crafted"]
                answer = self.answers[name]
                if name in self.held:
                    size, go_on = self.held[name]
                    peer.sendall(answer[:size])
                    go_on.wait(60)
                    answer = answer[size:]
                peer.sendall(answer)
            except OSError:
                return  # Whoever asked has gone.
