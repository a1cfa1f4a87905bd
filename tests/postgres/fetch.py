#!/usr/bin/env python3
"""Fetches PostgreSQL's programs into the target directory, once, where this machine has none.

The tests of the console look for them where this script looks: in the directory `TRILANE_POSTGRES`, in
`target/postgres/bin`, in `/usr/lib/postgresql`, along `PATH`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
REQUIREMENTS = Path(__file__).resolve().with_name("requirements.txt")
# The wheels for this version of Python have the same programs as the others.
PYTHON = ["--python-version", "3.12", "--implementation", "cp", "--abi", "cp312"]
MEMBERS = ("pgserver/pginstall/bin/", "pgserver/pginstall/lib/", "pgserver/pginstall/share/", "pgserver.libs/")
PROGRAMS = Path("pgserver/pginstall/bin")


#: A server, and what copies and restores a database of it.
NAMES = ("postgres", "initdb", "pg_isready", "psql", "createdb", "pg_dump", "pg_restore")


def has_programs(directory: Path) -> bool:
    return all((directory / name).is_file() for name in NAMES)


def programs() -> Optional[Path]:
    """The directory of PostgreSQL's programs, if there is one."""
    places = [TARGET / "postgres/bin", *Path("/usr/lib/postgresql").glob("*/bin")]
    places += [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    if chosen := os.environ.get("TRILANE_POSTGRES"):
        places.insert(0, Path(chosen))
    return next(filter(has_programs, places), None)


def fetch() -> None:
    print(f"fetching PostgreSQL (11 MB) into {TARGET / 'postgres'}", file=sys.stderr, flush=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes",
                   "--disable-pip-version-check", *PYTHON, "--dest", scratch, "--requirement", str(REQUIREMENTS)]  # fmt: skip
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
            sys.exit(
                "error: pip could not fetch PostgreSQL (its reason stands above). Install it (Debian: apt install postgresql), "
                "or say where its programs are: TRILANE_POSTGRES=/path/to/bin make ..."
            )
        wheel = next(Path(scratch).glob("*.whl"))
        whole = Path(scratch) / "whole"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(whole, [name for name in archive.namelist() if name.startswith(MEMBERS)])
        for program in (whole / PROGRAMS).iterdir():
            program.chmod(0o755)
        # PostgreSQL runs as another user where the tests run as root.
        whole.chmod(0o755)
        (whole / "bin").symlink_to(PROGRAMS)
        # In one step: an interrupted fetch leaves nothing that looks complete.
        whole.replace(TARGET / "postgres")


if __name__ == "__main__":
    if not programs():
        fetch()
