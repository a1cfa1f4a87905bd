"""What the `anthropic` SDK reports as used, streamed and not."""

from __future__ import annotations

from typing import Any

import anthropic
from anthropic_calls import ERROR, HELLO, VERSION, _client, _extra, facts
from told import Told, kept, telling

__all__ = ["CALLS", "ERROR", "VERSION", "facts"]

client = kept(_client)


def _asked(order: Any) -> dict[str, Any]:
    return {"model": order.model, "max_tokens": 64, "messages": HELLO, **_extra(order)}


def messages(order: Any, told: Told) -> None:
    made = client(order).messages.create(**_asked(order))
    told.use(made.usage)
    told["request_id"] = made._request_id


def messages_stream(order: Any, told: Told) -> None:
    """The plain events, of which a program keeps the last."""
    told["last"] = None
    for event in client(order).messages.create(stream=True, **_asked(order)):
        told["last"] = event.type


def messages_helper(order: Any, told: Told) -> None:
    """The SDK's own accumulator; what it had so far if the stream fails."""
    with client(order).messages.stream(**_asked(order)) as stream:
        try:
            stream.until_done()
        finally:
            told.use(stream.current_message_snapshot.usage)


def count_tokens(order: Any, told: Told) -> None:
    told["total"] = client(order).messages.count_tokens(
        model=order.model, messages=HELLO, **_extra(order)
    ).input_tokens  # fmt: skip


CALLS = {
    call.__name__: telling(call, facts, anthropic.APIError)
    for call in (messages, messages_stream, messages_helper, count_tokens)
}
