#!/usr/bin/env python3
"""sbom.py filter|judge|command|command-arm64: the bill of materials of an artifact, CycloneDX 1.5 as JSON.

It has what is linked into the artifact, and nothing that only its build or its tests need: the crates with the checksums of
Cargo.lock, the C libraries, Rust's own. There is no time and no random number in it: the same sources make the same bytes.

Why not cargo-cyclonedx: 0.5.9 is reproducible too (`SOURCE_DATE_EPOCH`), but it reads `cargo metadata`, which mixes the features
of all packages of a workspace, lists procedural macros among what is linked, and knows crates only: SQLite, musl, wasi-libc and
Rust's library would have to be added to its output all the same. It is 122 crates to build, minutes of a release on two cores,
against a second for this.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beside import Library, libraries
from crates import Crate, linked

#: What is released: its package, and what it is built for.
ARTIFACTS = {
    "filter": ("trilane", "wasm32-wasip1"),
    "judge": ("trilane-judge", "wasm32-wasip1"),
    "command": ("trilane-control", "x86_64-unknown-linux-musl"),
    "command-arm64": ("trilane-control", "aarch64-unknown-linux-musl"),
}
_SITE = "https://cyclonedx.org/schema/bom-1.5.schema.json"


def bill(crates: Sequence[Crate], beside: Sequence[Library], artifact: bytes | None) -> dict[str, Any]:
    """The bill of what the first crate is built of; with the artifact itself, its digest too."""
    subject = _crate(crates[0])
    subject["type"] = "application"
    if artifact is not None:
        subject["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(artifact).hexdigest()}]
    components = [_crate(crate) for crate in crates[1:]] + [_library(library) for library in beside]
    needs = [{"ref": _ref(crate.name, crate.version), "dependsOn": sorted(_refs(crate))} for crate in crates]
    needs[0]["dependsOn"] = sorted({*needs[0]["dependsOn"], *(library_ref(library) for library in beside)})
    needs += [{"ref": library_ref(library), "dependsOn": []} for library in beside]
    return {
        "$schema": _SITE,
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject, "tools": {"components": [{"type": "application", "name": "trilane release/sbom.py"}]}},
        "components": sorted(components, key=lambda component: component["bom-ref"]),
        "dependencies": sorted(needs, key=lambda need: need["ref"]),
    }


def library_ref(library: Library) -> str:
    """A package URL without a registry."""
    return f"pkg:generic/{library.name}@{library.version}"


def _refs(crate: Crate) -> list[str]:
    return [_ref(*need.split("@")) for need in crate.needs]


def _ref(name: str, version: str) -> str:
    return f"pkg:cargo/{name}@{version}"


def _crate(crate: Crate) -> dict[str, Any]:
    reference = _ref(crate.name, crate.version)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": crate.name,
        "version": crate.version,
        "description": crate.description,
        "licenses": [{"expression": crate.license}],
        "purl": reference,
    }
    if crate.checksum is not None:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
    if crate.repository:
        component["externalReferences"] = [{"type": "vcs", "url": crate.repository}]
    return component


def _library(library: Library) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": library_ref(library),
        "name": library.name,
        "version": library.version,
        "licenses": [{"expression": library.license}],
        "purl": library_ref(library),
        "externalReferences": [{"type": "website", "url": library.site}],
    }


def main() -> int:
    """Prints the bill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=tuple(ARTIFACTS))
    parser.add_argument("--artifact", type=Path, metavar="FILE", help="what was built, whose digest is then told")
    args = parser.parse_args()
    package, target = ARTIFACTS[args.what]
    try:
        crates = linked(package, target)
        artifact = args.artifact.read_bytes() if args.artifact else None
        print(json.dumps(bill(crates, libraries(target, crates), artifact), indent=2, ensure_ascii=False))
    except (OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
