"""What Istio needs: an EnvoyFilter, and a part of the bootstrap."""

from __future__ import annotations

from typing import Any

import yaml
from manifest_parts import HCM, HEAD, ROUTER, Parts, as_json, commented, dump, indented

MANAGER = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
WASM = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"

#: The filter's image: one layer, with `plugin.wasm` at its root.
IMAGE = "registry.example/trilane/filter:0.1.0"

#: Where the filter gets the document: there is no singleton loader here, so its VMs agree on one that loads.
CLUSTER = "outbound|8080||trilane-document.trilane.svc.cluster.local"
SOURCE = (
    '{"source": {"cluster": "%s", "path": "/gateway.json", "authority": "trilane-document"}, "tick_ms": 1000}'
)


WHY_ROUTES = (
    "The routes. A VirtualService cannot send requests to where a header says; the one in gateway.yaml answers 503 to\n"
    "all of them, and these come before it. So where a patch is missing nothing goes anywhere. The narrowest comes first."
)
WHY_FAILOVER = (
    "For groups with several accounts, beside envoyfilter.yaml. The pods must have the filter as a file: Istio's agent fetches\n"
    "the code of HTTP filters only, not that of a log. Without the file Envoy refuses the listener."
)

#: Where a patch is for.
GATEWAY = {"context": "GATEWAY"}


def http_filter(name: str) -> dict[str, Any]:
    """Where the HTTP filter `name` is."""
    return {**GATEWAY, "listener": {"filterChain": {"filter": {"name": HCM, "subFilter": {"name": name}}}}}


def patch(why: str, apply_to: str, match: Any, operation: str, value: Any) -> tuple[str, Any]:
    """A patch, with what it is for."""
    return why, {"applyTo": apply_to, "match": match, "patch": {"operation": operation, "value": value}}


def plugin(parts: Parts) -> dict[str, Any]:
    """The filter's configuration, which loads the document."""
    config = parts.filters["trilane"]["typed_config"]["config"]
    loading = {"@type": config["configuration"]["@type"], "value": SOURCE % CLUSTER}
    return {**config, "configuration": loading}


def resource(name: str, priority: int, why: str, patches: list[tuple[str, Any]]) -> str:
    """An EnvoyFilter for the gateway of gateway.yaml."""
    head = {
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {"name": name, "namespace": "trilane"},
        "spec": {"priority": priority, "workloadSelector": {"labels": {"istio": "trilane"}}},
    }
    return f"{HEAD}#\n{commented(why, 0)}{dump(head)}  configPatches:\n" + "".join(
        commented(why, 4) + indented(dump([value]), 4) for why, value in patches
    )


def envoy_filter(parts: Parts) -> str:
    """An EnvoyFilter. Each patch has a line that says what it is for."""
    manager = {**GATEWAY, "listener": {"filterChain": {"filter": {"name": HCM}}}}
    router = http_filter(ROUTER)
    route = {**GATEWAY, "routeConfiguration": {"vhost": {"route": {"name": "trilane"}}}}
    config = plugin(parts)
    code = {"remote": {"http_uri": {"uri": f"oci://{IMAGE}", "cluster": "_", "timeout": "30s"}}}
    config = {**config, "vm_config": {**config["vm_config"], "code": code}}
    discovery = {
        "config_source": {"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"},
        "type_urls": [WASM, "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC"],
    }
    upgrades = {"upgrade_configs": [{"upgrade_type": "websocket", "enabled": False}]}
    patches = [
        patch(
            "How much of one connection is read at once, and held on each side.",
            "LISTENER", GATEWAY, "MERGE", {"per_connection_buffer_limit_bytes": parts.buffer},
        ),
        patch(
            "Who the client is, paths, headers that no client may send, times, the answers that Envoy makes itself,\n"
            "and the ledger (beside the access logs that the mesh has already).",
            "NETWORK_FILTER", manager, "MERGE",
            {"name": HCM, "typed_config": {"@type": f"type.googleapis.com/{MANAGER}", **parts.manager}},
        ),
        *(
            patch(f"{why}", "HTTP_FILTER", router, "INSERT_BEFORE", parts.filters[name])
            for name, why in {
                "gzip": "Compressed requests are inflated first, so that the filter reads plain JSON. A route switches these on.",
                "brotli": "",
                "zstd": "",
            }.items()
        ),
        patch(
            "The router tells sources nothing of its own: with auto_host_rewrite it would add the host that the client named.",
            "HTTP_FILTER", router, "MERGE", parts.router,
        ),
        patch(
            "The filter itself, just before the router. Its configuration is the resource below; until that is there the\n"
            "listener does not open. Where its image cannot be had Istio's agent gives a filter that denies everything.",
            "HTTP_FILTER", router, "INSERT_BEFORE", {"name": "trilane", "config_discovery": discovery},
        ),
        patch(
            "A WasmPlugin would make the same resource but for two fields: it cannot say allow_on_headers_stop_iteration,\n"
            "without which a filter that waits for the body hangs, and it gives no vm_id, so that all plugins of a proxy\n"
            "share their data. Istio's agent fetches the image, as for a WasmPlugin. The filter loads the document itself,\n"
            "from the Service `trilane-document`, since a mesh's proxy has no room for a singleton.",
            "EXTENSION_CONFIG", GATEWAY, "ADD", {"name": "trilane", "typed_config": {"@type": WASM, "config": config}},
        ),
        *(
            patch(
                WHY_ROUTES if not number else "",
                "HTTP_ROUTE", route, "INSERT_FIRST", {**each, "route": {**each["route"], **upgrades}},
            )
            # Each comes before those that are there already.
            for number, each in enumerate(reversed(parts.routes))
        ),
        patch(
            "The way to one of several accounts of a source, and to accounts behind a proxy. They cost nothing unused. The\n"
            "bootstrap extension that they need is part of Istio's own bootstrap.",
            "LISTENER", GATEWAY, "ADD", parts.listeners["account_hop"],
        ),
        patch("", "LISTENER", GATEWAY, "ADD", parts.listeners["egress"]),
    ]  # fmt: skip
    # Behind other filters of the mesh, so that nothing of theirs comes between the patches.
    return resource(
        "trilane", 10, "For the gateway of gateway.yaml alone: its pods have the label istio=trilane.", patches
    )


def failover(parts: Parts) -> str:
    """An EnvoyFilter for gateways whose pods have the filter as a file: several accounts in a group need it."""
    trilane = {**parts.filters["trilane"], "typed_config": {"@type": WASM, "config": plugin(parts)}}
    log = {**parts.router, "typed_config": {"@type": parts.router["typed_config"]["@type"], "upstream_log": parts.attempt_log}}
    patches = [
        patch(
            "The filter, from the file. All of its roots must run the same code: then they share a VM, and what it knows of\n"
            "the attempts of a request.",
            "HTTP_FILTER", http_filter("trilane"), "REPLACE", trilane,
        ),
        patch(
            "Tells the filter of attempts that did not go well.",
            "HTTP_FILTER", http_filter(ROUTER), "MERGE", log,
        ),
        patch(
            "The way to the account hop, for attempts after a failed one. The filter chooses the account.",
            "CLUSTER", GATEWAY, "ADD", parts.hop,
        ),
    ]  # fmt: skip
    return resource("trilane-failover", 11, WHY_FAILOVER, patches)


def bootstrap(parts: Parts) -> str:
    """What only the bootstrap can say. Istio's own is merged with it, lists one behind the other."""
    text = dump({"stats_config": parts.statistics()})
    why = (
        "# Optional: labels and buckets for the filter's metrics, which else have `;group=…;` in their names. The gateway's pods\n"
        "# take it by the annotation  sidecar.istio.io/bootstrapOverride: trilane-bootstrap\n"
    )
    head = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "trilane-bootstrap", "namespace": "trilane"},
    }
    return f"{HEAD}#\n{why}{dump(head)}data:\n  custom_bootstrap.json: |\n" + indented(
        as_json(yaml.safe_load(text)), 4
    )
