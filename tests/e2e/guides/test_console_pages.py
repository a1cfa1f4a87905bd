"""The pages on the console's API, done as they say: every command of console-people.md, console.md, console-api.md and me.md, in one console."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.console.running import Api, ask
from e2e.guides.reader import DOCS, Reader, shell
from e2e.guides.samples import as_shown, sample
from e2e.up.running import Up
from waiting import until

PAGES = ("console-people", "console", "console-api", "me")


class Desk:
    """Somebody with a terminal on the machine of `trilane up --demo --console`, and what is left to do on the pages."""

    def __init__(self, home: Path, up: Up) -> None:
        self.up = up
        self.url = up.said.rsplit("console    ", 1)[1].split()[0]
        self.api = Api(self.url, (up.data / "admin.token").read_text().strip())
        here = [(address, self.url) for address in ("http://127.0.0.1:10092", "https://console.example.com")]
        self._reader = Reader(home, here)
        self.left = {page: [block.text for block in shell(DOCS / f"{page}.md")] for page in PAGES}

    def does(self, page: str, words: str, *changes: tuple[str, str]) -> list[Any]:
        """Runs the block of a page that has these words; the answers of its requests, none of which is a problem."""
        (text,) = [block for block in self.left[page] if words in block]
        self.left[page].remove(text)
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        answers = list(values(self._reader.does(text)))
        assert len(answers) == text.count("curl "), answers
        problems = [answer for answer in answers if str(answer.get("type", "")).startswith("/problems/")]
        assert not problems, (text, problems)
        return answers

    def key(self, value: str) -> Any:
        """What the holder of a key sees of it."""
        answer = httpx.get(f"{self.url}/api/v1/me/key", headers={"authorization": f"Bearer {value}"}, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()


def values(text: str) -> Iterator[Any]:
    """The values of JSON that stand one after the other."""
    while text := text.lstrip():
        value, end = json.JSONDecoder().raw_decode(text)
        yield value
        text = text[end:]


def within(seconds: int, text: str) -> bool:
    """Whether a time is so many seconds from now, but for a minute."""
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return abs(at - datetime.now(timezone.utc) - timedelta(seconds=seconds)) < timedelta(minutes=1)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    home = tmp_path_factory.mktemp("home")
    (home / ".local/share").mkdir(parents=True)
    with Up(home / ".local/share/trilane", "--demo", "--console", "--console-port", "0") as up:
        desk = Desk(home, up)
        desk.api.post("/people", {"id": "ann", "name": "Ann", "role": "member"})
        yield desk


@pytest.fixture(scope="module")
def key(desk: Desk) -> str:
    """The key of the page on the API."""
    return desk.api.new_key("key_01", "mixed", team="blue", limits={"requests_per_minute": 60})


def test_a_key_that_works_a_second_later(desk: Desk) -> None:
    """docs/console.md, which begins as README.md does. The demonstration's group for all is `mixed`."""
    desk.left["console"].remove("pip install trilane\ntrilane up --console\n")
    (made,) = desk.does("console", "$auth", ('"group": "all"', '"group": "mixed"'))
    assert (made["key"]["group"], made["key"]["owner"]) == ("mixed", "ann")
    until(lambda: ask(desk.up.url, made["value"]) == 200)


def test_people_and_teams(desk: Desk) -> None:
    team, member = desk.does("console-people", "/api/v1/teams ")
    assert (team["allowance"]["keys"], team["allowance"]["limits"]) == (2, {"budget": {"per_month": "20"}})
    assert (member["person"], member["manager"]) == ("ann", False)
    assert desk.api.get("/budgets/member/ann@blue")["budget"] == {"per_month": "40"}, "keys times as much"
    (own,) = desk.does("console-people", "/members/ann/budget")
    assert (own["budget"], own["own"]) == ({"per_month": "60"}, True)
    (link,) = desk.does("console-people", "sign-in-link")
    assert "Sign in" in httpx.get(f"{desk.url}{link['path']}", trust_env=False).text and within(86_400, link["expires_at"])
    (invited,) = desk.does("console-people", "/people/bulk")
    assert invited["added"] == 2 and all(each["link"]["path"].startswith("/sign-in/link?token=") for each in invited["invited"])
    members = {each["person"] for each in desk.api.get("/teams/blue/members")["items"]}
    assert members == {"ann", "ann@example.com", "bob@example.com"}
    put, told = desk.does("console-people", "/budgets/owner/ann")
    assert put["budget"] == told["budget"] == {"per_month": "50"} and {"today", "this_month"} <= told.keys()
    (chosen,) = desk.does("console-people", "/me/notices")
    expected = {"email": "ann@example.com", "budgets": True, "expiring": True, "unused": False, "language": "en", "has_mail_server": False}
    assert chosen == expected


def test_why_requests_fail(desk: Desk, key: str) -> None:
    """The page's sample, to the letter: a key with a limit, whose team has spent its budget."""
    assert desk.api.call("PUT", "/budgets/team/blue", {"per_month": "0.000001"}).status_code == 200
    until(lambda: ask(desk.up.url, key) == 429)
    until(lambda: desk.key(key)["remaining"]["requests"].get("reason") == "budget_spent")
    (shown,) = sample("console-api")
    assert as_shown(desk.key(key)["remaining"]) == as_shown(shown)
    by_admin = desk.api.get("/keys/key_01/remaining")
    assert {"allowed", "used", "left"} <= by_admin["subjects"][1]["budgets"][0].keys(), "with every digit"
    assert desk.api.call("DELETE", "/budgets/team/blue").status_code == 204
    until(lambda: ask(desk.up.url, key) == 200)


def test_the_first_requests_and_tokens(desk: Desk, key: str) -> None:
    until(lambda: "key_01" in desk.api.usage())
    me, usage = desk.does("console-api", "/api/v1/usage?by=key")
    assert (me["id"], me["role"]) == ("admin", "admin")
    assert "key_01" in {item["values"]["key"] for item in usage["items"]}
    (made,) = desk.does("console-api", "/api/v1/tokens")
    reports = Api(desk.url, made["value"])
    assert reports.get("/me")["scopes"] == made["token"]["scopes"] == ["usage:read", "keys:read"]
    assert reports.get("/usage?by=key")["items"] and reports.get("/keys/key_01")
    refused = reports.call("PATCH", "/keys/key_01", {"disabled": True})
    assert refused.status_code == 403 and "keys:write" in refused.text, refused.text


def test_the_life_of_a_key(desk: Desk, key: str) -> None:
    """Changed, rotated, found."""
    (changed,) = desk.does("console-api", "-X PATCH")
    assert (changed["models"], changed["multiplier"]) == (["gpt-5.1"], "0.15") and "team" not in changed
    until(lambda: ask(desk.up.url, key) == 404)  # a model that is no longer its own
    rotated, ended = desk.does("console-api", "/rotate")
    good = rotated["old"]["good"]
    assert re.fullmatch(r"key_01-old-\d{8}T\d{6}Z", good["id"]) and within(86_400, good["good_until"]), good
    assert ended == {"ended": 1}
    until(lambda: ask(desk.up.url, key) == 401 and ask(desk.up.url, rotated["value"]) == 404)
    (found,) = desk.does("console-api", "/keys/find", ("tl-…", rotated["value"]))
    assert found["id"] == "key_01"
    for page in ("console-api", "me"):
        (mine,) = desk.does(page, "/me/key", ("tl-…", rotated["value"]))
        assert mine["key"]["id"] == "key_01" and [model["id"] for model in mine["models"]["items"]] == ["gpt-5.1"], page
        assert mine["remaining"]["subjects"] and "requests" in mine, page


def test_many_keys_at_once(desk: Desk) -> None:
    for number in range(12):
        desk.api.new_key(f"blue-{number}", "mixed", team="blue")
    desk.does("console-api", "/keys/bulk")
    ends = {item["expires_at"] for item in desk.api.get("/keys?team=blue&limit=500")["items"]}
    assert ends == {"2027-01-01T00:00:00Z"}


def test_somebody_leaves(desk: Desk) -> None:
    key = desk.api.new_key("ann-1", "mixed", owner="ann")
    until(lambda: ask(desk.up.url, key) == 200)
    before, after = desk.does("console-people", '"disabled": true')
    assert (before["access"]["keys"], before["access"]["links"]) == (2, 1) and before["access"] == after["ended"]
    until(lambda: ask(desk.up.url, key) == 401)
    (erased,) = desk.does("console-people", "/people/ann/data")
    assert erased["pseudonym"].startswith("erased-") and desk.api.call("GET", "/people/ann").status_code == 404


def test_nothing_is_left(desk: Desk) -> None:
    assert not [text for page in PAGES for text in desk.left[page]]
