"""What Envoy Gateway does with an EnvoyPatchPolicy, as far as ours need it. Anything else raises."""

from __future__ import annotations

import copy
import re
from typing import Any

from envoy_filter import Proxy, Tree, Unsupported

#: `type` of a patch -> where resources of that kind are.
KINDS = {
    "type.googleapis.com/envoy.config.listener.v3.Listener": "listeners",
    "type.googleapis.com/envoy.config.route.v3.RouteConfiguration": "routes",
    "type.googleapis.com/envoy.config.cluster.v3.Cluster": "clusters",
}

STEP = re.compile(
    r"(?P<deep>\.\.)?\.?(?P<name>[a-z_]+)(\[\?\(@\.name=='(?P<wanted>[^']+)'\)\]|\[(?P<all>\*)\])?"
)


def apply(proxy: Proxy, *policies: Tree) -> None:
    """Applies the patches in their order: of all policies, the smaller priority first."""
    ranked = sorted(policies, key=lambda each: each["spec"].get("priority", 0))
    for number, patch in enumerate(patch for each in ranked for patch in each["spec"]["jsonPatches"]):
        resources: list[Tree] = getattr(proxy, KINDS[patch["type"]])
        operation = patch["operation"]
        if operation["op"] != "add":
            raise Unsupported(f"patch {number}: {operation['op']}")
        json_path, path = operation.get("jsonPath"), operation.get("path", "")
        if not json_path and not path:
            resources.append(copy.deepcopy(operation["value"]))
            continue
        found = [each for each in resources if each["name"] == patch["name"]]
        if len(found) != 1:
            raise Unsupported(f"patch {number}: {len(found)} resources {patch['name']}")
        places = located(found[0], json_path) if json_path else [found[0]]
        if not places:
            raise Unsupported(f"patch {number}: nothing at {json_path}")
        for place in places:
            add(place, path, copy.deepcopy(operation["value"]))


def located(document: Any, json_path: str) -> list[Any]:
    """What a JSONPath finds: names, `..`, `[*]` and `[?(@.name=='…')]`."""
    rest, found = json_path.removeprefix("$"), [document]
    while rest:
        step = STEP.match(rest)
        if not step or not (step["deep"] or step["name"]):
            raise Unsupported(f"JSONPath {json_path} at {rest}")
        rest = rest[step.end() :]
        within = [below for each in found for below in deep(each)] if step["deep"] else found
        found = [each[step["name"]] for each in within if isinstance(each, dict) and step["name"] in each]
        if step["wanted"] or step["all"]:
            items = [item for each in found if isinstance(each, list) for item in each]
            wanted = step["wanted"]
            found = [
                each
                for each in items
                if not wanted or (isinstance(each, dict) and each.get("name") == wanted)
            ]
    return found


def deep(tree: Any) -> list[Any]:
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [tree, *(below for child in children for below in deep(child))]


def add(place: Any, pointer: str, value: Any) -> None:
    """RFC 6902's `add`; missing objects on the way are made, as Envoy Gateway has it."""
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")]
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
    if isinstance(place, list):
        place.insert(len(place) if last == "-" else int(last), value)
    else:
        place[last] = value
