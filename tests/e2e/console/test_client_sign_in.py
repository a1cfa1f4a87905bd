"""`trilane login`, `token`, `run` and `logout`: a key of the gateway that nobody hands out, as docs/client-sign-in.md tells it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.console.running import ask
from e2e.console.signing_in import OPTIONS, Team
from e2e.up.running import Up
from stack import COMMAND
from waiting import until

@pytest.fixture(name="team")
def team_fixture(tmp_path: Path) -> Iterator[Team]:
    home = tmp_path / "home"
    home.mkdir()
    with Up(tmp_path / "data", *OPTIONS) as up:
        yield Team(up, home)


def test_from_login_to_logout(team: Team, tmp_path: Path) -> None:
    # Nobody is signed in yet.
    refused = team.command("token", check=False)
    assert refused.returncode == 1 and refused.stdout == "" and "trilane login URL" in refused.stderr

    # Refused in the browser.
    child, address = team.begin_login(tmp_path / "refused.log")
    assert address.startswith(f"{team.url}/device?user_code=")
    team.decide(address, "deny")
    assert child.process.wait(30) == 1
    assert "not let in" in (tmp_path / "refused.log").read_text() and not team.file.exists()

    # Let in: the key is good at the gateway as soon as the command has ended.
    team.login(tmp_path / "login.log")
    stored = json.loads(team.file.read_text())
    assert stat.S_IMODE(team.file.stat().st_mode) == 0o600
    assert stored["gateway"] == team.up.url
    key = team.token()
    assert key == stored["access_token"] and key.startswith("tl-")
    assert ask(team.up.url, key) == 200, "the first request is not refused"
    assert ask(team.up.url, stored["refresh_token"]) == 401, "a refresh token is no key"

    # Its requests are the person's.
    name = team.api.get("/people/ann/sign-ins")["items"][0]
    assert name["client"] == "trilane command" and name["device"] == os.uname().nodename
    until(lambda: name["id"] in team.api.usage(), 10)

    # What would end soon is renewed, by one of many that ask at once; the other value stays good until its end.
    stored["good_until"] = int(time.time()) + 500
    team.file.write_text(json.dumps(stored))
    asking = [subprocess.Popen([str(COMMAND), "token"], env=team.env, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    printed = {process.communicate(timeout=30)[0].strip() for process in asking}
    assert printed == {key}, "the console gives the value that is good for long enough"
    assert json.loads(team.file.read_text())["good_until"] > stored["good_until"]

    # One that reads its key once gets a key for the day, and that is another value.
    gemini = team.home / "bin"
    gemini.mkdir()
    (gemini / "gemini").write_text('#!/bin/sh\nprintf "%s %s %s" "$GOOGLE_GEMINI_BASE_URL" "$GEMINI_API_KEY" "$*"\n')
    (gemini / "gemini").chmod(0o755)
    ran = team.command("run", "gemini", "--", "--model", "x y", env={"PATH": f"{gemini}:{os.environ['PATH']}"})
    address, day_key, arguments = ran.stdout.split(" ", 2)
    assert (address, arguments) == (team.up.url, "--model x y") and day_key != key
    assert ask(team.up.url, day_key) == 200 and ask(team.up.url, key) == 200
    assert json.loads(team.file.read_text())["good_until"] > time.time() + 11 * 3600

    # Without an agent that is installed.
    missing = team.command("run", "codex", check=False, env={"PATH": "/nowhere"})
    assert missing.returncode == 1 and "Is it installed?" in missing.stderr

    # Out: within a second or so no value is taken.
    assert "Signed out." in team.command("logout").stderr
    assert not team.file.exists()
    until(lambda: ask(team.up.url, day_key) == 401 and ask(team.up.url, key) == 401, 5)
    assert team.api.get("/people/ann/sign-ins")["items"] == []


def test_the_console_ends_it(team: Team, tmp_path: Path) -> None:
    team.login(tmp_path / "login.log")
    key = team.token()
    assert ask(team.up.url, key) == 200
    assert team.api.call("PATCH", "/people/ann", {"disabled": True}).json()["ended"]["sign_ins"] == 1
    until(lambda: ask(team.up.url, key) == 401, 5)
    stored: dict[str, Any] = json.loads(team.file.read_text())
    stored["good_until"] = 0
    team.file.write_text(json.dumps(stored))
    ended = team.command("token", check=False)
    assert ended.returncode == 1 and "the sign-in has ended: trilane login" in ended.stderr
    assert ended.stdout == "" and not team.file.exists()


def test_what_is_no_console(team: Team, tmp_path: Path) -> None:
    for url, said in (
        (f"{team.up.url}/elsewhere", "signs nobody in"),
        ("http://127.0.0.1:1", "does not answer"),
        ("http://console.example", "has no TLS"),
    ):
        ran = team.command("login", url, check=False)
        assert ran.returncode != 0 and said in ran.stderr, (url, ran.stderr)


def test_by_way_of_the_gateway(team: Team, tmp_path: Path) -> None:
    """Signing in passes through Envoy, and nothing else of the console does. It is in no ledger."""
    gateway = team.up.url
    found = httpx.get(f"{gateway}/.well-known/oauth-authorization-server").json()
    assert found["token_endpoint"] == f"{gateway}/oauth/token", found
    child, address = team.begin_login(tmp_path / "login.log", gateway)
    try:
        assert address.startswith(f"{team.url}/device?user_code=")
        page = team.browser.get(address).text
        assert "127.0.0.1" in page
        team.decide(address, "approve")
        assert child.process.wait(30) == 0
    finally:
        child.stop()
    key = team.token()
    assert ask(gateway, key) == 200
    for method, path, status in (
        ("GET", "/managed/settings", 404),
        ("POST", "/v1/metrics", 200),
        ("POST", "/v1/logs", 200),
        ("POST", "/v1/traces", 200),
        # What the filter answers, without a key.
        ("GET", "/oauth/token", 404),
        ("GET", "/oauth/", 404),
        ("POST", "/oauth/token/", 404),
        ("GET", "/sign-in", 404),
        ("GET", "/api/v1/me", 404),
        ("GET", "/device", 404),
        ("GET", "/healthz", 200),
    ):

        def body() -> Iterator[bytes]:
            yield b"a chunk"

        answer = httpx.request(method, f"{gateway}{path}", headers={"authorization": f"Bearer {key}"}, content=body() if method == "POST" else None)
        assert answer.status_code == status, (method, path, answer.status_code, answer.text)
        if status == 200 and method == "POST":
            assert answer.content == b"" and "x-trilane-error" not in answer.headers, (path, answer.headers)
    # What did not meet the filter has no path there, and nothing else of the filter's.
    lines = until(lambda: [json.loads(line) for line in team.up.ledger.read_text().splitlines()] if ask(gateway, key) == 200 else [], 10)
    assert all("trilane.outcome" in line for line in lines), lines
    assert not any(name in str(lines) for name in ("/managed/settings", "/v1/metrics", "oauth-authorization-server"))
    assert team.command("logout").returncode == 0
    until(lambda: ask(gateway, key) == 401, 5)


def test_a_token_of_the_api(team: Team, tmp_path: Path) -> None:
    """`trilane login --api`, as docs/command.md tells it: a token of the person's, for commands with `--server`."""
    api_file = team.file.with_name("sign-in.api.json")
    list_keys = ("key", "list", "--server", team.url)
    refused = team.command(*list_keys, check=False)
    assert refused.returncode == 2 and f"trilane login --api {team.url}" in refused.stderr
    # The gateway passes signing in on, and not the API.
    elsewhere = team.command("login", "--api", team.up.url, check=False)
    assert elsewhere.returncode == 1 and f"the API of the console is not at {team.up.url}" in elsewhere.stderr
    wrong = team.command("login", "--api", "--scope", "people:write", team.url, check=False)
    assert wrong.returncode == 2 and "possible values" in wrong.stderr

    child, address = team.begin_login(tmp_path / "api.log", "", "--api", "--scope", "keys:read,usage:read")
    try:
        page = team.browser.get(address).text
        assert "see keys" in page and "see usage and charges" in page and "documents" not in page.split("<form", 1)[1]
        team.decide(address, "approve_token")
        assert child.process.wait(30) == 0, (tmp_path / "api.log").read_text()
    finally:
        child.stop()
    assert f"Next: trilane key list --server {team.url}" in (tmp_path / "api.log").read_text()
    assert stat.S_IMODE(api_file.stat().st_mode) == 0o600 and not team.file.exists()
    token = json.loads(api_file.read_text())["token"]
    assert token.startswith("tlc-") and token not in (tmp_path / "api.log").read_text()

    # Ann sees her keys and her usage, and no more than the scopes say.
    assert team.api.call("POST", "/keys", {"id": "anns", "group": "b-official", "owner": "ann"}).status_code == 201
    assert team.api.call("POST", "/keys", {"id": "others", "group": "b-official"}).status_code == 201
    listed = json.loads(team.command(*list_keys, "--format", "json").stdout)
    assert [key["id"] for key in listed] == ["anns"]
    assert "TOTAL" in team.command("usage", "--by", "key", env={"TRILANE_SERVER": team.url}).stdout
    refused = team.command("key", "disable", "--id", "anns", "--server", team.url, check=False)
    assert refused.returncode == 1 and "does not have the scope keys:write" in refused.stderr
    # Commands for coding agents have nothing of it.
    assert "trilane login URL" in team.command("token", check=False).stderr

    # It is on the page Tokens, which revokes it.
    tokens = team.api.get("/tokens?person=ann")["items"]
    assert [of["scopes"] for of in tokens] == [["keys:read", "usage:read"]] and tokens[0]["name"].startswith("trilane command on ")
    assert team.api.call("DELETE", f"/tokens/{tokens[0]['id']}").status_code == 204
    ended = team.command(*list_keys, check=False)
    assert ended.returncode == 1 and f"trilane login --api {team.url}" in ended.stderr and token not in ended.stderr

    # Another one takes its place; signing out ends it.
    child, address = team.begin_login(tmp_path / "again.log", "", "--api")
    try:
        team.decide(address, "approve_token")
        assert child.process.wait(30) == 0
    finally:
        child.stop()
    assert team.command(*list_keys).returncode == 0
    again = json.loads(api_file.read_text())["token"]
    assert f"Signed out at {team.url}." in team.command("logout").stderr and not api_file.exists()
    assert httpx.get(f"{team.url}/api/v1/me", headers={"authorization": f"Bearer {again}"}).status_code == 401
    assert team.api.get("/tokens?person=ann")["items"] == []
