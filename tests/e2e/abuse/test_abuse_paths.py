"""Every other endpoint of the three vendors' references: none of them is served."""

from __future__ import annotations

import pytest
from e2e.abuse.abuse_answers import chat, generate, message, response
from e2e.abuse.abuse_desk import CHAT, GENERATE, MESSAGES, RESPONSES, Desk, refused
from e2e.abuse.abuse_document import MODELS

M = MODELS["C"]
#: Those of protocol A, each with the methods that make, change or show something.
A_PATHS = """
POST /v1/completions
POST /v1/embeddings
POST /v1/moderations
POST /v1/audio/speech
POST /v1/audio/transcriptions
POST /v1/audio/translations
POST /v1/audio/voices
POST /v1/images/variations
POST /v1/batches
GET /v1/batches
GET /v1/batches/b
POST /v1/batches/b/cancel
POST /v1/files
GET /v1/files
GET /v1/files/f
GET /v1/files/f/content
DELETE /v1/files/f
POST /v1/uploads
POST /v1/uploads/u/parts
POST /v1/uploads/u/complete
POST /v1/fine_tuning/jobs
GET /v1/fine_tuning/jobs
POST /v1/fine_tuning/alpha/graders/run
POST /v1/responses/compact
POST /v1/responses/input_tokens
GET /v1/responses/r
POST /v1/responses/r
DELETE /v1/responses/r
POST /v1/responses/r/cancel
GET /v1/responses/r/input_items
GET /v1/chat/completions
GET /v1/chat/completions/c
POST /v1/chat/completions/c
DELETE /v1/chat/completions/c
GET /v1/chat/completions/c/messages
POST /v1/conversations
GET /v1/conversations/c
POST /v1/conversations/c/items
POST /v1/realtime/sessions
POST /v1/realtime/client_secrets
POST /v1/realtime/calls
GET /v1/realtime
POST /v1/realtime/transcription_sessions
POST /v1/live/sessions
POST /v1/assistants
POST /v1/threads
POST /v1/threads/runs
POST /v1/threads/t/runs
POST /v1/chatkit/sessions
POST /v1/vector_stores
POST /v1/vector_stores/v/search
POST /v1/containers
POST /v1/containers/c/files
POST /v1/evals
POST /v1/evals/e/runs
POST /v1/videos
POST /v1/videos/v/remix
GET /v1/videos/v/content
POST /v1/skills
POST /v1/decisions
POST /v1/content_provenance_checks
POST /v1/engines/gpt/completions
POST /v1/edits
POST /v1/search
DELETE /v1/models/gpt-5.1
GET /v1/organization/costs
GET /v1/organization/usage/completions
POST /v1/organization/admin_api_keys
GET /v1/dashboard/billing/usage
POST /openai/deployments/gpt-5.1/chat/completions
POST /openai/v1/responses
POST /v1/openai/chat/completions
POST /api/v1/chat/completions
POST /v2/chat/completions
POST /v1/CHAT/completions
POST /v1/chat/completions/
POST /v1/responses/
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
DELETE /v1/messages/batches/b
GET /v1/messages
GET /v1/messages/m
POST /v1/messages/m
POST /v1/messages/count_tokens/x
POST /v1/files
GET /v1/files/f/content
POST /v1/skills
POST /v1/sessions
POST /v1/sessions/s/events
POST /v1/agents
POST /v1/environments
POST /v1/dreams
POST /v1/deployments/d/run
POST /v1/memory_stores
POST /v1/vaults
POST /v1/tunnels
POST /v1/user_profiles
GET /v1/organizations/me
GET /v1/organizations/usage_report/messages
GET /v1/organizations/cost_report
POST /v1/organizations/api_keys/k
POST /v1/experimental/generate_prompt
POST /v1/messages/
POST /v1/%6dessages
"""
C_PATHS = f"""
POST /v1beta/models/{M}
POST /v1beta/models/{M}/operations/o
POST /v1beta/models/{M}:generateContent/x
POST /v1beta/models/{M}:generateContent:x
POST /v1beta/models/{M}:
POST /v1beta/models/:generateContent
POST /v1beta/models/../tunedModels/x:generateContent
POST /v1beta/models/..%2ftunedModels%2fx:generateContent
POST /v1beta/models/{M}%2f..%2fx:generateContent
POST /v1beta/models/{M}%3f:generateContent
POST /v1beta/models/{M}%23:generateContent
POST /v1beta/tunedModels/x:generateContent
POST /v1beta/dynamic/x:generateContent
POST /v1beta/openai/chat/completions
POST /v1beta/openai/embeddings
POST /v1beta/interactions
GET /v1beta/interactions/i
POST /v1beta/agents/a
POST /v1beta/batches
GET /v1beta/batches/b
POST /v1beta/cachedContents
GET /v1beta/cachedContents
POST /v1beta/files
GET /v1beta/files
POST /upload/v1beta/files
POST /v1beta/fileSearchStores
POST /v1beta/corpora
POST /v1beta/auth_tokens
POST /v1alpha/models/{M}:generateContent
POST /v1beta1/models/{M}:generateContent
POST /v1beta2/models/{M}:generateText
POST /v1beta3/models/{M}:generateText
POST /v1beta/projects/p/locations/l/publishers/google/models/{M}:generateContent
POST /v1/projects/p/locations/l/publishers/anthropic/models/claude:rawPredict
POST /v1beta/publishers/google/models/{M}:generateContent
GET /ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent
POST /v1beta/models/{M}:generateContent;x
POST /v1beta/MODELS/{M}:generateContent
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


#: Headers that choose a dearer class, who pays, or what is reported; none may reach an upstream.
CHOOSING = [
    *("x-vertex-ai-llm-shared-request-type", "x-vertex-ai-llm-request-type"),
    *("x-goog-fieldmask", "x-goog-user-project", "x-goog-quota-user", "x-goog-request-params", "x-goog-ext-1-bin"),
    *("openai-organization", "openai-project", "anthropic-workspace-id", "anthropic-user-profile-id"),
]


@pytest.mark.parametrize("name", CHOOSING)
def test_headers_that_choose(desk: Desk, name: str) -> None:
    for group, path, body in (
        ("a", CHAT, chat()),
        ("a", RESPONSES, response()),
        ("b", MESSAGES, message()),
        ("c", GENERATE, generate()),
        ("mixed", GENERATE, generate()),
    ):
        sent = desk.send(group, path, body, name=f"{group} {name}", headers=[(name, "priority")])
        assert sent.only().header(name) is None, sent.only()


def test_a_body_on_a_list(desk: Desk) -> None:
    sent = desk.send("a", "/v1/models", chat(), method="GET", name="a body")
    assert not sent.arrived(), sent
    refused(405)(desk.send("a", "/v1/models", chat(), name="POST"))
