"""The images that a release has, read as those read them who fetch them."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import images
import oci
import pytest
import tarball
from puller import Layout, Refused, loaded, plugin

ROOT = Path(__file__).resolve().parents[2]
WASM = b"\0asm\1\0\0\0" + bytes(range(256)) * 64
JUDGE = b"\0asm\1\0\0\0 judge"
KINDS = ("oci", "docker", "artifact")


def elf(interpreter: bool, little: bool = True, machine: int = 62) -> bytes:
    """An ELF header with two program headers, the second of which may ask for an interpreter, for x86-64 by default."""
    head = b"\x7fELF\x02" + (b"\x01" if little else b"\x02") + b"\x01" + b"\0" * 9
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    kinds = (1, 3 if interpreter else 6)
    return head + b"".join(struct.pack("<I", kind) + b"\0" * 52 for kind in kinds)


@pytest.fixture(scope="module")
def layouts() -> dict[str, Layout]:
    """The filter's images."""
    made = images.filter_images(WASM, "1.2.3", "c0ffee")
    return {kind: Layout(oci.layout([image], "trilane/filter:1.2.3")) for kind, image in made.items()}


def command_image(binary: bytes | None = None) -> oci.Image:
    """The command's image."""
    program = elf(interpreter=False) if binary is None else binary
    return images.command_image(program, images.Modules(WASM, JUDGE), b"authorities", "1.2.3", "c0ffee")


def command() -> bytes:
    """The same in its tar."""
    return oci.layout([command_image()], "trilane/command:1.2.3")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mesh_finds_the_filter(layouts: dict[str, Layout], kind: str) -> None:
    assert plugin(layouts[kind]) == WASM, kind


@pytest.mark.parametrize(
    ("kind", "manifest", "config", "layers"),
    [
        ("oci", oci.OCI_MANIFEST, oci.OCI_CONFIG, [oci.OCI_LAYER]),
        ("docker", oci.DOCKER_MANIFEST, oci.DOCKER_CONFIG, [oci.DOCKER_LAYER]),
        ("artifact", oci.OCI_MANIFEST, images.WASM_CONFIG, [images.WASM_CONFIG, images.WASM_LAYER]),
    ],
)
def test_media_types(layouts: dict[str, Layout], kind: str, manifest: str, config: str, layers: list[str]) -> None:
    layout = layouts[kind]
    found = layout.manifest
    assert layout.descriptor["mediaType"] == found["mediaType"] == manifest, kind
    assert found["config"]["mediaType"] == config, kind
    assert [layer["mediaType"] for layer in found["layers"]] == layers, kind
    assert [layout.blob(one) for one in (found["config"], *found["layers"])], "and each is what it is named by"
    if kind == "oci":
        assert found["annotations"]["module.wasm.image/variant"] == "compat"
    assert found.get("annotations", {}).get("org.opencontainers.image.version") == (None if kind == "docker" else "1.2.3"), kind


@pytest.mark.parametrize("kind", ["oci", "docker"])
def test_docker_loads_the_filter_and_nothing_else(layouts: dict[str, Layout], kind: str) -> None:
    assert list(loaded(layouts[kind])) == ["plugin.wasm"], kind
    (image,) = json.loads(layouts[kind].files["manifest.json"])
    assert image["RepoTags"] == ["trilane/filter:1.2.3"], kind


def test_docker_is_not_offered_the_artifact(layouts: dict[str, Layout]) -> None:
    assert "manifest.json" not in layouts["artifact"].files


def test_the_artifact_says_what_the_filter_has(layouts: dict[str, Layout]) -> None:
    layout = layouts["artifact"]
    runtime = json.loads(layout.blob(layout.manifest["config"]))
    named = set(re.findall(r'const \w+: &\[u8\] = b"([a-z-]+)";', (ROOT / "src/filter/mod.rs").read_text()))
    assert named, "the names of the plugins are not where they were"
    assert {*named, "gateway"} == set(runtime["config"]["rootIds"])
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "wasm32-wasip1/release/trilane.wasm"
    if built.exists():
        (abi,) = runtime["abiVersions"]
        assert b"proxy_abi_version_" + abi.replace(".", "_").encode() in built.read_bytes()


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match="no WebAssembly"):
        images.filter_images(b"\x7fELF", "1.2.3", None)


def damaged(kind: str, image: oci.Image) -> Iterator[tuple[str, oci.Image]]:
    """Images that no puller takes, by what is wrong with them."""
    last = image.layers[-1]
    manifest = json.loads(image.manifest.data)
    manifest["layers"][-1]["mediaType"] = "application/octet-stream"
    wrong = oci.Blob(image.manifest.media_type, json.dumps(manifest).encode())
    yield "another media type", replace(image, manifest=wrong)
    if kind != "artifact":
        other = oci.Blob(last.media_type, tarball.gzip(tarball.tar([tarball.Entry("filter.wasm", WASM)])))
        manifest = json.loads(image.manifest.data)
        manifest["layers"] = [other.descriptor]
        wrong = oci.Blob(image.manifest.media_type, json.dumps(manifest).encode())
        yield "another name", replace(image, manifest=wrong, layers=[other])


@pytest.mark.parametrize("kind", KINDS)
def test_the_puller_of_these_tests_refuses(kind: str) -> None:
    image = images.filter_images(WASM, "1.2.3", None)[kind]
    for case, wrong in damaged(kind, image):
        with pytest.raises(Refused):
            plugin(Layout(oci.layout([wrong], "trilane/filter:1.2.3")))
            pytest.fail(f"{kind}: {case}")


def test_the_command_has_what_its_container_needs() -> None:
    layout = Layout(command())
    files = loaded(layout)
    binary = files["usr/local/bin/trilane"]
    assert binary.mode == 0o755 and binary.uid == 0
    for name in ("etc/trilane/filter/trilane.wasm", "etc/trilane/filter/trilane_judge.wasm", "etc/ssl/certs/ca-certificates.crt"):
        assert files[name].isfile() and files[name].mode == 0o644, name
    for name in ("etc/trilane/document", "etc/trilane/upstreams"):
        assert files[name].isdir() and (files[name].uid, files[name].gid) == (images.USER, images.USER), name
    # `trilane filter` copies it out, for pods (envoy/helm): it looks where it is.
    (default,) = re.findall(r'default_value = "/(\S+)"', (ROOT / "control/src/filter.rs").read_text())
    assert files[default].isfile()
    config = json.loads(layout.blob(layout.manifest["config"]))["config"]
    assert config["Entrypoint"] == ["/usr/local/bin/trilane"] and config["User"] == "10001:10001"


def test_a_clone_builds_the_commands_image_too() -> None:
    """docs/helm.md and docs/istio.md say `docker build --target command`: the same places, user and entry point."""
    layout = Layout(command())
    config = json.loads(layout.blob(layout.manifest["config"]))["config"]
    stages = re.split(r"^FROM \S+ AS ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    (stage,) = (text for text in stages if text.startswith("command\n"))
    copied = re.findall(r"^COPY --from=\w+ \S*/(\S+) /(\S+/)$", stage, re.MULTILINE)
    (made,) = re.findall(r"^RUN install -d -o 10001 -g 10001 (.+)$", stage, re.MULTILINE)
    files = loaded(layout)
    assert {f"{place}{name}" for name, place in copied} == {name for name, file in files.items() if file.isfile()}
    assert {place.removeprefix("/") for place in made.split()} == {name for name, file in files.items() if file.uid == images.USER}
    for word, value in {"ENTRYPOINT": config["Entrypoint"], "CMD": config["Cmd"]}.items():
        assert f"{word} {json.dumps(value)}\n" in stage, word
    assert f"USER {config['User']}\n" in stage


@pytest.mark.parametrize(
    ("case", "binary", "why"),
    [
        ("it needs a loader", elf(interpreter=True), "dynamic loader"),
        ("of another byte order", elf(interpreter=False, little=False), "no ELF program"),
        ("for RISC-V", elf(interpreter=False, machine=243), "no image is made for"),
        ("a script", b"#!/bin/sh\n" + b"\0" * 64, "no ELF program"),
        ("nothing", b"", "no ELF program"),
    ],
)
def test_a_command_that_could_not_start_is_refused(case: str, binary: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        command_image(binary)
        pytest.fail(case)


def test_the_command_is_for_the_machines_of_its_binaries(tmp_path: Path) -> None:
    machines = {"amd64": elf(interpreter=False), "arm64": elf(interpreter=False, machine=183)}
    for file, data in {"wasm": WASM, "judge": JUDGE, "authorities": b"authorities", **machines}.items():
        (tmp_path / file).write_bytes(data)
    files = [f"--wasm={tmp_path / 'wasm'}", f"--judge={tmp_path / 'judge'}", f"--authorities={tmp_path / 'authorities'}", "--binary", *(str(tmp_path / name) for name in machines)]
    made = [sys.executable, str(ROOT / "release/images.py"), "command", *files, "--version=1.2.3", f"--out={tmp_path / 'out'}"]
    subprocess.run(made, check=True, capture_output=True)
    (written,) = (tmp_path / "out").iterdir()
    assert written.name == "trilane-command-1.2.3.oci.tar"
    for machine, binary in machines.items():
        layout = Layout(written.read_bytes(), machine)
        assert json.loads(layout.blob(layout.manifest["config"]))["architecture"] == machine
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(layout.blob(layout.manifest["layers"][-1])))) as layer:
            program = layer.extractfile("usr/local/bin/trilane")
            assert program and program.read() == binary, machine
    with pytest.raises(Refused):
        Layout(written.read_bytes(), "riscv64")
    (image,) = json.loads(layout.files["manifest.json"])
    assert image["RepoTags"] == ["trilane/command:1.2.3"]
    assert json.loads(layout.files[image["Config"]])["architecture"] == "amd64", "what an old Docker loads"


def test_the_same_files_make_the_same_images() -> None:
    for kind, image in images.filter_images(WASM, "1.2.3", "c0ffee").items():
        again = images.filter_images(WASM, "1.2.3", "c0ffee")[kind]
        assert oci.layout([image], "a:1") == oci.layout([again], "a:1"), kind
        other = images.filter_images(WASM + b"\0", "1.2.3", "c0ffee")[kind]
        assert image.manifest.digest != other.manifest.digest, kind
    assert command() == command()


def test_no_clock_user_or_name_of_this_machine_is_in_an_image() -> None:
    for case, data in {
        "command": command(),
        **{kind: oci.layout([image], "a:1") for kind, image in images.filter_images(WASM, "1.2.3", None).items()},
    }.items():
        layout = Layout(data)
        members = list(layout.members)
        if "manifest.json" in layout.files:
            members += loaded(layout).values()
            for layer in layout.manifest["layers"]:
                assert layout.blob(layer)[4:8] == b"\0\0\0\0", f"{case}: the time of gzip"
        for member in members:
            assert (member.mtime, member.uname, member.gname) == (0, "", ""), f"{case}: {member.name}"


def test_a_docker_takes_them(tmp_path: Path) -> None:
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no Docker answers here")
    tag = "0.0.0-release-test"
    for name, image in {"filter": images.filter_images(WASM, tag, None)["oci"], "command": command_image()}.items():
        file = tmp_path / f"{name}.tar"
        file.write_bytes(oci.layout([image], f"trilane/{name}:{tag}"))
        subprocess.run(["docker", "load", "--input", str(file)], capture_output=True, check=True)
        try:
            shown = subprocess.run(["docker", "inspect", f"trilane/{name}:{tag}"], capture_output=True, check=True).stdout
            assert json.loads(shown)[0]["Os"] == "linux", name
        finally:
            subprocess.run(["docker", "rmi", f"trilane/{name}:{tag}"], capture_output=True, check=True)
