"""The `openai` SDK, today's and the previous generation, unmodified."""

from __future__ import annotations

import re

from e2e.sdk.sdk_support import Case, Sdk


SDKS = [Sdk("openai", "today", "key_a", "/v1"), Sdk("openai", "previous", "key_a", "/v1"), Sdk("openai", "node", "key_a", "/v1")]

TEXT = "pong pong pong pong pong "
USAGE = {"input": 1234, "output": 56, "cached": 1024, "reasoning": 32}
PYTHON = ("today", "previous")

MODELS = [
    "gpt-5.1",
    "gpt-5.1-codex",
    "gpt-5.4",
    "gpt-5.4-nano",
    "codex-auto-review",
    "gpt-image-1",
    "gpt-image-2",
]

#: What works.
CALLS = [
    Case("chat", "chat", "gpt-5.1",
         {"text": "pong", "model": "gpt-5.1", "usage": USAGE, "request_id": re.compile("^sim-")},
         path="/v1/chat/completions", sent={"model": "gpt-5.1"}),
    Case("chat-stream", "chat_stream", "gpt-5.1", {"text": TEXT, "deltas": 5, "usage": USAGE},
         path="/v1/chat/completions", sent={"stream": True}),
    Case("chat-async", "chat_async", "gpt-5.1",
         {"whole": "pong", "usage": USAGE, "streamed": {"text": TEXT, "usage": USAGE}},
         requests=2, upstream=2, only=PYTHON),
    Case("chat-without-v1", "chat", "gpt-5.1", {"text": "pong"}, suffix="", path="/v1/chat/completions"),
    Case("responses", "responses", "gpt-5.1",
         {"text": "pong", "model": "gpt-5.1", "status": "completed", "usage": USAGE,
          "request_id": re.compile("^sim-")},
         path="/v1/responses", sent={"reasoning": {"effort": "low"}, "max_output_tokens": 64}),
    Case("responses-stream", "responses_stream", "gpt-5.1",
         {"text": TEXT, "first": "response.created", "last": "response.completed", "usage": USAGE}),
    Case("responses-mixed", "responses", "gpt-5.1", {"text": "pong", "usage": USAGE}, key="key_mixed_current"),
    # The previous generation has no such call.
    Case("compact", "compact", "gpt-5.1",
         {"object": "response.compaction", "types": ["message", "compaction"], "usage": USAGE},
         path="/v1/responses/compact", sent={"model": "gpt-5.1"}, only=("today", "node")),
    Case("compact-mixed", "compact", "gpt-5.1", {"usage": USAGE}, key="key_mixed_current", only=("today", "node")),
    Case("input-tokens", "input_tokens", "gpt-5.1", {"object": "response.input_tokens", "tokens": 12},
         path="/v1/responses/input_tokens", sent={"model": "gpt-5.1"}),
    Case("input-tokens-without-v1", "input_tokens", "gpt-5.1", {"tokens": 12}, suffix="",
         path="/v1/responses/input_tokens"),
    Case("embeddings", "embeddings", "gpt-5.1", {"vectors": [[0.25, -0.5, 0.75]] * 2, "model": "gpt-5.1", "usage": {"input": 8, "total": 8}},
         path="/v1/embeddings", sent={"encoding_format": "base64"}),
    Case("embeddings-as-numbers", "embeddings_as_numbers", "gpt-5.1", {"vectors": [[0.25, -0.5, 0.75]]},
         path="/v1/embeddings", sent={"encoding_format": "float"}),
    Case("embeddings-mixed", "embeddings", "gpt-5.1", {"usage": {"input": 8, "total": 8}}, key="key_mixed_current"),
    Case("image-generate", "image_generate", "gpt-image-1",
         {"images": 2, "png": True, "usage": {"input": 50, "output": 272}},
         path="/v1/images/generations", sent={"n": 2}),
    Case("image-edit", "image_edit", "gpt-image-1",
         {"images": 1, "png": True, "usage": {"input": 50, "output": 272}}, path="/v1/images/edits"),
    Case("models-list", "models_list", "", {"ids": MODELS, "objects": ["model"]}, upstream=0),
    Case("model-retrieve", "model_retrieve", "gpt-5.1",
         {"id": "gpt-5.1", "object": "model", "created_is_int": True}, upstream=0),
]  # fmt: skip


def error(kind: str, status: int, code: str, message: str, of: str = "invalid_request_error") -> dict[str, object]:
    """The exception for an answer of the gateway's own."""
    return {"class": kind, "status": status, "code": code, "type": of, "message": re.compile(message)}


def upstream_error(kind: str, status: int) -> dict[str, object]:
    """The exception for an answer of the upstream's."""
    return {"class": kind, "status": status, "headers": {"x-sim-upstream": "a_official"}}


NOT_FOUND = "`{}` does not exist or is not in this key's list"

#: What fails, and how a program sees it.
ERRORS = [
    Case("400-model-not-a-string", "chat", "gpt-5.1",
         error("BadRequestError", 400, "invalid_body", "model"), body={"model": 5}, upstream=0),
    Case("401-unknown-key", "chat", "gpt-5.1",
         error("AuthenticationError", 401, "invalid_api_key", "^Incorrect API key"), key="sk-unknown", upstream=0),
    Case("404-model", "chat", "gpt-9",
         {**error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-9")), "param": "model"}, upstream=0),
    Case("404-model-stream", "responses_stream", "gpt-9",
         error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-9")), upstream=0),
    Case("404-model-of-embeddings", "embeddings", "gpt-9",
         error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-9")), upstream=0),
    Case("429-embeddings-from-upstream", "embeddings", "gpt-5.1", upstream_error("RateLimitError", 429),
         headers={"x-sim-status": "429"}, retries=0),
    Case("404-model-of-another-entry", "chat", "claude-opus-4-5",
         error("NotFoundError", 404, "model_not_found", "entry .*messages"), key="key_mixed", upstream=0),
    Case("404-base-address-v1-twice", "chat", "gpt-5.1",
         error("NotFoundError", 404, "not_found", "must be the gateway's address without /v1"),
         suffix="/v1/v1", upstream=0),
    Case("404-base-address-of-another-client", "models_list", "",
         error("NotFoundError", 404, "not_found", "protocol A ends in /v1"), suffix="", upstream=0),
    Case("429-from-upstream", "chat", "gpt-5.1",
         {**upstream_error("RateLimitError", 429), "headers": {"retry-after": "2"}},
         headers={"x-sim-status": "429", "x-sim-retry-after": "2"}, retries=1, requests=2, upstream=2, seconds=1.9),
    Case("429-not-retried", "chat", "gpt-5.1", upstream_error("RateLimitError", 429),
         headers={"x-sim-status": "429"}, retries=0),
    Case("502-upstream-refuses-our-account", "chat", "gpt-5.1",
         error("InternalServerError", 502, "bad_gateway", "tell the operator", of="server_error"),
         headers={"x-sim-status": "401"}, retries=1),
    Case("502-upstream-cut", "chat", "gpt-5.1",
         error("InternalServerError", 502, "bad_gateway", "upstream source", of="server_error"),
         headers={"x-sim-cut": "head"}, retries=1, requests=2, upstream=2),
    Case("503-no-policy", "chat", "gpt-5.1",
         {**error("InternalServerError", 503, "server_is_overloaded", "no configuration", of="server_error"),
          "headers": {"retry-after": "1"}},
         stack="unready", retries=1, requests=2, upstream=0, seconds=0.9),
]  # fmt: skip
