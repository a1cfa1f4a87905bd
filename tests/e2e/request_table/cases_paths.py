"""Paths: the model in the path of protocol C, tricks, slips of a base address, and what is not there."""

from __future__ import annotations

from e2e.request_table.cases_protocols import GENERATE
from e2e.request_table.cases_spec import FLASH
from e2e.request_table.rows import (
    VERSION,
    bearer,
    compact,
    contents,
    count,
    goog,
    messages,
    no,
    ok,
    vc,
    x_api_key,
)
from e2e.request_table.table import Case, Headers

M = "/v1beta/models"

# ---- Protocol C: the model is in the path

C_PATHS = [
    ok("path-c-colon-encoded", f"{FLASH}%3AgenerateContent", vc("key_c"), contents(), "c_official", upstream=GENERATE),
    ok(
        "path-c-colon-encoded-lower-case",
        f"{FLASH}%3agenerateContent",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok(
        "path-c-colon-encoded-query",
        f"{FLASH}%3AstreamGenerateContent?alt=sse",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=f"{FLASH}:streamGenerateContent?alt=sse",
    ),
    ok(
        "path-c-models-prefix",
        f"{M}/models/gemini-2.5-flash:generateContent",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok(
        "path-c-model-encoded",
        f"{M}/gemini%2D2.5-flas%68:generateContent",
        vc("key_c"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok("path-c-count-tokens", f"{FLASH}:countTokens", vc("key_c"), contents(), "c_official"),
    ok(
        "path-c-embed",
        f"{M}/gemini-embedding-001:embedContent",
        vc("c_open"),
        compact({"content": {"parts": [{"text": "x"}]}}),
        "c_official",
    ),
    ok("path-c-embed-mixed-current", f"{FLASH}:embedContent", goog("key_mixed_current"), contents(), "c_official"),
    ok(
        "path-c-batch-embed",
        f"{M}/gemini-embedding-001:batchEmbedContents",
        vc("c_open"),
        compact({"requests": [{"model": "models/gemini-embedding-001", "content": {"parts": [{"text": "x"}]}}]}),
        "c_official",
    ),
    ok(
        "path-c-renamed",
        f"{M}/gemini-here:generateContent",
        vc("c_rename"),
        contents(),
        "c_official",
        upstream=f"{M}/gemini-there-001:generateContent",
    ),
    ok(
        "path-c-renamed-stream",
        f"{M}/models/gemini-here%3AstreamGenerateContent?alt=sse",
        vc("c_rename"),
        contents(),
        "c_official",
        upstream=f"{M}/gemini-there-001:streamGenerateContent?alt=sse",
    ),
    no(
        "path-c-upstream-name-is-no-name",
        f"{M}/gemini-there-001:generateContent",
        vc("c_rename"),
        contents(),
        404,
        "C",
        "model_not_found",
    ),
    ok(
        "path-c-v1-current",
        "/v1/models/gemini-2.5-flash:generateContent",
        goog("key_c_current"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    ok(
        "path-c-v1-current-neutral",
        "/v1/models/gemini-2.5-flash:countTokens",
        vc("key_c_current"),
        contents(),
        "c_official",
        upstream=f"{FLASH}:countTokens",
    ),
    ok(
        "path-c-v1-current-stream",
        "/v1/models/gemini-2.5-flash%3AstreamGenerateContent?alt=sse",
        goog("key_c_current"),
        contents(),
        "c_official",
        upstream=f"{FLASH}:streamGenerateContent?alt=sse",
    ),
    ok(
        "path-c-v1-current-mixed",
        "/v1/models/models/gemini-2.5-flash:generateContent",
        goog("key_mixed_current"),
        contents(),
        "c_official",
        upstream=GENERATE,
    ),
    no(
        "path-c-v1-strict-mixed",
        "/v1/models/gemini-2.5-flash:generateContent",
        vc("mixed_all"),
        contents(),
        404,
        "C",
        "not_found",
    ),
    no("path-c-v1-no-key", "/v1/models/gemini-2.5-flash:generateContent", (), contents(), 401, "C", "invalid_api_key"),
    no(
        "path-c-v1-bearer",
        "/v1/models/gpt-5.1:generateContent",
        bearer("key_a"),
        contents(),
        401,
        "C",
        "invalid_api_key",
    ),
    no(
        "path-c-v1-a-key",
        "/v1/models/gpt-5.1:generateContent",
        goog("key_a"),
        contents(),
        403,
        "C",
        "protocol_not_allowed",
    ),
]

#: A model segment that could lead elsewhere. Name, target, and the refusal.
_TRICKS: list[tuple[str, str, int, str, str]] = [
    ("slash-encoded", f"{M}/x%2F..%2Fgemini-2.5-flash:generateContent", 400, "E", "bad_path"),
    ("backslash-encoded", f"{M}/x%5C..%5Cgemini-2.5-flash:generateContent", 400, "E", "bad_path"),
    ("slash", f"{M}/x/gemini-2.5-flash:generateContent", 404, "C", "not_found"),
    ("slash-twice-encoded", f"{M}/x%252Fgemini-2.5-flash:generateContent", 404, "C", "model_not_found"),
    ("two-prefixes", f"{M}/models/models/gemini-2.5-flash:generateContent", 404, "C", "not_found"),
    ("prefix-case", f"{M}/Models/gemini-2.5-flash:generateContent", 404, "C", "not_found"),
    ("question-mark", f"{M}/gemini-2.5-flash%3Fx:generateContent", 404, "C", "model_not_found"),
    ("hash", f"{M}/gemini-2.5-flash%23x:generateContent", 404, "C", "model_not_found"),
    ("semicolon", f"{M}/gemini-2.5-flash;x=1:generateContent", 404, "C", "model_not_found"),
    ("space", f"{M}/gemini-2.5-flash%20:generateContent", 404, "C", "model_not_found"),
    ("line-feed", f"{M}/gemini-2.5-flash%0a:generateContent", 404, "C", "model_not_found"),
    ("not-utf-8", f"{M}/gemini-2.5-flash%ff:generateContent", 404, "C", "not_found"),
    ("double-verb", f"{FLASH}:generateContent:streamGenerateContent", 404, "C", "model_not_found"),
    ("dots", f"{M}/..:generateContent", 404, "C", "model_not_found"),
    ("dots-encoded", f"{M}/%2e%2e:generateContent", 404, "C", "model_not_found"),
    ("percent", f"{M}/gemini-2.5-flash%:generateContent", 404, "C", "model_not_found"),
    ("upper-case", f"{M}/GEMINI-2.5-FLASH:generateContent", 404, "C", "model_not_found"),
    ("verb-with-a-dash", f"{FLASH}:generate-content", 405, "C", "method_not_allowed"),
    ("verb-with-a-slash", f"{FLASH}:generateContent/x", 404, "C", "not_found"),
    ("verb-with-an-encoded-question-mark", f"{FLASH}:generateContent%3Fx", 405, "C", "method_not_allowed"),
    ("verb-empty", f"{FLASH}:", 405, "C", "method_not_allowed"),
    ("model-empty", f"{M}/:generateContent", 405, "C", "method_not_allowed"),
    ("no-verb", FLASH, 405, "C", "method_not_allowed"),
    ("climbing-to-another-endpoint", f"{M}/x/../../../v1/nothing", 404, "A*", "not_found"),
]
TRICKS = [
    no(
        f"trick-c-{name}",
        target,
        vc("key_c") if shape != "A*" else (),
        contents(),
        status,
        shape,
        code,
        allow="GET" if status == 405 else None,
    )
    for name, target, status, shape, code in _TRICKS
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

# ---- Slips of the base address: the message says which one to use

_SLIPS: list[tuple[str, str, str, str]] = [
    ("b", "/v1/v1/messages", "B", "without /v1."),
    ("b-count", "/v1/v1/messages/count_tokens", "B", "without /v1."),
    ("a-responses", "/v1/v1/responses", "A", "without /v1."),
    ("a-chat", "/v1/v1/chat/completions", "A", "without /v1."),
    ("a-images", "/v1/v1/images/generations", "A", "without /v1."),
    ("models", "/v1/v1/models", "A*", "without /v1."),
    ("thrice", "/v1/v1/v1/messages", "A*", "without /v1."),
    ("c-twice", f"/v1beta{M}/gemini-2.5-flash:generateContent", "C", "without /v1beta."),
    ("c-twice-list", f"/v1beta{M}", "C", "without /v1beta."),
    ("c-then-v1", "/v1beta/v1/models/gemini-2.5-flash:generateContent", "C", "without /v1beta."),
    ("c-after-v1", f"/v1{M}/gemini-2.5-flash:generateContent", "C", "must not end in /v1"),
]
SLIPS = [
    no(f"slip-{name}", target, (), contents(), 404, shape, "not_found", says, hides="There is no such path")
    for name, target, shape, says in _SLIPS
]

# ---- What is not there: the path's family gives the shape; where it tells nothing, the headers' words

_MISSING: list[tuple[str, str, str, Headers, str]] = [
    ("root", "GET", "/", (), "A*"),
    ("root-b", "GET", "/", x_api_key("key_b"), "B*"),
    ("root-b-version-only", "GET", "/", VERSION, "B*"),
    ("root-b-neutral-version", "GET", "/", (("vb-version", "x"),), "B*"),
    ("root-c", "GET", "/", goog("key_c"), "C*"),
    ("root-c-neutral", "GET", "/", vc("key_c"), "C*"),
    ("root-c-wins-over-b", "GET", "/", goog("key_c") + x_api_key("key_b"), "C*"),
    ("v1", "GET", "/v1", (), "A*"),
    ("v1-slash", "GET", "/v1/", bearer("key_a"), "A*"),
    ("v2", "POST", "/v2/messages", x_api_key("key_b"), "B*"),
    ("upper-case", "POST", "/V1/messages", x_api_key("key_b"), "B*"),
    ("models-without-v1", "GET", "/models", bearer("key_a"), "A*"),
    ("images-without-v1", "POST", "/images/generations", bearer("key_a"), "A*"),
    ("unknown-c", "GET", "/v1/nothing", goog("key_c"), "C*"),
    ("unknown-v1beta", "GET", "/v1beta/nothing", goog("key_c"), "C"),
    ("a-under-v1beta", "POST", "/v1beta/embeddings", bearer("key_a"), "C"),
    ("openai-under-v1beta", "POST", "/v1beta/openai/chat/completions", bearer("key_c"), "C"),
    ("models-slash", "GET", "/v1/models/", bearer("key_a"), "A*"),
    ("api-hello", "GET", "/api/hello", (), "A*"),
    ("responses-slash", "POST", "/v1/responses/", bearer("key_a"), "A"),
    ("chat", "POST", "/chat", bearer("key_a"), "A"),
    ("messages-slash", "POST", "/v1/messages/", x_api_key("key_b"), "B"),
    ("messages-alias-slash", "POST", "/messages/", x_api_key("key_b"), "B"),
    ("v1beta", "GET", "/v1beta", goog("key_c"), "C"),
    ("v1beta-slash", "GET", "/v1beta/", goog("key_c"), "C"),
    ("v1beta-models-slash", "GET", "/v1beta/models/", goog("key_c"), "C"),
    ("v1beta-model-with-a-slash", "GET", f"{FLASH}/x", goog("key_c"), "C"),
    ("v1beta-family-ends-at-a-slash", "GET", "/v1betax/models", (), "A*"),
    ("messages-family-ends-at-a-slash", "POST", "/v1/messagesx", (), "A*"),
]
MISSING = [
    no(
        f"missing-{name}",
        target,
        headers,
        None if method == "GET" else contents(),
        404,
        shape,
        "not_found",
        "Check the base address",
        hides="not served",
        method=method,
    )
    for name, method, target, headers, shape in _MISSING
]

# ---- What vendors have and this gateway does not serve: no word of the base address

_NOT_SERVED: list[tuple[str, str, str, Headers, str]] = [
    ("embeddings", "POST", "/v1/embeddings", bearer("key_a"), "A"),
    ("embeddings-without-a-key", "POST", "/v1/embeddings", (), "A"),
    ("embeddings-without-v1", "POST", "/embeddings", bearer("key_a"), "A"),
    ("completions", "POST", "/v1/completions", bearer("key_a"), "A"),
    ("audio-speech", "POST", "/v1/audio/speech", bearer("key_a"), "A"),
    ("audio-transcriptions", "POST", "/v1/audio/transcriptions", bearer("key_a"), "A"),
    ("realtime", "POST", "/v1/realtime/sessions", bearer("key_a"), "A"),
    ("fine-tuning", "POST", "/v1/fine_tuning/jobs", bearer("key_a"), "A"),
    ("moderations", "POST", "/v1/moderations", bearer("key_a"), "A"),
    ("vector-stores", "GET", "/v1/vector_stores", bearer("key_a"), "A"),
    ("assistants", "GET", "/v1/assistants", bearer("key_a"), "A"),
    ("threads", "POST", "/v1/threads/runs", bearer("key_a"), "A"),
    ("uploads", "POST", "/v1/uploads", bearer("key_a"), "A"),
    ("videos", "POST", "/v1/videos", bearer("key_a"), "A"),
    ("images-variations", "POST", "/v1/images/variations", bearer("key_a"), "A"),
    ("responses-id", "GET", "/v1/responses/resp_1", bearer("key_a"), "A"),
    ("responses-compact", "POST", "/v1/responses/compact", bearer("key_a"), "A"),
    ("responses-alias-id", "GET", "/responses/resp_1", bearer("key_a"), "A"),
    ("chat-completions-id", "GET", "/v1/chat/completions/c_1", bearer("key_a"), "A"),
    ("files", "GET", "/v1/files", bearer("key_a"), "A*"),
    ("files-b", "GET", "/v1/files", x_api_key("key_b"), "B*"),
    ("files-b-bearer", "GET", "/v1/files", bearer("key_b_current") + VERSION, "B*"),
    ("files-c", "GET", "/v1/files", goog("key_c"), "C*"),
    ("batches", "POST", "/v1/batches", bearer("key_a"), "A*"),
    ("messages-batches", "GET", "/v1/messages/batches", x_api_key("key_b"), "B"),
    ("messages-batches-without-a-key", "GET", "/v1/messages/batches", (), "B"),
    ("messages-batches-results", "GET", "/v1/messages/batches/b_1/results", x_api_key("key_b"), "B"),
    ("complete", "POST", "/v1/complete", x_api_key("key_b"), "B"),
    ("c-batches", "GET", "/v1beta/batches", goog("key_c"), "C"),
    ("c-tuned-models", "GET", "/v1beta/tunedModels", goog("key_c"), "C"),
    ("c-tuned-models-under-v1", "POST", "/v1/tunedModels/x:generateContent", goog("key_c_current"), "C"),
    ("c-upload", "POST", "/upload/v1beta/files", goog("key_c"), "C"),
    ("c-auth-tokens", "POST", "/v1alpha/auth_tokens", goog("key_c"), "C"),
    ("c-live", "GET", "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", goog("key_c"), "C"),
]
NOT_SERVED = [
    no(
        f"not-served-{name}",
        target,
        headers,
        None if method == "GET" else contents(),
        404,
        shape,
        "not_found",
        "not served here",
        hides="base address",
        method=method,
    )
    for name, method, target, headers, shape in _NOT_SERVED
]

# ---- Messages without /v1: for current clients, as /v1/messages; for strict groups 404, with the cure

_SHORT, _SHORT_COUNT = "/messages", "/messages/count_tokens"
SHORT = [
    ok("short-messages", _SHORT, x_api_key("key_b_current"), messages(), "b_official", upstream="/v1/messages"),
    ok(
        "short-messages-bearer",
        _SHORT,
        bearer("key_b_current") + VERSION,
        messages(),
        "b_official",
        upstream="/v1/messages",
    ),
    ok(
        "short-messages-query",
        f"{_SHORT}?beta=true",
        x_api_key("key_b_current"),
        messages(),
        "b_official",
        upstream="/v1/messages?beta=true",
    ),
    ok("short-messages-mixed", _SHORT, x_api_key("key_mixed_current"), messages(), "b_official", upstream="/v1/messages"),
    ok(
        "short-count",
        _SHORT_COUNT,
        x_api_key("key_b_current"),
        count(),
        "b_official",
        upstream="/v1/messages/count_tokens",
    ),
    *(
        no(f"short-strict-{key}-{target[-6:]}", target, x_api_key(key), messages(), 404, "B", "not_found", says, hides=hides)
        for key in ("key_b", "key_mixed")
        for target in (_SHORT, _SHORT_COUNT)
        for says, hides in [('base address that ends in /v1, or "clients": "current"', "has no version")]
    ),
    no("short-no-key", _SHORT, VERSION, messages(), 401, "B", "invalid_api_key", "=invalid x-api-key"),
    no("short-wrong-key", _SHORT, x_api_key("unknown"), messages(), 401, "B", "invalid_api_key", "=invalid x-api-key"),
    no("short-of-a", _SHORT, x_api_key("key_a"), messages(), 403, "B", "protocol_not_allowed"),
    no("short-get", _SHORT, x_api_key("key_b_current"), None, 405, "B", "method_not_allowed", method="GET", allow="POST"),
]


CASES: list[Case] = [*C_PATHS, *TRICKS, *NORMALISED, *SLIPS, *MISSING, *NOT_SERVED, *SHORT]
