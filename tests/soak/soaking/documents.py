"""The documents of the soak: one gateway in several versions, and what a record costs by each.

Every version has multipliers and prices of its own. A record names its multiplier, so it says which version it was
admitted under, and its charge must then be by that version's prices: half of an old document and half of a new one
would not add up.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple, Optional, Union

from .accounts import Account, Upstreams, accounts, members
from .limits import TIGHT_KEYS, group_of, of_group, of_key

#: As many different documents take turns.
VERSIONS = 8
CURRENCY = "USD"

#: The kinds that have prices, with the kind whose price stands in where one has none (`None`: free).
FALLBACK: dict[str, Optional[str]] = {
    "input": None,
    "input_image": "input",
    "cache_read": "input",
    "cache_write_5m": "input",
    "cache_write_1h": "cache_write_5m",
    "tool_use": "input",
    "output": None,
    "reasoning": "output",
}
TOKENS = tuple(FALLBACK)
KINDS = (*TOKENS, "images")


class Source(NamedTuple):
    """A source group: its multiplier in ten-thousandths (of version 0), its cluster or its accounts, its models."""

    protocol: str
    multiplier: int
    upstream: Union[str, Upstreams]
    models: tuple[str, ...]
    further: Mapping[str, Any]


A_MODELS = ("gpt-5.1", "gpt-5.4-nano", "gpt-unpriced", "gpt-image-1")
B_MODELS = ("claude-opus-4-5", "claude-haiku-4-5")
C_MODELS = ("gemini-2.5-flash", "gemini-2.5-pro")

SOURCES = {
    "a-asks": Source("A", 2000, Upstreams(4, 0, failures=1), A_MODELS, {"image_generation": True, "include_usage": True}),
    "a-plain": Source("A", 10000, "a_official", A_MODELS, {"image_generation": True, "include_usage": False}),
    "b-one": Source("B", 20000, Upstreams(4, 1, failures=3), B_MODELS, {"count_tokens": True}),
    "b-low": Source("B", 3000, "b_low_rate", B_MODELS, {"count_tokens": True}),
    "c-one": Source("C", 5000, Upstreams(4, 2, failures=20), C_MODELS, {}),
    "c-two": Source("C", 7777, Upstreams(1, 3, failures=1), C_MODELS, {}),
}

#: Source -> its accounts, where it has some.
ACCOUNTS: dict[str, dict[str, Account]] = {
    name: accounts(name, source.protocol, source.upstream)
    for name, source in SOURCES.items()
    if isinstance(source.upstream, Upstreams)
}

#: Mixed groups: entry -> source and extra multiplier.
MIXED = {
    "mixed-one": {"responses": ("a-asks", 1), "vb_messages": ("b-one", 2), "vc_generate_content": ("c-one", 3)},
    "mixed-two": {"responses": ("a-plain", 2), "vb_messages": ("b-low", 3), "vc_generate_content": ("c-two", 1)},
    "mixed-narrow": {"responses": ("a-plain", 3), "vb_messages": ("b-one", 1), "vc_generate_content": ("c-one", 1)},
    "mixed-poor": {"responses": ("a-plain", 1), "vb_messages": ("b-low", 1), "vc_generate_content": ("c-two", 2)},
}
ENTRIES = {"A": "responses", "B": "vb_messages", "C": "vc_generate_content"}

#: What is sent upstream for these.
RENAMED = {"claude-opus-4-5": "claude-opus-4-5-20251101", "gpt-5.4-nano": "gpt-5.4-nano-2026-03-17"}

#: The values of keys by their names: one for each group, named as that, and those that meet limits.
KEYS = {name: f"soak-{name}-0123456789" for name in (*SOURCES, *MIXED, *TIGHT_KEYS)}


def key_id(name: str) -> str:
    """The id of the key with this name."""
    return f"key-{name}"


def _prices(source: str, model: str) -> dict[str, int]:
    """Prices of version 0 in millionths, some kinds missing. The same in every run."""
    if model == "gpt-unpriced":
        return {}
    draw = random.Random(f"prices/{source}/{model}")
    kinds = ["input", "output", *(kind for kind in TOKENS if kind not in ("input", "output") and draw.random() < 0.6)]
    prices = {kind: draw.randint(1, 40_000_000) for kind in kinds}
    if "image" in model:
        prices["images"] = draw.randint(1, 90_000)
    return prices


_PRICES = {(source, model): _prices(source, model) for source, group in SOURCES.items() for model in group.models}


def price(version: int, source: str, model: str, kind: str) -> int:
    """The price of a kind in millionths: per million tokens, or per image."""
    listed = _PRICES[source, model]
    named: Optional[str] = kind
    while named is not None and named not in listed:
        named = FALLBACK.get(named)
    return listed[named] + version * 13 if named else 0


def _decimal(units: int, places: int) -> str:
    return format(Decimal(units).scaleb(-places), "f")


def source_of(group: str, protocol: str) -> str:
    """The source of this group for a protocol."""
    return MIXED[group][ENTRIES[protocol]][0] if group in MIXED else group


def multipliers(group: str, protocol: str) -> tuple[str, dict[str, int]]:
    """The source of this group for a protocol, and its final multiplier as written -> the version that has it."""
    source, extra = MIXED[group][ENTRIES[protocol]] if group in MIXED else (group, 1)
    base = SOURCES[source].multiplier
    return source, {_decimal((base + version) * extra, 4): version for version in range(VERSIONS)}


def charge(version: int, group: str, protocol: str, model: str, usage: Mapping[str, int]) -> Optional[Decimal]:
    """The exact charge; `None` for a model without prices."""
    source, extra = MIXED[group][ENTRIES[protocol]] if group in MIXED else (group, 1)
    if not _PRICES[source, model]:
        return None
    # Six places of the price and four of the multiplier; tokens are per million.
    tokens = sum(usage[kind] * price(version, source, model, kind) for kind in TOKENS)
    images = usage["images"] * price(version, source, model, "images")
    return Decimal((tokens + images * 10**6) * (SOURCES[source].multiplier + version) * extra).scaleb(-16)


def document(version: int) -> dict[str, Any]:
    """The document of this version."""
    groups: list[dict[str, Any]] = []
    for name, source in SOURCES.items():
        groups.append({
            "id": name,
            "protocol": source.protocol,
            "multiplier": _decimal(source.multiplier + version, 4),
            **_upstream(version, name, source),
            **source.further,
            **of_group(version, name),
            "models": [_model(version, name, model) for model in source.models],
        })  # fmt: skip
    for name, entries in MIXED.items():
        groups.append({
            "id": name,
            "protocol": "Mixed",
            **of_group(version, name),
            "entries": {
                entry: {"source": source, "extra_multiplier": _decimal(extra * 10000, 4)}
                for entry, (source, extra) in entries.items()
            },
            "models": [
                {"id": model, "entry": entry}
                for entry, (source, _) in entries.items()
                for model in SOURCES[source].models
                if "image" not in model
            ],
        })  # fmt: skip
    keys = [
        {
            "id": key_id(name),
            "sha256": hashlib.sha256(value.encode()).hexdigest(),
            "group": group_of(name),
            **of_key(version, name),
        }
        for name, value in KEYS.items()
    ]
    return {"currency": CURRENCY, "groups": groups, "keys": keys}


def _upstream(version: int, name: str, source: Source) -> dict[str, Any]:
    if isinstance(source.upstream, str):
        return {"cluster": source.upstream}
    return members(version, source.upstream, ACCOUNTS[name])


def _model(version: int, source: str, model: str) -> dict[str, Any]:
    found: dict[str, Any] = {"id": model}
    if "image" in model:
        found["kind"] = "image"
    if model in RENAMED:
        found["upstream"] = RENAMED[model]
    listed = _PRICES[source, model]
    if listed:
        named = {kind: _decimal(price(version, source, model, kind), 6) for kind in listed}
        if "images" in named:
            named["image"] = named.pop("images")
        found["prices"] = named
    else:
        # Groups that show it have budgets.
        found["free"] = True
    return found
