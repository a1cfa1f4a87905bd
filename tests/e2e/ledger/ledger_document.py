"""The document of these tests: a price of its own on every kind of every model, and a key for every exchange."""

from __future__ import annotations

import copy
import datetime
import hashlib
import json
from pathlib import Path
from typing import Any

from demo import DEMO_KEYS

#: Keys of each group. One exchange takes one key, so that the key's id finds its records.
KEYS = 800
#: Longest request body.
MAX_BODY = 1 << 20

#: What no line may ever hold: it is in every key's value.
SECRET = "ledger-key-value"

A_PRICES = {
    "input": "1.25",
    "cache_read": "0.125",
    "cache_write_5m": "1.5625",
    "output": "10",
    "reasoning": "12.345678",
}
B_PRICES = {
    "input": "5",
    "cache_read": "0.5",
    "cache_write_5m": "6.25",
    "cache_write_1h": "10.000001",
    "output": "25",
}
C_PRICES = {"input": "0.3", "cache_read": "0.075", "tool_use": "0.31", "output": "2.5", "reasoning": "2.6"}

LONG_PRICES: dict[str, Any] = {
    "input": "2",
    "cache_read": "0.2",
    "output": "10",
    "above": [
        {"input_tokens": 272_000, "prices": {"input": "4.000001", "cache_read": "0.4", "output": "15"}},
        {"input_tokens": 500_000, "prices": {"input": "9", "cache_read": "0.9", "output": "16"}},
    ],
    "tiers": {
        "flex": {
            "input": "1",
            "cache_read": "0.1",
            "output": "5",
            "above": [{"input_tokens": 272_000, "prices": {"input": "2", "cache_read": "0.2", "output": "7.5"}}],
        },
        "priority": {"input": "4", "cache_read": "0.4", "output": "20"},
    },
}

def _part(first: int, last: int) -> str:
    """A part of the day, from so many hours from now to so many."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return "-".join(f"{now + datetime.timedelta(hours=hours):%H:%M}" for hours in (first, last))


#: By the clock: the last that holds is the second but last.
TIMED_PRICES: dict[str, Any] = {
    "input": "1",
    "output": "2",
    "times": [
        {"from": "2020-01-01", "prices": {"input": "3", "output": "4"}},
        {
            "from": "2020-01-01",
            "hours": [_part(-9, -6), _part(-3, 3)],
            "at": "end",
            "prices": {"input": "5.000001", "output": "6"},
        },
        {"from": "2999-01-01", "prices": {"input": "7", "output": "8"}},
        {"hours": [_part(6, 12)], "prices": {"input": "9", "output": "10"}},
    ],
}

A_MODELS: list[dict[str, Any]] = [
    {"id": "gpt-5.1", "merge_dated": True, "prices": A_PRICES},
    # Another name upstream, and aliases. Reasoning costs what output does, everything read costs the same.
    {
        "id": "gpt-5.4",
        "upstream": "gpt-5.4-2026-03-05",
        "aliases": ["gpt-best"],
        "prices": {"input": "2.500001", "output": "0.000001"},
    },
    {"id": "gpt-unpriced"},
    # Other prices by the length of the input, in a class of service too.
    {"id": "gpt-long", "prices": LONG_PRICES},
    {"id": "gpt-timed", "prices": TIMED_PRICES},
    {
        "id": "gpt-image-1",
        "kind": "image",
        "prices": {"input": "5", "input_image": "10.5", "output": "40", "image": "0.011"},
    },
    # As the older ones: by the picture alone.
    {"id": "gpt-image-old", "kind": "image", "prices": {"image": "0.04"}},
    {"id": "gpt-locked", "entitled": False, "prices": A_PRICES},
]
B_MODELS: list[dict[str, Any]] = [
    {"id": "claude-opus-4-5", "upstream": "claude-opus-4-5-20251101", "prices": B_PRICES},
    {"id": "claude-haiku-4-5", "prices": {"input": "1", "output": "5"}},
    {"id": "claude-unpriced-1"},
    # Other prices in the US, and for fast answers from there.
    {
        "id": "claude-placed-1",
        "prices": {
            "input": "1",
            "output": "5",
            "tiers": {
                "us": {"input": "1.1", "output": "5.5"},
                "fast": {"input": "6", "output": "30", "tiers": {"us": {"input": "6.6", "output": "33"}}},
            },
        },
    },
]
C_MODELS: list[dict[str, Any]] = [
    {"id": "gemini-2.5-flash", "prices": C_PRICES},
    {"id": "gemini-2.5-pro", "upstream": "gemini-2.5-pro-002", "prices": {"output": "10"}},
    {"id": "gemini-embedding-001", "prices": {"input": "0.15"}},
    {"id": "gemini-unpriced"},
    # Searches cost by the request, and each.
    {
        "id": "gemini-searching",
        "prices": {
            "input": "1",
            "output": "5",
            "per_request": {"web_search": "0.035"},
            "per_call": {"web_search": "0.014"},
        },
    },
]
MODELS = {"A": A_MODELS, "B": B_MODELS, "C": C_MODELS}

#: What vendors report, and the models that are charged for it.
VENDOR_TABLE: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "fixtures" / "vendors" / "cases.json").read_text()
)


def _source(name: str, protocol: str, multiplier: str, cluster: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "protocol": protocol,
        "multiplier": multiplier,
        "cluster": cluster,
        "models": copy.deepcopy(MODELS[protocol]),
        **more,
    }


def _mixed(name: str, source_a: str, extras: tuple[str, str, str]) -> dict[str, Any]:
    entries = {
        "responses": {"source": source_a, "extra_multiplier": extras[0]},
        "vb_messages": {"source": "b", "extra_multiplier": extras[1]},
        "vc_generate_content": {"source": "c", "extra_multiplier": extras[2]},
    }
    shown = {"responses": A_MODELS, "vb_messages": B_MODELS, "vc_generate_content": C_MODELS}
    models = [
        {"id": model["id"], "entry": entry}
        for entry, models in shown.items()
        for model in models
        if model.get("kind") != "image" and model.get("entitled", True)
    ]
    return {"id": name, "protocol": "Mixed", "entries": entries, "models": models}


GROUPS: list[dict[str, Any]] = [
    _source("a", "A", "0.2000", "a_official", image_generation=True),
    _source("a-asks", "A", "0.3333", "a_official", include_usage=True),
    # Sends streams as they come, whatever the prices.
    _source("a-never", "A", "0.6000", "a_official", include_usage=False),
    _source("b", "B", "2.0000", "b_official", count_tokens=True),
    _source("b-low", "B", "1.1000", "b_low_rate"),
    _source("c", "C", "0.7500", "c_official"),
    _mixed("mixed", "a", ("1.2300", "1.5000", "0.8000")),
    # Eight places: shown are four, the charge is by all.
    _mixed("mixed-asks", "a-asks", ("1.2345", "0.5000", "3.0000")),
    # What is not reported costs nothing there; nor do they ask for it.
    _source("a-free", "A", "0.2500", "a_official", image_generation=True, include_usage=False, unreported="free"),
    _source("b-free", "B", "1.7500", "b_official", unreported="free"),
    _source("c-free", "C", "0.8000", "c_official", unreported="free"),
    # Nobody listens there.
    _source("a-dead", "A", "1.0000", "nowhere", image_generation=True),
    _source("b-dead", "B", "1.0000", "nowhere"),
    _source("c-dead", "C", "1.0000", "nowhere"),
    # Envoy has no such cluster.
    _source("a-unknown", "A", "1.0000", "not_configured"),
    # An upstream whose answers are written by the test.
    _source("a-odd", "A", "1.0000", "crafted", image_generation=True),
    _source("b-odd", "B", "1.0000", "crafted"),
    _source("c-odd", "C", "1.0000", "crafted"),
    _source("a-odd-free", "A", "1.0000", "crafted", unreported="free"),
]


for _group in GROUPS:
    if _group["id"].endswith("-odd"):
        _group["models"] += copy.deepcopy(VENDOR_TABLE["models"][_group["protocol"]])

#: The groups, and the sources of groups, that charge nothing for what is not reported.
FREE = {group["id"] for group in GROUPS if group.get("unreported") == "free"}


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
    return {"currency": "EUR", "max_body": MAX_BODY, "groups": copy.deepcopy(GROUPS), "keys": keys}
