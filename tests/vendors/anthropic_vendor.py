"""Anthropic, by requests of the official SDKs, Claude Code and other agents, and by bodies that these parse.

- The credential is `x-api-key` (older SDKs, Claude Code) or `Authorization: Bearer` (SDKs of today).
- `anthropic-version` is required; `2023-06-01` and `2026-10-21` were sent.
- The list's parameters and members: https://platform.claude.com/docs/de/api/php/models/list (`limit` 1 to 1000, 20 by
  default; `after_id`).
- Errors are `{"type": "error", "error": {type, message}, "request_id"}` with the header `request-id`.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from . import streams
from .vendor_server import Answer, Asked, VendorServer

_DATE = re.compile(r"-20\d{6}$")


def error(status: int, kind: str, message: str) -> Answer:
    """An error in Anthropic's shape."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Answer(status, body, {"request-id": "req_1"})


class AnthropicVendor(VendorServer):
    """Anthropic."""

    models = ("claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5-20251001")

    def answer(self, asked: Asked) -> Answer:
        known = {("GET", "/v1/models"), ("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens")}
        if (asked.method, asked.path) not in known:
            return error(404, "not_found_error", "Not found")
        version = asked.headers.get("anthropic-version")
        if version is None:
            return error(400, "invalid_request_error", "anthropic-version: header is required")
        if version not in ("2023-06-01", "2026-10-21"):
            return error(400, "invalid_request_error", f"anthropic-version: \"{version}\" is not a valid version")
        bearer = asked.headers.get("authorization") == f"Bearer {self.credential}"
        if asked.headers.get("x-api-key", self.credential if bearer else None) != self.credential:
            return error(401, "authentication_error", "invalid x-api-key")
        if asked.method == "GET":
            return self._list(asked.query)
        body = asked.json()
        if body is None:
            return error(400, "invalid_request_error", "The request body is not valid JSON")
        required = ["model", "messages"] + (["max_tokens"] if asked.path == "/v1/messages" else [])
        for name in required:
            if name not in body:
                return error(400, "invalid_request_error", f"{name}: Field required")
        if not any(body["model"] in (name, _DATE.sub("", name)) for name in self.models):
            return error(404, "not_found_error", f"model: {body['model']}")
        if asked.path.endswith("/count_tokens"):
            return Answer(200, {"input_tokens": 12})
        answer = self._message(body)
        return dataclasses.replace(answer, events=list(streams.message(answer.body))) if body.get("stream") else answer

    def _list(self, query: dict[str, str]) -> Answer:
        limit = int(query.get("limit", "20"))
        if not 1 <= limit <= 1000:
            return error(400, "invalid_request_error", "limit: must be between 1 and 1000")
        names = list(self.models)
        if "after_id" in query:
            if query["after_id"] not in names:
                return error(400, "invalid_request_error", "after_id: not found")
            names = names[names.index(query["after_id"]) + 1 :]
        page = names[:limit]
        data = [
            {
                "type": "model",
                "id": name,
                "display_name": name.replace("-", " ").title(),
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
            }
            for name in page
        ]
        first, last = (page[0], page[-1]) if page else (None, None)
        return Answer(200, {"data": data, "first_id": first, "last_id": last, "has_more": len(names) > limit})

    def _message(self, body: dict[str, Any]) -> Answer:
        usage = {
            "input_tokens": 12,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": self.output_tokens,
            "service_tier": "standard",
        }
        message = {
            "id": "msg_01A",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": "pong"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": usage,
        }
        return Answer(200, message, {"request-id": "req_1"})
