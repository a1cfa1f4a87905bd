"""Every page: nothing against the policy, no accessibility violation in either theme, no sideways scrolling at any width."""

from __future__ import annotations

import os
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from e2e.browser.chromium import ROOT, Browsers
from e2e.browser.pages import PAGES
from e2e.browser.seeded import SeededConsole

SCREENSHOTS = ROOT / "target" / "screenshots"
#: Nothing is checked on them. Somebody who runs these tests looks at them; the whole suite, with its workers, need not take them.
TAKES_SCREENSHOTS = "PYTEST_XDIST_WORKER" not in os.environ
WIDTHS = (1440, 800, 360)
AXE = Axe()
#: What passes is not described: that takes as long as the checks.
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}


def violations(page: Any) -> list[str]:
    found = AXE.run(page, options=RULES).response["violations"]
    return [f"{violation['id']}: {node['html'][:160]} {node['failureSummary']}" for violation in found for node in violation["nodes"]]


def look_at(page: Any, name: str) -> None:
    """The page in both themes and every width, with a screenshot of most."""
    if TAKES_SCREENSHOTS:
        SCREENSHOTS.mkdir(exist_ok=True)
    assert page.locator("h1").count() == 1
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, f"{name} scrolls sideways by {over} px at {width} px"
            if TAKES_SCREENSHOTS and (theme == "light" or width == 1440):
                page.screenshot(path=SCREENSHOTS / f"{name}-{width}-{theme}.png", full_page=True)
        assert violations(page) == [], f"{name}, {theme}"


@pytest.mark.parametrize(("name", "path", "person"), PAGES, ids=[name for name, _, _ in PAGES])
def test_a_page(site: SeededConsole, chromium: Browsers, name: str, path: str, person: str) -> None:
    state = site.session(person) if person else None
    with chromium.visitor(site.url, state=state) as visitor:
        look_at(visitor.open(path.format_map(site.named)), name)


def test_the_checks_see_what_is_wrong(site: SeededConsole, chromium: Browsers) -> None:
    """They are worth something: a page with faults has them."""
    with chromium.visitor(site.url) as visitor:
        page = visitor.open("/sign-in")
        page.evaluate("document.querySelector('label[for=person]').remove()")
        assert any(fault.startswith("label") for fault in violations(page))
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")
        page.wait_for_timeout(50)
        assert any("policy: style-src" in fault for fault in visitor.faults), visitor.faults
        visitor.faults.clear()
