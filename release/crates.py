"""Which crates are in an artifact, as Cargo says it: without those of tests, build scripts and procedural macros."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Crate:
    """A crate that is linked into an artifact."""

    name: str
    version: str
    license: str
    """An SPDX expression."""
    description: str
    repository: str | None
    checksum: str | None
    """SHA-256 of the package in the registry; none for our own."""
    source: Path
    """Where its sources are."""
    needs: tuple[str, ...]
    """The crates that it links, as `name@version`."""

    @property
    def id(self) -> str:
        """`name@version`, of which there is one."""
        return f"{self.name}@{self.version}"

    @property
    def ours(self) -> bool:
        """Whether it is a part of this repository."""
        return self.checksum is None


def linked(package: str, target: str) -> list[Crate]:
    """The crates that are linked into the artifact of `package` for the target, sorted, its own first of all.

    Raises RuntimeError where Cargo cannot say it.
    """
    members = _members(package, target)
    metadata = json.loads(_cargo("metadata", "--locked", "--format-version=1", "--filter-platform", target))
    checksums = _checksums()
    packages = {one["id"]: one for one in metadata["packages"]}
    crates = []
    for node in metadata["resolve"]["nodes"]:
        found = packages[node["id"]]
        if (found["name"], found["version"]) not in members:
            continue
        needs = {_id(packages[needed["pkg"]]) for needed in node["deps"] if _is_linked(needed)}
        crates.append(_crate(found, checksums, {need for need in needs if tuple(need.split("@")) in members}))
    if len(crates) != len(members):
        raise RuntimeError(f"cargo tree and cargo metadata disagree on what {package} is made of")
    return sorted(crates, key=lambda crate: (crate.name != package, crate.name, crate.version))


def _members(package: str, target: str) -> set[tuple[str, str]]:
    """Name and version of what is linked. Only `cargo tree` knows features by package and target."""
    lines = _cargo(
        *("tree", "--locked", "--package", package, "--target", target),
        *("--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"),
    )
    found = set()
    for line in lines.splitlines():
        match = re.match(r"(\S+) v(\S+)", line)
        if match is None:
            raise RuntimeError(f"cargo tree says {line!r}")
        found.add((match[1], match[2]))
    return found


def _is_linked(needed: dict[str, Any]) -> bool:
    return any(kind["kind"] is None for kind in needed["dep_kinds"])


def _crate(package: dict[str, Any], checksums: dict[tuple[str, str], str], needs: set[str]) -> Crate:
    name, version = package["name"], package["version"]
    license = package["license"]
    if not license:
        raise RuntimeError(f"{name} {version} does not say its licence")
    return Crate(
        name=name,
        version=version,
        license=license.replace("/", " OR "),  # how it was written before SPDX
        description=" ".join((package["description"] or "").split()),
        repository=package["repository"],
        checksum=checksums.get((name, version)),
        source=Path(package["manifest_path"]).parent,
        needs=tuple(sorted(needs)),
    )


def _id(package: dict[str, Any]) -> str:
    return f"{package['name']}@{package['version']}"


def _checksums() -> dict[tuple[str, str], str]:
    """From Cargo.lock, whose form is simple enough: Python before 3.11 has no parser of TOML."""
    text = (ROOT / "Cargo.lock").read_text()
    block = re.compile(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"')
    return {(name, version): checksum for name, version, checksum in block.findall(text)}


def _cargo(*arguments: str) -> str:
    cargo = os.environ.get("CARGO", "cargo")
    done = subprocess.run([cargo, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"cargo {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
