"""The limits of the rate limit service: the reference service's file of descriptors, as far as used here.

A limit belongs to a whole descriptor: each entry is looked up one level deeper, first by key and value, then
by key alone. https://github.com/envoyproxy/ratelimit#configuration
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Optional

import yaml

#: Length of a window, in seconds.
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}

#: What the reference service takes, and no other word.
KNOWN = {
    "domain", "descriptors", "key", "value", "rate_limit", "unit", "requests_per_unit", "shadow_mode", "name",
    "unlimited", "replaces", "detailed_metric", "quota_mode", "value_to_metric", "share_threshold", "metadata",
}  # fmt: skip


class BadLimits(Exception):
    """The file is not as it should be."""


@dataclass(frozen=True)
class Limit:
    """So many in a window."""

    per_unit: int
    unit: str
    #: It counts and never refuses.
    shadow: bool = False

    @property
    def seconds(self) -> int:
        return SECONDS[self.unit]


@dataclass
class Node:
    """One level of descriptors."""

    limit: Optional[Limit] = None
    below: dict[tuple[str, str], Node] = field(default_factory=dict)


class Limits:
    """The limits of one domain."""

    def __init__(self, text: str) -> None:
        document = yaml.safe_load(text)
        _check_words(document)
        if not document.get("domain"):
            raise BadLimits("domain is missing")
        self.domain: str = document["domain"]
        self._root = Node(below=_level(document.get("descriptors") or []))

    def find(self, domain: str, entries: Iterable[tuple[str, str]]) -> Optional[Limit]:
        """The limit of a descriptor; None where it has none."""
        if domain != self.domain:
            return None
        node: Optional[Node] = self._root
        for key, value in entries:
            assert node
            node = node.below.get((key, value)) or node.below.get((key, ""))
            if not node:
                return None
        return node.limit if node else None


def _check_words(part: Any) -> None:
    if isinstance(part, dict):
        for word, inner in part.items():
            if word not in KNOWN:
                raise BadLimits(f"unknown key {word!r}")
            _check_words(inner)
    elif isinstance(part, list):
        for inner in part:
            _check_words(inner)


def _level(descriptors: list[dict[str, Any]]) -> dict[tuple[str, str], Node]:
    nodes: dict[tuple[str, str], Node] = {}
    for descriptor in descriptors:
        key = (descriptor.get("key", ""), descriptor.get("value", ""))
        if not key[0]:
            raise BadLimits("a descriptor has no key")
        if key in nodes:
            raise BadLimits(f"duplicate descriptor {key}")
        nodes[key] = Node(_limit(descriptor), _level(descriptor.get("descriptors") or []))
    return nodes


def _limit(descriptor: dict[str, Any]) -> Optional[Limit]:
    written = descriptor.get("rate_limit")
    if not written or written.get("unlimited"):
        return None
    if written.get("unit") not in SECONDS:
        raise BadLimits(f"invalid unit {written.get('unit')!r}")
    return Limit(written["requests_per_unit"], written["unit"], descriptor.get("shadow_mode", False))
