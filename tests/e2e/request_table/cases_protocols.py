"""Who may speak which protocol: groups, the entries of Mixed groups, and the models behind an entry."""

from __future__ import annotations

from e2e.request_table.cases_spec import FLASH
from e2e.request_table.rows import (
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

GENERATE = f"{FLASH}:generateContent"
STREAM = f"{FLASH}:streamGenerateContent?alt=sse"
_FORM, _EDIT = form()

#: Every endpoint: name, protocol, method, target, headers beside the credential, body.
ENDPOINTS: list[tuple[str, str, str, str, Headers, Body]] = [
    ("responses", "A", "POST", "/v1/responses", (), responses()),
    ("responses-alias", "A", "POST", "/responses", (), responses()),
    ("chat", "A", "POST", "/v1/chat/completions", (), chat()),
    ("chat-alias", "A", "POST", "/chat/completions", (), chat()),
    ("images", "A", "POST", "/v1/images/generations", (), image()),
    ("images-edits", "A", "POST", "/v1/images/edits", _FORM, _EDIT),
    ("messages", "B", "POST", "/v1/messages", (), messages()),
    ("count-tokens", "B", "POST", "/v1/messages/count_tokens", (), count()),
    ("generate", "C", "POST", GENERATE, (), contents()),
    ("stream", "C", "POST", STREAM, (), contents()),
    ("c-count-tokens", "C", "POST", f"{FLASH}:countTokens", (), contents()),
    ("embed", "C", "POST", "/v1beta/models/gemini-embedding-001:embedContent", (), contents()),
]
_C_LISTS: list[tuple[str, str, str, str, Headers, Body]] = [
    ("c-list", "C", "GET", "/v1beta/models", (), None),
    ("c-one-model", "C", "GET", FLASH, (), None),
    ("c-account-resource", "C", "GET", "/v1beta/files", (), None),
]
#: The credential in the form that each protocol reads.
FORMS = {"A": bearer, "B": x_api_key, "C": goog}

# ---- 403: every key at every endpoint of a protocol that its group does not speak

_FOREIGN = [
    ("a", "key_a", "BC", "speaks protocol A"),
    ("b", "key_b", "AC", "speaks protocol B"),
    ("b-current", "key_b_current", "AC", "speaks protocol B"),
    ("c", "key_c", "AB", "speaks protocol C"),
    ("c-current", "key_c_current", "AB", "speaks protocol C"),
]
PROTOCOLS = [
    no(
        f"protocol-{who}-key-at-{name}",
        target,
        FORMS[protocol](key) + more,
        body,
        403,
        protocol,
        "protocol_not_allowed",
        says,
        method=method,
    )
    for who, key, protocols, says in _FOREIGN
    for name, protocol, method, target, more, body in (*ENDPOINTS, *_C_LISTS)
    if protocol in protocols and (len(who) == 1 or name in ("chat", "messages", "generate"))
]
_LACKING = [
    ("only-b", "mixed_only_b", "A", "no entry responses"),
    ("only-b", "mixed_only_b", "C", "no entry vc_generate_content"),
    ("no-b", "mixed_no_b", "B", "no entry vb_messages"),
]
ENTRIES = [
    no(
        f"entry-{who}-at-{name}",
        target,
        FORMS[protocol](key) + more,
        body,
        403,
        protocol,
        "protocol_not_allowed",
        says,
    )
    for who, key, lacks, says in _LACKING
    for name, protocol, method, target, more, body in ENDPOINTS
    if protocol == lacks
]
#: A model of a Mixed key, asked for at an entry that does not serve it: the message names the one that does.
MIXED_MODELS = [
    no(
        "mixed-b-model-at-a",
        "/v1/responses",
        bearer("mixed_all"),
        responses("claude-opus-4-5"),
        404,
        "A",
        "model_not_found",
        "entry vb_messages: POST /v1/messages",
        param="model",
    ),
    no(
        "mixed-b-model-folded-at-a",
        "/v1/chat/completions",
        bearer("mixed_all"),
        chat("claude-opus-4.5-thinking"),
        404,
        "A",
        "model_not_found",
        "entry vb_messages",
        param="model",
    ),
    no(
        "mixed-c-model-at-a",
        "/v1/chat/completions",
        bearer("mixed_all"),
        chat("gemini-2.5-pro"),
        404,
        "A",
        "model_not_found",
        "entry vc_generate_content: POST /v1beta/models/{model}:generateContent",
        param="model",
    ),
    no(
        "mixed-a-model-at-b",
        "/v1/messages",
        x_api_key("mixed_all"),
        messages("gpt-5.1"),
        404,
        "B",
        "model_not_found",
        "entry responses: POST /v1/responses",
    ),
    no(
        "mixed-a-model-at-c",
        "/v1beta/models/gpt-5.1:generateContent",
        vc("mixed_all"),
        contents(),
        404,
        "C",
        "model_not_found",
        "entry responses",
    ),
    no(
        "mixed-b-model-at-c",
        "/v1beta/models/claude-opus-4-5:generateContent",
        vc("mixed_all"),
        contents(),
        404,
        "C",
        "model_not_found",
        "entry vb_messages",
    ),
    # In the source's list, but not in this key's.
    no(
        "mixed-a-model-not-shown",
        "/v1/responses",
        bearer("mixed_all"),
        responses("gpt-5.4"),
        404,
        "A",
        "model_not_found",
        hides="entry",
        param="model",
    ),
    no(
        "mixed-b-model-not-shown",
        "/v1/messages",
        x_api_key("mixed_all"),
        messages("claude-opus-4-8"),
        404,
        "B",
        "model_not_found",
        "=model: claude-opus-4-8",
    ),
    no(
        "mixed-c-model-not-shown",
        "/v1beta/models/gemini-4-argon:generateContent",
        vc("mixed_all"),
        contents(),
        404,
        "C",
        "model_not_found",
        hides="entry",
    ),
    no(
        "mixed-sample-shows-no-a-model",
        "/v1/responses",
        bearer("key_mixed"),
        responses(),
        404,
        "A",
        "model_not_found",
        param="model",
    ),
    no("mixed-sample-shows-no-c-model", GENERATE, vc("key_mixed"), contents(), 404, "C", "model_not_found"),
    no(
        "mixed-locked-a",
        "/v1/responses",
        bearer("mixed_locked"),
        responses("gpt-locked"),
        403,
        "A",
        "model_not_entitled",
        param="model",
    ),
    no(
        "mixed-locked-c",
        "/v1beta/models/gemini-locked:generateContent",
        vc("mixed_locked"),
        contents(),
        403,
        "C",
        "model_not_entitled",
    ),
    # Not entitled, and not even under this entry: nothing to be told about it.
    no(
        "mixed-locked-elsewhere",
        "/v1/messages",
        x_api_key("mixed_locked"),
        messages("gpt-locked"),
        404,
        "B",
        "model_not_found",
        "=model: gpt-locked",
    ),
    ok("mixed-open-beside-locked", "/v1/messages", x_api_key("mixed_locked"), messages("claude-open-1"), "b_official"),
    no("mixed-empty", "/v1/messages", x_api_key("mixed_empty"), messages(), 404, "B", "model_not_found"),
]


CASES: list[Case] = [*PROTOCOLS, *ENTRIES, *MIXED_MODELS]
