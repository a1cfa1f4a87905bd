#!/usr/bin/env python3
"""images.py filter|command: writes the container images of a release, without a container tool.

The filter, for Istio (WasmPlugin), Envoy Gateway (EnvoyExtensionPolicy) and image volumes. It is the same filter three times:

  trilane-filter-VERSION.oci.tar       one layer with nothing but `plugin.wasm`, OCI media types: the one to use
  trilane-filter-VERSION.docker.tar    the same of Docker's media types (manifest schema 2)
  trilane-filter-VERSION.artifact.tar  the artifact of the Wasm Image Specification: configuration and module, no tar

The command: `trilane` as one static binary, the authorities that it and Envoy believe, the filter and the judge.

  trilane-command-VERSION.oci.tar      one image for all machines that there is a binary for
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import oci
from tarball import Entry

WASM_CONFIG = "application/vnd.module.wasm.config.v1+json"
WASM_LAYER = "application/vnd.module.wasm.content.layer.v1+wasm"

#: Envoy's user in its own image and in ours, so that a credential that one can read the other can read too.
USER = 10001
#: The machines that a binary may be for, by ELF's number, in Go's words, which images use.
ARCHITECTURES = {62: "amd64", 183: "arm64"}
#: What the filter's artifact says of it: the ABI that it exports, and the plugins that it has (`root_id`).
RUNTIME = {
    "type": "envoy_proxy",
    "abiVersions": ["0.2.1"],
    "config": {"rootIds": ["attempts", "config-loader", "gateway", "tries"]},
}


class Modules(NamedTuple):
    """What Envoy loads."""

    filter: bytes
    judge: bytes


def annotations(title: str, description: str, version: str, revision: str | None) -> dict[str, str]:
    """What every image says of itself, by the names that OCI gives them."""
    known = {
        "org.opencontainers.image.title": title,
        "org.opencontainers.image.description": description,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    return {**known, "org.opencontainers.image.revision": revision} if revision else known


def filter_images(wasm: bytes, version: str, revision: str | None) -> dict[str, oci.Image]:
    """The filter's images, by the word in their file's name."""
    if not wasm.startswith(b"\0asm"):
        raise ValueError("the filter is no WebAssembly module")
    told = annotations("trilane-filter", "The trilane filter for Envoy", version, revision)
    compatible = oci.Recipe({**told, "module.wasm.image/variant": "compat"})
    layers = [[Entry("plugin.wasm", wasm)]]
    runtime = oci.Blob(WASM_CONFIG, json.dumps(RUNTIME, sort_keys=True, separators=(",", ":")).encode())
    return {
        "oci": oci.container(layers, compatible),
        "docker": oci.container(layers, compatible, docker=True),
        "artifact": oci.artifact(runtime, [runtime, oci.Blob(WASM_LAYER, wasm)], oci.Recipe(told)),
    }


def command_image(binary: bytes, modules: Modules, authorities: bytes, version: str, revision: str | None) -> oci.Image:
    """The command's image, in the layout of the Dockerfile's stage `command`.

    Nothing else is in it, no shell either: so the binary must need no library.
    """
    machine = architecture(binary)
    if not is_static(binary):
        raise ValueError("the command needs a dynamic loader, and the image has none")
    root = [Entry(path, mode=0o755) for path in ("etc", "etc/ssl", "etc/ssl/certs", "etc/trilane", "etc/trilane/filter")]
    root += [Entry(path, mode=0o755) for path in ("usr", "usr/local", "usr/local/bin")]
    root.append(Entry("tmp", mode=0o1777))
    root.append(Entry("etc/ssl/certs/ca-certificates.crt", authorities))
    # A volume that is mounted here for the first time takes its owner from these.
    own = [Entry(f"etc/trilane/{name}", mode=0o755, owner=USER) for name in ("document", "upstreams")]
    program = [
        Entry("etc/trilane/filter/trilane.wasm", modules.filter),
        Entry("etc/trilane/filter/trilane_judge.wasm", modules.judge),
        Entry("usr/local/bin/trilane", binary, mode=0o755),
    ]
    told = annotations("trilane-command", "The trilane command", version, revision)
    settings = {
        "Entrypoint": ["/usr/local/bin/trilane"],
        "Cmd": ["--help"],
        "User": f"{USER}:{USER}",
        "WorkingDir": "/",
        "Env": ["PATH=/usr/local/bin"],
    }
    return oci.container([[*root, *own], program], oci.Recipe(told, settings), architecture=machine)


def command_layout(binaries: list[bytes], modules: Modules, authorities: bytes, version: str, revision: str | None) -> tuple[oci.Blob, bytes]:
    """The command's image for the machines of these binaries, all in one layout, with the index that names them."""
    images = [command_image(binary, modules, authorities, version, revision) for binary in binaries]
    told = annotations("trilane-command", "The trilane command", version, revision)
    index = oci.index(images, oci.Recipe(told))
    return index, oci.layout(images, f"trilane/command:{version}", index)


def architecture(binary: bytes) -> str:
    """What an ELF program (64 bit, little endian) is for."""
    if binary[:6] != b"\x7fELF\x02\x01":
        raise ValueError("the command is no ELF program of 64 bits")
    machine = int.from_bytes(binary[18:20], "little")
    if machine not in ARCHITECTURES:
        raise ValueError(f"the command is for a machine that no image is made for (ELF's number {machine})")
    return ARCHITECTURES[machine]


def is_static(binary: bytes) -> bool:
    """Whether an ELF program asks for no interpreter."""
    start = int.from_bytes(binary[32:40], "little")
    size, count = (int.from_bytes(binary[at : at + 2], "little") for at in (54, 56))
    interpreter = 3  # PT_INTERP
    kinds = (int.from_bytes(binary[at : at + 4], "little") for at in range(start, start + size * count, size))
    return interpreter not in kinds


def main() -> int:
    """Writes what is asked for, and says each file with the digest that the image has in a registry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", choices=("filter", "command"))
    parser.add_argument("--wasm", type=Path, required=True, metavar="FILE", help="the filter")
    parser.add_argument("--judge", type=Path, metavar="FILE", help="the judge, for the command's image")
    parser.add_argument("--binary", type=Path, nargs="+", default=[], metavar="FILE", help="the command, for each machine")
    parser.add_argument(
        "--authorities",
        type=Path,
        default=Path("/etc/ssl/certs/ca-certificates.crt"),
        metavar="FILE",
        help="certificate authorities for the command's image, PEM [%(default)s]",
    )
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", help="the commit, for the annotations")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    args = parser.parse_args()

    try:
        wasm, name = args.wasm.read_bytes(), args.image
        reference = f"trilane/{name}:{args.version}"
        if args.image == "filter":
            images = filter_images(wasm, args.version, args.revision)
            layouts = {word: (image.manifest, oci.layout([image], reference)) for word, image in images.items()}
        else:
            if not args.binary or not args.judge:
                parser.error("the image of the command needs --binary and --judge")
            binaries, authorities = [file.read_bytes() for file in args.binary], args.authorities.read_bytes()
            modules = Modules(wasm, args.judge.read_bytes())
            layouts = {"oci": command_layout(binaries, modules, authorities, args.version, args.revision)}
        args.out.mkdir(parents=True, exist_ok=True)
        for word, (top, data) in layouts.items():
            file = args.out / f"trilane-{name}-{args.version}.{word}.tar"
            file.write_bytes(data)
            print(f"{file}: {top.digest}")
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
