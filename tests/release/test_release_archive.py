"""The archive that `make release` made, as whoever fetches it meets it. TRILANE_RELEASE names it (`make release-check`)."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
import wheel
from published import version_of
from puller import Layout, plugin
from starting import Started

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif("TRILANE_RELEASE" not in os.environ, reason="no release was named: make release-check")


def files_of(release: Path) -> set[str]:
    """All of them, by their paths within it."""
    return {str(file.relative_to(release)) for file in release.rglob("*") if file.is_file()}


def test_the_checksums_are_of_all_files(release: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=release, check=True)
    named = {line.split("  ", 1)[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert named == files_of(release) - {"SHA256SUMS"}


def test_docs_name_all_that_is_in_it_and_nothing_else(release: Path) -> None:
    page = (ROOT / "docs/release.md").read_text()
    table = page.partition("## What is in it")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    told = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    found = files_of(release)

    def covers(name: str, file: str) -> bool:
        return file.startswith(name) if name.endswith("/") else Path(file).match(name) and file.count("/") == name.count("/")

    assert len(told) > 10
    assert [name for name in told if not any(covers(name, file) for file in found)] == [], "told, and not there"
    assert [file for file in sorted(found) if not any(covers(name, file) for name in told)] == [], "there, and not told"
    images = re.findall(r"^\| `(trilane-\S+\.tar)` \|", page, re.MULTILINE)
    here = {file.removeprefix("images/") for file in found if file.startswith("images/")}
    assert {name.replace("<version>", version_of(release)) for name in images} == here


def test_each_image_has_the_files_of_the_release(release: Path) -> None:
    filter_digest, judge_digest = (hashlib.sha256((release / name).read_bytes()).digest() for name in ("trilane.wasm", "trilane_judge.wasm"))
    programs = {"amd64": "bin/trilane", "arm64": "bin/trilane-arm64"}
    version = version_of(release)
    for machine, program in programs.items():
        layout = Layout((release / f"images/trilane-command-{version}.oci.tar").read_bytes(), machine)
        held = {}
        for layer in layout.manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(layout.blob(layer)), mode="r:gz") as files:
                held |= {member.name: hashlib.sha256(files.extractfile(member).read()).digest() for member in files if member.isfile()}  # type: ignore[union-attr]
        assert held["usr/local/bin/trilane"] == hashlib.sha256((release / program).read_bytes()).digest(), machine
        assert held["etc/trilane/filter/trilane.wasm"] == filter_digest, machine
        assert held["etc/trilane/filter/trilane_judge.wasm"] == judge_digest, machine
    for kind in ("oci", "docker", "artifact"):
        layout = Layout((release / f"images/trilane-filter-{version}.{kind}.tar").read_bytes())
        assert hashlib.sha256(plugin(layout)).digest() == filter_digest, kind


@pytest.mark.parametrize(
    ("bill", "artifact"),
    [("filter", "trilane.wasm"), ("judge", "trilane_judge.wasm"), ("command", "bin/trilane"), ("command-arm64", "bin/trilane-arm64")],
)
def test_each_bill_is_of_its_file(release: Path, bill: str, artifact: str) -> None:
    subject = json.loads((release / f"sbom/trilane-{bill}.cdx.json").read_text())["metadata"]["component"]
    assert subject["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256((release / artifact).read_bytes()).hexdigest()}]
    assert subject["version"] == version_of(release)


def test_what_compose_builds_from_is_there(release: Path) -> None:
    text = (release / "compose/docker-compose.yaml").read_text()
    assert "@" not in re.sub(r"#.*|sha256@", "", text), "no place is left to be filled in"
    assert f"image: trilane/gateway:{version_of(release)}\n" in text
    (context,), (dockerfile,) = re.findall(r"^ +context: (.+)$", text, re.MULTILINE), re.findall(r"^ +dockerfile: (.+)$", text, re.MULTILINE)
    bin_directory = (release / "compose" / context).resolve()
    recipe = (bin_directory / dockerfile).resolve()
    assert recipe == release / "compose/Dockerfile"
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", recipe.read_text(), re.MULTILINE):
        for file in copied.split():
            assert os.access(bin_directory / file, os.X_OK), file


def test_the_program_needs_nothing_of_the_machine(release: Path) -> None:
    said = subprocess.run([release / "bin/trilane", "--version"], env={}, capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == version_of(release)
    for program in ("trilane", "trilane-arm64"):
        header = subprocess.run(["readelf", "--program-headers", release / "bin" / program], capture_output=True, text=True, check=True).stdout
        assert "INTERP" not in header and "LOAD" in header, f"{program} is static"


def test_the_list_has_all_that_is_published(release: Path) -> None:
    published = Path(os.environ["TRILANE_RELEASE"]).resolve().parent
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=published, check=True)
    named = {line.split("  ", 1)[1] for line in (published / "SHA256SUMS").read_text().splitlines()}
    wheels = {f"trilane-{version_of(release)}-py3-none-{platform}.whl" for platform in wheel.PLATFORMS.values()}
    assert named == {f"{release.name}.tar.gz", "install.sh", "provenance.json", *wheels}
    subjects = json.loads((published / "provenance.json").read_text())["subject"]
    for subject in subjects:
        assert subject["digest"]["sha256"] == hashlib.sha256((published / subject["name"]).read_bytes()).hexdigest(), subject["name"]
    assert {subject["name"] for subject in subjects} == named - {"install.sh", "provenance.json"}


@pytest.mark.parametrize("way", ["archive", "archive with a console", "wheel"])
def test_it_runs_from_an_empty_directory(release: Path, tmp_path: Path, way: str, request: pytest.FixtureRequest) -> None:
    """With an Envoy and nothing else: requests that it prints are answered, by the filter that is in the program."""
    import fetch

    if way == "wheel":
        command = [str(request.getfixturevalue("from_wheel")), "up", "--demo"]
    else:
        command = [str(release / "bin/trilane"), "up", "--demo", "--envoy", str(fetch.envoy_binary())]
    with Started([*command, *(["--console", "--console-port=0"] if "console" in way else [])], tmp_path) as started:
        started.until("Ctrl-C ends everything.")
        lines = re.findall(r"^  (curl .*)$", started.said, re.MULTILINE)
        assert len(lines) == 3
        for line in lines:
            command = ["bash", "-c", f"{line} --fail --silent --show-error"]
            answer = subprocess.run(command, env=started.environment, capture_output=True, text=True, check=False)
            assert answer.returncode == 0 and "pong" in answer.stdout, (line, answer)
        assert started.end() == 0
    modules = {file.name: file.read_bytes() for file in started.home.rglob("*.wasm")}
    assert modules == {name: (release / name).read_bytes() for name in ("trilane.wasm", "trilane_judge.wasm")}, "the release's own"
    (ledger,) = started.home.rglob("ledger.jsonl")
    with_key = [line for line in map(json.loads, ledger.read_text().splitlines()) if "trilane.key.id" in line]
    assert len(with_key) == 3
