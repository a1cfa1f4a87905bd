"""Requests that no decent client sends, on a whole gateway: what a connection, Envoy and an upstream make of them.

The filter's part of each is in `tests/golden/cases/abuse_*.txt`.
"""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from threading import Event
from typing import Any

import pytest
from e2e.abuse.abuse_answers import chat, event, generate, message, prompt, response
from e2e.abuse.abuse_desk import (
    CHAT,
    GENERATE,
    MESSAGES,
    RESPONSES,
    Desk,
    Sent,
    amount,
    charged,
    cost,
    forwarded,
    in_chunks,
    leave_when_sent,
    recorded,
    refused,
)
from e2e.abuse.abuse_document import DEAR, MODELS, UNLISTED
from e2e.abuse.recorder import MARKER, head, stream, whole
from e2e.raw import Header, Http1, Http2
from e2e.support import credential
from e2e.vitals import counters

ENDPOINTS = [("a", CHAT, chat()), ("b", MESSAGES, message()), ("c", GENERATE, generate())]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}

# ---- Bodies


@pytest.mark.parametrize("length", [True, False], ids=["by length", "chunked"])
def test_complete_json_was_sent(desk: Desk, length: bool) -> None:
    """An upstream that reads on its own may be at work on it, whether or not the end of the body comes."""

    def act(sent: Sent, client: Http1) -> None:
        data = sent.body or b""
        how = ("content-length", str(len(data) + 2)) if length else ("transfer-encoding", "chunked")
        client.head(sent.method, sent.path, [*sent.headers, how])
        (client.send if length else client.chunk)(data)
        desk.recorder.wait(sent.marker, size=len(data))
        client.reset()

    sent = desk.send("b", MESSAGES, message(prompt), act=act)
    charged("estimated", least=cost("B", input=len(prompt) // 8))(sent)


def test_complete_json_with_something_behind_it(desk: Desk) -> None:
    """It is refused, and paid for: it had been there."""

    def act(sent: Sent, client: Http1) -> Any:
        data = sent.body or b""
        client.head(sent.method, sent.path, [*sent.headers, ("transfer-encoding", "chunked")])
        client.chunk(data)
        desk.recorder.wait(sent.marker, size=len(data))
        client.chunk(b"x")
        return client.answer()

    sent = desk.send("b", MESSAGES, message(prompt), act=act, answer=[Event()])
    assert sent.status == 400, sent
    charged("estimated", least=cost("B", input=len(prompt) // 8))(sent)
    recorded(trilane__outcome="refused")(sent)


#: Members that are read when a part of the body is upstream, and the status.
BEHIND: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "type": ("a", RESPONSES, response(stream="true"), 400),
    "background": ("a", RESPONSES, response(background=True), 400),
    "advisor": ("b", MESSAGES, message(tools=[{"type": "advisor_20260301", "name": "x", "model": UNLISTED["B"]}]), 404),
    "provider": ("a", RESPONSES, response(provider={"x": 1}), 400),
    "models": ("a", RESPONSES, response(models=[UNLISTED["A"]]), 404),
}


@pytest.mark.parametrize("name", BEHIND)
def test_members_behind_the_window(small_desk: Desk, name: str) -> None:
    """The rest never comes."""
    group, path, body, status = BEHIND[name]
    late = json.dumps({"model": body["model"], "metadata": {"x": "y" * 3000}, **body}).encode()
    sizes = itertools.repeat(1200, len(late) // 1200)
    refused(status)(small_desk.send(group, path, late, name=name, act=in_chunks(*sizes)))


@pytest.mark.parametrize("wire", ["h1", "h2"])
def test_content_types_that_are_repeated(desk: Desk, wire: str) -> None:
    """Whatever comes of them on the way, the upstream reads JSON or nothing."""
    for second in ("application/x-www-form-urlencoded", "application/json", "text/plain"):
        for pair in (("application/json", second), (second, "application/json")):
            key, value = desk.new_key("a")
            marker = f"repeated-{wire}-{key}"
            headers: list[Header] = [*credential("A", value).items(), *(("content-type", one) for one in pair), (MARKER, marker)]
            with (Http1 if wire == "h1" else Http2)(desk.stack.base_url) as client:
                answer = client.request("POST", RESPONSES, headers, json.dumps(response()).encode())
            arrived = desk.recorder.settled(marker)
            assert answer.status == 200 and len(arrived) == 1, f"{pair}: {answer}"
            types = [text for name, text in arrived[0].headers if name == "content-type"]
            assert types == ["application/json"], f"{pair}: {types}"


# ---- Money


@pytest.mark.parametrize("way", ["no usage", "leaves"])
def test_a_budget_ends(desk: Desk, way: str) -> None:
    """Neither streams without usage nor leaving early goes on for ever."""
    key = desk.new_key("a", "budget")
    answer = stream(event({"choices": [{"index": 0, "delta": {"content": prompt}}]}), event("[DONE]"))
    how: dict[str, Any] = {"act": leave_when_sent} if way == "leaves" else {"answer": answer}
    first = desk.send("a", CHAT, chat(prompt, stream=True), key=key, **how)
    charged("estimated")(first)
    assert Decimal(first.record()["trilane.spent.key.day"]) == amount(first.record()), first
    second = desk.send("a", CHAT, chat(prompt, stream=True), key=key)
    assert (second.status, second.code) == (429, "insufficient_quota"), second
    assert not second.arrived(), second


def test_a_dearer_model_answers_in_a_class_without_a_price(desk: Desk) -> None:
    """It is charged as that one; what no price covers is flagged, and in a metric that has an alert."""
    before = sum(counters(desk.stack, desk.ledger, r"trilane_uncovered").values())
    said = {"model": DEAR["A"], "choices": [], "usage": USAGE, "service_tier": "priority"}
    sent = desk.send("a", CHAT, chat(), answer=[whole(said)])
    charged("complete", exactly=cost("A", factor=10, input=1000, output=500))(sent)
    assert sent.record()["trilane.uncovered"], sent.record()
    assert sum(counters(desk.stack, desk.ledger, r"trilane_uncovered").values()) == before + 1


def test_the_usage_event_is_withheld_wherever_the_stream_is_cut(desk: Desk) -> None:
    extra = b'data: {"choices":[],\ndata: "usage":{"prompt_tokens":1000,"completion_tokens":500}}\n\n'
    before = event({"choices": [{"index": 0, "delta": {"content": "hello"}}]}) + event(
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    )
    sent_whole, want = before + extra + event("[DONE]"), before + event("[DONE]")
    cuts = [[sent_whole[:at], sent_whole[at:]] for at in range(len(before) - 3, len(before + extra) + 4, 3)]
    for pieces in [*cuts, [sent_whole[at : at + 1] for at in range(len(sent_whole))]]:
        sent = desk.send("a", CHAT, chat(stream=True), answer=stream(*pieces))
        assert sent.answer and sent.answer.complete and sent.answer.body == want, f"{pieces}: {sent}"
        charged("complete", exactly=cost("A", input=1000, output=500))(sent)


# ---- Paths and headers

#: Method, path and protocol of what is not served, as it comes to Envoy.
PATHS = f"""
a POST /v1/audio/speech
a DELETE /v1/responses/r
a GET /v1/realtime
a POST /v1/chat/completions/
a POST /v1/responses;x=1
a POST /v1/responses%20
b GET /v1/messages/batches/b/results
b POST /v1/messages/count_tokens/x
c POST /v1beta/models/../tunedModels/x:generateContent
c POST /v1beta/models/..%2ftunedModels%2fx:generateContent
c POST /v1beta/models/{MODELS["C"]}%3f:generateContent
c POST /v1beta/models/{MODELS["C"]}:generateContent%00
c POST {GENERATE}?alt=sse&alt=proto
c POST {GENERATE}?%24fields=candidates
c POST /upload/v1beta/files
"""
#: Paths that Envoy makes one that is served of before the filter sees them: the decision is about what arrives.
SAME = {
    "/v1//responses": RESPONSES,
    "/v1/x/../responses": RESPONSES,
    "/v1/%72esponses": RESPONSES,
}
BODIES = {"a": response(), "b": message(), "c": generate()}


@pytest.mark.parametrize("line", PATHS.strip().splitlines())
def test_what_is_not_served(desk: Desk, line: str) -> None:
    """By a key of its protocol's group, and by one of a Mixed group."""
    group, method, path = line.split(" ")
    for owner in (group, "mixed"):
        sent = desk.send(owner, path, None if method in ("GET", "DELETE") else BODIES[group], method=method, name=line)
        assert sent.status in (400, 401, 403, 404, 405) and sent.code is not None, sent
        assert not sent.arrived(), sent


def test_paths_that_are_made_another(desk: Desk) -> None:
    for path, target in SAME.items():
        forwarded(target=target)(desk.send("a", path, response(), name=path))


OVERRIDES = {
    **dict.fromkeys(("x-http-method-override", "x-http-method", "x-method-override"), "DELETE"),
    **dict.fromkeys(("x-original-url", "x-rewrite-url", "x-original-path", "x-envoy-original-path", "x-forwarded-uri"), "/v1/files"),
}
#: Of each kind of header that stays here; all of them are in `tests/golden/cases/abuse_wire_headers.txt`.
KEPT_BACK = [
    *("proxy-authorization", "api-key", "cookie", "x_api_key", "x-any-vendors-key", "x-client-cert"),
    *("forwarded", "x-forwarded-for", "x-real-ip", "via", "x-envoy-external-address"),
    *("accept-encoding", "range", "if-none-match", "openai-organization", "x-model", "x-envoy-max-retries", "x-trilane-cluster"),
]
VALUE = "a-value-to-be-found"
WITHHELD = [
    *("x-envoy-upstream-service-time", "x-envoy-ratelimited", "x-envoy-attempt-count", "x-trilane-again", "x-trilane-hop"),
    *("x-trilane-error", "set-cookie", "authorization", "x-ratelimit-limit-requests", "location", "alt-svc"),
    *("strict-transport-security", "access-control-allow-origin", "www-authenticate", "openai-organization"),
]
RELAYED = ["openai-processing-ms", "retry-after", "x-should-retry", "server-timing", "cf-ray"]


@pytest.mark.parametrize(("group", "path", "body"), ENDPOINTS, ids=[group for group, _, _ in ENDPOINTS])
def test_headers_that_stay_here(desk: Desk, group: str, path: str, body: object) -> None:
    """Each comes once beside the key, and again under the same name."""
    headers: list[Header] = [*((name, VALUE) for name in KEPT_BACK * 2), *OVERRIDES.items()]
    sent = desk.send(group, path, body, headers=headers)
    forwarded(headers=dict.fromkeys(KEPT_BACK))(sent)
    for header, text in sent.only().headers:
        assert VALUE not in text, f"{sent}: {header}"
    # Envoy's own of this name says where the request came.
    assert all(sent.only().header(name) in (None, path) for name in OVERRIDES), sent.only()


@pytest.mark.parametrize("status", ["200 OK", "429 Too Many Requests", "500 Internal Server Error", "a stream"])
def test_headers_of_answers(desk: Desk, status: str) -> None:
    more = [f"{name}: {VALUE}" for name in (*WITHHELD, *RELAYED)]
    streams = status == "a stream"
    answer = stream(event("[DONE]"), more=more) if streams else [whole({"error": {}}, status, "application/json", *more)]
    sent = desk.send("a", CHAT, chat(stream=streams), answer=answer)
    assert sent.answer and sent.status == (200 if streams else int(status[:3])), sent
    for name in WITHHELD:
        assert VALUE not in [text for header, text in sent.answer.headers if header == name], f"{sent}: {name}"
    for name in RELAYED:
        assert sent.answer.header(name) == VALUE, f"{sent}: {name}"


@pytest.mark.parametrize("status", ["099", "000", "600", "999"])
def test_statuses_that_are_none(desk: Desk, status: str) -> None:
    """The client gets the gateway's own 502, in its protocol's shape."""
    for group, path, body in ENDPOINTS:
        answer = head(f"{status} Odd", "application/json", length=2) + b"{}"
        sent = desk.send(group, path, body, answer=[answer], name=status)
        assert (sent.status, sent.code) == (502, "bad_gateway"), sent
        assert sent.answer and sent.answer.header("content-type") == "application/json", sent
