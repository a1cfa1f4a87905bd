"""The documents of these tests: priced groups of every protocol, and a key for every request."""

from __future__ import annotations

import copy
import hashlib
from decimal import Decimal
from typing import Any, Optional

from demo import DEMO_KEYS

#: Keys of each group. One request takes one key, so that the key's id finds its line.
KEYS = 200
#: The keys with each limit of each group: as many as there are cases that need one of their own.
BUDGETS = 4
#: How keys that are limited are named, what limits them, and how many there are of each group.
LIMITED = {
    "budget": (BUDGETS, {"budget": {"per_day": "0.0001"}}),
}
#: The smallest inspect window that a document can ask for, in bytes.
SMALL_WINDOW = 1024
#: The cluster of the recording upstream.
CLUSTER = "recorder"

#: One price a kind, so that a charge says which kinds it has.
PRICES = {
    "A": {"input": "1.25", "cache_read": "0.125", "output": "10", "reasoning": "12"},
    "B": {"input": "5", "cache_read": "0.5", "cache_write_5m": "6.25", "cache_write_1h": "10", "output": "25"},
    "C": {"input": "0.3", "cache_read": "0.075", "output": "2.5", "reasoning": "2.6"},
}
IMAGE_PRICES = {"input": "5", "input_image": "10", "output": "40", "image": "0.02"}
#: The usual model of each protocol, one that costs more, and one that the key's list does not have.
MODELS = {"A": "gpt-5.1", "B": "claude-haiku-4-5", "C": "gemini-2.5-flash"}
DEAR = {"A": "gpt-5.1-pro", "B": "claude-opus-4-5", "C": "gemini-2.5-pro"}
UNLISTED = {"A": "gpt-6", "B": "claude-opus-6", "C": "gemini-9-ultra"}
IMAGE_MODEL = "gpt-image-1"
#: How many times the usual model the dear one costs.
DEARER = 10
MULTIPLIER = "1.0000"

Group = dict[str, Any]


def _times(prices: dict[str, str], factor: int) -> dict[str, str]:
    return {kind: str(Decimal(price) * factor) for kind, price in prices.items()}


def _models(protocol: str, *, images: bool) -> list[dict[str, Any]]:
    prices = PRICES[protocol]
    models = [
        {"id": MODELS[protocol], "prices": prices},
        {"id": DEAR[protocol], "prices": _times(prices, DEARER)},
    ]
    if images:
        models.append({"id": IMAGE_MODEL, "kind": "image", "prices": IMAGE_PRICES})
    return models


def source(name: str, protocol: str, **more: Any) -> Group:
    """A source group in front of the recorder."""
    return {
        "id": name,
        "protocol": protocol,
        "multiplier": MULTIPLIER,
        "cluster": CLUSTER,
        "clients": "current",
        "models": _models(protocol, images=more.get("image_generation", False)),
        **more,
    }


ENTRIES = {"responses": "a", "vb_messages": "b", "vc_generate_content": "c"}


def mixed(name: str) -> Group:
    """All three protocols, by the groups `a`, `b` and `c`."""
    return {
        "id": name,
        "protocol": "Mixed",
        "clients": "current",
        "entries": {entry: {"source": group, "extra_multiplier": "1.0000"} for entry, group in ENTRIES.items()},
        "models": [
            {"id": model, "entry": entry}
            for entry, group in ENTRIES.items()
            for model in (MODELS[group.upper()], DEAR[group.upper()])
        ],
    }


GROUPS: list[Group] = [
    source("a", "A"),
    source("a-images", "A", image_generation=True),
    source("b", "B", count_tokens=True),
    source("c", "C"),
    mixed("mixed"),
]


def key_id(group: str, number: int) -> str:
    return f"{group}.{number}"


def key_value(group: str, number: int) -> str:
    return f"sk-abuse-{group}-{number}"


def _keys(groups: list[Group]) -> list[dict[str, Any]]:
    def key(identity: str, value: str, group: str, limits: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        digest = hashlib.sha256(value.encode()).hexdigest()
        return {"id": identity, "sha256": digest, "group": group, **({"limits": limits} if limits else {})}

    names = [group["id"] for group in groups]
    keys = [key(key_id(name, number), key_value(name, number), name) for name in names for number in range(KEYS)]
    for group in names:
        for kind, (count, limits) in LIMITED.items():
            name = f"{group}-{kind}"
            keys += [key(key_id(name, number), key_value(name, number), group, limits) for number in range(count)]
    # The one with which `vitals` asks whether the gateway lives.
    return [*keys, key("probe", DEMO_KEYS["key_a"], names[0])]


def document(**more: Any) -> dict[str, Any]:
    """The usual groups; `more` are members of the document."""
    return {"currency": "USD", "groups": copy.deepcopy(GROUPS), "keys": _keys(GROUPS), **more}
