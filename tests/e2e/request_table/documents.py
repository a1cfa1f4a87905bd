"""A document for the request table: the sample, and groups for what the sample does not show.

The sample's groups are in it twice, see `both_kinds`: strict under their own names.
"""

from __future__ import annotations

import hashlib
from typing import Any

from e2e import both_kinds

#: Low enough to be passed by a test body; above every captured request (143 KB) and the inspect window.
MAX_BODY = 300_000

#: The longest credential that counts, and one that is a byte too long although the document has its digest.
LONGEST_KEY = "k" * 256
TOO_LONG_KEY = "k" * 257

#: Key id -> group, for the keys that only this document has. The value of each is `trilane-test-<id>`.
_KEYS = {
    "a_plain": "t-a-plain",
    "a_current": "t-a-current",
    "a_rename": "t-a-rename",
    "a_edge": "t-a-edge",
    "a_corpus": "t-a-corpus",
    "a_empty": "t-a-empty",
    "b_names": "t-b-names",
    "b_locked": "t-b-locked",
    "b_empty": "t-b-empty",
    "c_open": "t-c-open",
    "c_rename": "t-c-rename",
    "c_locked": "t-c-locked",
    "c_empty": "t-c-empty",
    "mixed_all": "t-mixed-all",
    "mixed_low": "t-mixed-low",
    "mixed_no_b": "t-mixed-no-b",
    "mixed_only_b": "t-mixed-only-b",
    "mixed_locked": "t-mixed-locked",
    "mixed_vendor": "t-mixed-vendor",
    "mixed_open": "t-mixed-open",
    "mixed_empty": "t-mixed-empty",
    "a_later": "t-a-plain",
    "b_expired": "b-official",
    "b_disabled": "b-official",
    "c_expired": "c-official",
    "c_disabled": "c-official",
    "mixed_expired": "mixed",
    "mixed_disabled": "mixed",
}

#: Key id -> value: the sample's keys and this document's.
KEYS = {
    **both_kinds.KEYS,
    **{key: f"trilane-test-{key}" for key in _KEYS},
    "longest": LONGEST_KEY,
    "too_long": TOO_LONG_KEY,
    "unknown": "trilane-test-nobody-has-this",
}

#: The names of protocol B that clients use today, in the order in which the list must show them.
B_NAMES = [
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "claude-fable-5-1",
    "claude-opus-5-5",
    "claude-mythos-5-1",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-mythos-preview",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-opus-4-1",
    "claude-opus-4",
    "claude-sonnet-4",
    "claude-3-7-sonnet",
    "claude-3-5-sonnet",
    "claude-3-5-haiku",
    "claude-3-opus",
    "claude-instant-1-2",
    "claude-2-1",
]

#: Names that are not folded: a model has them as aliases where an operator wants them.
_B_ALIASES = {
    "claude-opus-4": ["claude-4-opus"],
    "claude-3-5-haiku": ["claude-3-5-haiku-latest"],
    "claude-3-5-sonnet": ["claude-3-5-sonnet-v2"],
}


def _named(*ids: str) -> list[dict[str, Any]]:
    return [{"id": name} for name in ids]


def _group(group: str, protocol: str, cluster: str, models: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "id": group,
        "name": f"Test group {group}",
        "protocol": protocol,
        "multiplier": "1.2500",
        "cluster": cluster,
        "models": models,
        **more,
    }


def _mixed(group: str, entries: dict[str, str], models: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "id": group,
        "name": f"Test group {group}",
        "protocol": "Mixed",
        "entries": {entry: {"source": source, "extra_multiplier": "1.5000"} for entry, source in entries.items()},
        "models": [{"id": model, "entry": entry} for model, entry in models.items()],
        **more,
    }


def _groups() -> list[dict[str, Any]]:
    locked_c = {"id": "gemini-locked", "entitled": False}
    return [
        # Protocol A. No images here; one model that the source account may not use.
        _group(
            "t-a-plain", "A", "a_official", [*_named("gpt-5.1", "gpt-plain-2"), {"id": "gpt-locked", "entitled": False}]
        ),
        _group("t-a-current", "A", "a_official", _named("gpt-5.1"), clients="current"),
        _group(
            "t-a-rename",
            "A",
            "a_official",
            [
                {"id": "short", "upstream": "a-name-that-is-much-longer/upstream:v1"},
                {"id": "a-name-that-is-rather-long-for-its-client", "upstream": "s"},
                {"id": "same-length-1", "upstream": "same-length-2"},
                {"id": "as-it-is"},
                {"id": "dated", "merge_dated": True, "upstream": "dated-2025-01-31"},
                {"id": "picture", "kind": "image", "upstream": "picture-of-the-upstream"},
            ],
            image_generation=True,
        ),
        _group(
            "t-a-edge",
            "A",
            "a_official",
            [
                *_named("m1", "gpt-5.1", "openai/gpt-5.1", "allowed", "expensive"),
                {"id": "gpt-image-2", "kind": "image"},
            ],
            image_generation=True,
        ),
        # Whatever the captured requests ask protocol A for.
        _group(
            "t-a-corpus",
            "A",
            "a_official",
            [
                {"id": "gpt-5.1", "merge_dated": True},
                *_named("gpt-5.1-codex", "gpt-5.4-nano", "claude-sonnet-4-5"),
                {"id": "gpt-image-1", "kind": "image"},
            ],
            image_generation=True,
        ),
        _group("t-a-empty", "A", "a_official", []),
        # Protocol B. Its upstream names are the client's own here: what leaves shows how a name was written.
        _group(
            "t-b-names",
            "B",
            "b_official",
            [{"id": name, **({"aliases": _B_ALIASES[name]} if name in _B_ALIASES else {})} for name in B_NAMES],
            clients="current",
            count_tokens=True,
        ),
        _group(
            "t-b-locked", "B", "b_official", [*_named("claude-open-1"), {"id": "claude-locked-1", "entitled": False}]
        ),
        _group("t-b-empty", "B", "b_official", []),
        # Protocol C.
        _group(
            "t-c-open", "C", "c_official", _named("gemini-2.5-flash", "gemini-embedding-001"), account_resources=True
        ),
        _group("t-c-rename", "C", "c_official", [{"id": "gemini-here", "upstream": "gemini-there-001"}]),
        _group("t-c-locked", "C", "c_official", [*_named("gemini-open"), locked_c]),
        _group("t-c-empty", "C", "c_official", []),
        # Mixed groups: all three entries, and one thing amiss in each of the others.
        _mixed(
            "t-mixed-all",
            {"responses": "a-official", "vb_messages": "b-official", "vc_generate_content": "c-official"},
            {
                "gpt-5.1": "responses",
                "claude-opus-4-5": "vb_messages",
                "gemini-2.5-flash": "vc_generate_content",
                "gemini-2.5-pro": "vc_generate_content",
            },
        ),
        _mixed("t-mixed-low", {"vb_messages": "b-low-rate"}, {"claude-fable-5": "vb_messages"}),
        _mixed(
            "t-mixed-no-b",
            {"responses": "a-official", "vc_generate_content": "c-official"},
            {"gpt-5.1": "responses", "gemini-2.5-flash": "vc_generate_content"},
        ),
        _mixed("t-mixed-only-b", {"vb_messages": "b-official"}, {"claude-opus-4-5": "vb_messages"}),
        _mixed(
            "t-mixed-locked",
            {"responses": "t-a-plain", "vb_messages": "t-b-locked", "vc_generate_content": "t-c-locked"},
            {
                "gpt-locked": "responses",
                "gpt-5.1": "responses",
                "claude-locked-1": "vb_messages",
                "claude-open-1": "vb_messages",
                "gemini-locked": "vc_generate_content",
            },
        ),
        # The same entry under the name that its vendor gives it.
        _mixed("t-mixed-vendor", {"anthropic_messages": "b-official"}, {"claude-opus-4-5": "anthropic_messages"}),
        _mixed(
            "t-mixed-open",
            {"vb_messages": "b-official", "vc_generate_content": "t-c-open"},
            {"gemini-2.5-flash": "vc_generate_content"},
        ),
        _mixed("t-mixed-empty", {"vb_messages": "b-official"}, {}),
    ]


def _key(key: str, group: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "sha256": hashlib.sha256(KEYS[key].encode()).hexdigest(), "group": group, **more}


def table_document() -> dict[str, Any]:
    """The sample with more groups and keys, the query parameter `key` allowed, and a low `max_body`."""
    document = both_kinds.both_kinds()
    document["query_key"] = True
    document["max_body"] = MAX_BODY
    document["groups"] += _groups()
    states: dict[str, dict[str, Any]] = {
        "expired": {"expires_at": "2025-01-01T00:00:00Z"},
        "disabled": {"disabled": True},
        "later": {"expires_at": "2999-01-01T00:00:00Z"},
    }
    document["keys"] += [_key(key, group, **states.get(key.split("_")[-1], {})) for key, group in _KEYS.items()]
    document["keys"] += [_key("longest", "a-official"), _key("too_long", "a-official")]
    return document


def group_of(document: dict[str, Any], group: str) -> dict[str, Any]:
    """The group with this id."""
    return next(found for found in document["groups"] if found["id"] == group)
