"""Members of a body, parameters and headers that choose a model, a provider, a price or a response where nobody checks it; and
that all others go on untouched."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import anthropic.types
import anthropic.types.beta
import openai.types
import openai.types.chat
import openai.types.responses
import pytest
from e2e.abuse.abuse_answers import chat, generate, message, response
from e2e.abuse.abuse_desk import (
    CHAT,
    GENERATE,
    MESSAGES,
    RESPONSES,
    Desk,
    Sent,
    both,
    charged,
    cost,
    forwarded,
    in_chunks,
    recorded,
    refused,
)
from e2e.abuse.abuse_document import DEAR, EMBEDDING, IMAGE_MODEL, MODELS, UNLISTED, _keys, mixed, source
from e2e.abuse.recorder import Recorder, whole
from e2e.support import run_dir
from google.genai import models as genai_models

IMAGES = "/v1/images/generations"
EDITS = "/v1/images/edits"
COUNT = f"{MESSAGES}/count_tokens"
EMBED = f"/v1beta/models/{EMBEDDING}:embedContent"

ROOT = Path(__file__).parents[3]
#: The rows of the table: name and what becomes of it.
TABLE = re.findall(r'row\("([^"]+)", (\w+),', (ROOT / "src/body/steering.rs").read_text(encoding="utf-8"))
REFUSED = [name for name, action in TABLE if action == "Refused"]
LISTS = [name for name, action in TABLE if action == "Models"]
ALONE = [name for name, action in TABLE if action == "Model"]
TOOLS = [name for name, action in TABLE if action == "ToolRefused"]

image = {"model": IMAGE_MODEL, "prompt": "hi"}
#: Each protocol's endpoints, with a body.
ENDPOINTS: list[tuple[str, str, dict[str, Any]]] = [
    ("a", CHAT, chat()),
    ("a", RESPONSES, response()),
    ("a-images", IMAGES, image),
    ("a-images", EDITS, image),
    ("b", MESSAGES, message()),
    ("b", COUNT, message()),
    ("c", GENERATE, generate()),
    ("c", EMBED, {"content": {"parts": [{"text": "hi"}]}}),
    ("c-resources", "/v1beta/files", {"file": {"displayName": "x"}}),
    ("mixed", CHAT, chat()),
    ("mixed", MESSAGES, message()),
]
in_order = itertools.cycle(ENDPOINTS)


def test_the_table_is_read() -> None:
    assert len(TABLE) > 50, TABLE
    assert set(LISTS) >= {"models", "fallbacks", "fallback_models"} and TOOLS == ["openrouter:*"], TABLE
    wanted = {"preset", "plugins", "provider", "route", "transforms", "extra_body", "api_base", "base_url", "api_key"}
    assert set(REFUSED) >= {*wanted, "custom_llm_provider", "model_list", "provider_options", "config", "targets"}, TABLE
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8").partition("### Members that choose elsewhere")[2]
    assert [name for name, _ in TABLE if f"`{name}`" not in page] == [], "the page has all of them"


def spellings(name: str) -> list[str]:
    """A member's name as vendors, and those who mean to deceive, write it."""
    plain = name.replace("*", "x")
    first, *others = plain.split("_")
    camel = first + "".join(word.capitalize() for word in others)
    return list(dict.fromkeys([plain, plain.upper(), plain.capitalize(), camel, plain.replace("_", "-")]))


VALUES: list[Any] = ["x", {"order": ["x"], "models": ["y"]}, ["x"], True, 1, ""]


# ---- What is refused


@pytest.mark.parametrize("name", REFUSED)
def test_members_that_choose_elsewhere(desk: Desk, name: str) -> None:
    """On every endpoint, in every spelling, by name."""
    values = itertools.cycle(VALUES)
    for spelling in spellings(name):
        group, path, body = next(in_order)
        sent = desk.send(group, path, {**body, spelling: next(values)}, name=spelling)
        refused(400, "member_not_allowed", f"'{name}' is not allowed here")(sent)
        assert sent.answer and b"passes" in sent.answer.body, sent
    group, path, body = next(in_order)
    forwarded()(desk.send(group, path, {**body, name.replace("*", "x"): None}, name=f"{name}: null"))


@pytest.mark.parametrize(("group", "path", "body"), ENDPOINTS, ids=[f"{group} {path}" for group, path, _ in ENDPOINTS])
def test_every_endpoint(desk: Desk, group: str, path: str, body: dict[str, Any]) -> None:
    for member in ("provider", "extra_body"):
        refused(400, "member_not_allowed")(desk.send(group, path, {**body, member: {"x": 1}}, name=member))
    refused(404, "model_not_found")(desk.send(group, path, {**body, "models": [UNLISTED["A"]]}, name="models"))


ESCAPED = {
    "escaped": b'"pr\\u006fvider":{"order":["x"]}',
    "wholly escaped": b'"' + b"".join(b"\\u%04x" % ord(letter) for letter in "provider") + b'":1',
    "long s": '"model\u017f":["gpt-6"]'.encode(),
    "twice": b'"provider":null,"provider":{}',
    "with spaces": b' "provider" \n:\t{} ',
}


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("name", ESCAPED)
def test_spellings_of_json(desk: Desk, name: str, path: str) -> None:
    body = b'{"model":"%s","input":"hi",%s}' % (MODELS["A"].encode(), ESCAPED[name])
    sent = desk.send("a", path, body, name=name)
    refused(404 if name == "long s" else 400)(sent)


@pytest.mark.parametrize("member", ["provider", "extraBody", "models", "route"])
def test_behind_the_window(small_desk: Desk, member: str) -> None:
    """Part of the body is upstream before the member is read; the rest never comes."""
    value = [UNLISTED["A"]] if member == "models" else {"x": 1}
    body = json.dumps({"model": MODELS["A"], "metadata": {"x": "y" * 3000}, "input": "hi", member: value}).encode()
    sizes = itertools.repeat(1200, len(body) // 1200)
    refused(404 if member == "models" else 400)(small_desk.send("a", RESPONSES, body, name=member, act=in_chunks(*sizes)))


@pytest.mark.parametrize("kind", ["openrouter:advisor", "OpenRouter:image_generation", "openrouter:fusion_by_a_long_name_of_its_own"])
def test_tools_that_run_a_model_elsewhere(desk: Desk, kind: str) -> None:
    tool = {"type": kind, "parameters": {"model": UNLISTED["A"]}}
    for group, path, body in (("a", CHAT, chat(tools=[tool])), ("b", MESSAGES, message(tools=[tool]))):
        refused(400, "member_not_allowed", "openrouter:*")(desk.send(group, path, body, name=kind))


def form(*names: str) -> bytes:
    """A form with a model, and such parts."""
    parts = [("model", IMAGE_MODEL), *((name, "x") for name in names), ("prompt", "hi")]
    text = "".join(f'--B\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in parts)
    return f"{text}--B--\r\n".encode()


@pytest.mark.parametrize(
    "name", ["provider", "Provider", "provider[order][]", "extraBody", "pr%6fvider", "api_base", "models", "models[]", "fallbacks[0]"]
)
def test_parts_of_forms(desk: Desk, name: str) -> None:
    content_type = "multipart/form-data; boundary=B"
    sent = desk.send("a-images", EDITS, form(name), content_type=content_type, name=name)
    refused(400, "member_not_allowed")(sent)
    forwarded()(desk.send("a-images", EDITS, form("background", "input_fidelity"), content_type=content_type))


NUL = [b'{"model\\u0000":"x","model":"%s"}', b'{"model":"%s","mod\\u0000el":"x"}', b'{"model":"%s","stream\\u0000":true}']


@pytest.mark.parametrize("body", NUL)
def test_names_with_a_nul(desk: Desk, body: bytes) -> None:
    for path in (CHAT, RESPONSES):
        refused(400, "invalid_body", "U+0000")(desk.send("a", path, body % MODELS["A"].encode(), name=repr(body)))


# ---- Lists of models


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_models(desk: Desk, name: str) -> None:
    """Names and objects alike, each as the request's own."""
    for spelling in spellings(name):
        for protocol, path, body in (("A", CHAT, chat()), ("B", MESSAGES, message())):
            group, known, unknown = protocol.lower(), DEAR[protocol], UNLISTED[protocol]
            for value in ([unknown], [known, unknown], [{"model": unknown}], [known, {"model": unknown}]):
                sent = desk.send(group, path, {**body, spelling: value}, name=f"{spelling} {value}")
                refused(404, "model_not_found", unknown)(sent)
    good: list[Any] = [None, [], [DEAR["A"]], [MODELS["A"], {"model": DEAR["A"], "temperature": 1}]]
    for value in good:
        forwarded()(desk.send("a", CHAT, chat(**{name: value}), name=f"{name} {value}"))
    bad: list[Any] = ["default", MODELS["A"], {}, True, 1, [1], [None], [[MODELS["A"]]], [{}], [{"model": None}], [""]]
    bad += [[{MODELS["A"]: [UNLISTED["A"]]}], [{"model": [UNLISTED["A"]]}], [DEAR["A"], {"messages": []}]]
    for value in bad:
        refused(400, "invalid_body")(desk.send("a", CHAT, chat(**{name: value}), name=f"{name} {value}"))
    choosing = [{"model": DEAR["A"], "api_base": "x"}]
    refused(400, "member_not_allowed", "api_base")(desk.send("a", CHAT, chat(**{name: choosing}), name=name))


@pytest.mark.parametrize("name", ALONE)
def test_models_alone(desk: Desk, name: str) -> None:
    refused(404, "model_not_found")(desk.send("a", CHAT, chat(**{name: UNLISTED["A"]}), name=name))
    refused(400, "invalid_body")(desk.send("a", CHAT, chat(**{name: [UNLISTED["A"]]}), name=name))
    forwarded()(desk.send("a", CHAT, chat(**{name: DEAR["A"]}), name=name))


# ---- What a source lets pass


@pytest.fixture(scope="module")
def open_desk(recorder: Recorder) -> Iterator[Desk]:
    """Groups that let some members pass, and one that has the image right and no model that makes images."""
    images = source("a-no-image-model", "A", image_generation=True)
    images["models"] = [model for model in images["models"] if model["id"] != IMAGE_MODEL]
    groups = [
        source("a", "A", passes=["provider", "openrouter:*", "mock_*"]),
        source("b", "B"),
        source("c", "C"),
        mixed("mixed"),
        images,
    ]
    document = {"currency": "USD", "groups": groups, "keys": _keys(groups)}
    with Desk(run_dir("abuse-steering"), document, recorder) as running:
        yield running


def test_what_a_source_lets_pass(open_desk: Desk) -> None:
    """By its own keys, and by those of a Mixed group through it."""
    passing: dict[str, Any] = {"Provider": {"order": ["x"]}, "mock_response": "x", "tools": [{"type": "openrouter:fusion"}]}
    for group in ("a", "mixed"):
        forwarded()(open_desk.send(group, CHAT, chat(**passing), name=group))
        refused(400, "member_not_allowed", "'route'")(open_desk.send(group, CHAT, chat(**passing, route="x"), name=group))
        # A list is checked all the same.
        refused(404)(open_desk.send(group, CHAT, chat(**passing, models=[UNLISTED["A"]]), name=group))
    refused(400, "member_not_allowed")(open_desk.send("b", MESSAGES, message(provider={}), name="another source"))


@pytest.mark.parametrize("model", [{}, {"model": None}], ids=str)
def test_an_image_tool_without_a_model(desk: Desk, open_desk: Desk, model: dict[str, Any]) -> None:
    """The vendor's own choice, for keys that have a model that makes images."""
    body = response(tools=[{"type": "image_generation", **model}])
    refused(404, "model_not_found", "names no model")(open_desk.send("a-no-image-model", RESPONSES, body))
    forwarded()(desk.send("a-images", RESPONSES, body))
    named = response(tools=[{"type": "image_generation", "model": DEAR["A"]}])
    forwarded()(open_desk.send("a-no-image-model", RESPONSES, named))


# ---- Caches

CACHES = "/v1beta/cachedContents"
cache = {"model": f"models/{MODELS['C']}", "ttl": "300s", **generate("and so on " * 2000)}


def test_a_cache_is_charged(desk: Desk) -> None:
    """What is read into it, as it is reported or by estimate, at the price of its model."""
    told = {"name": "cachedContents/x", "model": cache["model"], "usageMetadata": {"totalTokenCount": 40_000}}
    sent = desk.send("c-resources", CACHES, cache, answer=[whole(told)])
    both(forwarded(), charged("complete", exactly=cost("C", input=40_000)))(sent)
    recorded(gen_ai__operation__name="create_cache", gen_ai__request__model=cache["model"])(sent)
    silent = desk.send("c-resources", CACHES, cache, answer=[whole({"name": "cachedContents/x"})])
    both(forwarded(), charged("estimated", least=cost("C", input=2000), most=cost("C", input=10_000)))(silent)
    refused(404, "model_not_found")(desk.send("c-resources", CACHES, {**cache, "model": f"models/{UNLISTED['C']}"}))
    refused(400, "model_missing")(desk.send("c-resources", CACHES, {"ttl": "300s"}))


def test_no_cache_under_a_budget(desk: Desk) -> None:
    """Nobody knows before what one costs. Lists cost nothing."""
    key = desk.new_key("c-resources", "budget")
    refused(404, "caches_not_supported", "budget")(desk.send("c-resources", CACHES, cache, key=key))
    forwarded()(desk.send("c-resources", CACHES, key=key))


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

#: Members of other vendors' APIs, which no SDK of the three knows and which choose nothing.
OTHERS = {
    "vLLM": [
        *("guided_json", "guided_regex", "guided_choice", "structured_outputs", "top_k", "min_p", "min_tokens", "ignore_eos"),
        *("repetition_penalty", "length_penalty", "best_of", "use_beam_search", "skip_special_tokens", "stop_token_ids"),
        *("chat_template", "chat_template_kwargs", "add_generation_prompt", "continue_final_message", "echo", "documents"),
        *("include_stop_str_in_output", "truncate_prompt_tokens", "priority", "kv_transfer_params", "logits_processors"),
        *("mm_processor_kwargs", "bad_words", "allowed_token_ids", "cache_salt", "return_token_ids", "vllm_xargs"),
    ],
    "SGLang": ["regex", "ebnf", "separate_reasoning", "stream_reasoning", "session_params", "return_hidden_states"],
    "Qwen": ["enable_thinking", "thinking_budget", "enable_search", "search_options", "translation_options", "result_format"],
    "DeepSeek": ["thinking", "prefix", "beta"],
    "GLM": ["do_sample", "request_id", "user_id", "tool_stream", "watermark_enabled"],
    "Kimi": ["partial", "prompt_cache_key", "safety_identifier", "thinking"],
    "Mistral": ["safe_prompt", "random_seed", "prompt_mode", "guardrails", "document_image_limit", "document_page_limit"],
    "xAI": ["search_parameters", "deferred", "max_completion_tokens", "reasoning_effort"],
    "Perplexity": [
        *("search_mode", "search_domain_filter", "search_recency_filter", "return_images", "return_related_questions"),
        *("web_search_options", "disable_search", "last_updated_after_filter", "enable_search_classifier"),
    ],
    "Groq": ["reasoning_format", "include_reasoning", "citation_options", "compound_custom", "disable_tool_validation"],
    "Cohere": ["k", "p", "safety_mode", "strict_tools", "citation_options", "raw_prompting"],
    "MiniMax": ["mask_sensitive_info", "reasoning_split", "tokens_to_generate", "stream_options"],
    "Doubao": ["thinking", "caching", "previous_response_id", "expire_at", "logit_bias"],
    "OpenRouter": ["reasoning", "include_reasoning", "usage", "session_id", "trace", "cache_control", "min_p", "top_a", "verbosity"],
    "Ollama and llama.cpp": [
        *("options", "keep_alive", "format", "think", "mirostat", "n_predict", "cache_prompt", "id_slot", "grammar"),
        *("samplers", "dry_multiplier", "xtc_probability", "typical_p", "tfs_z", "n_probs", "timings_per_token", "ttl"),
    ],
    "Azure": ["user_security_context", "content_filter", "enhancements"],
    "Codex": ["client_metadata"],
    "tomorrow": ["a_member_of_tomorrow", "x", "", "Ünïcode", "with space", "modelling", "model_version", "rerouting", "fall_back"],
}

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


def untouched(sent: Sent) -> None:
    """It arrived byte for byte."""
    forwarded()(sent)


@pytest.mark.parametrize(
    ("group", "path", "body", "member"),
    [(group, path, body, member) for group, path, body, found in TYPED for member in sorted({*found} - {"model"})],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_members_of_the_sdks(desk: Desk, group: str, path: str, body: dict[str, Any], member: str) -> None:
    untouched(desk.send(group, path, {**body, member: value_of(path, member)}, name=member))


def test_members_of_the_config_of_genai(desk: Desk) -> None:
    for member in sorted(CONFIG_MEMBERS - {"routingConfig", "modelConfig"}):
        value = {"maxOutputTokens": 9}.get(member, READ.get(member, OTHER))
        untouched(desk.send("c", GENERATE, generate(generationConfig={member: value}), name=member))


@pytest.mark.parametrize("vendor", OTHERS)
def test_members_of_other_vendors(desk: Desk, vendor: str) -> None:
    for member in OTHERS[vendor]:
        for group, path, body in (("a", CHAT, chat()), ("b", MESSAGES, message()), ("c", GENERATE, generate())):
            untouched(desk.send(group, path, {**body, member: value_of(path, member)}, name=f"{vendor}: {member}"))


# ---- Parameters and headers

SECRET = "s3cret-value"
PARAMETERS = ["model", "models", "provider", "stream", "key", "api_key", "timeout", "Beta", "%62eta", "beta%00", "x"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_are_not_known(desk: Desk, name: str) -> None:
    """They stay here, and the response names them without their values, whatever else it is."""
    for group, path, body in (("a", CHAT, chat()), ("b", MESSAGES, message()), ("mixed", RESPONSES, response())):
        sent = desk.send(group, f"{path}?beta=true&{name}={SECRET}&api-version=2%2f1", body, name=name)
        forwarded(target=f"{path}?beta=true&api-version=2%2f1")(sent)
        detail = sent.answer.header("x-trilane-detail") if sent.answer else ""
        plain = re.fullmatch(r"[\w.-]+", name) is not None
        assert detail and (name if plain else "one without a plain name") in detail and SECRET not in detail, sent
        bad = desk.send(group, f"{path}?{name}={SECRET}", {**body, "model": UNLISTED["A"]}, name=name)
        refused(404)(bad)
        assert bad.answer and bad.answer.header("x-trilane-detail"), bad
    known = desk.send("a", f"{CHAT}?beta=true", chat(), name="known")
    assert known.answer and known.answer.header("x-trilane-detail") is None, known


def test_a_parameter_behind_a_semicolon(desk: Desk) -> None:
    sent = desk.send("a", f"{CHAT}?beta=true;model={UNLISTED['A']}", chat())
    forwarded(target=CHAT)(sent)


@pytest.mark.parametrize("header", ["idempotency-key", "x-idempotency-key"])
def test_idempotency_keys_of_two_tenants(desk: Desk, header: str) -> None:
    """What one of them sent brings no response to the other, who sends the same."""
    seen = []
    for key in (desk.new_key("a"), desk.new_key("a")):
        for _ in range(2):
            sent = desk.send("a", CHAT, chat(), headers=[(header, "order-1")], key=key)
            digest = hashlib.sha256(f"{key[0]}\0order-1".encode()).hexdigest()
            forwarded(headers={header: digest})(sent)
            seen.append(digest)
    assert seen[0] == seen[1] != seen[2] == seen[3], seen
    other = desk.send("a", CHAT, chat(), headers=[("x-vendor-idempotency-key", "order-1")])
    forwarded(headers={"x-vendor-idempotency-key": None})(other)
