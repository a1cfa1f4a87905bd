"""The commands of docs/compose.md: the test runs those that stand there, word for word, and all of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from compose_tools import CHECKOUT, COMPOSE, PORT, TLS_PORT, say

PAGE = CHECKOUT / "docs" / "compose.md"
FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Page:
    """The page's blocks of commands, by heading."""

    def __init__(self) -> None:
        sections = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        #: Heading -> its blocks that have not been run.
        self._left = {title: FENCE.findall(text) for title, text in zip(sections[::2], sections[1::2])}

    def run(self, heading: str, seconds: float = 600) -> str:
        """Runs the next block under a heading, in the directory of the stack; what it says."""
        text = self._left[heading].pop(0)
        say(f"docs/compose.md, {heading}")
        print("".join(f"$ {line}\n" for line in text.splitlines()), end="", flush=True)
        done = subprocess.run(
            ["bash", "-euc", "-o", "pipefail", self._here(text)],
            cwd=CHECKOUT,
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(f"FAILED: the commands end with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def left(self) -> list[str]:
        """What no test has run."""
        return [block for blocks in self._left.values() for block in blocks]

    @staticmethod
    def _here(text: str) -> str:
        """With the compose command and the ports of this run."""
        text = text.replace("docker compose", " ".join(COMPOSE))
        ports = {
            "10000": PORT,
            "10443": TLS_PORT,
            "10092": os.environ["CONSOLE_PORT"],
            "9090": os.environ["PROMETHEUS_PORT"],
            "3000": os.environ["GRAFANA_PORT"],
        }
        for usual, ours in ports.items():
            text = re.sub(rf"(127\.0\.0\.1|localhost):{usual}\b", rf"\g<1>:{ours}", text)
        return text
