"""The pages: every link leads somewhere, and every figure is the published one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from figures import PAGES, ROOT, Benchmarks, renewed

EVERY_PAGE = [*PAGES, ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "llms.txt"]
#: Each page that is in Chinese too, and its Chinese.
CHINESE = {ROOT / "docs" / page.name: page for page in sorted((ROOT / "docs/zh-CN").glob("*.md"))}
IN_CHINESE = {ROOT / "README.md": ROOT / "README.zh-CN.md", **CHINESE}
_FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"""(?:\]\(|(?:src|srcset)=")([^)"\s]+)[)"]""")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
#: The name of a page or button of the console.
_NAMED = re.compile(r"(?<!\*)(\*{1,2})([A-Z][^*\n]*)\1(?!\*)")


def prose(page: Path) -> str:
    """A page without its code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> list[str]:
    """The names by which a page's headings are linked, as code hosts make them."""
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found) for found in _HEADING.findall(prose(page)))
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def targets(page: Path) -> list[tuple[str, str]]:
    """The places that a page links, in any order: the English page of a Chinese one, a heading of both by its number. Those of the page
    itself in the other language are left out."""
    english_of = {chinese: english for english, chinese in IN_CHINESE.items()}
    found = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        to = (page.parent / path).resolve() if path and "://" not in link else page
        english = english_of.get(to, to)
        if "://" in link:
            found.append((link, ""))
        elif english in IN_CHINESE:
            if anchor or english != english_of.get(page, page):
                found.append((str(english), str(anchors(to).index(anchor)) if anchor else ""))
        else:
            found.append((str(to), anchor))
    return sorted(found)


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


@pytest.mark.parametrize("english", IN_CHINESE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_in_chinese_is_the_same(english: Path) -> None:
    """It has the code of the English one, in blocks and in sentences, its headings, and its links."""
    chinese = IN_CHINESE[english]
    pages = (english, chinese)
    here, there = ([found[0] for found in _FENCE.finditer(page.read_text(encoding="utf-8"))] for page in pages)
    assert here == there
    here, there = (re.findall(r"^#+ ", prose(page), re.MULTILINE) for page in pages)
    assert here == there
    here, there = (sorted(" ".join(code.split()) for code in _INLINE.findall(prose(page))) for page in pages)
    assert here == there
    assert targets(english) == targets(chinese)


@pytest.mark.parametrize("english", CHINESE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_in_two_languages_begins_with_the_other_one(english: Path) -> None:
    name = english.name
    assert english.read_text(encoding="utf-8").splitlines()[1:4] == ["", f"[中文](zh-CN/{name})", ""]
    assert CHINESE[english].read_text(encoding="utf-8").splitlines()[1:4] == ["", f"[English](../{name})", ""]


@pytest.mark.parametrize("english", CHINESE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_in_chinese_names_the_console_in_its_words(english: Path) -> None:
    """Buttons and pages of the console that an English page names have their names of console/messages in the Chinese one."""
    messages: dict[str, str] = json.loads((ROOT / "console/messages/zh-CN.json").read_text(encoding="utf-8"))
    text = prose(CHINESE[english])
    names = {messages[name] for _, name in _NAMED.findall(prose(english)) if name in messages}
    assert not {name for name in names if f"“{name}”" not in text and f"**{name}**" not in text}


def test_every_page_is_listed() -> None:
    """docs/README.md names each page of docs/ and docs/reference/."""
    listed = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(ROOT / "docs/README.md"))}
    pages = {page for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/reference").glob("*.md")] if page.name != "README.md"}
    assert not sorted(str(page.relative_to(ROOT)) for page in pages - listed)
    in_chinese = {(ROOT / "docs/zh-CN" / link).resolve() for link in _LINK.findall(prose(ROOT / "docs/zh-CN/README.md"))}
    assert in_chinese >= {page for page in CHINESE.values() if page.name != "README.md"}
