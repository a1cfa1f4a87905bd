"""What the control planes hand out for the gateways of our manifests before anything of ours is patched in.

Written after what istiod and Envoy Gateway generate for them. Left out are filters that only Istio's own build of
Envoy has (`istio.stats`, `istio.metadata_exchange`), and tracing.
"""

from __future__ import annotations

from typing import Any

import yaml
from envoy_filter import Proxy

MANAGER = (
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
)
ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
TLS = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"

ISTIO_LISTENER = f"""
name: 0.0.0.0_8443
address: {{socket_address: {{address: 0.0.0.0, port_value: 8443}}}}
per_connection_buffer_limit_bytes: 32768
traffic_direction: OUTBOUND
continue_on_listener_filters_timeout: true
listener_filters_timeout: 0s
listener_filters:
  - name: envoy.filters.listener.tls_inspector
    typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}}
filter_chains:
  - transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": {TLS}
        require_client_certificate: false
        common_tls_context:
          alpn_protocols: [h2, http/1.1]
          tls_params: {{tls_minimum_protocol_version: TLSv1_2}}
          tls_certificate_sds_secret_configs:
            - name: kubernetes://trilane-tls
              sds_config: {{ads: {{}}, resource_api_version: V3}}
    filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {MANAGER}
          stat_prefix: outbound_0.0.0.0_8443
          rds:
            config_source: {{ads: {{}}, initial_fetch_timeout: 0s, resource_api_version: V3}}
            route_config_name: https.443.https.trilane.trilane
          http_filters:
            - name: istio.alpn
              disabled: true
              typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.grpc_stats.v3.FilterConfig}}
            - name: envoy.filters.http.fault
              typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault}}
            - name: envoy.filters.http.cors
              typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors}}
            - name: envoy.filters.http.router
              typed_config: {{"@type": {ROUTER}}}
          server_name: istio-envoy
          access_log:
            - name: envoy.access_loggers.file
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
                path: MESH_ACCESS_LOG
          use_remote_address: true
          forward_client_cert_details: SANITIZE_SET
          set_current_client_cert_details: {{subject: true, cert: true, dns: true, uri: true}}
          upgrade_configs: [{{upgrade_type: websocket}}]
          stream_idle_timeout: 0s
          normalize_path: true
          request_id_extension:
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig
              use_request_id_for_trace_sampling: true
          path_with_escaped_slashes_action: KEEP_UNCHANGED
"""

ISTIO_ROUTES = """
name: https.443.https.trilane.trilane
ignore_port_in_host_matching: true
max_direct_response_body_size_bytes: 1048576
validate_clusters: false
virtual_hosts:
  - name: "*:443"
    domains: ["*"]
    include_request_attempt_count: true
    require_tls: NONE
    routes:
      - name: trilane
        match: {prefix: /, case_sensitive: true}
        direct_response: {status: 503}
"""

#: The Service `trilane-document`, as Istio knows it; a test puts in where it is.
ISTIO_DOCUMENT = """
name: outbound|8080||trilane-document.trilane.svc.cluster.local
connect_timeout: 10s
type: STATIC
lb_policy: LEAST_REQUEST
"""

EG_LISTENER = f"""
name: trilane/trilane/gateway
address: {{socket_address: {{address: 0.0.0.0, port_value: 10443}}}}
per_connection_buffer_limit_bytes: 32768
max_connections_to_accept_per_socket_event: 1
listener_filters:
  - name: envoy.filters.listener.tls_inspector
    typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}}
filter_chains:
  - name: trilane/trilane/gateway
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": {TLS}
        disable_stateful_session_resumption: true
        disable_stateless_session_resumption: true
        common_tls_context:
          alpn_protocols: [h2, http/1.1]
          tls_certificate_sds_secret_configs:
            - name: trilane/trilane-tls
              sds_config: {{ads: {{}}, initial_fetch_timeout: 0s, resource_api_version: V3}}
    filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {MANAGER}
          stat_prefix: https-10443
          rds:
            config_source: {{ads: {{}}, initial_fetch_timeout: 0s, resource_api_version: V3}}
            route_config_name: trilane/trilane/gateway
          http_filters:
            - name: envoy.filters.http.router
              typed_config: {{"@type": {ROUTER}, suppress_envoy_headers: true}}
          access_log:
            - name: envoy.access_loggers.file
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
                path: MESH_ACCESS_LOG
          common_http_protocol_options: {{headers_with_underscores_action: REJECT_REQUEST}}
          http2_protocol_options:
            initial_connection_window_size: 1048576
            initial_stream_window_size: 65536
            max_concurrent_streams: 100
          merge_slashes: true
          normalize_path: true
          path_with_escaped_slashes_action: UNESCAPE_AND_REDIRECT
          server_header_transformation: PASS_THROUGH
          use_remote_address: true
"""

EG_ROUTES = """
name: trilane/trilane/gateway
ignore_port_in_host_matching: true
max_direct_response_body_size_bytes: 1048576
virtual_hosts:
  - name: trilane/trilane/gateway/*
    domains: ["*"]
    routes:
      - name: httproute/trilane/trilane/rule/0/match/0/*
        match: {prefix: /}
        direct_response: {status: 503}
        typed_per_filter_config:
          envoy.filters.http.wasm/envoyextensionpolicy/trilane/trilane/wasm/0:
            "@type": type.googleapis.com/envoy.config.route.v3.FilterConfig
            config: {}
"""


def istio() -> Proxy:
    """For istio/gateway.yaml."""
    return Proxy(
        listeners=[yaml.safe_load(ISTIO_LISTENER)],
        routes=[yaml.safe_load(ISTIO_ROUTES)],
        clusters=[yaml.safe_load(ISTIO_DOCUMENT)],
    )


def envoy_gateway(extension_policy: dict[str, Any]) -> Proxy:
    """For envoy-gateway/gateway.yaml, with the filter that its EnvoyExtensionPolicy gives."""
    proxy = Proxy(listeners=[yaml.safe_load(EG_LISTENER)], routes=[yaml.safe_load(EG_ROUTES)])
    filters = proxy.listeners[0]["filter_chains"][0]["filters"][0]["typed_config"]["http_filters"]
    meta = extension_policy["metadata"]
    for number, wasm in enumerate(extension_policy["spec"]["wasm"]):
        filters.insert(
            number,
            wasm_filter(f"envoyextensionpolicy/{meta['namespace']}/{meta['name']}/wasm/{number}", wasm),
        )
    return proxy


def wasm_filter(name: str, wasm: dict[str, Any]) -> dict[str, Any]:
    """As Envoy Gateway writes it: off, a VM of its own, the configuration as one line of JSON."""
    import json

    text = json.dumps(wasm["config"], separators=(",", ":"), sort_keys=True)
    remote = {
        "http_uri": {
            "uri": "https://envoy-gateway:18002/0.wasm",
            "cluster": "wasm_cluster",
            "timeout": "10s",
        },
        "sha256": "0",
    }
    config = {
        "name": wasm["name"],
        "root_id": wasm["rootID"],
        "configuration": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": text},
        "vm_config": {"vm_id": name, "runtime": "envoy.wasm.runtime.v8", "code": {"remote": remote}},
    }
    return {
        "name": f"envoy.filters.http.wasm/{name}",
        "disabled": True,
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
            "config": config,
        },
    }
