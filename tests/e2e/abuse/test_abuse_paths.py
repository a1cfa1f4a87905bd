"""Every other endpoint of the three vendors' references: none of them is served."""

from __future__ import annotations

import pytest
from e2e.abuse.abuse_answers import chat, generate, message, response
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, Desk
from e2e.abuse.abuse_document import MODELS

M = MODELS["C"]
#: Those of protocol A, each with the methods that make, change or show something.
A_PATHS = """
POST /v1/completions
POST /v1/embeddings
POST /v1/audio/speech
POST /v1/batches
POST /v1/batches/b/cancel
GET /v1/files/f/content
POST /v1/responses/compact
DELETE /v1/responses/r
GET /v1/chat/completions/c
POST /v1/chat/completions/c
DELETE /v1/chat/completions/c
GET /v1/chat/completions/c/messages
GET /v1/realtime
DELETE /v1/models/gpt-5.1
POST /v1/organization/admin_api_keys
POST /openai/deployments/gpt-5.1/chat/completions
POST /v1/CHAT/completions
POST /v1/chat/completions/
POST /v1//responses
POST /v1/./responses
POST /v1/x/../responses
POST /v1/responses;x=1
POST /v1/responses%20
POST /v1/%72esponses
"""
B_PATHS = """
POST /v1/complete
POST /v1/messages/batches
GET /v1/messages/batches
GET /v1/messages/batches/b
GET /v1/messages/batches/b/results
POST /v1/messages/batches/b/cancel
GET /v1/messages
GET /v1/messages/m
POST /v1/messages/count_tokens/x
POST /v1/files
POST /v1/organizations/api_keys/k
POST /v1/%6dessages
"""
C_PATHS = f"""
POST /v1beta/models/{M}/operations/o
POST /v1beta/models/{M}:generateContent/x
POST /v1beta/models/../tunedModels/x:generateContent
POST /v1beta/models/..%2ftunedModels%2fx:generateContent
POST /v1beta/models/{M}%2f..%2fx:generateContent
POST /v1beta/models/{M}%3f:generateContent
POST /v1beta/models/{M}%23:generateContent
POST /v1beta/tunedModels/x:generateContent
POST /v1beta/openai/chat/completions
POST /v1beta/batches
GET /v1beta/cachedContents
POST /upload/v1beta/files
POST /v1alpha/models/{M}:generateContent
POST /v1beta/projects/p/locations/l/publishers/google/models/{M}:generateContent
POST /v1/projects/p/locations/l/publishers/anthropic/models/claude:rawPredict
GET /ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent
POST /v1beta/models/{M}:generateContent%00
"""
PATHS = {
    (protocol, line): body
    for protocol, lines, body in (
        ("a", A_PATHS, response()),
        ("b", B_PATHS, message()),
        ("c", C_PATHS, generate()),
    )
    for line in lines.strip().splitlines()
}
#: Paths that Envoy makes one that is served of before the filter sees them: the decision is about what arrives.
SAME = {
    "POST /v1//responses": "/v1/responses",
    "POST /v1/./responses": "/v1/responses",
    "POST /v1/x/../responses": "/v1/responses",
    "POST /v1/%72esponses": "/v1/responses",
    "POST /v1/%6dessages": "/v1/messages",
}


@pytest.mark.parametrize(("group", "line"), PATHS, ids=lambda part: str(part))
def test_what_is_not_served(desk: Desk, group: str, line: str) -> None:
    """By a key of its protocol's group, and by one of a Mixed group."""
    method, path = line.split(" ")
    for owner in (group, "mixed"):
        body = None if method in ("GET", "DELETE") else PATHS[group, line]
        own = (("authorization", "Bearer {key}"), ("x-goog-api-key", "{key}")) if "goog" in path else None
        sent = desk.send(owner, path, body, method=method, name=line, own=own)
        if line in SAME:
            assert sent.only().target == SAME[line], sent
            continue
        assert sent.status in (400, 401, 403, 404, 405), sent
        assert sent.code is not None, sent
        assert not sent.arrived(), sent


@pytest.mark.parametrize("override", [
    "x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url",
    "x-original-path", "x-envoy-original-path", "x-forwarded-prefix", "x-forwarded-uri",
])  # fmt: skip
def test_no_header_makes_it_another_request(desk: Desk, override: str) -> None:
    for group, path, body in (("a", CHAT, chat()), ("b", MESSAGES, message()), ("c", GENERATE, generate())):
        value = "DELETE" if "method" in override else "/v1/files"
        sent = desk.send(group, path, body, name=override, headers=[(override, value)])
        arrived = sent.only()
        assert (arrived.method, arrived.target) == ("POST", path), arrived
        # Envoy's own of this name says where the request came.
        assert arrived.header(override) in (None, path), arrived
