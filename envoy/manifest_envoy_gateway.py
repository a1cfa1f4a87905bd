"""What Envoy Gateway needs: an EnvoyPatchPolicy, and an EnvoyProxy for the bootstrap."""

from __future__ import annotations

from typing import Any

from manifest_parts import HCM, HEAD, ROUTER, Parts, commented, dump, indented

WHY_MANAGER = (
    "Who the client is, paths, headers that no client may send, times, the answers that Envoy makes itself, the ledger. They\n"
    "replace what a ClientTrafficPolicy for this Gateway would say."
)


WHY_FAILOVER = (
    "For groups with several accounts, beside envoypatchpolicy.yaml and after it. The Envoys must have the filter as a file:\n"
    "Envoy Gateway fetches the code of HTTP filters only, not that of a log. Without the file Envoy refuses the listener."
)

LISTENER = ("type.googleapis.com/envoy.config.listener.v3.Listener", "trilane/trilane/gateway")
ROUTES = ("type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "trilane/trilane/gateway")
CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"


def http_filter(name: str) -> str:
    """Where the HTTP filter `name` is."""
    return f"..http_filters[?(@.name=='{name}')]"


#: The filter, as Envoy Gateway calls it.
PLUGIN = http_filter("envoy.filters.http.wasm/envoyextensionpolicy/trilane/trilane/wasm/0")


def patch(
    why: str, resource: tuple[str, str], path: str, value: Any, json_path: str = ""
) -> tuple[str, Any]:
    """A patch of a resource, with what it is for."""
    where = {"jsonPath": json_path} if json_path else {}
    operation = {"op": "add", **where, **({"path": path} if path else {}), "value": value}
    return why, {"type": resource[0], "name": resource[1], "operation": operation}


def whole(why: str, resource: str, value: Any) -> tuple[str, Any]:
    """A further resource, with what it is for."""
    return why, {
        "type": resource,
        "name": value["name"],
        "operation": {"op": "add", "path": "", "value": value},
    }


def policy(name: str, priority: int, why: str, patches: list[tuple[str, Any]]) -> str:
    """An EnvoyPatchPolicy for the Gateway of gateway.yaml. A greater priority comes later."""
    head = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyPatchPolicy",
        "metadata": {"name": name, "namespace": "trilane"},
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "trilane"},
            **({"priority": priority} if priority else {}),
            "type": "JSONPatch",
        },
    }
    why = f"#\n{commented(why, 0)}" if why else ""
    return f"{HEAD}{why}{dump(head)}  jsonPatches:\n" + "".join(
        commented(why, 4) + indented(dump([value]), 4) for why, value in patches
    )


def patch_policy(parts: Parts) -> str:
    """An EnvoyPatchPolicy for the listener `gateway` of the Gateway `trilane/trilane`."""
    manager = f"..filters[?(@.name=='{HCM}')].typed_config"
    config = parts.filters["trilane"]["typed_config"]["config"]
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
              LISTENER, "/per_connection_buffer_limit_bytes", parts.buffer),
        *(
            patch(WHY_MANAGER if not number else "", LISTENER, f"/{name}", value, manager)
            for number, (name, value) in enumerate(parts.manager.items())
        ),
        *(
            patch("Compressed requests are inflated before the filter reads them. A route switches these on." if not number else "",
                  LISTENER, f"/http_filters/{number}", parts.filters[name], manager)
            for number, name in enumerate(["gzip", "brotli", "zstd"])
        ),
        patch("The router tells sources nothing of its own, not even where a ClientTrafficPolicy would let it.",
              LISTENER, "/typed_config", parts.router["typed_config"], http_filter(ROUTER)),
        patch("The filter of the EnvoyExtensionPolicy. Envoy Gateway switches it on route by route; here it is on for all requests.",
              LISTENER, "/disabled", False, PLUGIN),
        patch("Without this a filter that waits for the body hangs.",
              LISTENER, "/typed_config/config/allow_on_headers_stop_iteration", True, PLUGIN),
        patch("A crash costs the requests of one worker, then the VM is made anew.",
              LISTENER, "/typed_config/config/failure_policy", config["failure_policy"], PLUGIN),
        patch("", LISTENER, "/typed_config/config/reload_config", config["reload_config"], PLUGIN),
        patch("The routes, in place of the one that answers 503. A HTTPRoute cannot send requests to where a header says.",
              ROUTES, "/routes", parts.routes, "$.virtual_hosts[*]"),
        whole("The document's source, which the EnvoyExtensionPolicy names.",
              CLUSTER, document),
        whole("The way to one of several accounts of a source, and to accounts behind a proxy. They cost nothing unused.",
              LISTENER[0], parts.listeners["account_hop"]),
        whole("", LISTENER[0], parts.listeners["egress"]),
    ]  # fmt: skip
    return policy("trilane", 0, "", patches)


def failover(parts: Parts) -> str:
    """An EnvoyPatchPolicy for Envoys that have the filter as a file: several accounts in a group need it."""
    vm = parts.filters["trilane"]["typed_config"]["config"]["vm_config"]
    patches = [
        patch("The filter, from the file. All of its roots must run the same code under the same `vm_id`: then they share a VM,\n"
              "and what it knows of the attempts of a request.",
              LISTENER, "/typed_config/config/vm_config", vm, PLUGIN),
        patch("Tells the filter of attempts that did not go well.",
              LISTENER, "/typed_config/upstream_log", parts.attempt_log, http_filter(ROUTER)),
        whole("The way to the account hop, for attempts after a failed one. The filter chooses the account.",
              CLUSTER, parts.hop),
    ]  # fmt: skip
    return policy("trilane-failover", 1, WHY_FAILOVER, patches)


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
