"""Protocol C: which query parameters, methods and resources an upstream is ever asked for."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from e2e.abuse.abuse_desk import GENERATE, STREAM_GENERATE, Desk, Sent, forwarded, refused
from e2e.abuse.abuse_document import MODELS

CONTENTS = {"contents": [{"parts": [{"text": "hi"}]}]}
MODEL_PATH = f"/v1beta/models/{MODELS['C']}"
COUNT = f"{MODEL_PATH}:countTokens"
SECRET = "s3cret-value"


# ---- Parameters

#: Some of Google's system parameters, and of others that are none of generation.
SYSTEM = ["fields", "$alt", "callback", "access_token", "$httpMethod", "quotaUser", "userIp", "upload_id", "pageSize", "x"]
#: What else a query may look like.
ODD = [
    *("alt=proto", "alt=media", "alt=SSE", "alt=", "alt", "alt=s%73e", "alt=sse;fields=usage", "alt=sse&alt=sse"),
    *("alt=sse&alt=proto", "alt=json&alt=sse", "%61lt=sse", "%24fields=candidates", "%66ields=candidates", "ALT=sse"),
    *("alt=sse&", "&alt=sse", "alt=sse&&", "=x", "&", "alt[]=sse", "alt%00=sse", "alt+=sse", "+alt=sse"),
]


@pytest.mark.parametrize("parameter", [f"{name}={SECRET}" for name in SYSTEM] + ODD)
def test_parameters_of_calls(desk: Desk, parameter: str) -> None:
    """Refused in protocol C's shape, by the parameter's name alone."""
    sent = desk.send("c", f"{GENERATE}?{parameter}", CONTENTS, name=parameter)
    refused(400, "invalid_parameter")(sent)
    assert sent.answer
    assert b'"INVALID_ARGUMENT"' in sent.answer.body, sent
    assert SECRET.encode() not in sent.answer.body, sent


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (GENERATE, ""),
        (GENERATE, "?"),
        (GENERATE, "?alt=json"),
        (GENERATE, "?alt=sse"),
        (STREAM_GENERATE, ""),
        (f"{MODEL_PATH}:streamGenerateContent", ""),
        (f"{MODEL_PATH}:streamGenerateContent", "?alt=json"),
        (COUNT, "?alt=json"),
    ],
)
def test_parameters_of_real_clients(desk: Desk, path: str, query: str) -> None:
    forwarded()(desk.send("c", f"{path}{query}", CONTENTS, name=query))


# ---- Resources

#: (path below /v1beta/, methods that it takes)
RESOURCES = [
    ("files", ("GET", "POST")),
    ("files/abc-1", ("GET", "DELETE")),
    ("files/abc-1:download", ("GET",)),
    ("cachedContents", ("GET", "POST")),
    ("cachedContents/x", ("GET", "PATCH", "DELETE")),
    ("operations", ("GET",)),
    ("operations/x", ("GET", "DELETE")),
    ("operations/x:cancel", ("POST",)),
    ("fileSearchStores", ("GET", "POST")),
    ("fileSearchStores/x", ("GET", "DELETE")),
    ("fileSearchStores/x/documents", ("GET",)),
    ("fileSearchStores/x/documents/y", ("GET", "DELETE")),
    ("fileSearchStores/x/operations/y", ("GET",)),
    ("fileSearchStores/x/upload/operations/y", ("GET",)),
]


def call(desk: Desk, group: str, method: str, path: str, query: str = "") -> Sent:
    body: Optional[Any] = {"ttl": "9s"} if method in ("POST", "PATCH", "PUT") else None
    if path == "cachedContents" and body:
        # A model reads what is to be kept.
        body["model"] = f"models/{MODELS['C']}"
    return desk.send(group, f"/v1beta/{path}{query}", body, method=method, name=f"{method} {path}")


@pytest.mark.parametrize(("path", "methods"), RESOURCES)
def test_resources(desk: Desk, path: str, methods: tuple[str, ...]) -> None:
    """Only by the methods that they have, and only for groups that open them."""
    for method in ("GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"):
        sent = call(desk, "c-resources", method, path)
        if method in methods:
            forwarded()(sent)
            closed = call(desk, "c", method, path)
            refused(404, "not_found")(closed)
        else:
            assert (sent.status, sent.code) == (405, "method_not_allowed"), sent
            assert sent.answer and sent.answer.header("allow") == ", ".join(methods), sent
            assert not sent.arrived(), sent
