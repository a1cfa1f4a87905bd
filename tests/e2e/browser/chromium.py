"""A real Chromium, and pages that fail the test on what no page may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import pytest
from e2e.browser import fetch
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, Response, sync_playwright

ROOT = Path(__file__).resolve().parents[3]
#: A browser that asks nobody for anything, and runs as root and without a screen.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Says where a policy was violated, and where a script failed.
WATCH = """
addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
"""


def exact_texts(elements: Locator) -> list[str]:
    """The texts of elements, with the exact amount in place of a rounded one."""
    return list(elements.evaluate_all("all => all.map((of) => of.querySelector('span[title]')?.title ?? of.innerText)"))


def program() -> str:
    """The browser."""
    return fetch.program() or pytest.fail("there is no Chromium: make browser fetches one, or CHROMIUM names one")


class Visitor:
    """A browser profile of its own. It keeps what its pages did wrong."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self._context = context
        self._origin = origin
        self.faults: list[str] = []
        #: Statuses that the test is about.
        self.expected: set[int] = set()
        context.add_init_script(WATCH)
        self.page = self.tab()

    def tab(self) -> Page:
        page = self._context.new_page()
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("request", self._request)
        page.on("response", self._response)
        return page

    def _note(self, kind: str, text: str) -> None:
        if kind != "error":
            return
        # Chromium says so of each status from 400 on; `_response` looks at those.
        if text.startswith("Failed to load resource: the server responded with a status of"):
            return
        self.faults.append(f"console: {text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self._origin, "data:")):
            self.faults.append(f"asked elsewhere: {request.url}")

    def _response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected:
            self.faults.append(f"{response.status} of {response.request.method} {response.url}")

    def open(self, path: str) -> Page:
        self.page.goto(self._origin + path)
        return self.page

    def sign_in(self, link: str) -> Page:
        """By a link that is good once."""
        self.page.goto(self._origin + link)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "/sign-in" not in url)
        return self.page

    def cookies(self) -> list[Any]:
        return list(self._context.cookies())

    def close(self) -> None:
        self._context.close()


class Browsers:
    """One browser, in which each test has a profile of its own."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    @contextmanager
    def visitor(
        self, origin: str, width: int = 1440, theme: str = "light", scripts: bool = True, state: Optional[Any] = None
    ) -> Iterator[Visitor]:
        """A profile. At its end there must be no fault."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            java_script_enabled=scripts,
            timezone_id="Asia/Kolkata",
            locale="en-GB",
            reduced_motion="reduce",
        )
        context.set_default_timeout(10_000)
        if state:
            context.add_cookies(state)
        visitor = Visitor(context, origin)
        try:
            yield visitor
            assert visitor.faults == []
        finally:
            visitor.close()


@contextmanager
def browsers() -> Iterator[Browsers]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=FLAGS)
        try:
            yield Browsers(browser)
        finally:
            browser.close()
