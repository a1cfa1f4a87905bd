"""The demo keys that `make run` prints work with today's SDKs, as they come: the sample document, unchanged."""

from __future__ import annotations

import pytest
from e2e.sdk.sdk_support import Bench, Case, Sdk

OPUS, FLASH, GPT = "claude-opus-4-5", "gemini-2.5-flash", "gpt-5.1"
KEYS = [
    (Sdk("openai", "today", "key_a", "/v1"), "chat", GPT),
    (Sdk("openai", "today", "key_mixed", "/v1"), "chat", GPT),
    (Sdk("anthropic", "today", "key_b"), "messages", OPUS),
    (Sdk("anthropic", "today", "key_b_low"), "messages", OPUS),
    (Sdk("anthropic", "today", "key_mixed"), "messages", OPUS),
    (Sdk("genai", "today", "key_c"), "generate", FLASH),
    (Sdk("genai", "today", "key_mixed"), "generate", FLASH),
]


@pytest.mark.parametrize(("sdk", "call", "model"), KEYS, ids=[f"{sdk.name}-{sdk.key}" for sdk, _, _ in KEYS])
def test_a_demo_key(bench: Bench, sdk: Sdk, call: str, model: str) -> None:
    bench.check(sdk, Case("demo key", call, model, {"text": "pong"}, stack="sample"))
