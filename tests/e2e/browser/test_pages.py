"""Every page: nothing against the policy, no accessibility violation in either theme, no sideways scrolling at any width, in no language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest
from e2e.browser.chromium import Browsers, Visitor
from e2e.browser.looking import EVERY_RULE, look_at, look_in, violations
from e2e.browser.pages import PAGES
from e2e.browser.seeded import SeededConsole


@pytest.fixture(scope="module")
def visitor_of(site: SeededConsole, chromium: Browsers) -> Iterator[Callable[[str], Visitor]]:
    """One tab for each person: to look at a page takes less time than to begin with a new profile."""
    with ExitStack() as open_ones:
        found: dict[str, Visitor] = {}

        def visitor(person: str) -> Visitor:
            if person not in found:
                state = site.session(person) if person else None
                found[person] = open_ones.enter_context(chromium.visitor(site.url, state=state))
            return found[person]

        yield visitor


@pytest.mark.parametrize(("name", "path", "person"), PAGES, ids=[name for name, _, _ in PAGES])
def test_a_page(site: SeededConsole, visitor_of: Callable[[str], Visitor], name: str, path: str, person: str) -> None:
    visitor = visitor_of(person)
    named = dict(site.named)
    if "{user_code}" in path:
        # It waits for ten minutes only.
        asked = {"client_id": "trilane", "scope": "keys:write usage:read documents:write accounts:read"} if name.endswith("-api") else None
        named["user_code"] = httpx.post(f"{site.url}/oauth/device_authorization", data=asked, trust_env=False).json()["user_code"]
    try:
        page = visitor.open(path.format_map(named))
        look_at(page, name)
        look_in("zh-CN", page, name)
    finally:
        # Each page has its own, also one that fails.
        faults, visitor.faults = visitor.faults, []
    assert faults == []


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
