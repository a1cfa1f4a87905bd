"""Makes Envoy ask a rate limit service: `envoy.yaml` with the parts of `limits-service.yaml`, as text.

`trilane envoy-config --limits-service` does the same by structure.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "envoy"
PARTS = HERE / "limits-service.yaml"

#: The filters' place in `envoy.yaml`: before the gateway's router, the one with this remark.
ROUTER = re.compile(
    r"^ +- name: envoy\.filters\.http\.router\n.*\n.*\n +suppress_envoy_headers: true # no x-envoy-\* towards",
    re.MULTILINE,
)
#: The configuration of the filter, and what it becomes.
PLUGIN = 'google.protobuf.StringValue, value: "{}"}'
DECLARED = "google.protobuf.StringValue, value: '{\"limits_service\": true}'}"
#: Where the clusters begin.
CLUSTERS = "\n  clusters:\n"
#: The service's address in `limits-service.yaml`, and how long a question may take there.
ADDRESS = "address: ratelimit, port_value: 8081"
TIMEOUT = "timeout: 0.02s"


def added(text: str, host: str, port: int, timeout: float | None = None) -> str:
    """The configuration `text` with filters and cluster. `timeout` is in seconds."""
    parts = PARTS.read_text(encoding="utf-8").replace(ADDRESS, f"address: {host}, port_value: {port}")
    if timeout is not None:
        parts = parts.replace(TIMEOUT, f"timeout: {timeout:g}s")
    _, filters, cluster = re.split(r"^(?:http_filters|clusters):\n", parts, flags=re.MULTILINE)
    place = ROUTER.search(text)
    if not place or text.count(PLUGIN) != 1 or text.count(CLUSTERS) != 1:
        raise ValueError("this is not the envoy.yaml that the parts were made for")
    text = text[: place.start()] + textwrap.indent(filters.rstrip() + "\n", " " * 16) + text[place.start() :]
    text = text.replace(PLUGIN, DECLARED)
    return text.replace(CLUSTERS, CLUSTERS + textwrap.indent(cluster, "  "))
