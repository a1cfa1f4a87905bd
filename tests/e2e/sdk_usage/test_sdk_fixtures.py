"""The official SDKs read every answer in `tests/fixtures/responses`; what they say was used is what the ledger says."""

from __future__ import annotations

import json
from typing import Any, Mapping

import pytest
from e2e.ledger_reader import Ledger, Record
from e2e.sdk_usage.replaying import Replayer
from e2e.sdk_usage.response_fixtures import ANSWERS, ERRORS, IMAGE_MODEL, TEXT_MODELS, Fixture
from e2e.sdk_usage.sdk_errors import OURS, error_class, judge_ours
from e2e.sdk_usage.sdk_rounds import Call, Made, Sdks, made_of, of_protocol
from e2e.sdk_usage.usage_document import key_of
from e2e.sdk_usage.usage_lines import flat, judge
from stack import Stack

#: The calls that read an answer, by its protocol, endpoint and whether it is a stream.
CALLS = {
    ("A", "5", False): ["chat"],
    ("A", "5", True): ["chat_stream", "chat_helper"],
    ("A", "3", False): ["responses"],
    ("A", "3", True): ["responses_stream", "responses_helper"],
    ("A", "7", False): ["images"],
    ("A", "7", True): ["images_stream"],
    ("A", "8", False): ["images_edit"],
    ("B", "9", True): ["messages_stream", "messages_helper"],
    ("C", "11", False): ["generate"],
    ("C", "12", True): ["generate_stream"],
    ("C", "x", False): ["count_tokens"],
    ("A", "err", False): ["chat", "responses_stream"],
    ("B", "err", False): ["messages", "messages_helper"],
    ("C", "err", False): ["generate", "generate_stream"],
}

def calls_for(fixtures: list[Fixture]) -> list[tuple[Fixture, Call]]:
    """Each with each call of each SDK that reads it."""
    return [
        (fixture, Call(sdk, fixture.name, call, model_of(call, fixture), key_of(fixture.protocol), steer(fixture)))
        for fixture in fixtures
        for sdk in of_protocol(fixture.protocol)
        for call in CALLS[fixture.protocol, fixture.endpoint, fixture.is_stream]
    ]


def model_of(call: str, fixture: Fixture) -> str:
    return IMAGE_MODEL if call.startswith("images") else TEXT_MODELS[fixture.protocol]


def steer(fixture: Fixture) -> Mapping[str, str]:
    """In pieces, so that events arrive torn."""
    return {"x-fixture": fixture.name, "x-fixture-cut": "pieces"}


ALL_CALLS = calls_for(ANSWERS) + calls_for(ERRORS)


class Round:
    """All calls, made, and their lines."""

    def __init__(self, made: dict[str, Made], lines: dict[str, Record], replayer: Replayer) -> None:
        self._made = made
        self._lines = lines
        self._replayer = replayer

    def of(self, call: Call) -> tuple[Made, Record]:
        """What came of a call. It took one request."""
        made = made_of(self._made, call)
        seen = self._replayer.seen(made.mark)
        assert len(seen) == 1, f"{made.where}: {len(seen)} requests, {made.told}"
        return made, self._lines[seen[0]["x-request-id"]]


@pytest.fixture(scope="module")
def made(replay_stack: Stack, replayer: Replayer, sdks: Sdks) -> Round:
    lines = Ledger(replay_stack.access_log).skip()
    calls = [call for _, call in ALL_CALLS]
    made = sdks.make(replay_stack.base_url, lambda mark: {"x-fixture-mark": mark}, calls)
    ids = [request["x-request-id"] for each in made.values() for request in replayer.seen(each.mark)]
    return Round(made, lines.of_requests(ids), replayer)


def table(cases: list[tuple[Fixture, Call]]) -> list[Any]:
    return [pytest.param(fixture, call, id=str(call)) for fixture, call in cases]


@pytest.mark.parametrize("fixture, call", table(calls_for(ANSWERS)))
def test_the_usage_of_an_sdk_is_the_ledgers(fixture: Fixture, call: Call, made: Round) -> None:
    """In the protocol's own convention, number by number."""
    each, line = made.of(call)
    judge(each.where, line, {**fixture.ending_members("end"), **fixture.usage_members()})
    error = fixture.expect.get("error")
    if each.raised:
        assert error or fixture.lacks_its_end, f"{each.where}: raised {each.raised}"
    if fixture.expect.get("images"):
        assert each.told["images"] == line["trilane.usage.images"], each.where
    if call.call == "messages_stream":
        # This call keeps the last event only. An error is raised.
        last = None if each.raised else each.told["last"]
        assert (last == "message_stop") == fixture.expect["complete"], f"{each.where}: {each.told}"
    elif fixture.name == "countTokens.json":
        assert each.told["total"] > 0 and each.usage is None, each.where
    elif fixture.protocol == "A" and not fixture.expect["complete"]:
        assert not flat(each.usage) and "trilane.usage.reported" not in line, f"{each.where}: {each.usage}"
    elif each.usage is None:
        # The Node helper forgets what it had when the stream fails.
        assert each.raised and not fixture.expect["complete"], f"{each.where}: {each.told}"
    else:
        assert flat(each.usage) == line["trilane.usage.reported"], each.where


FAILED_STREAMS = [fixture for fixture in ANSWERS if fixture.expect.get("error")]


@pytest.mark.parametrize("fixture, call", table(calls_for(FAILED_STREAMS)))
def test_an_error_in_the_middle_is_the_sdks_own(fixture: Fixture, call: Call, made: Round) -> None:
    """Raised, or in the case of Responses handed on as the last event."""
    each, line = made.of(call)
    if call.call == "responses_helper":
        # Whether it raises differs; a completed response it does not have.
        assert each.usage is None, f"{each.where}: {each.told}"
        return
    if not each.raised:
        assert call.call == "responses_stream", f"{each.where}: {each.told}"
        assert each.told["last"] in ("response.failed", "error"), f"{each.where}: {each.told}"
        return
    told = each.raised
    words = {told.get("type"), told.get("code"), told.get("status")}
    assert line["error.type"] in words or fixture.expect["error"] in told["text"], f"{each.where}: {told}"


@pytest.mark.parametrize("fixture, call", table(calls_for(ERRORS)))
def test_an_error_is_raised_as_what_it_is(fixture: Fixture, call: Call, made: Round) -> None:
    each, line = made.of(call)
    judge(each.where, line, fixture.ending_members("end"))
    told = each.raised
    status = {401: 502}.get(fixture.status, fixture.status)
    assert told.get("class") == error_class(fixture.protocol, status, call.sdk.where), f"{each.where}: {told}"
    assert told["status"] == status, f"{each.where}: {told}"
    if fixture.status in OURS:
        judge_ours(each, fixture.protocol, fixture.status)
        return
    message = json.loads(fixture.body)["error"]["message"]
    assert told["message"] == message, f"{each.where}: {told}"
    if told.get("headers"):
        for name in fixture.headers:
            if name not in ("x-request-id", "request-id"):
                assert told["headers"][name] == fixture.headers[name], f"{each.where}: {name}"
