"""The parts of `envoy.yaml` that a control plane needs, and how they are written as readable YAML."""

from __future__ import annotations

import json
from typing import Any

import yaml

HEAD = "# Written by envoy/manifests.py from envoy/envoy.yaml: change that one, then run `make chart`.\n"

HCM = "envoy.filters.network.http_connection_manager"
ROUTER = "envoy.filters.http.router"

#: The cluster that leads to the account hop.
HOP = "account/hop"

#: The fields of an HTTP connection manager that the control plane sets itself.
THEIRS = {"@type", "stat_prefix", "codec_type", "route_config", "http_filters"}


class Parts:
    """The parts of `envoy.yaml` that are not particular to running it alone."""

    def __init__(self, text: str) -> None:
        self.bootstrap: dict[str, Any] = yaml.load(text, NoAliases)
        self.listeners = {each["name"]: each for each in self.bootstrap["static_resources"]["listeners"]}
        gateway = self.listeners["gateway"]
        self.buffer: int = gateway["per_connection_buffer_limit_bytes"]
        manager = gateway["filter_chains"][0]["filters"][0]["typed_config"]
        self.manager = {name: value for name, value in manager.items() if name not in THEIRS}
        self.filters = {each["name"]: each for each in manager["http_filters"]}
        router = self.filters[ROUTER]
        options = dict(router["typed_config"])
        #: The router's log of attempts. It runs the filter, and so does the cluster that leads to the account hop: both name
        #: a file, so they are no part of what a gateway without that file gets.
        self.attempt_log: list[dict[str, Any]] = options.pop("upstream_log")
        self.router = {**router, "typed_config": options}
        (self.hop,) = [each for each in self.bootstrap["static_resources"]["clusters"] if each["name"] == HOP]
        (host,) = manager["route_config"]["virtual_hosts"]
        limits = {name: value for name, value in host.items() if name not in ("name", "domains", "routes")}
        #: The routes in their order, each with the settings of the virtual host.
        self.routes = [{"name": name_of(route), **route, **limits} for route in host["routes"]]

    def statistics(self) -> dict[str, Any]:
        """The labels of the filter's metrics, and the buckets of its histograms."""
        return self.bootstrap["stats_config"]


def name_of(route: dict[str, Any]) -> str:
    """A name that says which requests a route is for."""
    headers = [each["name"] for each in route["match"].get("headers", [])]
    encoded = "-encoded" if "content-encoding" in headers else ""
    several = "-accounts" if not encoded and "x-trilane-cluster" in headers else ""
    versioned = "-versioned" if "x-trilane-path" in headers else ""
    return f"trilane{encoded}{several}{versioned}"


# ---- Text


class NoAliases(yaml.SafeLoader):
    """Reads anchors and copies what they stand for, so that none is written."""


class Dumper(yaml.SafeDumper):
    """Plain YAML: no anchors, keys in their order."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def dump(value: Any) -> str:
    return yaml.dump(value, Dumper=Dumper, sort_keys=False, width=110, allow_unicode=True)


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))


def commented(why: str, by: int) -> str:
    return "".join(f"{' ' * by}# {line}\n" for line in why.splitlines())
