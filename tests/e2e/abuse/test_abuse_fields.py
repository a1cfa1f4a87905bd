"""Members of a body that decide what is made, by which model, at which price, and what is reported of it."""

from __future__ import annotations

import itertools
import json
from contextlib import ExitStack
from typing import Any

import pytest
from e2e.abuse.abuse_answers import chat, generate, in_one, kind_usage, message, response
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, Case, Cases, Desk, forwarded, in_chunks, recorded, refused, run
from e2e.abuse.abuse_document import DEAR, EMBEDDING, IMAGE_MODEL, MODELS, UNLISTED

COUNT = f"{MESSAGES}/count_tokens"
IMAGES = "/v1/images/generations"
EDITS = "/v1/images/edits"
BATCH = f"/v1beta/models/{EMBEDDING}:batchEmbedContents"
COUNT_C = f"/v1beta/models/{MODELS['C']}:countTokens"


def check(desk: Desk, name: str, case: Case) -> None:
    run(desk, name, case)


def late(body: dict[str, Any]) -> bytes:
    """The body with what matters behind 3000 bytes, which a small window lets go before it is read."""
    return json.dumps({"model": body.get("model"), "metadata": {"x": "y" * 3000}, **body}).encode()


def early(case: Case, body: bytes) -> Case:
    """The same case with this body, in chunks of 1200 bytes."""
    sizes = itertools.repeat(1200, len(body) // 1200)
    return Case(case.group, case.path, body, case.expect, act=in_chunks(*sizes))


# ---- Types

#: Values that a lax parser reads as true, or as something else than was read here.
NO_FLAGS: list[Any] = ["true", "True", "false", "on", "yes", "", 1, 0, 1.0, [], [True], {}, {"x": 1}]
#: Members, each with the endpoints where it decides something.
FLAGS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "stream": [
        ("a", CHAT, chat()),
        ("a", RESPONSES, response()),
        ("b", MESSAGES, message()),
        ("a-images", IMAGES, {"model": IMAGE_MODEL, "prompt": "x"}),
        ("a-images", EDITS, {"model": IMAGE_MODEL, "prompt": "x"}),
        ("mixed", CHAT, chat()),
    ],
    "background": [("a", RESPONSES, response()), ("mixed", RESPONSES, response())],
}


def _types() -> Cases:
    cases: Cases = {}
    for member, places in FLAGS.items():
        for group, path, body in places:
            for value in NO_FLAGS:
                name = f"{group} {path} {member} {value!r}"
                cases[name] = Case(group, path, {**body, member: value}, refused(400))
    for value in NO_FLAGS:
        option = {"stream": True, "stream_options": {"include_usage": value}}
        cases[f"include_usage {value!r}"] = Case("a", CHAT, chat(**option), refused(400))
        cases[f"include_usage {value!r}, silent"] = Case("a-silent", CHAT, chat(**option), refused(400))
    for value in ["x", 1, [], True]:
        cases[f"stream_options {value!r}"] = Case("a", CHAT, chat(stream=True, stream_options=value), refused(400))
    texts: list[Any] = [1, True, [], {}, ["priority"], {"type": "priority"}]
    for value in texts:
        for name, group, path, body in (
            ("chat", "a", CHAT, chat(service_tier=value)),
            ("responses", "a", RESPONSES, response(service_tier=value)),
            ("messages", "b", MESSAGES, message(service_tier=value)),
            ("speed", "b", MESSAGES, message(speed=value)),
            ("generate", "c", GENERATE, generate(serviceTier=value)),
            ("generate, snake case", "c", GENERATE, generate(service_tier=value)),
        ):
            cases[f"service_tier {name} {value!r}"] = Case(group, path, body, refused(400))
    for value in ["2", 1.5, True, [], {}, -1]:
        cases[f"n {value!r}"] = Case("a", CHAT, chat(n=value), refused(400))
        for key in ("candidateCount", "candidate_count"):
            for config in ("generationConfig", "generation_config"):
                body = generate(**{config: {key: value}})
                cases[f"{config} {key} {value!r}"] = Case("c", GENERATE, body, refused(400))
    return cases


TYPES = _types()


@pytest.mark.parametrize("name", TYPES)
def test_members_of_one_type(desk: Desk, name: str) -> None:
    check(desk, name, TYPES[name])


@pytest.mark.parametrize("member", ["stream", "background"])
@pytest.mark.parametrize("value", ["true", 1, "on"], ids=repr)
def test_members_behind_the_window(small_desk: Desk, member: str, value: Any) -> None:
    case = Case("a", RESPONSES, None, refused(400))
    check(small_desk, f"{member} {value!r}", early(case, late(response(**{member: value}))))


_TWICE = {
    "stream": b'"stream":false,"stream":true',
    "background": b'"background":false,"background":true',
    "service_tier": b'"service_tier":"auto","service_tier":"priority"',
    "escaped": b'"background":false,"b\\u0061ckground":true',
    "case": b'"Background":true',
    "case of stream": b'"STREAM":true',
    "case of the class": b'"Service_Tier":"priority"',
    "long s": '"\u017ftream":true'.encode(),
    "options twice": b'"stream_options":{"include_usage":true},"stream_options":{"include_usage":false}',
    "option twice": b'"stream":true,"stream_options":{"include_usage":true,"include_usage":false}',
}


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("name", _TWICE)
def test_members_that_two_parsers_read_differently(desk: Desk, name: str, path: str) -> None:
    body = b'{"model":"%s","input":"hi",%s}' % (MODELS["A"].encode(), _TWICE[name])
    refused(400)(desk.send("a", path, body, name=name))


#: What real clients send, which must go on byte for byte.
GOOD: Cases = {
    f"{path} {more}": Case(group, path, {**body, **more}, forwarded())
    for group, path, body, mores in (
        ("a", CHAT, chat(), [{"stream": False}, {"stream": None}, {"stream_options": None}, {"n": 2}, {"n": None}]),
        ("a", CHAT, chat(), [{"service_tier": "auto"}, {"service_tier": "default"}, {"service_tier": None}]),
        ("a", CHAT, chat(), [{"store": True}, {"web_search_options": {}}, {"modalities": ["text"]}, {"speed": None}]),
        ("a", RESPONSES, response(), [{"background": False}, {"background": None}, {"stream": False}, {"store": False}]),
        ("a", RESPONSES, response(), [{"service_tier": "auto"}, {"max_tool_calls": 3}, {"truncation": "auto"}]),
        ("a", RESPONSES, response(), [{"tools": [{"type": "web_search"}]}, {"tools": []}, {"tools": None}]),
        ("b", MESSAGES, message(), [{"service_tier": "auto"}, {"service_tier": "standard_only"}, {"speed": "standard"}]),
        ("b", MESSAGES, message(), [{"stream": False}, {"tools": []}, {"container": None}, {"mcp_servers": []}]),
        ("c", GENERATE, generate(), [{"generationConfig": {"candidateCount": 2}}, {"serviceTier": "standard"}]),
        ("c", GENERATE, generate(), [{"tools": [{"googleSearch": {}}]}, {"safetySettings": []}, {"store": False}]),
    )
    for more in mores
}


@pytest.mark.parametrize("name", GOOD)
def test_what_real_clients_send(desk: Desk, name: str) -> None:
    check(desk, name, GOOD[name])


# ---- Work that answers later


@pytest.mark.parametrize("stream", [{}, {"stream": False}, {"stream": True}], ids=str)
@pytest.mark.parametrize("group", ["a", "a-strict", "mixed"])
def test_work_in_the_background(desk: Desk, group: str, stream: dict[str, Any]) -> None:
    body = response(background=True, **stream)
    refused(400)(desk.send(group, RESPONSES, body, name=str(stream)))


# ---- Other models

A, B, C = MODELS["A"], MODELS["B"], MODELS["C"]


def _advisor(model: Any) -> dict[str, Any]:
    return message(tools=[{"type": "advisor_20260301", "name": "advisor", "model": model}])


def _fallback(model: Any) -> dict[str, Any]:
    return message(fallbacks=[{"model": model}])


def _image_tool(**more: Any) -> dict[str, Any]:
    return {"type": "image_generation", **more}


def _found(*tools: Any) -> list[Any]:
    """Tools that an earlier search is said to have found."""
    return [{"role": "user", "content": "hi"}, {"type": "tool_search_output", "call_id": "c", "tools": list(tools)}]


not_found = refused(404, "model_not_found", "")
no_images = refused(404, "images_not_supported")

#: Whatever runs a model: unlisted ones are refused.
OTHERS: Cases = {
    "advisor": Case("b", MESSAGES, _advisor(UNLISTED["B"]), not_found),
    "advisor, strict": Case("b-strict", MESSAGES, _advisor(UNLISTED["B"]), not_found),
    "advisor, Mixed": Case("mixed", MESSAGES, _advisor(UNLISTED["B"]), not_found),
    "advisor, of another protocol": Case("mixed", MESSAGES, _advisor(A), not_found),
    "advisor, listed": Case("b", MESSAGES, _advisor(DEAR["B"]), forwarded()),
    "advisor, counted": Case("b", COUNT, {**_advisor(UNLISTED["B"])}, not_found),
    "advisor, no text": Case("b", MESSAGES, _advisor(7), refused(400)),
    "advisor, empty": Case("b", MESSAGES, _advisor(""), refused(400)),
    "advisor, the last of many": Case(
        "b",
        MESSAGES,
        message(tools=[*({"name": f"t{i}", "input_schema": {}} for i in range(50)), _advisor(UNLISTED["B"])["tools"][0]]),
        not_found,
    ),
    "a tool of an unknown kind": Case(
        "b", MESSAGES, message(tools=[{"type": "reviewer_20270101", "model": UNLISTED["B"]}]), not_found
    ),
    "model in a tool's schema": Case(
        "b",
        MESSAGES,
        message(tools=[{"name": "t", "input_schema": {"properties": {"model": {"type": "string"}}, "model": "x"}}]),
        forwarded(),
    ),
    "fallback": Case("b", MESSAGES, _fallback(UNLISTED["B"]), not_found),
    "fallback, the second": Case(
        "b", MESSAGES, message(fallbacks=[{"model": DEAR["B"]}, {"model": UNLISTED["B"]}]), not_found
    ),
    "fallback, listed": Case("b", MESSAGES, _fallback(DEAR["B"]), forwarded()),
    "fallback, by its name alone": Case("b", MESSAGES, message(fallbacks=[UNLISTED["B"]]), not_found),
    "fallbacks that the vendor chooses": Case("b", MESSAGES, message(fallbacks="default"), refused(400)),
    "fallback, fast": Case("b", MESSAGES, message(fallbacks=[{"model": DEAR["B"], "speed": "fast"}]), refused(400)),
    "image tool": Case("a", RESPONSES, response(tools=[_image_tool()]), no_images),
    "image tool, strict": Case("a-strict", RESPONSES, response(tools=[_image_tool()]), no_images),
    "image tool, Mixed": Case("mixed", RESPONSES, response(tools=[_image_tool()]), no_images),
    "image tool, of a listed model": Case("a", RESPONSES, response(tools=[_image_tool(model=IMAGE_MODEL)]), refused(404)),
    "image tool, unlisted": Case("a-images", RESPONSES, response(tools=[_image_tool(model="gpt-image-9")]), not_found),
    "image tool, listed": Case("a-images", RESPONSES, response(tools=[_image_tool(model=IMAGE_MODEL)]), forwarded()),
    "image tool, the vendor's model": Case("a-images", RESPONSES, response(tools=[_image_tool()]), forwarded()),
    "image tool, escaped": Case(
        "a",
        RESPONSES,
        b'{"model":"%s","input":"hi","tools":[{"type":"image\\u005fgeneration"}]}' % A.encode(),
        no_images,
    ),
    "image tool, SVG": Case(
        "a-images", RESPONSES, response(tools=[_image_tool(svg={"model": UNLISTED["A"]})]), not_found
    ),
    "image tool, found": Case("a", RESPONSES, response(_found(_image_tool())), no_images),
    "image tool, found, unlisted": Case("a-images", RESPONSES, response(_found(_image_tool(model="x"))), not_found),
    "SVG": Case("a-images", IMAGES, {"model": IMAGE_MODEL, "prompt": "x", "svg": {"model": UNLISTED["A"]}}, not_found),
    "SVG of an edit": Case(
        "a-images", EDITS, {"model": IMAGE_MODEL, "prompt": "x", "svg": {"model": UNLISTED["A"]}}, not_found
    ),
    "moderation": Case("a", RESPONSES, response(moderation={"model": UNLISTED["A"]}), not_found),
    "moderation, chat": Case("a", CHAT, chat(moderation={"model": UNLISTED["A"]}), not_found),
    "routing": Case(
        "c", GENERATE, generate(generationConfig={"routingConfig": {"manualMode": {"modelName": DEAR["C"]}}}), refused(400)
    ),
    "routing, snake case": Case(
        "c", GENERATE, generate(generation_config={"routing_config": {"auto_mode": {}}}), refused(400)
    ),
    "selection": Case(
        "c",
        GENERATE,
        generate(generationConfig={"modelConfig": {"featureSelectionPreference": "PRIORITIZE_QUALITY"}}),
        refused(400),
    ),
    "the body's model": Case("c", GENERATE, generate(model=f"models/{DEAR['C']}"), refused(400)),
    "the body's model, the same": Case("c", GENERATE, generate(model=f"models/{C}"), forwarded()),
    "a batch": Case(
        "c", BATCH, {"requests": [{"model": f"models/{EMBEDDING}", "content": {"parts": [{"text": "hi"}]}}]}, forwarded()
    ),
    "a batch with another model": Case(
        "c",
        BATCH,
        {"requests": [{"model": f"models/{m}", "content": {"parts": [{"text": "hi"}]}} for m in (EMBEDDING, DEAR["C"])]},
        refused(400),
    ),
    "another model to count by": Case(
        "c", COUNT_C, {"generateContentRequest": {"model": f"models/{DEAR['C']}", **generate()}}, refused(400)
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_whatever_runs_a_model(desk: Desk, name: str) -> None:
    check(desk, name, OTHERS[name])


@pytest.mark.parametrize("name", ["advisor", "fallback", "image tool", "image tool, unlisted", "image tool, found"])
def test_whatever_runs_a_model_behind_the_window(small_desk: Desk, name: str) -> None:
    case = OTHERS[name]
    check(small_desk, name, early(case, late(case.body)))


# ---- Classes of service

DEARER = ["priority", "flex", "fast", "ultrafast", "scale", "PRIORITY", "Flex", "ON_DEMAND_PRIORITY"]


@pytest.mark.parametrize("tier", DEARER)
@pytest.mark.parametrize("place", ["chat", "responses", "speed", "generate", "generate, snake case", "Mixed"])
def test_classes_without_a_price(desk: Desk, place: str, tier: str) -> None:
    group, path, body = {
        "chat": ("a", CHAT, chat(service_tier=tier)),
        "responses": ("a", RESPONSES, response(service_tier=tier)),
        "speed": ("b", MESSAGES, message(speed=tier)),
        "generate": ("c", GENERATE, generate(serviceTier=tier)),
        "generate, snake case": ("c", GENERATE, generate(service_tier=tier)),
        "Mixed": ("mixed", CHAT, chat(service_tier=tier)),
    }[place]
    refused(400)(desk.send(group, path, body, name=f"{place} {tier}"))


@pytest.mark.parametrize("tier", ["auto", "default", "standard_only", "standard"])
def test_classes_that_pass(classes_desk: Desk, tier: str) -> None:
    if tier in ("auto", "default"):
        forwarded()(classes_desk.send("a", CHAT, chat(service_tier=tier), name=tier))
        forwarded()(classes_desk.send("a", RESPONSES, response(service_tier=tier), name=tier))
    else:
        member = "speed" if tier == "standard" else "service_tier"
        forwarded()(classes_desk.send("b", MESSAGES, message(**{member: tier}), name=tier))


def test_classes_with_a_price(classes_desk: Desk) -> None:
    """Of the model that has it, not of its group's others."""
    forwarded()(classes_desk.send("a-classes", CHAT, chat(service_tier="priority"), name="priced"))
    forwarded()(classes_desk.send("b-classes", MESSAGES, message(speed="fast"), name="priced"))
    refused(400)(classes_desk.send("a-classes", CHAT, chat(service_tier="flex"), name="another class"))
    dear = chat(service_tier="priority", model=DEAR["A"])
    refused(400)(classes_desk.send("a-classes", CHAT, dear, name="another model"))


@pytest.mark.parametrize("geo", ["us", "US", "eu"])
def test_places(desk: Desk, geo: str) -> None:
    refused(400)(desk.send("b", MESSAGES, message(inference_geo=geo), name=geo))
    forwarded()(desk.send("b", MESSAGES, message(inference_geo="global"), name="anywhere"))


# ---- Several answers to one request


@pytest.mark.parametrize("kind", ["chat", "generate", "generate, snake case", "images"])
def test_several_answers_reserve_several(desk: Desk, kind: str) -> None:
    """A limit of 10 000 tokens of output: nine answers of 1000 leave no room for 2000 more."""
    group, path, one, many = {
        "chat": ("a", CHAT, chat(max_tokens=1000), chat(max_tokens=1000, n=9)),
        "generate": (
            "c",
            GENERATE,
            generate(generationConfig={"maxOutputTokens": 1000}),
            generate(generationConfig={"maxOutputTokens": 1000, "candidateCount": 9}),
        ),
        "generate, snake case": (
            "c",
            GENERATE,
            generate(generation_config={"max_output_tokens": 1000}),
            generate(generation_config={"max_output_tokens": 1000, "candidate_count": 9}),
        ),
        # Without a cap: 1000 each.
        "images": ("a-images", IMAGES, {"model": IMAGE_MODEL, "prompt": "x"}, {"model": IMAGE_MODEL, "prompt": "x", "n": 9}),
    }[kind]

    def meanwhile(body: Any) -> int:
        """The status of two more answers while the first request is under way."""
        key = desk.new_key(group, "output")
        with desk.held(group, path, body, key=key):
            second = {"images": {**one, "n": 2}}.get(kind)
            if second is None:
                cap = json.dumps(one).replace("1000", "2000")
                second = json.loads(cap)
            return desk.send(group, path, second, name=f"{kind}: meanwhile", key=key).status

    assert meanwhile(one) == 200, kind
    assert meanwhile(many) == 429, kind


def test_embeddings_have_no_output(desk: Desk) -> None:
    """They report no usage: nothing of 1000 tokens of output each, neither under way nor afterwards."""
    body = {"content": {"parts": [{"text": "hi"}]}}
    path = f"/v1beta/models/{EMBEDDING}:embedContent"
    key = desk.new_key("c", "output")
    with ExitStack() as under_way:
        for _ in range(11):
            under_way.enter_context(desk.held("c", path, body, key=key))
    for number in range(15):
        sent = desk.send("c", path, body, name=f"embedding {number}", key=key)
        assert sent.status == 200, sent
        record = sent.record()
        assert record.get("gen_ai.usage.output_tokens", 0) == 0, record


def test_a_model_that_the_answer_names(desk: Desk) -> None:
    """What is charged is the model that was asked for, whatever the upstream calls it."""
    usage = kind_usage("chat")
    sent = desk.send("a", CHAT, chat(), name="another name", answer=in_one("chat", usage, model="gpt-5.1-2026-01-01"))
    recorded(trilane__charge="0.00625")(sent)
