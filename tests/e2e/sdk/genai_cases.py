"""The `google-genai` SDK, today's and the previous generation, unmodified.

Today's asks under `/v1`, which groups with `"clients": "current"` serve, unless it is given
`api_version="v1beta"`. The previous one asks under `/v1beta`: every group serves it. It retries nothing unless told.
"""

from __future__ import annotations

import re

from e2e.sdk.sdk_support import By, Case, Sdk


SDKS = [Sdk("genai", "today", "key_c_current"), Sdk("genai", "previous", "key_c"), Sdk("genai", "node", "key_c_current")]

TEXT = "pong pong pong pong pong "
USAGE = {"input": 1234, "output": 24, "cached": 1024, "reasoning": 32, "total": 1300}
FLASH = "gemini-2.5-flash"
PYTHON = ("today", "previous")
NEWER = ("today", "node")

MODELS = [
    "models/gemini-3.8-flash",
    "models/gemini-2.5-flash",
    "models/gemini-2.5-flash-lite",
    "models/gemini-2.0-flash-001",
    "models/gemini-4-argon",
    "models/gemini-3.1-pro-preview",
    "models/gemini-2.5-pro",
    "models/gemini-2.5-computer-use-preview-10-2025",
    "models/gemini-3.1-flash-image",
    "models/gemini-2.5-flash-image",
]

#: What works. Whatever the SDK asked for, the upstream hears of `/v1beta` only.
CALLS = [
    Case("generate", "generate", FLASH, {"text": "pong", "model": FLASH, "usage": USAGE},
         path=f"/v1beta/models/{FLASH}:generateContent",
         # The Python SDK spells what is inside as Python does; nobody on the way may put that right.
         sent={"generationConfig": {"maxOutputTokens": 64, "thinkingConfig":
                                    By({"thinking_budget": 128}, node={"thinkingBudget": 128})}}),
    Case("generate-prefixed-model", "generate", f"models/{FLASH}", {"text": "pong", "model": FLASH},
         path=f"/v1beta/models/{FLASH}:generateContent"),
    Case("generate-v1beta-strict", "generate", FLASH, {"text": "pong", "usage": USAGE},
         key="key_c", api_version="v1beta", path=f"/v1beta/models/{FLASH}:generateContent"),
    Case("stream", "generate_stream", FLASH, {"text": TEXT, "several": True, "usage": USAGE},
         path=f"/v1beta/models/{FLASH}:streamGenerateContent?alt=sse"),
    Case("async", "generate_async", FLASH, {"whole": {"text": "pong", "usage": USAGE}, "streamed": TEXT},
         requests=2, upstream=2, only=PYTHON),
    Case("count-tokens", "count_tokens", FLASH, {"total": 12}, path=f"/v1beta/models/{FLASH}:countTokens"),
    Case("embed", "embed", FLASH, {"values": [0.25, -0.5, 0.75]},
         path=re.compile(rf"^/v1beta/models/{re.escape(FLASH)}:(batchEmbedContents|embedContent)$")),
    Case("models-list", "models_list", "", {"names": MODELS, "first_page": 3}, requests=4, upstream=0),
    Case("model-get", "model_get", FLASH,
         {"name": f"models/{FLASH}", "display_name": "Gemini 2.5 Flash", "generates": True}, upstream=0),
    Case("mixed-generate", "generate", FLASH, {"text": "pong", "usage": USAGE}, key="key_mixed_current"),
    # Of the models of a Mixed key only those of this protocol.
    Case("mixed-models", "models_list", "", {"names": MODELS}, key="key_mixed_current", requests=4, upstream=0),
]  # fmt: skip


def error(kind: str, status: int, code: str, message: str, of: str) -> dict[str, object]:
    """The exception for an answer of the gateway's own."""
    kinds = By(kind, node="ApiError")
    return {"class": kinds, "status": status, "code": code, "type": of, "message": re.compile(message)}


def upstream_error(kind: str, status: int) -> dict[str, object]:
    """The exception for an answer of the upstream's."""
    return {"class": By(kind, node="ApiError"), "status": status, "message": f"The simulator was asked for a {status}."}


UNKNOWN_KEY = error("ClientError", 401, "invalid_api_key", "^Incorrect API key", "UNAUTHENTICATED")
BAD_GATEWAY = error("ServerError", 502, "bad_gateway", "upstream source", "UNAVAILABLE")
ACCOUNT_REFUSED = error("ServerError", 502, "bad_gateway", "tell the operator", "UNAVAILABLE")
NOT_READY = error("ServerError", 503, "server_is_overloaded", "no configuration", "UNAVAILABLE")
NOT_FOUND = error("ClientError", 404, "model_not_found", "^models/gemini-9 is not found", "NOT_FOUND")
WRONG_BASE = error("ClientError", 404, "not_found", "must be the gateway's address without /v1beta", "NOT_FOUND")

#: What fails, and how a program sees it.
ERRORS = [
    Case("400-another-model-in-the-body", "generate", FLASH,
         error("ClientError", 400, "model_mismatch", "not the model in the path", "INVALID_ARGUMENT"),
         body={"model": "gemini-2.5-pro"}, upstream=0),
    Case("401-unknown-key", "generate", FLASH, UNKNOWN_KEY, key="AIza-unknown", upstream=0),
    Case("404-model", "generate", "gemini-9", NOT_FOUND, upstream=0),
    Case("404-v1-of-a-strict-group", "generate", FLASH,
         error("ClientError", 404, "not_found", r"/v1beta/models/\{model\}", "NOT_FOUND"),
         key="key_c", upstream=0, only=NEWER),
    Case("404-base-address-with-v1beta", "generate", FLASH, WRONG_BASE, suffix="/v1beta", upstream=0),
    Case("429-retried-when-told", "generate", FLASH,
         {**upstream_error("ClientError", 429), "headers": {"retry-after": "2"}},
         headers={"x-sim-status": "429", "x-sim-retry-after": "2"}, retries=1, requests=2, upstream=2, only=PYTHON),
    Case("502-upstream-refuses-our-account", "generate", FLASH, ACCOUNT_REFUSED,
         headers={"x-sim-status": "401"}, retries=0),
    Case("502-upstream-cut", "generate", FLASH, BAD_GATEWAY,
         headers={"x-sim-cut": "head"}, retries=1, requests=2, upstream=2, only=PYTHON),
    Case("503-no-policy", "generate", FLASH, {**NOT_READY, "headers": {"retry-after": "1"}},
         stack="unready", retries=1, requests=2, upstream=0, only=PYTHON),
]  # fmt: skip
