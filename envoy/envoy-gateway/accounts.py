"""The clusters that `trilane render` makes of a document's upstream accounts, as an EnvoyPatchPolicy.

    python3 accounts.py clusters.json | kubectl apply --filename=-

Under Envoy Gateway the control plane hands out the clusters, so those of a file have to come by it. They name files
of the gateway's pods (credentials, the filter): see docs/envoy-gateway.md for what is mounted there. Needs Python
alone.
"""

from __future__ import annotations

import json
import sys
from typing import Any

CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"


def patch_policy(clusters: list[dict[str, Any]]) -> dict[str, Any]:
    """One patch for each cluster; applying it again leaves out those that are gone."""

    def patch(cluster: dict[str, Any]) -> dict[str, Any]:
        value = {name: part for name, part in cluster.items() if name != "@type"}
        return {
            "type": CLUSTER,
            "name": value["name"],
            "operation": {"op": "add", "path": "", "value": value},
        }

    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyPatchPolicy",
        "metadata": {"name": "trilane-accounts", "namespace": "trilane"},
        "spec": {
            "targetRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "trilane"},
            "type": "JSONPatch",
            "jsonPatches": [patch(cluster) for cluster in clusters],
        },
    }


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        resources = json.load(file)["resources"]
    print(json.dumps(patch_policy(resources), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
