"""Bodies of requests, and streams of upstreams."""

from __future__ import annotations

import json
from typing import Any

from e2e.abuse.abuse_document import MODELS

#: What is estimated of a prompt so long is told from what is not.
prompt = " ".join(f"and {number} times the quick brown fox jumps over the lazy dog" for number in range(800))


def chat(content: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": MODELS["A"], "messages": [{"role": "user", "content": content}], **more}


def response(content: Any = "hi", **more: Any) -> dict[str, Any]:
    return {"model": MODELS["A"], "input": content, **more}


def message(content: Any = "hi", **more: Any) -> dict[str, Any]:
    return {"model": MODELS["B"], "max_tokens": 4096, "messages": [{"role": "user", "content": content}], **more}


def generate(content: str = "hi", **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": content}]}], **more}


def event(data: Any) -> bytes:
    """One event of a stream."""
    return f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
