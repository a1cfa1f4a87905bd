"""A proxy that ends TLS, in the place of the Caddy of a page: Envoy, by what the page's Caddyfile says."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

import fetch
from stack import SIMULATOR, Child
from waiting import until

_SITE = re.compile(r"^localhost:(\d+) \{\n\treverse_proxy 127\.0\.0\.1:(\d+)\n\}$", re.MULTILINE)


class TlsProxy:
    """Use it as a context manager. Its certificate is for `localhost`, and of the authority `ca`."""

    def __init__(self, directory: Path, caddyfile: str) -> None:
        self._directory = directory
        self._sites = _SITE.findall(caddyfile)
        assert self._sites, caddyfile
        self.ca = directory / "ca.crt"
        self._child: Optional[Child] = None

    def __enter__(self) -> TlsProxy:
        self._directory.mkdir()
        subprocess.run([str(SIMULATOR), "certificate", "--out", str(self._directory)], check=True, capture_output=True)
        config = self._directory / "proxy.json"
        listeners = [self._listener(int(port), f"site_{to}") for port, to in self._sites]
        clusters = [_cluster(f"site_{to}", int(to)) for _, to in self._sites]
        config.write_text(json.dumps({"static_resources": {"listeners": listeners, "clusters": clusters}}))
        command = [str(fetch.envoy_binary()), "--config-path", str(config), "--concurrency", "1", "--disable-hot-restart"]
        self._child = Child(command, self._directory / "proxy.log")
        for port, _ in self._sites:
            until(lambda: socket.create_connection(("127.0.0.1", int(port)), timeout=1).close() is None, says=(self._directory / "proxy.log").read_text)
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._child:
            self._child.stop()

    def _listener(self, port: int, cluster: str) -> dict[str, Any]:
        types = "type.googleapis.com/envoy.extensions"
        pair = {
            "certificate_chain": {"filename": str(self._directory / "server.crt")},
            "private_key": {"filename": str(self._directory / "server.key")},
        }
        manager = {
            "@type": f"{types}.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": cluster,
            "use_remote_address": True,  # as a proxy at the edge: it appends the client's address
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": cluster}}]}]},
            "http_filters": [{"name": "router", "typed_config": {"@type": f"{types}.filters.http.router.v3.Router"}}],
        }
        tls = {"@type": f"{types}.transport_sockets.tls.v3.DownstreamTlsContext", "common_tls_context": {"tls_certificates": [pair]}}
        chain = {
            "filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}],
            "transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": tls},
        }
        return {"address": _address(port), "filter_chains": [chain]}


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _cluster(name: str, port: int) -> dict[str, Any]:
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": _address(port)}}]}]
    return {"name": name, "type": "STATIC", "load_assignment": {"cluster_name": name, "endpoints": endpoints}}
