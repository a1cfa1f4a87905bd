"""Members of a body that decide what is made, by which model, at which price, and what is reported of it."""

from __future__ import annotations

import itertools
import json
from contextlib import ExitStack
from typing import Any

import pytest
from e2e.abuse.abuse_answers import chat, generate, message, response
from e2e.abuse.abuse_desk import (
    CHAT,
    GENERATE,
    MESSAGES,
    RESPONSES,
    Case,
    Cases,
    Desk,
    forwarded,
    in_chunks,
    refused,
    run,
)
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


@pytest.mark.parametrize("member", ["stream", "background"])
@pytest.mark.parametrize("value", ["true", 1, "on"], ids=repr)
def test_members_behind_the_window(small_desk: Desk, member: str, value: Any) -> None:
    case = Case("a", RESPONSES, None, refused(400))
    check(small_desk, f"{member} {value!r}", early(case, late(response(**{member: value}))))


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


@pytest.mark.parametrize("name", ["advisor", "fallback", "image tool", "image tool, unlisted", "image tool, found"])
def test_whatever_runs_a_model_behind_the_window(small_desk: Desk, name: str) -> None:
    case = OTHERS[name]
    check(small_desk, name, early(case, late(case.body)))


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
