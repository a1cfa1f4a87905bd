"""The `anthropic` SDK, today's and the previous generation, unmodified.

Today's sends `Authorization: Bearer` and a newer version, so its keys belong to groups with
`"clients": "current"`. The previous one sends `x-api-key` and `2023-06-01`: every group takes it.
"""

from __future__ import annotations

import re

from e2e.sdk.sdk_support import By, Case, Sdk


SDKS = [Sdk("anthropic", "today", "key_b_current"), Sdk("anthropic", "previous", "key_b"), Sdk("anthropic", "node", "key_b_current")]

TEXT = "pong pong pong pong pong "
USAGE = {"input": 210, "output": 56, "cache_read": 1024, "cache_write": 300}
PYTHON = ("today", "previous")

#: As the client asks for it, and as the document has it renamed for the upstream.
OPUS = "claude-opus-4-5"
OPUS_UPSTREAM = "claude-opus-4-5-20251101"
SONNET = "claude-sonnet-5-5"

MODELS = [
    "claude-opus-5-5",
    "claude-opus-4-8",
    "claude-opus-4-6",
    "claude-opus-4-5",
    "claude-opus-4-1",
    "claude-opus-4",
    "claude-sonnet-5-5",
    "claude-sonnet-4-6",
    "claude-sonnet-4-5",
    "claude-haiku-5-5",
    "claude-haiku-4-5",
]

#: What works.
CALLS = [
    Case("messages", "messages", SONNET,
         {"text": "pong", "model": SONNET, "stop_reason": "end_turn", "usage": USAGE,
          "request_id": re.compile("^sim-")},
         path="/v1/messages", sent={"model": SONNET, "max_tokens": 64}),
    Case("messages-renamed-model", "messages", OPUS, {"text": "pong", "model": OPUS_UPSTREAM},
         sent={"model": OPUS_UPSTREAM, "max_tokens": 64}),
    Case("messages-thinking", "messages_thinking", SONNET, {"text": "pong", "usage": USAGE},
         sent={"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048,
               "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]}),
    Case("messages-stream", "messages_stream", SONNET, {"text": TEXT, "first": "message_start", "last": "message_stop"},
         sent={"stream": True}),
    Case("messages-helper", "messages_helper", OPUS,
         {"text": TEXT, "streamed": TEXT, "model": OPUS_UPSTREAM, "stop_reason": "end_turn", "usage": USAGE},
         sent={"model": OPUS_UPSTREAM, "stream": True}),
    Case("messages-async", "messages_async", SONNET,
         {"whole": {"text": "pong", "usage": USAGE}, "streamed": {"text": TEXT, "usage": USAGE}},
         requests=2, upstream=2, only=PYTHON),
    Case("count-tokens", "count_tokens", SONNET, {"input": 12}, path="/v1/messages/count_tokens"),
    Case("models-iterate", "models_iterate", "", {"ids": MODELS, "types": ["model"]}, requests=6, upstream=0),
    Case("model-retrieve", "model_retrieve", OPUS,
         {"id": OPUS, "type": "model", "display_name": "Claude Opus 4.5", "year": 2025}, upstream=0),
    Case("mixed-messages", "messages_helper", SONNET, {"text": TEXT, "usage": USAGE}, key="key_mixed_current"),
    # The list of a Mixed key is read by this SDK too, whatever else stands in it.
    Case("mixed-models", "models_iterate", "", {"ids": MODELS[:2] + [MODELS[3], MODELS[6]] + MODELS[8:]},
         key="key_mixed", requests=4, upstream=0),
]  # fmt: skip


def error(kind: object, status: int, code: str, message: str, of: str) -> dict[str, object]:
    """The exception for an answer of the gateway's own."""
    # The previous generation does not know `details.error_code`, but the body has it.
    return {"class": kind, "status": status, "code": code, "type": of, "message": re.compile(message)}


def upstream_error(kind: object, status: int) -> dict[str, object]:
    """The exception for an answer of the upstream's."""
    return {"class": kind, "status": status, "headers": {"x-sim-upstream": "b_official"}}


INVALID_KEY = error("AuthenticationError", 401, "invalid_api_key", "^invalid x-api-key$", "authentication_error")
BAD_VERSION = error("BadRequestError", 400, "invalid_version", "version .* 2023-06-01", "invalid_request_error")
NOT_READY = error(
    By("ServiceUnavailableError", previous="InternalServerError"),
    503,
    "server_is_overloaded",
    "no configuration",
    "api_error",
)
BAD_GATEWAY = error("InternalServerError", 502, "bad_gateway", "upstream source", "api_error")
ACCOUNT_REFUSED = error("InternalServerError", 502, "bad_gateway", "tell the operator", "api_error")


def not_found(name: str) -> dict[str, object]:
    """A model that the key's list does not have."""
    return error("NotFoundError", 404, "model_not_found", f"^model: {re.escape(name)}$", "not_found_error")


#: What fails, and how a program sees it.
ERRORS = [
    Case("400-model-twice", "messages", SONNET,
         error("BadRequestError", 400, "invalid_body", ".", "invalid_request_error"),
         body={"MODEL": "claude-opus-5-5"}, upstream=0),
    Case("400-other-version-for-a-strict-group", "messages", SONNET, BAD_VERSION,
         headers={"anthropic-version": "2026-10-21"}, upstream=0, only=("previous",)),
    Case("401-unknown-key", "messages", SONNET, INVALID_KEY, key="sk-ant-unknown", upstream=0),
    # The message that tells people of today's SDK to ask for another group.
    Case("401-bearer-for-a-strict-group", "messages", SONNET, INVALID_KEY, key="key_b", upstream=0, only=("today",)),
    Case("404-model", "messages", "claude-opus-9", not_found("claude-opus-9"), upstream=0),
    Case("404-model-stream", "messages_helper", "claude-opus-9", not_found("claude-opus-9"), upstream=0),
    Case("404-base-address-with-v1", "messages", SONNET,
         error("NotFoundError", 404, "not_found", "must be the gateway's address without /v1", "not_found_error"),
         suffix="/v1", upstream=0),
    Case("429-from-upstream", "messages", SONNET,
         {**upstream_error("RateLimitError", 429), "headers": {"retry-after": "2"}},
         headers={"x-sim-status": "429", "x-sim-retry-after": "2"}, retries=1, requests=2, upstream=2, seconds=1.9),
    Case("429-not-retried", "messages", SONNET, upstream_error("RateLimitError", 429),
         headers={"x-sim-status": "429"}, retries=0),
    Case("502-upstream-refuses-our-account", "messages", SONNET, ACCOUNT_REFUSED,
         headers={"x-sim-status": "401"}, retries=1),
    Case("502-upstream-cut", "messages", SONNET, BAD_GATEWAY,
         headers={"x-sim-cut": "head"}, retries=1, requests=2, upstream=2),
    Case("503-no-policy", "messages", SONNET, {**NOT_READY, "headers": {"retry-after": "1"}},
         stack="unready", retries=1, requests=2, upstream=0, seconds=0.9),
]  # fmt: skip
