"""The manifests: valid where schemas are at hand; and the appliers that run them. That they say what envoy.yaml does is a
unit test of the command (control/tests/envoy_config)."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import bases
import envoy_filter
import kubernetes_validate
import patch_policy
import pytest
import yaml
from envoy_filter import Proxy, Tree, Unsupported
from mesh_stack import ENVOY_GATEWAY, FILTER, ISTIO
from mesh_stack import manifests as read
from stack import ENVOY_YAML, HERE

FILES = [*sorted(ISTIO.glob("*.yaml")), *sorted(ENVOY_GATEWAY.glob("*.yaml")), HERE / "document-service.yaml"]
#: The HTTP connection manager of envoy.yaml, and the VM in which the filter runs there.
(GATEWAY,) = [
    each
    for each in yaml.safe_load(ENVOY_YAML.read_text(encoding="utf-8"))["static_resources"]["listeners"]
    if each["name"] == "gateway"
]
MANAGER = GATEWAY["filter_chains"][0]["filters"][0]["typed_config"]
(FILTER_VM,) = [
    each["typed_config"]["config"]["vm_config"] for each in MANAGER["http_filters"] if each["name"] == "trilane"
]
#: A directory with the CRDs (YAML) of Istio, Envoy Gateway and the Gateway API. None of them is in PyPI.
CRDS = os.environ.get("MESH_CRDS")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_objects_are_whole(path: Path) -> None:
    for each in read(path):
        assert each["apiVersion"] and each["kind"] and each["metadata"]["name"], path
        if each["apiVersion"] in ("v1", "apps/v1", "networking.k8s.io/v1"):
            kubernetes_validate.validate(each, "1.31", strict=True)


@pytest.mark.skipif(not CRDS, reason="MESH_CRDS names no directory with the CRDs")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_crds_take_them(path: Path) -> None:
    schemas = custom_resources(Path(CRDS or ""))
    for each in read(path):
        key = (each["apiVersion"], each["kind"])
        if key in schemas or "." in each["apiVersion"].split("/")[0].replace("networking.k8s.io", ""):
            import jsonschema

            jsonschema.validate(each, closed(schemas[key]))


def custom_resources(folder: Path) -> dict[tuple[str, str], Tree]:
    found: dict[tuple[str, str], Tree] = {}
    for file in folder.glob("*.yaml"):
        for crd in yaml.load_all(file.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if crd and crd.get("kind") == "CustomResourceDefinition":
                spec = crd["spec"]
                for version in spec["versions"]:
                    schema = version["schema"]["openAPIV3Schema"]
                    found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return found


def closed(schema: Any, top: bool = True) -> Any:
    """A CRD's schema with unknown fields refused, as the API server warns of them."""
    if isinstance(schema, list):
        return [closed(each, False) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    given = {name: closed(each, False) for name, each in schema.items()}
    keep = schema.get("x-kubernetes-preserve-unknown-fields")
    if (
        "properties" in schema
        and not keep
        and not top
        and isinstance(schema["properties"], dict)
        and schema.get("type") == "object"
    ):
        given.setdefault("additionalProperties", False)
    return given


# ---- The appliers


def test_every_patch_of_ours_changes_something() -> None:
    """`apply` raises for one that finds nothing: with another name nothing would be found."""
    (main,) = read(ISTIO / "envoyfilter.yaml")
    proxy = bases.istio()
    envoy_filter.apply(proxy, main)
    filters = [
        each["name"]
        for each in proxy.listeners[0]["filter_chains"][0]["filters"][0]["typed_config"]["http_filters"]
    ]
    assert filters[-5:] == ["gzip", "brotli", "zstd", "trilane", "envoy.filters.http.router"]
    *routes, closed = proxy.routes[0]["virtual_hosts"][0]["routes"]
    (host,) = MANAGER["route_config"]["virtual_hosts"]
    assert [each["match"] for each in routes] == [each["match"] for each in host["routes"]], "in the order of envoy.yaml"
    names = ["trilane-encoded", "trilane-accounts-versioned", "trilane-accounts", "trilane-versioned", "trilane"]
    assert [each["name"] for each in routes] == names
    assert "direct_response" in closed
    for place in "istio.alpn", "envoy.filters.http.router":
        other = bases.istio()
        manager = other.listeners[0]["filter_chains"][0]["filters"][0]["typed_config"]
        manager["http_filters"] = [each for each in manager["http_filters"] if each["name"] != place]
        if place.endswith("router"):
            with pytest.raises(Unsupported):
                envoy_filter.apply(other, main)
        else:
            envoy_filter.apply(other, main)


def test_nothing_needs_a_file_but_failover() -> None:
    """A gateway whose pods have no filter as a file serves groups with one account. Envoy refuses what names a file that is
    not there; Istio's agent and Envoy Gateway put no other code in the place of a log's."""
    for folder, file in (ISTIO, "envoyfilter.yaml"), (ENVOY_GATEWAY, "envoypatchpolicy.yaml"):
        assert FILTER not in (folder / file).read_text(encoding="utf-8"), file
        roots = {each["root_id"]: each["vm_config"] for each in plugins(folder / "failover.yaml")}
        names = {"tries", "attempts"} | ({"gateway"} if folder == ISTIO else set())
        assert set(roots) == names, folder.name
        assert all(each == FILTER_VM for each in roots.values()), f"{folder.name}: one VM, with the code of a file"


def plugins(path: Path) -> list[Tree]:
    """What runs the filter."""
    return [each for each in patch_policy.deep(read(path)) if isinstance(each, dict) and "root_id" in each]


def test_failover_comes_last() -> None:
    """Later in both, whatever was applied to the cluster first: each changes what the main resource has put there."""
    for folder, file in (ISTIO, "envoyfilter.yaml"), (ENVOY_GATEWAY, "envoypatchpolicy.yaml"):
        (main,), (failover,) = read(folder / file), read(folder / "failover.yaml")
        assert main["spec"].get("priority", 0) < failover["spec"]["priority"], folder.name
        assert main["metadata"]["name"] != failover["metadata"]["name"], folder.name


def test_a_renamed_route_stays_closed() -> None:
    (main,) = read(ISTIO / "envoyfilter.yaml")
    proxy = bases.istio()
    proxy.routes[0]["virtual_hosts"][0]["routes"][0]["name"] = "other"
    with pytest.raises(Unsupported, match="HTTP_ROUTE"):
        envoy_filter.apply(proxy, main)
    assert len(proxy.routes[0]["virtual_hosts"][0]["routes"]) == 1


MERGES: dict[str, tuple[Tree, Tree, Tree]] = {
    "a scalar is replaced": ({"a": 1}, {"a": 2}, {"a": 2}),
    "a message is merged": ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
    "lists are put together": ({"a": [1]}, {"a": [2]}, {"a": [1, 2]}),
    "new": ({}, {"a": {"b": []}}, {"a": {"b": []}}),
}


@pytest.mark.parametrize("case", MERGES)
def test_merge(case: str) -> None:
    into, given, want = copy.deepcopy(MERGES[case])
    envoy_filter.merge(into, given)
    assert into == want, case


TREE: Tree = {
    "name": "l",
    "chains": [{"filters": [{"name": "x.y", "c": {"n": 1}}, {"name": "z"}]}, {"filters": []}],
}
PATHS: dict[str, tuple[str, list[Any]]] = {
    "anywhere, by name": ("..filters[?(@.name=='x.y')].c", [{"n": 1}]),
    "from the root": ("$.chains[*]", TREE["chains"]),
    "not there": ("..filters[?(@.name=='no')]", []),
    "no such child": ("..filters[?(@.name=='z')].c", []),
}


@pytest.mark.parametrize("case", PATHS)
def test_json_path(case: str) -> None:
    path, want = PATHS[case]
    assert patch_policy.located(TREE, path) == want, case


ADDS: dict[str, tuple[Any, str, Any, Any]] = {
    "a member": ({}, "/a", 1, {"a": 1}),
    "in place of one": ({"a": 0}, "/a", 1, {"a": 1}),
    "objects on the way": ({}, "/a/b", 1, {"a": {"b": 1}}),
    "into a list": ({"a": [1, 3]}, "/a/1", 2, {"a": [1, 2, 3]}),
    "at its end": ({"a": [1]}, "/a/-", 2, {"a": [1, 2]}),
    "escaped": ({}, "/a~1b~0", 1, {"a/b~": 1}),
}


@pytest.mark.parametrize("case", ADDS)
def test_add(case: str) -> None:
    place, pointer, value, want = copy.deepcopy(ADDS[case])
    patch_policy.add(place, pointer, value)
    assert place == want, case


def test_a_patch_that_finds_nothing_is_an_error() -> None:
    resource = "type.googleapis.com/envoy.config.listener.v3.Listener"
    for name, json_path in {"other": "", "l": "..nowhere"}.items():
        operation = {"op": "add", "path": "/a", "value": 1, **({"jsonPath": json_path} if json_path else {})}
        policy = {"spec": {"jsonPatches": [{"type": resource, "name": name, "operation": operation}]}}
        with pytest.raises(Unsupported):
            patch_policy.apply(Proxy(listeners=[copy.deepcopy(TREE)]), policy)
