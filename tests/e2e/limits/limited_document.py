"""The document of a module of these tests: groups and keys with limits, told where they are needed."""

from __future__ import annotations

import copy
import hashlib
import itertools
from typing import Any, NamedTuple, Optional

from demo import DEMO_KEYS
from e2e.support import BY_HAND

#: What costs something else in each protocol, so that a charge has many digits.
PRICES = {
    "A": {"input": "1.25", "cache_read": "0.125001", "output": "10.000003", "reasoning": "12.345678"},
    "B": {"input": "5", "cache_read": "0.5", "output": "25.000001"},
    "C": {"input": "0.3", "output": "2.5", "reasoning": "2.600007"},
}
#: Of the images endpoints of protocol A; text, pictures shown and pictures made each cost something else.
IMAGE_PRICES = {"input": "5.000001", "input_image": "10.000003", "output": "40.000007", "image": "0.020001"}
IMAGE_MODEL = "gpt-image-1"
MODELS = {"A": "gpt-5.1", "B": "claude-opus-4-5", "C": "gemini-2.5-flash"}
#: Of every group: the last of its four digits is the last of a charge.
MULTIPLIER = "0.3007"

_numbers = itertools.count(1)


class Key(NamedTuple):
    """An account key as its client has it."""

    id: str
    value: str
    #: What it speaks.
    protocol: str
    group: str


class Book:
    """The groups and keys of one document. Those without limits of their own share a group for each protocol."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, Any]] = {}
        self._keys: dict[str, dict[str, Any]] = {}
        for protocol in MODELS:
            self.group(protocol, name=protocol.lower())
        digest = hashlib.sha256(DEMO_KEYS["key_a"].encode()).hexdigest()
        # The one with which `vitals` asks whether the gateway lives.
        self._keys["probe"] = {"id": "probe", "sha256": digest, "group": "a"}

    def group(
        self, protocol: str, *, name: str = "", free: bool = False, images: bool = False, **limits: Any
    ) -> str:
        """A source group, and what all of its keys may use together; with `images` it makes pictures as well."""
        name = name or f"{protocol.lower()}-{next(_numbers)}"
        model: dict[str, Any] = {"id": MODELS[protocol]}
        model.update({"free": True} if free else {"prices": PRICES[protocol]})
        models = [model]
        if images:
            models.append({"id": IMAGE_MODEL, "kind": "image", "prices": IMAGE_PRICES})
        self._groups[name] = {
            "id": name,
            "protocol": protocol,
            "multiplier": MULTIPLIER,
            "cluster": BY_HAND[protocol],
            "clients": "current",
            "models": models,
            **({"image_generation": True} if images else {}),
            **({"limits": limits} if limits else {}),
        }
        return name

    def mixed(self, **limits: Any) -> str:
        """A group that all three protocols go to."""
        name = f"mixed-{next(_numbers)}"
        entries = {"responses": "a", "vb_messages": "b", "vc_generate_content": "c"}
        self._groups[name] = {
            "id": name,
            "protocol": "Mixed",
            "clients": "current",
            "entries": {
                entry: {"source": source, "extra_multiplier": "1.0001"} for entry, source in entries.items()
            },
            "models": [{"id": MODELS[source.upper()], "entry": entry} for entry, source in entries.items()],
            **({"limits": limits} if limits else {}),
        }
        return name

    def key(self, protocol: str, group: Optional[str] = None, **limits: Any) -> Key:
        """A key of a group, and what it may use."""
        number = next(_numbers)
        key = Key(f"key.{number}", f"sk-limits-{number}", protocol, group or protocol.lower())
        self._keys[key.id] = {
            "id": key.id,
            "sha256": hashlib.sha256(key.value.encode()).hexdigest(),
            "group": key.group,
            **({"limits": limits} if limits else {}),
        }
        return key

    def limit(self, key: Key, **limits: Any) -> None:
        """Other limits for a key, or none: for the next document."""
        self._keys[key.id].pop("limits", None)
        if limits:
            self._keys[key.id]["limits"] = limits

    def document(self) -> dict[str, Any]:
        """What all of it comes to."""
        groups, keys = list(self._groups.values()), list(self._keys.values())
        top = {"currency": "USD", "contact": "Ann, 4th floor"}
        return copy.deepcopy({**top, "groups": groups, "keys": keys})
