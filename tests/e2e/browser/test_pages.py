"""Every page: nothing against the policy, no accessibility violation in either theme, no sideways scrolling at any width."""

from __future__ import annotations

import pytest
from e2e.browser.chromium import Browsers
from e2e.browser.looking import EVERY_RULE, look_at, violations
from e2e.browser.pages import PAGES
from e2e.browser.seeded import SeededConsole


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
        assert any(fault.startswith("label") for fault in violations(page, EVERY_RULE))
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")
        page.wait_for_timeout(50)
        assert any("policy: style-src" in fault for fault in visitor.faults), visitor.faults
        visitor.faults.clear()
