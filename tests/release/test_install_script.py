"""`install.sh`: what it refuses; what docs/release.md says of checking a release. The keys are made here."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import dist
import publish
import pytest
from pages import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "release.md"
VERSION = "1.2.3"
pytestmark = pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not here: apt install minisign")


def secret_key(place: Path) -> Path:
    """A new key without a password."""
    subprocess.run(["minisign", "-G", "-W", "-f", "-s", str(place), "-p", f"{place}.pub"], check=True, capture_output=True)
    return place


def published(place: Path, key: Path | None) -> Path:
    """What a release publishes, with scripts for programs."""
    source = place / f"trilane-{VERSION}"
    (source / "bin").mkdir(parents=True)
    for name in ("trilane", "trilane-arm64"):
        (source / "bin" / name).write_text(f"#!/bin/sh\necho {name} {VERSION}\n")
        (source / "bin" / name).chmod(0o755)
    (source / "build.json").write_text('{"version": "1.2.3", "commit": "c0ffee", "rustc": "1"}')
    (source / "SHA256SUMS").write_bytes(dist.checksums(source))
    with tarfile.open(place / f"{source.name}.tar.gz", "w:gz") as archive:
        archive.add(source, source.name)
    (place / f"trilane-{VERSION}-py3-none-any.whl").write_bytes(b"wheel")
    signing = ["--key", str(key)] if key else []
    subprocess.run([publish.__file__, "--version", VERSION, *signing, "--out", str(place)], check=True, capture_output=True)
    return place


def install(script: Path, place: Path, to: Path, tools: Path) -> subprocess.CompletedProcess[str]:
    """Runs it with these tools alone."""
    environment = {"PATH": str(tools), "HOME": str(to)}
    command = ["/bin/sh", str(script), "--from", str(place), "--to", str(to)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(params=["minisign", "openssl"])
def tools(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Debian's basic tools, and one to verify with."""
    place = tmp_path / "tools"
    place.mkdir()
    basic = "uname mktemp rm cp curl tail head printf sed cmp sha256sum cut tar gzip mkdir chmod mv cat".split()
    for name in [*basic, request.param]:
        found = shutil.which(name)
        assert found or name == "curl", name
        if found:
            (place / name).symlink_to(found)
    return place


def test_a_verified_release_is_installed(tmp_path: Path, tools: Path) -> None:
    place = published(tmp_path / "out", secret_key(tmp_path / "key"))
    done = install(place / "install.sh", place, tmp_path / "bin", tools)
    assert done.returncode == 0, done.stderr
    assert "is verified and installed" in done.stdout
    said = subprocess.run([tmp_path / "bin/trilane"], capture_output=True, text=True, check=True).stdout
    assert said in (f"trilane {VERSION}\n", f"trilane-arm64 {VERSION}\n")


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """What checks a release: by hand, by the script, and what is in the archive."""
    checking = [block.text for block in blocks(PAGE.read_text(encoding="utf-8"), "sh") if block.heading == "Checking it"]
    assert len(checking) == 4 and "make release" in checking.pop(), "tests/release/test_reproducible.py builds it again"
    key = secret_key(tmp_path / "key")
    place = published(tmp_path / "out", key)
    shutil.copy(f"{key}.pub", place / "minisign.pub")
    shutil.rmtree(place / f"trilane-{VERSION}")
    said = []
    for text in checking:
        text = text.replace("https://…/0.1.0", str(place)).replace("0.1.0", VERSION)
        done = subprocess.run(["bash", "-euc", text], cwd=place, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        said.append(done.stdout)
    assert "Signature and comment signature verified" in said[0] and f"trilane-{VERSION}.tar.gz: OK" in said[0]
    assert (tmp_path / ".local/bin/trilane").exists() and (place / f"trilane-{VERSION}/build.json").exists()


def flip(file: Path) -> None:
    """Changes one bit in the middle of a file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def resigned(place: Path) -> None:
    """Lets somebody else sign."""
    other = secret_key(place / "other")
    subprocess.run(["minisign", "-S", "-s", str(other), "-m", str(place / "SHA256SUMS")], check=True, capture_output=True)


def relisted(place: Path) -> None:
    """Another archive, with its checksum in the list."""
    archive = place / f"trilane-{VERSION}.tar.gz"
    before = hashlib.sha256(archive.read_bytes()).hexdigest()
    flip(archive)
    sums = place / "SHA256SUMS"
    sums.write_text(sums.read_text().replace(before, hashlib.sha256(archive.read_bytes()).hexdigest()))


@pytest.mark.parametrize(
    ("case", "change"),
    [
        ("a changed byte of the archive", lambda place: flip(place / f"trilane-{VERSION}.tar.gz")),
        ("a changed byte of the list", lambda place: flip(place / "SHA256SUMS")),
        ("a changed byte of the signature", lambda place: flip(place / "SHA256SUMS.minisig")),
        ("an archive that somebody put there with its checksum", relisted),
        ("somebody else's signature", resigned),
        ("no signature", lambda place: (place / "SHA256SUMS.minisig").unlink()),
        ("the archive is not in the list", lambda place: (place / "SHA256SUMS").write_text("")),
    ],
)
def test_what_is_refused(tmp_path: Path, tools: Path, case: str, change: Callable[[Path], object]) -> None:
    place = published(tmp_path / "out", secret_key(tmp_path / "key"))
    change(place)
    done = install(place / "install.sh", place, tmp_path / "bin", tools)
    assert done.returncode != 0 and done.stderr.startswith("error: "), f"{case}: {done}"
    assert not (tmp_path / "bin/trilane").exists(), case


def test_an_unsigned_release_is_not_installed_by_it(tmp_path: Path, tools: Path) -> None:
    place = published(tmp_path / "out", None)
    done = install(place / "install.sh", place, tmp_path / "bin", tools)
    assert done.returncode == 1 and "not signed" in done.stderr


def test_the_same_release_has_the_same_signature(tmp_path: Path) -> None:
    key = secret_key(tmp_path / "key")
    first = published(tmp_path / "a", key)
    before = {file.name: file.read_bytes() for file in first.iterdir() if file.is_file()}
    arguments = ["--version", VERSION, "--key", str(key), "--out", str(first)]
    subprocess.run([publish.__file__, *arguments], check=True, capture_output=True)
    assert {file.name: file.read_bytes() for file in first.iterdir() if file.is_file()} == before


def test_the_script_is_for_any_shell() -> None:
    script = Path(publish.__file__).with_name("install.sh")
    assert os.access(script, os.X_OK)
    subprocess.run(["/bin/sh", "-n", str(script)], check=True)
