"""The overview says what the API says, and goes on saying it while it is open."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import httpx
from e2e.browser.chromium import ROOT, Browsers, Visitor, exact_texts
from e2e.browser.seeded import SeededConsole, line
from e2e.console.running import Console
from playwright.sync_api import expect

LOST = "The connection to the console is lost"
DOCUMENT = ROOT / "envoy" / "gateway.json"


def send(site: SeededConsole, file: str, charge: str) -> None:
    """One request more, in a ledger file of its own."""
    text = line(datetime.now(timezone.utc), "live", "ann", "gpt-5.1", charge)
    headers = {"authorization": site.api._http.headers["authorization"]}
    answer = httpx.post(f"{site.url}/api/v1/ledger/edge-9/{file}?from=0&ends=true", content=text, headers=headers, trust_env=False)
    assert answer.status_code == 200, answer.text


def measured(visitor: Visitor, name: str) -> float:
    """What the browser counts of its page, after a collection of garbage."""
    session = visitor.page.context.new_cdp_session(visitor.page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return float(next(metric["value"] for metric in metrics if metric["name"] == name))


def test_the_page_is_what_the_api_says(site: SeededConsole, chromium: Browsers) -> None:
    since = (datetime.now(timezone.utc) - timedelta(hours=23)).strftime("%Y-%m-%dT%H")
    sums = {item["currency"]: item for item in site.api.get(f"/usage?since={since}")["items"]}
    requests = sum(item["counts"]["requests"] for item in sums.values())
    top = site.api.get(f"/usage/top?currency=USD&since={since}&limit=8")["items"]
    with chromium.visitor(site.url, state=site.session("victor")) as visitor:
        page = visitor.open("/")
        # What all see alike may be some seconds old.
        tile = page.locator(".tiles div", has_text=re.compile("^Requests")).locator("dd").first
        expect(tile).to_have_text(f"{requests:,}", timeout=15_000)
        tiles = dict(zip(page.locator(".tiles dt").all_inner_texts(), exact_texts(page.locator(".tiles dd:not(.sub)")), strict=True))
        assert tiles["Requests"] == f"{requests:,}"
        assert Decimal(tiles["Spent"].strip("$").replace(",", "")) == Decimal(sums["USD"]["charge"])
        rows = page.get_by_role("region", name="Keys that spent the most").locator("tbody tr")
        cells = [exact_texts(row.locator("td")) for row in rows.all()]
        # Amounts have two places at least.
        shown = [(key, Decimal(spent.strip("$").replace(",", "")), requests) for key, spent, requests in cells]
        labels = {item["values"]["key"]: site.api.get(f"/keys/{item['values']['key']}").get("label", item["values"]["key"]) for item in top}
        want = [(labels[item["values"]["key"]], Decimal(item["charge"]), str(item["counts"]["requests"])) for item in top]
        assert shown == want
        for title in ("Spend by hour and model", "Tokens by hour and model", "Requests by hour and how they ended", "How soon responses began, by hour"):
            assert page.get_by_role("heading", name=title).count() == 1, title
        # From a number to what it is made of.
        page.get_by_role("link", name=re.compile("requests: finished$")).click()
        page.wait_for_url("**/requests?outcome=finished&since=*")
    with chromium.visitor(site.url, state=site.session("ann")) as visitor:
        page = visitor.open("/")
        assert page.get_by_role("link", name="Overview").count() == 0, "a member sees what is their own"


def test_ranges_and_bars(site: SeededConsole, chromium: Browsers) -> None:
    """Each range is a link, and each bar says its value where the focus is, without a script."""
    with chromium.visitor(site.url, state=site.session("victor")) as visitor:
        page = visitor.open("/")
        ranges = page.get_by_role("navigation", name="Time").get_by_role("link")
        assert ranges.all_inner_texts() == ["Last hour", "24 hours", "7 days", "30 days", "This month"]
        for title, name in (("Last hour", "hour"), ("7 days", "7d"), ("30 days", "30d"), ("This month", "month")):
            page.get_by_role("navigation", name="Time").get_by_role("link", name=title, exact=True).click()
            page.wait_for_url(f"**/?range={name}")
            current = page.locator(".ranges a[aria-current]")
            assert current.all_inner_texts() == [title]
        page = visitor.open("/?range=30d")
        # By hour while what there is is young.
        chart = page.get_by_role("figure", name=re.compile("^Requests by (hour|day) and how they ended$"))
        bar = chart.locator("li[tabindex]").first
        tip = bar.locator(".tip")
        assert tip.evaluate("of => getComputedStyle(of).opacity") == "0"
        bar.focus()
        assert tip.evaluate("of => getComputedStyle(of).opacity") == "1"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d( \d\d:00)?: [\d,]+", tip.inner_text()) and bar.get_attribute("title") == tip.inner_text()


def test_it_is_live(tmp_path: Path, chromium: Browsers) -> None:
    """What comes in appears without a reload; a lost connection is told and found again; nobody who looks away keeps one."""
    with Console(tmp_path / "db", "--import-document", str(DOCUMENT)) as console:
        site = SeededConsole(console)
        with chromium.visitor(site.url, state=site.session("admin")) as visitor:
            page = visitor.open("/")
            page.get_by_text("No Envoy is known here").wait_for()
            send(site, "file-1", "1.25")
            page.get_by_text("$1.25", exact=True).wait_for()
            # Not under somebody's hands: it is replaced when they have left it.
            page.locator(".live a").first.focus()
            send(site, "file-2", "1")
            page.wait_for_timeout(6_000)
            assert page.get_by_text("$2.25", exact=True).count() == 0
            page.get_by_role("link", name="Keys", exact=True).focus()
            page.get_by_text("$2.25", exact=True).wait_for()

            began = time.monotonic()
            console.stop()
            assert time.monotonic() - began < 5, "a console that stops waits for no page"
            page.get_by_text(LOST).wait_for()
            assert page.get_by_text("$2.25", exact=True).count() == 1, "what was there is still shown"
            console.start()
            send(site, "file-3", "1")
            page.get_by_text("$3.25", exact=True).wait_for(timeout=20_000)
            assert page.get_by_text(LOST).count() == 0
            visitor.faults = [fault for fault in visitor.faults if "ERR_CONNECTION_REFUSED" not in fault and "ERR_INCOMPLETE" not in fault]


def test_a_page_that_stays_open_keeps_nothing(tmp_path: Path, chromium: Browsers) -> None:
    """As often as it is shown anew, the page and the console have as much as at first."""
    with Console(tmp_path / "db", "--import-document", str(DOCUMENT)) as console:
        site = SeededConsole(console)
        with chromium.visitor(site.url, state=site.session("admin")) as visitor:
            page = visitor.open("/")
            page.get_by_text("No Envoy is known here").wait_for()
            # As the browser does when one goes to another tab and comes back.
            look_away = """async (hidden) => {
                Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
                document.dispatchEvent(new Event("visibilitychange"));
                await new Promise((done) => setTimeout(done, 60));
            }"""

            def turns(count: int) -> dict[str, float]:
                for _ in range(count):
                    page.evaluate(look_away, True)
                    page.evaluate(look_away, False)
                page.wait_for_timeout(500)
                return {name: measured(visitor, name) for name in ("Nodes", "JSEventListeners", "JSHeapUsedSize")}

            def open_parts() -> int:
                text = httpx.get(f"{console.metrics}/metrics", trust_env=False).text
                return int(re.search(r"^trilane_console_live_parts (\d+)", text, re.M)[1])

            first = turns(10)
            last = turns(60)
            for name in ("Nodes", "JSEventListeners"):
                assert last[name] <= first[name] + 5, (name, first, last)
            assert last["JSHeapUsedSize"] < first["JSHeapUsedSize"] * 1.3, (first, last)
            page.evaluate(look_away, True)
            for _ in range(40):
                if open_parts() == 0:
                    break
                time.sleep(0.25)
            assert open_parts() == 0, "a page that nobody sees has no connection"
            page.evaluate(look_away, False)
            page.wait_for_timeout(500)
            assert open_parts() == 1


def test_what_needs_somebody(site: SeededConsole, chromium: Browsers) -> None:
    """Budgets that are nearly spent and accounts without a credential, each with the way to where it is mended."""
    with chromium.visitor(site.url, state=site.session("victor")) as visitor:
        page = visitor.open("/")
        needs = page.get_by_role("region", name="Needs attention")
        budget = needs.locator(".notice", has_text=re.compile(r"Key Evals has spent \d+ % of this month's budget: requests are refused"))
        budget.wait_for(timeout=15_000)
        near = {of["id"]: of for of in site.api.get("/budgets/nearly-spent")["items"]}
        assert f"spent {near['evals']['percent']} %" in budget.inner_text()
        # b-official-1 has answered: it has its credential in a file.
        account = needs.locator(".notice", has_text="no credential is kept here")
        assert re.match(r"Accounts \S+, \S+, \S+ and \d+ more: ", account.inner_text()), account.inner_text()
        account.get_by_role("link", name="Add credentials").click()
        page.wait_for_url("**/accounts")
        visitor.open("/")
        budget.get_by_role("link", name="Budget").click()
        page.wait_for_url("**/keys/evals")
        page = visitor.open("/nearly-spent")
        rows = page.get_by_role("region", name="Budgets nearly spent").locator("tbody tr")
        assert rows.count() == len(near)
        row = rows.filter(has_text="Evals")
        assert f"{near['evals']['percent']} %" in row.inner_text()
