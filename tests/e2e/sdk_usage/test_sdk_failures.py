"""Upstreams that fail, as a program sees them through each SDK: an exception of the right class, in our words."""

from __future__ import annotations

import dataclasses
import http.client
from typing import Any, Mapping, Optional
from urllib.parse import urlsplit

import pytest
from e2e.ledger_reader import Ledger, Record
from e2e.sdk_usage.replaying import Replayer
from e2e.sdk_usage.response_fixtures import ALL, TEXT_MODELS
from e2e.sdk_usage.sdk_errors import NO_ANSWER, judge_ours
from e2e.sdk_usage.sdk_rounds import Call, Made, Sdks, made_of, of_protocol
from e2e.sdk_usage.usage_document import FAILING, key_of
from e2e.sdk_usage.usage_lines import judge
from stack import Stack

#: What each call would have read, had the upstream not failed.
CALLS = {
    "A": {"chat": "chat-text.json", "chat_stream": "chat-stream-usage.sse", "responses_stream": "responses-stream.sse"},
    "B": {"messages": "messages-stream.sse", "messages_helper": "messages-stream.sse"},
    "C": {"generate": "generateContent.json", "generate_stream": "streamGenerateContent.sse"},
}
SHORT_IDLE = {"x-short-idle": "1"}


@dataclasses.dataclass(frozen=True)
class Failure:
    """A way to fail."""

    name: str
    #: How the upstream ends, as in `replaying.py`.
    end: str = ""
    #: The cluster that fails by itself.
    cluster: str = ""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Part of the ledger's `trilane.upstream_failure`: Envoy's reason, before the head.
    reason: str = ""
    #: The ledger's `trilane.outcome`, in the middle.
    outcome: Optional[str] = None

    def calls(self, protocol: str) -> list[str]:
        """The calls that meet it: each takes a second of silence, and one more until Envoy closes."""
        calls = list(CALLS[protocol])
        if self.headers:
            calls = calls[:2]
        # There is no JSON of protocol B among the fixtures; before the head it makes no difference.
        only_streams = self.outcome and (self.headers or protocol == "B")
        return calls[1:] if only_streams else calls


FAILURES = [
    Failure("connection-refused", cluster="nobody_listens", reason="connection_failure"),
    Failure("no-healthy-host", cluster="no_host", reason="no_healthy_upstream"),
    Failure("no-credential-for-the-source", cluster="no_credential", reason="failed_to_inject_credential"),
    Failure("reset-before-the-head", end="reset-head", reason="upstream_reset_before_response_started"),
    Failure("closed-before-the-head", end="fin-head", reason="upstream_reset_before_response_started"),
    Failure("silent-before-the-head", end="stall-head", headers=SHORT_IDLE, reason="stream_idle_timeout"),
    Failure("closed-in-the-middle", end="fin", outcome="upstream_reset"),
    Failure("silent-in-the-middle", end="stall", headers=SHORT_IDLE, outcome="timeout"),
]
assert {failure.cluster for failure in FAILURES} - {""} == set(FAILING)


def marked(failure: Failure, protocol: str, call: Call) -> str:
    return f"{failure.name}-{protocol}-{call}"


CASES = [
    (failure, protocol, Call(sdk, failure.name, call, TEXT_MODELS[protocol], key_of(protocol, failure.cluster),
                             {**failure.headers, "x-fixture": fixture, "x-fixture-end": failure.end or "end"}))
    for failure in FAILURES
    for protocol, calls in CALLS.items()
    for call, fixture in calls.items()
    for sdk in of_protocol(protocol)
    if call in failure.calls(protocol)
]  # fmt: skip


class Round:
    """All calls, made, and their lines."""

    def __init__(self, made: dict[str, Made], lines: Ledger, replayer: Replayer) -> None:
        self._made = made
        self._replayer = replayer
        known = [request["x-request-id"] for each in made.values() for request in replayer.seen(each.mark)]
        self._lines = lines.of_requests(known)
        self._by_key = {}
        for key in {key_of(protocol, cluster) for protocol in CALLS for cluster in FAILING}:
            number = sum(each.call.key == key for each in made.values())
            self._by_key[key] = found = lines.of_key(key, number)
            assert len(found) == number, f"{len(found)} lines of {key}, not {number}"

    def of(self, failure: Failure, call: Call) -> tuple[Made, list[Record]]:
        """What came of a call, and its line; where no upstream was asked, the lines of all calls with its key."""
        made = made_of(self._made, call)
        seen = self._replayer.seen(made.mark)
        assert len(seen) == (0 if failure.cluster else 1), f"{made.where}: {len(seen)} requests, {made.told}"
        return made, [self._lines[seen[0]["x-request-id"]]] if seen else self._by_key[call.key]


@pytest.fixture(scope="module")
def made(replay_stack: Stack, replayer: Replayer, sdks: Sdks) -> Round:
    lines = Ledger(replay_stack.access_log).skip()
    calls = [call for _, _, call in CASES]
    return Round(sdks.make(replay_stack.base_url, lambda mark: {"x-fixture-mark": mark}, calls), lines, replayer)


def table(in_the_middle: bool) -> list[Any]:
    return [
        pytest.param(failure, protocol, call, id=str(call))
        for failure, protocol, call in CASES
        if (failure.outcome is not None) == in_the_middle
    ]


@pytest.mark.parametrize("failure, protocol, call", table(in_the_middle=False))
def test_no_answer_is_a_502_of_ours(failure: Failure, protocol: str, call: Call, made: Round) -> None:
    each, lines = made.of(failure, call)
    judge_ours(each, protocol, NO_ANSWER)
    want = {"trilane.outcome": "upstream_failed", "trilane.usage.status": "failed", "error.type": "bad_gateway"}
    for line in lines:
        judge(each.where, line, {**want, "http.response.status_code": 502, "trilane.upstream_status": None})
        assert failure.reason in line["trilane.upstream_failure"], f"{each.where}: {line}"
    headers = each.raised.get("headers")
    if headers:
        assert headers["x-request-id"] in {line["request_id"] for line in lines}, f"{each.where}: {headers}"
        # Another try may well succeed.
        assert "x-should-retry" not in headers, f"{each.where}: {headers}"
    if protocol == "B":
        assert each.raised["body_request_id"] == each.raised["request_id"], f"{each.where}: {each.raised}"


@pytest.mark.parametrize("failure, protocol, call", table(in_the_middle=True))
def test_half_an_answer_never_looks_whole(failure: Failure, protocol: str, call: Call, made: Round) -> None:
    """The head is gone, so there is no answer of ours: the connection breaks, and the SDK says so."""
    each, (line,) = made.of(failure, call)
    assert each.raised, f"{each.where}: {each.told}"
    judge(each.where, line, {"trilane.outcome": failure.outcome, "trilane.usage.status": "partial"})
    judge(each.where, line, {"http.response.status_code": 200, "error.type": None, "trilane.upstream_failure": None})
    whole = ALL[call.headers["x-fixture"]].expect
    assert line.get("gen_ai.usage.output_tokens", 0) <= whole["output"], f"{each.where}: {line}"


def test_a_missing_credential_does_not_look_like_the_clients(replay_stack: Stack) -> None:
    """Envoy's own 401 would make programs throw away a good key."""
    where = urlsplit(replay_stack.base_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    key = key_of("B", "no_credential")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json"}
    connection.request("POST", "/v1/messages", '{"model":"claude-sonnet-5-5","max_tokens":1,"messages":[]}', headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert (answer.status, answer.getheader("x-trilane-error")) == (502, "bad_gateway"), body
    assert b"inject" not in body and b"credential" not in body, body
    assert answer.getheader("x-request-id") == answer.getheader("request-id"), answer.getheaders()
