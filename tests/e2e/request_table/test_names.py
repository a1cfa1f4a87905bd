"""Model names as today's clients write them: which tier they mean, and that they leave as they came."""

from __future__ import annotations

import pytest
from e2e.request_table.documents import B_NAMES
from e2e.request_table.rows import bearer, chat, contents, count, goog, messages, no, ok, vc, x_api_key
from e2e.request_table.table import Caller, Case, Forwarded, Refused, check


#: What a client writes -> the model it means. The name goes upstream as written: this group renames none.
B_FOLDED: dict[str, str] = {
    **{name: name for name in B_NAMES},
    # Dated.
    "claude-haiku-4-5-20251001": "claude-haiku-4-5",
    "claude-opus-4-5-20251101": "claude-opus-4-5",
    "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
    "claude-opus-4-1-20250805": "claude-opus-4-1",
    "claude-opus-4-20250514": "claude-opus-4",
    "claude-sonnet-4-20250514": "claude-sonnet-4",
    "claude-3-7-sonnet-20250219": "claude-3-7-sonnet",
    "claude-3-5-sonnet-20241022": "claude-3-5-sonnet",
    "claude-3-5-sonnet-20240620": "claude-3-5-sonnet",
    "claude-3-opus-20240229": "claude-3-opus",
    # Dated as other clouds do.
    "claude-opus-4-1@20250805": "claude-opus-4-1",
    "claude-opus-4@20250514": "claude-opus-4",
    # A minor version of 0 is none.
    "claude-opus-4-0": "claude-opus-4",
    "claude-sonnet-4-0": "claude-sonnet-4",
    "claude-sonnet-4.0": "claude-sonnet-4",
    # Dotted.
    "claude-sonnet-4.6": "claude-sonnet-4-6",
    "claude-opus-4.8": "claude-opus-4-8",
    "claude-opus-5.5": "claude-opus-5-5",
    "claude-3.5-sonnet": "claude-3-5-sonnet",
    "claude-3.7-sonnet-20250219": "claude-3-7-sonnet",
    "claude-instant-1.2": "claude-instant-1-2",
    "claude-2.1": "claude-2-1",
    # Thinking, before or after a date.
    "claude-sonnet-4-5-thinking": "claude-sonnet-4-5",
    "claude-sonnet-4.5-thinking": "claude-sonnet-4-5",
    "claude-haiku-4-5-thinking": "claude-haiku-4-5",
    "claude-opus-4-5-20251101-thinking": "claude-opus-4-5",
    "claude-opus-4-5-thinking-20251101": "claude-opus-4-5",
    "claude-opus-4.5-thinking-20251101": "claude-opus-4-5",
    "claude-sonnet-5-thinking": "claude-sonnet-5",
    "claude-mythos-preview-thinking": "claude-mythos-preview",
    # A context window.
    "claude-sonnet-4-5-20250929[1m]": "claude-sonnet-4-5",
    "claude-sonnet-4.5-thinking[1m]": "claude-sonnet-4-5",
    "claude-opus-4-6[2m]": "claude-opus-4-6",
    "claude-opus-4-6[1m]-thinking": "claude-opus-4-6",
    # Aliases of the document, folded like any name.
    "claude-4-opus": "claude-opus-4",
    "claude-4-opus-20250514": "claude-opus-4",
    "claude-3-5-haiku-latest": "claude-3-5-haiku",
    "claude-3-5-sonnet-v2@20241022": "claude-3-5-sonnet",
}

#: Names that mean nothing here, although they look like one that does.
B_NOT_FOLDED = [
    "claude-opus-4-6-fast",
    "claude-opus-4-5-latest",
    "claude-sonnet-4-5-preview",
    "claude-sonnet-5@default",
    "us.anthropic.claude-opus-4-1-20250805-v1:0",
    "anthropic.claude-opus-4-1",
    "anthropic/claude-opus-4-1",
    "claude-opus-4-1-20251301",
    "claude-opus-4-1-20250230",
    "claude-opus-4-1-19991231",
    "claude-opus-4-1-2025080",
    "claude-opus-4-1-202508055",
    "claude-opus-4-1-20250805-20250805x",
    "claude-opus-4-1-thinking-thinking",
    "claude-opus-4-9",
    "claude-opus-4-50",
    "claude-opus-4-5-1",
    "claude-opus-4-5.0",
    "claude-opus-4..5",
    "claude-opus-4-123",
    "claude-opus-4-5[1m",
    "claude-opus-4-5[m]",
    "claude-opus-4-5[]",
    "claude-opus",
    "claude-opus-",
    "Claude-Opus-4-5",
    "claude_opus_4_5",
    "claude-opus-4-5 ",
    "claude-opus-4-5\u200b",
    "-thinking",
    "-20250514",
    "[1m]",
    "opus",
]


def _b_cases() -> list[Case]:
    key = x_api_key("b_names")
    cases = [ok(f"b-{name}", "/v1/messages", key, messages(name), "b_official") for name in B_FOLDED]
    cases += [
        no(f"b-not-{name}", "/v1/messages", key, messages(name), 404, "B", "model_not_found", f"=model: {name}")
        for name in B_NOT_FOLDED
    ]
    cases += [
        ok(f"b-count-{name}", "/v1/messages/count_tokens", key, count(name), "b_official")
        for name in list(B_FOLDED)[len(B_NAMES) :: 6]
    ]
    # Renamed: whichever spelling came, the upstream's own name leaves.
    for name in (
        "claude-opus-4-5",
        "claude-opus-4.5",
        "claude-opus-4-5-20251101-thinking",
        "claude-opus-4-5[1m]",
        "claude-opus-4-5-20250101",
    ):
        want = Forwarded("b_official", body=messages("claude-opus-4-5-20251101"))
        cases.append(Case(f"b-renamed-{name}", "POST", "/v1/messages", x_api_key("key_b"), messages(name), want))
    for name in (
        "claude-opus-4-0",
        "claude-opus-4",
        "claude-4-opus",
        "claude-4-opus-20250514",
        "claude-opus-4-0-thinking",
    ):
        want = Forwarded("b_official", body=messages("claude-opus-4-20250514"))
        cases.append(Case(f"b-renamed-{name}", "POST", "/v1/messages", x_api_key("key_b"), messages(name), want))
    # A Mixed key folds as its source does, and sees no more than its list.
    cases.append(
        ok(
            "b-mixed-folds",
            "/v1/messages",
            x_api_key("key_mixed"),
            messages("claude-sonnet-4.5-thinking"),
            "b_official",
        )
    )
    cases.append(
        no(
            "b-mixed-folds-within-its-list",
            "/v1/messages",
            x_api_key("key_mixed"),
            messages("claude-opus-4.1"),
            404,
            "B",
            "model_not_found",
        )
    )
    return cases


def _a_cases() -> list[Case]:
    merged = [
        "gpt-5.1",
        "gpt-5.1-2025-11-13",
        "gpt-5.4-2026-02-28",
        "gpt-5.4-nano-2024-02-29",
        "gpt-5.1-codex",
        "codex-auto-review",
    ]
    unmerged = [
        "gpt-5.1-codex-2025-11-13",  # this model does not merge
        "gpt-5.1-20251113",
        "gpt-5.1-2025-13-01",
        "gpt-5.1-2025-02-30",
        "gpt-5.1-2023-02-29",
        "gpt-5.1-25-11-13",
        "gpt-5.1-2025-11-13-2025-11-13",
        "gpt-5.1-2025-11-13-preview",
        "gpt-5.1-1106",
        "gpt-5-1",
        "gpt-5.1-thinking",
        "gpt-5.1[1m]",
        "gpt-5.1-latest",
        "openai/gpt-5.1",
    ]
    cases = [ok(f"a-{name}", "/v1/chat/completions", bearer("key_a"), chat(name), "a_official") for name in merged]
    cases += [
        Case(
            f"a-not-{name}",
            "POST",
            "/v1/chat/completions",
            bearer("key_a"),
            chat(name),
            Refused(404, "A", "model_not_found", name, param="model"),
        )
        for name in unmerged
    ]
    cases.append(
        ok("a-mixed-dated", "/v1/chat/completions", bearer("mixed_all"), chat("gpt-5.1-2025-11-13"), "a_official")
    )
    return cases


def _c_cases() -> list[Case]:
    names = [
        "gemini-3.8-flash",
        "gemini-2.5-flash",
        "gemini-2.5-flash-lite",
        "gemini-2.0-flash-001",
        "gemini-4-argon",
        "gemini-3.1-pro-preview",
        "gemini-2.5-pro",
        "gemini-2.5-computer-use-preview-10-2025",
        "gemini-3.1-flash-image",
    ]
    unknown = [
        "gemini-2.0-flash",
        "gemini-2.5-flash-001",
        "gemini-2.5-flash-latest",
        "gemini-2-5-flash",
        "gemini-2.5-flash-20250101",
    ]
    path = "/v1beta/models/{}:generateContent".format
    cases = [ok(f"c-{name}", path(name), vc("key_c"), contents(), "c_official") for name in names]
    cases += [
        ok(f"c-prefix-{name}", path(f"models/{name}"), goog("key_c"), contents(), "c_official", upstream=path(name))
        for name in names[:3]
    ]
    cases += [
        no(f"c-not-{name}", path(name), vc("key_c"), contents(), 404, "C", "model_not_found", f"models/{name} ")
        for name in unknown
    ]
    return cases


CASES = [*_b_cases(), *_a_cases(), *_c_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_name(case: Case, table: Caller) -> None:
    check(case, table)


@pytest.mark.parametrize("name", [name for name in B_FOLDED if "[" not in name], ids=str)
def test_the_single_model_is_found_by_the_same_spellings(name: str, table: Caller) -> None:
    """`GET /v1/models/{id}` agrees with the request path on what a spelling means."""
    reply = table.send("GET", f"/v1/models/{name}", x_api_key("b_names"))
    assert reply.status == 200, f"{name}: {reply.body!r}"
    assert reply.json()["id"] == B_FOLDED[name], name
