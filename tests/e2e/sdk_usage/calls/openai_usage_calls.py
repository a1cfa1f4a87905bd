"""What the `openai` SDK reports as used, streamed and not."""

from __future__ import annotations

from typing import Any

import openai
from openai_calls import ERROR, HELLO, PNG, VERSION, _client, _extra, facts
from told import Told, kept, last, telling

__all__ = ["CALLS", "ERROR", "VERSION", "facts"]

client = kept(_client)
OPTIONS: Any = {"include_usage": True}


def chat(order: Any, told: Told) -> None:
    made = client(order).chat.completions.create(model=order.model, messages=HELLO, **_extra(order))
    told.use(made.usage)
    told["request_id"] = made._request_id


def chat_stream(order: Any, told: Told) -> None:
    usage = None
    stream = client(order).chat.completions.create(
        model=order.model, messages=HELLO, stream=True, stream_options=OPTIONS, **_extra(order)
    )
    try:
        for chunk in stream:
            usage = last(usage, chunk.usage)
    finally:
        told.use(usage)


def chat_helper(order: Any, told: Told) -> None:
    """The SDK's own accumulator."""
    asked = {"model": order.model, "messages": HELLO, "stream_options": OPTIONS, **_extra(order)}
    with client(order).chat.completions.stream(**asked) as stream:
        told.use(stream.get_final_completion().usage)


def responses(order: Any, told: Told) -> None:
    made = client(order).responses.create(model=order.model, input="ping", **_extra(order))
    told.use(made.usage)
    told["request_id"] = made._request_id


def responses_stream(order: Any, told: Told) -> None:
    events = []
    try:
        for event in client(order).responses.create(model=order.model, input="ping", stream=True, **_extra(order)):
            events.append(event)
    finally:
        told["last"] = events[-1].type if events else None
        if events and getattr(events[-1], "response", None):
            told.use(events[-1].response.usage)


def responses_helper(order: Any, told: Told) -> None:
    """The SDK's own accumulator."""
    with client(order).responses.stream(model=order.model, input="ping", **_extra(order)) as stream:
        for event in stream:
            if event.type in ("response.completed", "response.incomplete"):
                told.use(event.response.usage)


def images(order: Any, told: Told) -> None:
    made = client(order).images.generate(model=order.model, prompt="a dot", **_extra(order))
    told.use(made.usage)
    told["images"] = len(made.data or [])


def images_edit(order: Any, told: Told) -> None:
    image = ("dot.png", PNG, "image/png")
    made = client(order).images.edit(model=order.model, prompt="a dot", image=image, **_extra(order))
    told.use(made.usage)
    told["images"] = len(made.data or [])


def images_stream(order: Any, told: Told) -> None:
    told["images"] = 0
    for event in client(order).images.generate(model=order.model, prompt="a dot", stream=True, **_extra(order)):
        if event.type == "image_generation.completed":
            told.use(event.usage)
            told["images"] += 1


CALLS = {
    call.__name__: telling(call, facts, openai.APIError)
    for call in (
        chat,
        chat_stream,
        chat_helper,
        responses,
        responses_stream,
        responses_helper,
        images,
        images_edit,
        images_stream,
    )
}
