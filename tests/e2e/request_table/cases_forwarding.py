"""Methods, account resources of protocol C, and what leaves the gateway."""

from __future__ import annotations

from e2e.request_table.cases_protocols import ENDPOINTS, FORMS
from e2e.request_table.cases_spec import FLASH
from e2e.request_table.documents import KEYS
from e2e.request_table.rows import (
    JSON,
    VERSION,
    bearer,
    chat,
    compact,
    contents,
    count,
    goog,
    image,
    listed,
    messages,
    no,
    ok,
    responses,
    vc,
    x_api_key,
)
from e2e.request_table.table import Case, Headers

M = "/v1beta/models"

# ---- Methods

_METHODS = [
    *(
        (f"{method.lower()}-{name}", method, target, FORMS[protocol](f"key_{protocol.lower()}"), protocol, "POST")
        for name, protocol, _, target, _, _ in ENDPOINTS
        for method in (
            ("GET",) if name not in ("chat", "messages", "generate") else ("GET", "PUT", "PATCH", "DELETE", "OPTIONS")
        )
    ),
    ("post-models", "POST", "/v1/models", bearer("key_a"), "A*", "GET"),
    ("post-models-b", "POST", "/v1/models", x_api_key("key_b"), "B*", "GET"),
    ("delete-models", "DELETE", "/v1/models", bearer("key_a"), "A*", "GET"),
    ("delete-one-model", "DELETE", "/v1/models/gpt-5.1", bearer("key_a"), "A*", "GET"),
    ("post-c-list", "POST", M, goog("key_c"), "C", "GET"),
    ("patch-c-one-model", "PATCH", FLASH, goog("key_c"), "C", "GET"),
    ("without-a-key", "GET", "/v1/messages", (), "B", "POST"),
    ("post-healthz", "POST", "/healthz", (), "A*", "GET, HEAD"),
]
METHODS = [
    no(
        f"method-{name}",
        target,
        headers,
        None if method in ("GET", "OPTIONS") else b"{}",
        405,
        shape,
        "method_not_allowed",
        allow,
        method=method,
        allow=allow,
    )
    for name, method, target, headers, shape, allow in _METHODS
]
METHODS.append(
    no("method-lower-case", "/v1/chat/completions", bearer("key_a"), chat(), 400, "E", "bad_request", method="post")
)

# ---- Account resources of protocol C: 404 unless the group opens them

_RESOURCES = [
    "/v1beta/files",
    "/v1beta/files/abc",
    "/v1beta/cachedContents",
    "/v1beta/tunedModels",
    "/v1beta/interactions",
]
RESOURCES = [
    *(
        no(
            f"resource-closed{path.removeprefix('/v1beta').replace('/', '-')}-{key}",
            path,
            goog(key),
            None,
            404,
            "C",
            "not_found",
            method="GET",
        )
        for path in _RESOURCES
        for key in ("key_c", "mixed_all", "key_c_current")
    ),
    no(
        "resource-closed-post",
        "/v1beta/cachedContents",
        goog("key_c"),
        compact({"model": "models/gemini-2.5-flash"}),
        404,
        "C",
        "not_found",
    ),
    no(
        "resource-closed-tuned-model",
        "/v1beta/tunedModels/x:generateContent",
        goog("key_c"),
        contents(),
        404,
        "C",
        "not_found",
    ),
    no("resource-without-a-key", "/v1beta/files", (), None, 401, "C", "invalid_api_key", method="GET"),
    *(
        ok(
            f"resource-open{path.removeprefix('/v1beta').replace('/', '-')}",
            f"{path}?pageSize=2",
            goog("c_open"),
            None,
            "c_official",
            method="GET",
        )
        for path in _RESOURCES[:2]
    ),
    ok("resource-open-mixed", "/v1beta/files", goog("mixed_open"), None, "c_official", method="GET"),
    ok(
        "resource-open-key-is-cut",
        f"/v1beta/files?key={KEYS['c_open']}&pageSize=1",
        (),
        None,
        "c_official",
        method="GET",
        upstream="/v1beta/files?pageSize=1",
    ),
    ok("resource-open-delete", "/v1beta/cachedContents/abc", goog("c_open"), None, "c_official", method="DELETE"),
    ok(
        "resource-open-post",
        "/v1beta/cachedContents",
        goog("c_open"),
        compact({"model": "models/gemini-2.5-flash", "ttl": "9s"}),
        "c_official",
    ),
    no(
        "resource-open-cache-without-model",
        "/v1beta/cachedContents",
        goog("c_open"),
        compact({"ttl": "9s"}),
        400,
        "C",
        "model_missing",
    ),
    ok(
        "resource-open-post-without-model",
        "/v1beta/files",
        goog("c_open"),
        compact({"file": {"displayName": "x"}}),
        "c_official",
    ),
    no(
        "resource-open-unknown-model",
        "/v1beta/cachedContents",
        goog("c_open"),
        compact({"model": "models/gemini-4-argon"}),
        404,
        "C",
        "model_not_found",
    ),
    no("resource-open-broken-body", "/v1beta/cachedContents", goog("c_open"), b"{", 400, "C", "invalid_body"),
    no(
        "resource-open-model-twice",
        "/v1beta/cachedContents",
        goog("c_open"),
        b'{"model":"models/gemini-2.5-flash","model":"x"}',
        400,
        "C",
        "invalid_body",
    ),
    no(
        "resource-open-slash-encoded",
        "/v1beta/files/%2e%2e%2fmodels",
        goog("c_open"),
        None,
        400,
        "E",
        "bad_path",
        method="GET",
    ),
    no("resource-open-odd-bytes", "/v1beta/files/a%3Fb", goog("c_open"), None, 404, "C", "not_found", method="GET"),
    no("resource-open-semicolon", "/v1beta/files/a;b", goog("c_open"), None, 404, "C", "not_found", method="GET"),
    listed("resource-open-models-are-ours", M, goog("c_open"), "C", ["gemini-2.5-flash", "gemini-embedding-001"]),
]

# ---- What leaves the gateway

#: Everything that may not leave, beside headers that must.
_DIRT: Headers = (
    ("proxy-authorization", "Basic eDp5"),
    ("x-trilane-cluster", "c_official"),
    ("X-Trilane-Group", "a-official"),
    ("x-trilane-", "1"),
    ("x-envoy-original-path", "/x"),
    ("x-envoy-upstream-rq-timeout-ms", "1"),
    ("x-envoy-retry-on", "5xx"),
    ("x-envoy-internal", "true"),
    ("x-forwarded-for", "9.9.9.9"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "example.org"),
    ("x-forwarded-port", "1"),
    ("x-real-ip", "9.9.9.9"),
    ("forwarded", "for=9.9.9.9"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
)
_KEPT = {
    "content-type": "application/json",
    "user-agent": "a-client/1.0 (x; y)",
    "accept": "text/event-stream",
    "x-stainless-lang": "python",
    "anthropic-beta": "context-1m-2025-08-07,x",
    "openai-beta": "responses=v1",
    "x-goog-api-client": "gl-python/3",
    "x-odd": 'a  b;c="d"',
}
_SENT: Headers = (*_DIRT, *_KEPT.items())
_ALL_KEYS: Headers = (*bearer("key_a"), ("x-api-key", KEYS["key_b"]), *vc("key_c"), *goog("key_c"))
_DIRTY = [
    (name, protocol, target, more, body)
    for name, protocol, _, target, more, body in ENDPOINTS
    if name != "embed" and not more
]
_ALIASES = {"/responses": "/v1/responses", "/chat/completions": "/v1/chat/completions"}
_LISTENER = {"A": "a_official", "B": "b_official", "C": "c_official"}
LEAVING = [
    *(
        ok(
            f"leaving-{name}",
            target,
            _ALL_KEYS + VERSION + _SENT,
            body,
            _LISTENER[protocol],
            upstream=_ALIASES.get(target),
            headers=_KEPT,
        )
        for name, protocol, target, more, body in _DIRTY
    ),
    ok(
        "leaving-alias-with-a-query",
        "/responses?a=%2f&api-version=%2f&b",
        bearer("key_a"),
        responses(),
        "a_official",
        upstream="/v1/responses?api-version=%2f",
    ),
    ok(
        "leaving-alias-empty-query",
        "/chat/completions?",
        bearer("key_a"),
        chat(),
        "a_official",
        upstream="/v1/chat/completions?",
    ),
    ok(
        "leaving-version-stays",
        "/v1/messages",
        x_api_key("key_b"),
        messages(),
        "b_official",
        headers={"anthropic-version": "2023-06-01"},
    ),
    ok(
        "leaving-chunked",
        "/v1/messages",
        x_api_key("key_b"),
        (messages()[:9], messages()[9:]),
        "b_official",
        headers={"transfer-encoding": "chunked"},
    ),
    ok("leaving-count", "/v1/messages/count_tokens?beta=true", x_api_key("key_b"), count(), "b_official"),
    # A client that offers HTTP/2 on the side is served as if it had not.
    ok(
        "leaving-h2c",
        "/v1/responses",
        (
            *bearer("key_a"),
            ("connection", "Upgrade, HTTP2-Settings"),
            ("upgrade", "h2c"),
            ("http2-settings", "AAMAAABkAAQAAP__"),
        ),
        responses(),
        "a_official",
    ),
    ok("leaving-image", "/v1/images/generations?beta=1", bearer("key_a") + JSON, image(), "a_official"),
]


CASES: list[Case] = [*METHODS, *RESOURCES, *LEAVING]
