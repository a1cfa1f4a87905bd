"""Credential forms: which header counts where, and what is no credential at all."""

from __future__ import annotations

from e2e.request_table.cases_spec import FLASH, ids
from e2e.request_table.documents import KEYS
from e2e.request_table.rows import VERSION, bearer, chat, contents, count, goog, listed, messages, no, ok, vc, x_api_key
from e2e.request_table.table import Case, Headers

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
GENERATE = f"{FLASH}:generateContent"
STREAM = f"{FLASH}:streamGenerateContent"
INVALID = "=invalid x-api-key"


def _auth(value: str | bytes) -> Headers:
    return (("authorization", value),)


def _key(value: str | bytes) -> Headers:
    return (("x-api-key", value), *VERSION)


A = KEYS["key_a"]
B = KEYS["key_b"]
C = KEYS["key_c"]

# ---- Protocol A: `authorization: Bearer`, and nothing else

_A_TAKEN: list[tuple[str, Headers]] = [
    ("scheme-lower-case", _auth(f"bearer {A}")),
    ("scheme-upper-case", _auth(f"BEARER {A}")),
    ("more-spaces", _auth(f"Bearer    {A}")),
    ("space-after", _auth(f"Bearer {A}  ")),
    ("longest", bearer("longest")),
    ("expires-later", bearer("a_later")),
    ("header-name-upper-case", (("AUTHORIZATION", f"Bearer {A}"),)),
    ("others-are-not-looked-at", (*bearer("key_a"), *goog("key_c"), *x_api_key("key_b"))),
    ("others-may-be-wrong", (*bearer("key_a"), ("x-api-key", ""), ("x-goog-api-key", "nonsense nonsense"))),
    ("current-group", bearer("a_current")),
    # Envoy joins repeated `authorization` headers; of an empty one nothing is left to be seen.
    ("repeated-first-empty", (*_auth(""), *bearer("key_a"))),
    ("repeated-last-empty", (*bearer("key_a"), *_auth(""))),
]
_A_REFUSED: list[tuple[str, Headers]] = [
    ("empty", _auth("")),
    ("scheme-only", _auth("Bearer")),
    ("scheme-and-space", _auth("Bearer ")),
    ("no-scheme", _auth(A)),
    ("no-space", _auth(f"Bearer{A}")),
    ("tab", _auth(f"Bearer\t{A}")),
    ("basic", _auth("Basic a2V5X2E6")),
    ("basic-with-the-key", _auth(f"Basic {A}")),
    ("other-scheme", _auth(f"Token {A}")),
    ("two-words", _auth(f"Bearer {A} {A}")),
    ("two-in-one-line", _auth(f"Bearer {A}, Bearer {A}")),
    ("repeated-equal", _auth(f"Bearer {A}") * 2),
    ("repeated-different", (*bearer("key_a"), *bearer("a_plain"))),
    ("too-long", bearer("too_long")),
    ("far-too-long", _auth("Bearer " + "k" * 8000)),
    ("not-ascii", _auth(f"Bearer {A}".encode() + b"\xc3\xa9")),
    ("not-utf-8", _auth(b"Bearer \xff\xfe")),
    ("case-changed", _auth(f"Bearer {A.upper()}")),
    ("quoted", _auth(f'Bearer "{A}"')),
    ("key-cut", _auth(f"Bearer {A[:-1]}")),
    ("digest-for-key", _auth("Bearer 808e84d1113b3c5795fd65ff0ed5e9901c31ea489de1f496f8533268fe1bf75b")),
    ("expired", bearer("key_expired")),
    ("disabled", bearer("key_disabled")),
    ("mixed-expired", bearer("mixed_expired")),
    ("mixed-disabled", bearer("mixed_disabled")),
    ("in-x-api-key", (("x-api-key", A),)),
    ("in-x-goog-api-key", (("x-goog-api-key", A),)),
    ("in-proxy-authorization", (("proxy-authorization", f"Bearer {A}"),)),
    ("in-cookie", (("cookie", f"authorization=Bearer {A}"),)),
]
PROTOCOL_A = [
    *(ok(f"cred-a-{name}", CHAT, headers, chat(), "a_official") for name, headers in _A_TAKEN),
    *(no(f"cred-a-{name}", CHAT, headers, chat(), 401, "A", "invalid_api_key") for name, headers in _A_REFUSED),
    no("cred-a-in-the-query", f"{CHAT}?key={A}", (), chat(), 401, "A", "invalid_api_key"),
    ok(
        "cred-a-key-parameter-never-leaves",
        f"{CHAT}?key={A}&x=%2b+&key=other&y",
        bearer("key_a"),
        chat(),
        "a_official",
        upstream=CHAT,
    ),
]

# ---- Protocol B: `x-api-key`; for current groups also Bearer

_B_REFUSED: list[tuple[str, Headers]] = [
    ("empty", _key("")),
    ("repeated-equal", (("x-api-key", B), ("x-api-key", B), *VERSION)),
    ("repeated-different", (("x-api-key", B), *x_api_key("key_b_low"))),
    ("two-in-one-line", _key(f"{B}, {B}")),
    ("two-words", _key(f"{B} {B}")),
    ("with-scheme", _key(f"Bearer {B}")),
    ("too-long", _key("k" * 257)),
    ("not-utf-8", _key(b"\xff\xfe\xfd")),
    ("expired", x_api_key("b_expired")),
    ("disabled", x_api_key("b_disabled")),
    ("in-x-goog-api-key", (*goog("key_b"), *VERSION)),
    ("in-x-vc-api-key", (*vc("key_b"), *VERSION)),
    ("bearer-on-strict", (*bearer("key_b"), *VERSION)),
    ("bearer-on-strict-mixed", (*bearer("key_mixed"), *VERSION)),
    ("basic-on-current", (*_auth(f"Basic {KEYS['key_b_current']}"), *VERSION)),
    ("unknown-then-strict-bearer", (*_key(KEYS["unknown"]), *bearer("key_b"))),
    ("malformed-then-current-bearer", (*_key("no key at all"), *bearer("key_b_current"))),
    ("empty-then-current-bearer", (*_key(""), *bearer("key_b_current"))),
    ("both-unknown", (*_key(KEYS["unknown"]), *bearer("unknown"))),
]
_B_CURRENT = "claude-opus-4-1"  # not in the low-rate channel: tells which key counted
PROTOCOL_B = [
    *(no(f"cred-b-{name}", MESSAGES, h, messages(), 401, "B", "invalid_api_key", INVALID) for name, h in _B_REFUSED),
    *(
        no(f"cred-b-count-{name}", COUNT, h, count(), 401, "B", "invalid_api_key", INVALID)
        for name, h in _B_REFUSED[:2]
    ),
    ok("cred-b-bearer-on-current", MESSAGES, bearer("key_b_current") + VERSION, messages(), "b_official"),
    ok("cred-b-bearer-on-current-count", COUNT, bearer("key_b_current") + VERSION, count(), "b_official"),
    ok("cred-b-bearer-on-current-mixed", MESSAGES, bearer("key_mixed_current") + VERSION, messages(), "b_official"),
    ok("cred-b-x-api-key-on-current", MESSAGES, x_api_key("key_b_current"), messages(), "b_official"),
    ok(
        "cred-b-both-equal-on-current",
        MESSAGES,
        x_api_key("key_b_current") + bearer("key_b_current"),
        messages(),
        "b_official",
    ),
    ok("cred-b-both-equal-on-strict", MESSAGES, x_api_key("key_b") + bearer("key_b"), messages(), "b_official"),
    ok(
        "cred-b-x-api-key-is-tried-first",
        MESSAGES,
        bearer("key_b_current") + x_api_key("key_b_low"),
        messages("claude-fable-5"),
        "b_low_rate",
    ),
    ok(
        "cred-b-x-api-key-is-tried-first-reversed",
        MESSAGES,
        bearer("key_b_low") + x_api_key("key_b_current"),
        messages(_B_CURRENT),
        "b_official",
    ),
    ok(
        "cred-b-unknown-then-bearer",
        MESSAGES,
        _key("sk-ant-vendor") + bearer("key_b_current"),
        messages(_B_CURRENT),
        "b_official",
    ),
    ok(
        "cred-b-expired-then-bearer",
        MESSAGES,
        x_api_key("b_expired") + bearer("key_b_current"),
        messages(),
        "b_official",
    ),
    ok(
        "cred-b-known-then-unknown-bearer",
        MESSAGES,
        x_api_key("key_b_current") + bearer("unknown"),
        messages(),
        "b_official",
    ),
    ok("cred-b-known-then-basic", MESSAGES, x_api_key("key_b") + _auth("Basic eDp5"), messages(), "b_official"),
    no("cred-b-in-the-query", f"{MESSAGES}?key={B}", VERSION, messages(), 401, "B", "invalid_api_key", INVALID),
    ok(
        "cred-b-key-parameter-never-leaves",
        f"{MESSAGES}?beta=true&key={B}",
        x_api_key("key_b"),
        messages(),
        "b_official",
        upstream=f"{MESSAGES}?beta=true",
    ),
]

# ---- Protocol C: the neutral and the vendor's header; `?key=` where the document says so

_C_REFUSED: list[tuple[str, Headers]] = [
    ("both-different", (*vc("key_c"), *goog("key_c_current"))),
    ("both-different-one-unknown", (*vc("key_c"), *goog("unknown"))),
    ("one-empty", (*vc("key_c"), ("x-goog-api-key", ""))),
    ("other-empty", (("x-vc-api-key", ""), *goog("key_c"))),
    ("empty", (("x-goog-api-key", ""),)),
    ("repeated-equal", goog("key_c") * 2),
    ("repeated-neutral", vc("key_c") * 2),
    ("two-in-one-line", (("x-goog-api-key", f"{C},{C}"),)),
    ("too-long", (("x-vc-api-key", "k" * 257),)),
    ("not-utf-8", (("x-goog-api-key", b"\xff"),)),
    ("expired", goog("c_expired")),
    ("disabled", vc("c_disabled")),
    ("bearer", bearer("key_c")),
    ("bearer-on-current", bearer("key_c_current")),
    ("x-api-key", (("x-api-key", C),)),
]
PROTOCOL_C = [
    ok("cred-c-neutral", GENERATE, vc("key_c"), contents(), "c_official"),
    ok("cred-c-vendor", GENERATE, goog("key_c"), contents(), "c_official"),
    ok("cred-c-both-equal", GENERATE, vc("key_c") + goog("key_c"), contents(), "c_official"),
    ok("cred-c-bearer-is-not-looked-at", GENERATE, goog("key_c") + bearer("unknown"), contents(), "c_official"),
    *(no(f"cred-c-{name}", GENERATE, h, contents(), 401, "C", "invalid_api_key") for name, h in _C_REFUSED),
]

#: With `"query_key": true`.
QUERY = [
    ok("cred-query-key", f"{GENERATE}?key={C}", (), contents(), "c_official", upstream=GENERATE),
    ok("cred-query-key-first", f"{STREAM}?key={C}&alt=sse", (), contents(), "c_official", upstream=f"{STREAM}?alt=sse"),
    ok("cred-query-key-last", f"{STREAM}?alt=sse&key={C}", (), contents(), "c_official", upstream=f"{STREAM}?alt=sse"),
    ok(
        "cred-query-others-stay-byte-for-byte",
        f"{STREAM}?key={C}&alt=sse",
        (),
        contents(),
        "c_official",
        upstream=f"{STREAM}?alt=sse",
    ),
    # It authenticates, and is no parameter that is served.
    no("cred-query-encoded-name", f"{GENERATE}?%6b%65y={C}", (), contents(), 400, "C", "invalid_parameter"),
    ok("cred-query-encoded-value", f"{GENERATE}?key=%74{C[1:]}", (), contents(), "c_official", upstream=GENERATE),
    ok(
        "cred-query-twice-equal",
        f"{GENERATE}?key={C}&alt=json&key={C}",
        (),
        contents(),
        "c_official",
        upstream=f"{GENERATE}?alt=json",
    ),
    ok(
        "cred-query-and-header-equal", f"{GENERATE}?key={C}", goog("key_c"), contents(), "c_official", upstream=GENERATE
    ),
    ok("cred-query-mixed", f"{GENERATE}?key={KEYS['mixed_all']}", (), contents(), "c_official", upstream=GENERATE),
    listed("cred-query-list", f"/v1beta/models?key={C}", (), "C", ids("c-official")),
    no(
        "cred-query-twice-different",
        f"{GENERATE}?key={C}&key={KEYS['key_c_current']}",
        (),
        contents(),
        401,
        "C",
        "invalid_api_key",
    ),
    no("cred-query-empty", f"{GENERATE}?key=", (), contents(), 401, "C", "invalid_api_key"),
    no("cred-query-one-empty", f"{GENERATE}?key={C}&key", (), contents(), 401, "C", "invalid_api_key"),
    no("cred-query-unknown", f"{GENERATE}?key={KEYS['unknown']}", (), contents(), 401, "C", "invalid_api_key"),
    no("cred-query-expired", f"{GENERATE}?key={KEYS['c_expired']}", (), contents(), 401, "C", "invalid_api_key"),
    no(
        "cred-query-with-a-broken-header",
        f"{GENERATE}?key={C}",
        (("x-goog-api-key", ""),),
        contents(),
        401,
        "C",
        "invalid_api_key",
    ),
    no("cred-query-upper-case", f"{GENERATE}?KEY={C}", (), contents(), 401, "C", "invalid_api_key"),
    no(
        "cred-query-not-on-v1-models",
        f"/v1/models?key={KEYS['key_c_current']}",
        (),
        None,
        401,
        "A*",
        "invalid_api_key",
        method="GET",
    ),
]

#: With `"query_key": false`, as in the sample.
NO_QUERY = [
    no("cred-no-query-key", f"{GENERATE}?key={C}", (), contents(), 401, "C", "invalid_api_key"),
    no("cred-no-query-key-list", f"/v1beta/models?key={C}", (), None, 401, "C", "invalid_api_key", method="GET"),
    no("cred-no-query-key-stream", f"{STREAM}?alt=sse&key={C}", (), contents(), 401, "C", "invalid_api_key"),
    ok(
        "cred-no-query-key-is-cut-all-the-same",
        f"{STREAM}?alt=sse&key={C}",
        goog("key_c"),
        contents(),
        "c_official",
        upstream=f"{STREAM}?alt=sse",
    ),
]

# ---- The lists: on /v1/models the header decides

_ALL = ids("t-mixed-all")
_C_OF_ALL = ["gemini-2.5-flash", "gemini-2.5-pro"]
_SHARED_LISTS: list[tuple[str, Headers, list[str]]] = [
    ("a-bearer", bearer("key_a"), ids("a-official")),
    ("a-bearer-with-a-version", bearer("key_a") + VERSION, ids("a-official")),
    ("b-x-api-key", x_api_key("key_b"), ids("b-official")),
    ("b-x-api-key-without-version", (("x-api-key", B),), ids("b-official")),
    ("b-current-bearer", bearer("key_b_current"), ids("b-current")),
    ("b-current-both", x_api_key("key_b_current") + bearer("key_b_current"), ids("b-current")),
    ("mixed-bearer", bearer("mixed_all"), _ALL),
    ("mixed-x-api-key", x_api_key("mixed_all"), _ALL),
    ("unknown-x-api-key-then-bearer", x_api_key("unknown") + bearer("key_a"), ids("a-official")),
]
_C_LISTS: list[tuple[str, Headers, list[str]]] = [
    ("c-current-vendor", goog("key_c_current"), ids("c-current")),
    ("c-current-neutral", vc("key_c_current"), ids("c-current")),
    ("mixed-current-vendor", goog("key_mixed_current"), ids("c-official")),
]
_REFUSED_LISTS: list[tuple[str, Headers, str]] = [
    ("none", (), "A*"),
    ("only-a-version", VERSION, "B*"),
    ("unknown-bearer", bearer("unknown"), "A*"),
    ("unknown-x-api-key", x_api_key("unknown"), "B*"),
    ("unknown-goog", goog("unknown"), "C*"),
    ("expired", bearer("key_expired"), "A*"),
    ("a-in-x-api-key", (("x-api-key", A),), "B*"),
    ("b-strict-bearer", bearer("key_b"), "A*"),
    ("c-strict-vendor", goog("key_c"), "C*"),
    ("c-strict-neutral", vc("key_c"), "C*"),
    ("c-bearer", bearer("key_c_current"), "A*"),
    ("mixed-strict-vendor", goog("key_mixed"), "C*"),
    ("b-current-vendor", goog("key_b_current"), "C*"),
    ("basic", _auth("Basic eDp5"), "A*"),
]
LISTS = [
    *(listed(f"cred-list-{name}", "/v1/models", headers, "shared", want) for name, headers, want in _SHARED_LISTS),
    *(listed(f"cred-list-{name}", "/v1/models", headers, "C", want) for name, headers, want in _C_LISTS),
    *(
        no(
            f"cred-list-refused-{name}",
            "/v1/models",
            headers,
            None,
            401,
            shape,
            "invalid_api_key",
            INVALID if shape == "B*" else "Incorrect API key",
            method="GET",
        )
        for name, headers, shape in _REFUSED_LISTS
    ),
    *(
        no(
            f"cred-list-one-refused-{name}",
            "/v1/models/gpt-5.1",
            headers,
            None,
            401,
            shape,
            "invalid_api_key",
            method="GET",
        )
        for name, headers, shape in _REFUSED_LISTS[:5]
    ),
    listed("cred-list-c-vendor", "/v1beta/models", goog("mixed_all"), "C", _C_OF_ALL),
    listed("cred-list-c-current", "/v1beta/models", goog("key_c_current"), "C", ids("c-current")),
    no("cred-list-c-none", "/v1beta/models", (), None, 401, "C", "invalid_api_key", method="GET"),
    no(
        "cred-list-c-bearer", "/v1beta/models", bearer("key_c_current"), None, 401, "C", "invalid_api_key", method="GET"
    ),
    no("cred-list-c-one-none", FLASH, (), None, 401, "C", "invalid_api_key", method="GET"),
    no("cred-list-c-unknown", "/v1beta/models", vc("unknown"), None, 401, "C", "invalid_api_key", method="GET"),
    no("cred-list-c-disabled", "/v1beta/models", vc("c_disabled"), None, 401, "C", "invalid_api_key", method="GET"),
]

CASES: list[Case] = [*PROTOCOL_A, *PROTOCOL_B, *PROTOCOL_C, *QUERY, *LISTS]
#: Rows that hold for the sample document only.
SAMPLE_CASES: list[Case] = NO_QUERY
