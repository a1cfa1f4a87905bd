{{/* A listener that hands on two paths of the admin interface, by reading only. */}}
{{- define "trilane.metrics" -}}
static_resources:
  listeners:
    - name: metrics
      address: {socket_address: {address: 0.0.0.0, port_value: {{ .Values.metrics.port }}}}
      ignore_global_conn_limit: true
      bypass_overload_manager: true
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: metrics
                normalize_path: true
                route_config:
                  virtual_hosts:
                    - name: metrics
                      domains: ["*"]
                      routes:
                        - match: {path: /stats/prometheus, headers: [{name: ":method", string_match: {exact: GET}}]}
                          route: {cluster: admin_interface, prefix_rewrite: /stats/prometheus}
                        - match: {path: /ready, headers: [{name: ":method", string_match: {exact: GET}}]}
                          route: {cluster: admin_interface}
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
    - name: admin_interface
      type: STATIC
      connect_timeout: 1s
      load_assignment:
        cluster_name: admin_interface
        endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}}]}]
{{- end }}
