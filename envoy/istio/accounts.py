"""The clusters that `trilane render` makes of a document's upstream accounts, as an EnvoyFilter.

    python3 accounts.py clusters.json | kubectl apply --filename=-

In a mesh the control plane hands out the clusters, so those of a file have to come by it. They name files of the
gateway's pods (credentials, the filter): see docs/istio.md for what is mounted there. Needs Python alone.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def envoy_filter(clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """One patch for each cluster; applying it again leaves out those that are gone."""

    def patch(cluster: dict[str, Any]) -> dict[str, Any]:
        value = {name: part for name, part in cluster.items() if name != "@type"}
        return {
            "applyTo": "CLUSTER",
            "match": {"context": "GATEWAY"},
            "patch": {"operation": "ADD", "value": value},
        }

    return {
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {"name": "trilane-accounts", "namespace": "trilane"},
        "spec": {
            "workloadSelector": {"labels": {"istio": "trilane"}},
            "configPatches": [patch(cluster) for cluster in clusters],
        },
    }


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        resources = json.load(file)["resources"]
    print(json.dumps(envoy_filter(resources), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
