#!/usr/bin/env python3
"""publish.py: what stands beside the archive of a release, for whoever fetches and verifies it.

  install.sh        with the version and the releaser's public key in it
  provenance.json   what was built, from which commit, with what (in-toto statement v1, SLSA provenance v1)
  SHA256SUMS        the checksums of all that is published: archive, wheels, and the two above
  SHA256SUMS.minisig, minisign.pub   its signature (minisign) and the key, where a secret key is named

The same release makes the same bytes, signature included.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: The key in the `install.sh` of a release that nobody signed: it installs nothing.
UNSIGNED = "none"


def digest(file: Path) -> str:
    """Of a file, in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def provenance(version: str, files: list[Path], made_of: dict[str, Any]) -> bytes:
    """The statement: subjects, and how they were built. It has no time in it."""
    tools = {name: value for name, value in made_of.items() if name not in {"version", "commit"}}
    commit = made_of["commit"]
    source = {"uri": "git+trilane", "digest": {"gitCommit": commit}}
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": file.name, "digest": {"sha256": digest(file)}} for file in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "trilane/make-release/v1",
                "externalParameters": {"version": version, "commit": commit, "command": "make release"},
                "internalParameters": tools,
                "resolvedDependencies": [source],
            },
            "runDetails": {"builder": {"id": "trilane/release.sh"}},
        },
    }
    return json.dumps(statement, indent=2).encode() + b"\n"


def public_key(secret: Path, out: Path) -> str:
    """Writes the public half of a minisign key, and gives its second line: the key."""
    subprocess.run(["minisign", "-R", "-f", "-s", str(secret), "-p", str(out)], check=True, stdout=subprocess.DEVNULL)
    return out.read_text().splitlines()[1]


def main() -> int:
    """Writes all of it into the directory of the archive and the wheels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--key", type=Path, metavar="FILE", help="the releaser's secret key (minisign -G)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    args = parser.parse_args()
    out: Path = args.out
    try:
        key = public_key(args.key, out / "minisign.pub") if args.key else UNSIGNED
        script = (HERE / "install.sh").read_text().replace("@VERSION@", args.version).replace("@PUBLIC_KEY@", key)
        (out / "install.sh").write_text(script)
        (out / "install.sh").chmod(0o755)
        made_of = json.loads((out / f"trilane-{args.version}/build.json").read_text())
        built = [out / f"trilane-{args.version}.tar.gz", *sorted(out.glob("*.whl"))]
        (out / "provenance.json").write_bytes(provenance(args.version, built, made_of))
        published = [*built, out / "install.sh", out / "provenance.json"]
        sums = out / "SHA256SUMS"
        sums.write_text("".join(f"{digest(file)}  {file.name}\n" for file in published))
        if args.key:
            told = f"trilane {args.version}"
            subprocess.run(["minisign", "-S", "-s", str(args.key), "-m", str(sums), "-t", told, "-c", told], check=True, stdout=subprocess.DEVNULL)
    except (OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for file in [*published, sums]:
        print(file)
    if not args.key:
        print("warning: nothing is signed: name the releaser's key with TRILANE_SIGNING_KEY (minisign -G makes one)", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
