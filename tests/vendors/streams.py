"""Streams of the vendors' protocols, in the shapes of bodies that the official SDKs parse (`tests/fixtures/responses/*.sse`). Each
says `pong` in two pieces, and reports 12 tokens of input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Optional

INPUT = 12


def event(data: Any, name: Optional[str] = None) -> str:
    """An event, which has a name in protocols that give them one."""
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def chat(whole: dict[str, Any], with_usage: bool) -> Iterator[str]:
    """Chat Completions: chunks of the response `whole`. The last one has the usage, if the request asks for that."""
    head = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    none = {"usage": None} if with_usage else {}

    def chunk(delta: dict[str, Any], finish: Optional[str] = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({**head, "choices": [choice], **none})

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    yield chunk({"content": "po"})
    yield chunk({"content": "ng"})
    yield chunk({}, "stop")
    if with_usage:
        yield event({**head, "choices": [], "usage": whole["usage"]})
    yield event("[DONE]")


def response(whole: dict[str, Any]) -> Iterator[str]:
    """Responses: the response begins empty, its message comes in pieces, and it ends as `whole`."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    (message,) = whole["output"]
    (part,) = message["content"]
    of_item = {"item_id": message["id"], "output_index": 0}
    of_part = {**of_item, "content_index": 0}
    steps: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {"output_index": 0, "item": {**message, "status": "in_progress", "content": []}}),
        ("response.content_part.added", {**of_part, "part": {**part, "text": ""}}),
        ("response.output_text.delta", {**of_part, "delta": "po", "logprobs": []}),
        ("response.output_text.delta", {**of_part, "delta": "ng", "logprobs": []}),
        ("response.output_text.done", {**of_part, "text": part["text"], "logprobs": []}),
        ("response.content_part.done", {**of_part, "part": part}),
        ("response.output_item.done", {"output_index": 0, "item": message}),
        ("response.completed", {"response": whole}),
    ]
    for number, (name, data) in enumerate(steps):
        yield event({"type": name, **data, "sequence_number": number}, name)


def message(whole: dict[str, Any]) -> Iterator[str]:
    """Messages: the message begins with one token of output, and its end says how many there were."""
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": whole["stop_sequence"]}
    steps: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "po"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ng"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": whole["usage"]["output_tokens"]}},
        {"type": "message_stop"},
    ]
    for step in steps:
        yield event(step, step["type"])


def content(whole: dict[str, Any]) -> Iterator[str]:
    """generateContent: each event is a response of its own, with the usage so far; the last one has the end."""
    usage = whole["usageMetadata"]
    rest = {name: whole[name] for name in ("modelVersion", "responseId")}
    for text, output in (("po", 1), ("ng", usage["candidatesTokenCount"])):
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        if text == "ng":
            candidate["finishReason"] = "STOP"
        so_far = {**usage, "candidatesTokenCount": output, "totalTokenCount": INPUT + output}
        yield event({"candidates": [candidate], **rest, "usageMetadata": so_far})
