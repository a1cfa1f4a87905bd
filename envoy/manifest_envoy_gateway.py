"""What Envoy Gateway needs: an EnvoyPatchPolicy, and an EnvoyProxy for the bootstrap."""

from __future__ import annotations

from typing import Any

from manifest_parts import HCM, HEAD, ROUTER, Parts, commented, dump, indented

WHY_MANAGER = (
    "Who the client is, paths, headers that no client may send, times, the answers that Envoy makes itself, the ledger. They\n"
    "replace what a ClientTrafficPolicy for this Gateway would say."
)


def patch_policy(parts: Parts) -> str:
    """An EnvoyPatchPolicy for the listener `gateway` of the Gateway `trilane/trilane`."""
    listener = ("type.googleapis.com/envoy.config.listener.v3.Listener", "trilane/trilane/gateway")
    routes = ("type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "trilane/trilane/gateway")
    manager = f"..filters[?(@.name=='{HCM}')].typed_config"
    wasm = "envoy.filters.http.wasm/envoyextensionpolicy/trilane/trilane/wasm/0"
    plugin = f"..http_filters[?(@.name=='{wasm}')]"
    config = parts.filters["trilane"]["typed_config"]["config"]

    def patch(
        why: str, resource: tuple[str, str], path: str, value: Any, json_path: str = ""
    ) -> tuple[str, Any]:
        where = {"jsonPath": json_path} if json_path else {}
        operation = {"op": "add", **where, **({"path": path} if path else {}), "value": value}
        return why, {"type": resource[0], "name": resource[1], "operation": operation}

    def whole(why: str, resource: str, value: Any) -> tuple[str, Any]:
        return why, {
            "type": resource,
            "name": value["name"],
            "operation": {"op": "add", "path": "", "value": value},
        }

    document = {
        "name": "trilane-document",
        "type": "STRICT_DNS",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": "trilane-document",
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {
                "address": "trilane-document.trilane.svc.cluster.local", "port_value": 8080}}}}]}],
        },
    }  # fmt: skip
    patches = [
        patch("How much of one connection is read at once, and held on each side.",
              listener, "/per_connection_buffer_limit_bytes", parts.buffer),
        *(
            patch(WHY_MANAGER if not number else "", listener, f"/{name}", value, manager)
            for number, (name, value) in enumerate(parts.manager.items())
        ),
        *(
            patch("Every answer has an id; compressed requests are inflated before the filter reads them." if not number else "",
                  listener, f"/http_filters/{number}", parts.filters[name], manager)
            for number, name in enumerate(["answer_id", "gzip", "brotli", "zstd"])
        ),
        patch("The router tells sources nothing of its own, not even where a ClientTrafficPolicy would let it.",
              listener, "/typed_config", parts.router["typed_config"], f"..http_filters[?(@.name=='{ROUTER}')]"),
        patch("The filter of the EnvoyExtensionPolicy. Envoy Gateway switches it on route by route; here it is on for all requests.",
              listener, "/disabled", False, plugin),
        patch("Without this a filter that waits for the body hangs.",
              listener, "/typed_config/config/allow_on_headers_stop_iteration", True, plugin),
        patch("A crash costs the requests of one worker, then the VM is made anew.",
              listener, "/typed_config/config/failure_policy", config["failure_policy"], plugin),
        patch("", listener, "/typed_config/config/reload_config", config["reload_config"], plugin),
        patch("The routes, in place of the one that answers 503. A HTTPRoute cannot send requests to where a header says.",
              routes, "/routes", parts.routes, "$.virtual_hosts[*]"),
        whole("The document's source, which the EnvoyExtensionPolicy names.",
              "type.googleapis.com/envoy.config.cluster.v3.Cluster", document),
        whole("The way to one of several accounts of a source, and to accounts behind a proxy. They cost nothing unused.",
              listener[0], parts.listeners["account_hop"]),
        whole("", listener[0], parts.listeners["egress"]),
    ]  # fmt: skip
    head = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyPatchPolicy",
        "metadata": {"name": "trilane", "namespace": "trilane"},
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "trilane"},
            "type": "JSONPatch",
        },
    }
    return f"{HEAD}{dump(head)}  jsonPatches:\n" + "".join(
        commented(why, 4) + indented(dump([value]), 4) for why, value in patches
    )


def envoy_proxy(parts: Parts) -> str:
    """An EnvoyProxy, for what only the bootstrap can say."""
    extensions = [
        each
        for each in parts.bootstrap["bootstrap_extensions"]
        if each["name"] == "envoy.bootstrap.internal_listener"
    ]
    bootstrap = {"bootstrap_extensions": extensions, "stats_config": parts.statistics()}
    head = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyProxy",
        "metadata": {"name": "trilane", "namespace": "trilane"},
    }
    why = (
        "# Merged with Envoy Gateway's own bootstrap: the extension that internal listeners need, and labels and buckets for the\n"
        "# filter's metrics. (Credentials and the filter for accounts are mounted here too, see docs/envoy-gateway.md.)\n"
    )
    return f"{HEAD}#\n{why}{dump(head)}spec:\n  bootstrap:\n    type: Merge\n    value: |\n" + indented(
        dump(bootstrap), 6
    )
