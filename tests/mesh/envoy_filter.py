"""What Istio's control plane does with an EnvoyFilter, as far as ours need it. Anything else raises."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Optional

Tree = dict[str, Any]


@dataclass
class Proxy:
    """One gateway's configuration, as its control plane hands it out."""

    listeners: list[Tree] = field(default_factory=list)
    routes: list[Tree] = field(default_factory=list)
    clusters: list[Tree] = field(default_factory=list)
    extensions: list[Tree] = field(default_factory=list)


class Unsupported(Exception):
    """A patch that this does not know how to apply, or that would change nothing."""


def apply(proxy: Proxy, *envoy_filters: Tree) -> None:
    """Applies the patches in the order that Istio does: of all resources, the smaller priority first; those of what is there,
    then what is added."""
    ranked = sorted(envoy_filters, key=lambda each: each["spec"].get("priority", 0))
    patches = [patch for each in ranked for patch in each["spec"]["configPatches"]]
    known = {"LISTENER", "NETWORK_FILTER", "HTTP_FILTER", "EXTENSION_CONFIG", "HTTP_ROUTE", "CLUSTER"}
    for number, patch in enumerate(patches):
        if patch["applyTo"] not in known:
            raise Unsupported(f"patch {number}: {patch['applyTo']}")
        if patch["match"].get("context") != "GATEWAY":
            raise Unsupported(f"patch {number}: only for gateways")

    def these(apply_to: str) -> list[Tree]:
        return [patch for patch in patches if patch["applyTo"] == apply_to]

    for patch in these("LISTENER"):
        if operation(patch) == "MERGE":
            touched([merge(listener, value(patch)) for listener in proxy.listeners], patch)
    for patch in these("NETWORK_FILTER"):
        expect(patch, "MERGE")
        touched([merge(found, value(patch)) for found in network_filters(proxy, patch)], patch)
    # Filters are merged when all of them are in their places.
    for patch in sorted(these("HTTP_FILTER"), key=lambda each: operation(each) == "MERGE"):
        changes = {"INSERT_BEFORE": insert_before, "REPLACE": replace, "MERGE": merge_named}
        change = changes.get(operation(patch))
        if not change:
            raise Unsupported(f"HTTP_FILTER {operation(patch)}")
        wanted = patch["match"]["listener"]["filterChain"]["filter"]["subFilter"]["name"]
        touched([change(found, wanted, value(patch)) for found in network_filters(proxy, patch)], patch)
    for patch in these("HTTP_ROUTE"):
        expect(patch, "INSERT_FIRST")
        touched([insert_first(routes, patch) for routes in virtual_hosts(proxy)], patch)
    for patch in these("CLUSTER"):
        expect(patch, "ADD")
        proxy.clusters.append(value(patch))
    for patch in these("EXTENSION_CONFIG"):
        expect(patch, "ADD")
        proxy.extensions.append(value(patch))
    # Listeners that come by a patch are not patched themselves.
    for patch in these("LISTENER"):
        if operation(patch) == "ADD":
            proxy.listeners.append(value(patch))
        elif operation(patch) != "MERGE":
            raise Unsupported(f"LISTENER {operation(patch)}")


def merge(into: Tree, given: Tree) -> bool:
    """Protobuf's merge: messages are merged, lists put one behind the other, the rest is replaced."""
    for name, new in given.items():
        old = into.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            merge(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            old.extend(copy.deepcopy(new))
        else:
            into[name] = copy.deepcopy(new)
    return True


def network_filters(proxy: Proxy, patch: Tree) -> list[Tree]:
    name = patch["match"]["listener"]["filterChain"]["filter"]["name"]
    chains = [chain for listener in proxy.listeners for chain in listener["filter_chains"]]
    return [found for chain in chains for found in chain["filters"] if found["name"] == name]


def insert_before(manager: Tree, name: str, new: Tree) -> bool:
    filters = manager["typed_config"]["http_filters"]
    places = [place for place, each in enumerate(filters) if each["name"] == name]
    if places:
        filters.insert(places[0], new)
    return bool(places)


def replace(manager: Tree, name: str, new: Tree) -> bool:
    filters = manager["typed_config"]["http_filters"]
    places = [place for place, each in enumerate(filters) if each["name"] == name]
    if places:
        filters[places[0]] = new
    return bool(places)


def merge_named(manager: Tree, name: str, new: Tree) -> bool:
    return any([merge(each, new) for each in manager["typed_config"]["http_filters"] if each["name"] == name])


def virtual_hosts(proxy: Proxy) -> list[Tree]:
    return [host for configuration in proxy.routes for host in configuration["virtual_hosts"]]


def insert_first(host: Tree, patch: Tree) -> bool:
    name: Optional[str] = patch["match"]["routeConfiguration"]["vhost"]["route"]["name"]
    found = any(route.get("name") == name for route in host["routes"])
    if found:
        host["routes"].insert(0, value(patch))
    return found


def operation(patch: Tree) -> str:
    return patch["patch"]["operation"]


def value(patch: Tree) -> Tree:
    return copy.deepcopy(patch["patch"]["value"])


def expect(patch: Tree, wanted: str) -> None:
    if operation(patch) != wanted:
        raise Unsupported(f"{patch['applyTo']} {operation(patch)}")


def touched(changes: list[bool], patch: Tree) -> None:
    if not any(changes):
        raise Unsupported(f"{patch['applyTo']} {operation(patch)} finds nothing: {patch['match']}")
