"""An account that gives the answers that a test writes: whole, or in pieces with pauses between."""

from __future__ import annotations

import dataclasses
import http.server
import threading
import time
from types import TracebackType
from typing import Union

#: A piece of a body, or a pause in seconds.
Part = Union[bytes, float]


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer. With `length` its head says how long it is, otherwise it comes in chunks."""

    status: int
    parts: tuple[Part, ...]
    kind: str = "application/json"
    length: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def json(status: int, body: str, **headers: str) -> Answer:
        """`headers` with `_` for `-`."""
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return Answer(status, (body.encode(),), length=True, headers=named)

    @staticmethod
    def events(*parts: Part) -> Answer:
        return Answer(200, parts, "text/event-stream")


class ScriptedAccount:
    """Use it as a context manager. Gives `answer` to every request, and counts them."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.bodies: list[bytes] = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def asked(self) -> int:
        return len(self.bodies)

    def __enter__(self) -> ScriptedAccount:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        account = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                account.bodies.append(self._body())
                answer = account.answer
                self.send_response(answer.status)
                self.send_header("content-type", answer.kind)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if answer.length:
                    self.send_header("content-length", str(sum(len(part) for part in answer.parts if isinstance(part, bytes))))
                else:
                    self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for part in answer.parts:
                    if isinstance(part, float):
                        time.sleep(part)
                    else:
                        self.wfile.write(part if answer.length else b"%x\r\n%s\r\n" % (len(part), part))
                        self.wfile.flush()
                if not answer.length:
                    self.wfile.write(b"0\r\n\r\n")

            def _body(self) -> bytes:
                if "content-length" in self.headers:
                    return self.rfile.read(int(self.headers["content-length"]))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size + 2)[:-2]
                self.rfile.readline()
                return body

            def log_message(self, format: str, *arguments: object) -> None:
                """Says nothing."""

        return Handler
