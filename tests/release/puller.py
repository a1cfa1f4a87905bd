"""Reads images as those do who fetch them: by the rules of Istio's agent and Envoy Gateway, and of `docker load`."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import posixpath
import tarfile
from typing import Any

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
WASM_LAYER = "application/vnd.module.wasm.content.layer.v1+wasm"


class Refused(Exception):
    """What a puller would not take."""


class Layout:
    """An OCI image layout in a tar, with one image; of one for several machines, that for the machine named (in Go's words)."""

    def __init__(self, data: bytes, machine: str = "amd64") -> None:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            self.members = archive.getmembers()
            files = ((member.name, archive.extractfile(member)) for member in self.members if member.isfile())
            self.files = {name: file.read() for name, file in files if file}
        if json.loads(self.files["oci-layout"]) != {"imageLayoutVersion": "1.0.0"}:
            raise Refused("oci-layout")
        (self.descriptor,) = json.loads(self.files["index.json"])["manifests"]
        self.manifest: dict[str, Any] = json.loads(self.blob(self.descriptor))
        if self.manifest.get("mediaType") == OCI_INDEX:
            fitting = [one for one in self.manifest["manifests"] if one["platform"] == {"architecture": machine, "os": "linux"}]
            if len(fitting) != 1:
                raise Refused(f"{len(fitting)} images for {machine}")
            self.manifest = json.loads(self.blob(fitting[0]))

    def blob(self, descriptor: dict[str, Any]) -> bytes:
        """The bytes that a descriptor names: a registry takes none whose digest or size is another."""
        data = self.files["blobs/" + descriptor["digest"].replace(":", "/")]
        if "sha256:" + hashlib.sha256(data).hexdigest() != descriptor["digest"] or len(data) != descriptor["size"]:
            raise Refused(f"{descriptor['digest']} is not what it is named by")
        return data


def plugin(layout: Layout) -> bytes:
    """The module that Istio's agent and Envoy Gateway find in an image.

    By the manifest's media type: Docker's has it in its last layer. Any other is first read as an image whose last layer is a tar,
    then as the artifact of two layers.
    """
    layers = layout.manifest["layers"]
    if layout.manifest.get("mediaType") == DOCKER_MANIFEST:
        return _unpacked(layout, layers, DOCKER_LAYER)
    try:
        return _unpacked(layout, layers, OCI_LAYER)
    except Refused as compatible:
        if len(layers) != 2:
            raise Refused(f"{compatible}; and not two layers but {len(layers)}") from None
        for layer in layers:
            if layer["mediaType"] == WASM_LAYER:
                return layout.blob(layer)
        raise Refused(f"{compatible}; and no layer is a module") from None


def loaded(layout: Layout) -> dict[str, tarfile.TarInfo]:
    """The files of the container that `docker load` makes of it: each layer must be what the configuration says."""
    (image,) = json.loads(layout.files["manifest.json"])
    config = json.loads(layout.files[image["Config"]])
    tars = [gzip.decompress(layout.files[layer]) for layer in image["Layers"]]
    digests = ["sha256:" + hashlib.sha256(data).hexdigest() for data in tars]
    if digests != config["rootfs"]["diff_ids"]:
        raise Refused("the layers are not those of the configuration")
    if config["os"] != "linux":
        raise Refused(f"for {config['os']}")
    found: dict[str, tarfile.TarInfo] = {}
    for data in tars:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            found |= {member.name: member for member in archive.getmembers()}
    return found


def _unpacked(layout: Layout, layers: list[dict[str, Any]], media_type: str) -> bytes:
    if not layers:
        raise Refused("no layer")
    if layers[-1]["mediaType"] != media_type:
        raise Refused(f"the last layer is {layers[-1]['mediaType']}, not {media_type}")
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layout.blob(layers[-1])))) as archive:
        for member in archive:
            if posixpath.basename(member.name) == "plugin.wasm":
                return archive.extractfile(member).read()  # type: ignore[union-attr]
    raise Refused("no plugin.wasm")
