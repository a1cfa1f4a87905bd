"""What all stand-ins have in common: a server on loopback, perhaps with TLS."""

from __future__ import annotations

import dataclasses
import json
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from loopback import Handler, LoopbackServer


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    #: The first value of each query parameter.
    query: dict[str, str]
    #: By names in lower case.
    headers: dict[str, str]
    body: bytes

    def json(self) -> Optional[dict[str, Any]]:
        """The body, where it is an object of JSON and said to be."""
        if not self.headers.get("content-type", "").startswith("application/json"):
            return None
        try:
            body = json.loads(self.body)
        except ValueError:
            return None
        return body if isinstance(body, dict) else None


@dataclasses.dataclass(frozen=True)
class Answer:
    """A response: a status and a body of JSON, or a stream of events."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Sent one after the other, instead of the body.
    events: Sequence[str] = ()


class VendorServer(LoopbackServer):
    """A server. A stand-in overrides `answer`."""

    #: What stands before the paths of the vendor's own documentation.
    base = ""

    def __init__(
        self,
        credential: str,
        *,
        certificate: Optional[Path] = None,
        host: str = "127.0.0.1",
        output_tokens: int = 56,
    ) -> None:
        """`certificate` is a directory with `server.crt` and `server.key`: then it speaks TLS.

        `host` is an address of the loopback interface; with TLS, `127.0.0.1` is called `localhost`.

        `output_tokens` is what each of its responses reports.
        """
        self.credential = credential
        self.output_tokens = output_tokens
        #: The requests that it got, oldest first.
        self.asked: list[Asked] = []
        stand_in = self

        class Asks(Handler):
            def do_GET(self) -> None:
                stand_in._serve(self)

            def do_POST(self) -> None:
                stand_in._serve(self)

        super().__init__(Asks, host=host, certificate=certificate)
        self._scheme = "https" if certificate else "http"
        self._name = "localhost" if certificate and host == "127.0.0.1" else host

    @property
    def url(self) -> str:
        """Its base address, as an account has it."""
        return f"{self._scheme}://{self._name}:{self.port}{self.base}"

    def answer(self, asked: Asked) -> Answer:
        """The response to a request."""
        raise NotImplementedError

    def _serve(self, handler: Handler) -> None:
        target = urllib.parse.urlsplit(handler.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(target.query).items()}
        body = handler.read_body()
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(handler.command, urllib.parse.unquote(target.path), query, headers, body)
        self.asked.append(asked)
        answer = self.answer(asked)
        if answer.events:
            self._stream(handler, answer)
            return
        content = json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _stream(self, handler: Handler, answer: Answer) -> None:
        handler.send_response(answer.status)
        stream = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        for name, value in {**stream, **answer.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        for event in answer.events:
            content = event.encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")
