"""A vendor that knows no credential of ours, and says so to whoever asks."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

_ERROR = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key", "code": 401}}


class RefusingVendor:
    """A server on the loopback interface; use it as a context manager."""

    def __init__(self) -> None:
        #: When requests came (`time.monotonic`).
        self.asked: list[float] = []
        asked = self.asked

        class Refuses(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked.append(time.monotonic())
                self.rfile.read(int(self.headers.get("content-length") or 0))
                body = json.dumps(_ERROR).encode()
                self.send_response(401)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """Its `host:port`."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> RefusingVendor:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
