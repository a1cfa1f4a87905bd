"""Budgets over three Envoys: they hold for all of them together, to the last digit, and no restart forgets them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Optional

import httpx
from e2e.console.running import Api, Console, MESSAGE, agent_options, ask, told_by_files
from e2e.up.running import Up
from waiting import until

ENVOYS = ("edge-1", "edge-2", "edge-3")
GROUP = "b-official"
MEMBER = "this key's owner in its team"


def heads(key: str) -> dict[str, str]:
    return {"x-api-key": key, "anthropic-version": "2023-06-01"}


def left(up: Up, key: str) -> Decimal:
    """What an Envoy says is left of this month's budget; to ask costs nothing. Before it knows: -1."""
    answer = httpx.get(f"{up.url}/v1/models", headers=heads(key), timeout=30, trust_env=False)
    told = answer.headers.get("x-trilane-budget-remaining-month", "-1")
    return Decimal(told.split()[0])


def is_spent(up: Up, key: str) -> Optional[bool]:
    """Whether an Envoy says that this month's budget of the key's team is spent; before it knows, nothing."""
    answer = httpx.get(f"{up.url}/v1/usage", headers=heads(key), timeout=30, trust_env=False)
    limits = answer.json().get("limits", [])
    return next((of["budgets"][0]["exhausted"] for of in limits if of["scope"] == "team"), None)


def knows(up: Up, whose: str, key: str, rest: Decimal) -> bool:
    """Whether an Envoy has heard that so much is left. Of a team's budget it tells only whether that is anything."""
    if whose == "this key's team":
        return is_spent(up, key) is (rest == 0)
    return left(up, key) == rest


def put_budget(api: Api, path: str, per_month: Decimal) -> None:
    answer = api.call("PUT", f"/budgets/{path}", {"per_month": f"{per_month:f}"})
    assert answer.status_code == 200, answer.text


def spent(*ups: Up) -> dict[str, Decimal]:
    """By key, what the ledgers of all Envoys say."""
    sums: dict[str, Decimal] = {}
    for up in ups:
        for key, (_, charge) in told_by_files(up.ledger).items():
            sums[key] = sums.get(key, Decimal(0)) + Decimal(charge or "0")
    return sums


def join(api: Api, team: str, person: str, budget: dict[str, str]) -> str:
    """Makes a person a member of a new team that allows one key of this budget. Gives an admin's key for the member, which has none itself."""
    api.post("/people", {"id": person, "name": person, "role": "member"})
    api.post("/teams", {"id": team, "allowance": {"keys": 1, "groups": [GROUP], "limits": {"budget": budget}}})
    assert api.call("PUT", f"/teams/{team}/members/{person}", {}).status_code == 200
    return api.new_key(f"of-{person}", GROUP, owner=person, team=team)


def refused(up: Up, key: str, whose: str) -> None:
    answer = httpx.post(f"{up.url}/v1/messages", headers=heads(key), json=MESSAGE, timeout=30, trust_env=False)
    assert answer.status_code == 429, answer.text
    assert answer.headers["x-trilane-error"] == "insufficient_quota"
    assert f"the budget of {whose} for this month" in answer.text, answer.text


def test_three_envoys_share_budgets(tmp_path: Path, document: Path) -> None:
    console = Console(tmp_path / "console", "--import-document", str(document))
    with ExitStack() as stack:
        stack.enter_context(console)
        api = console.api
        ups = []
        for envoy in ENVOYS:
            token = tmp_path / f"{envoy}.token"
            token.write_text(api.post("/envoys", {"id": envoy})["token"])
            options = agent_options(console.url, token, document)
            ups.append(stack.enter_context(Up(tmp_path / envoy, "--demo", *options)))
        plain = api.new_key("plain", GROUP)
        until(lambda: ask(ups[0].url, plain) == 200, 20)
        until(lambda: "plain" in api.usage(), 20)
        one = Decimal(api.usage()["plain"][1])
        assert one > 0

        six = one * 6
        keys = {
            "this key": api.new_key("own", GROUP, limits={"budget": {"per_month": f"{six:f}"}}),
            "this key's owner": api.new_key("of-ann", GROUP, owner="ann"),
            "this key's team": api.new_key("of-blue", GROUP, team="blue"),
        }
        put_budget(api, "owner/ann", six)
        put_budget(api, "team/blue", six)
        keys[MEMBER] = join(api, "red", "bob", {"per_month": f"{six:f}"})
        for whose, key in keys.items():
            for up in ups:
                until(lambda up=up, key=key, whose=whose: knows(up, whose, key, six), 20)
            # Two on each: none has spent it by itself, and together they have.
            assert [ask(up.url, key) for up in ups for _ in range(2)] == [200] * 6, whose
        for whose, key in keys.items():
            for up in ups:
                until(lambda up=up, key=key, whose=whose: knows(up, whose, key, Decimal(0)), 20)
                refused(up, key, whose)
        named = ("own", "of-ann", "of-blue", "of-bob")
        assert {key: spent(*ups)[key] for key in named} == dict.fromkeys(named, six)

        # All at once until each is refused; then all know the same, to the last digit.
        put_budget(api, "owner/ann", one * 40)
        for up in ups:
            until(lambda up=up: left(up, keys["this key's owner"]) == one * 34, 20)

        def until_refused(up: Up) -> int:
            count = 0
            while ask(up.url, keys["this key's owner"]) == 200:
                count += 1
            return count

        with ThreadPoolExecutor(len(ups)) as pool:
            counts = list(pool.map(until_refused, ups))
        total = one * (6 + sum(counts))
        assert total >= one * 40
        put_budget(api, "owner/ann", one * 10_000)
        for up in ups:
            until(lambda up=up: left(up, keys["this key's owner"]) == one * 10_000 - total, 20)
        put_budget(api, "owner/ann", total)
        for up in ups:
            until(lambda up=up: left(up, keys["this key's owner"]) == 0, 20)

        def first_answers() -> None:
            """From its first request on an Envoy that has begun anew refuses, or does not know yet."""
            for up in ups:
                for whose, key in keys.items():
                    seen = []
                    until(lambda up=up, key=key, seen=seen: seen.append(ask(up.url, key)) or seen[-1] == 429, 20)
                    assert set(seen) <= {429, 503}, (whose, seen)
                    refused(up, key, whose)

        for up in ups:
            up.stop()
        for up in ups:
            up.start()
        first_answers()
        # With the console away as well.
        for up in ups:
            up.stop()
        console.stop()
        for up in ups:
            up.start()
        first_answers()
        console.start()
        put_budget(console.api, "team/blue", one * 7)
        for up in ups:
            until(lambda up=up: is_spent(up, keys["this key's team"]) is False, 20)
        assert ask(ups[0].url, keys["this key's team"]) == 200
        for up in ups:
            until(lambda up=up: is_spent(up, keys["this key's team"]) is True, 20)
