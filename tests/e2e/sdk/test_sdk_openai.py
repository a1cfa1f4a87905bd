"""The `openai` SDK, today's and the previous generation, unmodified."""

from __future__ import annotations

import re

import pytest
from e2e.sdk.sdk_support import Bench, Case, Sdk, table


SDKS = [Sdk("openai", "today", "key_a", "/v1"), Sdk("openai", "previous", "key_a", "/v1")]
NODE = Sdk("openai", "node", "key_a", "/v1")

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
    Case("chat-dated-model", "chat", "gpt-5.1-2025-11-13", {"text": "pong"}, sent={"model": "gpt-5.1-2025-11-13"}),
    Case("responses", "responses", "gpt-5.1",
         {"text": "pong", "model": "gpt-5.1", "status": "completed", "usage": USAGE,
          "request_id": re.compile("^sim-")},
         path="/v1/responses", sent={"reasoning": {"effort": "low"}, "max_output_tokens": 64}),
    Case("responses-stream", "responses_stream", "gpt-5.1",
         {"text": TEXT, "first": "response.created", "last": "response.completed", "usage": USAGE}),
    Case("responses-mixed", "responses", "gpt-5.1", {"text": "pong", "usage": USAGE}, key="key_mixed_current"),
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
    Case("400-model-twice", "chat", "gpt-5.1", error("BadRequestError", 400, "invalid_body", "."),
         body={"Model": "gpt-5.4"}, upstream=0),
    Case("400-from-upstream", "chat", "gpt-5.1", upstream_error("BadRequestError", 400),
         headers={"x-sim-status": "400"}),
    Case("401-unknown-key", "chat", "gpt-5.1",
         error("AuthenticationError", 401, "invalid_api_key", "^Incorrect API key"), key="sk-unknown", upstream=0),
    Case("401-expired", "responses", "gpt-5.1",
         error("AuthenticationError", 401, "invalid_api_key", "^Incorrect API key"), key="key_expired", upstream=0),
    Case("401-disabled", "responses_stream", "gpt-5.1",
         error("AuthenticationError", 401, "invalid_api_key", "^Incorrect API key"), key="key_disabled", upstream=0),
    Case("401-list", "models_list", "",
         error("AuthenticationError", 401, "invalid_api_key", "^Incorrect API key"), key="sk-unknown", upstream=0),
    Case("403-protocol", "chat", "gpt-5.1",
         error("PermissionDeniedError", 403, "protocol_not_allowed", "speaks protocol B"), key="key_b", upstream=0),
    Case("403-not-entitled", "chat", "gpt-5.1-codex",
         error("PermissionDeniedError", 403, "model_not_entitled", "^model_not_entitled: .* gpt-5.1-codex"),
         stack="meagre", upstream=0),
    Case("403-from-upstream", "chat", "gpt-5.1",
         error("PermissionDeniedError", 403, "model_not_entitled", "^model_not_entitled"),
         headers={"x-sim-status": "403"}),
    Case("404-model", "chat", "gpt-9",
         {**error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-9")), "param": "model"}, upstream=0),
    Case("404-model-stream", "responses_stream", "gpt-9",
         error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-9")), upstream=0),
    Case("404-model-edit", "image_edit", "gpt-image-9",
         error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-image-9")), upstream=0),
    Case("404-model-retrieve", "model_retrieve", "gpt-9",
         error("NotFoundError", 404, "model_not_found", NOT_FOUND.format("gpt-9")), upstream=0),
    Case("404-model-of-another-entry", "chat", "claude-opus-4-5",
         error("NotFoundError", 404, "model_not_found", "entry .*messages"), key="key_mixed", upstream=0),
    Case("404-images", "image_generate", "gpt-image-1",
         error("NotFoundError", 404, "images_not_supported", "^Images API is not supported for this platform$",
               of="not_found_error"),
         key="key_mixed", upstream=0),
    Case("404-base-address-v1-twice", "chat", "gpt-5.1",
         error("NotFoundError", 404, "not_found", "must be the gateway's address without /v1"),
         suffix="/v1/v1", upstream=0),
    Case("404-base-address-of-another-client", "models_list", "",
         error("NotFoundError", 404, "not_found", "protocol A ends in /v1"), suffix="", upstream=0),
    Case("413", "chat", "gpt-5.1", error("APIStatusError", 413, "request_too_large", "larger than 4096 bytes"),
         body={"padding": "x" * 8192}, stack="meagre", upstream=0),
    Case("429-from-upstream", "chat", "gpt-5.1",
         {**upstream_error("RateLimitError", 429), "headers": {"retry-after": "2"}},
         headers={"x-sim-status": "429", "x-sim-retry-after": "2"}, retries=1, requests=2, upstream=2, seconds=1.9),
    Case("429-not-retried", "chat", "gpt-5.1", upstream_error("RateLimitError", 429),
         headers={"x-sim-status": "429"}, retries=0),
    Case("500-from-upstream", "chat", "gpt-5.1", upstream_error("InternalServerError", 500),
         headers={"x-sim-status": "500"}, retries=1, requests=2, upstream=2),
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
    Case("503-no-policy-list", "models_list", "",
         error("InternalServerError", 503, "server_is_overloaded", "no configuration", of="server_error"),
         stack="unready", retries=0, upstream=0),
]  # fmt: skip


@pytest.mark.parametrize("sdk, case", table(SDKS, CALLS))
def test_call(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)


@pytest.mark.parametrize("sdk, case", table(SDKS, ERRORS))
def test_error(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)
