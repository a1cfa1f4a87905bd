"""What an answer reports beside its plain tokens: other models, dearer classes, calls of tools. All of it is charged or flagged."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from e2e.abuse.abuse_answers import (
    answered,
    chat,
    chat_events,
    event,
    generate,
    in_events,
    in_one,
    kind_usage,
    message,
    message_events,
    response,
    response_events,
)
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, STREAM_GENERATE, Desk, Sent, amount, charged, cost, recorded
from e2e.abuse.abuse_document import DEAR, DEARER, IMAGE_MODEL, MODELS, PRIORITY, UNLISTED, source
from e2e.abuse.recorder import Script, stream, whole
from stack import COMMAND

PLAIN = {"A": cost("A", input=1000, output=500), "B": cost("B", input=1000, output=500)}
_zero = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def _messages(usage: dict[str, Any], *, streamed: bool) -> tuple[dict[str, Any], Script]:
    """A request of protocol B and its answer with this usage."""
    if streamed:
        events = message_events("hello", start={"input_tokens": usage["input_tokens"], "output_tokens": 1}, final=usage)
        return message(stream=True), stream(*events)
    return message(), in_one("messages", usage, content="hello")


def gaps(sent: Sent) -> list[str]:
    """What no price covers, as the line says it."""
    return sorted(sent.record().get("trilane.uncovered", []))


# ---- The model that an answer names

KINDS: dict[str, tuple[str, str, str, Any]] = {
    "chat": ("A", "a", CHAT, chat),
    "responses": ("A", "a", RESPONSES, response),
    "messages": ("B", "b", MESSAGES, message),
    "generate": ("C", "c", GENERATE, generate),
}
#: The same model in the words of vendors and resellers, by protocol.
SPELLINGS = {
    "A": [f"{MODELS['A']}-2025-11-13", f"openai/{MODELS['A']}", f"accounts/x/models/{MODELS['A']}", f"{MODELS['A']}:free", ""],
    "B": [f"{MODELS['B']}-20251001", f"us.anthropic.{MODELS['B']}-20251001-v1:0", "anthropic/claude-haiku-4.5"],
    "C": [f"models/{MODELS['C']}", f"{MODELS['C']}-001", f"publishers/google/models/{MODELS['C']}"],
}


def _by(desk: Desk, kind: str, name: str) -> tuple[Sent, str]:
    """A request for the usual model that this one answers, and what its usage costs at the usual price."""
    protocol, group, path, body = KINDS[kind]
    member = {"modelVersion" if kind == "generate" else "model": name}
    sent = desk.send(group, path, body(), name=f"{kind}: {name}", answer=in_one(kind, kind_usage(kind), **member))
    return sent, cost(protocol, input=1000, output=500)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_under_another_name(desk: Desk, kind: str) -> None:
    for name in SPELLINGS[KINDS[kind][0]]:
        sent, plain = _by(desk, kind, name)
        charged("complete", exactly=plain)(sent)
        assert gaps(sent) == [], sent


@pytest.mark.parametrize("kind", KINDS)
def test_a_dearer_model_answers(desk: Desk, kind: str) -> None:
    protocol = KINDS[kind][0]
    for name in (DEAR[protocol], f"vendor/{DEAR[protocol]}:x"):
        sent, plain = _by(desk, kind, name)
        charged("complete", exactly=str(Decimal(plain) * DEARER))(sent)
        assert gaps(sent) == [], sent


@pytest.mark.parametrize("kind", KINDS)
def test_a_cheaper_model_answers(desk: Desk, kind: str) -> None:
    """Charged as what was asked for."""
    protocol, group, path, body = KINDS[kind]
    member = "modelVersion" if kind == "generate" else "model"
    asked = {} if kind == "generate" else {"model": DEAR[protocol]}
    path = path.replace(MODELS["C"], DEAR["C"])
    answer = in_one(kind, kind_usage(kind), **{member: MODELS[protocol]})
    sent = desk.send(group, path, body(**asked), name=kind, answer=answer)
    charged("complete", exactly=cost(protocol, DEARER, input=1000, output=500))(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_answers_that_is_not_listed(desk: Desk, kind: str) -> None:
    sent, plain = _by(desk, kind, UNLISTED[KINDS[kind][0]])
    charged("complete", exactly=plain)(sent)
    assert gaps(sent) == ["model"], sent


# ---- Other models


def _iteration(kind: str, model: str = "", *, input: int = 2000, output: int = 300) -> dict[str, Any]:
    named = {"model": model} if model else {}
    return {"type": kind, "input_tokens": input, "output_tokens": output, **_zero, **named}


B_USAGE = {"input_tokens": 1000, "output_tokens": 500}
#: Iterations beside the top level's 1000 and 500, and what they cost beside those.
ITERATIONS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "none": ([], "0"),
    "its own": ([_iteration("message", input=1000, output=500)], "0"),
    "an advisor of the dear model": (
        [_iteration("message", input=1000, output=500), _iteration("advisor_message", DEAR["B"])],
        cost("B", DEARER, input=2000, output=300),
    ),
    "two advisors": (
        [_iteration("advisor_message", DEAR["B"]), _iteration("advisor_message", DEAR["B"])],
        cost("B", DEARER, input=4000, output=600),
    ),
    "an advisor of the same model": ([_iteration("advisor_message", MODELS["B"])], cost("B", input=2000, output=300)),
    "compaction": ([_iteration("compaction")], cost("B", input=2000, output=300)),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ITERATIONS)
def test_iterations_of_messages(desk: Desk, name: str, streamed: bool) -> None:
    iterations, more = ITERATIONS[name]
    usage = {**B_USAGE, **_zero, **({"iterations": iterations} if iterations else {})}
    body, script = _messages(usage, streamed=streamed)
    sent = desk.send("b", MESSAGES, body, name=name, answer=script)
    charged("complete", exactly=str(Decimal(PLAIN["B"]) + Decimal(more)))(sent)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_of_a_fallback(desk: Desk, streamed: bool) -> None:
    """The model that declined and the one that answered: each at its own price."""
    refused = _iteration("message", MODELS["B"], input=1000, output=3)
    served = _iteration("fallback_message", DEAR["B"], input=1000, output=500)
    usage = {**B_USAGE, **_zero, "iterations": [refused, served]}
    body, script = _messages(usage, streamed=streamed)
    sent = desk.send("b", MESSAGES, {**body, "fallbacks": [{"model": DEAR["B"]}]}, name="fallback", answer=script)
    charged("complete", least=cost("B", DEARER, input=1000, output=500))(sent)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_that_nobody_listed(desk: Desk, streamed: bool) -> None:
    """The upstream ran it all the same: charged, and told."""
    usage = {**B_USAGE, **_zero, "iterations": [_iteration("advisor_message", UNLISTED["B"])]}
    body, script = _messages(usage, streamed=streamed)
    sent = desk.send("b", MESSAGES, body, name="unlisted", answer=script)
    assert amount(sent.record()) > Decimal(PLAIN["B"]) or gaps(sent), sent.record()


def test_images_of_a_tool(desk: Desk) -> None:
    """`image_generation` reports its own tokens, of the image model."""
    image = {"input_tokens": 100, "output_tokens": 4000, "total_tokens": 4100}
    body = answered("responses", {**kind_usage("responses"), "total_tokens": 1500}, content="hello")
    body["output"].append({"type": "image_generation_call", "id": "ig", "status": "completed", "result": "aGk="})
    body["tool_usage"] = {"image_gen": image}
    tool = {"type": "image_generation", "model": IMAGE_MODEL}
    sent = desk.send("a-images", RESPONSES, response(tools=[tool]), name="image", answer=[whole(body)])
    record = sent.record()
    assert amount(record) > Decimal(PLAIN["A"]) or gaps(sent), record


# ---- Classes of service


def _chat_tier(tier: str) -> tuple[str, Any, Script]:
    return CHAT, chat(), in_one("chat", kind_usage("chat"), service_tier=tier)


def _chat_stream_tier(tier: str) -> tuple[str, Any, Script]:
    events = [event(json.loads(one[6:]) | {"service_tier": tier}) if one[6:7] == b"{" else one
              for one in chat_events("hello", kind_usage("chat"))]  # fmt: skip
    return CHAT, chat(stream=True), stream(*events)


def _response_tier(tier: str) -> tuple[str, Any, Script]:
    return RESPONSES, response(), in_one("responses", kind_usage("responses"), service_tier=tier)


def _response_stream_tier(tier: str) -> tuple[str, Any, Script]:
    events = response_events("hello", kind_usage("responses"))
    last = json.loads(events[-1].split(b"data: ")[1])
    last["response"]["service_tier"] = tier
    return RESPONSES, response(stream=True), stream(*events[:-1], event(last, "response.completed"))


TIERS: dict[str, Callable[[str], tuple[str, Any, Script]]] = {
    "chat": _chat_tier,
    "chat, stream": _chat_stream_tier,
    "responses": _response_tier,
    "responses, stream": _response_stream_tier,
}


@pytest.mark.parametrize("kind", TIERS)
@pytest.mark.parametrize("tier", ["default", "priority", "flex", "ultrafast"])
def test_a_class_that_the_answer_reports(classes_desk: Desk, kind: str, tier: str) -> None:
    path, body, script = TIERS[kind](tier)
    plain = classes_desk.send("a", path, body, name=f"{kind} {tier}", answer=script)
    charged("complete", exactly=PLAIN["A"])(plain)
    assert gaps(plain) == ([] if tier == "default" else ["tier"]), plain.record()
    priced = classes_desk.send("a-classes", path, body, name=f"{kind} {tier}", answer=script)
    dear = tier == "priority"
    charged("complete", exactly=cost("A", PRIORITY if dear else 1, input=1000, output=500))(priced)
    assert gaps(priced) == ([] if tier in ("default", "priority") else ["tier"]), priced.record()


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("speed", ["standard", "fast"])
def test_a_speed_that_the_answer_reports(classes_desk: Desk, speed: str, streamed: bool) -> None:
    body, script = _messages({**B_USAGE, **_zero, "speed": speed}, streamed=streamed)
    plain = classes_desk.send("b", MESSAGES, body, name=speed, answer=script)
    charged("complete", exactly=PLAIN["B"])(plain)
    assert len(gaps(plain)) == (speed == "fast"), plain.record()
    priced = classes_desk.send("b-classes", MESSAGES, body, name=speed, answer=script)
    factor = PRIORITY if speed == "fast" else 1
    charged("complete", exactly=cost("B", factor, input=1000, output=500))(priced)
    assert gaps(priced) == [], priced.record()


@pytest.mark.parametrize("traffic", ["ON_DEMAND", "ON_DEMAND_PRIORITY", "ON_DEMAND_FLEX"])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_class_of_protocol_c(classes_desk: Desk, traffic: str, streamed: bool) -> None:
    usage = {**kind_usage("generate"), "trafficType": traffic}
    script = in_events("generate", usage, content="x" * 80) if streamed else in_one("generate", usage)
    sent = classes_desk.send("c", STREAM_GENERATE if streamed else GENERATE, generate(), name=traffic, answer=script)
    charged("complete", exactly=cost("C", input=1000, output=500))(sent)
    assert gaps(sent) == ([] if traffic == "ON_DEMAND" else ["tier"]), sent.record()


# ---- Calls of tools


@pytest.mark.parametrize("streamed", [False, True])
def test_searches_that_are_reported(classes_desk: Desk, streamed: bool) -> None:
    usage = {**B_USAGE, **_zero, "server_tool_use": {"web_search_requests": 3}}
    body, script = _messages(usage, streamed=streamed)
    plain = classes_desk.send("b", MESSAGES, body, name="unpriced", answer=script)
    charged("complete", exactly=PLAIN["B"])(plain)
    assert gaps(plain) == ["web_search"], plain.record()
    priced = classes_desk.send("b-classes", MESSAGES, body, name="priced", answer=script)
    charged("complete", exactly=str(Decimal(PLAIN["B"]) + Decimal("0.03")))(priced)
    assert gaps(priced) == [], priced.record()


def _searching(streamed: bool) -> tuple[Any, Script]:
    """A response whose model searched twice."""
    calls = [{"type": "web_search_call", "id": f"ws_{i}", "status": "completed", "action": {"type": "search"}} for i in (1, 2)]
    body = answered("responses", kind_usage("responses"), content="hello")
    body["output"] = [*calls, *body["output"]]
    if not streamed:
        return response(tools=[{"type": "web_search"}]), [whole(body)]
    events = [event({"type": "response.created", "response": {"id": "resp_1", "output": []}}, "response.created")]
    for index, call in enumerate(calls):
        done = {"type": "response.output_item.done", "output_index": index, "item": call}
        events.append(event(done, "response.output_item.done"))
    done = {"type": "response.completed", "response": body}
    return response(stream=True, tools=[{"type": "web_search"}]), stream(*events, event(done, "response.completed"))


@pytest.mark.parametrize("streamed", [False, True])
def test_searches_of_responses(classes_desk: Desk, streamed: bool) -> None:
    body, script = _searching(streamed)
    plain = classes_desk.send("a", RESPONSES, body, name="unpriced", answer=script)
    charged("complete", exactly=PLAIN["A"])(plain)
    assert gaps(plain) == ["web_search"], plain.record()
    priced = classes_desk.send("a-classes", RESPONSES, body, name="priced", answer=script)
    charged("complete", exactly=str(Decimal(PLAIN["A"]) + Decimal("0.02")))(priced)


@pytest.mark.parametrize("group", ["a", "a-classes"])
def test_a_tool_that_is_declared_costs_nothing(classes_desk: Desk, group: str) -> None:
    script = in_one("responses", kind_usage("responses"))
    sent = classes_desk.send(group, RESPONSES, response(tools=[{"type": "web_search"}]), name=group, answer=script)
    charged("complete", exactly=PLAIN["A"])(sent)
    assert gaps(sent) == [], sent.record()


def test_what_no_price_covers_is_counted(classes_desk: Desk) -> None:
    """In a metric that has an alert."""
    from e2e.vitals import counters

    def count() -> int:
        return sum(counters(classes_desk.stack, classes_desk.ledger, r"trilane_uncovered").values())

    before = count()
    path, body, script = TIERS["chat"]("priority")
    recorded(trilane__usage__status="complete")(classes_desk.send("a", path, body, name="counted", answer=script))
    assert count() == before + 1


# ---- Numbers that would count for less


@pytest.mark.parametrize("usage", [
    {"prompt_tokens": -1000, "completion_tokens": 500},
    {"prompt_tokens": 1000, "completion_tokens": -500},
    {"prompt_tokens": "1000", "completion_tokens": 500},
    {"prompt_tokens": 1000, "completion_tokens": 500, "prompt_tokens_details": {"cached_tokens": 10**9}},
    {"prompt_tokens": 1000.5, "completion_tokens": 500},
], ids=str)  # fmt: skip
def test_numbers_that_no_upstream_reports(desk: Desk, usage: dict[str, Any]) -> None:
    """They never make a request free: whatever is not believed is estimated."""
    sent = desk.send("a", CHAT, chat("x" * 8000), name=str(usage), answer=in_one("chat", usage))
    assert amount(sent.record()) > 0, sent.record()


# ---- Documents


def check_document(tmp_path: Path, document: dict[str, Any]) -> tuple[int, str]:
    """What `trilane check` says of a document."""
    file = tmp_path / "gateway.json"
    file.write_text(json.dumps(document))
    done = subprocess.run([COMMAND, "check", file], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


KEY = {"id": "k", "sha256": "0" * 64}
LIMITS = {"limits": {"budget": {"per_day": "1"}}}


@pytest.mark.parametrize("whose", ["key", "group"])
@pytest.mark.parametrize("free", [False, True])
def test_a_budget_needs_prices(tmp_path: Path, whose: str, free: bool) -> None:
    """Models that have none are named, but for those that are said to cost nothing; a budget that leaves none is refused."""
    group = source("a", "A", **(LIMITS if whose == "group" else {}))
    for model in ("gpt-gap", "gpt-chasm"):
        group["models"].append({"id": model, **({"free": True} if free else {})})
    document = {"groups": [group], "keys": [{**KEY, "group": "a", **(LIMITS if whose == "key" else {})}]}
    code, said = check_document(tmp_path, document)
    assert code == 0 and ("warning" in said) is not free, said
    assert free or ("gpt-gap" in said and "gpt-chasm" in said), said
    group["models"] = group["models"][-2:]
    code, said = check_document(tmp_path, document)
    assert code == (0 if free else 1), said
