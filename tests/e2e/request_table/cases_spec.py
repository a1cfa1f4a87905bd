"""The rows of the specification's tables, each under the name of its section."""

from __future__ import annotations

from e2e.request_table.documents import group_of, table_document
from e2e.request_table.rows import (
    bearer,
    chat,
    contents,
    count,
    form,
    image,
    listed,
    messages,
    no,
    ok,
    responses,
    vc,
    x_api_key,
)
from e2e.request_table.table import Case

_DOCUMENT = table_document()
FLASH = "/v1beta/models/gemini-2.5-flash"
IMAGES_OFF = "=Images API is not supported for this platform"


def ids(group: str) -> list[str]:
    """The ids of a group's models, in the document's order."""
    return [model["id"] for model in group_of(_DOCUMENT, group)["models"] if model.get("entitled", True)]


_FORM, _EDIT = form()

SECTION_2_2 = [
    ok("spec-2.2-a-official", "/v1/chat/completions", bearer("key_a"), chat(), "a_official"),
    ok("spec-2.2-b-official", "/v1/messages", x_api_key("key_b"), messages(), "b_official"),
    ok("spec-2.2-b-low-rate", "/v1/messages", x_api_key("key_b_low"), messages(), "b_low_rate"),
    ok("spec-2.2-mixed-decided-by-entry", "/v1/messages", x_api_key("key_mixed"), messages(), "b_official"),
    ok("spec-2.2-c-official", f"{FLASH}:generateContent", vc("key_c"), contents(), "c_official"),
    listed("spec-2.2-b-visible-models", "/v1/models", x_api_key("key_b"), "shared", ids("b-official")),
    listed("spec-2.2-c-visible-models", "/v1beta/models", vc("key_c"), "C", ids("c-official")),
]

SECTION_4 = [
    ok("spec-4-row-03-responses", "/v1/responses", bearer("key_a"), responses(), "a_official"),
    ok("spec-4-row-03-responses-stream", "/v1/responses", bearer("key_a"), responses(stream=True), "a_official"),
    ok(
        "spec-4-row-04-responses-alias",
        "/responses",
        bearer("key_a"),
        responses(),
        "a_official",
        upstream="/v1/responses",
    ),
    ok("spec-4-row-05-chat", "/v1/chat/completions", bearer("key_a"), chat(), "a_official"),
    # The gateway does not ask for a usage that the client asks for itself.
    ok(
        "spec-4-row-05-chat-stream",
        "/v1/chat/completions",
        bearer("key_a"),
        chat(stream=True, stream_options={"include_usage": True}),
        "a_official",
    ),
    ok(
        "spec-4-row-06-chat-alias",
        "/chat/completions",
        bearer("key_a"),
        chat(),
        "a_official",
        upstream="/v1/chat/completions",
    ),
    ok("spec-4-row-07-images", "/v1/images/generations", bearer("key_a"), image(), "a_official"),
    ok("spec-4-row-08-images-edits", "/v1/images/edits", bearer("key_a") + _FORM, _EDIT, "a_official"),
    ok("spec-4-row-09-messages", "/v1/messages", x_api_key("key_b"), messages(), "b_official"),
    ok("spec-4-row-09-messages-stream", "/v1/messages", x_api_key("key_b"), messages(stream=True), "b_official"),
    ok(
        "spec-4-row-09-messages-thinking",
        "/v1/messages",
        x_api_key("key_b"),
        messages(thinking={"type": "enabled", "budget_tokens": 32}),
        "b_official",
    ),
    ok("spec-4-row-10-count-tokens", "/v1/messages/count_tokens", x_api_key("key_b"), count(), "b_official"),
    ok("spec-4-row-10-count-tokens-mixed", "/v1/messages/count_tokens", x_api_key("key_mixed"), count(), "b_official"),
    ok("spec-4-row-11-generate", f"{FLASH}:generateContent", vc("key_c"), contents(), "c_official"),
    ok(
        "spec-4-row-12-stream",
        f"{FLASH}:streamGenerateContent?alt=sse",
        vc("key_c"),
        contents(),
        "c_official",
    ),
    ok("spec-4-row-12-stream-array", f"{FLASH}:streamGenerateContent", vc("key_c"), contents(), "c_official"),
    no(
        "spec-4-images-off",
        "/v1/images/generations",
        bearer("a_plain"),
        image(),
        404,
        "A",
        "images_not_supported",
        IMAGES_OFF,
    ),
]

SECTION_7 = [
    no("spec-7-401-wrong-a", "/v1/chat/completions", bearer("unknown"), chat(), 401, "A", "invalid_api_key"),
    no(
        "spec-7-401-wrong-b",
        "/v1/messages",
        x_api_key("unknown"),
        messages(),
        401,
        "B",
        "invalid_api_key",
        "=invalid x-api-key",
    ),
    no("spec-7-401-wrong-c", f"{FLASH}:generateContent", vc("unknown"), contents(), 401, "C", "invalid_api_key"),
    no("spec-7-403-group-a", "/v1/chat/completions", bearer("key_c"), chat(), 403, "A", "protocol_not_allowed"),
    no(
        "spec-7-404-doubled-v1",
        "/v1/v1/chat/completions",
        bearer("key_a"),
        chat(),
        404,
        "A",
        "not_found",
        "without /v1",
    ),
    no("spec-7-404-path", "/v2/responses", bearer("key_a"), responses(), 404, "A*", "not_found", "base address"),
    ok(
        "spec-7-429-upstream-b",
        "/v1/messages",
        (*x_api_key("key_b"), ("x-sim-status", "429")),
        messages(),
        "b_official",
        status=429,
    ),
    no(
        "spec-7-502-upstream-account-a",
        "/v1/chat/completions",
        (*bearer("key_a"), ("x-sim-status", "401")),
        chat(),
        502,
        "A",
        "bad_gateway",
        says="tell the operator",
        reaches="a_official",
        final=True,
    ),
    no(
        "spec-7-502-upstream-reset-c",
        f"{FLASH}:generateContent",
        (*vc("key_c"), ("x-sim-cut", "head")),
        contents(),
        502,
        "C",
        "bad_gateway",
        reaches="c_official",
    ),
    no(
        "spec-7-model_not_found-a",
        "/v1/responses",
        bearer("key_a"),
        responses("gpt-nobody"),
        404,
        "A",
        "model_not_found",
        "gpt-nobody",
        param="model",
    ),
    no(
        "spec-7-model_not_entitled-by-the-upstream",
        "/v1/messages",
        (*x_api_key("key_b"), ("x-sim-status", "403")),
        messages(),
        403,
        "B",
        "model_not_entitled",
        reaches="b_official",
    ),
    no(
        "spec-7-images-generations",
        "/v1/images/generations",
        bearer("a_plain"),
        image(),
        404,
        "A",
        "images_not_supported",
        IMAGES_OFF,
    ),
]

CASES: list[Case] = [*SECTION_2_2, *SECTION_4, *SECTION_7]
