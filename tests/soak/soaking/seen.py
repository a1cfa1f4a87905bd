"""What a client saw of its own request."""

from __future__ import annotations

import dataclasses
from .shapes import Plan

#: A client that waits longer than this for the next byte has found a request that hangs.
PATIENCE = 30.0
#: As much of the end of an answer is kept to find a mark in it.
TAIL = 4096


@dataclasses.dataclass
class Seen:
    """An answer as far as it came."""

    status: int = 0
    #: The gateway's id of the request, where the answer told.
    uid: str = ""
    #: The whole answer was there, by its own framing.
    complete: bool = False
    #: The client left before that.
    left: bool = False
    #: Bytes of the answer's body.
    size: int = 0
    #: Why there is no answer at all.
    trouble: str = ""
    #: The code of an answer that the gateway gave itself.
    error: str = ""
    began: float = 0.0
    ended: float = 0.0
    _tail: bytes = b""

    def head(self, status: int, headers: dict[str, str]) -> None:
        """The head has come."""
        self.status = status
        self.error = headers.get("x-trilane-error", "")
        for name in ("request-id", "x-request-id"):
            value = headers.get(name, "")
            # A source's own id takes the place of the gateway's.
            if value and not value.startswith("sim-"):
                self.uid = value
                return

    def piece(self, data: bytes) -> None:
        """A piece of the body has come."""
        self.size += len(data)
        self._tail = (self._tail + data)[-TAIL:]

    def has_answer(self) -> bool:
        """Whether something of an answer is in what came last: a text of the simulator's, or a picture."""
        return any(word in self._tail for word in (b"pong", b"iVBORw0KGgo"))

    def enough(self, plan: Plan) -> bool:
        """Whether the client has seen what it waits for before it leaves."""
        if plan.leaves == "body":
            return bool(self.status) and self.size >= plan.leaves_at
        return plan.leaves == "mark" and plan.leaves_at in self._tail
