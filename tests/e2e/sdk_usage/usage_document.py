"""The gateway of these tests: three protocols, each over a cluster that works and over those that fail.

The clusters that fail are put into `envoy.yaml` beside its own. A request with `x-short-idle` takes a route that
gives up after a second of silence, instead of ten minutes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from e2e.sdk_usage.response_fixtures import IMAGE_MODEL, TEXT_MODELS

#: The cluster of each protocol that works, as `envoy.yaml` has it.
WORKING = {"A": "a_official", "B": "b_official", "C": "c_official"}
#: Those that fail.
FAILING = ("nobody_listens", "no_host", "no_credential")

PRICES = {"input": "1", "cache_read": "0.1", "cache_write_5m": "1.25", "cache_write_1h": "2", "output": "10"}


def key_of(protocol: str, cluster: str = "") -> str:
    """The key whose group speaks `protocol` over the cluster; over the one that works if none is named."""
    return f"sdk-usage-{protocol.lower()}-{cluster or 'working'}"


def document() -> dict[str, Any]:
    """A group and a key for each pair of protocol and cluster."""
    groups, keys = [], []
    for protocol, working in WORKING.items():
        models: list[dict[str, Any]] = [{"id": TEXT_MODELS[protocol], "prices": PRICES}]
        if protocol == "A":
            models.append({"id": IMAGE_MODEL, "kind": "image", "prices": PRICES})
        for cluster in ("", *FAILING):
            key = key_of(protocol, cluster)
            group: dict[str, Any] = {
                "id": key,
                "protocol": protocol,
                "clients": "current",
                "multiplier": "1.0000",
                "cluster": cluster or working,
                "models": models,
                # What is told here is what was reported, and every byte is the upstream's: tests/e2e/ledger and
                # tests/e2e/abuse have what the gateway makes of it by default.
                "unreported": "free",
            }
            group.update({"image_generation": True, "include_usage": False} if protocol == "A" else {})
            groups.append(group)
            keys.append({"id": key, "sha256": hashlib.sha256(key.encode()).hexdigest(), "group": key})
    return {"currency": "USD", "groups": groups, "keys": keys}


def substitutions(upstream: str, closed: str, secrets: Path) -> list[tuple[str, str]]:
    """What differs from `envoy.yaml`: `upstream` works, `closed` is a port where nobody listens."""
    empty = secrets / "none.json"
    empty.write_text(json.dumps({"resources": []}))
    injector = f"""
            - name: envoy.filters.http.credential_injector
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.http.credential_injector.v3.CredentialInjector
                overwrite: true
                credential:
                  name: envoy.http.injected_credentials.generic
                  typed_config:
                    "@type": type.googleapis.com/envoy.extensions.http.injected_credentials.generic.v3.Generic
                    header: authorization
                    credential: {{name: source, sds_config: {{path_config_source: {{path: {json.dumps(str(empty))}}}}}}}"""
    clusters = "\n  clusters:\n" + "".join(
        [
            _cluster("nobody_listens", closed),
            _cluster("no_host", ""),
            _cluster("no_credential", upstream, injector),
        ]
    )
    route = "                        - match: {prefix: /}\n"
    short = (
        "                        - match: {prefix: /, headers: [{name: x-short-idle, present_match: true}]}\n"
        "                          route: {cluster_header: x-trilane-cluster, timeout: 0s, idle_timeout: 1s}\n"
    )
    return [("\n  clusters:\n", clusters), (route, short + route)]


def _cluster(name: str, address: str, upstream_filter: str = "") -> str:
    host, _, port = address.partition(":")
    socket_address = f"{{socket_address: {{address: {host}, port_value: {port}}}}}"
    hosts = f"[{{lb_endpoints: [{{endpoint: {{address: {socket_address}}}}}]}}]" if address else "[]"
    return f"""    - name: {name}
      type: STATIC
      connect_timeout: 1s
      load_assignment: {{cluster_name: {name}, endpoints: {hosts}}}
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {{http_protocol_options: {{}}}}
          http_filters:{upstream_filter}
            - name: envoy.filters.http.upstream_codec
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec
"""
