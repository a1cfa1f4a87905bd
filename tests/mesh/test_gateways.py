"""The manifests' gateways on a real Envoy: what must hold wherever trilane runs."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import mesh_stack
import pytest
from mesh_stack import MeshStack
from stack import SAMPLE_DOCUMENT
from e2e.support import Gateway, bearer, goog, run_dir, x_api_key
from waiting import until

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"
GENERATE = "/v1beta/models/gemini-2.5-flash:generateContent"
HELLO = [{"role": "user", "content": "Hello"}]
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}


def document() -> dict[str, Any]:
    """The sample, with accounts for the one group that has a cluster written by hand."""
    sample = json.loads(SAMPLE_DOCUMENT.read_bytes())
    for group in sample["groups"]:
        if group.pop("cluster", None):
            group["accounts"] = [{"id": "low", "url": "http://upstream:9103", "credential": "b-official-1"}]
    return sample


@pytest.fixture(scope="module", params=["istio", "envoy_gateway"])
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    assembly = getattr(mesh_stack, request.param)
    with MeshStack(run_dir(f"mesh-{request.param}"), assembly, document=document()) as stack:
        there = Gateway(stack)
        there.http = stack.client()
        yield there


CALLS: dict[str, tuple[str, str, dict[str, str], dict[str, Any], str]] = {
    # name: key, path, credential, body, where the usage is
    "A": ("key_a", CHAT, bearer("key_a"), {"model": "gpt-5.1", "messages": HELLO}, "a-official"),
    "B": (
        "key_b",
        MESSAGES,
        x_api_key("key_b"),
        {"model": "claude-opus-4-5", "max_tokens": 9, "messages": HELLO},
        "b-official",
    ),
    "B low": (
        "key_b_low",
        MESSAGES,
        x_api_key("key_b_low"),
        {"model": "claude-opus-4-5", "max_tokens": 9, "messages": HELLO},
        "b-low-rate",
    ),
    "C": ("key_c", GENERATE, goog("key_c"), CONTENTS, "c-official"),
}


@pytest.mark.parametrize("name", CALLS)
def test_requests_are_steered_and_recorded(gateway: Gateway, name: str) -> None:
    key, path, credential, body, source = CALLS[name]
    answer = gateway.request("POST", path, credential, json=body)
    assert answer.status == 200, f"{name}: {answer.text}"
    assert answer.headers["x-request-id"], name
    (seen,) = answer.seen
    sent = (
        {header.lower() for header, _ in seen["headers"]}
        if isinstance(seen["headers"], list)
        else set(seen["headers"])
    )
    assert not [
        header for header in sent if header.startswith(("x-trilane-", "x-envoy-", "x-forwarded-for"))
    ], f"{name}: {sent}"
    record = recorded(gateway, answer.headers["x-request-id"])
    assert record["trilane.key.id"] == key, name
    assert record["trilane.source"] == source, name
    assert record["trilane.usage.status"] == "complete", name
    assert record["gen_ai.usage.output_tokens"] > 0, name
    assert record["http.response.status_code"] == 200, name


def recorded(gateway: Gateway, request_id: str) -> dict[str, Any]:
    """The line of the ledger with this id. Every line is JSON."""
    return until(
        lambda: next(
            (
                record
                for record in map(json.loads, gateway.stack.access_log.read_text().splitlines())
                if request_id in (record["request_id"], record.get("trilane.upstream_request_id"))
            ),
            None,
        )
    )


def test_a_model_in_a_late_chunk_decides(gateway: Gateway) -> None:
    """Nothing of the request leaves before its model is known; this hangs without allow_on_headers_stop_iteration."""

    def body(model: str) -> Iterator[bytes]:
        yield b'{"messages":[{"role":"user","content":"'
        for _ in range(5):
            time.sleep(0.05)
            yield b"x" * 20_000
        yield f'"}}],"model":"{model}"}}'.encode()

    for model, status in {"gpt-5.1": 200, "gpt-9": 404}.items():
        answer = gateway.request("POST", CHAT, bearer("key_a"), content=body(model))
        assert answer.status == status, f"{model}: {answer.text}"
        assert len(answer.seen) == (status == 200), model


def test_streams_come_as_they_are_made(gateway: Gateway) -> None:
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": HELLO, "stream": True}
    headers = {**x_api_key("key_b"), "x-sim-gap-ms": "100"}
    at = []
    with gateway.http.stream("POST", MESSAGES, headers=headers, json=body) as answer:
        assert answer.status_code == 200
        whole = b""
        for chunk in answer.iter_raw():
            at.append(time.monotonic())
            whole += chunk
    assert b"message_stop" in whole
    assert at[-1] - at[0] > 0.2, "all at once"
    record = recorded(gateway, answer.headers["x-request-id"])
    assert record["trilane.usage.status"] == "complete"


DIALECTS: dict[str, tuple[str, dict[str, str], Callable[[Any], Any], Any]] = {
    "A": (CHAT, {"authorization": "Bearer wrong"}, lambda body: body["error"]["code"], "invalid_api_key"),
    "B": (
        MESSAGES,
        {"x-api-key": "wrong"},
        lambda body: (body["type"], body["error"]["type"]),
        ("error", "authentication_error"),
    ),
    "C": (GENERATE, {"x-goog-api-key": "wrong"}, lambda body: body["error"]["status"], "UNAUTHENTICATED"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_key_is_refused_in_three_dialects(gateway: Gateway, dialect: str) -> None:
    path, headers, read, want = DIALECTS[dialect]
    answer = gateway.request("POST", path, headers, json={"model": "gpt-5.1"})
    assert answer.status == 401, dialect
    assert read(answer.json()) == want, dialect
    assert answer.headers["x-trilane-error"] == "invalid_api_key", dialect
    assert not answer.seen, dialect


def test_clients_give_no_orders(gateway: Gateway) -> None:
    """What the filter tells Envoy by headers no client can, with a key or without."""
    orders = {"x-trilane-cluster": "source/a-official", "x-envoy-upstream-rq-timeout-ms": "1"}
    for credential, status in ({}, 401), (bearer("key_b"), 403):
        answer = gateway.request(
            "POST", CHAT, {**orders, **credential}, json={"model": "gpt-5.1", "messages": HELLO}
        )
        assert (answer.status, answer.seen) == (status, []), credential
    _, path, credential, body, source = CALLS["B"]
    slow = {"x-sim-delay-ms": "300"}  # so that a time of one millisecond would show
    answer = gateway.request("POST", path, {**orders, **slow, **credential}, json=body)
    assert answer.status == 200
    assert recorded(gateway, answer.headers["x-request-id"])["trilane.source"] == source


def test_what_envoy_says_itself(gateway: Gateway) -> None:
    """Answers of Envoy's own have the shape that SDKs read: paths, WebSockets, an upstream that is not there."""
    answer = gateway.request("GET", "/v1/%2Fmodels", bearer("key_a"))
    assert (answer.status, answer.headers["x-trilane-error"]) == (400, "bad_path")
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
    }
    answer = gateway.request("GET", "/v1/responses", {**bearer("key_a"), **upgrade})
    assert (answer.status, answer.headers["x-trilane-error"]) == (426, "upgrade_required")
    assert answer.json()["error"]["code"] == "upgrade_required"
    assert answer.headers["server"] == "trilane"


def test_a_failing_account_is_passed_over(gateway: Gateway) -> None:
    """The account hop, the filter that watches tries, and what both know of each other."""
    _, path, credential, body, _ = CALLS["A"]
    answer = gateway.request("POST", path, {**credential, "x-sim-status": "503"}, json=body)
    record = recorded(gateway, answer.headers["x-request-id"])
    assert record["trilane.tries"] > 1, record


def test_a_document_takes_effect_on_every_worker(gateway: Gateway) -> None:
    """Without a singleton: one VM loads for all of them."""
    stack = gateway.stack
    value = "mesh-test-key"
    changed = copy.deepcopy(document())
    changed["keys"].append(
        {"id": "new", "sha256": hashlib.sha256(value.encode()).hexdigest(), "group": "a-official"}
    )

    def statuses() -> set[int]:
        found = set()
        for _ in range(8):  # on connections of their own, so that both workers are asked
            with stack.client() as client:
                found.add(client.get("/v1/models", headers=bearer(value)).status_code)
        return found

    assert statuses() == {401}
    stack.publish(changed)
    until(lambda: statuses() == {200})
    stack.publish(document())
    until(lambda: statuses() == {401})


def test_metrics_have_labels(gateway: Gateway) -> None:
    def scraped() -> str:
        return httpx.get(f"{gateway.stack.admin_url}/stats/prometheus", timeout=10, trust_env=False).text

    # The filter writes its counters every second.
    until(lambda: 'trilane_account_tries_total{source="a-official"' in scraped())  # stats_tags
    text = scraped()
    assert "trilane_config_generation" in text
