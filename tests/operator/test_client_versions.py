"""The pages of docs/clients name the versions that they were tried with, those that `make clients-test` installs, and install the newest."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from figures import ROOT

CLIENTS = ROOT / "tests" / "clients"
sys.path.insert(0, str(CLIENTS))
from stand_ins import named  # noqa: E402

PAGES = sorted(each for each in (ROOT / "docs" / "clients").glob("*.md") if each.stem != "README")
#: Versions that a reader must name, each for a reason that its page has.
HELD_BACK = {("llama-index", "anthropic"), ("claude-code-router", "@musistudio/claude-code-router")}
_TRIED = re.compile(r"^Tried: (.+)\.$", re.MULTILINE)
_PAIR = re.compile(r"`([^`]+)` (\d[\w.]*)")
_INSTALL = re.compile(r"^(npm|pip) install (.+)$", re.MULTILINE)


def tried(page: str) -> set[tuple[str, str]]:
    """Packages and versions that a page says it was tried with."""
    (line,) = _TRIED.findall(page)
    return set(_PAIR.findall(line))


def installed(stem: str) -> dict[str, dict[str, str]]:
    """The version of each package that the tests install for a page, by program."""
    own = CLIENTS / f"requirements-{stem}.txt"
    list_of_page = own if own.exists() else CLIENTS / "requirements.txt"
    lines = [line for line in list_of_page.read_text().splitlines() if line and not line.startswith("#")]
    locked = json.loads((CLIENTS / "package-lock.json").read_bytes())["packages"]
    below = "node_modules/"
    return {
        "pip": dict(named(line, "==") for line in lines),
        "npm": {place.removeprefix(below): each["version"] for place, each in locked.items() if place.startswith(below)},
    }


def wanted(page: str) -> list[tuple[str, str, str]]:
    """What a page installs: program, package, and the version that it asks for, if it does."""
    return [
        (program, *named(package.strip("'"), {"npm": "@", "pip": "=="}[program]))
        for program, packages in _INSTALL.findall(page)
        for package in packages.split()
        if not package.startswith("-")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_was_tried_is_what_is_installed(page: Path) -> None:
    text, versions = page.read_text(encoding="utf-8"), installed(page.stem)
    asked = {(name, versions[program][name]) for program, name, _ in wanted(text)}
    assert asked and asked <= tried(text), asked - tried(text)
    known = {(name, version) for each in versions.values() for name, version in each.items()}
    assert tried(text) <= known, tried(text) - known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_newest_is_installed(page: Path) -> None:
    named_versions = {(page.stem, name) for _, name, version in wanted(page.read_text(encoding="utf-8")) if version}
    assert named_versions <= HELD_BACK, named_versions - HELD_BACK


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_to_set_comes_first(page: Path) -> None:
    """The first block has the key, or the program that takes it; the address is before anything is installed."""
    before, _, _ = page.read_text(encoding="utf-8").partition(" install ")
    assert re.match(r"# .+\n\n(```sh\nexport |`~/[^`]+`:\n)", before), before[:80]
    assert "127.0.0.1:10000" in before or page.stem == "cline"


@pytest.mark.parametrize(
    ("package", "sign", "found"),
    [
        ("ai", "@", ("ai", "")),
        ("@ai-sdk/openai", "@", ("@ai-sdk/openai", "")),
        ("@ai-sdk/openai@4.0.118", "@", ("@ai-sdk/openai", "4.0.118")),
        ("llm", "==", ("llm", "")),
        ("pydantic-ai-slim[openai]==2.68.0", "==", ("pydantic-ai-slim", "2.68.0")),
    ],
)
def test_a_package_is_read(package: str, sign: str, found: tuple[str, str]) -> None:
    assert named(package, sign) == found
