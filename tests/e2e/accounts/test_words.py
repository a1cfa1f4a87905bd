"""Answers whose words tell what their status does not: the account is at fault, or a 200 is no answer."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import RENAMED, account
from e2e.accounts.own_groups import document_of, group_of, headers_of
from e2e.accounts.operations import BY_NAME, Operation, is_native_error
from e2e.accounts.scripted import Answer, ScriptedAccount
from e2e.ledger_reader import Record, kinds
from waiting import until

CHAT, CHATS, MSG = BY_NAME["chat"], BY_NAME["chat-stream"], BY_NAME["messages-stream"]
NO_CREDIT = Answer.json(400, '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_1"}')
NO_QUOTA = Answer.json(429, '{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}')
NO_MODEL_A = '{"error":{"message":"The model gpt-5.1 does not exist or you do not have access to it.","type":"invalid_request_error","param":"model","code":"model_not_found"}}'
NO_MODEL_B = '{"type":"error","error":{"type":"not_found_error","message":"model: claude-opus-4-5"}}'
WRONG = '{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: must be positive"}}'
GOOD_A = Answer.json(200, '{"id":"x","object":"chat.completion","model":"gpt-5.1","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}')
START = b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-5","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}\n\n'
REST = b"".join(
    b"data: " + event + b"\n\n"
    for event in (
        b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}',
        b'{"type":"content_block_stop","index":0}',
        b'{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}',
        b'{"type":"message_stop"}',
    )
)
GOOD_B = Answer.events(START + REST)
OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
CHUNKS = Answer.events(
    b'data: {"id":"x","object":"chat.completion.chunk","model":"gpt-5.1","choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n',
    b'data: {"id":"x","object":"chat.completion.chunk","model":"gpt-5.1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}\n\ndata: [DONE]\n\n',
)
GOOD = {"chat": GOOD_A, "chat-stream": CHUNKS, "messages-stream": GOOD_B}
#: Each test has a group, and so accounts, that nothing is known of.
_NUMBERS = itertools.count()


class Pair:
    """A group with the accounts `one` and `two`, of which `one` is always asked first."""

    def __init__(self, desk: Desk, operation: Operation, one: ScriptedAccount, two: ScriptedAccount | None, group: dict[str, Any] | None = None, **failover: Any) -> None:
        self.operation = operation
        self._desk = desk
        name = f"words-{next(_NUMBERS)}"
        accounts = [account(operation.protocol, "a1", 0, id="one", url=one.url)]
        if two:
            accounts.append(account(operation.protocol, "a2", 1, id="two", url=two.url))
            failover = {"failover": {"set_aside_seconds": 5, **failover}}
        self._group = group_of(name, operation.protocol, accounts, clients="current", **failover, **(group or {}))
        desk.publish(document_of(self._group))

    def ask(self, model: str = "") -> tuple[Any, Record]:
        """The answer, and its record."""
        path, body = self.operation.request(model)
        version = {"anthropic-version": "2023-06-01"} if self.operation.protocol == "B" else {}
        headers = {**headers_of(self._group, self.operation), **version, "content-type": "application/json"}
        answer = self._desk.http.post(path, content=body, headers=headers)
        return answer, self._desk.ledger.of_request(answer.headers["x-request-id"])

    @property
    def ejected(self) -> list[str]:
        return [name for source, name in self._desk.set_aside() if source == self._group["id"]]


@pytest.fixture
def one() -> Iterator[ScriptedAccount]:
    with ScriptedAccount(GOOD_A) as running:
        yield running


@pytest.fixture
def two() -> Iterator[ScriptedAccount]:
    with ScriptedAccount(GOOD_A) as running:
        yield running


# (case, operation, what `one` answers, the kind of failure, whether it is set aside)
FAULTS = [
    ("no credit", MSG, NO_CREDIT, "unauthorized", True),
    ("no credit, in chunks", MSG, Answer(400, NO_CREDIT.parts), "unauthorized", True),
    ("no credit, in pieces", MSG, Answer(400, (NO_CREDIT.parts[0][:40], 0.05, NO_CREDIT.parts[0][40:])), "unauthorized", True),  # type: ignore[index]
    ("no quota, a 429", CHAT, NO_QUOTA, "unauthorized", True),
    ("no such model, 404", CHAT, Answer.json(404, NO_MODEL_A), "no_model", False),
    ("no such model, 400", CHAT, Answer.json(400, NO_MODEL_A), "no_model", False),
    ("no such model, 403", CHAT, Answer.json(403, NO_MODEL_A), "no_model", False),
    ("no such model, protocol B", MSG, Answer.json(404, NO_MODEL_B), "no_model", False),
    ("an error as the first event", MSG, Answer.events(OVERLOADED), "overloaded", True),
    ("an error behind the preamble", MSG, Answer.events(START, 0.05, OVERLOADED), "overloaded", True),
    ("an empty stream", MSG, Answer.events(), "server_error", True),
    ("nothing at all", CHAT, Answer(200, (), length=True), "server_error", True),
    ("a chunk that is an error", CHATS, Answer.events(b'data: {"error":{"message":"no","code":502}}\n\n'), "server_error", True),
]


@pytest.mark.parametrize(("case", "operation", "answer", "kind", "set_aside"), FAULTS, ids=[each[0] for each in FAULTS])
@pytest.mark.parametrize("way", ["by the hop", "direct"])
def test_the_next_account_is_asked(
    accounts: Desk, one: ScriptedAccount, two: ScriptedAccount, way: str, case: str, operation: Operation, answer: Answer, kind: str, set_aside: bool
) -> None:
    """An account that has not answered yet is asked by way of the hop, one that has directly."""
    one.answer = two.answer = GOOD[operation.name]
    pair = Pair(accounts, operation, one, two)
    if way == "direct":
        assert pair.ask()[1]["trilane.account"] == "one"
    one.answer, before = answer, one.asked
    got, record = pair.ask()
    assert got.status_code == 200 and b"ok" in got.content, (case, got.status_code, got.content)
    assert b"".join(part for part in two.answer.parts if isinstance(part, bytes)) == got.content, case
    assert kinds(record) == [("one", kind)] and record["trilane.account"] == "two", (case, record)
    assert record["trilane.tries"] == 2 and record["trilane.usage.status"] == "complete", (case, record)
    assert (one.asked - before, two.asked) == (1, 1), case
    assert pair.ejected == (["one"] if set_aside else []), case
    assert "x-trilane-judged" not in got.headers, case


# (case, operation, what `one` answers, what the line says of its failed attempt)
NAMED = [
    ("no credit", MSG, NO_CREDIT, {"fault": "no_credit", "error": {"type": "invalid_request_error"}}),
    ("no such model", CHAT, Answer.json(404, NO_MODEL_A), {"fault": "no_model", "error": {"type": "invalid_request_error", "code": "model_not_found", "param": "model"}}),
    ("forbidden, for an unknown reason", CHAT, Answer.json(403, '{"error":{"type":"x","code":17,"message":"no"}}'), {"error": {"type": "x", "code": "17"}}),
    ("a 429", CHAT, Answer.json(429, '{"error":{"type":"requests","code":"rate_limit_exceeded"}}'), {"error": {"type": "requests", "code": "rate_limit_exceeded"}}),
    ("a 401", CHAT, Answer.json(401, '{"error":{"type":"invalid_request_error","code":"invalid_api_key"}}'), {"fault": "dead_key", "error": {"type": "invalid_request_error", "code": "invalid_api_key"}}),
    ("an event", MSG, Answer.events(OVERLOADED), {"error": {"type": "overloaded_error"}}),
    ("without words", CHAT, Answer.json(403, "{}"), {}),
]


@pytest.mark.parametrize(("case", "operation", "answer", "named"), NAMED, ids=[each[0] for each in NAMED])
def test_the_line_names_the_vendors_error(
    accounts: Desk, one: ScriptedAccount, two: ScriptedAccount, case: str, operation: Operation, answer: Answer, named: dict[str, Any]
) -> None:
    one.answer = two.answer = GOOD[operation.name]
    for way in ("by the hop", "direct"):
        pair = Pair(accounts, operation, one, two)
        if way == "direct":
            assert pair.ask()[1]["trilane.account"] == "one"
        one.answer = answer
        got, record = pair.ask()
        (failed,) = record["trilane.tries.failed"]
        assert {name: failed.get(name) for name in ("fault", "error") if name in failed} == named, (case, way, record)
        assert got.status_code == 200 and "x-trilane-judged" not in got.headers, (case, way)
        one.answer = GOOD[operation.name]


def test_the_line_names_the_error_that_the_client_got(accounts: Desk, one: ScriptedAccount) -> None:
    pair = Pair(accounts, CHAT, one, None)
    one.answer = Answer.json(400, '{"error":{"message":"Unknown parameter: a.","type":"invalid_request_error","param":"a","code":"unknown_parameter"}}')
    got, record = pair.ask()
    named = {name.rpartition(".")[2]: value for name, value in record.items() if name.startswith("trilane.upstream_error.")}
    assert got.status_code == 400 and named == {"type": "invalid_request_error", "code": "unknown_parameter", "param": "a"}, record
    assert "Unknown parameter" not in json.dumps(record), record


def test_faults_of_the_request_ask_nobody_else(accounts: Desk, one: ScriptedAccount, two: ScriptedAccount) -> None:
    """Byte for byte as they come; also where a client has the words of a fault repeated."""
    one.answer = two.answer = GOOD_B
    pair = Pair(accounts, MSG, one, two)
    echo = WRONG.replace("max_tokens", "Your credit balance is too low to access the Anthropic API.")
    huge = json.dumps({"error": {"code": "insufficient_quota", "message": "x" * 9000}})
    for way in ("by the hop", "direct"):
        for case, status, body in [("wrong", 400, WRONG), ("an echo", 400, "tools: " + echo), ("too long to be read", 400, huge), ("no words", 404, "<html>")]:
            one.answer = Answer.json(status, body)
            got, record = pair.ask()
            where = (way, case)
            assert (got.status_code, got.text) == (status, body), (where, got.status_code, got.text)
            assert record["trilane.tries"] == 1 and not kinds(record) and record["trilane.account"] == "one", (where, record)
        one.answer = GOOD_B
        assert pair.ask()[1]["trilane.account"] == "one", way
    assert two.asked == 0 and not pair.ejected


# (case, operation, the answer, the status for the client, its code, the kind of failure)
ONLY = [
    ("no credit", MSG, NO_CREDIT, 502, "bad_gateway", "unauthorized"),
    ("no quota", CHAT, NO_QUOTA, 502, "bad_gateway", "unauthorized"),
    ("no such model", CHAT, Answer.json(404, NO_MODEL_A), 403, "model_not_entitled", "no_model"),
    ("no such model, in pieces", CHAT, Answer(404, (NO_MODEL_A.encode()[:30], 0.05, NO_MODEL_A.encode()[30:])), 403, "model_not_entitled", "no_model"),
]


@pytest.mark.parametrize(("case", "operation", "answer", "status", "code", "kind"), ONLY, ids=[each[0] for each in ONLY])
@pytest.mark.parametrize("accounts_of_it", [1, 2])
def test_where_nobody_does_better(
    accounts: Desk, one: ScriptedAccount, two: ScriptedAccount, accounts_of_it: int, case: str, operation: Operation, answer: Answer, status: int, code: str, kind: str
) -> None:
    """Our own error, final, and not a word of the vendor's to the operator."""
    one.answer = two.answer = answer
    pair = Pair(accounts, operation, one, two if accounts_of_it == 2 else None)
    got, record = pair.ask()
    assert got.status_code == status and got.headers["x-trilane-error"] == code, (case, got.status_code, got.text)
    assert got.headers["x-should-retry"] == "false" and is_native_error(operation.protocol, got.content), (case, got.text)
    assert "credit" not in got.text and "Billing" not in got.text, case
    assert kinds(record) == [("one", kind), ("two", kind)][:accounts_of_it], (case, record)
    assert record["trilane.outcome"] == "upstream_failed" and "trilane.charge" not in record, (case, record)
    assert record["trilane.upstream_status"] == answer.status, (case, record)


def test_a_preamble_is_held_for_a_moment_and_nothing_else(accounts: Desk, one: ScriptedAccount, two: ScriptedAccount) -> None:
    """300 ms at most; what comes behind it is not late, and an error then goes to the client."""
    one.answer = two.answer = GOOD_B
    pair = Pair(accounts, MSG, one, two)
    pair.ask()
    one.answer = Answer.events(START, 3.0, REST)
    path, body = MSG.request()
    headers = {**headers_of(pair._group, MSG), "anthropic-version": "2023-06-01", "content-type": "application/json"}
    began = time.monotonic()
    with accounts.http.stream("POST", path, content=body, headers=headers) as answer:
        came = [(time.monotonic() - began, piece) for piece in answer.iter_raw()]
    first, last = came[0], came[-1]
    assert first[1] == START and 0.25 < first[0] < 2.5, f"the preamble is let go before the rest: {came}"
    assert b"".join(piece for _, piece in came) == START + REST and last[0] > 3, came
    one.answer = Answer.events(START, 1.0, OVERLOADED)
    got, record = pair.ask()
    assert got.content == START + OVERLOADED and record["trilane.outcome"] == "error_event", record
    assert two.asked == 0 and record["trilane.account"] == "one"


def limited(**headers: str) -> Answer:
    return Answer.json(429, '{"error":{"message":"slow down","type":"rate_limit_error"}}', **headers)


def test_a_vendor_says_how_long_an_account_is_left_alone(accounts: Desk, one: ScriptedAccount, two: ScriptedAccount) -> None:
    """As long as it asks, up to the group's bound, and for the one model."""
    pair = Pair(accounts, CHAT, one, two, set_aside_seconds=1, set_aside_max_seconds=6)
    one.answer = limited(retry_after="3600")
    for way in ("by the hop", "direct"):
        began, before = time.monotonic(), one.asked
        tried = []
        while (since := time.monotonic() - began) < 4.5:
            got, record = pair.ask()
            assert got.status_code == 200, (way, got.text)
            tried.append((since, record["trilane.tries"], kinds(record)))
        assert tried[0][1:] == (2, [("one", "rate_limited")]), (way, tried[0])
        assert {each[1] for each in tried[1:]} == {1} and one.asked == before + 1, (way, tried)
        assert pair.ejected == ["one"], way
        assert pair.ask(RENAMED["A"])[1]["trilane.tries"] == 2, f"{way}: of another model nothing is known"
        one.answer = GOOD_A
        until(lambda: pair.ask()[1]["trilane.account"] == "one")
        one.answer = limited(anthropic_ratelimit_unified_reset=str(int(time.time()) + 3600))
        until(lambda: not pair.ejected)


def test_only_a_429_says_how_long(accounts: Desk, one: ScriptedAccount, two: ScriptedAccount) -> None:
    pair = Pair(accounts, CHAT, one, two, set_aside_seconds=1)
    one.answer = Answer.json(504, "{}", retry_after="86400")
    assert kinds(pair.ask()[1]) == [("one", "server_error")]
    one.answer = GOOD_A
    until(lambda: pair.ask()[1]["trilane.account"] == "one", timeout=10)


# (case, what `one` and `two` answer, the status for the client, its `retry-after`)
ALL_FAIL = [
    ("a limit, then a refusal", limited(retry_after="7"), Answer.json(401, "{}"), 429, "7"),
    ("a limit, then no credit", limited(retry_after_ms="6500"), NO_CREDIT, 429, "7"),
    ("a limit that does not say how long, then a refusal", limited(), Answer.json(401, "{}"), 429, "5"),
    ("two limits: the account's own", limited(retry_after="7"), limited(retry_after="9"), 429, "9"),
    ("a refusal, then a fault", Answer.json(401, "{}"), Answer.json(500, "{}"), 500, None),
]


@pytest.mark.parametrize(("case", "first", "second", "status", "wait"), ALL_FAIL, ids=[each[0] for each in ALL_FAIL])
def test_the_most_useful_answer(
    accounts: Desk, one: ScriptedAccount, two: ScriptedAccount, case: str, first: Answer, second: Answer, status: int, wait: str | None
) -> None:
    """Who is told to come back later gets further than who is told that something is broken."""
    one.answer, two.answer = first, second
    got, record = Pair(accounts, CHAT, one, two).ask()
    assert (got.status_code, got.headers.get("retry-after")) == (status, wait), (case, got.text, got.headers)
    assert record["trilane.tries"] == 2 and is_native_error("A", got.content) or got.content in (b"{}", second.parts[0]), (case, got.text)


@pytest.mark.parametrize("told", [False, True])
def test_the_text_of_an_error_where_the_operator_says_so(accounts: Desk, one: ScriptedAccount, told: bool) -> None:
    """What looks like a credential is masked."""
    one.answer = Answer.json(400, '{"error":{"message":"Wrong: sk-proj-abcdefghijklmnop is no key. 余额不足","type":"invalid_request_error","param":null,"code":"bad"}}')
    _, record = Pair(accounts, CHAT, one, None, error_text=told).ask()
    assert record["trilane.upstream_error.code"] == "bad", record
    assert record.get("trilane.upstream_error.message") == ("Wrong: [masked] is no key. 余额不足" if told else None), record


@pytest.mark.parametrize("told", [False, True])
def test_the_text_of_a_failed_attempt(accounts: Desk, one: ScriptedAccount, two: ScriptedAccount, told: bool) -> None:
    """It comes by way of the judge, in a header."""
    one.answer = Answer.json(400, '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}')
    two.answer = GOOD_B
    pair = Pair(accounts, MSG, one, two, group={"error_text": told})
    answer, record = pair.ask()
    assert answer.status_code == 200, answer
    [failed] = record["trilane.tries.failed"]
    message = failed.get("error", {}).get("message")
    assert (message or "").startswith("Your credit balance is too low") == told and (told or message is None), record
