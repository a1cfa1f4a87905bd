"""What limits cost: the smallest request, with keys of one gateway that differ in nothing but limits."""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from cases import Case, keys_case
from contestants import FEW, GROUP, Contestant, Trilane, document
from driving import Call, Driven
from house import House

#: So much is never used up.
MOST = 1_000_000_000

Limits = Mapping[str, Any]

#: Each kind of limit, by what it is called.
KINDS: dict[str, dict[str, Any]] = {
    "requests": {"requests_per_minute": MOST},
    "input tokens": {"input_tokens_per_minute": MOST},
    "output tokens": {"output_tokens_per_minute": MOST},
    "concurrent requests": {"concurrent_requests": MOST},
    "budget": {"budget": {"per_day": str(MOST), "per_month": str(MOST)}},
}
ALL = {name: value for limits in KINDS.values() for name, value in limits.items()}


class Member:
    """A key of a gateway, driven as a contestant of its own."""

    #: The load draws no numbers.
    keys = 1

    def __init__(self, name: str, title: str, own: Limits, groups: Limits) -> None:
        """`own` are its limits, `groups` those of its group."""
        self.name = f"limits-{name}"
        self.title = title
        self.key = f"bench-{self.name}"
        self.own = own
        self.groups = groups
        #: The gateway, once it runs.
        self.gateway: Contestant

    @property
    def address(self) -> str:
        return self.gateway.address

    @property
    def pid(self) -> int:
        return self.gateway.pid

    def check(self) -> None:
        """Raises if the gateway has ended."""
        self.gateway.check()

    def forget_log(self) -> None:
        """See `Contestant.forget_log`."""
        self.gateway.forget_log()


class OfMember(Case):
    """A case that each member's own key makes."""

    def call_to(self, contestant: Driven) -> Call:
        assert isinstance(contestant, Member)
        return self.call._replace(key=contestant.key)


def members() -> list[Member]:
    """The first has no limits: the others are compared with it."""
    found = [Member("none", "no limits", {}, {})]
    for whose in ("key", "group"):
        for kind, limits in {**KINDS, "all of these": ALL}.items():
            own, groups = (limits, {}) if whose == "key" else ({}, limits)
            found.append(Member(f"{whose}-{kind.replace(' ', '-')}", f"{kind}, of the {whose}", own, groups))
    return [*found, Member("both-all", "all of these, of key and group", ALL, ALL)]


def with_groups(groups: Mapping[str, Limits], keys: Mapping[str, tuple[str, Limits]]) -> bytes:
    """The document with these groups, each like `GROUP` but for its limits, and keys by value: group and limits."""
    made = json.loads(document(FEW))
    (like,) = [group for group in made["groups"] if group["id"] == GROUP]
    for identity, limits in groups.items():
        made["groups"].append({**copy.deepcopy(like), "id": identity, **({"limits": limits} if limits else {})})
    for value, (group, limits) in keys.items():
        digest = hashlib.sha256(value.encode()).hexdigest()
        made["keys"].append({"id": value, "sha256": digest, "group": group, **({"limits": limits} if limits else {})})
    return json.dumps(made, separators=(",", ":")).encode()


class WithLimits(Trilane):
    """Trilane with a document of its own, and as many workers as are wanted."""

    def __init__(self, *arguments: Any, content: bytes, workers: int = 1) -> None:
        super().__init__(*arguments, FEW)
        self._document = content
        self._concurrency = workers


def limits_case() -> OfMember:
    """The smallest request."""
    return OfMember(*keys_case()._replace(name="limits", title="1 KB, model first, by limits", latency=False))


def run(house: House) -> None:
    """Each kind of limit for itself, of the key and of its group, and all of them."""
    case = limits_case()
    if not house.wanted(case.name):
        return
    crowd = members()
    groups = {member.name: member.groups for member in crowd}
    keys = {member.key: (member.name, member.own) for member in crowd}
    arguments = ("limits", "trilane, limits", house.run_dir, house.source, house.cores)
    with WithLimits(*arguments, content=with_groups(groups, keys)) as gateway:
        print(f"{gateway.title}: {len(crowd)} keys", file=sys.stderr, flush=True)
        for member in crowd:
            member.gateway = gateway
        house.rounds.warm([case], crowd)
        house.rounds.case(case, crowd, crowd[-1].name)
