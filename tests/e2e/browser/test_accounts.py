"""Accounts: failed attempts over time are those of the API."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

import pytest
from e2e.browser.chromium import Browsers
from e2e.browser.seeded import SeededConsole

ENDED_WELL = ("answered", "client_left")


@pytest.mark.parametrize(("period", "back"), [("day", timedelta(days=29)), ("hour", timedelta(hours=47))])
def test_failed_attempts_by_kind(site: SeededConsole, chromium: Browsers, period: str, back: timedelta) -> None:
    since = (datetime.now(timezone.utc) - back).strftime("%Y-%m-%dT%H" if period == "hour" else "%Y-%m-%d")
    items = site.api.get(f"/attempts?period={period}&since={since}")["items"]
    want: dict[str, dict[str, str]] = {}
    for item in items:
        failed = {kind: count for kind, count in item["ended"].items() if kind not in ENDED_WELL}
        assert sum(failed.values()) == item["failed"]
        if failed:
            at = item["period"].replace("T", " ") + (":00" if period == "hour" else "")
            want[at] = {kind.replace("_", " "): str(count) for kind, count in failed.items()}
    assert want, "the ledger has failed attempts"
    with chromium.visitor(site.url, state=site.session("victor")) as visitor:
        page = visitor.open(f"/accounts?period={period}")
        page.get_by_role("heading", name=f"Failed attempts by {period} and kind").wait_for()
        total = sum(item["failed"] for item in items)
        said = page.locator("p.figure") if len(want) == 1 else page.locator("figcaption")
        assert re.match(rf"{total} ", said.text_content() or ""), said.text_content()
        page.locator("summary", has_text="As a table").click()
        heads = page.locator("details[open] th").all_inner_texts()[1:-1]
        shown = {}
        for row in page.locator("details[open] tbody tr").all():
            at, *cells = row.locator("td").all_inner_texts()
            shown[at] = {head: cell for head, cell in zip(heads, cells[:-1], strict=True) if cell != "0"}
        assert shown == want
        # Of one account, from its row; and of one that never failed.
        row = page.locator("tr", has=page.locator("strong", has_text="b-official-1"))
        row.get_by_role("link", name="1 / 1: failed attempts at b-official-1").click()
        page.get_by_role("heading", name=f"Failed attempts at b-official-1 by {period} and kind").wait_for()
        assert page.locator(".legend li").all_inner_texts() == ["rate limited 1"]
        page.get_by_role("combobox", name="Account").select_option("a-official-1")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("heading", name="No attempt failed").wait_for()


def test_from_the_overview(site: SeededConsole, chromium: Browsers) -> None:
    with chromium.visitor(site.url, state=site.session("victor")) as visitor:
        page = visitor.open("/")
        row = page.get_by_role("region", name="Upstream accounts").locator("tr", has_text="b-official-1")
        row.get_by_text("100 % failed, rate limited").wait_for(timeout=15_000)
        row.get_by_role("link", name="1 of 1 attempts at b-official-1 failed").click()
        page.get_by_role("heading", name="Failed attempts at b-official-1 by hour and kind").wait_for()
