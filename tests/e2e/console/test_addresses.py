"""Keys that may be used from some addresses only: the address is the one that Envoy has, behind proxies that it trusts the one that they tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from e2e.console.running import MESSAGE, Api
from e2e.up.running import Up
from waiting import until

OPTIONS = ("--demo", "--console", "--console-port", "0")
ELSEWHERE = "address_not_allowed"


def ask(up: Up, key: str, forwarded: str = "") -> tuple[int, str]:
    """The status of a request, and its message."""
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    if forwarded:
        headers["x-forwarded-for"] = forwarded
    answer = httpx.post(f"{up.url}/v1/messages", headers=headers, json=MESSAGE, timeout=30, trust_env=False)
    error: dict[str, Any] = answer.json().get("error", {})
    assert answer.status_code != 403 or answer.headers["x-trilane-error"] == ELSEWHERE
    return answer.status_code, error.get("message", "")


def api_of(up: Up) -> Api:
    url = up.said.rsplit("console    ", 1)[1].split()[0]
    return Api(url, (up.data / "admin.token").read_text().strip())


def test_of_a_connection(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS) as up:
        api = api_of(up)
        here = api.new_key("here", "b-official", addresses=["127.0.0.0/8", "::1"], owner="ann")
        away = api.new_key("away", "b-official", addresses=["192.0.2.0/24"])
        until(lambda: ask(up, here)[0] == 200, 10)
        status, message = ask(up, away, "192.0.2.7")
        assert status == 403, "what a client says of itself is not believed"
        assert "127.0.0.1" in message and "192.0.2" not in message, message
        # Those of a person hold for all of their keys.
        api.post("/people", {"id": "ann", "name": "Ann", "role": "member"})
        assert api.call("PATCH", "/people/ann", {"addresses": ["192.0.2.0/24"]}).status_code == 200
        until(lambda: ask(up, here)[0] == 403, 10)
        assert api.call("PATCH", "/people/ann", {"addresses": None}).status_code == 200
        until(lambda: ask(up, here)[0] == 200, 10)
        until(lambda: [line for line in up.ledger.read_text().splitlines() if '"trilane.key.id":"away"' in line], 10)
        assert f'"error.type":"{ELSEWHERE}"' in up.ledger.read_text()


def test_behind_a_proxy(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS, "--trusted-hops", "1") as up:
        key = api_of(up).new_key("k", "b-official", addresses=["192.0.2.0/24", "2001:db8::/32"])
        until(lambda: ask(up, key, "192.0.2.7")[0] == 200, 10)
        for case, forwarded, want in (
            ("IPv6", "2001:db8:7::1", 200),
            ("made up by the client, before what the proxy has noted", "192.0.2.7, 198.51.100.1", 403),
            ("noted by the proxy, behind what the client has made up", "198.51.100.1, 192.0.2.7", 200),
            ("nothing is noted", "", 403),
            ("mapped to IPv6", "::ffff:192.0.2.7", 200),
        ):
            assert ask(up, key, forwarded)[0] == want, case
        assert "198.51.100.1" in ask(up, key, "198.51.100.1")[1]
