"""The pages: every link leads somewhere, and every figure is the published one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from figures import PAGES, ROOT, Benchmarks, renewed

EVERY_PAGE = [*PAGES, ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "llms.txt"]
_CODE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked, as code hosts make them."""
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found) for found in _HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), link
        if anchor and to.suffix == ".md":
            assert anchor in anchors(to), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_figure_is_the_published_one(page: Path) -> None:
    written = page.read_text(encoding="utf-8")
    assert written == renewed(written, Benchmarks()), "run: python tests/operator/figures.py"


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md", "docs/compared.md", "docs/accounts.md", "docs/architecture.md"])
def test_no_figure_of_the_benchmark_is_written_by_hand(page: str) -> None:
    """A time of the processor, or a ratio to bare Envoy, has a mark that says where it comes from."""
    unmarked = re.findall(r"\d(?: ?µs| times (?:the processor|bare Envoy| that of bare))(?!<!-- bench)", prose(ROOT / page))
    assert not unmarked, unmarked


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_readme_in_chinese_is_the_same() -> None:
    """It has the commands of the English one, and its links, in their order."""
    english, chinese = (ROOT / name for name in ("README.md", "README.zh-CN.md"))
    assert _CODE.findall(english.read_text(encoding="utf-8")) == _CODE.findall(chinese.read_text(encoding="utf-8"))
    of_languages = {"README.md", "README.zh-CN.md"}
    here, there = ([link for link in _LINK.findall(prose(page)) if link not in of_languages] for page in (english, chinese))
    assert sorted(here) == sorted(there)


def test_every_page_is_listed() -> None:
    """docs/README.md names each page of docs/ and docs/reference/."""
    listed = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(ROOT / "docs/README.md"))}
    pages = {page for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/reference").glob("*.md")] if page.name != "README.md"}
    assert not sorted(str(page.relative_to(ROOT)) for page in pages - listed)
