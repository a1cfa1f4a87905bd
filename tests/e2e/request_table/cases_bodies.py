"""What a body must be: a model of the list, not too long, in an encoding that can be undone."""

from __future__ import annotations

import gzip
from typing import Any

import brotli
import zstandard
from e2e.request_table.cases_protocols import ENDPOINTS, FORMS, GENERATE
from e2e.request_table.documents import MAX_BODY
from e2e.request_table.rows import (
    JSON,
    bearer,
    chat,
    compact,
    contents,
    messages,
    no,
    ok,
    responses,
    vc,
    x_api_key,
)
from e2e.request_table.table import Case, Headers

# ---- The model in the body


def _without_model(body: bytes) -> bytes:
    return body.replace(b'"model"', b'"modell"', 1)


_WITH_MODEL = [
    (name, protocol, target, body)
    for name, protocol, _, target, _, body in ENDPOINTS
    if protocol != "C" and name != "images-edits"
]
_KEY = {"A": bearer("key_a"), "B": x_api_key("key_b")}
_NO_STRING: list[tuple[str, Any]] = [
    ("null", None),
    ("number", 5),
    ("list", ["gpt-5.1"]),
    ("object", {"id": "gpt-5.1"}),
    ("true", True),
    ("empty", ""),
]
MODELS = [
    *(
        no(
            f"model-missing-{name}",
            target,
            _KEY[protocol],
            _without_model(body),
            400,
            protocol,
            "model_missing",
            "model",
            param="model",
        )
        for name, protocol, target, body in _WITH_MODEL
        if isinstance(body, bytes)
    ),
    *(
        no(f"model-{what}-a", "/v1/responses", bearer("key_a"), responses(value), 400, "A", "invalid_body", "model", param="model")
        for what, value in _NO_STRING
    ),
    *(
        no(f"model-{what}-b", "/v1/messages", x_api_key("key_b"), messages(value), 400, "B", "invalid_body", "model", param="model")
        for what, value in _NO_STRING
    ),
    *(
        no(
            f"model-unknown-{name}",
            target,
            _KEY[protocol],
            compact({"model": "nobody-1"}),
            404,
            protocol,
            "model_not_found",
            "nobody-1",
            param="model",
        )
        for name, protocol, target, body in _WITH_MODEL
    ),
    no(
        "model-other-case",
        "/v1/responses",
        bearer("key_a"),
        responses("GPT-5.1"),
        404,
        "A",
        "model_not_found",
        "GPT-5.1",
        param="model",
    ),
    no(
        "model-space-before",
        "/v1/responses",
        bearer("key_a"),
        responses(" gpt-5.1"),
        404,
        "A",
        "model_not_found",
        param="model",
    ),
    no(
        "model-hostile-name",
        "/v1/messages",
        x_api_key("key_b"),
        messages("\"}'<b>\\é😀"),
        404,
        "B",
        "model_not_found",
        "=model: \"}'<b>\\é😀",
    ),
    no(
        "model-long-name-is-cut",
        "/v1/messages",
        x_api_key("key_b"),
        messages("n" * 129),
        404,
        "B",
        "model_not_found",
        "=model: " + "n" * 128 + "…",
    ),
    no(
        "model-128-characters",
        "/v1/messages",
        x_api_key("key_b"),
        messages("é" * 128),
        404,
        "B",
        "model_not_found",
        "=model: " + "é" * 128,
    ),
    no(
        "model-of-another-group",
        "/v1/messages",
        x_api_key("key_b"),
        messages("claude-fable-5"),
        404,
        "B",
        "model_not_found",
        "=model: claude-fable-5",
    ),
    no(
        "model-empty-list-a",
        "/v1/responses",
        bearer("a_empty"),
        responses(),
        404,
        "A",
        "model_not_found",
        param="model",
    ),
    no("model-empty-list-b", "/v1/messages", x_api_key("b_empty"), messages(), 404, "B", "model_not_found"),
    no("model-empty-list-c", GENERATE, vc("c_empty"), contents(), 404, "C", "model_not_found"),
    # C: the path names the model; a body that names one too must agree.
    ok("model-c-in-the-body-too", GENERATE, vc("key_c"), contents(model="gemini-2.5-flash"), "c_official"),
    ok(
        "model-c-in-the-body-with-prefix",
        GENERATE,
        vc("key_c"),
        contents(model="models/gemini-2.5-flash"),
        "c_official",
    ),
    no(
        "model-c-in-the-body-another",
        GENERATE,
        vc("key_c"),
        contents(model="gemini-2.5-pro"),
        400,
        "C",
        "model_mismatch",
    ),
    no("model-c-in-the-body-unknown", GENERATE, vc("key_c"), contents(model="nobody"), 400, "C", "model_mismatch"),
]

# ---- Bodies: none, too long, encoded

_FULL = messages(padding="").replace(
    b'"padding":""', b'"padding":"%s"' % (b"x" * (MAX_BODY - len(messages(padding=""))))
)
_OVER = chat(padding="x" * MAX_BODY)


def _pieces(body: bytes, size: int = 50_000) -> tuple[bytes, ...]:
    return tuple(body[at : at + size] for at in range(0, len(body), size))


_DECLARED: Headers = (("content-length", str(MAX_BODY + 1)),)
SIZES = [
    *(
        no(
            f"body-empty-{name}",
            target,
            FORMS[protocol]({"A": "key_a", "B": "key_b", "C": "c_open"}[protocol]) + more,
            b"",
            400,
            protocol,
            "invalid_body",
        )
        for name, protocol, _, target, more, _ in ENDPOINTS
    ),
    no("body-none", "/v1/responses", bearer("key_a"), None, 400, "A", "invalid_body"),
    ok("body-longest", "/v1/messages", x_api_key("key_b"), _FULL, "b_official"),
    ok("body-longest-chunked", "/v1/messages", x_api_key("key_b"), _pieces(_FULL), "b_official"),
    no(
        "body-a-byte-too-long",
        "/v1/messages",
        x_api_key("key_b"),
        _FULL + b" ",
        413,
        "B",
        "request_too_large",
        str(MAX_BODY),
    ),
    no(
        "body-too-long-a",
        "/v1/responses",
        bearer("key_a") + _DECLARED,
        None,
        413,
        "A",
        "request_too_large",
        str(MAX_BODY),
    ),
    no(
        "body-too-long-b",
        "/v1/messages",
        x_api_key("key_b") + _DECLARED,
        None,
        413,
        "B",
        "request_too_large",
        str(MAX_BODY),
    ),
    no("body-too-long-c", GENERATE, vc("key_c") + _DECLARED, None, 413, "C", "request_too_large", str(MAX_BODY)),
    no(
        "body-far-too-long",
        "/v1/responses",
        (*bearer("key_a"), ("content-length", str(1 << 40))),
        None,
        413,
        "A",
        "request_too_large",
    ),
    no(
        "body-too-long-after-the-key", "/v1/responses", bearer("unknown") + _DECLARED, None, 401, "A", "invalid_api_key"
    ),
]


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


CASES: list[Case] = [*MODELS, *SIZES, *ENCODINGS]
