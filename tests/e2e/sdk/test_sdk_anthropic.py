"""The `anthropic` SDK, today's and the previous generation, unmodified.

Today's sends `Authorization: Bearer` and a newer version, so its keys belong to groups with
`"clients": "current"`. The previous one sends `x-api-key` and `2023-06-01`: every group takes it.
"""

from __future__ import annotations

import re

import pytest
from e2e.sdk.sdk_support import Bench, By, Case, Sdk, table


SDKS = [Sdk("anthropic", "today", "key_b_current"), Sdk("anthropic", "previous", "key_b")]
NODE = Sdk("anthropic", "node", "key_b_current")

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
    Case("messages-folded-model", "messages", "claude-sonnet-5.5-thinking", {"text": "pong"},
         sent={"model": "claude-sonnet-5.5-thinking"}),
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
    Case("models-list", "models_list", "", {"ids": MODELS, "pages": 6, "longest": 2}, requests=6, upstream=0),
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
NO_DATE = error("BadRequestError", 400, "invalid_version", "version .* YYYY-MM-DD", "invalid_request_error")
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
    Case("400-no-date-as-version", "messages", SONNET, NO_DATE,
         headers={"anthropic-version": "latest"}, upstream=0, only=("today", "node")),
    Case("400-no-date-for-a-strict-group", "messages", SONNET, BAD_VERSION,
         headers={"anthropic-version": "latest"}, upstream=0, only=("previous",)),
    Case("400-other-version-for-a-strict-group", "messages", SONNET, BAD_VERSION,
         headers={"anthropic-version": "2026-10-21"}, upstream=0, only=("previous",)),
    Case("400-other-version-count-tokens", "count_tokens", SONNET, BAD_VERSION,
         headers={"anthropic-version": "2026-10-21"}, upstream=0, only=("previous",)),
    Case("400-from-upstream", "messages", SONNET, upstream_error("BadRequestError", 400),
         headers={"x-sim-status": "400"}),
    Case("401-unknown-key", "messages", SONNET, INVALID_KEY, key="sk-ant-unknown", upstream=0),
    Case("401-unknown-key-helper", "messages_helper", SONNET, INVALID_KEY, key="sk-ant-unknown", upstream=0),
    Case("401-expired", "messages", SONNET, INVALID_KEY, key="key_expired", upstream=0),
    Case("401-count-tokens", "count_tokens", SONNET, INVALID_KEY, key="key_disabled", upstream=0),
    # The message that tells people of today's SDK to ask for another group.
    Case("401-bearer-for-a-strict-group", "messages", SONNET, INVALID_KEY, key="key_b", upstream=0, only=("today",)),
    Case("403-protocol", "messages", SONNET,
         error("PermissionDeniedError", 403, "protocol_not_allowed", "speaks protocol C", "permission_error"),
         key="key_c_current", upstream=0),
    Case("403-not-entitled", "messages", "claude-opus-4-1",
         error("PermissionDeniedError", 403, "model_not_entitled", "^model_not_entitled: .* claude-opus-4-1",
               "permission_error"),
         stack="meagre", upstream=0),
    Case("403-from-upstream", "messages", SONNET,
         error("PermissionDeniedError", 403, "model_not_entitled", "^model_not_entitled", "permission_error"),
         headers={"x-sim-status": "403"}),
    Case("404-model", "messages", "claude-opus-9", not_found("claude-opus-9"), upstream=0),
    Case("404-model-stream", "messages_helper", "claude-opus-9", not_found("claude-opus-9"), upstream=0),
    Case("404-model-not-a-family-member", "messages", "gpt-5.1", not_found("gpt-5.1"), upstream=0),
    Case("404-model-retrieve", "model_retrieve", "claude-opus-9",
         error("NotFoundError", 404, "model_not_found", "claude-opus-9", "not_found_error"),
         upstream=0),
    Case("404-count-tokens-off", "count_tokens", SONNET,
         error("NotFoundError", 404, "count_tokens_not_supported", "/v1/messages is unaffected", "not_found_error"),
         key="key_b_low", upstream=0, only=("previous",)),
    Case("404-base-address-with-v1", "messages", SONNET,
         error("NotFoundError", 404, "not_found", "must be the gateway's address without /v1", "not_found_error"),
         suffix="/v1", upstream=0),
    Case("404-base-address-with-v1-list", "models_list", "",
         error("NotFoundError", 404, "not_found", "must be the gateway's address without /v1", "not_found_error"),
         suffix="/v1", upstream=0),
    Case("413", "messages", SONNET,
         error(By("ContentTooLargeError", "RequestTooLargeError"), 413, "request_too_large",
               "larger than 4096 bytes", "request_too_large"),
         body={"padding": "x" * 8192}, stack="meagre", upstream=0),
    Case("429-from-upstream", "messages", SONNET,
         {**upstream_error("RateLimitError", 429), "headers": {"retry-after": "2"}},
         headers={"x-sim-status": "429", "x-sim-retry-after": "2"}, retries=1, requests=2, upstream=2, seconds=1.9),
    Case("429-not-retried", "messages", SONNET, upstream_error("RateLimitError", 429),
         headers={"x-sim-status": "429"}, retries=0),
    Case("529-from-upstream", "messages", SONNET, upstream_error("OverloadedError", 529),
         headers={"x-sim-status": "529"}, retries=0),
    Case("502-upstream-refuses-our-account", "messages", SONNET, ACCOUNT_REFUSED,
         headers={"x-sim-status": "401"}, retries=1),
    Case("502-upstream-cut", "messages", SONNET, BAD_GATEWAY,
         headers={"x-sim-cut": "head"}, retries=1, requests=2, upstream=2),
    Case("503-no-policy", "messages", SONNET, {**NOT_READY, "headers": {"retry-after": "1"}},
         stack="unready", retries=1, requests=2, upstream=0, seconds=0.9),
    Case("503-no-policy-list", "models_list", "",
         NOT_READY, stack="unready", retries=0, upstream=0),
]  # fmt: skip


@pytest.mark.parametrize("sdk, case", table(SDKS, CALLS))
def test_call(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)


@pytest.mark.parametrize("sdk, case", table(SDKS, ERRORS))
def test_error(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)
