"""What a member of a team may spend: with whatever keys, which expire, are removed and made anew, at once and over a restart."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
from e2e.console.running import Api, MESSAGE, ask, told_by_files
from e2e.up.running import Up
from waiting import until

OPTIONS = ("--demo", "--console", "--console-port", "0")
GROUP = "b-official"


def send(up: Up, key: str) -> httpx.Response:
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return httpx.post(f"{up.url}/v1/messages", headers=headers, json=MESSAGE, timeout=30, trust_env=False)


def member_of(up: Up, admin: Api, team: str, allowance: dict[str, Any]) -> Api:
    """A member of a new team with this allowance, who is signed in."""
    admin.post("/people", {"id": "ann", "name": "Ann", "role": "member"})
    admin.post("/teams", {"id": team, "allowance": {"groups": [GROUP], **allowance}})
    assert admin.call("PUT", f"/teams/{team}/members/ann", {}).status_code == 200
    return Api(admin.url, admin.post("/tokens", {"name": "a test", "person": "ann"})["value"])


def console_of(up: Up) -> Api:
    return Api(up.said.rsplit("console    ", 1)[1].split()[0], (up.data / "admin.token").read_text().strip())


def charged(up: Up) -> Decimal:
    """All that the ledger says was charged, but for the key that nobody counts."""
    return sum((Decimal(charge or "0") for key, (_, charge) in told_by_files(up.ledger).items() if key != "plain"), Decimal(0))


def price(up: Up, admin: Api) -> Decimal:
    """What a request costs."""
    plain = admin.new_key("plain", GROUP)
    until(lambda: ask(up.url, plain) == 200, 20)
    until(lambda: "plain" in admin.usage(), 20)
    return Decimal(admin.usage()["plain"][1])


def test_keys_that_expire_and_are_removed_have_one_budget(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS) as up:
        admin = console_of(up)
        one = price(up, admin)
        ann = member_of(up, admin, "blue", {"keys": 1, "limits": {"budget": {"per_month": f"{one * 2:f}"}}})

        def new_key(**more: Any) -> tuple[str, str]:
            made = ann.post("/me/keys", {"team": "blue", "group": GROUP, **more})
            until(lambda: send(up, made["value"]).status_code != 401, 20)
            return made["value"], made["key"]["id"]

        # The first request of a new key that is known is paid. It expires in its time; there is room for another key then.
        until(lambda: admin.get("/feed/spend")["subjects"] != [], 20)
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 6))
        first, _ = new_key(expires_at=end)
        until(lambda: send(up, first).status_code == 401, 20)
        second, id_of_second = new_key()
        until(lambda: send(up, second).status_code == 429, 20)
        refused = send(up, second)
        assert refused.headers["x-trilane-error"] == "insufficient_quota"
        assert "the budget of this key's owner in its team for this month" in refused.text, refused.text
        assert admin.call("DELETE", f"/keys/{id_of_second}").status_code == 204
        third, _ = new_key()
        assert send(up, third).status_code == 429
        until(lambda: charged(up) == one * 2, 20)

        # Who holds the key is told what is left; after a restart as before it.
        usage = httpx.get(f"{up.url}/v1/usage", headers={"x-api-key": third}, timeout=30, trust_env=False).json()
        (of_member,) = [of for of in usage["limits"] if of["scope"] == "member"]
        assert (of_member["budgets"][0]["spent"], of_member["budgets"][0]["exhausted"]) == (f"{one * 2:f}".rstrip("0"), True)
        up.stop()
        up.start()
        seen: list[int] = []
        until(lambda: seen.append(send(up, third).status_code) or seen[-1] == 429, 20)
        assert set(seen) <= {429, 503}, seen

        # A greater allowance finds what was spent; all at once spend no more than there is.
        change = {"allowance": {"keys": 1, "groups": [GROUP], "limits": {"budget": {"per_month": f"{one * 5:f}"}}}}
        admin = console_of(up)
        assert admin.call("PATCH", "/teams/blue", change).status_code == 200
        given = admin.new_key("given", GROUP, owner="ann", team="blue")
        until(lambda: send(up, given).status_code == 200, 20)
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda key: send(up, key), [third, given] * 12))
        until(lambda: send(up, given).status_code == 429 and "insufficient_quota" in send(up, given).headers["x-trilane-error"], 20)
        until(lambda: charged(up) == one * 5, 20)


def test_old_and_new_value_have_one_budget(tmp_path: Path) -> None:
    with Up(tmp_path / "data", *OPTIONS) as up:
        admin = console_of(up)
        one = price(up, admin)
        old = admin.new_key("k", GROUP, limits={"budget": {"per_month": f"{one * 3:f}"}})
        until(lambda: send(up, old).status_code == 200, 20)
        new = admin.post("/keys/k/rotate", {"overlap_seconds": 3600})["value"]
        until(lambda: send(up, new).status_code == 200, 20)
        assert [send(up, key).status_code for key in (old, new, old)] == [200, 429, 429]
        until(lambda: charged(up) == one * 3, 20)
        up.stop()
        up.start()
        for key in (old, new):
            seen: list[int] = []
            until(lambda key=key, seen=seen: seen.append(send(up, key).status_code) or seen[-1] == 429, 20)
            assert set(seen) <= {429, 503}, seen
