"""Every answer in `tests/fixtures/responses` passes as it is, however it is cut and ended, and is metered right."""

from __future__ import annotations

import dataclasses
import http.client
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from e2e.ledger_reader import Ledger, Record
from e2e.sdk_usage.replaying import Replayer
from e2e.sdk_usage.response_fixtures import ALL, Fixture
from e2e.sdk_usage.usage_document import key_of
from e2e.sdk_usage.usage_lines import judge
from stack import Stack

#: How the upstream cuts and ends its answers.
WAYS = [("whole", "end"), ("bytes", "end"), ("pieces", "end"), ("pieces", "reset")]

#: Answers that the gateway replaces: they accuse an account that the client knows nothing of.
REPLACED = {401: (502, "bad_gateway"), 403: (403, "model_not_entitled")}


@dataclasses.dataclass(frozen=True)
class Relayed:
    """An answer as the client got it."""

    status: int
    headers: dict[str, str]
    body: bytes
    #: Whether its end never came.
    broken: bool
    #: Whether the upstream was asked once.
    asked: int
    line: Record


def credential(protocol: str) -> dict[str, str]:
    """The key of the group that works."""
    key = key_of(protocol)
    return {"A": {"authorization": f"Bearer {key}"}, "B": {"x-api-key": key}, "C": {"x-goog-api-key": key}}[protocol]


def fetch(base_url: str, replayer: Replayer, fixture: Fixture, cut: str, end: str) -> tuple[str, Relayed]:
    """Asks for it; the mark of the request, and what came without its line."""
    mark = f"raw-{cut}-{end}-{fixture.name}"
    path, headers, body = fixture.request()
    where = urlsplit(base_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    steering = {"x-fixture": fixture.name, "x-fixture-cut": cut, "x-fixture-end": end, "x-fixture-mark": mark}
    connection.request("POST", path, body, {**headers, **credential(fixture.protocol), **steering})
    answer = connection.getresponse()
    broken = False
    if end == "reset" and answer.getheader("x-trilane-error") is None:
        got = answer.read(len(fixture.body))
        replayer.let_go(mark)
        try:
            got += answer.read()
        except (http.client.IncompleteRead, ConnectionError):
            broken = True
    else:
        got = answer.read()
    connection.close()
    replayer.let_go(mark)
    told = {name.lower(): value for name, value in answer.getheaders()}
    return mark, Relayed(answer.status, told, got, broken, len(replayer.seen(mark)), {})


@pytest.fixture(scope="module")
def relayed(replay_stack: Stack, replayer: Replayer) -> dict[str, Relayed]:
    """All of them, by name, cut and end."""
    lines = Ledger(replay_stack.access_log).skip()
    wanted = [(fixture, cut, end) for cut, end in WAYS for fixture in ALL.values()]
    # A broken answer takes a second: Envoy then waits that long before it closes.
    with ThreadPoolExecutor(24) as pool:
        found = dict(pool.map(lambda each: fetch(replay_stack.base_url, replayer, *each), wanted))
    ids = {mark: replayer.seen(mark)[0]["x-request-id"] for mark in found}
    known = lines.of_requests(ids.values())
    return {mark: dataclasses.replace(each, line=known[ids[mark]]) for mark, each in found.items()}


CASES = [
    pytest.param(fixture, cut, end, id=f"{fixture.name}-{cut}-{end}") for cut, end in WAYS for fixture in ALL.values()
]


@pytest.mark.parametrize("fixture, cut, end", CASES)
def test_the_body_is_what_the_upstream_sent(
    fixture: Fixture, cut: str, end: str, relayed: dict[str, Relayed]
) -> None:
    got = relayed[f"raw-{cut}-{end}-{fixture.name}"]
    assert got.asked == 1, "the upstream was asked once"
    assert got.headers.get("x-request-id"), got.headers
    if fixture.protocol == "B":
        assert got.headers.get("request-id"), got.headers
    if fixture.status in REPLACED:
        status, code = REPLACED[fixture.status]
        assert (got.status, got.headers.get("x-trilane-error")) == (status, code), got
        return
    assert got.status == fixture.status
    assert got.body == fixture.body
    assert got.broken == (end == "reset"), "the end is the upstream's"
    assert got.headers["content-type"] == fixture.content_type
    assert "x-trilane-error" not in got.headers
    for name in fixture.headers:
        if name in ("x-request-id", "request-id"):
            assert got.headers[name].startswith("replay-"), f"{name}: the upstream's own id is kept"
        else:
            assert got.headers[name] == fixture.headers[name], name
    if cut == "whole" and end == "end":
        assert got.headers["content-length"] == str(len(fixture.body))


@pytest.mark.parametrize("fixture, cut, end", CASES)
def test_the_ledger_has_what_it_used(fixture: Fixture, cut: str, end: str, relayed: dict[str, Relayed]) -> None:
    where = f"{fixture.name}, {cut}, {end}"
    line = relayed[f"raw-{cut}-{end}-{fixture.name}"].line
    judge(where, line, fixture.ending_members(end))
    judge(where, line, fixture.usage_members())
    if fixture.is_counted and "input_uncached" in fixture.expect:
        assert fixture.uncached(line) == fixture.expect["input_uncached"], where
    assert ("trilane.charge" in line) == ("gen_ai.usage.input_tokens" in line), "what was used is charged, nothing else"
    if fixture.status not in REPLACED:
        assert line.get("http.response.body.size", len(fixture.body)) == len(fixture.body), where


def test_all_fixtures_are_there() -> None:
    assert len(ALL) >= 49
    assert sum(fixture.is_counted for fixture in ALL.values()) >= 21
