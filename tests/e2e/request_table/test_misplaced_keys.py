"""A good key where its group does not read it: one header more than a bad key gets, and nothing else."""

from __future__ import annotations

from typing import Optional

import pytest
from e2e.request_table.cases_protocols import GENERATE
from e2e.request_table.documents import KEYS
from e2e.request_table.rows import VERSION, bearer, contents, goog, messages, vc, x_api_key
from e2e.request_table.table import Caller, Headers, Reply

MESSAGES, COUNT, CHAT = "/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions"
UNDER_V1 = GENERATE.replace("/v1beta/", "/v1/")
DETAIL = "x-trilane-detail"
_CURRENT = '"clients": "current" on the group also allows '
_OF_B, _OF_A = "reads keys of this key's group from x-api-key", "reads keys of this key's group from authorization: Bearer"
_OF_C = "reads keys of this key's group from x-goog-api-key or x-vc-api-key"

#: name, target, headers, the key, where it stood, parts of the sentence, what current clients may do besides
_MISPLACED: list[tuple[str, str, Headers, str, str, str, Optional[str]]] = [
    ("anthropic-py", MESSAGES, bearer("key_b") + VERSION, "key_b", "authorization", _OF_B, "authorization: Bearer"),
    ("count", COUNT, bearer("key_b") + VERSION, "key_b", "authorization", _OF_B, "authorization: Bearer"),
    ("mixed", MESSAGES, bearer("key_mixed"), "key_mixed", "authorization", _OF_B, "authorization: Bearer"),
    (
        "beside-another",
        MESSAGES,
        x_api_key("unknown") + bearer("key_b"),
        "key_b",
        "authorization",
        _OF_B,
        "authorization: Bearer",
    ),
    ("b-in-the-header-of-c", MESSAGES, goog("key_b_current"), "key_b_current", "x-goog-api-key", "or authorization: B", None),
    ("a", CHAT, x_api_key("key_a"), "key_a", "x-api-key", _OF_A, None),
    ("a-in-the-header-of-c", CHAT, vc("key_a"), "key_a", "x-vc-api-key", _OF_A, None),
    ("c", GENERATE, bearer("key_c"), "key_c", "authorization", _OF_C, None),
    ("not-served", CHAT, x_api_key("key_b"), "key_b", "x-api-key", "this key's group does not serve it", None),
    ("list-c", "/v1/models", goog("key_c"), "key_c", "x-goog-api-key", "/v1beta/models", "x-goog-api-key or x-vc-api-key"),
    ("list-b", "/v1/models", bearer("key_b"), "key_b", "authorization", _OF_B, "authorization: Bearer"),
]


def _send(table: Caller, target: str, headers: Headers) -> Reply:
    if target.startswith("/v1/models") and ":" not in target:
        return table.send("GET", target, headers)
    return table.send("POST", target, headers, contents() if "models/" in target else messages())


def _plain(reply: Reply) -> tuple[int, list[tuple[str, str]], bytes]:
    """An answer without what differs from request to request."""
    own = reply.header("x-request-id") or "none"
    each = {"x-request-id", "request-id", "date", "content-length", DETAIL}
    headers = sorted((name.lower(), value) for name, value in reply.headers if name.lower() not in each)
    return reply.status, headers, reply.body.replace(own.encode(), b"ID")


@pytest.mark.parametrize(
    ("target", "headers", "key", "place", "reads", "more"),
    [row[1:] for row in _MISPLACED],
    ids=[row[0] for row in _MISPLACED],
)
def test_misplaced(
    target: str, headers: Headers, key: str, place: str, reads: str, more: Optional[str], table: Caller
) -> None:
    reply = _send(table, target, headers)
    assert reply.status == 401 and reply.header("x-trilane-error") == "invalid_api_key", reply
    detail = reply.header(DETAIL)
    assert detail and detail.startswith(f"The key came in {place}, but "), detail
    assert reads in detail, detail
    assert detail.endswith(f"{_CURRENT}{more}." if more else ".") and (_CURRENT in detail) == (more is not None), detail
    told = str(reply.headers) + reply.body.decode()
    assert KEYS[key] not in told and "key_" not in told, "who it is stands in the ledger only"
    assert table.seen(reply) == []
    for bad in ("unknown", "key_disabled", "key_expired"):
        others = tuple((name, str(value).replace(KEYS[key], KEYS[bad])) for name, value in headers)
        other = _send(table, target, others)
        assert _plain(other) == _plain(reply), bad
        assert other.header(DETAIL) is None, bad


def test_the_paths_of_current_clients_for_strict_keys(table: Caller) -> None:
    """404, with the cure in the message and in the header; only for those who hold a good key."""
    for target, headers, says in (
        (UNDER_V1, goog("key_c"), f"under /v1beta/models/{{model}} only; {_CURRENT}/v1/models/{{model}}."),
        (UNDER_V1, goog("key_mixed"), f"under /v1beta/models/{{model}} only; {_CURRENT}/v1/models/{{model}}."),
        ("/messages", x_api_key("key_b"), f"under /v1 only; {_CURRENT}the path without it."),
    ):
        reply = _send(table, target, headers)
        assert reply.status == 404, reply
        assert (reply.header(DETAIL) or "").endswith(says), reply.headers
        bad = _send(table, target, tuple((name, "wrong") for name, _ in headers))
        assert (bad.status, bad.header(DETAIL)) == (401, None), bad


def test_keys_that_are_served_hear_nothing(table: Caller) -> None:
    for target, headers in ((MESSAGES, x_api_key("key_b")), (CHAT, bearer("key_a")), (MESSAGES, x_api_key("key_a"))):
        assert _send(table, target, headers).header(DETAIL) is None, target
