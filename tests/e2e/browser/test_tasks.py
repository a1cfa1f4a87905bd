"""What people come to the console for: from the overview to the end in at most four clicks, beside typing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from e2e.browser.chromium import ROOT, Browsers, Visitor
from e2e.browser.looking import look_at
from e2e.browser.seeded import SeededConsole, fill, line
from e2e.console.running import Console
from e2e.console.test_webhooks import Receiver
from playwright.sync_api import Locator, Page

MOST = 4


@pytest.fixture(name="own")
def own_fixture(tmp_path: Path) -> Iterator[SeededConsole]:
    """A console that serves the sample, with two keys and an admin beside the first."""
    document = ROOT / "envoy" / "gateway.json"
    with Console(tmp_path / "db", "--import-document", str(document), "--gateway-url", "https://ai.example.com") as console:
        site = SeededConsole(console)
        for name in ("Notebook", "Build"):
            site.api.post("/keys", {"id": name.lower(), "group": "b-official", "label": name})
        yield site


@pytest.fixture(scope="module", name="used")
def used_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededConsole]:
    """A console that has people, keys and a ledger, of yesterday too, and may tell receivers on this machine."""
    options = ("--import-document", str(ROOT / "envoy" / "gateway.json"), "--allow-private-webhooks")
    noon = datetime.now(timezone.utc).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    lines = [line(noon + timedelta(minutes=number), "evals", "ann", "claude-opus-4-5", "3.25") for number in range(3)]
    lines.append(line(noon + timedelta(minutes=9), "data", "Data team", "gpt-5.1", "1.5"))
    with Console(tmp_path_factory.mktemp("tasks") / "db", *options) as console:
        fill(console.api)
        console.api.take_in("edge-2", "".join(lines))
        yield SeededConsole(console)


class Task:
    """Counts clicks from the overview: what is chosen or ticked is clicked, too."""

    def __init__(self, visitor: Visitor) -> None:
        self.page: Page = visitor.open("/")
        self.clicks = 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1

    def place(self, name: str) -> None:
        self.click(self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True))

    def search(self, text: str) -> None:
        """Pastes something into the search of every page."""
        box = self.page.get_by_role("searchbox", name="Search everywhere")
        box.fill(text)
        box.press("Enter")

    def publish(self) -> None:
        self.page.wait_for_url(re.compile(r"/drafts/[^/]+\?notice=saved"))
        self.page.get_by_label("Note").fill("By a task")
        self.click(self.page.get_by_role("button", name="Publish"))
        self.page.get_by_role("status").get_by_text("Published").wait_for()
        assert self.clicks <= MOST, self.clicks


def group(site: SeededConsole, name: str) -> dict[str, Any]:
    groups = json.loads(site.api.get("/documents/current")["body"])["groups"]
    return next(group for group in groups if group["id"] == name)


def words(page: Page) -> str:
    return page.locator(".card", has=page.get_by_role("heading", name="Once it is published")).inner_text()


@pytest.mark.parametrize("scripts", [True, False], ids=["", "without_scripts"])
def test_a_price(own: SeededConsole, chromium: Browsers, scripts: bool) -> None:
    with chromium.visitor(own.url, state=own.session("admin"), scripts=scripts) as visitor:
        model = group(own, "b-official")["models"][0]
        task = Task(visitor)
        task.place("Models")
        task.click(task.page.get_by_title(f"Change the prices of {model['id']}").first)
        task.page.get_by_text("A draft was begun for you.").wait_for()
        field = task.page.locator('[name="prices.output"]')
        assert field.input_value() == model["prices"]["output"]
        field.fill("99")
        task.click(task.page.get_by_role("button", name="Save in the draft"))
        task.page.get_by_role("heading", name="Once it is published").wait_for()
        said = words(task.page)
        assert f"The price of {model['id']} rises for" in said and "Notebook" in said and "No key gains or loses a model." in said, said
        assert "Nobody pays more" not in said
        if scripts:
            look_at(task.page, "draft-of-a-price")
        task.publish()
        assert group(own, "b-official")["models"][0]["prices"]["output"] == "99"
        assert own.api.get("/documents/current")["note"] == "By a task"


def test_a_model_and_an_open_draft(own: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(own.url, state=own.session("admin")) as visitor:
        task = Task(visitor)
        task.place("Models")
        task.click(task.page.get_by_role("button", name="Add a model to Protocol B official channel"))
        task.page.get_by_text("A draft was begun for you.").wait_for()
        task.page.get_by_label("Model", exact=True).fill("claude-next")
        for name in ("input", "cache_read", "output"):
            task.page.locator(f'[name="prices.{name}"]').fill("1")
        task.click(task.page.get_by_role("button", name="Add model"))
        task.page.get_by_role("heading", name="Once it is published").wait_for()
        said = words(task.page)
        assert "gain claude-next" in said and "Nobody pays more." in said, said

        # A limit goes into the same draft, which is said.
        where = task.page.url.split("?")[0]
        page = visitor.open("/groups/b-official")
        page.get_by_role("button", name="Change the limits").click()
        page.get_by_text("This goes into your open draft.").wait_for()
        page.get_by_label("Requests a minute").fill("many")
        visitor.expected = {422}
        page.get_by_role("button", name="Save in the draft").click()
        page.locator("[id=\"p-limits.requests_per_minute\"]", has_text="must be a whole number").wait_for()
        assert page.get_by_label("Requests a minute").input_value() == "many", "what was typed stays"
        page.get_by_label("Requests a minute").fill("60")
        page.get_by_role("button", name="Save in the draft").click()
        page.wait_for_url(lambda url: url.startswith(where))
        assert "requests a minute 60 instead of no limit" in words(page)
        task.publish()
        models = [model["id"] for model in group(own, "b-official")["models"]]
        assert "claude-next" in models and group(own, "b-official")["limits"]["requests_per_minute"] == 60


def test_a_second_key_of_a_vendor(own: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(own.url, state=own.session("admin")) as visitor:
        first = group(own, "b-official")["accounts"][0]
        task = Task(visitor)
        task.place("Vendors")
        task.click(task.page.get_by_role("button", name="Add another key to b-official"))
        page = task.page
        assert page.get_by_label("URL").input_value() == first["url"]
        name = page.get_by_label("Id", exact=True).input_value()
        page.get_by_label("The vendor’s key").fill("sk-second-of-the-vendor-0000")
        task.click(page.get_by_role("button", name="Add account"))
        page.get_by_role("heading", name="Once it is published").wait_for()
        said = words(page)
        assert f"The account {name} of" in said and "Credential missing" not in said, said
        assert "sk-second" not in page.content()
        task.publish()
        accounts = group(own, "b-official")["accounts"]
        kept = own.api.get("/credentials")["items"]
        assert accounts[-1]["id"] == name and [(one["name"], one["state"]) for one in kept] == [(name, "in_use")]

        # Without its key it is said which one lacks, with the way to put it in.
        page = visitor.open("/accounts")
        page.get_by_role("button", name="Add another key to b-official").click()
        third = page.get_by_label("Id", exact=True).input_value()
        page.get_by_role("button", name="Add account").click()
        page.get_by_text("Credential missing").wait_for()
        page.get_by_role("link", name=f"Put it in for {third}").click()
        page.get_by_label("Credential", exact=True).fill("sk-third-of-the-vendor-00000")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("heading", name="Once it is published").wait_for()
        assert "Credential missing" not in words(page)


@pytest.mark.parametrize("scripts", [True, False], ids=["", "without_scripts"])
def test_a_new_colleague(own: SeededConsole, chromium: Browsers, scripts: bool) -> None:
    """One link ends in the lines of a client with a key of one's own."""
    with chromium.visitor(own.url, state=own.session("admin"), scripts=scripts) as visitor:
        task = Task(visitor)
        task.place("People")
        page = task.page
        page.get_by_label("Id", exact=True).fill("ann")
        task.click(page.get_by_text("With a key", exact=True))
        page.get_by_label("Group").select_option(label="Protocol B official channel · b-official (Anthropic-style)")
        page.get_by_label("Label", exact=True).fill("Laptop")
        page.get_by_label("Budget a month").fill("20")
        task.click(page.get_by_role("button", name="Invite", exact=True))
        page.get_by_role("heading", name="A link for ann").wait_for()
        assert task.clicks <= MOST
        link = "/sign-in" + page.locator(".code code").inner_text().split("/sign-in", 1)[1]
    with chromium.visitor(own.url, scripts=scripts) as ann:
        page = ann.sign_in(link)
        for label in ("New password", "Once more"):
            page.get_by_label(label).fill("correct horse battery")
        page.get_by_role("button", name="Set password").click()
        page.get_by_role("button", name="Make the key and show it").click()
        page.get_by_role("heading", name="The key is made").wait_for()
        key = page.locator(".code code").first.inner_text()
        assert key.startswith("tl-")
        lines = page.locator("details.client code").all_text_contents()
        assert any(f"ANTHROPIC_API_KEY={key}" in text for text in lines), lines
        page.get_by_text("No request of this key has arrived yet.").wait_for()


def test_somebody_leaves(used: SeededConsole, chromium: Browsers) -> None:
    used.api.post("/people", {"id": "leaver", "name": "Lee Aver", "role": "member"})
    used.api.new_key("leavers", "mixed", owner="leaver")
    with chromium.visitor(used.url, state=used.session("olga")) as visitor:
        task = Task(visitor)
        task.place("People")
        task.click(task.page.get_by_role("row", name="Lee Aver").get_by_role("link", name="Disable"))
        task.click(task.page.get_by_role("button", name="Disable"))
        task.page.get_by_role("status").get_by_text("The person is disabled").wait_for()
    assert task.clicks <= MOST
    assert used.api.get("/people/leaver")["disabled"] is True
    assert used.api.get("/keys/leavers")["disabled"] is True


def test_a_key_has_leaked(used: SeededConsole, chromium: Browsers) -> None:
    leaked = used.api.new_key("leaked", "mixed", label="Nightly build")
    with chromium.visitor(used.url, state=used.session("olga")) as visitor:
        task = Task(visitor)
        task.search(leaked)
        task.page.get_by_role("heading", name="Nightly build").wait_for()
        task.click(task.page.get_by_role("link", name="Rotate"))
        task.click(task.page.get_by_label("It leaked"))
        task.click(task.page.get_by_role("button", name="Rotate key"))
        task.page.get_by_role("heading", name="The key is rotated").wait_for()
    assert task.clicks <= MOST
    assert used.api.get("/keys/leaked")["hint"] != leaked[-4:]
    assert used.api.get("/keys?search=leaked-old")["items"] == [], "no old value stays good"


def test_who_spent_yesterday(used: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(used.url, state=used.session("olga")) as visitor:
        task = Task(visitor)
        task.place("Usage")
        task.click(task.page.get_by_role("navigation", name="Period").get_by_role("link", name="Yesterday"))
        task.page.locator("[name=by]").select_option(label="Owner")
        task.clicks += 1
        task.click(task.page.get_by_role("button", name="Show"))
        rows = task.page.get_by_role("region", name="Usage").locator("tbody tr")
        rows.filter(has_text="Ann Archer").wait_for()
        shown = {row.locator("td").first.inner_text(): row.locator("td.number").first.inner_text() for row in rows.all()}
    assert task.clicks <= MOST
    # Soon after midnight yesterday has more than what was made for it.
    days = [datetime.now(timezone.utc).date() - timedelta(days=back) for back in (1, 0)]
    items = used.api.get(f"/usage?by=owner&since={days[0]}&until={days[1]}&limit=500")["items"]
    charged = sorted(Decimal(item["charge"]) for item in items if item["currency"])
    amounts = sorted(Decimal(text.strip("$").replace(",", "")) for text in shown.values())
    assert all(abs(amount - charge) <= Decimal("0.005") for amount, charge in zip(amounts, charged, strict=True))
    assert {"Ann Archer", "Data team"} <= shown.keys() and sum(charged) >= Decimal("11.25")


def test_why_this_failed(used: SeededConsole, chromium: Browsers) -> None:
    refused = used.api.get("/requests?limit=1&status=429&key=data")["items"][0]
    with chromium.visitor(used.url, state=used.session("olga")) as visitor:
        task = Task(visitor)
        task.search(refused["line"]["request_id"])
        happened = task.page.locator(".card", has=task.page.get_by_role("heading", name="What happened"))
        assert "the limit was used up when the request came (requests of the key)" in happened.inner_text(), happened.inner_text()
    assert task.clicks == 0


def test_a_statement(used: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(used.url, state=used.session("olga")) as visitor:
        task = Task(visitor)
        task.place("Teams")
        task.click(task.page.get_by_role("main").get_by_role("link", name="Blue"))
        task.click(task.page.get_by_role("link", name="Statement"))
        task.page.get_by_role("heading", name="Statement of").wait_for()
        with task.page.expect_download() as file:
            task.click(task.page.get_by_role("link", name="Download FOCUS"))
        assert file.value.suggested_filename.endswith("-focus.csv"), file.value.suggested_filename
    assert task.clicks <= MOST


def test_an_alert(used: SeededConsole, chromium: Browsers) -> None:
    with Receiver() as receiver, chromium.visitor(used.url, state=used.session("olga")) as visitor:
        task = Task(visitor)
        task.place("Settings")
        task.page.get_by_label("Address", exact=True).fill(receiver.url)
        task.click(task.page.get_by_role("button", name="Add receiver"))
        receiver.secret = task.page.locator(".code code").first.inner_text()
        task.click(task.page.get_by_role("link", name="I have copied it"))
        task.click(task.page.get_by_role("row", name=receiver.url).get_by_role("button", name="Test"))
        task.page.get_by_role("status").get_by_text("The test notice was delivered").wait_for()
        assert len(receiver.told) == 1 and receiver.wrong == []
    assert task.clicks <= MOST
