"""What whoever holds a key sees of themselves: with an account, and by the key alone."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx
from e2e.browser.chromium import Browsers
from e2e.browser.seeded import SeededConsole, line
from e2e.browser.looking import look_at

VALUE = re.compile(r"^tl-[0-9A-Za-z]{43}$")


def member(site: SeededConsole, person: str, **allowance: Any) -> None:
    """A person in a team of their own, which lets members make keys."""
    site.api.post("/people", {"id": person, "name": person.title(), "role": "member"})
    site.api.post("/teams", {"id": f"team-{person}", "allowance": {"keys": 1, "groups": ["mixed"], **allowance}})
    assert site.api.call("PUT", f"/teams/team-{person}/members/{person}", {}).status_code == 200


def test_a_member_and_their_keys(site: SeededConsole, chromium: Browsers) -> None:
    """From signing in to a key within what the team allows, its rotation, and its end."""
    member(site, "mara", limits={"budget": {"per_month": "5"}}, lifetime_days=30)
    with chromium.visitor(site.url) as visitor:
        visitor.expected = {404, 422}
        page = visitor.sign_in(site.link("mara"))
        page.goto(site.url)
        page.wait_for_url(re.compile("/me$"))
        page.get_by_role("heading", name="You have no keys").wait_for()
        page.get_by_role("link", name="Create key").first.click()

        # More than the team allows is told at its field, and what was typed stays.
        page.get_by_label("Label").fill("laptop")
        page.get_by_label("Budget a month").fill("5.01")
        page.get_by_role("button", name="Create key").click()
        assert "at most 5" in page.locator("[id='p-budget.per_month']").inner_text()
        assert page.get_by_label("Label").input_value() == "laptop"
        page.get_by_label("Budget a month").fill("4.50")
        page.get_by_role("button", name="Create key").click()
        page.get_by_role("heading", name="The key is made").wait_for()
        value = page.locator(".code code").first.inner_text()
        assert VALUE.match(value)
        key = site.api.get("/keys?owner=mara")["items"][0]
        assert (key["team"], key["limits"]["budget"]["per_month"]) == ("team-mara", "4.50")

        # What is left, and no further key.
        page.goto(f"{site.url}/me")
        card = page.locator(".card", has=page.get_by_role("heading", name="laptop"))
        assert "Nothing is known to be in the way" in card.inner_text() and "4.50" in card.inner_text()
        assert page.get_by_role("link", name="Create key").count() == 0
        assert "You have 1 of 1 keys" in page.locator("main").inner_text()

        # An old value that stays good would be one more key; without it the key is rotated.
        card.get_by_role("link", name="Rotate").click()
        page.get_by_label("It is planned").check()
        page.get_by_role("button", name="Rotate key").click()
        page.get_by_role("alert").get_by_text("it allows 1").wait_for()
        page.get_by_label("It leaked").check()
        page.get_by_role("button", name="Rotate key").click()
        page.get_by_role("heading", name="The key is rotated").wait_for()
        page.get_by_text("It is refused now").wait_for()
        new = page.locator(".code code").first.inner_text()
        assert VALUE.match(new) and new != value

        # Spent: in one line, with whose budget and until when.
        now = datetime.now(timezone.utc).replace(microsecond=0)
        site.api.take_in("edge-mara", line(now, key["id"], "mara", "gpt-5.1", "4.50"))
        page.goto(f"{site.url}/me")
        assert "This month's budget of the key is spent: $4.50 of $4.50. It begins anew at" in card.inner_text()
        assert "Wait until then, or ask an admin for a larger budget." in card.inner_text()
        assert "trilane login http" in page.locator("#clients").inner_text(), "signing in needs no key"
        models = page.locator(".card", has=page.get_by_role("heading", name="Usage by model"))
        assert "gpt-5.1" in models.inner_text() and "$4.50" in models.inner_text()

        # Disabling asks first, and says who can take it back.
        card.get_by_role("link", name="Disable").click()
        assert "Only an admin can enable it again" in page.locator("main").inner_text()
        page.get_by_role("button", name="Disable key").click()
        page.get_by_role("status").get_by_text("The key is disabled").wait_for()
        assert "The key is disabled." in card.locator(".notice").inner_text()
        assert card.get_by_role("link", name="Disable").count() == 0
        assert site.api.get(f"/keys/{key['id']}")["disabled"] is True


def test_whose_keys_they_are(site: SeededConsole) -> None:
    """Nobody rotates or disables another one's key here, and a viewer none at all."""
    for person, status in (("admin", 404), ("victor", 403)):
        cookies = {cookie["name"]: cookie["value"] for cookie in site.session(person)}
        with httpx.Client(base_url=site.url, cookies=cookies, trust_env=False) as http:
            found = re.search(r'name="csrf" value="([0-9a-f]{64})"', http.get("/me").text)
            assert found
            for path in ("/me/keys/evals/rotate", "/me/keys/evals/disable"):
                assert http.post(path, data={"csrf": found[1], "once": "a test", "reason": "leaked"}).status_code == status, (person, path)
    cookies = {cookie["name"]: cookie["value"] for cookie in site.session("ann")}
    for path in ("/me/keys", "/me/keys/evals/rotate", "/me/keys/evals/disable"):
        assert httpx.post(site.url + path, data={"csrf": "0" * 64}, cookies=cookies, trust_env=False).status_code == 403, path
    assert site.api.get("/keys/evals")["disabled"] is False
    admin = {cookie["name"]: cookie["value"] for cookie in site.session("admin")}
    assert httpx.get(site.url, cookies=admin, trust_env=False).headers.get("location") != "/me", "an admin begins elsewhere"
    assert httpx.get(site.url, cookies=cookies, trust_env=False).headers["location"] == "/me"


def test_by_the_key_alone(site: SeededConsole, chromium: Browsers) -> None:
    value = site.api.new_key("held", "mixed", label="Held by a program", limits={"budget": {"per_month": "10"}, "requests_per_minute": 30})
    now = datetime.now(timezone.utc).replace(microsecond=0)
    tried = {
        "trilane.outcome": "upstream_failed",
        "trilane.usage.status": "failed",
        "trilane.tries": 1,
        # An account that no document has: what other tests see of theirs stays as it was.
        "trilane.tries.failed": [{"account": "b-held-1", "kind": "rate_limited", "status": 429}],
    }
    lines = [
        line(now - timedelta(seconds=90), "held", "", "gpt-5.1", "2.25"),
        line(now - timedelta(seconds=60), "held", "", "claude-opus-4-5", None, status=429, **tried),
    ]
    site.api.take_in("edge-held", "".join(lines))
    with chromium.visitor(site.url) as visitor:
        visitor.expected = {422}
        page = visitor.open("/sign-in")
        page.get_by_role("link", name="See what is left for it").click()
        page.get_by_label("API key").fill("tl-" + "x" * 43)
        page.get_by_role("button", name="Show").click()
        unknown = page.get_by_role("alert").inner_text()
        page.get_by_label("API key").fill("nothing like a key")
        page.get_by_role("button", name="Show").click()
        assert page.get_by_role("alert").inner_text() == unknown, "what is no key gets the same answer"

        page.get_by_label("API key").fill(f"  {value} ")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("heading", name="Held by a program").wait_for()
        text = page.locator("main").inner_text()
        assert "Requests for claude-opus-4-5 fail: the upstream account has reached its vendor's limit, or its quota is spent. Your key is fine" in text
        assert "$7.75" in text and "$2.25 of $10.00" in text and "30 requests a minute" in text
        assert "b-held-1" not in text, "accounts are none of a key holder's"
        assert page.locator("section, .card", has_text="Latest requests").locator("tbody tr").count() == 2
        assert value not in page.content() and value not in page.url
        assert visitor.cookies() == []
        assert "Claude Code" in text, "how a client is set up"
        look_at(page, "me-by-key-shown")
    answer = httpx.post(f"{site.url}/me/key", data={"key": value}, trust_env=False)
    assert answer.headers["cache-control"] == "no-store" and "set-cookie" not in answer.headers
    other = httpx.post(f"{site.url}/me/key", data={"key": value}, headers={"sec-fetch-site": "cross-site"}, trust_env=False)
    assert other.status_code == 403, "a page of another site asks nothing"
