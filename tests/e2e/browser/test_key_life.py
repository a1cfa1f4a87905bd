"""A key's whole life in the browser."""

from __future__ import annotations

import re

import httpx
from e2e.browser.chromium import Browsers
from e2e.browser.looking import look_at
from e2e.browser.seeded import RTL, SCRIPT, SeededConsole

VALUE = re.compile(r"^tl-[0-9A-Za-z]{43}$")


def test_the_life_of_a_key(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        visitor.expected = {422, 404}
        page = visitor.open("/keys")
        page.get_by_role("link", name="Create key").click()

        # What is wrong is told at its field, and what was typed stays.
        page.get_by_label("Label").fill(f"{SCRIPT} {RTL}")
        page.get_by_label("Owner").fill("ann")
        page.get_by_label("Group").select_option("mixed")
        page.get_by_label("Requests a minute").fill("many")
        page.get_by_role("button", name="Create key").click()
        assert "must be a whole number" in page.locator("[id='p-limits.requests_per_minute']").inner_text()
        assert page.get_by_label("Label").input_value() == f"{SCRIPT} {RTL}"
        page.get_by_label("Requests a minute").fill("1,200")
        page.get_by_label("Budget a month").fill("many")
        page.get_by_role("button", name="Create key").click()
        assert page.locator("[id='p-limits.budget.per_month']").inner_text() != ""
        page.get_by_label("Budget a month").fill("25.50")
        page.get_by_role("button", name="Create key").click()

        # It is shown once, with the lines for clients.
        page.get_by_role("heading", name="The key is made").wait_for()
        value = page.locator(".code code").first.inner_text()
        assert VALUE.match(value), value
        assert f"export ANTHROPIC_API_KEY={value}" in page.locator("details.client code").first.inner_text()
        page.reload()
        assert value not in page.content(), "it was shown once"

        # Its page.
        page.goto(f"{site.url}/keys?search={value[-4:]}")
        page.locator("tbody a").first.click()
        assert page.locator("h1").inner_text() == f"{SCRIPT} {RTL}"
        facts = page.locator("dl.facts").inner_text()
        assert "1,200" in facts and "25.50" in facts and "Ann Archer" in facts, facts
        key = page.url.rpartition("/")[2]

        # Changed, disabled, enabled.
        page.get_by_role("link", name="Change", exact=True).click()
        assert page.get_by_label("Requests a minute").input_value() == "1200"
        page.get_by_label("Label").fill("Renamed")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("status").get_by_text("Saved.").wait_for()
        assert page.locator("h1").inner_text() == "Renamed"
        page.get_by_role("button", name="Disable").click()
        page.locator(".state", has_text="Disabled").first.wait_for()
        assert site.api.get(f"/keys/{key}")["disabled"] is True
        page.get_by_role("button", name="Enable").click()
        page.locator(".state", has_text="Active").first.wait_for()

        # Rotated: the old value stays good for a while.
        page.get_by_role("link", name="Rotate").click()
        page.get_by_label("It is planned").check()
        page.get_by_label("If planned, good for").select_option(label="An hour")
        page.get_by_role("button", name="Rotate key").click()
        page.get_by_role("heading", name="The key is rotated").wait_for()
        new = page.locator(".code code").first.inner_text()
        assert VALUE.match(new) and new != value
        assert site.api.get(f"/keys/{key}")["hint"] == new[-4:]
        old = [item for item in site.api.get(f"/keys?search={key}-old")["items"]]
        assert [item["hint"] for item in old] == [value[-4:]] and "expires_at" in old[0]
        look_at(page, "key-rotated")

        # A whole key is found, and is in no address; the old value is ended before its time.
        for whole, found in ((value, old[0]["id"]), (new, key)):
            page.goto(f"{site.url}/keys")
            page.get_by_role("searchbox", name="Find keys").fill(whole)
            page.get_by_role("button", name="Find").click()
            page.wait_for_url(f"{site.url}/keys/{found}")
        page.get_by_text("An old value is good until").wait_for()
        look_at(page, "key-with-an-old-value")
        page.get_by_role("button", name="End old values now").click()
        page.get_by_role("status").get_by_text("The old value is ended").wait_for()
        assert site.api.get(f"/keys/{old[0]['id']}")["disabled"] is True

        # Removed, after it was asked.
        page.goto(f"{site.url}/keys/{key}")
        page.get_by_role("link", name="Remove").click()
        page.get_by_role("button", name="Remove key").click()
        page.get_by_role("status").get_by_text("The key is removed").wait_for()
        assert site.api.call("GET", f"/keys/{key}").status_code == 404
        visitor.open(f"/keys/{key}")
        page.get_by_role("heading", name="There is no such page").wait_for()


def test_two_admins_at_once(site: SeededConsole, chromium: Browsers) -> None:
    site.api.new_key("both", "mixed", label="Both")
    with (
        chromium.visitor(site.url, state=site.session("admin")) as one,
        chromium.visitor(site.url, state=site.session("olga")) as other,
    ):
        other.expected = {422}
        for visitor in (one, other):
            visitor.open("/keys/both/edit")
        one.page.get_by_label("Label").fill("First")
        one.page.get_by_role("button", name="Save").click()
        one.page.get_by_role("status").wait_for()
        other.page.get_by_label("Owner").fill("Second")
        other.page.get_by_role("button", name="Save").click()
        alert = other.page.get_by_role("alert")
        assert "Somebody else has changed this key" in alert.inner_text()
        assert "label: First" in alert.inner_text(), "theirs is told"
        assert other.page.get_by_label("Owner").input_value() == "Second", "what was typed stays"
        assert "owner" not in site.api.get("/keys/both"), "nothing was changed over it"
        other.page.get_by_label("Label").fill("First")
        other.page.get_by_role("button", name="Save").click()
        # Nobody is called that: it is confirmed.
        look_at(other.page, "key-new-owner")
        other.page.get_by_label("It is new").check()
        other.page.get_by_role("button", name="Save").click()
        other.page.get_by_role("status").wait_for()
        key = site.api.get("/keys/both")
        assert (key["label"], key["owner"]) == ("First", "Second")


def test_one_press_makes_one_key(site: SeededConsole, chromium: Browsers) -> None:
    """A form that is sent again makes nothing, and the value is not shown again."""
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/new-key")
        fields = {
            field: page.locator(f"[name={field}]").first.input_value() for field in ("csrf", "once")
        }
        cookies = {cookie["name"]: cookie["value"] for cookie in visitor.cookies()}
        texts = []
        for _ in range(2):
            form = {**fields, "group": "mixed", "label": "Twice"}
            answer = httpx.post(f"{site.url}/keys", data=form, cookies=cookies, trust_env=False)
            assert answer.status_code == 200, answer.text
            texts.append(answer.text)
        assert "Copy it now" in texts[0] and "Copy it now" not in texts[1]
        assert "was sent before" in texts[1]
        found = site.api.get("/keys?search=Twice")["items"]
        assert len(found) == 1


def test_many_keys_are_changed(site: SeededConsole, chromium: Browsers) -> None:
    for number in range(3):
        site.api.new_key(f"crew-{number}", "mixed", owner="crew")
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        visitor.expected = {422}
        page = visitor.open("/keys?owner=crew")
        page.get_by_role("link", name="Change all of these").click()
        page.get_by_role("heading", name="Change 3 keys").wait_for()
        look_at(page, "keys-change")
        page.get_by_role("button", name="Change 3 keys").click()
        page.get_by_text("choose one").wait_for()
        page.get_by_label("What to do").select_option(label="Move to a team")
        page.get_by_label("Team").fill("blue")
        page.get_by_role("button", name="Change 3 keys").click()
        page.get_by_role("status").get_by_text("The keys are changed").wait_for()
        assert [key["team"] for key in site.api.get("/keys?owner=crew")["items"]] == ["blue"] * 3


def test_from_page_to_page(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/keys?search=seat-")
        first = page.locator("tbody tr").count()
        page.get_by_role("link", name="Next page").click()
        page.wait_for_url(re.compile("cursor="))
        assert (first, page.locator("tbody tr").count()) == (50, 10)
        assert page.get_by_role("searchbox", name="Find keys").input_value() == "seat-"


def test_a_search_goes_on(site: SeededConsole, chromium: Browsers) -> None:
    """Among very many keys a page without any says that more follow."""
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/keys?search=z&state=expired")
        page.get_by_role("heading", name="None among these keys").wait_for()
        page.get_by_role("link", name="Search on").click()
        page.get_by_role("heading", name="No key is like that").wait_for()
        assert page.get_by_role("searchbox", name="Find keys").input_value() == "z"


def test_without_scripts(site: SeededConsole, chromium: Browsers) -> None:
    """Everything but comfort is there."""
    with chromium.visitor(site.url, width=360, scripts=False, state=site.session("admin")) as visitor:
        page = visitor.open("/keys/mobile-review")
        assert page.get_by_text("UTC").first.is_visible()
        page.get_by_role("button", name="Menu").click()
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Keys").click()
        page.get_by_role("searchbox", name="Find keys").fill("gemini-bot")
        page.get_by_role("button", name="Find").click()
        assert page.locator("tbody tr").count() == 1


def test_times_are_the_readers(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/keys/data")
        moment = page.locator("time[datetime='2027-01-01T00:00:00Z']").first
        assert moment.inner_text() == "1 Jan 2027, 05:30"
        assert moment.get_attribute("title") == "2027-01-01 00:00 UTC"
