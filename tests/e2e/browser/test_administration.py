"""Documents, people, tokens and budgets in the browser, and that no admin's work is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
from e2e.browser.chromium import Browsers
from e2e.browser.looking import look_at
from e2e.browser.seeded import SeededConsole

GROUP = "/drafts/{id}/group?group=c-official"


def draft(site: SeededConsole) -> str:
    return str(site.api.post("/drafts", {"note": "by a test"})["id"])


def discard(site: SeededConsole, which: str) -> None:
    tag = site.api.call("GET", f"/drafts/{which}").headers["etag"]
    assert site.api.call("DELETE", f"/drafts/{which}", **{"if-match": tag}).status_code == 204


def group(document: str, name: str) -> dict[str, Any]:
    return next(group for group in json.loads(document)["groups"] if group["id"] == name)


def test_from_a_draft_to_force_and_back(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("olga")) as visitor:
        before = site.api.get("/documents/current")
        page = visitor.open("/groups")
        page.get_by_role("button", name="Begin a draft").click()
        page.wait_for_url(re.compile("/drafts/draft_"))
        where = page.url
        page.get_by_role("link", name="Protocol C official channel").click()

        # What a gateway would refuse is saved, and told at its field; it cannot be published.
        page.get_by_label("Multiplier").fill("half")
        page.get_by_role("button", name="Save in the draft").click()
        page.locator("#p-multiplier", has_text="must be a plain decimal").wait_for()
        page.goto(where)
        assert page.get_by_role("button", name="Publish").is_disabled()
        page.get_by_role("link", name="group c-official").click()
        page.get_by_label("Multiplier").fill("0.7500")
        page.get_by_role("button", name="Save in the draft").click()
        page.get_by_role("status").wait_for()

        # A model with prices of the catalogue goes, another gets a price.
        page.get_by_role("link", name="gemini-2.5-pro").click()
        page.locator("[name=\"prices.output\"]").fill("11.5")
        page.get_by_role("button", name="Save in the draft").click()
        page.get_by_role("status").wait_for()
        assert site.api.get("/documents/current")["version"] == before["version"], "a draft is not in force"

        # What it changes stands before the button.
        page.goto(where)
        text = page.locator(".differences").inner_text()
        assert "c-official › multiplier" in text and "0.7500" in text and "gemini-2.5-pro › prices › output" in text
        page.get_by_label("Note").fill("Dearer output")
        page.get_by_role("button", name="Save the note").click()
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("status").get_by_text("Published").wait_for()
        now = site.api.get("/documents/current")
        changed = group(now["body"], "c-official")
        assert (now["version"], now["note"], now["author"]) == (before["version"] + 1, "Dearer output", "olga")
        assert changed["multiplier"] == "0.7500"
        assert next(model for model in changed["models"] if model["id"] == "gemini-2.5-pro")["prices"]["output"] == "11.5"
        assert group(now["body"], "b-official") == group(before["body"], "b-official"), "nothing else is touched"

        # And the one before again.
        page.goto(f"{site.url}/documents/{before['version']}")
        page.get_by_label("Note").fill("Too dear")
        page.get_by_role("button", name="again").click()
        page.get_by_role("status").get_by_text("Published").wait_for()
        again = site.api.get("/documents/current")
        assert (again["again"], json.loads(again["body"])) == (before["version"], json.loads(before["body"]))
        acts = [entry["action"] for entry in site.api.get("/audit?actor=olga&limit=20")["items"]]
        for act in ("draft.create", "draft.change", "document.publish"):
            assert act in acts, acts


def test_two_admins_change_a_draft(site: SeededConsole, chromium: Browsers) -> None:
    which = draft(site)
    path = GROUP.format(id=which)
    with (
        chromium.visitor(site.url, state=site.session("admin")) as one,
        chromium.visitor(site.url, state=site.session("olga")) as other,
    ):
        other.expected = {422}
        for visitor in (one, other):
            visitor.open(path)
        one.page.get_by_label("Multiplier").fill("0.1000")
        one.page.get_by_role("button", name="Save in the draft").click()
        one.page.get_by_role("status").wait_for()
        other.page.get_by_label("Multiplier").fill("0.9000")
        other.page.get_by_role("button", name="Save in the draft").click()
        alert = other.page.get_by_role("alert")
        alert.wait_for()
        assert "admin has changed this draft" in alert.inner_text()
        assert other.page.get_by_label("Multiplier").input_value() == "0.9000", "what was typed is not lost"
        differs = other.page.locator(".differences").inner_text()
        assert "0.1000" in differs and "0.9000" in differs, "what differs is told"
        body = site.api.get(f"/drafts/{which}")["body"]
        assert group(body, "c-official")["multiplier"] == "0.1000", "theirs is not lost"
        other.page.get_by_role("button", name="Save in the draft").click()
        other.page.get_by_role("status").wait_for()
        body = site.api.get(f"/drafts/{which}")["body"]
        assert group(body, "c-official")["multiplier"] == "0.9000"

        # Discarding asks, and one who has not seen the last change discards nothing.
        other.open(f"/drafts/{which}/discard")
        one.open(path)
        one.page.get_by_label("Multiplier").fill("0.3000")
        one.page.get_by_role("button", name="Save in the draft").click()
        one.page.get_by_role("status").wait_for()
        other.page.get_by_role("button", name="Discard draft").click()
        other.page.get_by_role("alert").get_by_text("admin has changed this draft").wait_for()
        assert site.api.call("GET", f"/drafts/{which}").status_code == 200
    discard(site, which)


def test_a_version_published_meanwhile(site: SeededConsole, chromium: Browsers) -> None:
    which = draft(site)

    def change(document: dict[str, Any]) -> None:
        document["groups"][1]["name"] = "Renamed meanwhile"

    version = site.api.publish(change)
    with chromium.visitor(site.url, state=site.session("olga")) as visitor:
        visitor.expected = {422}
        page = visitor.open(f"/drafts/{which}")
        assert f"admin has published version {version}" in page.locator(".notice.warn").inner_text()
        page.get_by_role("button", name="Publish").click()
        page.get_by_role("alert").wait_for()
        assert site.api.get("/documents/current")["version"] == version
        page.get_by_role("button", name=f"go on from version {version}").click()
        page.get_by_role("status").wait_for()
        assert page.locator(".notice.warn").count() == 0
    discard(site, which)


def test_somebody_is_invited_and_sent_away(site: SeededConsole, chromium: Browsers) -> None:
    with (
        chromium.visitor(site.url, state=site.session("admin")) as admin,
        chromium.visitor(site.url) as invited,
    ):
        admin.expected = {422}
        page = admin.open("/people")
        page.get_by_label("Id").fill("ute/1?&x")
        page.get_by_label("Name", exact=True).fill("Ute")
        page.get_by_role("button", name="Invite").click()
        link = page.locator(".code code").first.inner_text()
        assert link.startswith(f"{site.url}/sign-in/link?token="), "an address that can be sent"
        invited.page.goto(link)
        invited.page.get_by_role("button", name="Sign in").click()
        invited.page.wait_for_url(lambda url: "/sign-in" not in url)

        # The id is taken: told at its field.
        page.goto(f"{site.url}/people")
        page.get_by_label("Id").fill("ute/1?&x")
        page.get_by_role("button", name="Invite").click()
        page.get_by_role("alert").get_by_text("another person's").wait_for()

        # Another role ends the session that there was.
        row = page.locator("tr", has_text="ute/1?&x")
        row.get_by_role("combobox").select_option("viewer")
        row.get_by_role("button", name="Set").click()
        page.get_by_role("status").wait_for()
        invited.page.goto(f"{site.url}/keys")
        invited.page.get_by_role("heading", name="Sign in").wait_for()
        site.api.new_key("of-ute", "mixed", owner="ute/1?&x")
        page.get_by_role("link", name="Disable").click()
        assert "1: refused by every gateway" in page.locator("form.card").inner_text(), "it counts first"
        page.get_by_role("button", name="Disable").click()
        page.get_by_role("status").get_by_text("The person is disabled").wait_for()
        assert "Disabled" in page.locator("main").inner_text()
        assert site.api.get("/keys/of-ute")["disabled_with"] == "ute/1?&x"
        look_at(page, "person-disabled")
        # The last admins cannot shut everybody out.
        entries = site.api.get("/audit?action=person.&object=ute/1%3F%26x")["items"]
        assert [entry["action"] for entry in entries] == ["person.change", "person.change", "person.link", "person.create"]
        assert (entries[0]["before"]["disabled"], entries[0]["after"]["disabled"]) == (False, True)


def test_a_link_that_went_to_the_wrong_place_is_revoked(site: SeededConsole, chromium: Browsers) -> None:
    with (
        chromium.visitor(site.url, state=site.session("admin")) as admin,
        chromium.visitor(site.url) as stranger,
    ):
        page = admin.open("/people")
        page.get_by_label("Id").fill("lost-link")
        page.get_by_role("button", name="Invite").click()
        link = page.locator(".code code").first.inner_text()
        page.goto(f"{site.url}/people")
        row = page.locator("tr", has_text="lost-link")
        assert "link until" in row.inner_text()
        row.get_by_role("button", name="Revoke link").click()
        page.get_by_role("status").get_by_text("signs nobody in").wait_for()
        assert "link until" not in row.inner_text()
        assert row.get_by_role("button", name="Revoke link").count() == 0

        stranger.expected = {410}
        stranger.page.goto(link)
        stranger.page.get_by_role("button", name="Sign in").click()
        stranger.page.get_by_role("alert").wait_for()
        stranger.page.goto(f"{site.url}/keys")
        stranger.page.get_by_role("heading", name="Sign in").wait_for()

        # Another one does, and the one before stays revoked.
        row.get_by_role("button", name="New link").click()
        assert page.locator(".code code").first.inner_text() != link
        stranger.page.goto(link)
        stranger.page.get_by_role("button", name="Sign in").click()
        stranger.page.get_by_role("alert").wait_for()
    entries = site.api.get("/audit?action=person.&object=lost-link")["items"]
    assert [entry["action"] for entry in entries] == ["person.link", "person.link.revoke", "person.link", "person.create"]


def test_somebodys_data_is_erased(site: SeededConsole, chromium: Browsers) -> None:
    site.api.post("/people", {"id": "leaver", "name": "Lea Ver", "role": "viewer"})
    site.api.new_key("phone-7", "mixed", owner="leaver", label="Lea's phone")
    with (
        chromium.visitor(site.url, state=site.session("admin")) as admin,
        chromium.visitor(site.url, state=site.session("leaver")) as leaver,
    ):
        leaver.open("/keys")
        admin.expected = {422}
        page = admin.page
        row = page.locator("tr", has_text="leaver")
        for answer in (("link", "Cancel"), ("button", "Erase data")):
            admin.open("/people")
            row.get_by_role("link", name="Erase data").click()
            page.get_by_role("heading", name="Lea Ver").wait_for()
            assert "It cannot be undone." in page.locator("form.card").inner_text()
            assert site.api.get("/keys/phone-7")["owner"] == "leaver", "it asks first"
            page.get_by_role(answer[0], name=answer[1]).click()
            page.wait_for_url(lambda url: not url.endswith("/erase"))
        page.get_by_role("status").get_by_text("The person and their keys are gone").wait_for()
        assert row.count() == 0
        assert site.api.call("GET", "/keys/phone-7").status_code == 404
        leaver.page.goto(f"{site.url}/keys")
        leaver.page.get_by_role("heading", name="Sign in").wait_for()

        erased = page.get_by_role("region", name="Erased data")
        for _ in range(100):
            page.goto(f"{site.url}/people")
            if "Going on" not in erased.inner_text():
                break
            page.wait_for_timeout(50)
        assert erased.get_by_text("Erased", exact=True).count() == 1
        look_at(page, "people-erased")
        for path in ("/audit", "/people"):
            shown = json.dumps(site.api.get(f"{path}?limit=500"))
            assert not [trace for trace in ("leaver", "Lea Ver", "Lea's phone") if trace in shown], path
        page.get_by_label("Id").fill("leaver")
        page.get_by_role("button", name="Invite").click()
        page.get_by_role("alert").get_by_text("data was erased").wait_for()


def test_a_token_is_shown_once_and_revoked(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("ann")) as visitor:
        page = visitor.open("/tokens")
        page.get_by_label("What it is for").fill("Nightly export")
        page.get_by_role("button", name="Make token").click()
        value = page.locator(".code code").first.inner_text()

        def status() -> int:
            headers = {"authorization": f"Bearer {value}"}
            return httpx.get(f"{site.url}/api/v1/me", headers=headers, trust_env=False).status_code

        assert status() == 200
        page.get_by_role("link", name="I have copied it").click()
        assert value not in page.content()
        page.locator("tr", has_text="Nightly export").get_by_role("link", name="Revoke").click()
        page.get_by_role("button", name="Revoke token").click()
        page.get_by_role("status").wait_for()
        assert status() == 401


def test_a_budget_of_a_team(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        visitor.expected = {422}
        page = visitor.open("/budgets")
        for amount in ("much", "1,500.50", "$1500.50"):
            page.get_by_label("Of", exact=True).select_option("team")
            page.get_by_label("Id").fill("platform")
            page.get_by_label("A month").fill(amount)
            page.get_by_role("button", name="Set budget").click()
            page.get_by_role("status" if amount.startswith("$") else "alert").wait_for()
            if "," in amount:
                assert 'such as "1000.50"' in page.locator("#p-per_month").inner_text()
        budget = site.api.get("/budgets/team/platform")["budget"]
        assert budget == {"per_month": "1500.50"}
        page.locator("tr", has_text="platform").get_by_role("button", name="Remove").click()
        page.get_by_role("status").wait_for()
        assert site.api.call("GET", "/budgets/team/platform").status_code == 404


def test_a_team_and_its_members(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        visitor.expected = {404, 422}
        page = visitor.open("/teams")
        page.get_by_label("Id").fill("green")
        page.get_by_label("Name").fill("Green")
        page.get_by_label("Members may make keys").check()
        page.get_by_label("Keys", exact=True).fill("0")
        page.get_by_label("Groups").fill("mixed")
        page.get_by_role("button", name="Add team").click()
        assert "from 1 to 1000" in page.locator("#p-keys").inner_text()
        assert page.get_by_label("Name").input_value() == "Green", "what was typed is not lost"
        page.get_by_label("Keys", exact=True).fill("3")
        page.get_by_label("Requests a minute").fill("60")
        page.get_by_label("Budget a month").fill("$1000.50")
        page.get_by_role("button", name="Add team").click()
        page.get_by_role("status").wait_for()
        allowance = {"keys": 3, "groups": ["mixed"], "limits": {"requests_per_minute": 60, "budget": {"per_month": "1000.50"}}}
        assert site.api.get("/teams/green")["allowance"] == allowance

        # Members: by their ids, and out again after it was asked.
        for person in ("nobody", "ann"):
            page.get_by_label("Person").fill(person)
            page.get_by_role("button", name="Add member").click()
            page.get_by_role("alert" if person == "nobody" else "status").wait_for()
        assert [of["person"] for of in site.api.get("/teams/green/members")["items"]] == ["ann"]
        page.get_by_role("button", name="Take out").click()
        page.get_by_role("button", name="Take out").click()
        page.get_by_role("heading", name="Nobody is in it").wait_for()

        # What is not in the form's way stays, and no keys are allowed any more.
        page.get_by_label("Members may make keys").uncheck()
        page.get_by_role("button", name="Save").click()
        page.get_by_role("status").wait_for()
        team = site.api.get("/teams/green")
        assert (team["name"], team.get("allowance")) == ("Green", None)
        page.get_by_role("link", name="Remove").click()
        page.get_by_role("button", name="Remove team").click()
        page.get_by_role("status").wait_for()
        assert site.api.call("GET", "/teams/green").status_code == 404


def test_an_envoy_enrols_and_is_revoked(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/settings")
        page.get_by_label("Id").fill("edge-9")
        page.get_by_role("button", name="Add Envoy").click()
        token = page.locator(".code code").first.inner_text()
        answer = httpx.post(f"{site.url}/api/v1/enrol", json={"token": token}, trust_env=False)
        assert answer.status_code == 201, answer.text
        page.get_by_role("link", name="I have copied it").click()
        row = page.locator("tr", has_text="edge-9")
        assert "Enrolled" in row.inner_text()
        row.get_by_role("link", name="Revoke").click()
        page.get_by_role("button", name="Revoke").click()
        page.get_by_role("status").wait_for()
        headers = {"authorization": f"Bearer {answer.json()['token']}"}
        feed = httpx.get(f"{site.url}/api/v1/feed/document", headers=headers, trust_env=False)
        assert feed.status_code == 401


def test_who_may_not(site: SeededConsole) -> None:
    """The table of the API's routes decides for pages too: nothing is changed by a form that a role may not send."""
    forms = [
        ("/drafts", {}),
        ("/people", {"id": "mallory", "role": "admin"}),
        ("/people/ann/change", {"role": "admin"}),
        ("/people/ann/disable", {}),
        ("/people/ann/enable", {}),
        ("/people/admin/link", {}),
        ("/budgets", {"kind": "owner", "id": "ann", "per_month": "1000000"}),
        ("/teams", {"id": "mallory"}),
        ("/teams/blue", {"name": "Mallory"}),
        ("/teams/blue/members", {"person": "mallory"}),
        ("/teams/blue/leave", {"person": "ann"}),
        ("/teams/blue/remove", {}),
        ("/people/ann/revoke-link", {}),
        ("/people/ann/erase", {}),
        ("/envoys", {"id": "mallory"}),
        ("/accounts/credentials/a-official-1", {"value": "sk-mallory"}),
        ("/documents/1/publish", {"in_force": "2"}),
        (f"/drafts/{site.named['draft']}/text", {"revision": "2", "body": "{}"}),
        (f"/drafts/{site.named['draft']}/publish", {"revision": "2"}),
        (f"/drafts/{site.named['draft']}/discard", {"revision": "2"}),
    ]
    for person in ("ann", "victor"):
        cookies = {cookie["name"]: cookie["value"] for cookie in site.session(person)}
        with httpx.Client(base_url=site.url, cookies=cookies, trust_env=False) as http:
            found = re.search(r'name="csrf" value="([0-9a-f]{64})"', http.get("/tokens").text)
            assert found
            for path, form in forms:
                answer = http.post(path, data={"csrf": found[1], **form})
                # Of a team that one does not manage one learns nothing.
                wanted = 404 if person == "ann" and path in ("/teams/blue", "/teams/blue/members", "/teams/blue/leave") else 403
                assert answer.status_code == wanted, (person, path, answer.status_code)
    for path in ("/people", "/audit", "/settings", "/groups", "/accounts", f"/drafts/{site.named['draft']}"):
        cookies = {cookie["name"]: cookie["value"] for cookie in site.session("ann")}
        assert httpx.get(site.url + path, cookies=cookies, trust_env=False).status_code == 403, path


def test_pages_are_small(site: SeededConsole) -> None:
    cookies = {cookie["name"]: cookie["value"] for cookie in site.session("admin")}
    paths = ["/groups", "/groups/mixed", "/audit", "/people", "/settings", "/accounts", "/documents/1"]
    paths += [f"/drafts/{site.named['draft']}{part}" for part in ("", "/text", "/group?group=mixed")]
    for path in paths:
        answer = httpx.get(site.url + path, cookies=cookies, trust_env=False)
        assert answer.status_code == 200, path
        assert len(answer.content) <= 100_000, (path, len(answer.content))
