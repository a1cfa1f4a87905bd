"""A vendor whose accounts do what a test says, told apart by the first segment of their path."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5-20251101",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 5},
}


class AccountVendor:
    """A server of protocol B on the loopback interface; use it as a context manager."""

    def __init__(self) -> None:
        #: What an account answers; 200 where nothing is said. 0: it breaks the connection.
        self.statuses: dict[str, int] = {}
        #: The account and its headers, of every request, in their order.
        self.asked: list[tuple[str, dict[str, str]]] = []
        vendor = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                account = self.path.split("/")[1]
                vendor.asked.append((account, {name.lower(): value for name, value in self.headers.items()}))
                self.rfile.read(int(self.headers.get("content-length") or 0))
                status = vendor.statuses.get(account, 200)
                if not status:
                    self.close_connection = True
                    return
                error = {"type": "error", "error": {"type": "api_error", "message": account}}
                body = json.dumps(_MESSAGE if status == 200 else error).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._server.daemon_threads = True

    def url(self, account: str) -> str:
        """The address of an account."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/{account}"

    def __enter__(self) -> AccountVendor:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
