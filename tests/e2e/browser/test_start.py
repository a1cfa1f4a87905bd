"""A console with nothing in it says what to do first."""

from __future__ import annotations

from pathlib import Path

from e2e.browser.chromium import ROOT, Browsers
from e2e.browser.seeded import SeededConsole
from e2e.browser.test_pages import SCREENSHOTS, violations
from e2e.console.running import Console


def test_an_empty_console(tmp_path: Path, chromium: Browsers) -> None:
    with Console(tmp_path / "db") as console:
        site = SeededConsole(console)
        with chromium.visitor(site.url, state=site.session("admin")) as visitor:
            page = visitor.open("/keys")
            page.get_by_role("heading", name="No keys yet").wait_for()
            page.get_by_role("link", name="Get started").click()
            assert page.locator(".state", has_text="To do").count() == 3
            assert f"trilane up --console-url {site.url} " in page.locator("code").all_inner_texts()[2]
            assert violations(page) == []
            page.screenshot(path=SCREENSHOTS / "start-empty-1440-light.png", full_page=True)

    document = ROOT / "envoy" / "gateway.json"
    with Console(tmp_path / "other", "--import-document", str(document)) as console:
        site = SeededConsole(console)
        site.api.post("/envoys", {"id": "edge-1"})
        with chromium.visitor(site.url, state=site.session("admin")) as visitor:
            page = visitor.open("/start")
            assert page.locator(".state", has_text="Done").count() == 2
            page.get_by_role("link", name="Create the first key").click()
            page.get_by_role("button", name="Create key").click()
            page.get_by_role("heading", name="The key is made").wait_for()
            page = visitor.open("/start")
            assert page.locator(".state", has_text="Done").count() == 3
