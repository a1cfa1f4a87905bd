"""Usage: the page, its charts and its file say what the API says."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import httpx
from e2e.browser.chromium import Browsers
from e2e.browser.seeded import SeededConsole
from playwright.sync_api import Locator


def read(site: SeededConsole, person: str, path: str) -> httpx.Response:
    cookies = {cookie["name"]: cookie["value"] for cookie in site.session(person)}
    return httpx.get(f"{site.url}{path}", cookies=cookies, trust_env=False)


def exact(cell: Locator) -> str:
    """The amount of a cell: the exact one, where a rounded one is shown."""
    return cell.evaluate("of => of.firstElementChild?.title || of.innerText")


def test_the_file_is_what_the_api_says(site: SeededConsole) -> None:
    answer = read(site, "admin", "/usage.csv?by=owner&then=model&since=")
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    items = site.api.get("/usage?by=owner,model&limit=500")["items"]
    assert rows and len(rows) == len(items)
    for row, item in zip(rows, items, strict=True):
        want = {**item["values"], **{name: str(count) for name, count in item["counts"].items()}}
        want |= {name: item[name] for name in ("currency", "charge", "estimated_charge", "costed_charge", "cost", "margin")}
        assert row == want
    # A member's file has the member's own.
    rows = list(csv.DictReader(io.StringIO(read(site, "ann", "/usage.csv?by=owner&since=").text)))
    assert {row["owner"] for row in rows} == {"ann"}
    assert not {"costed_charge", "cost", "margin"} & set(rows[0]), "what it costs is not a member's to know"
    assert read(site, "ann", "/usage.csv?owner=Docs").status_code == 403


def test_the_page_is_what_the_api_says(site: SeededConsole, chromium: Browsers) -> None:
    sums = {item["currency"]: Decimal(item["charge"]) for item in site.api.get("/usage")["items"]}
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/usage?by=model&since=")
        foot = exact(page.locator("tfoot").first.locator("td").first)
        assert f"${sums['USD']:,}" in foot, foot
        spend = page.locator(".card", has=page.get_by_role("heading", name="Spend by month and model"))
        assert spend.locator("rect").count() >= 4
        # The numbers behind a chart.
        page.locator("summary").first.click()
        # A row for each month: as many as the seeded hours are in.
        rows = [[exact(cell) for cell in row.locator("td").all()] for row in page.locator("details[open] tbody tr").all()]
        models = {item["values"]["model"]: item for item in site.api.get("/usage?by=model")["items"] if item["currency"]}
        heads = page.locator("details[open] th").all_inner_texts()
        assert len(heads) == len(models) + 2
        for head, cells in zip(heads[1:-1], list(zip(*rows))[1:-1], strict=True):
            assert sum(Decimal(cell.strip("$").replace(",", "")) for cell in cells) == Decimal(models[head]["charge"]), head
        # From a row to only that.
        page.get_by_role("link", name="gpt-5.1").first.click()
        page.wait_for_url("**model=gpt-5.1**")
        assert page.locator("tbody").first.locator("tr").count() == 1
        page.get_by_role("textbox", name="Account").fill("nobody's")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("heading", name="Nothing was used").wait_for()
        page.get_by_role("link", name="Clear").click()
        assert page.get_by_role("textbox", name="Account").input_value() == ""
        assert f"${sums['USD']:,}" in exact(page.locator("tfoot").first.locator("td").first)


def test_periods_and_three_columns(site: SeededConsole, chromium: Browsers) -> None:
    month = datetime.now(UTC).strftime("%Y-%m")
    with chromium.visitor(site.url, state=site.session("admin")) as visitor:
        page = visitor.open("/usage")
        assert not page.locator("input[name=month]").is_visible(), "only with a month of one's own"
        page.locator("select[name=period]").select_option("of-month")
        page.locator("input[name=month]").fill(month)
        for field, column in [("by", "team"), ("then", "entry"), ("and", "model")]:
            page.locator(f"select[name={field}]").select_option(column)
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(f"**month={month}**")
        heads = page.locator("thead").first.locator("th").all_inner_texts()
        assert heads[:4] == ["Team", "API style", "Model", "Charge"], heads
        assert page.get_by_role("link", name="Download CSV").get_attribute("href") == f"/usage.csv?by=team&then=entry&and=model&month={month}"
        page.get_by_role("link", name="Yesterday").click()
        page.wait_for_url("**period=yesterday**")
        assert "by=team" in page.url
    for path, name in [
        ("/usage.csv?month=2026-11", "usage-2026-11"),
        ("/usage.csv?since=2026-11-01&until=2026-11-08", "usage-2026-11-01_2026-11-07"),
    ]:
        assert read(site, "admin", path).headers["content-disposition"] == f'attachment; filename="{name}.csv"'


def test_a_statement_prints_and_says_what_the_usage_says(site: SeededConsole, chromium: Browsers) -> None:
    now = datetime.now(UTC)
    since, month = now.strftime("%Y-%m-01"), now.strftime("%Y-%m")
    sums = {item["currency"]: Decimal(item["charge"]) for item in site.api.get(f"/usage?owner=ann&since={since}")["items"]}
    focus = list(csv.DictReader(io.StringIO(read(site, "ann", f"/statement.focus.csv?month={month}").text)))
    assert sum((Decimal(row["BilledCost"]) for row in focus if row["BillingCurrency"] == "USD"), Decimal()) == sums["USD"]
    with chromium.visitor(site.url, state=site.session("ann")) as visitor:
        page = visitor.open("/usage")
        page.get_by_role("link", name="Statement").click()
        page.get_by_role("heading", name=f"Statement of {month}").wait_for()
        assert f"${sums['USD']:,}" in page.locator("tfoot").first.inner_text()
        page.emulate_media(media="print")
        assert not page.get_by_role("navigation", name="Main").is_visible()
        assert not page.get_by_role("link", name="Download CSV").is_visible()
        assert page.get_by_role("heading", name="By model").is_visible()
    assert read(site, "ann", "/statement?owner=Docs").status_code == 403
