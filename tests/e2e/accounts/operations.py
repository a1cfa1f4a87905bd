"""What clients ask for: each protocol's operations, streaming and not."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from e2e.accounts.document import MODEL


@dataclasses.dataclass(frozen=True)
class Operation:
    """One kind of request."""

    name: str
    protocol: str
    stream: bool

    def path(self, model: str) -> str:
        fixed = {"A": "/v1/chat/completions", "B": "/v1/messages"}
        if self.name.startswith("responses"):
            return "/v1/responses"
        if self.protocol == "C":
            method = "streamGenerateContent?alt=sse" if self.stream else "generateContent"
            return f"/v1beta/models/{model}:{method}"
        return fixed[self.protocol]

    def body(self, model: str, text: str = "ping") -> dict[str, Any]:
        """The body; `text` is the user's."""
        if self.protocol == "C":
            return {"contents": [{"role": "user", "parts": [{"text": text}]}]}
        body: dict[str, Any] = {"model": model, "stream": self.stream}
        if self.name.startswith("responses"):
            return {**body, "input": text}
        if self.protocol == "B":
            body["max_tokens"] = 64
        elif self.stream:
            body["stream_options"] = {"include_usage": True}
        return {**body, "messages": [{"role": "user", "content": text}]}

    def request(self, model: str = "", text: str = "ping") -> tuple[str, bytes]:
        """The path and the body."""
        model = model or MODEL[self.protocol]
        return self.path(model), json.dumps(self.body(model, text)).encode()


def _both(name: str, protocol: str) -> list[Operation]:
    return [Operation(name, protocol, False), Operation(f"{name}-stream", protocol, True)]


OPERATIONS = [
    *_both("chat", "A"),
    *_both("responses", "A"),
    *_both("messages", "B"),
    *_both("generate", "C"),
]
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def is_native_error(protocol: str, body: bytes) -> bool:
    """Whether a body is the protocol's own shape of an error."""
    try:
        found = json.loads(body)
        error = found["error"]
    except (ValueError, KeyError, TypeError):
        return False
    if not isinstance(error, dict) or not error.get("message"):
        return False
    if protocol == "A":
        return {"message", "type", "code"} <= error.keys() and "status" not in error
    if protocol == "B":
        return found.get("type") == "error" and bool(error.get("type"))
    return isinstance(error.get("code"), int) and bool(error.get("status"))
