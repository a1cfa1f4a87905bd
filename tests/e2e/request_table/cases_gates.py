"""What a group allows beyond its protocol: versions, images, token counting."""

from __future__ import annotations

from e2e.request_table.cases_spec import IMAGES_OFF
from e2e.request_table.rows import (
    bearer,
    count,
    form,
    image,
    messages,
    no,
    ok,
    x_api_key,
)
from e2e.request_table.table import Case, Headers

_FORM, _EDIT = form()

# ---- The version of protocol B


def _version(*pairs: tuple[str, str]) -> Headers:
    return (("x-api-key", "trilane-demo-b"), *pairs)


def _current(*pairs: tuple[str, str]) -> Headers:
    return (("x-api-key", "trilane-demo-b-current"), *pairs)


def _good_version(name: str, headers: Headers, upstream: str, target: str = "/v1/messages") -> Case:
    body = messages() if target == "/v1/messages" else count()
    return ok(f"version-{name}", target, headers, body, "b_official", headers={"anthropic-version": upstream})


def _bad_version(name: str, headers: Headers, target: str = "/v1/messages") -> Case:
    body = messages() if target == "/v1/messages" else count()
    return no(f"version-{name}", target, headers, body, 400, "B", "invalid_version", "anthropic-version")


_VB, _VENDOR = "vb-version", "anthropic-version"
_CONSTANT, _NEWER = "2023-06-01", "2026-10-21"
VERSIONS = [
    _good_version("vendor", _version((_VENDOR, _CONSTANT)), _CONSTANT),
    _good_version("neutral", _version((_VB, _CONSTANT)), _CONSTANT),
    _good_version("both-equal", _version((_VB, _CONSTANT), (_VENDOR, _CONSTANT)), _CONSTANT),
    _good_version("neutral-count", _version((_VB, _CONSTANT)), _CONSTANT, "/v1/messages/count_tokens"),
    _good_version("current-missing", _current(), _CONSTANT),
    _good_version("current-missing-count", _current(), _CONSTANT, "/v1/messages/count_tokens"),
    _good_version("current-missing-bearer", bearer("key_b_current"), _CONSTANT),
    _good_version("current-dated", _current((_VENDOR, _NEWER)), _NEWER),
    _good_version("current-dated-neutral", _current((_VB, _NEWER)), _NEWER),
    _good_version("current-mixed-missing", bearer("key_mixed_current"), _CONSTANT),
    _bad_version("missing", _version()),
    _bad_version("missing-count", _version(), "/v1/messages/count_tokens"),
    _bad_version("empty", _version((_VENDOR, ""))),
    _bad_version("newer", _version((_VENDOR, _NEWER))),
    _bad_version("newer-neutral", _version((_VB, _NEWER))),
    _bad_version("older", _version((_VENDOR, "2023-01-01"))),
    _bad_version("no-date", _version((_VENDOR, "latest"))),
    _bad_version("both-different", _version((_VB, _NEWER), (_VENDOR, _CONSTANT))),
    _bad_version("repeated-equal", _version((_VENDOR, _CONSTANT), (_VENDOR, _CONSTANT))),
    _bad_version("repeated-different", _version((_VENDOR, _CONSTANT), (_VENDOR, _NEWER))),
    _bad_version("two-in-one-line", _version((_VENDOR, f"{_CONSTANT}, {_CONSTANT}"))),
    _bad_version("strict-mixed-newer", (("x-api-key", "trilane-demo-mixed"), (_VENDOR, _NEWER))),
    _bad_version("current-no-date", _current((_VENDOR, "latest"))),
    _bad_version("current-empty", _current((_VENDOR, ""))),
    _bad_version("current-both-different", _current((_VB, _NEWER), (_VENDOR, _CONSTANT))),
    _bad_version("current-repeated", _current((_VENDOR, _NEWER), (_VENDOR, _NEWER))),
    no("version-after-the-key", "/v1/messages", (("x-api-key", "nobody"),), messages(), 401, "B", "invalid_api_key"),
    no(
        "version-after-the-protocol",
        "/v1/messages",
        (("x-api-key", "trilane-demo-a"),),
        messages(),
        403,
        "B",
        "protocol_not_allowed",
    ),
    no("version-before-the-model", "/v1/messages", _version(), messages("nobody"), 400, "B", "invalid_version"),
    no(
        "version-before-the-count-gate",
        "/v1/messages/count_tokens",
        (("x-api-key", "trilane-demo-b-low"),),
        count(),
        400,
        "B",
        "invalid_version",
    ),
]

# ---- Images and token counting

_TO_IMAGES: list[tuple[str, str, Headers, bytes]] = [
    ("generations", "/v1/images/generations", (), image()),
    ("edits", "/v1/images/edits", _FORM, _EDIT),
]
IMAGES = [
    *(
        no(f"images-{name}-off-{key}", target, bearer(key) + more, body, 404, "A", "images_not_supported", IMAGES_OFF)
        for name, target, more, body in _TO_IMAGES
        for key in ("a_plain", "a_current", "key_mixed", "mixed_all", "key_mixed_current")
    ),
    no(
        "images-before-the-model",
        "/v1/images/generations",
        bearer("a_plain"),
        image("nobody"),
        404,
        "A",
        "images_not_supported",
        IMAGES_OFF,
    ),
    no(
        "images-before-the-body",
        "/v1/images/generations",
        bearer("a_plain"),
        b"{",
        404,
        "A",
        "images_not_supported",
        IMAGES_OFF,
    ),
    no(
        "images-unknown-model",
        "/v1/images/generations",
        bearer("key_a"),
        image("dall-e-9"),
        404,
        "A",
        "model_not_found",
        "dall-e-9",
        param="model",
    ),
    no(
        "images-edits-unknown-model",
        "/v1/images/edits",
        bearer("key_a") + _FORM,
        form("dall-e-9")[1],
        404,
        "A",
        "model_not_found",
        "dall-e-9",
        param="model",
    ),
    no(
        "images-edits-no-model",
        "/v1/images/edits",
        bearer("key_a") + _FORM,
        form(None)[1],
        400,
        "A",
        "model_missing",
        param="model",
    ),
    ok("images-edits-model-last", "/v1/images/edits", bearer("key_a") + _FORM, form(last=True)[1], "a_official"),
    no("images-edits-cut", "/v1/images/edits", bearer("key_a") + _FORM, _EDIT[:-4], 400, "A", "invalid_body"),
    no(
        "images-edits-wrong-boundary",
        "/v1/images/edits",
        (*bearer("key_a"), ("content-type", "multipart/form-data; boundary=other")),
        _EDIT,
        400,
        "A",
        "invalid_body",
    ),
    no(
        "images-form-at-generations",
        "/v1/images/generations",
        bearer("key_a") + _FORM,
        _EDIT,
        415,
        "A",
        "unsupported_media_type",
    ),
]
COUNTING = [
    no(
        "count-tokens-off",
        "/v1/messages/count_tokens",
        x_api_key("key_b_low"),
        count(),
        404,
        "B",
        "count_tokens_not_supported",
    ),
    no(
        "count-tokens-off-mixed",
        "/v1/messages/count_tokens",
        x_api_key("mixed_low"),
        count("claude-fable-5"),
        404,
        "B",
        "count_tokens_not_supported",
    ),
    no(
        "count-tokens-off-before-the-model",
        "/v1/messages/count_tokens",
        x_api_key("key_b_low"),
        count("nobody"),
        404,
        "B",
        "count_tokens_not_supported",
    ),
    ok(
        "count-tokens-off-mixed-messages",
        "/v1/messages",
        x_api_key("mixed_low"),
        messages("claude-fable-5"),
        "b_low_rate",
    ),
    no(
        "count-tokens-unknown-model",
        "/v1/messages/count_tokens",
        x_api_key("key_b"),
        count("claude-x"),
        404,
        "B",
        "model_not_found",
        "=model: claude-x",
    ),
]


CASES: list[Case] = [*VERSIONS, *IMAGES, *COUNTING]
