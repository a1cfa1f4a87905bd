"""A gateway as a control plane would configure it, on a real Envoy, with the document from a service."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bases
import envoy_filter
import httpx
import patch_policy
import yaml
from envoy_filter import Proxy, Tree
from stack import HERE, Child, Stack

ISTIO, ENVOY_GATEWAY = HERE / "istio", HERE / "envoy-gateway"
#: The filter in the pods of a gateway that has it as a file.
FILTER = "/etc/trilane/filter/trilane.wasm"

#: The clusters of accounts as a resource, by the name of the control plane.
Accounts = Callable[[str], Tree]
#: How a gateway is configured: all that it gets, and what is merged with its bootstrap.
Assembly = Callable[[Accounts], tuple[Proxy, Tree]]


def manifests(path: Path) -> list[Tree]:
    return [each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each]


def istio(accounts: Accounts) -> tuple[Proxy, Tree]:
    return istio_with(accounts, "envoyfilter.yaml", "failover.yaml")


def istio_without_failover(accounts: Accounts) -> tuple[Proxy, Tree]:
    """The pods have no filter as a file: groups with several accounts are not served."""
    return istio_with(accounts, "envoyfilter.yaml")


def istio_with(accounts: Accounts, *files: str) -> tuple[Proxy, Tree]:
    proxy = bases.istio()
    ours = [each for file in files for each in manifests(ISTIO / file)]
    # The order in which they were applied to the cluster must not matter.
    envoy_filter.apply(proxy, accounts("istio"), *reversed(ours))
    (override,) = manifests(ISTIO / "bootstrap.yaml")
    # Istio's own bootstrap has this.
    own = {"bootstrap_extensions": [INTERNAL_LISTENER]}
    return proxy, {**own, **json.loads(override["data"]["custom_bootstrap.json"])}


def envoy_gateway(accounts: Accounts) -> tuple[Proxy, Tree]:
    return envoy_gateway_with(accounts, "envoypatchpolicy.yaml", "failover.yaml")


def envoy_gateway_without_failover(accounts: Accounts) -> tuple[Proxy, Tree]:
    """The Envoys have no filter as a file: groups with several accounts are not served."""
    return envoy_gateway_with(accounts, "envoypatchpolicy.yaml")


def envoy_gateway_with(accounts: Accounts, *files: str) -> tuple[Proxy, Tree]:
    (extension,) = [
        each for each in manifests(ENVOY_GATEWAY / "gateway.yaml") if each["kind"] == "EnvoyExtensionPolicy"
    ]
    proxy = bases.envoy_gateway(extension)
    ours = [each for file in files for each in manifests(ENVOY_GATEWAY / file)]
    # The order in which they were applied to the cluster must not matter.
    patch_policy.apply(proxy, accounts("envoy-gateway"), *reversed(ours))
    (own,) = manifests(ENVOY_GATEWAY / "envoyproxy.yaml")
    return proxy, yaml.safe_load(own["spec"]["bootstrap"]["value"])


def istio_without_image(accounts: Accounts) -> tuple[Proxy, Tree]:
    """The image cannot be had: Istio's agent gives Envoy a filter that denies everything."""
    proxy, bootstrap = istio_without_failover(accounts)
    (extension,) = proxy.extensions
    extension["typed_config"] = {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
        "rules": {},
    }
    return proxy, bootstrap


def envoy_gateway_without_image(accounts: Accounts) -> tuple[Proxy, Tree]:
    """The image cannot be had: Envoy Gateway leaves the filter out, and the patches that are not for it are applied."""
    proxy = bases.envoy_gateway(
        {"metadata": {"namespace": "trilane", "name": "trilane"}, "spec": {"wasm": []}}
    )
    ours = [
        each for file in ("envoypatchpolicy.yaml", "failover.yaml") for each in manifests(ENVOY_GATEWAY / file)
    ]
    for policy in ours:
        patches = policy["spec"]["jsonPatches"]
        policy["spec"]["jsonPatches"] = [
            each for each in patches if "http.wasm" not in each["operation"].get("jsonPath", "")
        ]
        assert len(policy["spec"]["jsonPatches"]) < len(patches)
    patch_policy.apply(proxy, *ours, accounts("envoy-gateway"))
    (own,) = manifests(ENVOY_GATEWAY / "envoyproxy.yaml")
    return proxy, yaml.safe_load(own["spec"]["bootstrap"]["value"])


def istio_without_patches(accounts: Accounts) -> tuple[Proxy, Tree]:
    return bases.istio(), {"bootstrap_extensions": [INTERNAL_LISTENER]}


INTERNAL_LISTENER = {
    "name": "envoy.bootstrap.internal_listener",
    "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener",
        "buffer_size_kb": 64,
    },
}


class MeshStack(Stack):
    """The stack with another configuration in place of `envoy.yaml`, reached over TLS."""

    def __init__(self, run_dir: Path, assembly: Assembly, *, ready: int = 200, **arguments: Any) -> None:
        """`ready` is what `/healthz` must answer for the tests to begin."""
        super().__init__(run_dir, **arguments)
        self._ready_status = ready
        self._assembly = assembly
        self._document_port = 0

    @property
    def base_url(self) -> str:
        return self.tls_url

    def client(self) -> httpx.Client:
        trust = ssl.create_default_context(cafile=str(self.ca_file))
        return httpx.Client(base_url=self.base_url, timeout=30.0, trust_env=False, verify=trust)

    def wait_ready(self, timeout: float = 60.0) -> None:
        deadline, last = time.monotonic() + timeout, "no answer"
        with self.client() as client:
            while time.monotonic() < deadline:
                self.check()
                try:
                    answer = client.get("/healthz")
                except httpx.TransportError as error:
                    last = str(error)
                else:
                    if answer.status_code == self._ready_status:
                        return
                    last = f"{answer.status_code} {answer.text}"
                time.sleep(0.05)
        raise AssertionError(f"not ready within {timeout} s: {last}; see {self.envoy_log}")

    def render(self) -> Path:
        self._serve_document()
        proxy, bootstrap = self._assembly(self._accounts)
        self._settle(proxy)
        whole = {
            "node": {"id": "mesh", "cluster": "mesh"},
            "admin": {"address": address("127.0.0.1", 0)},
            **bootstrap,
            "static_resources": {"listeners": proxy.listeners, "clusters": proxy.clusters},
        }
        self.envoy_yaml.write_text(json.dumps(whole, indent=1))
        return self.envoy_yaml

    def _accounts(self, control_plane: str) -> Tree:
        """What `trilane render` writes for a control plane."""
        command = [str(self._command), "render", "--document", str(self.publisher.draft), "--out", str(self.upstreams_dir)]
        command += ["--credentials", str(self.credentials_dir)]
        subprocess.run([*command, "--control-plane", control_plane], check=True)
        (written,) = self.upstreams_dir.glob("*.json")
        return json.loads(written.read_bytes())

    def _serve_document(self) -> None:
        """`trilane serve`, as document-service.yaml runs it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._document_port = free.getsockname()[1]
        command = [str(self._command), "serve", "--listen", f"127.0.0.1:{self._document_port}"]
        self._children["serve"] = Child(
            [*command, "--document", str(self.document_path)], self.run_dir / "serve.log"
        )

    def _settle(self, proxy: Proxy) -> None:
        """What would come from elsewhere in a cluster: addresses, certificates, resources that are asked for by name."""
        routes = {each["name"]: each for each in proxy.routes}
        extensions = self.run_dir / "extensions"
        extensions.mkdir(exist_ok=True)
        for listener in proxy.listeners:
            if "socket_address" in listener.get("address", {}):
                listener["address"] = address("127.0.0.1", self._ports["TLS_PORT"])
            for chain in listener["filter_chains"]:
                tls = chain.get("transport_socket", {}).get("typed_config", {}).get("common_tls_context")
                if tls:
                    del tls["tls_certificate_sds_secret_configs"]
                    files = {"certificate_chain": "server.crt", "private_key": "server.key"}
                    tls["tls_certificates"] = [
                        {name: {"filename": str(self.certs_dir / file)} for name, file in files.items()}
                    ]
                for manager in [
                    each["typed_config"]
                    for each in chain["filters"]
                    if "http_filters" in each["typed_config"]
                ]:
                    if "rds" in manager:
                        manager["route_config"] = routes[manager.pop("rds")["route_config_name"]]
                        # As for routes that come by themselves.
                        manager["route_config"]["validate_clusters"] = False
                    for logger in manager.get("access_log", []):
                        if logger["typed_config"].get("path") == "MESH_ACCESS_LOG":
                            logger["typed_config"]["path"] = str(self.run_dir / "mesh.log")
                    for each in manager["http_filters"]:
                        self._discovered(each, extensions)
        self._local_code(proxy)
        for extension in proxy.extensions:
            resource = {"@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig", **extension}
            (extensions / f"{extension['name']}.json").write_text(json.dumps({"resources": [resource]}))
        for cluster in proxy.clusters:
            if "trilane-document" in cluster["name"]:
                cluster["type"] = "STATIC"
                endpoint = {"endpoint": {"address": address("127.0.0.1", self._document_port)}}
                cluster["load_assignment"] = {
                    "cluster_name": cluster["name"],
                    "endpoints": [{"lb_endpoints": [endpoint]}],
                }

    def _discovered(self, http_filter: Tree, extensions: Path) -> None:
        """A resource of the control plane's, from a file."""
        discovery = http_filter.get("config_discovery")
        if discovery:
            path = extensions / f"{http_filter['name']}.json"
            discovery["config_source"] = {
                "path_config_source": {"path": str(path)},
                "resource_api_version": "V3",
            }

    def _local_code(self, proxy: Proxy) -> None:
        """The filter's file, wherever it is run: the pods' own, and as the control plane fetches it. (Istio's agent fetches
        the image of an HTTP filter, and names the file in its place; Envoy Gateway serves it to Envoy.)"""
        found = [each for each in patch_policy.deep([*proxy.listeners, *proxy.clusters, *proxy.extensions]) if isinstance(each, dict)]
        for code in [each["code"] for each in found if "vm_id" in each]:
            assert "remote" in code or code == {"local": {"filename": FILTER}}, code
            code.clear()
            code["local"] = {"filename": str(self._wasm)}


def address(host: str, port: int) -> Tree:
    return {"socket_address": {"address": host, "port_value": port}}
