"""Limits that two Envoys share: requests before they go, tokens when they have been used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.limits_service.limits_desk import CALLS, MODELS, RESET, Desk, Key, body, path
from e2e.support import run_dir
from waiting import until

#: A limit of so many requests a day.
MANY = 25
LIMITS = f"""
domain: trilane
descriptors:
  - key: key
    value: many
    rate_limit: {{unit: day, requests_per_unit: {MANY}}}
  - key: key
    value: many-b
    rate_limit: {{unit: day, requests_per_unit: {MANY}}}
  - {{key: key, value: none-a, rate_limit: {{unit: day, requests_per_unit: 0}}}}
  - {{key: key, value: none-b, rate_limit: {{unit: day, requests_per_unit: 0}}}}
  - {{key: key, value: none-c, rate_limit: {{unit: day, requests_per_unit: 0}}}}
  - key: key
    value: spender
    descriptors:
      - {{key: tokens, value: output, rate_limit: {{unit: day, requests_per_unit: 1}}}}
  - key: key
    value: one-model
    descriptors:
      - {{key: model, value: gpt-5.1, rate_limit: {{unit: day, requests_per_unit: 1}}}}
  - key: group
    value: b-official
    descriptors:
      - {{key: model, value: claude-opus-4-1, rate_limit: {{unit: day, requests_per_unit: 1}}}}
"""

KEYS = {
    key.id: key
    for key in [
        *(
            Key("A", name)
            for name in (
                "many",
                "none-a",
                "spender",
                "one-model",
                "seen",
                "json-a",
                "sse-a",
                "gone-a",
                "bad-a",
                "lone",
            )
        ),
        *(Key("B", name) for name in ("many-b", "none-b", "json-b", "sse-b", "gone-b", "group-1", "group-2")),
        *(Key("C", name) for name in ("none-c", "json-c", "sse-c")),
    ]
}


@pytest.fixture(scope="module")
def desk(redis_binary: Path) -> Iterator[Desk]:
    keys = [
        key.written(**({"limits": {"concurrent_requests": 1}} if key.id == "none-a" else {}))
        for key in KEYS.values()
    ]
    with Desk(run_dir("limits-service"), LIMITS, keys) as running:
        yield running


@pytest.mark.parametrize("name", ["many", "many-b"])
def test_two_gateways_admit_exactly_what_the_limit_says(desk: Desk, name: str) -> None:
    statuses = desk.many(KEYS[name], count=3 * MANY, clients=20)
    assert sorted(set(statuses)) == [200, 429]
    assert statuses.count(200) == MANY
    assert all(desk.stat(number, "limits_service_open.ok") for number in (0, 1)), "both have admitted some"


@pytest.mark.parametrize("protocol", CALLS)
def test_a_refusal_is_in_the_words_of_the_protocol(desk: Desk, protocol: str) -> None:
    key = KEYS[f"none-{protocol.lower()}"]
    # Twice, at a key that may have one request under way: what was refused holds nothing.
    for gateway in (0, 0, 1):
        answer = desk.call(key, gateway)
        error = answer.json()["error"]
        assert answer.status_code == 429, answer.text
        assert answer.headers["retry-after"] == str(RESET)
        assert answer.headers["x-trilane-error"] == "rate_limit_exceeded"
        assert answer.headers["content-type"] == "application/json"
        assert "a limit of this key, its group or the model is used up" in error["message"]
        assert not [name for name in answer.headers if name == "x-should-retry" or name.startswith("x-envoy")]
        if protocol == "A":
            assert error["code"] == "rate_limit_exceeded"
        elif protocol == "B":
            assert error["type"] == "rate_limit_error"
        else:
            assert error["status"] == "RESOURCE_EXHAUSTED"
            retry = [detail for detail in error["details"] if detail["@type"].endswith("RetryInfo")]
            assert retry[0]["retryDelay"] == f"{RESET}s"
    record = desk.record(0, key, 2)
    assert record["trilane.outcome"] == "refused"
    assert record["trilane.usage.status"] == "none"
    assert not desk.asked(f"key={key.id}/tokens=input")[3:], "nothing is counted for what was refused"


@pytest.mark.parametrize("protocol", CALLS)
@pytest.mark.parametrize("form", ["json", "sse"])
def test_tokens_are_counted_when_the_answer_is_over(desk: Desk, protocol: str, form: str) -> None:
    key = KEYS[f"{form}-{protocol.lower()}"]
    stream = form == "sse"
    sent = {
        **body(protocol, stream),
        **({"stream_options": {"include_usage": True}} if stream and protocol == "A" else {}),
    }
    answer = desk.http.post(desk.stacks[0].base_url + path(protocol, stream), json=sent, headers=key.headers)
    assert answer.status_code == 200, answer.text
    record = desk.record(0, key)
    for tokens, name in (("input", "gen_ai.usage.input_tokens"), ("output", "gen_ai.usage.output_tokens")):
        used = record[name]
        assert used > 0
        for start in (f"key={key.id}", f"key={key.id}/model={MODELS[protocol]}"):
            assert desk.wait_counted(f"{start}/tokens={tokens}") == used, start
            assert desk.asked(f"{start}/tokens={tokens}") == [0, used], "asked about before, then told"
        for start in (f"group={key.group}", f"group={key.group}/model={MODELS[protocol]}"):
            assert used in desk.asked(f"{start}/tokens={tokens}"), start
    for start in (f"key={key.id}", f"key={key.id}/model={MODELS[protocol]}"):
        assert desk.asked(start) == [1], "a request is counted once"


@pytest.mark.parametrize("name", ["gone-a", "gone-b"])
def test_a_client_that_goes_away_pays_for_its_tokens(desk: Desk, name: str) -> None:
    key = KEYS[name]
    url = desk.stacks[1].base_url + path(key.protocol, True)
    headers = {**key.headers, "x-sim-gap-ms": "200"}
    with desk.http.stream("POST", url, json=body(key.protocol, True), headers=headers) as answer:
        assert answer.status_code == 200
        # Until some of the text is there.
        any("pong" in text for text in answer.iter_text())
    record = desk.record(1, key)
    assert record["trilane.outcome"] == "client_abort"
    assert record["trilane.usage.status"] == "estimated"
    # Protocol B says at its beginning what it has read; else both are estimated.
    for kind in ("input", "output"):
        assert desk.wait_counted(f"key={key.id}/tokens={kind}") == record[f"gen_ai.usage.{kind}_tokens"], kind


def test_tokens_used_at_one_gateway_are_gone_at_the_other(desk: Desk) -> None:
    key = KEYS["spender"]
    assert desk.call(key, 0).status_code == 200
    assert desk.wait_counted(f"key={key.id}/tokens=output") > 1
    assert desk.call(key, 1).status_code == 429


def test_a_model_may_have_a_limit_of_its_own(desk: Desk) -> None:
    key = KEYS["one-model"]
    assert [desk.call(key, number).status_code for number in (0, 1)] == [200, 429]
    other = {**body("A"), "model": "gpt-5.4"}
    answer = desk.http.post(desk.stacks[0].base_url + path("A"), json=other, headers=key.headers)
    assert answer.status_code == 200, answer.text


def test_a_group_shares_a_limit_over_its_keys(desk: Desk) -> None:
    statuses = []
    for number, name in ((0, "group-1"), (1, "group-2")):
        # Another name of the model: it is counted under its canonical one.
        sent = {**body("B"), "model": "claude-opus-4-1-20250805"}
        answer = desk.http.post(
            desk.stacks[number].base_url + path("B"), json=sent, headers=KEYS[name].headers
        )
        statuses.append(answer.status_code)
    assert statuses == [200, 429]


def test_neither_upstream_nor_client_see_anything_of_it(desk: Desk) -> None:
    forged = {"x-trilane-limit-open-key": "forged", "x-ratelimit-reset": "1"}
    answer = desk.call(KEYS["seen"], 0, **{"x-sim-echo": "1"}, **forged)
    assert answer.status_code == 200
    assert "x-trilane" not in answer.text and "seen" not in answer.text
    assert not [name for name in answer.headers if "ratelimit" in name]
    assert not desk.asked("key=forged")


def test_what_is_refused_before_is_never_asked_about(desk: Desk) -> None:
    key, url = KEYS["bad-a"], desk.stacks[0].base_url
    cases = [
        ("unknown key", 401, "/v1/chat/completions", {"authorization": "Bearer sk-nobody"}, body("A")),
        ("unknown model", 404, "/v1/chat/completions", key.headers, {**body("A"), "model": "nothing"}),
        ("a list", 200, "/v1/models", key.headers, None),
        ("another protocol", 401, "/v1/messages", key.headers, body("B")),
    ]
    for case, status, at, headers, sent in cases:
        answer = desk.http.request("POST" if sent else "GET", url + at, headers=headers, json=sent)
        assert answer.status_code == status, f"{case}: {answer.text}"
    assert not desk.asked_of(key)


def test_a_document_may_do_without(desk: Desk) -> None:
    """Last: the gateways have another document for a while."""
    key = KEYS["lone"]
    stack = desk.stacks[0]
    assert desk.call(key, 0).status_code == 200
    until(lambda: desk.asked_of(key))
    stack.publish(desk.document(None))
    try:

        def uncounted() -> bool:
            before = len(desk.asked_of(key))
            assert desk.call(key, 0).status_code == 200
            return len(desk.asked_of(key)) == before

        until(uncounted)
        desk.service.stop()
        assert desk.call(KEYS["none-a"], 0).status_code == 200, "nobody asks"
    finally:
        desk.service.start()
        stack.publish(desk.document("open"))
