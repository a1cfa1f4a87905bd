#!/usr/bin/env python3
"""Brings valgrind into the target directory, once, without root.

In this order: `VALGRIND=/path/to/valgrind` from the environment, one on the PATH, one fetched before, and Debian's or
Ubuntu's package, which is unpacked into the target directory. Nothing is installed; where the package lists are missing,
apt is given lists of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from debian_package import Unavailable, require_tools, unpack  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
CACHED = TARGET / "valgrind"
PACKAGE = "valgrind"


class Valgrind(NamedTuple):
    """A valgrind to call."""

    binary: Path
    #: What must be in its environment.
    environment: dict[str, str]

    @property
    def version(self) -> str:
        return _output([str(self.binary), "--version"], self.environment)


def find() -> Valgrind:
    """The valgrind to use, fetched now if there is none."""
    chosen = os.environ.get("VALGRIND")
    if chosen:
        return _checked(Valgrind(Path(shutil.which(chosen) or chosen), {}))
    on_path = shutil.which("valgrind")
    if on_path:
        return _checked(Valgrind(Path(on_path), {}))
    if not CACHED.exists():
        _fetch()
    return _checked(_unpacked(CACHED))


def _unpacked(root: Path) -> Valgrind:
    """The one in an unpacked package, which must be told where its tools are."""
    for library in (root / "usr/libexec/valgrind", root / "usr/lib/valgrind"):
        if library.is_dir():
            # `usr/bin/valgrind` is a script that asks for debugging symbols of the system's; this is what it starts.
            for name in ("valgrind.bin", "valgrind"):
                binary = root / "usr/bin" / name
                if binary.exists():
                    return Valgrind(binary, {"VALGRIND_LIB": str(library)})
    raise Unavailable(f"the package {PACKAGE} has no valgrind in it.")


def _checked(valgrind: Valgrind) -> Valgrind:
    """It runs a program, which it does not where the system is too bare for it."""
    try:
        command = [str(valgrind.binary), "--tool=none", "--quiet", "true"]
        _output(command, valgrind.environment)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or error
        raise Unavailable(f"{valgrind.binary} does not run here: {str(said).strip()}") from error
    return valgrind


def _output(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, env={**os.environ, **environment}
    )
    return done.stdout.strip()


def _fetch() -> None:
    require_tools("Say where one is: VALGRIND=/path/to/valgrind")
    print(f"fetching valgrind (about 30 MB) into {CACHED}", file=sys.stderr, flush=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        unpacked = unpack(PACKAGE, Path(scratch), "Install valgrind, or say where it is: VALGRIND=/path/to/valgrind")
        # In one step: an interrupted fetch leaves nothing that looks complete.
        _checked(_unpacked(unpacked))
        unpacked.rename(CACHED)
