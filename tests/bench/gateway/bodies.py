"""The requests' bodies: chats as agents send them, a few long messages of prose with line breaks and quotes in it."""

from __future__ import annotations

import json

MODEL = "gpt-5.1"

_PROSE = (
    "The quick brown fox jumps over the lazy dog, and the dog does not mind: it has seen foxes before.\n"
    'Then somebody says "Again!" and all of it happens once more, a little slower, for those who missed it.\n'
)
#: The longest message.
_MESSAGE = 2000


def chat(size: int, *, model_first: bool, stream: bool = False) -> bytes:
    """A chat request of exactly `size` bytes."""
    messages = [{"role": "system", "content": "You are terse."}]
    rest: dict[str, object] = {"temperature": 0.5}
    if stream:
        rest.update(stream=True, stream_options={"include_usage": True})
    body = _json(messages, rest, model_first)
    while len(body) < size:
        # The prose is plain ASCII, where a character is a byte but for those that are escaped.
        missing = size - len(body)
        role = "user" if len(messages) % 2 else "assistant"
        messages.append({"role": role, "content": ""})
        room = missing - (len(_json(messages, rest, model_first)) - len(body))
        if room < 0:
            # No room for another message: the one before grows instead.
            messages.pop()
            messages[-1]["content"] += "." * missing
        else:
            # What is left behind a message must be nothing or enough for another one.
            messages[-1]["content"] = _fit(min(room, _MESSAGE))
        body = _json(messages, rest, model_first)
    if len(body) != size:
        raise ValueError(f"no chat of {size} bytes: {len(body)}")
    return body


def _fit(room: int) -> str:
    """Prose of so many bytes as JSON."""
    text = (_PROSE * (room // len(_PROSE) + 1))[:room]
    while len(json.dumps(text)) - 2 > room:
        text = text[: len(text) - (len(json.dumps(text)) - 2 - room)]
    return text + "." * (room - (len(json.dumps(text)) - 2))


def _json(messages: list[dict[str, str]], rest: dict[str, object], model_first: bool) -> bytes:
    body: dict[str, object] = {"messages": messages, **rest}
    body = {"model": MODEL, **body} if model_first else {**body, "model": MODEL}
    return json.dumps(body, separators=(",", ":")).encode()
