"""Rows that Envoy has a part in: spellings of paths, encodings of bodies, headers that it adds or joins. All others are cases of
`tests/golden`."""

from __future__ import annotations

import gzip

import brotli
import zstandard
from e2e.request_table.cases_spec import FLASH
from e2e.request_table.documents import KEYS
from e2e.request_table.rows import (
    JSON,
    VERSION,
    bearer,
    chat,
    contents,
    count,
    form,
    goog,
    image,
    messages,
    no,
    ok,
    responses,
    vc,
    x_api_key,
)
from e2e.request_table.table import Body, Case, Headers

M = "/v1beta/models"
GENERATE = f"{FLASH}:generateContent"
STREAM = f"{FLASH}:streamGenerateContent?alt=sse"
_FORM, _EDIT = form()

#: Every endpoint: name, protocol, method, target, headers beside the credential, body.
ENDPOINTS: list[tuple[str, str, str, str, Headers, Body]] = [
    ("responses", "A", "POST", "/v1/responses", (), responses()),
    ("responses-alias", "A", "POST", "/responses", (), responses()),
    ("chat", "A", "POST", "/v1/chat/completions", (), chat()),
    ("chat-alias", "A", "POST", "/chat/completions", (), chat()),
    ("compact", "A", "POST", "/v1/responses/compact", (), responses()),
    ("compact-alias", "A", "POST", "/responses/compact", (), responses()),
    ("input-tokens", "A", "POST", "/v1/responses/input_tokens", (), responses()),
    ("input-tokens-alias", "A", "POST", "/responses/input_tokens", (), responses()),
    ("embeddings", "A", "POST", "/v1/embeddings", (), responses()),
    ("embeddings-alias", "A", "POST", "/embeddings", (), responses()),
    ("images", "A", "POST", "/v1/images/generations", (), image()),
    ("images-edits", "A", "POST", "/v1/images/edits", _FORM, _EDIT),
    ("messages", "B", "POST", "/v1/messages", (), messages()),
    ("count-tokens", "B", "POST", "/v1/messages/count_tokens", (), count()),
    ("generate", "C", "POST", GENERATE, (), contents()),
    ("stream", "C", "POST", STREAM, (), contents()),
    ("c-count-tokens", "C", "POST", f"{FLASH}:countTokens", (), contents()),
    ("embed", "C", "POST", "/v1beta/models/gemini-embedding-001:embedContent", (), contents()),
]

# ---- Credentials

#: Envoy drops an empty header, and joins those of one name.
CREDENTIALS = [
    ok("cred-a-first-empty", "/v1/chat/completions", (("authorization", ""), *bearer("key_a")), chat(), "a_official"),
    ok("cred-a-last-empty", "/v1/chat/completions", (*bearer("key_a"), ("authorization", "")), chat(), "a_official"),
]
#: With `"query_key": false`, as in the sample.
NO_QUERY = [
    no("cred-no-query-key", f"{GENERATE}?key={KEYS['key_c']}", (), contents(), 401, "C", "invalid_api_key"),
    no("cred-no-query-key-list", f"/v1beta/models?key={KEYS['key_c']}", (), None, 401, "C", "invalid_api_key", method="GET"),
    no("cred-no-query-key-stream", f"{STREAM}&key={KEYS['key_c']}", (), contents(), 401, "C", "invalid_api_key"),
    ok(
        "cred-no-query-key-is-cut-all-the-same",
        f"{STREAM}&key={KEYS['key_c']}",
        goog("key_c"),
        contents(),
        "c_official",
        upstream=f"{STREAM}",
    ),
]

# ---- Paths

_SLASHES = {"slash-encoded": "x%2F..%2Fgemini-2.5-flash", "backslash-encoded": "x%5C..%5Cgemini-2.5-flash"}
REFUSED_BY_ENVOY = [
    no("method-lower-case", "/v1/chat/completions", bearer("key_a"), chat(), 400, "E", "bad_request", method="post"),
    *(
        no(f"trick-c-{name}", f"{M}/{model}:generateContent", vc("key_c"), contents(), 400, "E", "bad_path")
        for name, model in _SLASHES.items()
    ),
]
#: Envoy makes one path of many spellings before the filter sees it; upstream it is written plainly.
NORMALISED = [
    ok(
        "path-dot-segments",
        f"{M}/x/../gemini-2.5-flash:generateContent",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok(
        "path-dot-segments-encoded",
        f"{M}/x/%2e%2e/gemini-2.5-flash:generateContent",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok(
        "path-double-slash",
        "//v1beta//models/gemini-2.5-flash:generateContent",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok("path-dot", "/v1/./messages", x_api_key("key_b"), messages(), "b_official", upstream="/v1/messages"),
    ok("path-letters-encoded", "/v1/%6Dessages", x_api_key("key_b"), messages(), "b_official", upstream="/v1/messages"),
    ok("path-query-with-slashes", "/v1/messages?beta=//../%2F", x_api_key("key_b"), messages(), "b_official"),
]

# ---- Encodings

def _encoded(encoding: str) -> Headers:
    return (("content-encoding", encoding), *JSON)


ENCODINGS = [
    ok(
        "encoding-gzip",
        "/v1/messages",
        x_api_key("key_b") + _encoded("gzip"),
        gzip.compress(messages()),
        "b_official",
        body=messages(),
    ),
    ok(
        "encoding-br",
        "/v1/responses",
        bearer("key_a") + _encoded("br"),
        brotli.compress(responses()),
        "a_official",
        body=responses(),
    ),
    ok(
        "encoding-zstd",
        GENERATE,
        vc("key_c") + _encoded("zstd"),
        zstandard.compress(contents()),
        "c_official",
        body=contents(),
    ),
    ok("encoding-identity", "/v1/messages", x_api_key("key_b") + _encoded("identity"), messages(), "b_official"),
    no(
        "encoding-unknown-a",
        "/v1/responses",
        bearer("key_a") + _encoded("snappy"),
        responses(),
        415,
        "A",
        "request_body_encoding_unsupported",
    ),
    no(
        "encoding-unknown-b",
        "/v1/messages",
        x_api_key("key_b") + _encoded("deflate"),
        messages(),
        415,
        "B",
        "request_body_encoding_unsupported",
    ),
    no(
        "encoding-unknown-c",
        GENERATE,
        vc("key_c") + _encoded("compress"),
        contents(),
        415,
        "C",
        "request_body_encoding_unsupported",
    ),
    no(
        "encoding-after-the-key",
        "/v1/responses",
        bearer("unknown") + _encoded("snappy"),
        responses(),
        401,
        "A",
        "invalid_api_key",
    ),
    no(
        "encoding-gzip-hides-another-model",
        "/v1/messages",
        x_api_key("key_b") + _encoded("gzip"),
        gzip.compress(messages("nobody")),
        404,
        "B",
        "model_not_found",
        "=model: nobody",
    ),
    no(
        "encoding-gzip-is-none",
        "/v1/messages",
        x_api_key("key_b") + _encoded("gzip"),
        messages(),
        400,
        "B",
        "invalid_body",
    ),
    no(
        "encoding-gzip-cut",
        "/v1/messages",
        x_api_key("key_b") + _encoded("gzip"),
        gzip.compress(messages(padding="xyz" * 999))[:40],
        400,
        "B",
        "invalid_body",
    ),
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
_ALIASES = {
    alias: f"/v1{alias}"
    for alias in ("/responses", "/responses/compact", "/responses/input_tokens", "/chat/completions", "/embeddings")
}
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

CASES: list[Case] = [*CREDENTIALS, *REFUSED_BY_ENVOY, *NORMALISED, *ENCODINGS, *LEAVING]
#: Rows that hold for the sample document only.
SAMPLE_CASES: list[Case] = NO_QUERY
