"""Takes a program out of a package of Debian's or Ubuntu's. Nothing is installed, and nobody need be root: where the
package lists are missing, apt is given lists of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional


class Unavailable(Exception):
    """The program is not there and cannot be had; the text says why."""


def require_tools(otherwise: str) -> None:
    """Raises where there is no apt. `otherwise` is what to do then."""
    for program in ("apt-get", "dpkg"):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not there to fetch it with. {otherwise}")


def unpack(package: str, scratch: Path, otherwise: str) -> Path:
    """The directory in `scratch` that the package is unpacked into, fetched by the system's package lists, or else by
    fresh ones of our own. `otherwise` is what to do where that fails."""
    unpacked = scratch / "unpacked"
    failed = _run(["dpkg", "-x", str(_download(package, scratch, otherwise)), str(unpacked)], scratch)
    if failed:
        raise Unavailable(f"the package {package} cannot be unpacked: {failed}")
    return unpacked


def _download(package: str, scratch: Path, otherwise: str) -> Path:
    failed = _run(["apt-get", "download", package], scratch)
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
        failed = _run([*apt, "update"], scratch) or _run([*apt, "download", package], scratch)
    packages = list(scratch.glob(f"{package}_*.deb"))
    if failed or not packages:
        raise Unavailable(f"apt could not fetch the package {package}: {failed or 'no file'}\n{otherwise}")
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
