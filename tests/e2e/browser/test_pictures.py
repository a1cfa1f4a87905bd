"""The pictures in docs show the pages as they are: `make pictures` takes them anew where this fails."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.browser.chromium import Browsers
from e2e.browser.pictures import DARK, DIRECTORY, OUTLINE, PICTURES, looks, pictured
from e2e.browser.seeded import SeededConsole

RECORD = DIRECTORY / "pictures.json"
TAKE = os.environ.get("TRILANE_TAKE_PICTURES") == "1"
AGAIN = "docs/pictures is stale: look at the page, then run `make pictures` and look at the pictures"


@pytest.fixture(scope="module", name="month")
def month_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeededConsole]:
    with pictured(tmp_path_factory.mktemp("pictures")) as console:
        yield console


def record() -> dict[str, Any]:
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


@pytest.mark.parametrize(("name", "path", "person"), PICTURES, ids=[name for name, _, _ in PICTURES])
def test_a_picture_shows_its_page(month: SeededConsole, chromium: Browsers, name: str, path: str, person: str) -> None:
    with chromium.visitor(month.url, width=1280, state=month.session(person)) as visitor:
        page = visitor.open(path.format_map(month.named))
        says = page.evaluate(OUTLINE)
        if TAKE:
            DIRECTORY.mkdir(exist_ok=True)
            for theme in ["light", "dark"] if name in DARK else ["light"]:
                page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                page.screenshot(path=DIRECTORY / (f"{name}.png" if theme == "light" else f"{name}-dark.png"))
            told = record() | {"style": looks()}
            told["pages"] = dict(sorted((told.get("pages", {}) | {name: says}).items()))
            RECORD.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    assert says == record()["pages"].get(name), AGAIN


def test_the_pictures_have_todays_style() -> None:
    assert record()["style"] == looks(), AGAIN


def test_every_picture_is_recorded_and_no_other() -> None:
    files = {path.stem for path in DIRECTORY.glob("*.png")}
    names = {name for name, _, _ in PICTURES}
    assert files == names | {f"{name}-dark" for name in DARK}
    assert set(record()["pages"]) == names
