"""A vendor whose accounts do what a test says, told apart by the first segment of their path."""

from __future__ import annotations

import json

from loopback import Handler, LoopbackServer

_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-4-5-20251101",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 5},
}


class AccountVendor(LoopbackServer):
    """A vendor of protocol B."""

    def __init__(self) -> None:
        #: What an account answers; 200 where nothing is said. 0: it breaks the connection.
        self.statuses: dict[str, int] = {}
        #: The account and its headers, of every request, in their order.
        self.asked: list[tuple[str, dict[str, str]]] = []
        vendor = self

        class Answers(Handler):
            def do_POST(self) -> None:
                account = self.path.split("/")[1]
                vendor.asked.append((account, {name.lower(): value for name, value in self.headers.items()}))
                self.read_body()
                status = vendor.statuses.get(account, 200)
                if not status:
                    self.close_connection = True
                    return
                error = {"type": "error", "error": {"type": "api_error", "message": account}}
                self.respond(status, json.dumps(_MESSAGE if status == 200 else error).encode())

        super().__init__(Answers)

    def url(self, account: str) -> str:
        """The address of an account."""
        return f"http://{self.address}/{account}"
