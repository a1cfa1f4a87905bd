"""An identity provider is added, offered and removed in the browser, and everything of it can be used by everybody."""

from __future__ import annotations

import re

from e2e.browser.chromium import Browsers
from e2e.browser.looking import look_at
from e2e.browser.seeded import SeededConsole


def test_a_provider_is_added_offered_and_removed(site: SeededConsole, chromium: Browsers) -> None:
    try:
        with chromium.visitor(site.url, state=site.session("olga")) as visitor:
            visitor.expected = {422}
            page = visitor.open("/settings")
            page.get_by_role("link", name="Add a provider").click()
            page.get_by_label("Id", exact=True).fill("example")
            page.get_by_label("Name", exact=True).fill("Example")
            page.get_by_label("Issuer").fill("https://id.example.com")
            page.get_by_label("Client id").fill("trilane")
            page.get_by_label("Client secret").fill("very-secret")
            page.get_by_label("Rules").fill("groups = eng => boss")
            page.get_by_role("button", name="Save").click()
            page.locator("#p-rules", has_text="line 1 is no rule").wait_for()
            assert page.get_by_label("Client secret").input_value() == "", "a secret is not sent back"
            page.get_by_label("Rules").fill("groups = eng => member, key group mixed")
            page.get_by_label("Client secret").fill("very-secret")
            page.get_by_role("button", name="Save").click()
            page.wait_for_url(re.compile("/identity-providers/example"))
            assert "very-secret" not in page.content() and "One is kept." in page.content()
            look_at(page, "identity-provider")
            page.get_by_role("button", name="Read its discovery now").click()
            page.get_by_role("alert").wait_for()
            look_at(visitor.open("/settings"), "settings-with-a-provider")
        with chromium.visitor(site.url) as stranger:
            page = stranger.open("/sign-in?to=/keys")
            way = page.get_by_role("link", name="Sign in with Example")
            assert way.get_attribute("href") == "/sign-in/with/example?to=%2Fkeys"
            look_at(page, "sign-in-with-a-provider")
        with chromium.visitor(site.url, state=site.session("olga")) as visitor:
            page = visitor.open("/identity-providers/example")
            page.get_by_role("link", name="Remove").click()
            page.get_by_role("button", name="Remove").click()
            page.get_by_role("status").wait_for()
            assert "id.example.com" not in page.content()
    finally:
        site.api.call("DELETE", "/identity-providers/example")
