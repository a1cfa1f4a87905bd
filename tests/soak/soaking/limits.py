"""The limits of the soak: of most keys and groups such that they only count, of a few such that they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Limits = dict[str, Any]


class Tight(NamedTuple):
    """A key whose requests meet limits: its group, and limits of its own that refuse."""

    group: str
    limits: Limits


#: Groups that refuse, and by what.
TIGHT_GROUPS: dict[str, Limits] = {
    "mixed-narrow": {"concurrent_requests": 2},
    "mixed-poor": {"requests_per_minute": 90, "budget": {"per_month": "2.5"}},
}
#: Keys by name. Those of a group that refuses need not refuse by themselves.
TIGHT_KEYS: dict[str, Tight] = {
    "few-requests": Tight("mixed-two", {"requests_per_minute": 12}),
    "few-input": Tight("mixed-one", {"input_tokens_per_minute": 60_000}),
    "few-output": Tight("mixed-two", {"output_tokens_per_minute": 6_000}),
    "one-at-a-time": Tight("mixed-one", {"concurrent_requests": 1}),
    "poor": Tight("mixed-two", {"budget": {"per_day": "0.25"}}),
    "narrow": Tight("mixed-narrow", {}),
    "of-the-poor": Tight("mixed-poor", {}),
}
#: Keys and groups with no limit at all, beside those that only count.
UNLIMITED = ("c-two", "b-low")
#: Whose slots are looked at in the end, by key, and how many there are.
SLOTS = {"one-at-a-time": 1, "narrow": 2}


#: Groups that limit tokens too, and whose key does: a request is held until its length and its cap are known.
TOKENS_TOO = ("a-asks", "b-one", "mixed-one")


def of_group(version: int, name: str) -> Limits:
    """The member `limits` of a group, if it has one."""
    return {} if name in UNLIMITED else {"limits": {**_generous(version, name), **TIGHT_GROUPS.get(name, {})}}


def of_key(version: int, name: str) -> Limits:
    """The member `limits` of a key by its name, which is its group's or one of `TIGHT_KEYS`; if it has one."""
    own = TIGHT_KEYS[name].limits if name in TIGHT_KEYS else {}
    return {} if name in UNLIMITED else {"limits": {**_generous(version, name), **own}}


def _generous(version: int, name: str) -> Limits:
    """Limits that never refuse. They change with every document, and the counts go on."""
    limits: Limits = {
        "requests_per_minute": 1_000_000_000 - version,
        "concurrent_requests": 1_000_000 + version,
        "budget": {"per_day": "1000000000", "per_month": f"{999_999_999 - version}"},
    }
    if name in TOKENS_TOO:
        limits.update(input_tokens_per_minute=1_000_000_000 - version, output_tokens_per_minute=999_999_999)
    return limits


def group_of(name: str) -> str:
    """The group of the key with this name."""
    return TIGHT_KEYS[name].group if name in TIGHT_KEYS else name


def has_budget(scope: str, identity: str) -> bool:
    """Whether the key or the group with this id has a budget."""
    return bool(identity) and identity.removeprefix("key-" if scope == "key" else "") not in UNLIMITED


def refusing(name: str) -> set[tuple[str, str]]:
    """The limits that may refuse a request with this key: scope and limit, as records have them."""
    own = TIGHT_KEYS[name].limits if name in TIGHT_KEYS else {}
    of_its_group = TIGHT_GROUPS.get(group_of(name), {})
    return {("key", limit) for limit in _names(own)} | {("group", limit) for limit in _names(of_its_group)}


def _names(limits: Limits) -> Iterator[str]:
    for name, value in limits.items():
        if name == "budget":
            yield from (f"{state}budget_{window}" for window in value for state in ("", "reserved_"))
        else:
            yield name[: -len("_per_minute")] if name.endswith("_per_minute") else name
