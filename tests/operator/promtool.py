#!/usr/bin/env python3
"""Brings `promtool` into the target directory, once, and prints its path and nothing else on standard output.

In this order: `PROMTOOL=/path/to/promtool` from the environment, one on the PATH, one fetched before, and the one in
Debian's or Ubuntu's package `prometheus`, which is unpacked into the target directory. Nothing is installed and nobody
need be root: where the package lists are missing, apt is given lists of its own in the target directory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from subprocess import PIPE, STDOUT, CompletedProcess

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from debian_package import Unavailable, require_tools, unpack  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
CACHED = TARGET / "promtool" / "promtool"
PACKAGE = "prometheus"
#: The oldest that the rules and their tests were tried with.
OLDEST = (2, 42)


class Promtool:
    """A promtool to call."""

    def __init__(self) -> None:
        self.binary = find()

    def __call__(self, *arguments: object, given: str = "") -> CompletedProcess[str]:
        """What it says is all in `stdout`; `given` is its standard input."""
        command = [str(self.binary), *map(str, arguments)]
        return subprocess.run(command, input=given, stdout=PIPE, stderr=STDOUT, text=True, timeout=300, check=False)


def find() -> Path:
    """The promtool to use, fetched now if there is none."""
    chosen = os.environ.get("PROMTOOL")
    if chosen:
        return _checked(Path(shutil.which(chosen) or chosen))
    on_path = shutil.which("promtool")
    if on_path:
        try:
            return _checked(Path(on_path))
        except Unavailable as reason:
            print(f"warning: {reason}", file=sys.stderr)
    if not CACHED.exists():
        _fetch()
    return CACHED


def _checked(binary: Path) -> Path:
    try:
        command = [str(binary), "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{binary} does not run here: {error}") from error
    said = answer.stdout + answer.stderr
    version = re.search(r"promtool, version (\d+)\.(\d+)", said)
    if not version:
        raise Unavailable(f"{binary} is no promtool that runs here: {said.strip()}")
    if (int(version[1]), int(version[2])) < OLDEST:
        raise Unavailable(f"{binary} is {version[1]}.{version[2]}; {OLDEST[0]}.{OLDEST[1]} or later is needed.")
    return binary.resolve()


def _fetch() -> None:
    require_tools("Say where one is: PROMTOOL=/path/to/promtool")
    print(f"fetching promtool (about 20 MB) into {CACHED.parent}", file=sys.stderr, flush=True)
    CACHED.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHED.parent) as scratch:
        otherwise = "Install Prometheus, or say where its promtool is: PROMTOOL=/path/to/promtool"
        binary = unpack(PACKAGE, Path(scratch), otherwise) / "usr" / "bin" / "promtool"
        if not binary.exists():
            raise Unavailable(f"the package {PACKAGE} has no promtool in it.")
        # In one step: an interrupted fetch leaves nothing that looks complete.
        _checked(binary).replace(CACHED)


def main() -> int:
    try:
        print(find())
    except Unavailable as reason:
        print(f"warning: no promtool: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
