"""The pages of keys where there are a million of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from e2e.browser.chromium import Browsers, Visitor
from e2e.browser.looking import EVERY_RULE, look_at, violations
from e2e.browser.million_keys import COUNT, EXPIRED, in_order, million
from e2e.browser.seeded import SeededConsole
from playwright.sync_api import Page, Request

pytestmark = pytest.mark.long

#: The most that a page may transfer, its style and script among it, in bytes.
MOST = 100_000
#: The keys of a page.
ROWS = 50


@pytest.fixture(scope="module", name="many")
def many_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededConsole]:
    with million(tmp_path_factory.mktemp("million")) as console:
        yield console


def owner_of(label: str) -> int:
    """The number of the owner of the key with this label."""
    return int(label.split()[1]) % 1000


class Reader:
    """An admin, each of whose pages has to be small and accessible."""

    def __init__(self, visitor: Visitor, url: str) -> None:
        self.page: Page = visitor.page
        self._url = url
        self._requests: list[Request] = []
        self.page.on("requestfinished", lambda request: self._requests.append(request))

    def open(self, path: str) -> None:
        self.page.goto(self._url + path)
        self.look()

    def press(self, role: str, name: str, leads_to: str) -> None:
        """Presses a button or a link, and looks at the page that it leads to."""
        before = self.page.url
        self.page.get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]
        self.page.wait_for_url(lambda url: url != before and re.search(leads_to, url) is not None)
        self.look()

    def look(self) -> None:
        self.page.wait_for_load_state("networkidle")
        sizes = {request.url: request.sizes()["responseBodySize"] for request in self._requests}
        self._requests.clear()
        assert self.page.url in sizes, sizes
        assert sum(sizes.values()) <= MOST, sizes
        assert violations(self.page, EVERY_RULE) == [], self.page.url

    def find(self, text: str) -> None:
        self.page.get_by_role("searchbox", name="Find keys").fill(text)
        self.press("button", "Find", "search=")

    def labels(self) -> list[str]:
        return self.page.locator("tbody strong").all_inner_texts()


@pytest.fixture(name="reader")
def reader_fixture(many: SeededConsole, chromium: Browsers) -> Iterator[Reader]:
    with chromium.visitor(many.url, state=many.session("admin")) as visitor:
        yield Reader(visitor, many.url)


def test_from_page_to_page_of_a_million(reader: Reader) -> None:
    reader.open("/keys")
    seen = reader.labels()
    for _ in range(5):
        reader.press("link", "Next page", "cursor=")
        seen += reader.labels()
    assert seen == in_order()[: 6 * ROWS]
    look_at(reader.page, "keys-million")


def test_a_search_finds_one_some_or_none(reader: Reader) -> None:
    of_owners_77 = [label for label in in_order() if str(owner_of(label)).startswith("77")]
    reader.open("/keys")
    for text, found in (
        (f"key_{COUNT - 1}", [f"label {COUNT - 1}"]),
        ("LABEL 654321", ["label 654321"]),
        ("label 77777", ["label 77777", *(f"label 77777{digit}" for digit in range(10))]),
        ("owner-77", of_owners_77[:ROWS]),
    ):
        reader.find(text)
        assert reader.labels() == found, text
    # One more page of what very many have: the search stays.
    reader.press("link", "Next page", "search=owner-77&cursor=")
    assert reader.labels() == of_owners_77[ROWS : 2 * ROWS]
    reader.find("nothing like that")
    reader.page.get_by_role("heading", name="No key is like that").wait_for()
    assert reader.labels() == []


def test_a_search_of_a_million_goes_on(reader: Reader) -> None:
    """What very many have, and one in the state that is asked for: the way to it is told, page by page."""
    reader.open("/keys?search=label+1&state=expired")
    pages = 1
    while not reader.labels():
        reader.page.get_by_role("heading", name="None among these keys").wait_for()
        assert pages < 10, "no page has found it"
        reader.press("link", "Search on", "cursor=")
        pages += 1
    assert reader.labels() == [f"label {EXPIRED}"]
    assert pages > 2, "the first pages have looked at all that come before it"
    assert "Expired" in reader.page.locator("tbody tr").inner_text()


def test_the_keys_of_an_owner(reader: Reader, many: SeededConsole) -> None:
    many.api.post("/people", {"id": "owner-7", "name": "Olivia Seven", "role": "member"})
    own = [label for label in in_order() if owner_of(label) == 7]
    reader.open("/people")
    reader.page.locator("tr", has_text="Olivia Seven").get_by_role("link", name="keys").click()
    reader.page.wait_for_url("**/keys?owner=owner-7")
    reader.look()
    assert reader.labels() == own[:ROWS]
    assert reader.page.get_by_label("Owner").input_value() == "owner-7", "the page says whose keys these are"
    reader.press("link", "Next page", "owner=owner-7&cursor=")
    assert reader.labels() == own[ROWS : 2 * ROWS]
    reader.find("label 9")
    assert reader.labels() == [label for label in own if label.startswith("label 9")][:ROWS], "the owner stays"
    reader.page.get_by_label("Owner").fill("nobody")
    reader.press("button", "Find", "owner=nobody")
    reader.page.get_by_role("heading", name="No key is like that").wait_for()


def test_one_of_a_million_is_disabled_and_enabled(reader: Reader, many: SeededConsole) -> None:
    key = "key_654321"
    reader.open(f"/keys?search={key}")
    reader.press("link", "label 654321", f"/keys/{key}")
    look_at(reader.page, "key-million")
    for button, state in (("Disable", "Disabled"), ("Enable", "Active")):
        reader.press("button", button, "notice=")
        reader.page.get_by_role("status").get_by_text(f"The key is {button.lower()}d").wait_for()
        reader.page.locator(".top .state", has_text=state).wait_for()
        assert many.api.get(f"/keys/{key}")["disabled"] is (state == "Disabled")
        # The list says so, and a filter by it finds that one.
        reader.open("/keys?state=disabled&search=654321")
        assert reader.labels() == (["label 654321"] if state == "Disabled" else [])
        reader.open(f"/keys/{key}")


def test_a_new_key_among_a_million_is_found(reader: Reader, many: SeededConsole) -> None:
    many.api.new_key("zz-new", "mixed", label="Behind all others", owner="owner-7")
    reader.open("/keys?search=behind+all")
    assert reader.labels() == ["Behind all others"]
