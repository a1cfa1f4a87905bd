"""Streams that last."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Optional

from e2e.limits.limited_desk import Call, Desk
from e2e.limits.limited_document import Key
from e2e.raw import Http1


def take(desk: Desk, key: Key, stack: ExitStack) -> Optional[tuple[Http1, Call]]:
    """A stream of a minute, if there is a slot for it: the client once the stream has begun, or None."""
    call = desk.call(key, stream=True, events=240, gap_ms=250)
    client = stack.enter_context(Http1(desk.stack.base_url))
    client.head(call.method, call.path, [*call.headers, ("content-length", str(len(call.body or b"")))])
    client.send(call.body or b"")
    status = client.next_head().status
    assert status in (200, 429), status
    if status == 200:
        return client, call
    client.sock.close()
    return None
