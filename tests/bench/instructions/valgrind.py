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
from typing import NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
CACHED = TARGET / "valgrind"
PACKAGE = "valgrind"


class Unavailable(Exception):
    """There is no valgrind, and none can be fetched; the text says why."""


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
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not there to fetch it with. Say where one is: VALGRIND=/path/to/valgrind")
    print(f"fetching valgrind (about 30 MB) into {CACHED}", file=sys.stderr, flush=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        unpacked = Path(scratch) / "unpacked"
        failed = _run(["dpkg", "-x", str(_download(Path(scratch))), str(unpacked)], Path(scratch))
        if failed:
            raise Unavailable(f"the package {PACKAGE} cannot be unpacked: {failed}")
        # In one step: an interrupted fetch leaves nothing that looks complete.
        _checked(_unpacked(unpacked))
        unpacked.rename(CACHED)


def _download(scratch: Path) -> Path:
    """The package file, by the system's package lists, or else by fresh ones of our own."""
    failed = _run(["apt-get", "download", PACKAGE], scratch)
    if failed:
        lists, cache = scratch / "lists", scratch / "cache"
        for directory in (lists / "partial", cache / "archives" / "partial"):
            directory.mkdir(parents=True)
        options = [
            f"Dir::State::lists={lists}",
            f"Dir::Cache={cache}",
            # Users other than root cannot hand the download over to another user.
            f"APT::Sandbox::User={_user()}",
            "Acquire::Languages=none",
            "Acquire::http::Timeout=20",
            "Acquire::https::Timeout=20",
            "Acquire::Retries=1",
        ]
        apt = ["apt-get", *(word for option in options for word in ("-o", option))]
        failed = _run([*apt, "update"], scratch) or _run([*apt, "download", PACKAGE], scratch)
    packages = list(scratch.glob(f"{PACKAGE}_*.deb"))
    if failed or not packages:
        raise Unavailable(
            f"apt could not fetch the package {PACKAGE}: {failed or 'no file'}\n"
            "Install valgrind, or say where it is: VALGRIND=/path/to/valgrind"
        )
    return packages[0]


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _run(command: list[str], directory: Path) -> Optional[str]:
    """Nothing, or what went wrong."""
    try:
        done = subprocess.run(
            command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip() or f"{command[0]} ended with {done.returncode}"
