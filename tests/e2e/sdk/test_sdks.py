"""The official SDKs, unmodified: today's and the previous generation in Python, and today's in Node, by the same tables."""

from __future__ import annotations

import pytest
from e2e.sdk import anthropic_cases, genai_cases, openai_cases
from e2e.sdk.sdk_support import Bench, Case, Sdk, table

MODULES = (openai_cases, anthropic_cases, genai_cases)
OPUS, FLASH, GPT = "claude-opus-4-5", "gemini-2.5-flash", "gpt-5.1"

#: The demo keys that `make run` prints, with the sample document, unchanged.
DEMO_KEYS = [
    (Sdk("openai", "today", "key_a", "/v1"), "chat", GPT),
    (Sdk("openai", "today", "key_mixed", "/v1"), "chat", GPT),
    (Sdk("anthropic", "today", "key_b"), "messages", OPUS),
    (Sdk("anthropic", "today", "key_b_low"), "messages", OPUS),
    (Sdk("anthropic", "today", "key_mixed"), "messages", OPUS),
    (Sdk("genai", "today", "key_c"), "generate", FLASH),
    (Sdk("genai", "today", "key_mixed"), "generate", FLASH),
]
#: Streams that end in their middle: call, model, module, and what the simulator is told.
CUT, ERROR = {"x-sim-cut": "after=3"}, {"x-sim-scenario": "error"}
BROKEN = {
    "openai-cut": ("chat_stream", GPT, openai_cases.SDKS, CUT),
    "openai-error": ("chat_stream", GPT, openai_cases.SDKS, ERROR),
    "anthropic-cut": ("messages_helper", OPUS, anthropic_cases.SDKS, CUT),
    "anthropic-error": ("messages_helper", OPUS, anthropic_cases.SDKS, ERROR),
    "genai-cut": ("generate_stream", FLASH, genai_cases.SDKS, CUT),
}


@pytest.mark.parametrize("sdk, case", [row for module in MODULES for row in table(module.SDKS, [*module.CALLS, *module.ERRORS])])
def test_an_sdk(sdk: Sdk, case: Case, bench: Bench) -> None:
    bench.check(sdk, case)


@pytest.mark.parametrize(("sdk", "call", "model"), DEMO_KEYS, ids=[f"{sdk.name}-{sdk.key}" for sdk, _, _ in DEMO_KEYS])
def test_a_demo_key(bench: Bench, sdk: Sdk, call: str, model: str) -> None:
    bench.check(sdk, Case("demo key", call, model, {"text": "pong"}, stack="sample"))


@pytest.mark.parametrize("name", BROKEN)
def test_half_a_stream_never_looks_whole(bench: Bench, name: str) -> None:
    call, model, sdks, told_to_break = BROKEN[name]
    for sdk in sdks:
        told, _ = bench.order(sdk, Case(name, call, model, {}, headers=told_to_break, retries=0))
        assert "value" not in told, f"{sdk}: {told}"
