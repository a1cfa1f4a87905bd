"""Writes the manifests that carry parts of `envoy.yaml` to a control plane.

    python envoy/manifests.py            writes them all
    python envoy/manifests.py --check    names those that are stale, and fails

There is one `envoy.yaml`. The parts that a service mesh or a gateway controller needs (limits, Envoy's own responses, the
ledger, the route, the internal listeners) are taken from it value by value, and wrapped in the form that Istio or Envoy
Gateway reads. This needs PyYAML; `make chart` installs it. The Helm chart has the whole file: Helm reads no file outside a
chart, and not every way to fetch a repository keeps a symbolic link. `README.md` says why the results are checked in.
"""

from __future__ import annotations

import sys
from pathlib import Path

import manifest_envoy_gateway
import manifest_istio
from manifest_parts import Parts

HERE = Path(__file__).resolve().parent
ENVOY_YAML = HERE / "envoy.yaml"


def written() -> dict[Path, str]:
    """Every generated file with its content."""
    text = ENVOY_YAML.read_text(encoding="utf-8")
    parts = Parts(text)
    return {
        HERE / "helm" / "trilane" / "files" / "envoy.yaml": text,
        HERE / "istio" / "envoyfilter.yaml": manifest_istio.envoy_filter(parts),
        HERE / "istio" / "failover.yaml": manifest_istio.failover(parts),
        HERE / "istio" / "bootstrap.yaml": manifest_istio.bootstrap(parts),
        HERE / "envoy-gateway" / "envoypatchpolicy.yaml": manifest_envoy_gateway.patch_policy(parts),
        HERE / "envoy-gateway" / "failover.yaml": manifest_envoy_gateway.failover(parts),
        HERE / "envoy-gateway" / "envoyproxy.yaml": manifest_envoy_gateway.envoy_proxy(parts),
    }


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = 0
    for path, text in written().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if arguments:
            print(f"{path}: not what envoy.yaml says; run `make chart`", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
