"""A document for the request table: the sample, and groups for what the sample does not show.

The sample's groups are in it twice, see `both_kinds`: strict under their own names.
"""

from __future__ import annotations

import hashlib
from typing import Any

from e2e import both_kinds

#: Low enough to be passed by a test body; above every captured request (143 KB) and the inspect window.
MAX_BODY = 300_000

#: Key id -> group, for the keys that only this document has. The value of each is `trilane-test-<id>`.
_KEYS = {"a_plain": "t-a-plain", "a_rename": "t-a-rename", "a_corpus": "t-a-corpus", "b_names": "t-b-names"}

#: Key id -> value: the sample's keys and this document's.
KEYS = {
    **both_kinds.KEYS,
    **{key: f"trilane-test-{key}" for key in _KEYS},
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


def _groups() -> list[dict[str, Any]]:
    names = [{"id": name, **({"aliases": _B_ALIASES[name]} if name in _B_ALIASES else {})} for name in B_NAMES]
    corpus = [
        {"id": "gpt-5.1", "merge_dated": True},
        *({"id": name} for name in ("gpt-5.1-codex", "gpt-5.4-nano", "claude-sonnet-4-5", "text-embedding-3-small")),
        {"id": "gpt-image-1", "kind": "image"},
    ]
    return [
        # No images here.
        _group("t-a-plain", "A", "a_official", [{"id": "gpt-5.1"}]),
        _group("t-a-rename", "A", "a_official", [{"id": "short", "upstream": "a-name-that-is-much-longer/upstream:v1"}]),
        # Whatever the captured requests ask for. The upstream's names are the client's own: what leaves shows how one was written.
        _group("t-a-corpus", "A", "a_official", corpus, image_generation=True),
        _group("t-b-names", "B", "b_official", names, clients="current", count_tokens=True),
    ]


def table_document() -> dict[str, Any]:
    """The sample with more groups and keys, the query parameter `key` allowed, and a low `max_body`."""
    document = both_kinds.both_kinds()
    document["query_key"] = True
    document["max_body"] = MAX_BODY
    document["groups"] += _groups()
    document["keys"] += [
        {"id": key, "sha256": hashlib.sha256(KEYS[key].encode()).hexdigest(), "group": group} for key, group in _KEYS.items()
    ]
    return document


def group_of(document: dict[str, Any], group: str) -> dict[str, Any]:
    """The group with this id."""
    return next(found for found in document["groups"] if found["id"] == group)
