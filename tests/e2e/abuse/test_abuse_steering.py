"""Members of a body, parameters and headers that choose a model, a provider, a price or a response where nobody checks it; and
that all others go on untouched."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import anthropic.types
import anthropic.types.beta
import openai.types
import openai.types.chat
import openai.types.responses
import pytest
from e2e.abuse.abuse_answers import chat, generate, message, response
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, Desk, forwarded
from e2e.abuse.abuse_document import DEAR, IMAGE_MODEL
from google.genai import models as genai_models

IMAGES = "/v1/images/generations"
EDITS = "/v1/images/edits"
COUNT = f"{MESSAGES}/count_tokens"

ROOT = Path(__file__).parents[3]
#: The rows of the table: name and what becomes of it.
TABLE = re.findall(r'row\("([^"]+)", (\w+),', (ROOT / "src/body/steering.rs").read_text(encoding="utf-8"))
REFUSED = [name for name, action in TABLE if action == "Refused"]
LISTS = [name for name, action in TABLE if action == "Models"]
TOOLS = [name for name, action in TABLE if action == "ToolRefused"]

image = {"model": IMAGE_MODEL, "prompt": "hi"}

def test_the_table_is_read() -> None:
    assert len(TABLE) > 50, TABLE
    assert set(LISTS) >= {"models", "fallbacks", "fallback_models"} and TOOLS == ["openrouter:*"], TABLE
    wanted = {"preset", "plugins", "provider", "route", "transforms", "extra_body", "api_base", "base_url", "api_key"}
    assert set(REFUSED) >= {*wanted, "custom_llm_provider", "model_list", "provider_options", "config", "targets"}, TABLE
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8").partition("### Members that choose elsewhere")[2]
    assert [name for name, _ in TABLE if f"`{name}`" not in page] == [], "the page has all of them"


# ---- What goes on untouched


def members(params: Any) -> set[str]:
    """The members of a request, by the SDK's type of its parameters."""
    kinds = get_args(params) or (params,)
    return {name for kind in kinds for name in kind.__annotations__ if name != "betas"}


def of_genai(*functions: str) -> tuple[set[str], set[str]]:
    """The members that the SDK's functions write: those of the body, and those of `generationConfig`."""
    outer: set[str] = set()
    config: set[str] = set()
    for name in functions:
        source = inspect.getsource(getattr(genai_models, name))
        for place, member in re.findall(r"setv\(\s*(parent_object|to_object),\s*\['(\w+)'\]", source):
            (config if place == "to_object" and "Config" in name else outer).add(member)
    return outer, config


CHAT_MEMBERS = members(openai.types.chat.completion_create_params.CompletionCreateParams)
RESPONSES_MEMBERS = members(openai.types.responses.response_create_params.ResponseCreateParams)
IMAGES_MEMBERS = members(openai.types.image_generate_params.ImageGenerateParams)
EDITS_MEMBERS = members(openai.types.image_edit_params.ImageEditParams)
MESSAGES_MEMBERS = members(anthropic.types.message_create_params.MessageCreateParams) | members(
    anthropic.types.beta.message_create_params.MessageCreateParams
)
COUNT_MEMBERS = members(anthropic.types.MessageCountTokensParams) | members(anthropic.types.beta.MessageCountTokensParams)
GENERATE_MEMBERS, CONFIG_MEMBERS = of_genai(
    *(f"_GenerateContent{kind}_to_{house}" for kind in ("Config", "Parameters") for house in ("mldev", "vertex"))
)

#: Members that are read, with a value that they may have; any other gets `OTHER`.
READ: dict[str, Any] = {
    "stream": False,
    "background": False,
    "service_tier": "auto",
    "serviceTier": "standard",
    "speed": "standard",
    "inference_geo": "global",
    "n": 2,
    "stream_options": {"include_obfuscation": False},
    "tools": [{"type": "function", "name": "f"}],
    "fallbacks": [{"model": DEAR["B"], "max_tokens": 9}],
    "candidateCount": 2,
    "svg": {"quality": "auto"},
}
#: What a body need not have any more to be whole.
OTHER: Any = {"x": [1, "y", None], "model": "not-a-model", "provider": {"z": 2.50}, "models": ["m"]}


TYPED: list[tuple[str, str, dict[str, Any], Iterable[str]]] = [
    ("a", CHAT, chat(), CHAT_MEMBERS),
    ("a", RESPONSES, response(), RESPONSES_MEMBERS),
    ("a-images", IMAGES, image, IMAGES_MEMBERS),
    ("a-images", EDITS, image, EDITS_MEMBERS),
    ("b", MESSAGES, message(), MESSAGES_MEMBERS),
    ("b", COUNT, message(), COUNT_MEMBERS),
    ("c", GENERATE, generate(), GENERATE_MEMBERS - {"generationConfig"}),
]


def value_of(path: str, member: str) -> Any:
    """A value of a member, as the endpoint takes it."""
    if member == "background" and path in (IMAGES, EDITS):
        return "transparent"
    if member == "moderation":
        return "low" if path in (IMAGES, EDITS) else {"policy": {}}
    if member in ("max_tokens", "max_completion_tokens", "max_output_tokens"):
        return 9
    return READ.get(member, OTHER)


def test_the_types_are_read() -> None:
    counts = {"chat": (CHAT_MEMBERS, "web_search_options"), "responses": (RESPONSES_MEMBERS, "prompt")}
    counts |= {"images": (IMAGES_MEMBERS, "partial_images"), "edits": (EDITS_MEMBERS, "input_fidelity")}
    counts |= {"messages": (MESSAGES_MEMBERS, "fallbacks"), "count": (COUNT_MEMBERS, "mcp_servers")}
    counts |= {"generate": (GENERATE_MEMBERS, "cachedContent"), "config": (CONFIG_MEMBERS, "thinkingConfig")}
    for name, (found, one) in counts.items():
        assert one in found and len(found) >= 10, f"{name}: {sorted(found)}"


@pytest.mark.parametrize(("group", "path", "body", "found"), TYPED, ids=[path for _, path, _, _ in TYPED])
def test_members_of_the_sdks(desk: Desk, group: str, path: str, body: dict[str, Any], found: Iterable[str]) -> None:
    """All of them together arrive byte for byte."""
    more = {member: value_of(path, member) for member in sorted({*found} - body.keys())}
    forwarded()(desk.send(group, path, {**body, **more}))


def test_members_of_the_config_of_genai(desk: Desk) -> None:
    values = {"maxOutputTokens": 9, **READ}
    config = {member: values.get(member, OTHER) for member in sorted(CONFIG_MEMBERS - {"routingConfig", "modelConfig"})}
    forwarded()(desk.send("c", GENERATE, generate(generationConfig=config)))
