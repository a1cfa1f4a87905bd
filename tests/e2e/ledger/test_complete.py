"""A call that comes to its end leaves one record with all of its numbers, and the exact charge."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from e2e.ledger.ledger_calls import CALLS, Call, Kinds, complete_members, told, without_time
from e2e.ledger.ledger_desk import WIRES, Desk, Sent

KINDS = ("input", "input_image", "cache_read", "cache_write_5m", "cache_write_1h", "tool_use", "output", "reasoning")
GROUPS = {
    "A": ("a", "a-asks", "mixed", "mixed-asks"),
    "B": ("b", "b-low", "mixed"),
    "C": ("c", "mixed", "mixed-asks"),
}


def numbers(seed: str, *, most: int = 60_000) -> Kinds:
    """Numbers for every kind, some of them zero; the same for the same seed."""
    draw = random.Random(seed)
    kinds = {
        kind: draw.choice((0, draw.randint(1, 9), draw.randint(1, most), draw.randint(1, most))) for kind in KINDS
    }
    return {**kinds, "input": kinds["input"] or 1, "images": draw.randint(1, 3)}


def _cases() -> Iterator[tuple[str, str, Call, Kinds]]:
    """Name, group, call, numbers."""
    for name, call in CALLS.items():
        for group in GROUPS[call.protocol]:
            if call.form == "images" and group != "a":
                continue
            yield f"{name} of {group}", group, call, numbers(f"{name} of {group}")
    names = {
        "dated": ("a", CALLS["responses, stream"].named("gpt-5.1-2025-11-13", "gpt-5.1", "gpt-5.1-2025-11-13")),
        "alias": ("a", CALLS["chat"].named("gpt-best", "gpt-5.4", "gpt-5.4-2026-03-05")),
        "renamed": ("mixed", CALLS["chat, stream"].named("gpt-5.4", "gpt-5.4", "gpt-5.4-2026-03-05")),
        "dated upstream name": ("a-asks", CALLS["responses"].named("gpt-5.4", "gpt-5.4", "gpt-5.4-2026-03-05")),
        "thinking": (
            "b",
            CALLS["messages, stream"].named(
                "claude-opus-4.5-20251101-thinking", "claude-opus-4-5", "claude-opus-4-5-20251101"
            ),
        ),
        "context suffix": (
            "mixed",
            CALLS["messages"].named("claude-haiku-4-5[1m]", "claude-haiku-4-5", "claude-haiku-4-5[1m]"),
        ),
        "generate, renamed": ("c", CALLS["generate"].named("gemini-2.5-pro", "gemini-2.5-pro", "gemini-2.5-pro-002")),
        "unpriced A": ("a", CALLS["responses"].named(*["gpt-unpriced"] * 3)),
        "unpriced B": ("b-low", CALLS["messages, stream"].named(*["claude-unpriced-1"] * 3)),
        "unpriced C": ("mixed", CALLS["generate, stream"].named(*["gemini-unpriced"] * 3)),
        "by the picture": ("a", CALLS["images, stream"].named(*["gpt-image-old"] * 3)),
    }
    for name, (group, call) in names.items():
        yield name, group, call, numbers(name)
    # Sums that a float would round; and next to nothing.
    yield (
        "great numbers",
        "mixed",
        CALLS["responses"].named(*["gpt-unpriced"] * 3),
        {"input": 4 * 10**8, "output": 5 * 10**8},
    )
    yield "great charge", "b", CALLS["messages"], {"input": 700_000_001, "output": 300_000_007}
    yield "one token", "a", CALLS["chat"].named("gpt-5.4", "gpt-5.4", "gpt-5.4-2026-03-05"), {"output": 1}
    yield "one token read", "c", CALLS["generate"], {"input": 1}


CASES = {name: (group, call, asked) for name, group, call, asked in _cases()}


@pytest.fixture(scope="module")
def sent(desk: Desk, pool: ThreadPoolExecutor) -> dict[tuple[str, str], Future[Sent]]:
    """All of them at once: lines of many exchanges stand mixed in the ledger."""

    def send(case: str, wire: str) -> Sent:
        group, call, asked = CASES[case]
        usage = ",".join(
            f"{kind}={number}" for kind, number in asked.items() if kind != "images" or call.form == "images"
        )
        return desk.send(
            group, call.path, call.body_bytes(), wire=wire, sim={"usage": usage}, content_type=call.content_type
        )

    return {(case, wire): pool.submit(send, case, wire) for case in CASES for wire in WIRES}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("case", CASES)
def test_record_is_complete(sent: dict[tuple[str, str], Future[Sent]], case: str, wire: str) -> None:
    exchange = sent[case, wire].result(timeout=60)
    _, call, asked = CASES[case]
    assert exchange.status == 200 and exchange.answer and exchange.answer.complete, exchange
    record = exchange.record()
    expected = complete_members(exchange, call, told(call.form, asked))
    found = without_time(record)
    if not expected["trilane.usage.reported"]:
        del expected["trilane.usage.reported"]
    assert found == expected
    for name, value in found.items():
        number = isinstance(value, int) and not isinstance(value, bool)
        assert number == ("tokens" in name or name.endswith((".size", ".images"))), f"{name}: {value!r}"
    assert record["http.response.status_code"] == 200 and record["details"] == "via_upstream"
    assert record["bytes_received"] == len(exchange.post.body or b"")
    assert record["upstream"] == _address(exchange, call)


def _address(exchange: Sent, call: Call) -> str:
    cluster = {"A": "a_official", "B": "b_official", "C": "c_official"}[call.protocol]
    return exchange.desk.stack.sims["b_low_rate" if exchange.group == "b-low" else cluster]


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.form != "embed"])
def test_record_says_what_was_issued(desk: Desk, name: str) -> None:
    call = CALLS[name]
    exchange = desk.send(
        GROUPS[call.protocol][0],
        call.path,
        call.body_bytes(),
        sim={"usage": "random"},
        content_type=call.content_type,
    )
    issued = exchange.wait_seen("answered")["issued"]
    record = exchange.record()
    expected = complete_members(exchange, call, told(call.form, issued))
    assert without_time(record) == expected
