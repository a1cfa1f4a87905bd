"""Answers of upstreams in every protocol, with and without what they used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Optional

from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, STREAM_GENERATE
from e2e.abuse.abuse_document import MODELS
from e2e.abuse.recorder import Script, Step, stream, whole

Usage = Optional[dict[str, Any]]

#: Text of so many characters is in the prompts and answers of these tests: what is estimated of it is told from what is not.
PROMPT = 40_000
TEXT = 8_000
#: Bounds of what is estimated for text: no tokenizer makes more of English prose, and none less.
MOST_PER_TOKEN, LEAST_PER_TOKEN = 8, 2

# No part of it stands there twice.
_words = " ".join(f"and {number} times the quick brown fox jumps over the lazy dog" for number in range(1000))
prompt, text = _words[:PROMPT], _words[:TEXT]


def usage_of(protocol: str, form: str = "") -> dict[str, Any]:
    """A usage of 1000 tokens of input and 500 of output, in the words of a protocol."""
    if protocol == "C":
        return {"promptTokenCount": 1000, "candidatesTokenCount": 500, "totalTokenCount": 1500}
    if form == CHAT:
        return {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    return {"input_tokens": 1000, "output_tokens": 500}


# ---- What is asked


def chat(content: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": MODELS["A"], "messages": [{"role": "user", "content": content}], **more}


def response(content: Any = "hi", **more: Any) -> dict[str, Any]:
    return {"model": MODELS["A"], "input": content, **more}


def message(content: Any = "hi", **more: Any) -> dict[str, Any]:
    return {"model": MODELS["B"], "max_tokens": 4096, "messages": [{"role": "user", "content": content}], **more}


def generate(content: str = "hi", **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": content}]}], **more}


#: Name -> group, path, body by a prompt.
KINDS: dict[str, Any] = {
    "chat": ("a", CHAT, chat),
    "responses": ("a", RESPONSES, response),
    "messages": ("b", MESSAGES, message),
    "generate": ("c", GENERATE, generate),
}
STREAMS: dict[str, Any] = {
    "chat": ("a", CHAT, lambda content="hi", **more: chat(content, stream=True, **more)),
    "responses": ("a", RESPONSES, lambda content="hi", **more: response(content, stream=True, **more)),
    "messages": ("b", MESSAGES, lambda content="hi", **more: message(content, stream=True, **more)),
    "generate": ("c", STREAM_GENERATE, generate),
}


# ---- What is answered


def event(data: Any, name: str = "") -> bytes:
    """One event of a stream."""
    body = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {body}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def chat_chunk(content: Optional[str] = None, usage: Usage = None, finish: Optional[str] = None, **more: Any) -> bytes:
    """One event of Chat Completions; without content and finish it has no choices."""
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, "finish_reason": finish}
    choices = [] if content is None and finish is None else [choice]
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODELS["A"], "choices": choices}
    return event({**body, **({"usage": usage} if usage else {}), **more})


def pieces(of: str, count: int = 8) -> list[str]:
    size = max(1, len(of) // count)
    return [of[at : at + size] for at in range(0, len(of), size)]


def chat_events(content: str = text, usage: Usage = None) -> list[bytes]:
    events = [chat_chunk(piece) for piece in pieces(content)]
    events.append(chat_chunk(finish="stop"))
    if usage:
        events.append(chat_chunk(usage=usage))
    return [*events, DONE]


def response_events(content: str = text, usage: Usage = None) -> list[bytes]:
    base = {"id": "resp_1", "object": "response", "model": MODELS["A"], "status": "in_progress", "output": []}
    events = [event({"type": "response.created", "response": base}, "response.created")]
    for piece in pieces(content):
        delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": piece}
        events.append(event(delta, "response.output_text.delta"))
    done = {"type": "response.completed", "response": {**base, "status": "completed", "usage": usage}}
    return [*events, event(done, "response.completed")]


def message_events(
    content: str = text, usage: Usage = None, start: Usage = None, final: Usage = None
) -> list[bytes]:
    """`usage` is what the first and last events say together; `start` and `final` are each for one of them."""
    if usage:
        start = {**usage, "output_tokens": 1}
        final = usage
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODELS["B"], "content": []}
    if start:
        begun["usage"] = start
    events = [event({"type": "message_start", "message": begun}, "message_start")]
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    events.append(event(block, "content_block_start"))
    for piece in pieces(content):
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        events.append(event(delta, "content_block_delta"))
    events.append(event({"type": "content_block_stop", "index": 0}, "content_block_stop"))
    last: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    if final:
        last["usage"] = final
    return [*events, event(last, "message_delta"), event({"type": "message_stop"}, "message_stop")]


def generate_events(content: str = text, usage: Usage = None, early: Usage = None) -> list[bytes]:
    events = []
    parts = pieces(content)
    for number, piece in enumerate(parts):
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0}
        body: dict[str, Any] = {"candidates": [candidate], "modelVersion": MODELS["C"]}
        last = number == len(parts) - 1
        if last:
            candidate["finishReason"] = "STOP"
        if told := usage if last else early:
            body["usageMetadata"] = told
        events.append(event(body).replace(b"\n", b"\r\n"))
    return events


EVENTS = {"chat": chat_events, "responses": response_events, "messages": message_events, "generate": generate_events}


def answered(kind: str, usage: Usage = None, content: str = text, **more: Any) -> dict[str, Any]:
    """The answer of one piece."""
    if kind == "chat":
        said = {"role": "assistant", "content": content}
        body = {"id": "chatcmpl-1", "object": "chat.completion", "model": MODELS["A"]}
        body["choices"] = [{"index": 0, "message": said, "finish_reason": "stop"}]  # type: ignore[assignment]
    elif kind == "responses":
        part = {"type": "output_text", "text": content}
        output = [{"type": "message", "id": "m", "role": "assistant", "content": [part]}]
        body = {"id": "resp_1", "object": "response", "model": MODELS["A"], "status": "completed", "output": output}  # type: ignore[dict-item]
    elif kind == "messages":
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODELS["B"], "stop_reason": "end_turn"}
        body["content"] = [{"type": "text", "text": content}]  # type: ignore[assignment]
    else:
        candidate = {"content": {"role": "model", "parts": [{"text": content}]}, "finishReason": "STOP", "index": 0}
        body = {"candidates": [candidate], "modelVersion": MODELS["C"]}  # type: ignore[dict-item]
    if usage:
        body["usageMetadata" if kind == "generate" else "usage"] = usage  # type: ignore[assignment]
    return {**body, **more}


def in_one(kind: str, usage: Usage = None, **more: Any) -> Script:
    """The script of an answer of one piece."""
    return [whole(answered(kind, usage, **more))]


def in_events(kind: str, usage: Usage = None, *, before: Sequence[Step] = (), **more: Any) -> Script:
    """The script of a whole stream."""
    return stream(*before, *EVENTS[kind](usage=usage, **more))


def kind_usage(kind: str) -> dict[str, Any]:
    """What each kind reports for 1000 tokens of input and 500 of output."""
    return usage_of("C" if kind == "generate" else "A", CHAT if kind == "chat" else "")


def protocol_of_kind(kind: str) -> str:
    return {"messages": "B", "generate": "C"}.get(kind, "A")
