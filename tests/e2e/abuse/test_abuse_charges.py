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
    chat,
    chat_events,
    event,
    generate,
    in_one,
    kind_usage,
    message,
    response,
    response_events,
)
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, Desk, Sent, charged, cost, recorded
from e2e.abuse.abuse_document import DEAR, DEARER, source
from e2e.abuse.recorder import Script, stream
from stack import COMMAND


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


def _by(desk: Desk, kind: str, name: str) -> tuple[Sent, str]:
    """A request for the usual model that this one answers, and what its usage costs at the usual price."""
    protocol, group, path, body = KINDS[kind]
    member = {"modelVersion" if kind == "generate" else "model": name}
    sent = desk.send(group, path, body(), name=f"{kind}: {name}", answer=in_one(kind, kind_usage(kind), **member))
    return sent, cost(protocol, input=1000, output=500)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dearer_model_answers(desk: Desk, kind: str) -> None:
    protocol = KINDS[kind][0]
    for name in (DEAR[protocol], f"vendor/{DEAR[protocol]}:x"):
        sent, plain = _by(desk, kind, name)
        charged("complete", exactly=str(Decimal(plain) * DEARER))(sent)
        assert gaps(sent) == [], sent


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


# ---- Calls of tools


def test_what_no_price_covers_is_counted(classes_desk: Desk) -> None:
    """In a metric that has an alert."""
    from e2e.vitals import counters

    def count() -> int:
        return sum(counters(classes_desk.stack, classes_desk.ledger, r"trilane_uncovered").values())

    before = count()
    path, body, script = TIERS["chat"]("priority")
    recorded(trilane__usage__status="complete")(classes_desk.send("a", path, body, name="counted", answer=script))
    assert count() == before + 1


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
