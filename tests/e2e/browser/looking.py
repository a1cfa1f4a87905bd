"""Looks at a page as whoever reads it does: in both themes, at every width, with what assistive programs need."""

from __future__ import annotations

import os
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from e2e.browser.chromium import ROOT

SCREENSHOTS = ROOT / "target" / "screenshots"
#: Nothing is checked on them. Somebody who runs these tests looks at them; the whole suite, with its workers, need not take them.
TAKES_SCREENSHOTS = "PYTEST_XDIST_WORKER" not in os.environ
WIDTHS = (1440, 800, 360)
AXE = Axe()
EVERY_RULE = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
#: The rules whose answer a theme can change.
COLOURS = ["color-contrast", "link-in-text-block"]


def violations(page: Any, rules: list[str]) -> list[str]:
    # Not by `AXE.run`, which puts the script into the page each time: half a megabyte to compile.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    # What passes is not described: that takes as long as the checks.
    options = {"runOnly": rules, "resultTypes": ["violations"]}
    found = page.evaluate("async (options) => (await axe.run(document, options)).violations", options)
    return [f"{violation['id']}: {node['html'][:160]} {node['failureSummary']}" for violation in found for node in violation["nodes"]]


def look_at(page: Any, name: str) -> None:
    """The page in both themes and every width, with a screenshot of each."""
    if TAKES_SCREENSHOTS:
        SCREENSHOTS.mkdir(exist_ok=True)
    before = page.viewport_size
    assert page.locator("h1").count() == 1
    for theme, rules in (("light", EVERY_RULE), ("dark", COLOURS)):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        _fits(page, f"{name}-{{}}-{theme}")
        assert violations(page, rules) == [], f"{name}, {theme}"
    page.set_viewport_size(before)


def look_in(language: str, page: Any, name: str) -> None:
    """The same page in another language: its texts have other lengths."""
    before = page.viewport_size
    address = page.evaluate("location.origin")
    page.context.add_cookies([{"name": "trilane-language", "value": language, "url": address}])
    try:
        page.reload()
        assert page.evaluate("document.documentElement.lang") == language, name
        for theme in ("dark", "light") if TAKES_SCREENSHOTS else ("light",):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            _fits(page, f"{name}-{{}}-{theme}-{language}")
    finally:
        page.context.clear_cookies(name="trilane-language")
        page.set_viewport_size(before)


def _fits(page: Any, shot: str) -> None:
    """The page scrolls sideways at no width. `shot` names a screenshot by its width."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{shot.format(width)} scrolls sideways by {over} px"
        if TAKES_SCREENSHOTS:
            page.screenshot(path=SCREENSHOTS / f"{shot.format(width)}.png", full_page=True)
