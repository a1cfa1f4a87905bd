"""Somebody leaves: nothing that they had works at the console any more, and a second later nothing at the gateway, on both engines."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from e2e.console.running import Api, Console, agent_options, ask
from e2e.crash.postgres_server import PostgresServer
from e2e.up.running import Up
from waiting import until

PASSWORD = "correct horse battery"
GROUP = "b-official"


@pytest.fixture(params=["sqlite", "postgres"])
def console(request: pytest.FixtureRequest, tmp_path: Path, document: Path) -> Iterator[Console]:
    server = None
    database = None
    if request.param == "postgres":
        server = PostgresServer(tmp_path / "postgres.log")
        server.start()
        database = f"postgres://trilane@localhost/postgres?host={server.socket.parent}"
    try:
        with Console(tmp_path / "console", "--import-document", str(document), database=database) as running:
            yield running
    finally:
        if server is not None:
            server.stop()


class Browser:
    """Somebody in front of the console's pages."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=30, headers={"origin": url})

    def send(self, form: str, path: str, **fields: str) -> httpx.Response:
        page = self._http.get(form, follow_redirects=True)
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        return self._http.post(path, data={**hidden, **fields})

    def is_in(self) -> bool:
        return self._http.get("/me").status_code == 200


def signed_in_by_password(url: str) -> bool:
    browser = Browser(url)
    browser.send("/sign-in", "/sign-in", person="ann", password=PASSWORD)
    return browser.is_in()


def test_nothing_works_a_second_later(console: Console, tmp_path: Path, document: Path) -> None:
    admin = console.api
    token = tmp_path / "token"
    token.write_text(admin.post("/envoys", {"id": "edge-1"})["token"])
    with Up(tmp_path / "data", "--demo", *agent_options(console.url, token, document)) as up:
        admin.post("/people", {"id": "ann", "name": "Ann", "role": "member"})
        link = admin.post("/people/ann/sign-in-link", {})["path"]
        ann = Browser(console.url)
        ann.send(link, "/sign-in/link", token=link.partition("token=")[2])
        ann.send("/me/password", "/me/password", password=PASSWORD, again=PASSWORD)
        assert ann.is_in() and signed_in_by_password(console.url)
        second_link = admin.post("/people/ann/sign-in-link", {})["path"]
        program = Api(console.url, admin.post("/tokens", {"name": "ci", "person": "ann"})["value"])
        old = admin.new_key("laptop", GROUP, owner="ann")
        rotated = admin.call("POST", "/keys/laptop/rotate", {"overlap_seconds": 3600}).json()["value"]
        other = admin.new_key("server", GROUP, owner="ann")
        off = admin.new_key("off", GROUP, owner="ann", disabled=True)
        of_bob = admin.new_key("bob", GROUP, owner="bob")
        for key in (old, rotated, other, of_bob):
            until(lambda: ask(up.url, key) == 200, 20)
        assert program.get("/me")["id"] == "ann"

        ended = admin.call("PATCH", "/people/ann", {"disabled": True}).json()["ended"]
        disabled_at = time.monotonic()
        assert {name: ended[name] for name in ("links", "tokens", "keys")} == {"links": 1, "tokens": 1, "keys": 3}
        assert not ann.is_in() and not signed_in_by_password(console.url)
        guest = Browser(console.url)
        guest.send(second_link, "/sign-in/link", token=second_link.partition("token=")[2])
        assert not guest.is_in(), "by the link"
        assert program.call("GET", "/me").status_code == 401
        # A second, and the time of a loaded machine.
        until(lambda: all(ask(up.url, key) == 401 for key in (old, rotated, other)), 10)
        print(f"refused after {time.monotonic() - disabled_at:.1f} s")
        assert ask(up.url, of_bob) == 200

        assert admin.call("PATCH", "/people/ann", {"disabled": False}).json()["enabled_keys"] == 3
        for key in (old, rotated, other):
            until(lambda: ask(up.url, key) == 200, 10)
        assert ask(up.url, off) == 401, "it was disabled before"
        assert not ann.is_in() and program.call("GET", "/me").status_code == 401
        assert signed_in_by_password(console.url)
