"""Somebody signs a machine in at a console, by the command and a browser."""

from __future__ import annotations

import re
import ssl
import subprocess
from pathlib import Path
from typing import Optional

import httpx
from e2e.console.running import Api
from e2e.up.running import Up, environment
from stack import COMMAND, Child
from waiting import until

OPTIONS = ("--demo", "--console", "--console-port", "0")


class Team:
    """A console with a team, and a member of it who is signed in in a browser."""

    def __init__(self, up: Up, home: Path, trust: ssl.SSLContext | bool = True) -> None:
        self.up = up
        self.url = up.said.rsplit("console    ", 1)[1].split()[0]
        self.api = Api(self.url, (up.data / "admin.token").read_text().strip(), trust)
        self.home = home
        self.env = {**environment(), "HOME": str(home), "XDG_CONFIG_HOME": ""}
        team = {"id": "blue", "allowance": {"keys": 2, "groups": ["b-official", "a-official", "c-official"]}}
        assert self.api.call("POST", "/teams", team).status_code == 201
        added = self.api.call("POST", "/people/bulk", {"people": [{"id": "ann", "name": "Ann", "role": "member"}], "team": "blue"})
        link = added.json()["invited"][0]["link"]["path"]
        self.browser = httpx.Client(base_url=self.url, follow_redirects=True, timeout=30, verify=trust)
        token = re.search("token=(.*)", link)
        assert token and self.browser.post("/sign-in/link", data={"token": token[1]}).status_code == 200

    @property
    def file(self) -> Path:
        return self.home / ".config" / "trilane" / "sign-in.json"

    def command(self, *words: str, check: bool = True, env: Optional[dict[str, str]] = None) -> subprocess.CompletedProcess[str]:
        ran = subprocess.run([str(COMMAND), *words], env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=60)
        assert not check or ran.returncode == 0, ran.stderr
        return ran

    def begin_login(self, log: Path, url: str = "", *options: str) -> tuple[Child, str]:
        """A login that waits, and the address that it shows."""
        variables = (f"{name}={value}" for name, value in self.env.items())
        child = Child(["env", "-i", *variables, str(COMMAND), "login", *options, url or self.url], log)
        said = until(lambda: re.search(r"Open (\S+) in a browser", log.read_text(errors="replace")), 20)
        return child, said[1]

    def decide(self, address: str, decision: str, choice: str = "blue/b-official") -> None:
        page = self.browser.get(address)
        assert page.status_code == 200, page.text
        code, csrf = (re.search(rf'name="{name}" value="([^"]+)"', page.text) for name in ("user_code", "csrf"))
        assert code and csrf, page.text
        fields = {"csrf": csrf[1], "user_code": code[1], "choice": choice, "decision": decision}
        assert self.browser.post("/device", data=fields).status_code == 200

    def login(self, log: Path, choice: str = "blue/b-official") -> None:
        child, address = self.begin_login(log)
        try:
            self.decide(address, "approve", choice)
            assert child.process.wait(30) == 0, log.read_text()
        finally:
            child.stop()

    def token(self) -> str:
        return self.command("token").stdout.strip()
