"""A proxy that lets nothing through, and notes where clients wanted to go besides the gateway."""

from __future__ import annotations

import socketserver
import threading
from types import TracebackType
from typing import Optional


class Elsewhere:
    """Everything that is not for this machine comes here, is noted and refused."""

    def __init__(self) -> None:
        noted: set[str] = set()

        class Refuse(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                # "CONNECT host:443 HTTP/1.1", or "GET http://host/path HTTP/1.1"
                words = self.rfile.readline(4096).decode(errors="replace").split()
                if len(words) > 1:
                    noted.add(words[1])
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

        self._noted = noted
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuse)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Elsewhere:
        self._thread.start()
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What clients are told as their proxy."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def noted(self) -> list[str]:
        """Where they wanted to go."""
        return sorted(self._noted)
