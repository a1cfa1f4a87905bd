"""A release is the same, byte for byte, whoever builds it: two clean clones, at different places, with different settings.

Some twenty minutes of two cores, and 2 GB of disk at a time: a part of `make release-test` and of nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: A commit of what is in the tree now is always the same one.
NOBODY = {
    "GIT_AUTHOR_NAME": "nobody",
    "GIT_AUTHOR_EMAIL": "nobody@localhost",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "nobody",
    "GIT_COMMITTER_EMAIL": "nobody@localhost",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory on the disk, not in memory, and gone afterwards."""
    directory = tmp_path_factory.mktemp("release")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def clean_clone(place: Path) -> Path:
    """A clone of what git knows or would take of the tree as it is now."""
    place.mkdir(parents=True)
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, capture_output=True, check=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    environment = {**os.environ, **NOBODY}
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--no-verify", "--message", "release"]):
        subprocess.run(["git", "-C", str(place), *command], env=environment, check=True)
    return place


def another_home(place: Path) -> Path:
    """A CARGO_HOME of its own: the packages are those that were fetched, unpacked anew somewhere else."""
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry"
    (place / "registry").mkdir(parents=True)
    for part in ("index", "cache"):
        (place / "registry" / part).symlink_to(registry / part)
    return place


def release(clone: Path, environment: dict[str, str]) -> Path:
    """Builds a release there; what it leaves is the release alone."""
    target = clone / "target"
    settings = {**os.environ, "CARGO_TARGET_DIR": str(target), **environment}
    command = [str(clone / "release/release.sh"), "release"]
    subprocess.run(command, cwd=clone, env=settings, check=True, umask=int(environment["UMASK"], 8))
    for built in target.iterdir():
        if built.name != "dist":
            shutil.rmtree(built) if built.is_dir() else built.unlink()
    return target / "dist"


def test_two_clones_make_one_release(work: Path) -> None:
    shallow = clean_clone(work / "a")
    deep = clean_clone(work / "some" / "other" / "place-with-a-long-name")
    first = release(shallow, {"TZ": "UTC", "LC_ALL": "C", "UMASK": "022", "CARGO_BUILD_JOBS": "2"})
    settings = {
        "CARGO_HOME": str(another_home(work / "home")),
        "CARGO_NET_OFFLINE": "true",
        "HOME": os.environ["HOME"],
        # What others may have in their environment.
        "RUSTFLAGS": "-C target-cpu=x86-64-v3",
        "CFLAGS": "-O1",
        "TZ": "Pacific/Auckland",
        "LC_ALL": "C.UTF-8",
        "UMASK": "077",
        "CARGO_BUILD_JOBS": "1",
    }
    second = release(deep, settings)

    files = {file.relative_to(first) for file in first.rglob("*") if file.is_file()}
    assert files == {file.relative_to(second) for file in second.rglob("*") if file.is_file()}
    assert {"trilane.wasm", "trilane_judge.wasm"} <= {file.name for file in files} and any(file.name.endswith(".tar.gz") for file in files)
    different = sorted(str(file) for file in files if (first / file).read_bytes() != (second / file).read_bytes())
    assert different == []
    places = (str(work), str(Path.home()))
    for file in files:
        data = (first / file).read_bytes()
        assert not [place for place in places if place.encode() in data], f"{file} knows where it was built"
