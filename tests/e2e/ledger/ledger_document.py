"""The document of these tests: prices, and a key for every exchange."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

from demo import DEMO_KEYS

#: Keys of each group. One exchange takes one key, so that the key's id finds its records.
KEYS = 400
#: Longest request body.
MAX_BODY = 1 << 20

#: What no line may ever hold: it is in every key's value.
SECRET = "ledger-key-value"

MODELS: dict[str, list[dict[str, Any]]] = {
    "A": [
        {"id": "gpt-5.1", "merge_dated": True, "prices": {"input": "1.25", "cache_read": "0.125", "output": "10"}},
        {"id": "gpt-image-1", "kind": "image", "prices": {"input": "5", "output": "40", "image": "0.011"}},
    ],
    "B": [{"id": "claude-opus-4-5", "upstream": "claude-opus-4-5-20251101", "prices": {"input": "5", "output": "25"}}],
    "C": [
        {"id": "gemini-2.5-flash", "prices": {"input": "0.3", "output": "2.5"}},
        {"id": "gemini-embedding-001", "prices": {"input": "0.15"}},
    ],
}


def _source(name: str, protocol: str, multiplier: str, cluster: str, **more: Any) -> dict[str, Any]:
    written = {"id": name, "protocol": protocol, "multiplier": multiplier, "cluster": cluster}
    return {**written, "models": MODELS[protocol], **more}


GROUPS: list[dict[str, Any]] = [
    _source("a", "A", "0.2000", "a_official", image_generation=True),
    # Sends streams as they come, whatever the prices.
    _source("a-never", "A", "0.6000", "a_official", include_usage=False),
    _source("b", "B", "2.0000", "b_official", count_tokens=True),
    _source("c", "C", "0.7500", "c_official"),
    {
        "id": "mixed",
        "protocol": "Mixed",
        "entries": {"vb_messages": {"source": "b", "extra_multiplier": "1.5000"}},
        "models": [{"id": "claude-opus-4-5", "entry": "vb_messages"}],
    },
    # Nobody listens there.
    _source("a-dead", "A", "1.0000", "nowhere"),
    # Envoy has no such cluster.
    _source("a-unknown", "A", "1.0000", "not_configured"),
]


def key_id(group: str, number: int) -> str:
    return f"{group}.{number}"


def key_value(group: str, number: int) -> str:
    return f"sk-{SECRET}-{group}-{number}"


def document() -> dict[str, Any]:
    """With one more key: the one with which `vitals` asks whether the gateway lives."""
    keys = [
        {
            "id": key_id(group["id"], number),
            "sha256": hashlib.sha256(key_value(group["id"], number).encode()).hexdigest(),
            "group": group["id"],
        }
        for group in GROUPS
        for number in range(KEYS)
    ]
    keys.append({"id": "probe", "sha256": hashlib.sha256(DEMO_KEYS["key_a"].encode()).hexdigest(), "group": "a"})
    labels = {"project": "x-project"}
    return {"currency": "EUR", "max_body": MAX_BODY, "labels": labels, "groups": copy.deepcopy(GROUPS), "keys": keys}
