"""What the `google-genai` SDK reports as used, streamed and not."""

from __future__ import annotations

from typing import Any

from genai_calls import ERROR, VERSION, _client, _config, facts
from google.genai import errors
from told import Told, kept, last, telling

__all__ = ["CALLS", "ERROR", "VERSION", "facts"]

client = kept(_client)


def generate(order: Any, told: Told) -> None:
    made = client(order).models.generate_content(model=order.model, contents="ping", config=_config(order))
    told.use(made.usage_metadata, by_alias=True)


def generate_stream(order: Any, told: Told) -> None:
    usage = None
    asked = {"model": order.model, "contents": "ping", "config": _config(order)}
    try:
        for chunk in client(order).models.generate_content_stream(**asked):
            usage = last(usage, chunk.usage_metadata)
    finally:
        told.use(usage, by_alias=True)


def count_tokens(order: Any, told: Told) -> None:
    counted = client(order).models.count_tokens(model=order.model, contents="ping", config=_config(order))
    told["total"] = counted.total_tokens


CALLS = {
    call.__name__: telling(call, facts, errors.APIError) for call in (generate, generate_stream, count_tokens)
}
