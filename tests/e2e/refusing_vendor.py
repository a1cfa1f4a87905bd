"""A vendor that knows no credential of ours, and says so to whoever asks."""

from __future__ import annotations

import json
import time

from loopback import Handler, LoopbackServer

_ERROR = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key", "code": 401}}


class RefusingVendor(LoopbackServer):
    """A vendor of protocol B."""

    def __init__(self) -> None:
        #: When requests came (`time.monotonic`).
        self.asked: list[float] = []
        asked = self.asked

        class Refuses(Handler):
            def do_POST(self) -> None:
                asked.append(time.monotonic())
                self.read_body()
                self.respond(401, json.dumps(_ERROR).encode())

        super().__init__(Refuses)
