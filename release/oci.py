"""Container images without a container tool: layers, configuration and manifest, in one tar that registries' tools read.

The tar is an OCI image layout (`oci-layout`, `index.json`, `blobs/`), for `skopeo copy oci-archive:…`, `crane`, `oras` and
`ctr image import`. For the images whose layers are tars it is also what `docker save` writes (`manifest.json`), for `docker load`.
All of it is a function of the arguments: the same files make the same image, to its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tarball import Entry, gzip, tar

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_CONFIG = "application/vnd.docker.container.image.v1+json"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"

#: Some tools refuse an image without a time. It is no time of a build, which would make each another image.
_CREATED = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Blob:
    """Bytes with the media type that a manifest gives them."""

    media_type: str
    data: bytes

    @property
    def digest(self) -> str:
        """What it is named by."""
        return "sha256:" + hashlib.sha256(self.data).hexdigest()

    @property
    def descriptor(self) -> dict[str, Any]:
        """How others refer to it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.data)}


@dataclass(frozen=True)
class Image:
    """A manifest and all that it names."""

    manifest: Blob
    config: Blob
    layers: Sequence[Blob]
    loadable: bool
    """Whether the layers are tars, which `docker load` can unpack."""


@dataclass(frozen=True)
class Recipe:
    """What an image says of itself."""

    annotations: Mapping[str, str]
    """In the manifest and, as labels, in the configuration."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How to run it: `Entrypoint`, `User` and so on; nothing for what cannot be run."""


def container(layers: Iterable[Iterable[Entry]], recipe: Recipe, docker: bool = False, architecture: str = "amd64") -> Image:
    """An image of these layers, of Docker's media types if `docker`, of OCI's otherwise, for the architecture, by Go's name of it."""
    tars = [tar(entries) for entries in layers]
    blobs = [Blob(DOCKER_LAYER if docker else OCI_LAYER, gzip(data)) for data in tars]
    settings = {**recipe.settings, "Labels": dict(recipe.annotations)}
    config = {
        "created": _CREATED,
        "architecture": architecture,
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [Blob("", data).digest for data in tars]},
        "history": [{"created": _CREATED, "created_by": "trilane release"} for _ in tars],
    }
    config_blob = Blob(DOCKER_CONFIG if docker else OCI_CONFIG, _json(config))
    return Image(_manifest(config_blob, blobs, recipe, docker), config_blob, blobs, loadable=True)


def artifact(config: Blob, layers: Sequence[Blob], recipe: Recipe) -> Image:
    """An OCI artifact: blobs of media types of their own, which no container is made of."""
    return Image(_manifest(config, layers, recipe, docker=False), config, layers, loadable=False)


def index(images: Sequence[Image], recipe: Recipe) -> Blob:
    """The index of one image for several machines: whoever pulls it gets the one for theirs."""
    manifests = []
    for image in images:
        config = json.loads(image.config.data)
        platform = {"architecture": config["architecture"], "os": config["os"]}
        manifests.append({**image.manifest.descriptor, "platform": platform})
    listed = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests, "annotations": dict(recipe.annotations)}
    return Blob(OCI_INDEX, _json(listed))


def layout(images: Sequence[Image], reference: str, listed: Blob | None = None) -> bytes:
    """The tar with an image, under a reference such as `trilane/filter:0.1.0`.

    One for several machines has its index `listed`; a Docker that does not read OCI layouts loads the first of them.
    """
    name, _, tag = reference.partition(":")
    first = images[0]
    top = listed or first.manifest
    described = {**top.descriptor, "annotations": {"org.opencontainers.image.ref.name": tag}}
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "manifests": [described]}),
    }
    if first.loadable:
        layers = [_place(blob) for blob in first.layers]
        files["manifest.json"] = _json([{"Config": _place(first.config), "RepoTags": [f"{name}:{tag}"], "Layers": layers}])
    for blob in (top, *(blob for image in images for blob in (image.manifest, image.config, *image.layers))):
        files[_place(blob)] = blob.data
    directories = (Entry("blobs", mode=0o755), Entry("blobs/sha256", mode=0o755))
    return tar([*directories, *(Entry(path, data) for path, data in files.items())])


def _manifest(config: Blob, layers: Sequence[Blob], recipe: Recipe, docker: bool) -> Blob:
    media_type = DOCKER_MANIFEST if docker else OCI_MANIFEST
    manifest: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": config.descriptor,
        "layers": [layer.descriptor for layer in layers],
    }
    if not docker:  # Docker's schema has no annotations
        manifest["annotations"] = dict(recipe.annotations)
    return Blob(media_type, _json(manifest))


def _place(blob: Blob) -> str:
    return "blobs/" + blob.digest.replace(":", "/")


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
